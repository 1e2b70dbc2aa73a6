"""A copy of a server's sessions, files and tasks, for use when the server may not or cannot be asked (C77).

It is a coordination database of its own, with this machine's instants, so it is read with the same code as
the server. It grants nothing. It has the tasks that are held and the first ready ones. Copies by older
versions have only reserved files and their holders.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager, suppress
from math import inf
from typing import Final, NamedTuple

from passdown.core.coordination.leases import COPIED, PATH, TASK, Lease
from passdown.core.coordination.members import MOST_DELETED, EngineTime, Member
from passdown.core.coordination.silences import HeardSigns, Silence, find_silence
from passdown.core.coordination.tasks import MOST_READY, Task
from passdown.engines.coordination.transactions import (
    LIFETIMES,
    LogRow,
    Reading,
    Store,
    StoreWrapper,
    Transaction,
)
from passdown.engines.sqlite.coordination import LocalMachine, open_store
from passdown.errors import StorageError
from passdown.records import replace

_WAIT: Final = 0.25
"""How long to wait for another process, whose copy is just as new."""
_LONG_AGO: Final = -1.0
_MOST_MEMBERS: Final = 100
"""How many sessions that hold nothing are copied: those with the most recent heartbeats."""


class ReadReservations(NamedTuple):
    """The sessions, files and tasks on a server, with its time."""

    at: float
    leases: Sequence[Lease]
    """All leases on files, and those on tasks that have not ended."""
    members: Sequence[Member]
    tasks: Sequence[Task] = ()
    silences: Sequence[Silence] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to copy."""
        return not (self.leases or self.members or self.tasks)


class ReservationCopy:
    """The file in which a clone stores the copy."""

    def __init__(self, path: str, project: str, machine: LocalMachine) -> None:
        """Store the path of the file, which is created when there is something to copy."""
        self._path = path
        self._project = project
        self._machine = machine

    def write(self, read: ReadReservations) -> None:
        """Replace the content of the copy; if that fails, the old content stays."""
        if read.is_empty and not os.path.exists(self._path):
            return
        with (
            suppress(StorageError),
            closing(open_store(self._path, self._project, self._machine, wait=_WAIT)) as store,
            store.changing() as change,
        ):
            _put(change, read)


def _put(change: Transaction, read: ReadReservations) -> None:
    now = change.time
    later = now.seconds - read.at
    old = [lease for kind in (PATH, TASK) for lease in change.leases(kind, ended=True)]
    change.put_leases([replace(lease, ended=_LONG_AGO) for lease in old])
    change.drop_old(0.0, now.seconds)
    _put_tasks(change, read.tasks)
    known = {member.session for member in read.members}
    for member in change.members():
        if member.session not in known:
            change.put_member(replace(member, ended=now.seconds))
    for member in read.members:
        change.put_member(_move_member(member, later, now))
    change.put_leases([_move_lease(lease, later) for lease in read.leases])
    change.drop_unused(inf, MOST_DELETED)
    change.put_silences([Silence(one.began + later, one.ended + later) for one in read.silences])
    change.add_log(LogRow(change.fence, f"{COPIED}-{change.fence}", now.seconds, "", COPIED, "", "{}"))


def _put_tasks(change: Transaction, tasks: Sequence[Task]) -> None:
    """Replace the stored tasks, without the texts that no brief shows."""
    known = {task.task for task in tasks}
    for task in change.tasks(closed=True):  # older versions only closed them
        if task.task not in known:
            change.drop_task(task.task)
    for task in tasks:
        change.put_task(replace(task, body="", note=""))


def _move_member(member: Member, later: float, now: EngineTime) -> Member:
    """Return a session by the clock of this machine; as on a server, its process is not checked."""
    ended = _move(member.ended, later)
    return replace(member, process="", boot=now.boot, seen=member.seen + later, ended=ended)


def _move_lease(lease: Lease, later: float) -> Lease:
    until = lease.until + later if lease.until else 0.0
    return replace(lease, used=lease.used + later, until=until, ended=_move(lease.ended, later))


def _move(at: float | None, later: float) -> float | None:
    return None if at is None else at + later


class CopyingStore(StoreWrapper):
    """A `Store` of a server whose answers renew the copy: its first one, and after each change."""

    def __init__(self, store: Store, copy: ReservationCopy) -> None:
        super().__init__(store)
        self._copy = copy
        self._is_copied = False

    @contextmanager
    def changing(self) -> Generator[Transaction, None, None]:
        with self._store.changing() as change:
            yield change
        self._is_copied = False
        with suppress(StorageError), self.looking():  # the change is made; the copy may be renewed later
            pass

    @contextmanager
    def looking(self) -> Generator[Reading, None, None]:
        read: ReadReservations | None = None
        with self._store.looking() as reading:
            if not self._is_copied:
                reading.read_ahead(MOST_READY)
            yield reading
            if not self._is_copied:
                read = _read(reading)
        if read is not None:
            self._is_copied = True
            self._copy.write(read)


def _read(reading: Reading) -> ReadReservations:
    leases = [*reading.leases(PATH, ended=True), *reading.leases(TASK)]
    known = {member.session: member for member in reading.members()}
    heard = sorted(known.values(), key=lambda member: member.seen, reverse=True)[:_MOST_MEMBERS]
    sessions = dict.fromkeys((*(lease.session for lease in leases), *(member.session for member in heard)))
    members = (known.get(session) or reading.find_member(session) for session in sessions)
    now = reading.time.seconds
    return ReadReservations(
        now,
        leases,
        [one for one in members if one is not None],
        [*reading.held_tasks(), *reading.ready_tasks(MOST_READY)],
        _find_silences(reading.heard(), now) if leases else (),
    )


def _find_silences(heard: HeardSigns, now: float) -> Sequence[Silence]:
    """Return the silences; a current one ends here, because later heartbeats are unknown."""
    open_one = find_silence(heard.newest, now, LIFETIMES.quiet)
    return (*heard.silences, open_one) if open_one else heard.silences
