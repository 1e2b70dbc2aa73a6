"""The first load of an index: everything at once, in the order of events, with what holds worked out here."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Final

from passdown.core.merge import hash_day
from passdown.core.sources import CHECKPOINTS, Source, all_retracted, is_retracted
from passdown.engines.index.rows import (
    DAY,
    HOLDS,
    PLAIN,
    VOID,
    FactRow,
    fact_rows,
    is_register,
    section_number,
    to_micros,
)
from passdown.ports.index import Found

_FIRST_DAY: Final = date(1970, 1, 1)
_CHECKPOINTS: Final = section_number(CHECKPOINTS)

Holding = dict[tuple[int, str], FactRow]


def load(connection: sqlite3.Connection, queries: Mapping[str, str], found: Sequence[Found]) -> None:
    """Fill the empty tables of an index."""
    unique = {source.rank.hash: source for one in found for source in one.sources}
    in_order = sorted(unique.values(), key=lambda source: source.rank)
    numbers = {source.rank.hash: number for number, source in enumerate(in_order, 1)}
    retracted = all_retracted(in_order)
    void = {source.rank.hash for source in in_order if is_retracted(source.rank, retracted)}
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
            source_row(source, number, void=source.rank.hash in void)
            for number, source in enumerate(in_order, 1)
        ),
    )
    connection.executemany(
        queries["add_retraction"],
        ((name, numbers[source.rank.hash]) for source in in_order for name in source.retracted),
    )
    _load_facts(connection, queries, in_order, void)
    _load_days(connection, queries, in_order)


def source_row(source: Source, number: int, *, void: bool) -> tuple[object, ...]:
    """Make the row of an event."""
    rank = source.rank
    return (
        number,
        rank.hash,
        to_micros(rank.at),
        rank.agent,
        rank.id,
        source.branch,
        source.type,
        source.session,
        source.covered,
        int(void),
    )


def _load_facts(
    connection: sqlite3.Connection, queries: Mapping[str, str], in_order: Sequence[Source], void: set[str]
) -> None:
    rows: list[FactRow] = []
    holding: Holding = {}
    is_void: set[int] = set()
    for number, source in enumerate(in_order, 1):
        new = fact_rows(source, number, len(rows) + 1)
        rows += new
        if source.rank.hash in void:
            is_void.add(number)
            continue
        for row in new:
            _apply(holding, row)
    holds = {row.id for row in holding.values()}
    connection.executemany(
        queries["add_fact"],
        ((*row, VOID if row.source in is_void else HOLDS if _is_held(row, holds) else PLAIN) for row in rows),
    )
    counts = Counter(row.section for row in holding.values())
    connection.executemany(queries["change_count"], counts.items())


def _is_held(row: FactRow, holds: set[int]) -> bool:
    return row.id in holds or is_register(row.section)


def _apply(holding: Holding, row: FactRow) -> None:
    """Apply a row that is later than all before it, as merging does."""
    key = (row.section, row.key)
    if is_register(row.section):
        return
    if row.value is None:
        holding.pop(key, None)
    elif row.section != _CHECKPOINTS or key not in holding or holding[key].ts <= row.ts:
        holding[key] = row


def _load_days(
    connection: sqlite3.Connection, queries: Mapping[str, str], in_order: Sequence[Source]
) -> None:
    days: dict[int, list[str]] = {}
    for source in in_order:
        days.setdefault(to_micros(source.rank.at) // DAY, []).append(source.rank.hash)
    connection.executemany(
        queries["save_day"], ((day, hash_day(hashes), len(hashes)) for day, hashes in days.items())
    )


def day_of(number: int) -> date:
    """Give the date of a day's number."""
    return _FIRST_DAY + timedelta(days=number)
