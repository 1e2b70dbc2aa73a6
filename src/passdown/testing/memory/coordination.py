"""The rows of coordination in memory: for tests, and as the simplest correct store."""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from threading import RLock
from typing import Final, NamedTuple

from passdown.core.coordination.leases import TASK, Lease, Lifetimes
from passdown.core.coordination.members import EngineTime, Member
from passdown.core.coordination.messages import Message
from passdown.core.coordination.offers import OFFERED, Offer
from passdown.core.coordination.silences import HeardSigns, Silence
from passdown.core.coordination.tasks import CLOSED, OPEN, Task
from passdown.engines.coordination.changes import note_sign
from passdown.engines.coordination.transactions import LIFETIMES, LogRow, Reading, TaskCounts
from passdown.records import replace

LeaseKey = tuple[str, str, str]
_FIRST: Final = 0


class InboxRow(NamedTuple):
    """A message in a recipient's inbox."""

    recipient: str
    position: int
    message: str
    read: float | None = None


class MemoryRows:
    """All rows of one project; a copy of them can be restored later."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.position = _FIRST
        self.members: dict[str, Member] = {}
        self.leases: dict[LeaseKey, Lease] = {}
        self.tasks: dict[str, Task] = {}
        self.waits: dict[tuple[str, str], None] = {}
        self.messages: dict[str, Message] = {}
        self.inbox: dict[tuple[str, int], InboxRow] = {}
        self.offers: dict[str, Offer] = {}
        self.log: dict[str, LogRow] = {}
        self.newest_sign: float | None = None
        self.silences: dict[float, Silence] = {}

    def copy(self) -> "MemoryRows":
        """Return the same rows, which change on their own."""
        made = MemoryRows()
        for name, value in vars(self).items():
            setattr(made, name, copy(value))
        return made


class MemoryTransaction:
    """A `Transaction` on rows in memory."""

    def __init__(self, rows: MemoryRows, time: EngineTime, fence: int) -> None:
        """Work on rows that no other session sees until they are committed."""
        self._rows = rows
        self.time = time
        self.fence = fence
        self.is_sign = False

    # --- reading ------------------------------------------------------------------------------

    def read_ahead(self, ready: int) -> None:
        """Read nothing yet: all rows are here."""

    def position(self) -> int:
        """Return the position of the last change."""
        return self._rows.position

    def find_log(self, op: str) -> LogRow | None:
        """Return the change that an operation made."""
        return self._rows.log.get(op)

    def log_since(self, position: int, most: int) -> Sequence[LogRow]:
        """Return the changes after a position."""
        found = sorted(row for row in self._rows.log.values() if row.position > position)
        return found[:most]

    def find_member(self, session: str) -> Member | None:
        """Return a session."""
        return self._rows.members.get(session)

    def members(self) -> Sequence[Member]:
        """Return the sessions that have not ended."""
        found = [one for one in self._rows.members.values() if one.ended is None]
        return sorted(found, key=lambda one: one.session)

    def members_named(self, name: str) -> Sequence[Member]:
        """Return the sessions of a name."""
        return [one for one in self.members() if name in {one.agent, one.name}]

    def heard(self) -> HeardSigns:
        """Return when sessions were heard."""
        return HeardSigns(self._rows.newest_sign, tuple(self._rows.silences.values()))

    def leases(self, kind: str, *, ended: bool = False) -> Sequence[Lease]:
        """Return the leases of a kind."""
        return self._leases(
            one for one in self._rows.leases.values() if one.kind == kind and _counts(one, ended)
        )

    def silent_leases(self, kind: str, before: float) -> Sequence[Lease]:
        """Return the leases of sessions without a heartbeat."""
        running = {one.session for one in self.members() if one.boot == self.time.boot and one.seen > before}
        return [one for one in self.leases(kind) if one.session not in running]

    def leases_on(self, kind: str, name: str) -> Sequence[Lease]:
        """Return the leases on a resource, ended or not."""
        return self._leases(one for one in self._rows.leases.values() if (one.kind, one.name) == (kind, name))

    def leases_of(self, session: str, *, ended: bool = False) -> Sequence[Lease]:
        """Return the leases of a session."""
        return self._leases(
            one for one in self._rows.leases.values() if one.session == session and _counts(one, ended)
        )

    def _leases(self, found: Iterable[Lease]) -> list[Lease]:
        return sorted(found, key=lambda one: (one.fence, one.kind, one.name, one.session))

    def find_task(self, task: str) -> Task | None:
        """Return a task."""
        return self._rows.tasks.get(task)

    def first_ready(self, role: str) -> Task | None:
        """Return the first task that can be claimed."""
        return next((one for one in self._ready() if not role or one.role in {"", role}), None)

    def ready_tasks(self, most: int) -> Sequence[Task]:
        """Return the first tasks that can be claimed."""
        return [*self._ready()][:most]

    def _ready(self) -> Iterator[Task]:
        return (one for one in self.tasks() if one.state == OPEN and not one.waits and not one.is_held)

    def count_tasks(self) -> TaskCounts:
        """Count the tasks that are not closed."""
        return TaskCounts(len(self.tasks()), len([*self._ready()]))

    def held_tasks(self) -> Sequence[Task]:
        """Return the tasks that sessions hold."""
        names = sorted({lease.name for lease in self.leases(TASK)})
        return [one for name in names if (one := self.find_task(name)) is not None]

    def tasks(self, *, closed: bool = False) -> Sequence[Task]:
        """Return tasks by priority, then by age."""
        found = [one for one in self._rows.tasks.values() if closed or one.state != CLOSED]
        return sorted(found, key=lambda one: (one.priority, one.added, one.task))

    def waits_of(self, task: str) -> Sequence[str]:
        """Return the tasks that a task waits for."""
        return sorted(other for one, other in self._rows.waits if one == task)

    def waiting_for(self, task: str) -> Sequence[str]:
        """Return the tasks that wait for a task."""
        return sorted(one for one, other in self._rows.waits if other == task)

    def inbox(self, recipient: str) -> Sequence[tuple[int, Message]]:
        """Return the unread messages of a recipient."""
        rows = sorted(
            row for row in self._rows.inbox.values() if row.recipient == recipient and row.read is None
        )
        return [(row.position, self._rows.messages[row.message]) for row in rows]

    def expired(self, before: float) -> Sequence[Message]:
        """Return messages that expired unread."""
        unread = {row.message for row in self._rows.inbox.values() if row.read is None}
        found = [
            one for one in self._rows.messages.values() if one.expires < before and one.message in unread
        ]
        return sorted(found, key=lambda one: one.message)

    def has_old_messages(self, expired_before: float, read_before: float) -> bool:
        """Return whether there are messages to remove."""
        return len(self._kept_messages(expired_before, read_before)) < len(self._rows.messages)

    def _kept_messages(self, expired_before: float, read_before: float) -> dict[str, Message]:
        """Return the messages that have not expired and were not read by all, or only lately."""
        rows = self._rows
        open_ones = {
            row.message for row in rows.inbox.values() if row.read is None or row.read >= read_before
        }
        return {
            key: one
            for key, one in rows.messages.items()
            if one.expires >= expired_before and key in open_ones
        }

    def find_offer(self, offer: str) -> Offer | None:
        """Return an offer."""
        return self._rows.offers.get(offer)

    def open_offers(self) -> Sequence[Offer]:
        """Return the offers that are still open."""
        found = [one for one in self._rows.offers.values() if one.state == OFFERED]
        return sorted(found, key=lambda one: one.offer)

    # --- changing -----------------------------------------------------------------------------

    def add_log(self, row: LogRow) -> None:
        """Store the log entry of the change."""
        self._rows.log[row.op] = row

    def put_member(self, member: Member) -> None:
        """Store a session."""
        self.is_sign = self.is_sign or (member.seen == self.time.seconds and member.ended is None)
        self._rows.members[member.session] = member

    def put_sign(self, silence: Silence | None, before: float) -> None:
        """Store a heartbeat of the project; in memory there is no concurrent one."""
        del before
        if silence is not None:
            self._rows.silences[silence.began] = silence
        self._rows.newest_sign = self.time.seconds

    def put_silences(self, silences: Sequence[Silence]) -> None:
        """Replace the stored silences."""
        self._rows.silences = {one.began: one for one in silences}

    def put_lease(self, lease: Lease) -> None:
        """Store a lease."""
        self._rows.leases[lease.kind, lease.name, lease.session] = lease

    def put_leases(self, leases: Sequence[Lease]) -> None:
        """Store leases."""
        for lease in leases:
            self.put_lease(lease)

    def drop_old(self, ended_before: float, logged_before: float) -> None:
        """Remove old leases, silences and changes."""
        rows = self._rows
        rows.silences = {key: one for key, one in rows.silences.items() if one.ended >= ended_before}
        rows.leases = {
            key: one for key, one in rows.leases.items() if one.ended is None or one.ended >= ended_before
        }
        rows.log = {key: one for key, one in rows.log.items() if one.at >= logged_before}

    def drop_unused(self, before: float, most: int) -> None:
        """Remove settled offers, and ended sessions that nothing names."""
        rows = self._rows
        settled = [one for one in rows.offers.values() if one.state != OFFERED and one.expires < before]
        for offer in sorted(settled, key=lambda one: (one.expires, one.offer))[:most]:
            del rows.offers[offer.offer]
        unread = [row for row in rows.inbox.values() if row.read is None]
        named = {
            *(one.session for one in rows.leases.values()),
            *(one.giver for one in rows.offers.values()),
            *(row.recipient for row in unread),
            *(rows.messages[row.message].sender for row in unread),
        }
        ended = [(one.ended, name) for name, one in rows.members.items() if one.ended is not None]
        old = sorted((at, name) for at, name in ended if at < before and name not in named)
        for _, name in old[:most]:
            del rows.members[name]

    def put_task(self, task: Task) -> None:
        """Store a task."""
        self._rows.tasks[task.task] = task

    def drop_task(self, task: str) -> None:
        """Remove a task from a copy."""
        self._rows.tasks.pop(task, None)

    def add_wait(self, task: str, other: str) -> None:
        """Store that a task waits for another."""
        self._rows.waits[task, other] = None

    def add_message(self, message: Message, recipients: Sequence[str]) -> None:
        """Store a message in inboxes."""
        self._rows.messages[message.message] = message
        for recipient in recipients:
            self._rows.inbox[recipient, self.fence] = InboxRow(recipient, self.fence, message.message)

    def move_inbox(self, recipient: str, heir: str) -> int:
        """Move unread messages."""
        rows = [row for row in self._rows.inbox.values() if row.recipient == recipient and row.read is None]
        for row in rows:
            del self._rows.inbox[recipient, row.position]
            self._rows.inbox.setdefault((heir, row.position), row._replace(recipient=heir))
        return len(rows)

    def mark_read(self, recipient: str, positions: Sequence[int]) -> int:
        """Mark unread messages as read."""
        rows = [self._rows.inbox.get((recipient, one)) for one in set(positions)]
        unread = [row for row in rows if row is not None and row.read is None]
        for row in unread:
            self._rows.inbox[recipient, row.position] = row._replace(read=self.time.seconds)
        return len(unread)

    def drop_messages(self, expired_before: float, read_before: float) -> None:
        """Remove messages that expired, or were read by all."""
        rows = self._rows
        rows.messages = kept = self._kept_messages(expired_before, read_before)
        rows.inbox = {key: row for key, row in rows.inbox.items() if row.message in kept}

    def put_offer(self, offer: Offer) -> None:
        """Store an offer."""
        self._rows.offers[offer.offer] = offer


class MemoryStore:
    """A `Store` in memory: a change works on a copy of the rows, which then replaces them."""

    def __init__(
        self,
        clock: Callable[[], EngineTime],
        is_running: Callable[[str], bool | None] = lambda _: None,
        pause: Callable[[float], None] = lambda _: None,
    ) -> None:
        """Use a clock, and what is known about processes."""
        self._rows = MemoryRows()
        self._lock = RLock()
        self._clock = clock
        self.is_running = is_running
        self.pause = pause

    @contextmanager
    def changing(self) -> Generator[MemoryTransaction, None, None]:
        """Change a copy; keep it unless an error is raised."""
        with self._lock:
            rows = self._rows.copy()
            rows.position += 1
            yield MemoryTransaction(rows, self._clock(), rows.position)
            self._rows = rows

    @contextmanager
    def looking(self) -> Generator[MemoryTransaction, None, None]:
        """Read the rows of this instant; a change never touches them."""
        rows = self._rows
        yield MemoryTransaction(rows, self._clock(), rows.position)

    def confirm(self) -> None:
        """Return at once: there is nothing to wait for."""

    def wall_time(self, reading: Reading) -> float:
        """Return the time by the only clock there is."""
        return reading.time.seconds

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        """Record heartbeats."""
        with self._lock:
            rows, time = self._rows.copy(), self._clock()
            change = MemoryTransaction(rows, time, rows.position)
            for session in sessions:
                member = rows.members.get(session)
                if member is not None and member.ended is None:
                    change.put_member(replace(member, seen=time.seconds, boot=time.boot))
            if change.is_sign:
                note_sign(change, lifetimes)
            self._rows = rows


def _counts(lease: Lease, ended: bool) -> bool:  # noqa: FBT001 - a filter of this module
    return ended or lease.ended is None
