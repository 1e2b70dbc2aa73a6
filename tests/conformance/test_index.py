"""Every engine keeps the promises of `Index`."""

from pathlib import Path

from passdown.engines.memory.index import MemoryIndex
from passdown.engines.sqlite.event_index import SqliteIndex, open_index
from passdown.ports.index import Index
from passdown.testing.conformance.index import IndexConformance
from passdown.testing.conformance.listed_events import ListedEventsConformance
from passdown.testing.conformance.near import NearConformance
from passdown.testing.conformance.read_progress import ReadProgressConformance
from passdown.testing.conformance.statements import StatementConformance


class TestMemoryIndex(
    IndexConformance, StatementConformance, NearConformance, ReadProgressConformance, ListedEventsConformance
):
    """The one that lives as long as the process."""

    def make(self, folder: Path) -> Index:
        """Make an index that lies nowhere."""
        del folder
        return MemoryIndex()

    def drop(self, index: Index) -> None:
        """Forget it."""


class TestSqliteIndexWithWriteAheadLog(
    IndexConformance, StatementConformance, NearConformance, ReadProgressConformance, ListedEventsConformance
):
    """The file of a local disk."""

    shared_memory = True

    def make(self, folder: Path) -> Index:
        """Make an index in a file."""
        return open_index(str(folder / "index.db"), shared_memory=self.shared_memory)

    def drop(self, index: Index) -> None:
        """Close the file."""
        assert isinstance(index, SqliteIndex)
        index.close()


class TestSqliteIndexWithJournal(TestSqliteIndexWithWriteAheadLog):
    """The file of a network disk."""

    shared_memory = False
