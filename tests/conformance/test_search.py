"""Every engine keeps the promises of `SearchIndex`."""

from pathlib import Path

from passdown.engines.memory.search import MemorySearch
from passdown.engines.sqlite.search_index import SqliteSearch, open_search
from passdown.ports.search import SearchIndex
from passdown.testing.conformance.search import SearchConformance


class TestMemorySearch(SearchConformance):
    """The one that looks at every document."""

    def make(self, folder: Path) -> SearchIndex:
        """Make an index that lies nowhere."""
        del folder
        return MemorySearch()

    def drop(self, index: SearchIndex) -> None:
        """Forget it."""


class TestSqliteSearchWithWriteAheadLog(SearchConformance):
    """The file of a local disk."""

    shared_memory = True

    def make(self, folder: Path) -> SearchIndex:
        """Make an index in a file."""
        return open_search(str(folder / "search.db"), shared_memory=self.shared_memory)

    def drop(self, index: SearchIndex) -> None:
        """Close the file."""
        assert isinstance(index, SqliteSearch)
        index.close()


class TestSqliteSearchWithJournal(TestSqliteSearchWithWriteAheadLog):
    """The file of a network disk."""

    shared_memory = False
