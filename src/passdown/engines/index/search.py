"""The `SearchIndex` in an SQLite file, with FTS5: the words of documents without their texts.

A document that is gone leaves its words behind, for only its text could name them; they are found no more,
and when they are most of the file, it is made anew.
"""

# ruff: noqa: PTH108 (a path with an ending is a text)

import os
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from passdown.core.searches import Kind, Term, join_words, render_match
from passdown.engines.files.queries import read_queries
from passdown.engines.index.rows import to_instant, to_micros
from passdown.errors import CacheError
from passdown.ports.event_log import FileMark
from passdown.ports.search import RANKED, Document, FoundFile, Hit, Hits, ShelfChange, Wanted

VERSION: Final = 1
MODULE: Final = "fts5"
WAIT_SECONDS: Final = 10.0
WORN: Final = 1_000
"""So many words of documents that are gone are carried along in any case."""

_HERE: Final = Path(__file__).parent
_EVER: Final = -(2**62)
_KEY: Final = 32
# Words are held in memory up to this size before they are written.
_BUFFER: Final = 33_554_432
# So many documents in one change are not merged as they come, but once when all are there; if they are less
# than this part of all, they are merged bit by bit.
_MANY: Final = 500
_PART: Final = 4
_MERGE_LATER: Final = (("automerge", 0), ("crisismerge", 1_000))
_MERGE_NOW: Final = (("automerge", 4), ("crisismerge", 16))
_WAL_BYTES: Final = 4_194_304
_KINDS: Final = tuple(Kind)


def open_search(path: str, *, shared_memory: bool) -> "SqliteSearch":
    """Open the index in a file, made if missing and emptied if it is worn or another version made it.

    `shared_memory` allows SQLite's write-ahead log, which network file systems cannot do. A damaged file is
    thrown away. Raises a CacheError when it cannot be opened or written, or when this SQLite has no full-text
    search; there is always the index in memory.
    """
    with _reporting():
        try:
            return _open(path, shared_memory=shared_memory)
        except sqlite3.OperationalError:  # locked, not writable, disk full, no such module: not damaged
            raise
        except sqlite3.DatabaseError:
            for end in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):  # what is not there, or not ours to remove, shows when it is opened
                    os.unlink(path + end)
            return _open(path, shared_memory=shared_memory)


def _open(path: str, *, shared_memory: bool) -> "SqliteSearch":
    connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    with ExitStack() as unless_opened:
        unless_opened.callback(connection.close)
        if not connection.execute("PRAGMA page_count").fetchone()[0]:  # for an old file it would need a lock
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
        connection.execute(f"PRAGMA journal_mode = {'WAL' if shared_memory else 'TRUNCATE'}")
        connection.execute("PRAGMA synchronous = NORMAL")
        index = SqliteSearch(connection)
        index.prepare()
        unless_opened.pop_all()
    return index


@contextmanager
def _reporting() -> Generator[None, None, None]:
    try:
        yield
    except sqlite3.Error as error:
        hint = "It can be deleted at any time: it is rebuilt from the documents."
        raise CacheError(f"the cache of the search cannot be used: {error}", hint=hint) from error


class SqliteSearch:
    """Keeps words and where they were found."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use a connection that begins no transactions by itself."""
        self._connection = connection
        self._queries = read_queries(_HERE / "search_queries.sql")
        self._added, self._dropped, self._waiting = 0, 0, 0
        self._is_merged = False

    def prepare(self) -> None:
        """Make the tables, unless they are there in this version and not worn."""
        if self._is_usable():
            self._one("SELECT rowid FROM words LIMIT 1")  # where FTS5 is missing, this says so
            return
        with self.changing():
            if not self._is_usable():  # somebody else may have been faster
                self._make_tables()

    def _is_usable(self) -> bool:
        if self._one("PRAGMA user_version")[0] != VERSION:
            return False
        added, dropped, _ = self._one(self._queries["read_counters"])
        return bool(dropped <= WORN or dropped * 2 <= added)

    def _make_tables(self) -> None:
        self._connection.execute("DROP TABLE IF EXISTS words")  # takes the tables below it along
        tables = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in tables:
            self._connection.execute(f'DROP TABLE "{name}"')
        for statement in (_HERE / "search_schema.sql").read_text(encoding="utf-8").split(";\n"):
            self._connection.execute(statement)
        self._connection.execute(
            f"CREATE VIRTUAL TABLE words USING {MODULE} (text, content = '', tokenize = 'ascii')"
        )
        self._run("configure", "hashsize", _BUFFER)
        self._connection.execute(f"PRAGMA user_version = {VERSION}")

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextmanager
    def changing(self) -> Generator[None, None, None]:
        """Hold off other writers; keep all that is applied within, or nothing."""
        with _reporting():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                # Nothing is open after a commit, and after some errors SQLite has done it already.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            self._give_back()

    def _give_back(self) -> None:
        """Give the room back that merging left; an index that somebody reads meanwhile keeps it for later."""
        if self._is_merged:
            self._is_merged = False
            with suppress(sqlite3.OperationalError):
                self._connection.executescript("PRAGMA incremental_vacuum")

    def folders(self, kind: Kind) -> Mapping[str, int]:
        """Give the mark that each folder had when it was last listed."""
        return dict(self._all("list_folders", kind.value))

    def files(self, kind: Kind, folder: str) -> Mapping[str, FileMark]:
        """Give the files of a folder that were read, as they were then."""
        return {name: FileMark(*mark) for name, *mark in self._all("list_files", kind.value, folder)}

    def apply(self, change: ShelfChange) -> None:
        """Take a change in, within `changing`; what is found counts before what is gone does."""
        with self._using():
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
        """Merge what came many at once, if it is a good part of all; what comes later is merged at once."""
        if self._waiting * _PART >= self._added:
            self._run("merge_all")
            self._is_merged = True
        self._configure(_MERGE_NOW)
        self._waiting = 0

    def _configure(self, settings: Sequence[tuple[str, int]]) -> None:
        for name, value in settings:
            self._run("configure", name, value)

    def _add_file(self, kind: str, found: FoundFile) -> None:
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
        if row is None:  # it is listed for good when all of its files are read
            self._run("save_folder", kind, path, None)
            row = self._first("find_folder", kind, path)
        return int(row[0])

    def _add_document(self, kind: str, document: Document) -> int:
        key = bytes.fromhex(document.key[:_KEY])
        of_kind = _KINDS.index(Kind(kind))
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

    def find(self, terms: Sequence[Term], wanted: Wanted, limit: int) -> Hits:
        """Find the documents that hold every term, the best first."""
        if not terms:
            return Hits((), 0)
        values = {
            "match": render_match(terms),
            "kinds": "".join(f" {_KINDS.index(kind)} " for kind in wanted.kinds),
            "since": _EVER if wanted.since is None else to_micros(wanted.since),
            "agent": wanted.agent,
            "most": RANKED,
        }
        with self._using():
            rows = self._connection.execute(self._queries["find"], values).fetchall()
            rows.sort(key=lambda row: (row[1], -row[2], -row[0]))
            shown = [self._first("show", row[0]) for row in rows[:limit]]
        return Hits(tuple(_make_hit(row) for row in shown if row), len(rows))

    # --- statements ---------------------------------------------------------------------------

    @contextmanager
    def _using(self) -> Generator[None, None, None]:
        """Report what goes wrong; a file that shows to be damaged is made anew the next time."""
        with _reporting():
            try:
                yield
            except sqlite3.OperationalError:  # locked, disk full: not damaged
                raise
            except sqlite3.DatabaseError:
                with suppress(sqlite3.Error):  # one that cannot even be marked is thrown away when opened
                    self._connection.execute("PRAGMA user_version = 0")
                raise

    def _run(self, query: str, *values: object) -> None:
        self._connection.execute(self._queries[query], values)

    def _all(self, query: str, *values: object) -> list[Any]:
        with self._using():
            return self._connection.execute(self._queries[query], values).fetchall()

    def _first(self, query: str, *values: object) -> Any:  # noqa: ANN401 - rows are typed by their query
        return self._connection.execute(self._queries[query], values).fetchone()

    def _one(self, statement: str) -> Any:  # noqa: ANN401 - as above
        return self._connection.execute(statement).fetchone()


def _make_hit(row: tuple[int, bytes, str, int, str, int, str, str]) -> Hit:
    kind, key, name, at, agent, is_retracted, folder, file = row
    return Hit(_KINDS[kind], key.hex(), name, to_instant(at), agent, bool(is_retracted), folder, file)
