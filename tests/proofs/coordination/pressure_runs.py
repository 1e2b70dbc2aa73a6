"""Let processes claim while their server is under pressure, as a process of its own.

Its argument is an `Order` as JSON. The work is a board of tasks, an equal part of it for each kind of
pressure: each goes on until its part is closed, so that a slow machine takes longer and proves the same. It
prints one JSON object: figures, and what was wrong.
"""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

import psycopg

from passdown.core.coordination.leases import Lifetimes
from passdown.core.coordination.outcomes import load_outcome
from passdown.core.coordination.tasks import TaskClosed
from passdown.engines.postgres.connections import Limits
from passdown.engines.postgres.coordination import open_store
from passdown.errors import StorageError
from tests.proofs.coordination.call_checker import check_calls
from tests.proofs.coordination.call_runs import Pool, check_waits, claim_all, restart
from tests.proofs.coordination.shared_calls import UNKNOWN, Call, SharedClock, SharedPlace, read_calls

WORKERS: Final = 8
READERS: Final = 4
POOLED: Final = 2
"""How many connections PgBouncer has to the server (tests/stores/servers.py)."""
GLANCE: Final = 0.05
TRIES: Final = 200
CLOSED: Final = f'"{TaskClosed.__name__}"'
_BACKENDS: Final = b"FROM pg_stat_activity WHERE usename = 'passdown_app' AND pid <> ALL(%s)"


class Order(NamedTuple):
    """What to do."""

    address: str
    """Where the workers connect."""
    server: str
    """The folder of the server."""
    direct: str
    """The URL of the application's role, past any PgBouncer."""
    admin: str
    """The URL of whoever may do anything."""
    size: int
    """How many tasks are closed under each pressure."""
    seconds: float
    """How long everything stands still where nobody can go on."""
    seed: int
    project: str = "p"

    @property
    def is_pooled(self) -> bool:
        """Whether a PgBouncer stands before the server."""
        return self.address != self.direct


class PressureRun:
    """Processes at work, and what is done to them and to their server."""

    def __init__(self, order: Order) -> None:
        """Put the tasks on the board; nobody works yet."""
        self.order = order
        self.numbers = random.Random(order.seed)
        self.place = SharedPlace(order.address, SharedClock())
        self.names = [f"t-{number}" for number in range(order.size * len(PRESSURES))]
        self.place.add_tasks(order.project, self.names)
        self.pool = Pool(self.place, claim_all, WORKERS, size=len(self.names), repeats=True)
        self.done = Counter[str]()
        """How often each kind of pressure was put on."""
        self._closed = self._seen = 0

    def work(self, count: int) -> None:
        """Wait until so many more tasks are closed, or none is left."""
        until = self.count() + count
        while self.count() < until and self.pool.read():
            continue

    def stand_still(self, admin: "psycopg.Connection[Any]") -> None:
        """Wait for so long as was ordered, and see that nothing is changed meanwhile.

        It asks over a connection that is there: another one may find no place.
        """
        before = _read_position(admin)
        end = time.monotonic() + self.order.seconds
        while time.monotonic() < end:
            self.pool.read(GLANCE)
        assert _read_position(admin) == before, "somebody went on"

    def count(self) -> int:
        """Return how many tasks were closed."""
        new = self.pool.lines[self._seen :]
        self._seen += len(new)
        self._closed += sum(CLOSED in line for line in new)
        return self._closed

    def parts(self) -> range:
        """Divide the work of one pressure into ten parts, or less if there is less."""
        return range(min(10, self.order.size))

    @property
    def part(self) -> int:
        """How much one part is."""
        return self.order.size // len(self.parts())

    def ask(self, statement: bytes, *values: object) -> list[Any]:
        """Ask as administrator."""
        with psycopg.connect(self.order.admin, autocommit=True) as connection:
            return connection.execute(statement, values or None).fetchall()


def connect(url: str, *statements: bytes) -> "psycopg.Connection[Any]":
    """Open a connection, and leave it in the middle of a transaction."""
    connection: psycopg.Connection[Any] = psycopg.connect(url, autocommit=True, prepare_threshold=None)
    for statement in statements:
        connection.execute(statement)
    return connection


def _read_position(admin: "psycopg.Connection[Any]") -> object:
    return admin.execute(b"SELECT pos FROM passdown.projects").fetchall()


# --- pressures ---------------------------------------------------------------------------------------


def be_idle(run: PressureRun) -> None:
    """Leave a transaction open that has looked at everything and holds nothing."""
    with connect(
        run.order.admin,
        b"BEGIN ISOLATION LEVEL SERIALIZABLE",
        b"SELECT pg_current_xact_id(), count(*) FROM passdown.tasks",
    ):
        run.work(run.order.size)
    run.done["idle session"] += 1


def hold_the_row(run: PressureRun) -> None:
    """Leave a transaction open that has the project's row: nobody goes on, and everybody does afterwards."""
    with connect(run.order.admin, b"BEGIN", b"SELECT 1 FROM passdown.projects FOR UPDATE") as admin:
        run.stand_still(admin)
    run.work(run.order.size)
    run.done["row held"] += 1


def forget_a_change(run: PressureRun) -> None:
    """Leave a change of our own open: the server ends it."""
    store = open_store(run.order.address, run.order.project, limits=Limits(idle=run.order.seconds))
    try:
        with store.changing() as change:
            run.work(run.order.size)
            change.position()
    except StorageError:
        run.done["change ended by the server"] += 1
    store.close()


def read_repeatably(run: PressureRun) -> None:
    """Keep four states of the project: they do not change, whatever is done."""
    with ExitStack() as stack:
        readers = []
        for _ in range(READERS):
            reader = connect(run.order.admin, b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            readers.append((stack.enter_context(reader), _look(reader)))
            run.work(run.part)
        for _ in run.parts()[READERS:]:
            run.work(run.part)
            for reader, saw in readers:
                assert _look(reader) == saw, "a state that was kept has changed"
                run.done["repeated looks"] += 1


def _look(reader: "psycopg.Connection[Any]") -> object:
    asked = b"SELECT (SELECT pos FROM passdown.projects), (SELECT count(*) FROM passdown.log)"
    pos, count = reader.execute(asked).fetchall()[0]
    assert pos == count, "a position without its change"
    return pos


def end_backends(run: PressureRun) -> None:
    """End all connections of the workers, again and again."""
    for _ in run.parts():
        run.work(run.part)
        run.done["ended backends"] += len(run.ask(b"SELECT pg_terminate_backend(pid) " + _BACKENDS, []))


def take_all_connections(run: PressureRun) -> None:
    """Take all connections that there are: nobody goes on, and everybody does when they are given back."""
    with ExitStack() as stack:
        admin = stack.enter_context(connect(run.order.admin))
        if run.order.is_pooled:
            for _ in range(POOLED):
                stack.enter_context(connect(run.order.address, b"BEGIN", b"SELECT 1"))
        else:
            _take_slots(run, stack, admin)
        run.stand_still(admin)
    run.work(run.order.size)


def _take_slots(run: PressureRun, stack: ExitStack, admin: "psycopg.Connection[Any]") -> None:
    """Connect until nobody else can, ending whoever else is connected.

    An administrator stays connected: whoever leaves makes room for one of the others.
    """
    limits = b"SELECT current_setting(name)::int FROM unnest(%s::text[]) AS name"
    names = ["max_connections", "superuser_reserved_connections"]
    (most,), (reserved,) = admin.execute(limits, [names]).fetchall()
    own: list[int] = []
    for _ in range(TRIES):
        try:
            while len(own) < most - reserved - 1:
                taken = stack.enter_context(connect(run.order.direct))
                own.append(taken.info.backend_pid)
        except psycopg.OperationalError:  # whoever is refused was connected for a moment, too
            run.done["refused connections"] += 1
        else:
            return
        admin.execute(b"SELECT pg_terminate_backend(pid) " + _BACKENDS, [own])
    message = f"somebody was always quicker: {len(own)} of {most - reserved - 1}"
    raise AssertionError(message)


def restart_the_server(run: PressureRun) -> None:
    """Stop the server, once as one should and once as in a crash, and start it again."""
    for how in ("fast", "immediate"):
        run.work(run.order.size // 3)
        restart(run.order.server, how)
        run.done["restarts"] += 1
    run.work(run.order.size // 3)


def kill_workers(run: PressureRun) -> None:
    """Kill a worker again and again; another goes on as the same session."""
    for _ in run.parts():
        run.work(run.part)
        number = run.numbers.randrange(WORKERS)
        run.pool.kill(number)
        run.pool.replace(number)
        run.pool.begin_one(number, run.order.project, run.numbers)
        run.done["kills"] += 1


def do_nothing(run: PressureRun) -> None:
    """Let them work."""
    run.work(run.order.size)


def finish(run: PressureRun) -> None:
    """Let them work until nothing is left."""
    while run.pool.read():
        continue


PRESSURES: Final[dict[str, Callable[[PressureRun], None]]] = {
    "before": do_nothing,
    "an idle session": be_idle,
    "an idle session with the row": hold_the_row,
    "a change that was forgotten": forget_a_change,
    "four repeatable readers": read_repeatably,
    "ended backends": end_backends,
    "no connection left": take_all_connections,
    "restarts": restart_the_server,
    "killed workers": kill_workers,
    "after": finish,
}


class Phase(NamedTuple):
    """What was done under one kind of pressure."""

    name: str
    began: float
    ended: float
    closed: int


def run_pressures(order: Order) -> dict[str, object]:
    """Put on one pressure after the other."""
    run = PressureRun(order)
    run.pool.begin(order.project, run.numbers)
    phases = []
    for name, put_on in PRESSURES.items():
        began, before = time.monotonic(), run.count()
        put_on(run)
        phases.append(Phase(name, began, time.monotonic(), run.count() - before))
    calls = read_calls(run.pool.lines)
    codes = run.pool.end()
    log = run.place.read_log(order.project)
    closed = [load_outcome(row.data) for row in log if row.verb == "close"]
    names = Counter(one.task.task for one in closed if isinstance(one, TaskClosed))
    waits = [call.ended - call.began for call in calls if call.answer != UNKNOWN]
    wrong = check_calls(log, calls, run.names, Lifetimes())
    wrong += [f"ended with {code}" for code in codes if code]
    wrong += [f"{name} was closed {count} times" for name, count in names.items() if count > 1]
    wrong += [f"{name} was lost" for name in run.names if name not in names]
    wrong += check_waits(waits)
    return {
        "tasks": len(run.names),
        "calls": len(calls),
        "unanswered": sum(call.answer == UNKNOWN for call in calls),
        "done to them": " ".join(f"{count} {name}" for name, count in run.done.items()),
        "closed a second (worst wait)": "; ".join(tell(phase, calls) for phase in phases),
        "worst wait ms": round(max(waits) * 1000),
        "wrong": wrong[:20],
    }


def tell(phase: Phase, calls: list[Call]) -> str:
    """Tell how many tasks were closed in a second, and the longest wait that ended there."""
    waits = [call.ended - call.began for call in calls if phase.began <= call.ended < phase.ended]
    rate = phase.closed / (phase.ended - phase.began)
    return f"{phase.name} {rate:.1f} ({max(waits, default=0):.1f} s)"


def main() -> None:
    """Do what was asked."""
    sys.stdout.write(json.dumps(run_pressures(Order(**json.loads(sys.argv[1])))))


if __name__ == "__main__":
    main()
