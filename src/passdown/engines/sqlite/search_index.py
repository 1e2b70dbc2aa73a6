"""The `SearchIndex` in an SQLite file, with FTS5: the words of documents without their texts.

A deleted document leaves its words in the file, because removing them would need its text. They no longer
match, and once they are most of the file, it is rebuilt.
"""

import json
import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from passdown.core.project.ranking import RANKED, Candidate, MatchRank, Ranked, rank_documents
from passdown.core.project.search_query import (
    DocumentKind,
    SearchQuery,
    SearchTerm,
    render_groups,
    render_match,
    split_words,
    spread_words,
)
from passdown.core.project.stems import stem
from passdown.core.times import to_micros
from passdown.engines.sqlite.database import RebuildableDatabase, open_database
from passdown.engines.sqlite.event_rows import to_instant
from passdown.ports.event_log import FileMark
from passdown.ports.search import Hit, Hits, SearchChange, SearchDocument, SearchFile, SearchFilter

VERSION: Final = 2
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
_WITHOUT_STEMS: Final = 1
"""The version before there were stems."""
_MORE: Final = 0x80
_DIGIT: Final = 7


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
        self._added, self._dropped, self._waiting, self._length = 0, 0, 0, 0
        self._known_forms: set[str] = set()
        self._is_merged = False

    def _is_usable(self) -> bool:
        if not super()._is_usable():
            return False
        self._connection.execute("SELECT rowid FROM words LIMIT 1")  # fails if FTS5 is missing
        added, dropped, *_ = self._first("read_counters")
        return bool(dropped <= WORN or dropped * 2 <= added)

    def _make_tables(self) -> None:
        super()._make_tables()
        self._connection.execute(
            f"CREATE VIRTUAL TABLE words USING {MODULE} (text, content = '', tokenize = 'ascii')"
        )
        self._make_occurrences()
        self._run("configure", "hashsize", _BUFFER)

    def _make_occurrences(self) -> None:
        """Make the table that lists each word's documents."""
        self._connection.execute("CREATE VIRTUAL TABLE occurrences USING fts5vocab(words, instance)")

    def prepare(self) -> None:
        """Bring an index of the version before up to date, from what it has; then as every cache."""
        if self._version() == _WITHOUT_STEMS:
            with self._transaction("BEGIN IMMEDIATE", is_opening=True):
                if self._version() == _WITHOUT_STEMS:  # another process may have been faster
                    self._add_stems()
                    self._set_version(self.version)
        super().prepare()

    def _add_stems(self) -> None:
        """Add the stems of all words and the lengths of all documents; no document is read."""
        self._run_script(_HERE / "search_stems.sql")
        self._make_occurrences()
        sizes = self._connection.execute(self._queries["list_sizes"]).fetchall()
        lengths = [(_read_size(size), document) for document, size in sizes]
        self._connection.executemany(self._queries["save_length"], lengths)
        self._run("sum_lengths")
        self._connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, words, row)")
        self._add_forms(word for (word,) in self._connection.execute("SELECT term FROM temp.terms"))

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
            self._added, self._dropped, self._waiting, self._length = self._first("read_counters")
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
            self._run("save_counters", self._added, self._dropped, self._waiting, self._length)

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
        words = split_words(document.text)
        self._length += len(words)
        self._run("add_document", number, of_kind, key, document.name, at, agent, len(words))
        self._run("add_words", number, spread_words(words))
        self._add_forms(words)
        for name in document.retracted:
            self._run("add_retraction", name, number)
        return number

    def _add_forms(self, words: Iterable[str]) -> None:
        """Note the stems of words that are not their own stems."""
        new = set(words) - self._known_forms
        self._known_forms |= new
        changed = [(found, word) for word in sorted(new) if (found := stem(word)) != word]
        self._connection.executemany(self._queries["add_form"], changed)

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
            self._length -= self._first("length_of", document)[0]
            self._run("drop_retractions", document)
            self._run("drop_document", document)
            self._dropped += 1

    def find(self, query: SearchQuery, wanted: SearchFilter, limit: int) -> Hits:
        if not query.terms:
            return Hits((), 0)
        with self._reporting():
            ranking = rank_documents(query, _StoredWords(self._connection, self._queries, wanted))
            shown = [(self._first("show", one.document), one) for one in ranking.found[:limit]]
        return Hits(
            best=tuple(_make_hit(row, one) for row, one in shown if row),
            total=len(ranking.found),
            weak=sum(one.rank is MatchRank.WEAK for one in ranking.found),
            is_least=ranking.is_least,
            weights=ranking.weights,
        )


class _StoredWords:
    """The words in the file, for ranking."""

    def __init__(
        self, connection: sqlite3.Connection, queries: Mapping[str, str], wanted: SearchFilter
    ) -> None:
        self._connection = connection
        self._queries = queries
        self._filter = {
            "kinds": "".join(f" {_KINDS.index(kind)} " for kind in wanted.kinds),
            "since": _EVER if wanted.since is None else to_micros(wanted.since),
            "agent": wanted.agent,
        }

    def _ask(self, query: str, **values: object) -> sqlite3.Cursor:
        return self._connection.execute(self._queries[query], values)

    def size(self) -> tuple[int, int]:
        added, dropped, length = self._ask("read_size").fetchone()
        return added - dropped, length

    def forms(self, stem: str) -> Sequence[str]:
        return [word for (word,) in self._ask("forms_of_stem", stem=stem)]

    def holding_all(self, terms: Sequence[SearchTerm]) -> Mapping[int, float]:
        return {
            document: -score
            for document, score in self._ask("find", match=render_match(terms), most=RANKED, **self._filter)
        }

    def holding_groups(self, groups: Sequence[Sequence[SearchTerm]]) -> Iterable[int]:
        return [one for (one,) in self._ask("find_groups", match=render_groups(groups), most=RANKED)]

    def occurrences(self, terms: Sequence[SearchTerm]) -> Mapping[int, int] | None:
        match = render_groups([terms])
        (holding,) = self._ask("count_groups", match=match, most=RANKED + 1).fetchone()
        if holding > RANKED:
            return None
        if any(term.is_prefix or len(term.words) > 1 for term in terms):
            return dict.fromkeys(self.holding_groups([terms]), 1)
        found: dict[int, int] = {}
        for term in terms:
            for document, count in self._ask("occurrences", word=term.words[0]):
                found[document] = found.get(document, 0) + count
        return found

    def candidates(self, documents: Iterable[int]) -> Mapping[int, Candidate]:
        rows = self._ask("candidates", ids=json.dumps(list(documents)), **self._filter)
        return {document: Candidate(length, at) for document, length, at in rows}


def _read_size(size: bytes) -> int:
    """Return the length of a document as FTS5 stores it: seven bits in a byte, high ones first."""
    value = 0
    for byte in size:
        value = value << _DIGIT | (byte & ~_MORE)
    return value


def _make_hit(row: tuple[int, bytes, str, int, str, int, str, str], ranked: Ranked) -> Hit:
    kind, key, name, at, agent, is_retracted, folder, file = row
    return Hit(
        kind=_KINDS[kind],
        key=key.hex(),
        name=name,
        at=to_instant(at),
        agent=agent,
        is_retracted=bool(is_retracted),
        folder=folder,
        file=file,
        rank=ranked.rank,
        score=ranked.score,
        missing=ranked.missing,
        share=ranked.share,
    )
