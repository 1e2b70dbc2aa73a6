"""What coordination needs from a store of rows: transactions on one project, one writer at a time (C78).

`Store.changing` takes the project's lock before it reads: a change that reads first could grant one thing to
two sessions. Its `fence` is the position of the change: positions have no gaps and follow the commit order. A
transaction that raises leaves nothing behind, not even its position.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple, Protocol

from passdown.core.coordination.leases import Lease, Lifetimes
from passdown.core.coordination.members import EngineTime, Member
from passdown.core.coordination.messages import Message
from passdown.core.coordination.offers import Offer
from passdown.core.coordination.silences import HeardSigns, Silence
from passdown.core.coordination.tasks import Task

LIFETIMES: Final = Lifetimes()


class LogRow(NamedTuple):
    """A change as it is stored."""

    position: int
    op: str
    at: float
    session: str
    verb: str
    subject: str
    data: str
    """The outcome as JSON, so that a repeated operation returns the same one."""


class TaskCounts(NamedTuple):
    """How many tasks are stored as not closed."""

    unfinished: int
    ready: int
    """Those that are open, not held and wait for none."""


class Reading(Protocol):
    """One consistent state of the project."""

    @property
    def time(self) -> EngineTime:
        """The engine's time; in a change, read after the lock was taken."""
        ...

    def read_ahead(self, ready: int) -> None:
        """Read what a copy of the project has at once, if each question is a message to a server.

        That is its leases, sessions, silences, held tasks, and that many ready ones; what is asked later is
        the same.
        """
        ...

    def position(self) -> int:
        """Return the position of the last change."""
        ...

    def find_log(self, op: str) -> LogRow | None:
        """Return the change that an operation made."""
        ...

    def log_since(self, position: int, most: int) -> Sequence[LogRow]:
        """Return the changes after a position, the oldest first."""
        ...

    def find_member(self, session: str) -> Member | None:
        """Return a session."""
        ...

    def members(self) -> Sequence[Member]:
        """Return the sessions that have not ended, by id."""
        ...

    def members_named(self, name: str) -> Sequence[Member]:
        """Return the sessions that have not ended and have this agent or nickname, by id."""
        ...

    def heard(self) -> HeardSigns:
        """Return when sessions of the project gave heartbeats."""
        ...

    def leases(self, kind: str, *, ended: bool = False) -> Sequence[Lease]:
        """Return the leases of a kind that have not ended, or all that are stored, by fence and name."""
        ...

    def silent_leases(self, kind: str, before: float) -> Sequence[Lease]:
        """Return the leases of a kind that have not ended, but may have expired, by fence and name.

        Their sessions ended, are unknown, or gave no heartbeat since an instant or in this boot.
        """
        ...

    def leases_on(self, kind: str, name: str) -> Sequence[Lease]:
        """Return the leases on exactly this resource, ended or not."""
        ...

    def leases_of(self, session: str, *, ended: bool = False) -> Sequence[Lease]:
        """Return the leases of a session that have not ended, or all that are stored."""
        ...

    def find_task(self, task: str) -> Task | None:
        """Return a task."""
        ...

    def first_ready(self, role: str) -> Task | None:
        """Return the first open task that is not held and depends on no open task, by priority, then by age.

        With a role, only tasks for that role or for any role.
        """
        ...

    def ready_tasks(self, most: int) -> Sequence[Task]:
        """Return the first tasks that are open, not held and ready, by priority, then by age."""
        ...

    def count_tasks(self) -> TaskCounts:
        """Count the tasks that are not closed."""
        ...

    def held_tasks(self) -> Sequence[Task]:
        """Return the tasks with leases that have not ended, by id."""
        ...

    def tasks(self, *, closed: bool = False) -> Sequence[Task]:
        """Return the tasks that are not closed, or all, by priority, then by age."""
        ...

    def waits_of(self, task: str) -> Sequence[str]:
        """Return the tasks that a task waits for, including closed ones, by id."""
        ...

    def waiting_for(self, task: str) -> Sequence[str]:
        """Return the tasks that wait for a task, by id."""
        ...

    def inbox(self, recipient: str) -> Sequence[tuple[int, Message]]:
        """Return the unread messages of a recipient with their positions, the oldest first."""
        ...

    def expired(self, before: float) -> Sequence[Message]:
        """Return messages that expired before an instant and were not read by every recipient."""
        ...

    def has_old_messages(self, expired_before: float, read_before: float) -> bool:
        """Return whether there are messages that `drop_messages` would remove."""
        ...

    def find_offer(self, offer: str) -> Offer | None:
        """Return an offer."""
        ...

    def open_offers(self) -> Sequence[Offer]:
        """Return the offers in the state `offered`, by id."""
        ...


class Transaction(Reading, Protocol):
    """A change of the project; committed as a whole or not at all."""

    @property
    def fence(self) -> int:
        """The position of this change."""
        ...

    def add_log(self, row: LogRow) -> None:
        """Store the log entry of the change."""
        ...

    @property
    def is_sign(self) -> bool:
        """Whether this change stored the heartbeat of a session."""
        ...

    def put_member(self, member: Member) -> None:
        """Store a session, new or changed; one that was seen at the time of this change is a heartbeat."""
        ...

    def put_sign(self, silence: Silence | None, before: float) -> None:
        """Store a heartbeat of the project now, unless its newest one came after an instant.

        `silence` is the silence that the sign ended. Other changes that write a sign at this moment wait for
        this one, so it comes last.
        """
        ...

    def put_silences(self, silences: Sequence[Silence]) -> None:
        """Replace the stored silences."""
        ...

    def put_lease(self, lease: Lease) -> None:
        """Store a lease, new or changed; a session has one on a resource."""
        ...

    def put_leases(self, leases: Sequence[Lease]) -> None:
        """Store leases, as if one by one."""
        ...

    def drop_old(self, ended_before: float, logged_before: float) -> None:
        """Remove leases and silences that ended, and changes that were made, before these instants."""
        ...

    def drop_unused(self, before: float, most: int) -> None:
        """Remove offers that were settled, and sessions that ended, before an instant: the oldest, at most.

        A session that a lease, an offer or an unread message names stays.
        """
        ...

    def put_task(self, task: Task) -> None:
        """Store a task, new or changed."""
        ...

    def drop_task(self, task: str) -> None:
        """Remove a task from a copy; a board keeps its tasks."""
        ...

    def add_wait(self, task: str, other: str) -> None:
        """Store that a task waits for another."""
        ...

    def add_message(self, message: Message, recipients: Sequence[str]) -> None:
        """Store a message in inboxes, at the position of this change."""
        ...

    def move_inbox(self, recipient: str, heir: str) -> int:
        """Move the unread messages of a recipient to another; return how many there were."""
        ...

    def mark_read(self, recipient: str, positions: Sequence[int]) -> int:
        """Mark unread messages as read now; return how many there were."""
        ...

    def drop_messages(self, expired_before: float, read_before: float) -> None:
        """Remove messages that expired, or that all recipients read, before these instants."""
        ...

    def put_offer(self, offer: Offer) -> None:
        """Store an offer, new or changed."""
        ...


class Store(Protocol):
    """The rows of one project."""

    def changing(self) -> AbstractContextManager[Transaction]:
        """Take the project's lock, then yield a transaction; commit its changes unless it raises."""
        ...

    def looking(self) -> AbstractContextManager[Reading]:
        """Yield one consistent state; this blocks no other session."""
        ...

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        """Set the last heartbeat of these sessions, if they have not ended, to now; it takes no position.

        If any has not ended, this is a heartbeat of the project too.
        """
        ...

    def confirm(self) -> None:
        """Wait until the changes that can be read are as durable as those whose commit was confirmed.

        A server may show a change that its standby does not have yet: a failover would forget it.
        """
        ...

    def wall_time(self, reading: Reading) -> float:
        """Return the seconds since 1970 by the clock with which operation ids are aged (C79).

        On one machine that is the wall clock, from which the ids were made; the engine's own clock may
        differ.
        """
        ...

    def is_running(self, process: str) -> bool | None:
        """Return whether a host's process runs on this machine; None if that is unknown."""
        ...

    def pause(self, seconds: float) -> None:
        """Wait before looking again."""
        ...


class StoreWrapper:
    """A store that wraps another one and delegates to it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        self._store.beat(sessions, lifetimes)

    def confirm(self) -> None:
        self._store.confirm()

    def wall_time(self, reading: Reading) -> float:
        return self._store.wall_time(reading)

    def is_running(self, process: str) -> bool | None:
        return self._store.is_running(process)

    def pause(self, seconds: float) -> None:
        self._store.pause(seconds)


class TimedStore(StoreWrapper):
    """A store with the lifetimes of its leases; the parts of coordination work on it."""

    def __init__(self, store: Store, lifetimes: Lifetimes) -> None:
        super().__init__(store)
        self.lifetimes = lifetimes

    def changing(self) -> AbstractContextManager[Transaction]:
        return self._store.changing()

    def looking(self) -> AbstractContextManager[Reading]:
        return self._store.looking()

    def hear(self, sessions: Sequence[str]) -> None:
        """Record a heartbeat of each session."""
        self._store.beat(sessions, self.lifetimes)
