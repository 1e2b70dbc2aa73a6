"""What the sessions of a project share in one engine: members, leases, tasks, messages and offers.

Every method that changes something takes an operation id (`core/coordination/operations.py`) first, is one
transaction, happens completely or not at all, and may be repeated: the same id gives the same outcome. Losing
a race is a value. An engine that does not answer raises a StorageError; whether the change was made is then
unknown, so repeat it with the same id.

A resource has at most one holder at every instant; each grant has a fence that is greater than every earlier
one in the project. The engine's clock counts; results contain the time left, never an instant.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from passdown.core.coordination.leases import (
    Checked,
    Fenced,
    Granted,
    Held,
    Lost,
    PathVerdict,
    Released,
    Resource,
)
from passdown.core.coordination.members import Inherited, Joined, Left, Member, MemberState, StillAlive
from passdown.core.coordination.messages import (
    Acknowledged,
    Expired,
    NewMessage,
    NoRecipient,
    Sent,
    WaitingMessage,
)
from passdown.core.coordination.offers import Accepted, NewOffer, Offered, OfferEnded, OfferGone, OfferState
from passdown.core.coordination.tasks import (
    Claimed,
    DependencyCycle,
    NothingReady,
    Task,
    TaskClosed,
    TaskState,
    TaskStored,
    TaskSummary,
)


class Members(Protocol):
    """The sessions that take part in coordination."""

    def join(self, op: str, member: Member) -> Joined:
        """Take part, or change name, team, role or process; joining twice has no further effect.

        A member that names no role (`any`) keeps its role.
        """
        ...

    def beat(self, sessions: Sequence[str]) -> None:
        """Record that each of these members is alive; the last ten seconds of this may be lost."""
        ...

    def leave(self, op: str, session: str) -> Left:
        """End a session: release all it holds, except what it has offered."""
        ...

    def inherit(self, op: str, session: str, dead: str) -> Inherited | StillAlive:
        """Move what a silent session holds, and its unread messages, to another session under new fences.

        A session whose process is known to be gone counts as silent at once.
        """
        ...

    def members(self) -> Sequence[MemberState]:
        """Return the sessions that have not ended."""
        ...


class HeldResource(NamedTuple):
    """A live lease as others see it."""

    resource: Resource
    session: str
    agent: str
    fence: int
    left: float


class Leases(Protocol):
    """Who holds what."""

    def acquire(self, op: str, session: str, wanted: Sequence[Resource], ttl: float) -> Granted | Held:
        """Grant all or none; what the session already holds keeps its fence."""
        ...

    def renew(self, op: str, session: str, held: Sequence[Fenced]) -> Granted | Lost:
        """Renew all of these, or none."""
        ...

    def release(self, op: str, session: str, held: Sequence[Fenced]) -> Released | Lost:
        """Release all of these, or none."""
        ...

    def check(self, op: str, session: str, paths: Sequence[str], seconds: float, about: str) -> Checked:
        """Judge paths for a session (empty: for nobody in particular).

        If all are its own or free, its own are kept for that many seconds whatever happens, and the pass is
        logged with its subject. Otherwise nothing changes.
        """
        ...

    def judge(self, session: str, paths: Sequence[str]) -> Sequence[PathVerdict]:
        """Judge paths for a session as `check` does, without changing anything."""
        ...

    def take_over(self, op: str, session: str, wanted: Sequence[Resource], *, force: bool) -> Granted | Held:
        """Take resources from silent sessions, or from any session by force.

        Resources that a passed check or an open offer keeps cannot be taken, even by force.
        """
        ...

    def leases(self, session: str = "") -> Sequence[HeldResource]:
        """Return the leases that have not ended, of one session or all; `left` is 0 or less if it is dead."""
        ...


class Tasks(Protocol):
    """The board."""

    def add(self, op: str, session: str, task: Task) -> TaskStored:
        """Add a task; raise a UsageError if its id is taken."""
        ...

    def claim(
        self, op: str, session: str, tasks: Sequence[str], *, role: str = "", another: bool = False
    ) -> Claimed | Held | NothingReady:
        """Claim the named tasks, all or none, or the first ready one: by priority, then by age.

        A session that names none and already holds some gets those, unless it wants another.
        """
        ...

    def close(self, op: str, session: str, held: Fenced, reason: str, note: str) -> TaskClosed | Lost:
        """Close a task under its fence, unblock tasks that depend on it, and release the session's paths."""
        ...

    def note(self, op: str, session: str, task: str, text: str) -> TaskStored:
        """Add a text to the note of a task, on a line of its own; any session may."""
        ...

    def give_back(self, op: str, session: str, held: Fenced) -> TaskStored | Lost:
        """Give up a task that the session holds, so that others can claim it."""
        ...

    def change(self, op: str, session: str, task: Task) -> TaskStored:
        """Change the title, body, priority or role of a task, or reopen a blocked one."""
        ...

    def wait_for(self, op: str, session: str, task: str, other: str) -> TaskStored | DependencyCycle:
        """Make a task depend on another until that is closed."""
        ...

    def find(self, task: str) -> TaskState | None:
        """Return a task with its holder."""
        ...

    def summary(self, most_ready: int = 0) -> TaskSummary:
        """Count the tasks that are not closed; name those that are held, and the first that are ready.

        The cost does not grow with the tasks that nobody holds, except for counting them.
        """
        ...

    def tasks(self, *, closed: bool = False) -> Sequence[TaskState]:
        """Return all tasks that are not closed, or all, by priority, then by age."""
        ...


class Messages(Protocol):
    """Messages between sessions; delivered at least once, and unread until they are acknowledged."""

    def send(self, op: str, message: NewMessage) -> Sent | NoRecipient:
        """Put a message into the inbox of every session that has the address at this instant."""
        ...

    def waiting(self, session: str) -> Sequence[WaitingMessage]:
        """Return the unread messages of the session, the oldest first; nothing changes."""
        ...

    def acknowledge(self, op: str, session: str, positions: Sequence[int]) -> Acknowledged:
        """Mark messages as read."""
        ...

    def expire(self, op: str) -> Expired:
        """Delete messages that expired unread or were read long ago; return the unread ones to be logged.

        If there is nothing to delete, nothing changes and no other session has to wait.
        """
        ...


class Offers(Protocol):
    """Handing tasks over; at every instant the giver, the taker or the board owns what is offered."""

    def offer(self, op: str, offer: NewOffer) -> Offered | Lost:
        """Offer a task with all files of the giver; nobody can take them over in the meantime."""
        ...

    def accept(self, op: str, session: str, offer: str) -> Accepted | OfferGone:
        """Move task, files and unread messages to the session, under new fences."""
        ...

    def decline(self, op: str, session: str, offer: str) -> OfferEnded | OfferGone:
        """Decline an offer."""
        ...

    def withdraw(self, op: str, session: str, offer: str) -> OfferEnded | OfferGone:
        """Withdraw an offer of the session itself."""
        ...

    def offers(self) -> Sequence[OfferState]:
        """Return the open offers."""
        ...


class LogEntry(NamedTuple):
    """One entry of the log of changes."""

    position: int
    op: str
    session: str
    verb: str
    subject: str
    age: float
    """Seconds since it was made."""


class History(Protocol):
    """The log of all changes in a project, in the order in which they were made."""

    def position(self) -> int:
        """Return the position of the last change."""
        ...

    def since(self, position: int, most: int) -> Sequence[LogEntry]:
        """Return the changes after a position, without gaps."""
        ...

    def find(self, op: str) -> int:
        """Return the position of an operation; 0 if it was not made, or over 48 hours ago."""
        ...

    def cancel(self, op: str) -> object | None:
        """Return the outcome of an operation if it was made; else make sure that it never is: None.

        Its sender may be gone and a server may receive it late, so the project is locked during the lookup.
        """
        ...

    def wait(self, position: int, seconds: float) -> int:
        """Wait until there is a change after a position, or the time is over; only a hint."""
        ...


class Coordination(Protocol):
    """One project in one engine."""

    @property
    def members(self) -> Members:
        """The sessions that take part in coordination."""
        ...

    @property
    def leases(self) -> Leases:
        """Who holds what."""
        ...

    @property
    def tasks(self) -> Tasks:
        """The board."""
        ...

    @property
    def messages(self) -> Messages:
        """Messages between sessions."""
        ...

    @property
    def offers(self) -> Offers:
        """Offers of tasks to other sessions."""
        ...

    @property
    def history(self) -> History:
        """The log of all changes."""
        ...

    @property
    def engine(self) -> str:
        """The engine and its reach, in words: `SQLite, this clone and its worktrees`."""
        ...
