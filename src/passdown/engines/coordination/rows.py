"""Transactions that run the statements of `queries.sql`, the same for every database.

A row has the fields of its record in their order, after the project. Lists are sorted here if their order
depends on text, because databases differ in how they compare text.
"""

from collections.abc import Callable, Sequence
from functools import cache
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from passdown import layout
from passdown.core.coordination.leases import Lease
from passdown.core.coordination.members import EngineTime, Member
from passdown.core.coordination.messages import Message
from passdown.core.coordination.offers import Offer
from passdown.core.coordination.silences import HeardSigns, Silence
from passdown.core.coordination.tasks import Task
from passdown.engines.coordination.transactions import LogRow, TaskCounts
from passdown.records import names_of

QUERIES: Final = Path(__file__).parent / "queries.sql"
SCHEMA: Final = Path(__file__).parent / "schema.sql"
MIGRATIONS: Final = Path(__file__).parent / layout.MIGRATIONS

R = TypeVar("R")
Row = Sequence[Any]

_FLAGS: Final = frozenset({"is_held", "is_taken"})
"""The fields that are stored as 0 and 1."""
_by_fence: Final[Callable[[Lease], Any]] = attrgetter("fence", "kind", "name", "session")


class Statements(Protocol):
    """Runs statements by their name in `queries.sql`, all of them in one transaction."""

    def ask(self, query: str, *values: object) -> Sequence[Row]:
        """Return the rows of a statement's result."""
        ...

    def change(self, query: str, *values: object) -> int:
        """Return how many rows a statement changed."""
        ...

    def change_all(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement once for each row of values; all are sent together."""
        ...


def to_row(record: object) -> tuple[object, ...]:
    """Return the values of a record in the order of its fields."""
    shape = _shape_of(names_of(record))
    row = shape.read(record)
    for at in shape.flags:
        row = (*row[:at], int(row[at]), *row[at + 1 :])
    return row


def from_row(kind: type[R], row: Row) -> R:
    """Return the record that a row holds."""
    shape = _shape_of(names_of(kind))
    for at in shape.flags:
        row = (*row[:at], bool(row[at]), *row[at + 1 :])
    return kind(**dict(zip(shape.names, row, strict=True)))


class _RowShape(NamedTuple):
    """How a kind of record is stored; computed once, because every row needs it."""

    names: tuple[str, ...]
    flags: tuple[int, ...]
    """The indexes of the fields that are stored as 0 and 1."""
    read: Callable[[object], tuple[Any, ...]]


@cache
def _shape_of(names: tuple[str, ...]) -> _RowShape:
    flags = tuple(at for at, name in enumerate(names) if name in _FLAGS)
    return _RowShape(names, flags, attrgetter(*names))


class RowReading:
    """One consistent state of a project: a `Reading`."""

    def __init__(self, statements: Statements, project: str, time: EngineTime) -> None:
        self._statements = statements
        self._project = project
        self._time = time

    @property
    def time(self) -> EngineTime:
        return self._time

    def _ask(self, query: str, *values: object) -> Sequence[Row]:
        return self._statements.ask(query, self._project, *values)

    def _all(self, kind: type[R], query: str, *values: object) -> list[R]:
        return [from_row(kind, row) for row in self._ask(query, *values)]

    def _find(self, kind: type[R], query: str, *values: object) -> R | None:
        return next(iter(self._all(kind, query, *values)), None)

    def read_ahead(self, ready: int) -> None:
        """Read nothing yet: in a file, each question is answered at once."""

    def position(self) -> int:
        return next((int(row[0]) for row in self._ask("position")), 0)

    # --- the log ------------------------------------------------------------------------------

    def find_log(self, op: str) -> LogRow | None:
        return next((LogRow(*row) for row in self._ask("find_log", op)), None)

    def log_since(self, position: int, most: int) -> Sequence[LogRow]:
        return [LogRow(*row) for row in self._ask("log_since", position, most)]

    # --- sessions -----------------------------------------------------------------------------

    def find_member(self, session: str) -> Member | None:
        return self._find(Member, "find_member", session)

    def members(self) -> Sequence[Member]:
        return sorted(self._all(Member, "members"), key=attrgetter("session"))

    def members_named(self, name: str) -> Sequence[Member]:
        return sorted(self._all(Member, "members_named", name, name), key=attrgetter("session"))

    # --- leases -------------------------------------------------------------------------------

    def heard(self) -> HeardSigns:
        """Return when sessions gave heartbeats, in one statement, because signs may arrive meanwhile."""
        rows = self._ask("heard", self._project)
        silences = tuple(Silence(began, ended) for began, ended in rows if ended is not None)
        return HeardSigns(next((began for began, ended in rows if ended is None), None), silences)

    def leases(self, kind: str, *, ended: bool = False) -> Sequence[Lease]:
        return sorted(self._all(Lease, "leases_stored" if ended else "leases", kind), key=_by_fence)

    def silent_leases(self, kind: str, before: float) -> Sequence[Lease]:
        return sorted(self._all(Lease, "silent_leases", kind, self._time.boot, before), key=_by_fence)

    def leases_on(self, kind: str, name: str) -> Sequence[Lease]:
        return sorted(self._all(Lease, "leases_on", kind, name), key=_by_fence)

    def leases_of(self, session: str, *, ended: bool = False) -> Sequence[Lease]:
        return sorted(self._all(Lease, "leases_of_stored" if ended else "leases_of", session), key=_by_fence)

    # --- tasks --------------------------------------------------------------------------------

    def find_task(self, task: str) -> Task | None:
        return self._find(Task, "find_task", task)

    def first_ready(self, role: str) -> Task | None:
        return self._find(Task, "first_ready_for", role) if role else self._find(Task, "first_ready")

    def ready_tasks(self, most: int) -> Sequence[Task]:
        return self._all(Task, "ready_tasks", most)

    def count_tasks(self) -> TaskCounts:
        return TaskCounts(*self._ask("count_tasks", self._project)[0])

    def held_tasks(self) -> Sequence[Task]:
        return sorted(self._all(Task, "held_tasks"), key=attrgetter("task"))

    def tasks(self, *, closed: bool = False) -> Sequence[Task]:
        return self._all(Task, "tasks_stored" if closed else "tasks")

    def waits_of(self, task: str) -> Sequence[str]:
        return sorted(row[0] for row in self._ask("waits_of", task))

    def waiting_for(self, task: str) -> Sequence[str]:
        return sorted(row[0] for row in self._ask("waiting_for", task))

    # --- messages and offers ------------------------------------------------------------------

    def inbox(self, recipient: str) -> Sequence[tuple[int, Message]]:
        return [(row[0], from_row(Message, row[1:])) for row in self._ask("inbox", recipient)]

    def expired(self, before: float) -> Sequence[Message]:
        return sorted(self._all(Message, "expired", before), key=attrgetter("message"))

    def has_old_messages(self, expired_before: float, read_before: float) -> bool:
        values = (expired_before, self._project, read_before, read_before)
        return bool(self._ask("has_old_messages", *values))

    def find_offer(self, offer: str) -> Offer | None:
        return self._find(Offer, "find_offer", offer)

    def open_offers(self) -> Sequence[Offer]:
        return sorted(self._all(Offer, "open_offers"), key=attrgetter("offer"))


class RowTransaction(RowReading):
    """A change of a project: a `Transaction`."""

    def __init__(self, statements: Statements, project: str, time: EngineTime, fence: int) -> None:
        """Store changes at this position, in a transaction that holds the project's row."""
        super().__init__(statements, project, time)
        self._fence = fence
        self._is_sign = False

    @property
    def fence(self) -> int:
        return self._fence

    @property
    def is_sign(self) -> bool:
        return self._is_sign

    def _put(self, query: str, record: object) -> None:
        self._statements.change(query, self._project, *to_row(record))

    def _drop(self, query: str, *values: object) -> int:
        return self._statements.change(query, self._project, *values)

    def add_log(self, row: LogRow) -> None:
        self._statements.change("add_log", self._project, *row)

    def put_member(self, member: Member) -> None:
        self._is_sign = self._is_sign or (member.seen == self._time.seconds and member.ended is None)
        self._put("put_member", member)

    def put_sign(self, silence: Silence | None, before: float) -> None:
        if silence is not None:
            self._statements.change("add_silence", self._project, *silence)
        now = self._time.seconds
        self._statements.change("put_sign", self._project, now, before, now)

    def put_silences(self, silences: Sequence[Silence]) -> None:
        self._drop("drop_silences", inf)
        for silence in silences:
            self._statements.change("add_silence", self._project, *silence)

    def put_lease(self, lease: Lease) -> None:
        self._put("put_lease", lease)

    def put_leases(self, leases: Sequence[Lease]) -> None:
        if len(leases) == 1:
            self.put_lease(leases[0])
        elif leases:
            rows = [(self._project, *to_row(lease)) for lease in leases]
            self._statements.change_all("put_lease", rows)

    def drop_old(self, ended_before: float, logged_before: float) -> None:
        self._drop("drop_ended_leases", ended_before)
        self._drop("drop_silences", ended_before)
        self._drop("drop_log", logged_before)

    def drop_unused(self, before: float, most: int) -> None:
        self._drop("drop_settled_offers", self._project, before, most)
        self._drop("drop_ended_sessions", self._project, before, most)

    def put_task(self, task: Task) -> None:
        self._put("put_task", task)

    def drop_task(self, task: str) -> None:
        self._drop("drop_task", task)

    def add_wait(self, task: str, other: str) -> None:
        self._statements.change("add_wait", self._project, task, other)

    def add_message(self, message: Message, recipients: Sequence[str]) -> None:
        self._put("add_message", message)
        for recipient in recipients:
            self._statements.change("add_to_inbox", self._project, recipient, self._fence, message.message)

    def move_inbox(self, recipient: str, heir: str) -> int:
        """Move the unread messages of a recipient to another; return how many there were.

        A message that was sent to both stays as it is in the heir's inbox, read or not.
        """
        both = self._drop("drop_from_inbox", recipient, heir)
        return both + self._statements.change("move_inbox", heir, self._project, recipient)

    def mark_read(self, recipient: str, positions: Sequence[int]) -> int:
        now = self._time.seconds
        return sum(
            self._statements.change("mark_read", now, self._project, recipient, position)
            for position in positions
        )

    def drop_messages(self, expired_before: float, read_before: float) -> None:
        self._drop("drop_expired_inbox", self._project, expired_before)
        self._drop("drop_expired_messages", expired_before)
        self._drop("drop_read_messages", self._project, read_before, read_before)
        self._drop("drop_read_inbox", read_before)

    def put_offer(self, offer: Offer) -> None:
        self._put("put_offer", offer)
