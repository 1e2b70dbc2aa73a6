"""The `Index` in an SQLite file: adding an event costs the same with a thousand events or a million."""

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from passdown.core.facts import Fact, identify, make_key
from passdown.core.fold import fold
from passdown.core.formats.journal import NOT_PUBLISHED, SESSION_END, PublishedExtent
from passdown.core.kinds import AIMS, MERGED, FactKind
from passdown.core.merge.event_facts import ID_SIZE, EventFacts, EventRank
from passdown.core.merge.merge import (
    Digest,
    NewestFacts,
    Writer,
    hash_day,
    join_days,
    make_digest,
    merge_events,
    newest_of,
)
from passdown.core.merge.named_files import NamedFiles, last_word, name_files, read_name
from passdown.core.merge.ranks import (
    RECENT,
    SEEDS_AMONG,
    Head,
    choose_ahead,
    choose_heads,
    find_present,
    limit_of,
)
from passdown.core.times import to_micros
from passdown.engines.sqlite.database import open_database
from passdown.engines.sqlite.event_load import day_of, links_of, load, source_row
from passdown.engines.sqlite.event_ranks import make_stored, newest_by_session, split_names
from passdown.engines.sqlite.event_rows import (
    DAY,
    DECISIONS,
    FILES,
    HOLDS,
    KIND_OF,
    LASTING,
    ORDER,
    PLAIN,
    REGISTERS,
    ROW_ID,
    TABLE,
    TEXT,
    VOID,
    fact_rows,
    hash_file_name,
    hash_name,
    is_register,
    make_bucket,
    make_fact,
    make_void,
    name_rows,
    section_number,
    states_register,
    to_instant,
)
from passdown.engines.sqlite.event_statements import END, NONE, FactKey, StatedDatabase
from passdown.errors import CacheError
from passdown.ports.event_log import FileMark
from passdown.ports.index import (
    EVERY,
    NEAR_EVENTS,
    NEAR_FACTS,
    NEAR_SESSIONS,
    EventFile,
    EventFilter,
    EventLocation,
    LiveEvents,
    LogChange,
    NearFacts,
    Neighbourhood,
    NewestEvents,
    SingleFiles,
)

VERSION: Final = 8 << 24 | TABLE
"""The version of the schema and of the table of kinds."""

_HERE: Final = Path(__file__).parent
_CANDIDATES: Final = 1_024
"""How many of the events that no other event follows are considered."""
_LAST: Final = "\U0010ffff"
"""Sorts after every text that starts with a prefix, when appended to that prefix."""
_SECTION: Final = 12
"""The column of a fact's section, in queries that return it; `make_fact` reads those before it."""


def open_index(path: str, *, shared_memory: bool | None = None, wait: float | None = None) -> "SqliteIndex":
    """Open the index in a file; raise a CacheError if it cannot be used: callers then use memory."""
    return open_database(SqliteIndex, path, shared_memory=shared_memory, wait=wait)


class SqliteIndex(StatedDatabase):
    """Stores the merged facts, and answers from database indexes."""

    title = "the cache of the event log"
    origin = "the events"
    version = VERSION
    schema = _HERE / "event_schema.sql"
    queries = _HERE / "event_queries.sql"

    def __init__(self, connection: sqlite3.Connection, path: str = "") -> None:
        """Use a connection that does not start transactions on its own."""
        super().__init__(connection, path)
        self._held_before: dict[FactKey, bool] = {}
        self._days: set[int] = set()
        self._digested: int | None = None

    def folders(self) -> Mapping[str, int]:
        return dict(self._all("list_folders"))

    def files(self, folder: str) -> Mapping[str, FileMark]:
        return {name: FileMark(*mark) for name, *mark in self._all("list_files", folder)}

    def apply(self, change: LogChange) -> None:
        with self._reporting():
            self._digested = None
            self._run("forget")
            if self._is_empty():
                load(self._connection, self._queries, change.found)
                self._run_script(_HERE / "event_indexes.sql")
            else:
                self._apply_to_rows(change)
            for folder, mark in change.folders.items():
                if mark is None:
                    self._run("drop_folder", folder)
                else:
                    self._run("save_folder", folder, mark)
            self._run("save_unread", change.unread)

    def _apply_to_rows(self, change: LogChange) -> None:
        self._held_before.clear()
        self._days.clear()
        self._begin_ranking()
        removed = [
            (folder, name)
            for folder, mark in change.folders.items()
            if mark is None
            for name in self.files(folder)
        ]
        for folder, name in [*change.gone, *removed]:
            self._drop_file(folder, name)
        new = [found for found in change.found if not found.is_same]
        for found in new:
            self._drop_file(found.folder, found.name)
        file, source, fact = self._one("next_ids")
        adder = _Adder(file, source, fact)
        for found in new:
            self._add_file(found, adder)
        for found in change.found if len(new) < len(change.found) else ():
            if found.is_same:
                self._run("set_mark", *found.mark, found.folder, found.name)
        self._rank_joined()
        self._settle()

    def _is_empty(self) -> bool:
        made = "SELECT 1 FROM sqlite_master WHERE name = 'facts_by_source'"
        return self._connection.execute(made).fetchone() is None

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
        """Remove an event; facts that it retracted count again, unless another event retracts them too."""
        self._touch_facts(number)
        names = self._all("retractions_of_source", number)
        ts, after, ahead, void = self._one("find_links", number)
        if not void:
            self._leave(number)
        self._days.add(ts // DAY)
        for name in (*split_names(after), *split_names(ahead)):
            self._run("drop_link", name, number)
        for query in ("drop_said_of_source", "drop_facts", "drop_retractions", "drop_source"):
            self._run(query, number)
        for (name,) in names:
            for other, own, digest, void in self._sources_named(name):
                if void and not self._is_retracted(own, digest):
                    self._set_void(other, void=False)

    def _add_file(self, found: EventFile, adder: "_Adder") -> None:
        adder.file += 1
        self._run("add_file", adder.file, found.folder, found.name, *found.mark, found.skipped)
        for source in found.sources:
            known = self._one("find_source", source.rank.hash)
            if known is None:
                adder.source += 1
                self._add_source(source, adder)
            self._run("add_hold", adder.file, adder.source if known is None else known[0])

    def _add_source(self, source: EventFacts, adder: "_Adder") -> None:
        rank = source.rank
        void = self._is_retracted(rank.id, rank.hash) or rank.id in source.retracted
        self._run("add_source", *source_row(source, adder.source, void=void))
        for name in links_of(source):
            self._run("add_link", name, adder.source)
        if not void:
            self._join(adder.source)
        self._days.add(to_micros(rank.at) // DAY)
        rows = fact_rows(source, adder.source, adder.fact + 1)
        adder.fact += len(rows)
        for row in rows:
            self._touch(row.section, row.key)
            held = HOLDS if states_register(row) else PLAIN
            self._run("add_fact", *row, VOID if void else held)
        for named in name_rows(rows):
            self._run("add_named", *named)
        for name in source.retracted:
            self._run("add_retraction", name, adder.source)
            for other, _, _, is_void in self._sources_named(name):
                if not is_void:
                    self._set_void(other, void=True)

    def _sources_named(self, name: str) -> Iterable[tuple[int, str, str, int]]:
        """Return the events that a retraction with this name refers to."""
        rows = self._connection.execute(self._queries["named_sources"], {"name": name}).fetchall()
        return [row for row in rows if row[1] == name or row[2][:ID_SIZE] == name]

    def _is_retracted(self, name: str, digest: str) -> bool:
        return self._one("is_retracted", name, digest[:ID_SIZE]) is not None

    def _set_void(self, number: int, *, void: bool) -> None:
        """Make the facts of an event stop counting, or count again."""
        if void:
            self._leave(number)
        else:
            self._join(number)
        self._touch_facts(number)
        self._run("set_void", int(void), number)
        self._run("set_states_of_source", VOID if void else PLAIN, number)
        if not void:
            registers = ", ".join(str(section_number(section)) for section in REGISTERS)
            again = f"UPDATE facts SET state = {HOLDS} WHERE source = ? AND section IN ({registers})"  # noqa: S608 - numbers of ours
            self._connection.execute(f"{again} AND value IS NOT NULL", (number,))

    # --- the facts that hold ------------------------------------------------------------------

    def _touch_facts(self, number: int) -> None:
        for section, _, key in self._all("facts_of_source", number):
            self._touch(section, key)

    def _touch(self, section: int, key: str) -> None:
        """Remember whether a fact holds before it is changed."""
        fact = FactKey(section, key)
        if fact not in self._held_before and not is_register(section):
            self._held_before[fact] = bool(self._holding(fact))

    def _holding(self, fact: FactKey) -> list[int]:
        bucket = make_bucket(fact.section, fact.key, void=False)
        return [number for (number,) in self._all("holding_fact", bucket, fact.section, fact.key)]

    def _settle(self) -> None:
        """Recompute which facts hold for every fact and day that was touched."""
        for fact, held_before in self._held_before.items():
            in_force = self._find_in_force(fact)
            winner = int(in_force[0][ROW_ID]) if in_force else None
            if fact.section == DECISIONS:
                self._save_contested(fact, in_force)
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

    # --- answers ------------------------------------------------------------------------------

    def digest(self, limit: int, until: datetime | None = None) -> Digest:
        with self._looking():
            self._digested = self._data_version()
            if self._is_empty():
                return make_digest(merge_events(()), 0, limit)
            if until is not None and self._one("is_any_beyond", to_micros(until)) is not None:
                return self._make_digest(limit, until)
            return self._make_digest(limit)

    def _data_version(self) -> int:
        """Return a number that changes when another connection changes the file."""
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def _make_digest(self, limit: int, until: datetime | None = None) -> Digest:
        days = self._all("list_days")
        last = END if until is None else to_micros(until)
        latest = self._one("latest", last)
        kinds = {kind.value: self._newest(kind, limit, until) for kind in MERGED}
        names = dict.fromkeys(fact.event for kind in AIMS for fact in kinds[kind].facts)
        return Digest(
            kinds=kinds,
            event_count=sum(events for _, _, events in days),
            latest=to_instant(latest[0]) if latest else None,
            events_sha256=join_days({day_of(day): digest for day, digest, _ in days}),
            skipped=self._one("count_skipped")[0],
            writers={name: self._find_writer(name, last) for name in names},
            contested=self._list_contested(until)[:limit],
        )

    def _find_writer(self, name: str, until: int) -> Writer:
        agent, session, kind = self._one("find_writer", name)
        last = self._one("last_of_session", session, until) if session else (kind,)
        return Writer(agent, session, last[0] == SESSION_END)

    def _newest(self, kind: FactKind, limit: int, until: datetime | None) -> NewestFacts:
        if until is not None:
            return self._newest_without(kind, limit, until)
        if kind in REGISTERS:
            return self._newest_register(kind, self._rows(kind, 1), until)
        facts = tuple([make_fact(kind.value, row) for row in self._rows(kind, limit)])
        return NewestFacts(facts, self._total(kind))

    def _newest_without(self, kind: FactKind, limit: int, until: datetime) -> NewestFacts:
        """Return the newest facts of a kind without later events; the facts of those are looked up."""
        section, last = section_number(kind), to_micros(until)
        if kind in REGISTERS:
            rows = self._select("newest_register_until", {"section": section, "until": last})
            return self._newest_register(kind, sorted(rows, key=lambda row: row[:ORDER])[-1:], until)
        touched = [FactKey(section, key) for (key,) in self._all("keys_beyond", last, section)]
        moved = {number for fact in touched for number in self._holding(fact)}
        rows = [row for row in self._rows(kind, limit + len(moved)) if row[ROW_ID] not in moved]
        found = [held[0] for fact in touched if (held := self._find_in_force(fact, until))]
        rows = sorted([*rows, *found], key=lambda row: row[:ORDER], reverse=True)[:limit]
        total = self._total(kind) - len(moved) + len(found)
        return NewestFacts(tuple([make_fact(kind.value, row) for row in rows]), total)

    def _newest_register(
        self, kind: FactKind, rows: Sequence[tuple[Any, ...]], until: datetime | None
    ) -> NewestFacts:
        """Return the last statement of a register, unless it was done or retracted since."""
        facts = [make_fact(kind.value, row) for row in rows if not self._is_over(kind, row, until)]
        return newest_of(kind, fold(facts).tables.get(kind, {}), 1)

    def _is_over(self, kind: FactKind, row: tuple[Any, ...], until: datetime | None) -> bool:
        if kind is not FactKind.NOW:
            return False
        key = make_key(row[TEXT])
        retracted = self._newest_of(FactKey(section_number(kind), key), until, void=True)
        done = self._newest_of(FactKey(section_number(FactKind.DONE), key), until, void=False)
        return any(end is not None and end[:ORDER] > row[:ORDER] for end in (retracted, done))

    def _rows(self, kind: FactKind, limit: int) -> list[tuple[Any, ...]]:
        rows = self._select("newest_facts", {"section": section_number(kind), "limit": limit})
        rows.sort(key=lambda row: row[:ORDER], reverse=True)
        return rows[:limit]

    def _total(self, kind: FactKind) -> int:
        row = self._one("count_of_section", section_number(kind))
        return int(row[0]) if row else 0

    def retracted(self, kind: str, texts: Collection[str]) -> frozenset[str]:
        with self._looking():
            if self._is_empty():
                return frozenset()
            section = section_number(FactKind(kind))
            return frozenset(text for text in texts if self._is_taken_back(FactKey(section, make_key(text))))

    def _is_taken_back(self, fact: FactKey) -> bool:
        return self._newest_of(fact, None, void=True) is not None and not self._find_in_force(fact)

    def said(self, kind: str, name: str) -> Sequence[Fact]:
        with self._looking():
            if self._is_empty():
                return ()
            section = section_number(kind)
            rows = [
                row
                for void in (False, True)
                for row in self._select(
                    "said_of_key",
                    {"bucket": make_bucket(section, name, void=void), "section": section, "key": name},
                )
            ]
        rows.sort(key=lambda row: row[:ORDER])
        return [make_fact(kind, row) if row[TEXT] is not None else make_void(kind, row) for row in rows]

    def newest(self, now: datetime, session: str = "") -> NewestEvents:
        with self._looking():
            ranks = self._all("newest_ranks", RECENT)
            present = find_present(now, newest_by_session(ranks).values())
            limit = to_micros(limit_of(present))
            at = self._select("newest_until", {"until": limit, "none": NONE})[0][0]
            since = ranks[:SEEDS_AMONG][-1][2] if ranks else 0
            heads = [
                Head(digest, bool(told), rank >= since)
                for digest, told, rank in self._all("unfollowed", _CANDIDATES)
            ]
            ahead = [make_stored(row) for row in self._all("dated_beyond", limit)]
            # Events without a session have different writers, and there may be any number of them.
            named = self._all("named_ahead", session) if session else []
            own = [name for (names,) in named for name in split_names(names)]
        return NewestEvents(
            present,
            None if at == NONE else to_instant(at),
            choose_heads(heads),
            choose_ahead(ahead, own),
        )

    def published(self, session: str) -> PublishedExtent:
        line, ts = self._one("published", session)
        if ts is None:
            return NOT_PUBLISHED
        last = self._one("last_of_session", session, END) or ("",)
        return PublishedExtent(int(line), to_instant(ts), last[0])

    def places(self, prefix: str = "", limit: int = EVERY) -> Sequence[EventLocation]:
        query = "places" if prefix else "newest_places"
        values = {"first": prefix, "last": f"{prefix}{_LAST}", "limit": limit}
        rows = self._select(query, values)
        return sorted(map(_make_place, rows), key=lambda place: place.order, reverse=True)[:limit]

    def matching(self, wanted: EventFilter, limit: int = EVERY) -> Sequence[EventLocation]:
        if wanted == EventFilter():
            return self.places(limit=limit)
        rows = self._select("matching_places", {**_bounds_of(wanted), "limit": limit})
        return sorted(map(_make_place, rows), key=lambda place: place.order, reverse=True)

    def count(self, wanted: EventFilter) -> int:
        if wanted == EventFilter():
            return sum(events for _, _, events in self._all("list_days"))
        return int(self._select("count_matching", _bounds_of(wanted))[0][0])

    def days(self) -> Mapping[date, str]:
        return {day_of(day): digest for day, digest, _ in self._all("list_days")}

    def places_of(self, track: str, limit: int = EVERY) -> Sequence[EventLocation]:
        rows = self._select("places_of_track", {"track": track, "limit": limit})
        return sorted(map(_make_place, rows), key=lambda place: place.order, reverse=True)

    def stated(self, facts: Collection[Fact]) -> frozenset[Fact]:
        with self._looking():
            if self._is_empty():
                return frozenset()
            return frozenset(fact for fact in facts if self._finds("is_stated", fact, value=fact.text))

    def shared_with(self, track: str, facts: Collection[Fact]) -> frozenset[Fact]:
        with self._looking():
            if not self._select("is_other_track", {"track": track}):
                return frozenset(facts)
            return frozenset(fact for fact in facts if self._finds("is_shared", fact, track=track))

    def _finds(self, query: str, fact: Fact, **values: str) -> bool:
        key, section = identify(fact), section_number(fact.kind)
        bucket = make_bucket(section, key, void=False)
        return bool(self._select(query, {"bucket": bucket, "section": section, "key": key, **values}))

    def skipped_files(self) -> Sequence[str]:
        return sorted("/".join(filter(None, row)) for row in self._all("list_skipped"))

    def unread(self) -> int:
        row = self._one("count_unread")
        return int(row[0]) if row else 0

    def uncommitted(self) -> Sequence[str]:
        return sorted("/".join(filter(None, row)) for row in self._all("list_uncommitted"))

    def is_held(self, folder: str, name: str, digest: str = "") -> bool:
        with self._looking():
            if self._is_empty():
                return False
            return self._one("is_held_in", folder, name, digest) is not None

    def live(self, most: int) -> LiveEvents:
        with self._looking():
            if self._is_empty():
                return LiveEvents()
            newest = self._one("newest_live")
            return LiveEvents(len(self._all("list_live", most)), str(newest[0]) if newest else "")

    def uncommitted_of(self, session: str) -> Sequence[str]:
        return sorted(str(path).removeprefix("/") for (path,) in self._all("list_uncommitted_of", session))

    def note_committed(self, paths: Collection[str]) -> None:
        """Record that these files are committed; if the cache cannot be written, they are looked up again."""
        with suppress(CacheError), self.changing():
            for path in paths:
                folder, _, name = path.rpartition("/")
                self._run("set_committed", folder, name)

    def single_files(self) -> SingleFiles:
        with self._looking():
            return SingleFiles() if self._is_empty() else SingleFiles(*(self._one("count_single") or ()))

    def oldest_single(self, most: int) -> Sequence[str]:
        with self._looking():
            rows = () if self._is_empty() else self._all("oldest_single", most)
            return ["/".join(filter(None, row)) for row in rows]

    def single_sessions(self) -> frozenset[str]:
        return frozenset(str(row[0]) for row in self._all("sessions_of_single"))

    def recall(self, name: str) -> str | None:
        row = self._one("recall", name)
        return row and str(row[0])

    def remember(self, name: str, text: str) -> None:
        """Store a text until the next change.

        1. It was made from the last digest: if the index has changed since, it is not stored.
        2. If the cache cannot be written, it is not stored either.
        """
        with suppress(CacheError), self.changing():  # 2
            if self._data_version() == self._digested:  # 1
                self._run("remember", name, text)

    # --- related facts ---------------------------------------------------------------------

    def near(self, place: Neighbourhood, until: datetime) -> NearFacts:
        with self._looking():
            if self._is_empty():
                return NearFacts()
            last = to_micros(until)
            files = name_files(place.files, self._is_unique)
            of_track = self._newest_events("newest_of_track", place.track, last)
            of_branch = self._newest_events("newest_of_branch", place.branch, last)
            named = self._find_named(files, last)
            rows = {row[ROW_ID]: row for row in named}
            for number, _, _ in (*of_track, *of_branch):
                rows |= {row[ROW_ID]: row for row in self._all("held_of_source", number)}
        lasting = [row for row in rows.values() if row[_SECTION] in LASTING]
        lasting.sort(key=lambda row: row[:ORDER], reverse=True)
        return NearFacts(
            tuple([make_fact(KIND_OF[row[_SECTION]], row[:_SECTION]) for row in lasting]),
            frozenset((KIND_OF[row[_SECTION]], row[TEXT]) for row in named),
            files,
            frozenset(digest for _, digest, _ in of_track),
            frozenset(digest for _, digest, _ in of_branch),
        )

    def _find_named(self, files: NamedFiles, last: int) -> Sequence[tuple[Any, ...]]:
        """Find the newest facts that name one of the files; a hash may also match another name."""
        hashes = sorted({hash_name(last_word(name)) for name in files.wanted})
        values = {"until": last, "limit": NEAR_FACTS}
        found = [row for name in hashes for row in self._select("facts_named", {**values, "name": name})]
        found.sort(key=lambda row: row[:ORDER], reverse=True)
        return [row for row in found if row[_SECTION] in LASTING and files.are_in(row[TEXT])][:NEAR_FACTS]

    def _is_unique(self, name: str) -> bool:
        """Return whether at most one file in the events has this name."""
        found = self._all("files_with_name", hash_file_name(name), FILES, NEAR_FACTS)
        return sum(read_name(path).name == name for (path,) in found) <= 1

    def _newest_events(self, query: str, value: str, last: int) -> Sequence[tuple[Any, ...]]:
        values = {"value": value, "until": last, "limit": NEAR_EVENTS}
        return self._select(query, values) if value else ()

    def files_of_last(self, track: str, branch: str, until: datetime) -> Sequence[str]:
        with self._looking():
            if self._is_empty():
                return ()
            last = to_micros(until)
            events = self._newest_events("newest_of_track", track, last)
            events = events or self._newest_events("newest_of_branch", branch, last)
            sessions = list(dict.fromkeys(session for _, _, session in events))[:NEAR_SESSIONS]
            numbers = [number for number, _, session in events if session in sessions]
            found = [path for number in numbers for (path,) in self._all("files_of_source", number, FILES)]
        return list(dict.fromkeys(found))


class _Adder:
    """The last ids that were assigned."""

    def __init__(self, file: int, source: int, fact: int) -> None:
        self.file = file
        self.source = source
        self.fact = fact


def _bounds_of(wanted: EventFilter) -> dict[str, object]:
    """Return a filter as values of a query."""
    since = NONE if wanted.since is None else to_micros(wanted.since)
    until = END if wanted.until is None else to_micros(wanted.until)
    return {**wanted._asdict(), "since": since, "until": until}


def _make_place(row: Sequence[Any]) -> EventLocation:
    ts, agent, name, digest, branch, kind, void, rank, cause, path = row
    folder, _, file = path.rpartition("/")
    stamp = EventRank(to_instant(ts), agent, name, digest)
    return EventLocation(stamp, branch, kind, folder, file, bool(void), to_instant(rank), cause)
