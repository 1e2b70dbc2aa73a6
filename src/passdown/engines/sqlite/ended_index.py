"""The `EndedIndex` in an SQLite file, one for all checkouts of a clone."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from passdown.engines.sqlite.database import RebuildableDatabase, open_database
from passdown.ports.journals import EndedJournal

VERSION: Final = 1

_HERE: Final = Path(__file__).parent


def open_ended(path: str, *, wait: float | None = None) -> "SqliteEndedIndex":
    """Open the index in a file; raise a CacheError if it cannot be used."""
    return open_database(SqliteEndedIndex, path, wait=wait)


class SqliteEndedIndex(RebuildableDatabase):
    """Stores names and keys."""

    title = "the index of ended journals"
    origin = "the journals"
    version = VERSION
    schema = _HERE / "ended_schema.sql"
    queries = _HERE / "ended_queries.sql"
    gives_room_back = True

    def folders(self) -> Mapping[str, int]:
        return dict(self._all("list_folders"))

    def journals(self, folder: str) -> Mapping[str, int]:
        return dict(self._all("list_journals", folder))

    def names(self) -> Sequence[str]:
        return [str(name) for (name,) in self._all("list_names")]

    def mentioning(self, keys: Iterable[str]) -> Sequence[str]:
        wanted = filter(_is_text, keys)
        return sorted({str(name) for key in wanted for (name,) in self._all("find_by_key", key)})

    def learn(self, journal: EndedJournal) -> None:
        with self._reporting():
            self.forget(journal.name)
            self._run("add_journal", journal.folder, journal.name, journal.size)
            (number,) = self._first("find_journal", journal.name)
            for key in filter(_is_text, journal.keys):
                self._run("add_key", key, number)

    def forget(self, name: str) -> None:
        with self._reporting():
            for (number,) in self._all("find_journal", name):
                self._run("drop_keys", number)
                self._run("drop_journal", number)

    def note_complete(self, folder: str, mark: int) -> None:
        with self._reporting():
            self._run("save_folder", folder, mark)


def _is_text(key: str) -> bool:
    """Return whether a key is valid Unicode: otherwise no journal can hold it."""
    try:
        key.encode()
    except UnicodeEncodeError:
        return False
    return True
