"""The `Index` in an SQLite file: one more event costs the same whether there are a thousand or a million."""

# ruff: noqa: PTH108 (a path with an ending is a text)

import os
import sqlite3
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from passdown.core.merge import (
    LISTS,
    REGISTERS,
    Digest,
    Held,
    Newest,
    hash_day,
    join_days,
    make_digest,
    merge,
)
from passdown.core.sources import ID_SIZE, Rank, Section, Source
from passdown.engines.files.queries import read_queries
from passdown.engines.index.load import day_of, load, source_row
from passdown.engines.index.rows import (
    DAY,
    HOLDS,
    PLAIN,
    VOID,
    fact_rows,
    is_register,
    make_bucket,
    make_held,
    section_number,
    to_instant,
    to_micros,
)
from passdown.errors import CacheError
from passdown.ports.event_log import FileMark
from passdown.ports.index import EVERY, Change, Found, Place, Published

VERSION: Final = 1
WAIT_SECONDS: Final = 10.0

_HERE: Final = Path(__file__).parent
_LAST: Final = "\U0010ffff"
"""Nothing that begins with a prefix comes after the prefix and this."""


class FactKey(NamedTuple):
    """What facts that compete with each other share."""

    section: int
    key: str


def open_index(path: str, *, shared_memory: bool, wait: float | None = None) -> "SqliteIndex":
    """Open the index in a file, made if missing and emptied if another version made it.

    `shared_memory` allows SQLite's write-ahead log, which network file systems cannot do. A damaged file is
    thrown away. Other writers are waited for, `wait` seconds or as long as they usually take. Raises a
    CacheError when it cannot be opened or written; there is always the index in memory.
    """
    with _reporting():
        try:
            return _open(path, shared_memory=shared_memory, wait=wait)
        except sqlite3.OperationalError:  # locked, not writable, disk full: not damaged
            raise
        except sqlite3.DatabaseError:
            for end in ("", "-wal", "-shm", "-journal"):
                with suppress(OSError):  # what is not there, or not ours to remove, shows when it is opened
                    os.unlink(path + end)
            return _open(path, shared_memory=shared_memory, wait=wait)


def _open(path: str, *, shared_memory: bool, wait: float | None) -> "SqliteIndex":
    seconds = WAIT_SECONDS if wait is None else wait
    connection = sqlite3.connect(path, timeout=seconds, isolation_level=None)
    with ExitStack() as unless_opened:
        unless_opened.callback(connection.close)
        connection.execute(f"PRAGMA journal_mode = {'WAL' if shared_memory else 'TRUNCATE'}")
        connection.execute("PRAGMA synchronous = NORMAL")
        index = SqliteIndex(connection)
        index.prepare()
        unless_opened.pop_all()
    return index


@contextmanager
def _reporting() -> Generator[None, None, None]:
    try:
        yield
    except sqlite3.Error as error:
        hint = "It can be deleted at any time: it is rebuilt from the events."
        raise CacheError(f"the cache of the event log cannot be used: {error}", hint=hint) from error


class SqliteIndex:
    """Keeps what was folded, and answers from indexes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Use a connection that begins no transactions by itself."""
        self._connection = connection
        self._queries = read_queries(_HERE / "queries.sql")
        self._held_before: dict[FactKey, bool] = {}
        self._days: set[int] = set()
        self._digested: int | None = None

    def prepare(self) -> None:
        """Make the tables, unless they are there in this version."""
        if self._version() == VERSION:
            return
        with self.changing():
            if self._version() != VERSION:  # somebody else may have been faster
                self._make_tables()

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _make_tables(self) -> None:
        tables = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in tables:
            self._connection.execute(f'DROP TABLE "{name}"')
        _run_script(self._connection, _HERE / "schema.sql")
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
                self._roll_back()

    @contextmanager
    def _looking(self) -> Generator[None, None, None]:
        """See one state of the index, whatever others write meanwhile."""
        if self._connection.in_transaction:
            yield
            return
        with _reporting():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                self._roll_back()

    def _roll_back(self) -> None:
        # Nothing is open after a commit, and after some errors SQLite has done it already.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def folders(self) -> Mapping[str, int]:
        """Give the mark that each folder had when it was last listed."""
        return dict(self._all("list_folders"))

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Give the files of a folder that were read, as they were then."""
        return {name: FileMark(*mark) for name, *mark in self._all("list_files", folder)}

    def apply(self, change: Change) -> None:
        """Take a change in, within `changing`."""
        with _reporting():
            self._digested = None
            self._run("forget")
            if self._is_empty():
                load(self._connection, self._queries, change.found)
                _run_script(self._connection, _HERE / "indexes.sql")
            else:
                self._apply_to_rows(change)
            for folder, mark in change.folders.items():
                if mark is None:
                    self._run("drop_folder", folder)
                else:
                    self._run("save_folder", folder, mark)

    def _is_empty(self) -> bool:
        made = "SELECT 1 FROM sqlite_master WHERE name = 'facts_by_source'"
        return self._connection.execute(made).fetchone() is None

    def _apply_to_rows(self, change: Change) -> None:
        self._held_before.clear()
        self._days.clear()
        removed = [
            (folder, name)
            for folder, mark in change.folders.items()
            if mark is None
            for name in self.files(folder)
        ]
        for folder, name in [*change.gone, *removed]:
            self._drop_file(folder, name)
        for found in change.found:
            self._drop_file(found.folder, found.name)
        file, source, fact = self._one("next_ids")
        adder = _Adder(file, source, fact)
        for found in change.found:
            self._add_file(found, adder)
        self._settle()

    # --- files and events ---------------------------------------------------------------------

    def _drop_file(self, folder: str, name: str) -> None:
        row = self._one("find_file", folder, name)
        if row is None:
            return
        sources = self._all("sources_of_file", row[0])
        self._run("drop_holds", row[0])
        self._run("drop_file", row[0])
        for (source,) in sources:
            if self._one("is_held", source) is None:
                self._drop_source(source)

    def _drop_source(self, number: int) -> None:
        """Forget an event; what it retracted counts again, unless another retracts it too."""
        self._touch_facts(number)
        names = self._all("retractions_of_source", number)
        ts = self._connection.execute("SELECT ts FROM sources WHERE id = ?", (number,)).fetchone()[0]
        self._days.add(ts // DAY)
        for query in ("drop_facts", "drop_retractions", "drop_source"):
            self._run(query, number)
        for (name,) in names:
            for other, own, digest, void in self._sources_named(name):
                if void and not self._is_retracted(own, digest):
                    self._set_void(other, void=False)

    def _add_file(self, found: Found, adder: "_Adder") -> None:
        adder.file += 1
        self._run("add_file", adder.file, found.folder, found.name, *found.mark, found.skipped)
        for source in found.sources:
            known = self._one("find_source", source.rank.hash)
            if known is None:
                adder.source += 1
                self._add_source(source, adder)
            self._run("add_hold", adder.file, adder.source if known is None else known[0])

    def _add_source(self, source: Source, adder: "_Adder") -> None:
        rank = source.rank
        void = self._is_retracted(rank.id, rank.hash) or rank.id in source.retracted
        self._run_row("add_source", source_row(source, adder.source, void=void))
        self._days.add(to_micros(rank.at) // DAY)
        rows = fact_rows(source, adder.source, adder.fact + 1)
        adder.fact += len(rows)
        for row in rows:
            self._touch(row.section, row.key)
            held = HOLDS if is_register(row.section) else PLAIN
            self._run_row("add_fact", (*row, VOID if void else held))
        for name in source.retracted:
            self._run("add_retraction", name, adder.source)
            for other, _, _, is_void in self._sources_named(name):
                if not is_void:
                    self._set_void(other, void=True)

    def _sources_named(self, name: str) -> Iterable[tuple[int, str, str, int]]:
        """Find the events that a retraction of this name means."""
        rows = self._connection.execute(self._queries["named_sources"], {"name": name}).fetchall()
        return [row for row in rows if row[1] == name or row[2][:ID_SIZE] == name]

    def _is_retracted(self, name: str, digest: str) -> bool:
        return self._one("is_retracted", name, digest[:ID_SIZE]) is not None

    def _set_void(self, number: int, *, void: bool) -> None:
        """Let the facts of an event count no more, or again."""
        self._touch_facts(number)
        self._run("set_void", int(void), number)
        self._run("set_states_of_source", VOID if void else PLAIN, number)
        if not void:
            registers = ", ".join(str(section_number(section)) for section in REGISTERS)
            again = f"UPDATE facts SET state = {HOLDS} WHERE source = ? AND section IN ({registers})"  # noqa: S608 - numbers of ours
            self._connection.execute(again, (number,))

    # --- what holds ---------------------------------------------------------------------------

    def _touch_facts(self, number: int) -> None:
        for section, _, key in self._all("facts_of_source", number):
            self._touch(section, key)

    def _touch(self, section: int, key: str) -> None:
        """Note whether a fact holds before anything about it is changed."""
        fact = FactKey(section, key)
        if fact not in self._held_before and not is_register(section):
            self._held_before[fact] = bool(self._holding(fact))

    def _holding(self, fact: FactKey) -> list[int]:
        bucket = make_bucket(fact.section, fact.key, void=False)
        return [number for (number,) in self._all("holding_fact", bucket, fact.section, fact.key)]

    def _settle(self) -> None:
        """Work out anew what holds, for every fact and day that was touched."""
        for fact, held_before in self._held_before.items():
            winner = self._find_winner(fact)
            for number in self._holding(fact):
                if number != winner:
                    self._run("set_state", PLAIN, number)
            if winner is not None:
                self._run("set_state", HOLDS, winner)
            self._run("change_count", fact.section, (winner is not None) - held_before)
        for day in self._days:
            hashes = [digest for (digest,) in self._all("hashes_of_day", day * DAY, (day + 1) * DAY)]
            if hashes:
                self._run("save_day", day, hash_day(hashes), len(hashes))
            else:
                self._run("drop_day", day)

    def _find_winner(self, fact: FactKey) -> int | None:
        """Find the row that holds: the newest stated, unless it was taken back then or later."""
        stated = self._newest_of(fact, void=False)
        taken_back = self._newest_of(fact, void=True)
        if stated is None or (taken_back is not None and taken_back[:-1] >= stated[:-1]):
            return None
        return int(stated[-1])

    def _newest_of(self, fact: FactKey, *, void: bool) -> tuple[Any, ...] | None:
        bucket = make_bucket(fact.section, fact.key, void=void)
        values = {"bucket": bucket, "section": fact.section, "key": fact.key}
        rows: list[tuple[Any, ...]] = self._connection.execute(
            self._queries["newest_of_key"], values
        ).fetchall()
        return max(rows, default=None)

    # --- answers ------------------------------------------------------------------------------

    def digest(self, limit: int) -> Digest:
        """Give what a view needs."""
        with self._looking():
            self._digested = self._data_version()
            return make_digest(merge(()), 0, limit) if self._is_empty() else self._make_digest(limit)

    def _data_version(self) -> int:
        """Give a number that changes when another connection has changed the file."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def _make_digest(self, limit: int) -> Digest:
        days = self._all("list_days")
        latest = self._one("latest")
        registers: dict[Section, tuple[Held, ...]] = {
            section: self._newest(section, 1) for section in REGISTERS
        }
        return Digest(
            registers={section: held[0] for section, held in registers.items() if held},
            sections={
                section: Newest(self._newest(section, limit), self._total(section)) for section in LISTS
            },
            event_count=sum(events for _, _, events in days),
            latest=to_instant(latest[0]) if latest else None,
            events_sha256=join_days({day_of(day): digest for day, digest, _ in days}),
            skipped=self._one("count_skipped")[0],
        )

    def _newest(self, section: Section, limit: int) -> tuple[Held, ...]:
        return self._ordered("newest_facts", {"section": section_number(section), "limit": limit})[:limit]

    def _ordered(self, query: str, values: Mapping[str, int]) -> tuple[Held, ...]:
        with _reporting():
            rows = self._connection.execute(self._queries[query], values).fetchall()
        rows.sort(key=lambda row: row[:6], reverse=True)
        return tuple([make_held(row) for row in rows])

    def _total(self, section: Section) -> int:
        row = self._one("count_of_section", section_number(section))
        return int(row[0]) if row else 0

    def newest(self, until: datetime) -> datetime | None:
        """Give the time of the newest event that is not later than this."""
        row = self._one("newest_until", to_micros(until))
        return to_instant(row[0]) if row else None

    def published(self, session: str) -> Published:
        """Give how far the events of a session go."""
        line, ts = self._one("published", session)
        return Published(int(line), None if ts is None else to_instant(ts))

    def places(self, prefix: str = "", limit: int = EVERY) -> Sequence[Place]:
        """Give events, or those whose id or hash begins so, the newest first and no more than asked for."""
        query = "places" if prefix else "newest_places"
        values = {"first": prefix, "last": f"{prefix}{_LAST}", "limit": limit}
        with _reporting():
            rows = self._connection.execute(self._queries[query], values).fetchall()
        return sorted(map(_make_place, rows), key=lambda place: place.rank, reverse=True)[:limit]

    def recall(self, name: str) -> str | None:
        """Give what was remembered since the last change."""
        row = self._one("recall", name)
        return row and str(row[0])

    def remember(self, name: str, text: str) -> None:
        """Keep a text until the next change.

        1. It was made from the last digest: if somebody has changed the index since, it is forgotten at once.
        2. A cache that cannot be written forgets it, too.
        """
        with suppress(CacheError), self.changing():  # 2
            if self._data_version() == self._digested:  # 1
                self._run("remember", name, text)

    # --- statements ---------------------------------------------------------------------------

    def _run(self, query: str, *values: object) -> None:
        self._connection.execute(self._queries[query], values)

    def _run_row(self, query: str, values: Sequence[object]) -> None:
        self._connection.execute(self._queries[query], values)

    def _all(self, query: str, *values: object) -> list[Any]:
        with _reporting():
            return self._connection.execute(self._queries[query], values).fetchall()

    def _one(self, query: str, *values: object) -> Any:  # noqa: ANN401 - rows are typed by their query
        with _reporting():
            return self._connection.execute(self._queries[query], values).fetchone()


class _Adder:
    """The last ids that were given."""

    def __init__(self, file: int, source: int, fact: int) -> None:
        self.file = file
        self.source = source
        self.fact = fact


def _run_script(connection: sqlite3.Connection, path: Path) -> None:
    """Run the statements of a file within the transaction; `executescript` would end it."""
    for statement in path.read_text(encoding="utf-8").split(";\n"):
        connection.execute(statement)


def _make_place(row: tuple[int, str, str, str, str, str, int, str]) -> Place:
    ts, agent, name, digest, branch, kind, void, path = row
    folder, _, file = path.rpartition("/")
    return Place(Rank(to_instant(ts), agent, name, digest), branch, kind, folder, file, bool(void))
