"""Merging: from a set of events to what holds now, whatever the order in which they were found.

Events are put into their order once (time, agent, id, hash) and then applied, so that later ones win:

1. Register (goal, now, next): the last value stated.
2. Set (done, questions, constraints, receipts, feedback): a text stated again moves to the end; one taken
   back is gone until it is stated later.
3. Map (decisions): like a set, by key; the last text of a key counts.
4. List (checkpoints): every distinct one, by its own time; the last of each phase is shown.
5. An event that any event retracts takes no part, whatever the time of either.
6. An event that both states and takes back a fact takes it back.

The same events give the same answer in any order, in any groups, however often each is given.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from itertools import islice
from typing import Final, NamedTuple

from passdown.core.sources import (
    CHECKPOINTS,
    CONSTRAINTS,
    DECISIONS,
    DONE,
    FEEDBACK,
    GOAL,
    NEXT,
    NOW,
    QUESTIONS,
    RECEIPTS,
    SECTIONS,
    Rank,
    Section,
    Source,
    Value,
    all_retracted,
    is_retracted,
)
from passdown.records import record

REGISTERS: Final[tuple[Section, ...]] = (GOAL, NOW, NEXT)
LISTS: Final[tuple[Section, ...]] = (
    DONE,
    DECISIONS,
    CONSTRAINTS,
    QUESTIONS,
    CHECKPOINTS,
    RECEIPTS,
    FEEDBACK,
)


class Held(NamedTuple):
    """A value that holds: since when, by which event, and what it is."""

    at: datetime
    rank: Rank
    value: Value


class Newest(NamedTuple):
    """The newest facts of a section, and how many there are in all."""

    held: tuple[Held, ...] = ()
    total: int = 0


@record
class Digest:
    """What a view needs to know of all events: the newest of each section, and what they are in all."""

    registers: Mapping[Section, Held]
    sections: Mapping[Section, Newest]
    event_count: int
    latest: datetime | None
    events_sha256: str
    skipped: int


Table = dict[str, Held]


@record
class Merged:
    """All that holds, section by section, each from the oldest to the newest."""

    tables: Mapping[Section, Mapping[str, Held]]
    checkpoints: tuple[Held, ...]
    ranks: tuple[Rank, ...]
    latest: datetime | None


def merge(sources: Iterable[Source]) -> Merged:
    """Merge events; see the cases above."""
    unique = {source.rank.hash: source for source in sources}
    retracted = all_retracted(unique.values())
    in_order = sorted(unique.values(), key=_rank_of)
    tables: dict[Section, Table] = {section: {} for section in SECTIONS}
    checkpoints: set[Held] = set()
    latest: datetime | None = None
    for rank, facts, *_ in in_order:
        if retracted and is_retracted(rank, retracted):  # 5
            continue
        latest = rank.at
        for section, key, value, at in facts:
            table = tables[section]
            if section == CHECKPOINTS and value is not None:  # 4
                checkpoints.add(Held(at, rank, value))
                if key in table and table[key].at > at:
                    continue
            table.pop(key, None)  # 1, 2, 3, 6
            if value is not None:
                table[key] = Held(at, rank, value)
    tables[CHECKPOINTS] = dict(sorted(tables[CHECKPOINTS].items(), key=lambda item: item[1][:2]))
    return Merged(
        tables=tables,
        checkpoints=_distinct(checkpoints),
        ranks=tuple([source.rank for source in in_order]),
        latest=latest,
    )


def _rank_of(source: Source) -> Rank:
    return source.rank


def _distinct(checkpoints: Iterable[Held]) -> tuple[Held, ...]:
    """Keep one of equal checkpoints, by their time; which event is named does not depend on the order."""
    unique = {(held.at, held.value): held for held in sorted(checkpoints, reverse=True)}
    return tuple(sorted(unique.values()))


def make_digest(merged: Merged, skipped: int, limit: int) -> Digest:
    """Take the newest of each section, at most `limit`."""
    return Digest(
        registers={section: merged.tables[section][""] for section in REGISTERS if merged.tables[section]},
        sections={section: _newest(merged.tables[section], limit) for section in LISTS},
        event_count=len(merged.ranks),
        latest=merged.latest,
        events_sha256=hash_events(merged.ranks),
        skipped=skipped,
    )


def _newest(table: Mapping[str, Held], limit: int) -> Newest:
    return Newest(tuple(islice(reversed(tuple(table.values())), limit)), len(table))


def hash_events(ranks: Iterable[Rank]) -> str:
    """Hash a set of events day by day, so that one more event costs no more than its day."""
    days: dict[date, list[str]] = {}
    for rank in ranks:
        days.setdefault(rank.at.date(), []).append(rank.hash)
    return join_days({day: hash_day(hashes) for day, hashes in days.items()})


def hash_day(hashes: Iterable[str]) -> str:
    """Hash the events of one day."""
    return hashlib.sha256("\n".join(sorted(hashes)).encode()).hexdigest()


def join_days(days: Mapping[date, str]) -> str:
    """Hash the hashes of all days."""
    lines = "".join(f"{day.isoformat()} {digest}\n" for day, digest in sorted(days.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
