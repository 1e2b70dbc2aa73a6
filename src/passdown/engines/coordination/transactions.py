"""What a store of rows must do for coordination: transactions of one project, one writer at a time (C78).

`Store.changing` first takes the project's lock, and only then looks: whoever looks before it holds the lock
grants one thing to two. Its `fence` is the position of the change: greater than every earlier one, dense, and
in commit order. A transaction that raises leaves nothing, not even its position.
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
    """The outcome as JSON, so that a repeated operation gives the same one."""


class Reading(Protocol):
    """One consistent state of the project."""

    @property
    def time(self) -> EngineTime:
        """The engine's time; in a change, read after the lock was taken."""
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
        """Return the sessions that have not ended and whose agent or nickname this is, by id."""
        ...

    def heard(self) -> HeardSigns:
        """Return when sessions of the project were heard."""
        ...

    def leases(self, kind: str, *, ended: bool = False) -> Sequence[Lease]:
        """Return the leases of a kind that have not ended, or all that are stored, by fence and name."""
        ...

    def silent_leases(self, kind: str, before: float) -> Sequence[Lease]:
        """Return the leases of a kind that have not ended, but may be over, by fence and name.

        Their sessions ended, are not known, or gave no sign of life since an instant or in this boot.
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
        """Return the first open task that is not held and waits for none, by priority, then by age.

        With a role, only tasks for that role or for anybody.
        """
        ...

    def ready_tasks(self, most: int) -> Sequence[Task]:
        """Return the first open tasks that are not held and wait for none, by priority, then by age."""
        ...

    def held_tasks(self) -> Sequence[Task]:
        """Return the tasks on which there are leases that have not ended, by id."""
        ...

    def tasks(self, *, closed: bool = False) -> Sequence[Task]:
        """Return the tasks that are not closed, or all, by priority, then by age."""
        ...

    def waits_of(self, task: str) -> Sequence[str]:
        """Return the tasks that a task waits for, closed ones too, by id."""
        ...

    def waiting_for(self, task: str) -> Sequence[str]:
        """Return the tasks that wait for a task, by id."""
        ...

    def inbox(self, recipient: str) -> Sequence[tuple[int, Message]]:
        """Return the unread messages of a recipient with their positions, the oldest first."""
        ...

    def expired(self, before: float) -> Sequence[Message]:
        """Return messages that expired before an instant and that some recipient has not read."""
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
    """A change of the project; kept whole or not at all."""

    @property
    def fence(self) -> int:
        """The position of this change."""
        ...

    def add_log(self, row: LogRow) -> None:
        """Store the change itself."""
        ...

    @property
    def is_sign(self) -> bool:
        """Whether this change stored the sign of life of a session."""
        ...

    def put_member(self, member: Member) -> None:
        """Store a session, new or changed; one that was seen at the time of this change gives a sign."""
        ...

    def put_sign(self, silence: Silence | None, before: float) -> None:
        """Store that the project was heard now, unless its newest sign of life came after an instant.

        With it comes the silence that the sign ended. Others who write a sign at this moment wait for this
        change, so it comes last.
        """
        ...

    def put_silences(self, silences: Sequence[Silence]) -> None:
        """Put silences in the place of those that are stored."""
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

    def put_task(self, task: Task) -> None:
        """Store a task, new or changed."""
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
        """Take the project's lock, then give a transaction; keep its changes unless it raises."""
        ...

    def looking(self) -> AbstractContextManager[Reading]:
        """Give one consistent state; nobody waits for it."""
        ...

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        """Set the last sign of life of these sessions, if they have not ended, to now; no position.

        If there is one, the project was heard, too.
        """
        ...

    def wall_time(self, reading: Reading) -> float:
        """Return the seconds since 1970 by the clock that ages ids of operations (C79).

        On one machine that is the wall clock, which made the ids; the engine's own clock may differ from it.
        """
        ...

    def is_running(self, process: str) -> bool | None:
        """Return whether a host's process runs on this machine; None if that cannot be known here."""
        ...

    def pause(self, seconds: float) -> None:
        """Wait before looking again."""
        ...


class StoreAround:
    """A store around another one, to which it leaves what it does not do itself."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        self._store.beat(sessions, lifetimes)

    def wall_time(self, reading: Reading) -> float:
        return self._store.wall_time(reading)

    def is_running(self, process: str) -> bool | None:
        return self._store.is_running(process)

    def pause(self, seconds: float) -> None:
        self._store.pause(seconds)


class TimedStore(StoreAround):
    """A store, and how long leases live in it: what the parts of coordination work on."""

    def __init__(self, store: Store, lifetimes: Lifetimes) -> None:
        super().__init__(store)
        self.lifetimes = lifetimes

    def changing(self) -> AbstractContextManager[Transaction]:
        return self._store.changing()

    def looking(self) -> AbstractContextManager[Reading]:
        return self._store.looking()

    def hear(self, sessions: Sequence[str]) -> None:
        """Record a sign of life of each session."""
        self._store.beat(sessions, self.lifetimes)
