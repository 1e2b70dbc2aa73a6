"""The first load of an index: everything at once, in the order of events, computing which facts hold."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import islice
from operator import attrgetter
from typing import Final

from passdown.core.facts import Fact
from passdown.core.fold import fold
from passdown.core.merge.event_facts import EventFacts
from passdown.core.merge.merge import hash_day, in_said_order, order_events
from passdown.core.merge.ranks import RankPlace
from passdown.core.times import to_micros
from passdown.engines.sqlite.event_ranks import join_names
from passdown.engines.sqlite.event_rows import (
    DAY,
    HOLDS,
    PLAIN,
    VOID,
    FactRow,
    fact_rows,
    is_register,
    name_rows,
    states_register,
)
from passdown.ports.index import EventFile

_FIRST_DAY: Final = date(1970, 1, 1)
_AT_ONCE: Final = 10_000
"""How many rows are made before they are written."""


def load(connection: sqlite3.Connection, queries: Mapping[str, str], found: Sequence[EventFile]) -> None:
    """Fill the empty tables of an index."""
    unique = {source.rank.hash: source for one in found for source in one.sources}
    ordered = order_events(unique.values())
    heard = {source.rank.hash for source in ordered.heard}
    void = [source for source in unique.values() if source.rank.hash not in heard]
    in_order = [*ordered.heard, *sorted(void, key=lambda source: source.rank)]
    numbers = {source.rank.hash: number for number, source in enumerate(in_order, 1)}
    connection.executemany(
        queries["add_file"],
        ((number, one.folder, one.name, *one.mark, one.skipped) for number, one in enumerate(found, 1)),
    )
    connection.executemany(
        queries["add_hold"],
        (
            (number, numbers[source.rank.hash])
            for number, one in enumerate(found, 1)
            for source in one.sources
        ),
    )
    connection.executemany(
        queries["add_source"],
        (
            source_row(
                source,
                number,
                void=source.rank.hash not in heard,
                place=ordered.places.get(source.rank.hash),
                followed=source.rank.hash in ordered.followed,
            )
            for number, source in enumerate(in_order, 1)
        ),
    )
    for query, names in (("add_retraction", attrgetter("retracted")), ("add_link", links_of)):
        connection.executemany(
            queries[query],
            ((name, number) for number, source in enumerate(in_order, 1) for name in names(source)),
        )
    _load_facts(connection, queries, in_order, len(heard))
    if ordered.places:
        _load_said(connection, queries, in_order, unique)
    _load_days(connection, queries, in_order)


def links_of(source: EventFacts) -> Iterable[str]:
    """Return the names of the events that an event lists as read."""
    return (*source.after, *source.ahead)


def source_row(
    source: EventFacts, number: int, *, void: bool, place: RankPlace | None = None, followed: bool = False
) -> tuple[object, ...]:
    """Return the row of an event."""
    rank = source.rank
    ts = to_micros(rank.at)
    return (
        number,
        rank.hash,
        ts,
        rank.agent,
        rank.id,
        source.branch,
        source.type,
        source.session,
        source.covered,
        join_names(source.after),
        join_names(source.ahead),
        *((ts, ts, 0) if place is None else (to_micros(place.at), place.cause, 1)),
        int(followed),
        int(void),
        source.track,
    )


def _load_facts(
    connection: sqlite3.Connection, queries: Mapping[str, str], in_order: Sequence[EventFacts], heard: int
) -> None:
    """Write all facts, after folding them to find which hold; events that count come first.

    A year of fifty agents has millions of facts, so there are never rows of more than some thousands.
    """
    folded = fold(in_said_order(in_order[:heard]))
    holding = {id(fact) for table in folded.tables.values() for fact in table.values()}
    contested = {id(fact) for facts in folded.list_contested() for fact in facts}
    counts = Counter[int]()
    rows = _make_rows(in_order)
    while some := [*islice(rows, _AT_ONCE)]:
        held = {row.id for fact, row in some if id(fact) in holding}
        connection.executemany(
            queries["add_contested"],
            ((row.id, row.section, row.key) for fact, row in some if id(fact) in contested),
        )
        connection.executemany(
            queries["add_fact"], ((*row, _state_of(row, heard, is_held=row.id in held)) for _, row in some)
        )
        connection.executemany(queries["add_named"], name_rows(row for _, row in some))
        counts.update(row.section for _, row in some if row.id in held and not is_register(row.section))
    connection.executemany(queries["change_count"], counts.items())


def _make_rows(in_order: Iterable[EventFacts]) -> Iterator[tuple[Fact, FactRow]]:
    """Yield all facts with their rows."""
    first = 1
    for number, source in enumerate(in_order, 1):
        yield from zip(source.facts, fact_rows(source, number, first), strict=True)
        first += len(source.facts)


def _state_of(row: FactRow, heard: int, *, is_held: bool) -> int:
    if row.source > heard:
        return VOID
    return HOLDS if is_held or states_register(row) else PLAIN


def _load_said(
    connection: sqlite3.Connection,
    queries: Mapping[str, str],
    in_order: Sequence[EventFacts],
    unique: Mapping[str, EventFacts],
) -> None:
    """Write the original times of facts that count as stated at another time."""
    number = 0
    for source in in_order:
        for moved, fact in zip(source.facts, unique[source.rank.hash].facts, strict=True):
            number += 1
            if moved.at != fact.at:
                connection.execute(queries["save_said"], (number, to_micros(fact.at)))


def _load_days(
    connection: sqlite3.Connection, queries: Mapping[str, str], in_order: Sequence[EventFacts]
) -> None:
    days: dict[int, list[str]] = {}
    for source in in_order:
        days.setdefault(to_micros(source.rank.at) // DAY, []).append(source.rank.hash)
    connection.executemany(
        queries["save_day"], ((day, hash_day(hashes), len(hashes)) for day, hashes in days.items())
    )


def day_of(number: int) -> date:
    """Return the date of a day number."""
    return _FIRST_DAY + timedelta(days=number)
