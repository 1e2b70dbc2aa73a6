"""What sessions of a project share, in one engine: who takes part, who holds what, tasks, mail, offers.

Every changing method takes an operation id (`core/coordination/operations.py`) first, is one transaction, is
done or not there, and may be repeated: the same id gives the same outcome. Losing is a value. An engine that
does not answer raises a StorageError, and then nobody knows: repeat with the same id.

Of any resource there is one holder at every instant; each grant has a fence, which is greater than every
earlier one of the project. Time is the engine's; answers tell the time that is left, never an instant.
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
    NobodyThere,
    Sent,
    WaitingMessage,
)
from passdown.core.coordination.offers import Accepted, NewOffer, Offered, OfferEnded, OfferGone, OfferState
from passdown.core.coordination.tasks import (
    Circle,
    Claimed,
    NothingReady,
    Task,
    TaskClosed,
    TaskState,
    TaskStored,
)


class Members(Protocol):
    """The sessions that take part."""

    def join(self, op: str, member: Member) -> Joined:
        """Take part, or change name, team, role or process; joining twice is joining once.

        Who names no role (`any`) keeps the one it had.
        """
        ...

    def beat(self, sessions: Sequence[str]) -> None:
        """Record a sign of life of each session that takes part; ten seconds of them may be lost."""
        ...

    def leave(self, op: str, session: str) -> Left:
        """End a session: release all it holds, except what it offered."""
        ...

    def inherit(self, op: str, session: str, dead: str) -> Inherited | StillAlive:
        """Move what a session without signs of life holds, and its unread mail, under new fences.

        A process that is known to be gone gives none, however short the silence.
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
        """Grant all that is wanted, or nothing; what the session holds already keeps its fence."""
        ...

    def renew(self, op: str, session: str, held: Sequence[Fenced]) -> Granted | Lost:
        """Use all of these again, or none."""
        ...

    def release(self, op: str, session: str, held: Sequence[Fenced]) -> Released | Lost:
        """Release all of these, or none."""
        ...

    def check(self, op: str, session: str, paths: Sequence[str], seconds: float, about: str) -> Checked:
        """Judge paths for a session (empty: for nobody in particular).

        If all are mine or free, those that are mine are held for that many seconds whatever happens, and the
        pass is logged with what it is about. Otherwise nothing changes.
        """
        ...

    def judge(self, session: str, paths: Sequence[str]) -> Sequence[PathVerdict]:
        """Judge paths for a session as `check` does; this changes nothing."""
        ...

    def take_over(self, op: str, session: str, wanted: Sequence[Resource], *, force: bool) -> Granted | Held:
        """Take resources from sessions without signs of life, or from any session by force.

        What a check let through or an open offer holds is taken by nobody, not even by force.
        """
        ...

    def leases(self, session: str = "") -> Sequence[HeldResource]:
        """Return what has not ended, of one session or of all; `left` is not positive for the dead."""
        ...


class Tasks(Protocol):
    """The board."""

    def add(self, op: str, session: str, task: Task) -> TaskStored:
        """Add a task; an id that is taken raises a UsageError."""
        ...

    def claim(
        self, op: str, session: str, tasks: Sequence[str], *, role: str = "", another: bool = False
    ) -> Claimed | Held | NothingReady:
        """Claim the named tasks, all or none, or the first that is ready: by priority, then by age.

        A session that names none and holds some is given those, unless it wants another.
        """
        ...

    def close(self, op: str, session: str, held: Fenced, reason: str, note: str) -> TaskClosed | Lost:
        """Close a task under its fence; free the tasks that waited for it, and the session's paths."""
        ...

    def note(self, op: str, session: str, task: str, text: str) -> TaskStored:
        """Add a text to the note of a task, in a line of its own; anybody may."""
        ...

    def give_back(self, op: str, session: str, held: Fenced) -> TaskStored | Lost:
        """Let others claim a task that the session holds."""
        ...

    def change(self, op: str, session: str, task: Task) -> TaskStored:
        """Change title, body, priority, role, or the state of a task that nobody holds."""
        ...

    def wait_for(self, op: str, session: str, task: str, other: str) -> TaskStored | Circle:
        """Let a task wait until another is closed."""
        ...

    def find(self, task: str) -> TaskState | None:
        """Return a task with its holder."""
        ...

    def tasks(self, *, closed: bool = False) -> Sequence[TaskState]:
        """Return all tasks that are not closed, or all, by priority, then by age."""
        ...


class Messages(Protocol):
    """Mail between sessions; delivered at least once, and read only when somebody said so."""

    def send(self, op: str, message: NewMessage) -> Sent | NobodyThere:
        """Put a message into the inbox of everybody who has the address at this instant."""
        ...

    def waiting(self, session: str) -> Sequence[WaitingMessage]:
        """Return what the session has not read, the oldest first; this changes nothing."""
        ...

    def acknowledge(self, op: str, session: str, positions: Sequence[int]) -> Acknowledged:
        """Mark messages as read."""
        ...

    def expire(self, op: str) -> Expired:
        """Remove what expired unread, and what was read long ago; return the former to be logged.

        If there is nothing to remove, nothing changes, and nobody waits.
        """
        ...


class Offers(Protocol):
    """Handing over; at every instant giver, taker or board owns what is offered."""

    def offer(self, op: str, offer: NewOffer) -> Offered | Lost:
        """Offer a task, and with it all files of the giver; nobody can take them over meanwhile."""
        ...

    def accept(self, op: str, session: str, offer: str) -> Accepted | OfferGone:
        """Move task, files and unread mail to the session, under new fences."""
        ...

    def decline(self, op: str, session: str, offer: str) -> OfferEnded | OfferGone:
        """Refuse an offer."""
        ...

    def withdraw(self, op: str, session: str, offer: str) -> OfferEnded | OfferGone:
        """Take an offer of one's own back."""
        ...

    def offers(self) -> Sequence[OfferState]:
        """Return the offers that stand."""
        ...


class LogEntry(NamedTuple):
    """One change."""

    position: int
    op: str
    session: str
    verb: str
    subject: str
    age: float
    """Seconds since it was made."""


class History(Protocol):
    """All changes of a project, in the order in which they were made."""

    def position(self) -> int:
        """Return the position of the last change."""
        ...

    def since(self, position: int, most: int) -> Sequence[LogEntry]:
        """Return the changes after a position, without gaps."""
        ...

    def find(self, op: str) -> int:
        """Return the position at which an operation was made; 0 if it was not, or over 48 hours ago."""
        ...

    def cancel(self, op: str) -> object | None:
        """Return the outcome of an operation if it was made; otherwise it will never be made, and None.

        Whoever sent it may be gone, and a server may get it late: it holds the project while it looks.
        """
        ...

    def wait(self, position: int, seconds: float) -> int:
        """Wait until there is a change after a position; a hint, which always ends."""
        ...


class Coordination(Protocol):
    """One project in one engine."""

    @property
    def members(self) -> Members:
        """The sessions that take part."""
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
        """Mail between sessions."""
        ...

    @property
    def offers(self) -> Offers:
        """Handing over."""
        ...

    @property
    def history(self) -> History:
        """All changes."""
        ...

    @property
    def engine(self) -> str:
        """The engine and how far it reaches, in words: `SQLite, this clone and its worktrees`."""
        ...
