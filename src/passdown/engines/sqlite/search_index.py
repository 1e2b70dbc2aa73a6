"""The `SearchIndex` in an SQLite file, with FTS5: the words of documents without their texts.

A deleted document leaves its words in the file, because removing them would need its text. They no longer
match, and once they are most of the file, it is rebuilt.
"""

import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from passdown.core.project.search_query import DocumentKind, SearchTerm, join_words, render_match
from passdown.core.times import to_micros
from passdown.engines.sqlite.database import RebuildableDatabase, open_database
from passdown.engines.sqlite.event_rows import to_instant
from passdown.ports.event_log import FileMark
from passdown.ports.search import RANKED, Hit, Hits, SearchChange, SearchDocument, SearchFile, SearchFilter

VERSION: Final = 1
MODULE: Final = "fts5"
WORN: Final = 1_000
"""How many deleted documents may leave words in the file before a rebuild is considered."""

_HERE: Final = Path(__file__).parent
_EVER: Final = -(2**62)
_KEY: Final = 32
# Words are buffered in memory up to this size before they are written.
_BUFFER: Final = 33_554_432
# If a change has at least this many documents, their words are not merged one by one but once at the end; if
# they are less than this fraction of all documents, they are merged gradually.
_MANY: Final = 500
_PART: Final = 4
_MERGE_LATER: Final = (("automerge", 0), ("crisismerge", 1_000))
_MERGE_NOW: Final = (("automerge", 4), ("crisismerge", 16))
_KINDS: Final = tuple(DocumentKind)


def open_search(path: str, *, shared_memory: bool | None = None) -> "SqliteSearch":
    """Open the index in a file, emptied if most of its words are from deleted documents.

    Raises a CacheError if it cannot be used, or if this SQLite has no full-text search; callers can always
    use the index in memory.
    """
    return open_database(SqliteSearch, path, shared_memory=shared_memory)


class SqliteSearch(RebuildableDatabase):
    """Stores words and where they were found."""

    title = "the search index"
    origin = "the documents"
    version = VERSION
    schema = _HERE / "search_schema.sql"
    queries = _HERE / "search_queries.sql"
    gives_room_back = True

    def __init__(self, connection: sqlite3.Connection, path: str = "") -> None:
        """Use a connection that does not start transactions on its own."""
        super().__init__(connection, path)
        self._added, self._dropped, self._waiting = 0, 0, 0
        self._is_merged = False

    def _is_usable(self) -> bool:
        if not super()._is_usable():
            return False
        self._connection.execute("SELECT rowid FROM words LIMIT 1")  # fails if FTS5 is missing
        added, dropped, _ = self._first("read_counters")
        return bool(dropped <= WORN or dropped * 2 <= added)

    def _make_tables(self) -> None:
        super()._make_tables()
        self._connection.execute(
            f"CREATE VIRTUAL TABLE words USING {MODULE} (text, content = '', tokenize = 'ascii')"
        )
        self._run("configure", "hashsize", _BUFFER)

    @contextmanager
    def changing(self) -> Generator[None, None, None]:
        with super().changing():
            yield
        if self._is_merged:
            self._is_merged = False
            # Free the space that merging left; if another process is reading, it is freed later.
            with self._reporting(), suppress(sqlite3.OperationalError):
                self._connection.executescript("PRAGMA incremental_vacuum")

    def folders(self, kind: DocumentKind) -> Mapping[str, int]:
        return dict(self._all("list_folders", kind.value))

    def files(self, kind: DocumentKind, folder: str) -> Mapping[str, FileMark]:
        return {name: FileMark(*mark) for name, *mark in self._all("list_files", kind.value, folder)}

    def apply(self, change: SearchChange) -> None:
        """Apply a change, within `changing`; found files are added before missing ones are removed."""
        with self._reporting():
            kind = change.kind.value
            self._added, self._dropped, self._waiting = self._first("read_counters")
            before = self._added
            is_many = sum(len(found.documents) for found in change.found) >= _MANY
            if is_many:
                self._configure(_MERGE_LATER)
            for found in change.found:
                self._add_file(kind, found)
            for folder, name in change.gone:
                self._drop_file(kind, folder, name)
            for folder, mark in change.folders.items():
                if mark is not None:
                    self._run("save_folder", kind, folder, mark)
                    continue
                for name in self.files(change.kind, folder):
                    self._drop_file(kind, folder, name)
                self._run("drop_folder", kind, folder)
            self._waiting += self._added - before if is_many else 0
            if self._waiting and (change.folders or not is_many):
                self._merge()
            self._run("save_counters", self._added, self._dropped, self._waiting)

    def _merge(self) -> None:
        """Merge documents added in bulk if they are a large part of all; later ones are merged at once."""
        if self._waiting * _PART >= self._added:
            self._run("merge_all")
            self._is_merged = True
        self._configure(_MERGE_NOW)
        self._waiting = 0

    def _configure(self, settings: Sequence[tuple[str, int]]) -> None:
        for name, value in settings:
            self._run("configure", name, value)

    def _add_file(self, kind: str, found: SearchFile) -> None:
        folder = self._find_folder(kind, found.folder)
        self._run("save_file", folder, found.name, *found.mark)
        (file,) = self._first("find_file", folder, found.name)
        before = {document for (document,) in self._all("documents_of_file", file)}
        after = {self._add_document(kind, document) for document in found.documents}
        for document in after - before:
            self._run("add_hold", file, document)
        for document in before - after:
            self._drop_hold(file, document)

    def _find_folder(self, kind: str, path: str) -> int:
        row = self._first("find_folder", kind, path)
        if row is None:  # it gets a mark only when all of its files have been read
            self._run("save_folder", kind, path, None)
            row = self._first("find_folder", kind, path)
        return int(row[0])

    def _add_document(self, kind: str, document: SearchDocument) -> int:
        key = bytes.fromhex(document.key[:_KEY])
        of_kind = _KINDS.index(DocumentKind(kind))
        known = self._first("find_document", of_kind, key)
        if known is not None:
            return int(known[0])
        self._added += 1
        number = self._added
        at, agent = to_micros(document.at), self._find_agent(document.agent)
        self._run("add_document", number, of_kind, key, document.name, at, agent)
        self._run("add_words", number, join_words(document.text))
        for name in document.retracted:
            self._run("add_retraction", name, number)
        return number

    def _find_agent(self, name: str) -> int:
        row = self._first("find_agent", name)
        if row is None:
            self._run("add_agent", name)
            row = self._first("find_agent", name)
        return int(row[0])

    def _drop_file(self, kind: str, folder: str, name: str) -> None:
        where = self._first("find_folder", kind, folder)
        row = where and self._first("find_file", where[0], name)
        if row is None:
            return
        for (document,) in self._all("documents_of_file", row[0]):
            self._drop_hold(row[0], document)
        self._run("drop_file", row[0])

    def _drop_hold(self, file: int, document: int) -> None:
        self._run("drop_hold", file, document)
        if self._first("is_held", document) is None:
            self._run("drop_retractions", document)
            self._run("drop_document", document)
            self._dropped += 1

    def find(self, terms: Sequence[SearchTerm], wanted: SearchFilter, limit: int) -> Hits:
        if not terms:
            return Hits((), 0)
        values = {
            "match": render_match(terms),
            "kinds": "".join(f" {_KINDS.index(kind)} " for kind in wanted.kinds),
            "since": _EVER if wanted.since is None else to_micros(wanted.since),
            "agent": wanted.agent,
            "most": RANKED,
        }
        with self._reporting():
            rows = self._connection.execute(self._queries["find"], values).fetchall()
            rows.sort(key=lambda row: (row[1], -row[2], -row[0]))
            shown = [self._first("show", row[0]) for row in rows[:limit]]
        return Hits(tuple(_make_hit(row) for row in shown if row), len(rows))


def _make_hit(row: tuple[int, bytes, str, int, str, int, str, str]) -> Hit:
    kind, key, name, at, agent, is_retracted, folder, file = row
    return Hit(_KINDS[kind], key.hex(), name, to_instant(at), agent, bool(is_retracted), folder, file)
