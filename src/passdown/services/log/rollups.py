"""Archive old events that git does not track: each day gets a rollup, and the files move (C22)."""

from collections.abc import Iterator
from datetime import date, timedelta
from itertools import islice
from typing import Final, NamedTuple

from passdown.core.ids import parse_event_file_name
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.rollups import RollupMember, is_rollup, name_rollup, parse_rollup, render_rollups
from passdown.ports.clock import Clock
from passdown.ports.event_log import EventLog

AT_ONCE: Final = 50
"""How many events a session archives as it ends: there may be thousands, and a hook has only seconds."""

Pair = tuple[RollupMember, EventFacts]


class LooseEvent(NamedTuple):
    """An event in a file of its own."""

    folder: str
    name: str
    pair: Pair


class ArchivedEvents(NamedTuple):
    """The result of archiving: how many files moved, of how many days."""

    moved: int
    days: int


NOTHING_ARCHIVED: Final = ArchivedEvents(0, 0)


def archive_events(log: EventLog, clock: Clock, days: int, most: int | None = None) -> ArchivedEvents:
    """Archive the events that are older than a number of days, in whole UTC days.

    With `most`, at most that many events are archived, oldest folders first.

    1. Rollups of the events that no rollup of that day has yet are created durably before any file moves.
    2. Files that cannot be merged and events dated in the future stay in place.
    3. If it is interrupted at any point, nothing is lost and the next call continues.
    """
    due: dict[date, list[LooseEvent]] = {}
    for one in islice(_due(log, _last_day(clock, days)), most):
        due.setdefault(one.pair[1].rank.at.date(), []).append(one)
    moved = 0
    for day, loose in sorted(due.items()):
        folder = day.isoformat()
        rollups = (log.read(folder, name) for name in log.files(folder) if is_rollup(name))
        members = (pair for data in rollups if data is not None for pair in parse_rollup(data).members)
        known = {source.rank.hash for _, source in members}
        new = [one.pair for one in loose if one.pair[1].rank.hash not in known]
        for text in render_rollups(day, new):  # 1
            log.create(folder, name_rollup(text), text.encode())
        moved += _move(log, loose, folder)
    return ArchivedEvents(moved, len(due))


def count_due(log: EventLog, clock: Clock, days: int) -> int:
    """Return how many files `archive_events` would move; nothing is changed."""
    return sum(1 for _ in _due(log, _last_day(clock, days)))


def _last_day(clock: Clock, days: int) -> date:
    return clock.now().date() - timedelta(days=days)


def _due(log: EventLog, last: date) -> Iterator[LooseEvent]:
    """Yield the events with files of their own that were written before a day (2)."""
    for folder in log.folders({}):
        if folder >= last.isoformat():
            continue
        for name in sorted(log.files(folder)):
            named = parse_event_file_name(name)
            one = None if named and named.at.date() >= last else _read(log, folder, name)
            if one is not None and one.pair[1].rank.at.date() < last:
                yield one


def _read(log: EventLog, folder: str, name: str) -> LooseEvent | None:
    data = None if is_rollup(name) else log.read(folder, name)
    source = parse_event_facts(data, name) if data is not None else None
    if data is None or source is None:
        return None
    return LooseEvent(folder, name, (RollupMember(name, data), source))


def _move(log: EventLog, loose: list[LooseEvent], day: str) -> int:
    folders: dict[str, list[str]] = {}
    for one in loose:
        folders.setdefault(one.folder, []).append(one.name)
    return sum(log.archive(folder, names, day) for folder, names in folders.items())
