"""Processes that act on one project, and record each call before it is made and after it was answered."""

import json
import mmap
import os
import random
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from passdown.core.coordination.leases import (
    TASK,
    Fenced,
    Granted,
    Held,
    Lifetimes,
    Lost,
    Released,
    Resource,
)
from passdown.core.coordination.members import Member
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.core.coordination.tasks import Claimed, Task, TaskClosed
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.coordination.transactions import LogRow
from passdown.engines.sqlite.coordination import LocalMachine, SqliteStore
from passdown.engines.sqlite.coordination import open_store as open_file
from passdown.engines.sqlite.mounts import MountKind
from passdown.engines.system import SystemClock, pause
from passdown.errors import StorageError, UsageError
from passdown.ports.clock import BootTime

if TYPE_CHECKING:
    from passdown.engines.postgres.coordination import PostgresStore

    Store: TypeAlias = SqliteStore | PostgresStore

SERVER: Final = "postgresql:"
UNKNOWN: Final = ""
"""The answer of a call that nobody was told the outcome of."""
_TRIES: Final = 6_000
_PATIENCE: Final = 60.0
"""Seconds to wait for others: more than by default, because a busy machine is no fault of the engine."""
_NUMBER: Final = struct.Struct("d")

Asked = tuple[str, str, int]
"""The kind and the name of a resource, and a fence; 0 if none is known yet."""


class SharedClock:
    """The clock of a boot, which a process can move on for all processes that it forked."""

    def __init__(self) -> None:
        """Begin with the system's clock."""
        self._ahead = mmap.mmap(-1, _NUMBER.size)

    def advance(self, seconds: float) -> None:
        """Let time pass for all."""
        self._ahead[:] = _NUMBER.pack(_NUMBER.unpack(self._ahead[:])[0] + seconds)

    def read(self) -> BootTime:
        """Tell the boot, and the time in it."""
        return BootTime("boot", time.monotonic() + _NUMBER.unpack(self._ahead[:])[0])


class SharedPlace(NamedTuple):
    """Where processes share something: the path of a file, or the URL of a server."""

    address: str
    clock: SharedClock
    lifetimes: Lifetimes = Lifetimes()
    patience: float = _PATIENCE
    """How many seconds a statement may take."""

    @contextmanager
    def open(self, project: str) -> Iterator[tuple[Coordinator, "Store"]]:
        """Open a project on a connection of one's own."""
        store = self._open(project)
        try:
            yield Coordinator(store, self.address, self.lifetimes), store
        finally:
            store.close()

    def _open(self, project: str) -> "Store":
        if self.address.startswith(SERVER):
            from passdown.engines.postgres.connections import Limits  # with its driver
            from passdown.engines.postgres.coordination import open_store as open_server

            return open_server(self.address, project, limits=Limits(statement=self.patience))
        machine = LocalMachine(boot_clock=self.clock, clock=SystemClock(), is_running=lambda _: None)
        return open_file(self.address, project, machine, mount=MountKind.LOCAL, wait=self.patience)

    def add_tasks(self, project: str, names: Sequence[str]) -> None:
        """Put tasks on the board, all in one change."""
        with self.open(project) as (_, store), store.changing() as change:
            for number, name in enumerate(names):
                change.put_task(Task(task=name, title=f"Do {name}.", added=number + 1))
            change.add_log(LogRow(change.fence, make_op(), change.time.seconds, "", "setup", "", "{}"))

    def read_log(self, project: str) -> list[LogRow]:
        """Return all changes."""
        with self.open(project) as (_, store), store.looking() as reading:
            return [*reading.log_since(0, 1_000_000)]


def make_op() -> str:
    """Make the id of an operation."""
    return make_operation(datetime.now(UTC), random.SystemRandom().randbytes(RANDOM_BYTES))


class Call(NamedTuple):
    """What a session asked for, and what it was told."""

    op: str
    session: str
    verb: str
    asked: tuple[Asked, ...]
    began: float
    ended: float = float("inf")
    answer: str = UNKNOWN
    granted: tuple[Asked, ...] = ()
    holder: str = ""
    """The session that stands in the way."""
    slowest: float = 0.0
    """How many seconds the engine took at most to answer, or to say that it could not."""


class Caller:
    """One session; it tells what it does through a pipe."""

    def __init__(
        self, on: Coordinator, session: str, report: int, *, repeats: bool = False, rest: float = 0.01
    ) -> None:
        """Act on a project; `repeats` makes a call again, with its id, whenever the engine did not answer.

        `rest` is how many seconds pass until then.
        """
        self.on = on
        self.session = session
        self.report = report
        self._repeats, self._rest = repeats, rest
        self.grants: list[Fenced] = []
        """All that was ever granted, also what was lost or released since."""
        self._slowest = 0.0

    def join(self) -> None:
        """Take part."""
        self._call("join", (), lambda op: self.on.members.join(op, Member(session=self.session, agent="a")))

    def claim(self, *tasks: str) -> Claimed | None:
        """Claim tasks, or whatever is ready."""
        asked = tuple((TASK, task, 0) for task in tasks)
        outcome = self._call("claim", asked, lambda op: self.on.tasks.claim(op, self.session, tasks))
        return outcome if isinstance(outcome, Claimed) else None

    def close(self, held: Fenced) -> bool:
        """Close a task."""
        asked = _asked([held])
        outcome = self._call(
            "close", asked, lambda op: self.on.tasks.close(op, self.session, held, "completed", "")
        )
        return isinstance(outcome, TaskClosed)

    def acquire(self, wanted: Sequence[Resource], ttl: float) -> Granted | None:
        """Reserve resources."""
        asked = tuple((kind, name, 0) for kind, name in wanted)
        outcome = self._call(
            "acquire", asked, lambda op: self.on.leases.acquire(op, self.session, wanted, ttl)
        )
        return outcome if isinstance(outcome, Granted) else None

    def renew(self, held: Fenced) -> bool:
        """Use a resource again."""
        act = self.on.leases.renew
        return isinstance(
            self._call("renew", _asked([held]), lambda op: act(op, self.session, [held])), Granted
        )

    def release(self, held: Fenced) -> bool:
        """Release a resource."""
        act = self.on.leases.release
        return isinstance(
            self._call("release", _asked([held]), lambda op: act(op, self.session, [held])), Released
        )

    def _call(self, verb: str, asked: tuple[Asked, ...], act: Callable[[str], object]) -> object:
        op = make_op()
        self._tell(op, self.session, verb, asked, time.monotonic())
        answer, outcome = self._try(op, act)
        ended = time.monotonic()
        found = outcome.grants if isinstance(outcome, Granted | Claimed) else ()
        granted = tuple((one.kind, one.name, one.fence) for one in found)
        self.grants += [Fenced(Resource(kind, name), fence) for kind, name, fence in granted]
        holder = outcome.session if isinstance(outcome, Held) else ""
        self._tell(op, ended, answer, granted, holder, self._slowest)
        return outcome

    def _try(self, op: str, act: Callable[[str], object]) -> tuple[str, object]:
        failed, self._slowest = UNKNOWN, 0.0
        for _ in range(_TRIES if self._repeats else 1):
            began = time.monotonic()
            try:
                outcome = act(op)
            except UsageError:
                return UsageError.__name__, None
            except StorageError as error:
                failed = f"{StorageError.__name__}: {error.message}"
                if self._repeats:
                    pause(self._rest)
            else:
                return type(outcome).__name__, outcome
            finally:
                self._slowest = max(self._slowest, time.monotonic() - began)
        return failed, None

    def _tell(self, *values: object) -> None:
        os.write(self.report, (json.dumps(values) + "\n").encode())


def _asked(held: Sequence[Fenced]) -> tuple[Asked, ...]:
    return tuple((*resource, fence) for resource, fence in held)


def read_calls(lines: Sequence[str]) -> list[Call]:
    """Return the calls that callers told of; a line that a kill cut off tells nothing."""
    calls: dict[str, Call] = {}
    for line in lines:
        values = json.loads(line)
        if values[0] not in calls:
            op, session, verb, asked, began = values
            calls[op] = Call(op, session, verb, _tuples(asked), began)
        else:
            op, ended, answer, granted, holder, slowest = values
            calls[op] = calls[op]._replace(
                ended=ended, answer=answer, granted=_tuples(granted), holder=holder, slowest=slowest
            )
    return [*calls.values()]


def _tuples(rows: Sequence[Sequence[object]]) -> tuple[Asked, ...]:
    return tuple((str(kind), str(name), int(str(fence))) for kind, name, fence in rows)


LOSING: Final = frozenset({Held.__name__, Lost.__name__, "NothingReady", UsageError.__name__})
"""The answers that say that nothing was changed."""
