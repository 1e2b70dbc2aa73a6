"""Checks whether a coordination database is still the same, and restores a lost one (C146).

The newest intact copy gets every later change of the log, and then the claims and reservations that only the
sessions recorded: of those that overlap, the one with the higher fence. New positions are above all known
ones.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Final, NamedTuple

from passdown.core.coordination.leases import TASK, Fenced, KnownHolder, Lease
from passdown.core.coordination.patterns import overlap, parse_pattern
from passdown.engines.coordination.changes import end_leases
from passdown.engines.coordination.rows import RowTransaction, Statements
from passdown.engines.coordination.transactions import LIFETIMES, LogRow, Transaction
from passdown.engines.sqlite.change_log import ChangeLog, Known, Period
from passdown.engines.sqlite.coordination_database import CoordinationDatabase
from passdown.engines.sqlite.database import open_read_only
from passdown.engines.sqlite.engine_clock import ClockRow
from passdown.errors import StorageError
from passdown.records import replace

RESTORED: Final = "restored"
"""The verb in the log of the change that restored a lost database."""

_COMPARED: Final = ("tasks", "waits", "leases", "messages", "inbox", "offers")
"""The tables whose changes all have positions."""


class Restored(NamedTuple):
    """What a lost database was restored from."""

    base: Period | None
    changes: int
    """How many changes of the log were applied again."""
    holdings: int
    """How many claims and reservations only sessions had recorded."""
    missing: int
    """How many positions have no known change."""


# --- checking -----------------------------------------------------------------------------------------


def compare(database: CoordinationDatabase, expected: CoordinationDatabase) -> str:
    """Return the first table whose rows differ; empty if none do. Heartbeats are not compared."""
    for table in _COMPARED:
        if sorted(database.read_table(table)) != sorted(expected.read_table(table)):
            return table
    return ""


def is_whole(log: ChangeLog, period: Period) -> bool:
    """Return whether a lost database can be restored from the start of a period."""
    if not period.has_copy:
        return True
    path = log.copy_of(period.number)
    try:
        with closing(CoordinationDatabase(open_read_only(path, immutable=True), path)) as copy:
            return not copy.find_damage()
    except (StorageError, sqlite3.Error):
        return False


# --- restoring ----------------------------------------------------------------------------------------


def find_base(log: ChangeLog) -> Period | None:
    """Return the newest period that begins with an intact copy, or with nothing."""
    return next((one for one in reversed(log.periods()) if is_whole(log, one)), None)


def fill(
    database: CoordinationDatabase,
    log: ChangeLog,
    base: Period | None,
    known: Known,
    holders: Mapping[str, Sequence[KnownHolder]],
    tell_time: Callable[[Statements, str], ClockRow],
) -> Restored:
    """Bring a database that was restored from a base up to date.

    `holders` are the sessions of each project, with what they hold according to their own records.
    """
    changes, gaps = replay(database, log, base)
    with database.changing():
        holdings = 0
        for project in sorted({*database.positions(), *known.positions, *holders}):
            restored = database.positions().get(project, 0)
            sessions = holders.get(project, ())
            seen = [one.position for one in sessions] + [held.fence for one in sessions for held in one.held]
            highest = max([restored, known.positions.get(project, 0), *seen])
            gaps += highest - restored
            time = tell_time(database, project)
            database.change("add_project", project)
            database.change("set_clock", *time, highest + 1, project)
            change = RowTransaction(database, project, time.time, highest + 1)
            holdings += _add_holdings(change, sessions, restored)
            for member in change.members():  # none counts as silent: heartbeats are not logged
                change.put_member(replace(member, seen=change.time.seconds, boot=change.time.boot))
            name = f"{RESTORED}-{highest + 1}"
            change.add_log(LogRow(highest + 1, name, time.newest, "", RESTORED, "", "null"))
    return Restored(base, changes, holdings, gaps)


def replay(database: CoordinationDatabase, log: ChangeLog, base: Period | None) -> tuple[int, int]:
    """Apply the logged changes that a database restored from a base lacks.

    Return how many were applied, and how many positions have no change. A change that this version cannot
    apply, or that no longer fits, counts as a position without one.
    """
    periods = [one for one in log.periods() if base is None or one.number >= base.number]
    made, gaps = 0, 0
    with database.changing():
        for change in (change for period in periods for change in log.changes_of(period)):
            position = database.positions().get(change.project, 0)
            if change.position <= position:
                continue
            gaps += change.position - position - 1
            try:
                for query, values in change.calls:
                    database.change(query, *values)
                made += 1
            except (StorageError, KeyError):
                gaps += 1
    return made, gaps


def _add_holdings(change: Transaction, holders: Sequence[KnownHolder], restored: int) -> int:
    """Store what sessions recorded as theirs since a position, unless others hold it under a higher fence."""
    known = sorted(
        ((holder, held) for holder in holders for held in holder.held if held.fence > restored),
        key=lambda one: -one[1].fence,
    )
    added = 0
    for holder, held in known:
        others = [one for one in change.leases(held.resource.kind) if _conflicts(one, held, holder)]
        if any(one.fence > held.fence for one in others):
            continue
        end_leases(change, others, taken=True)
        if change.find_member(holder.member.session) is None:
            change.put_member(holder.member)
        (kind, name), session, now = held.resource, holder.member.session, change.time.seconds
        change.put_lease(
            Lease(kind=kind, name=name, session=session, fence=held.fence, ttl=LIFETIMES.unused, used=now)
        )
        task = change.find_task(held.resource.name) if held.resource.kind == TASK else None
        if task is not None:
            change.put_task(replace(task, is_held=True))
        added += 1
    return added


def _conflicts(lease: Lease, held: Fenced, holder: KnownHolder) -> bool:
    if lease.session == holder.member.session:
        return False
    if lease.kind == TASK:
        return lease.resource == held.resource
    return overlap(parse_pattern(lease.name), parse_pattern(held.resource.name))
