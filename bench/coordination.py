"""How fast sessions coordinate, against the bare driver with the same statements in the same run.

Whatever the coordinator asks of the database is recorded, and replayed by a loop on another file with the
same content, pragmas and gate: so many processes, each with its own connection. The ratio is the share of the
bare speed that is left.
"""

import os
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from bench.budgets import BUDGETS
from bench.coordination_engines import Engine, PostgresDatabases, SqliteFiles, Statement, Store
from bench.rows import Row
from passdown.core.coordination.leases import PATH, Fenced, Granted, Resource
from passdown.core.coordination.members import Member
from passdown.core.coordination.messages import NewMessage
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.core.coordination.tasks import Claimed, Task
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.system import SystemClock
from tests.servers import started_postgres

WORKERS: Final = (1, 8)
OPERATIONS: Final = 80
"""How often each thing is done in a round, by all workers together."""
ROUNDS: Final = 3
BOARD: Final = (1_000, 100_000)
LONG_BOARD: Final = 1_000_000
CLAIMS: Final = 40
_TTL: Final = 600.0

Act = Callable[[Coordinator, str], None]


# --- what is measured -------------------------------------------------------------------------------


def claim_and_close(on: Coordinator, session: str) -> None:
    """Claim whatever is ready, and close it."""
    claimed = on.tasks.claim(_make_op(), session, [])
    assert isinstance(claimed, Claimed), claimed
    (grant,) = claimed.grants
    on.tasks.close(
        _make_op(), session, Fenced(Resource(grant.kind, grant.name), grant.fence), "completed", ""
    )


def reserve_renew_release(on: Coordinator, session: str) -> None:
    """Reserve a folder, use it again, and release it."""
    wanted = Resource(PATH, f"src/{session}/")
    granted = on.leases.acquire(_make_op(), session, [wanted], _TTL)
    assert isinstance(granted, Granted), granted
    held = [Fenced(wanted, granted.grants[0].fence)]
    on.leases.renew(_make_op(), session, held)
    on.leases.release(_make_op(), session, held)


def send_and_receive(on: Coordinator, session: str) -> None:
    """Send a message to somebody, who reads it."""
    on.messages.send(_make_op(), NewMessage(session, f"agent-to-{session}", "hello"))
    waiting = on.messages.waiting(f"to-{session}")
    on.messages.acknowledge(_make_op(), f"to-{session}", [one.position for one in waiting])


def give_sign_of_life(on: Coordinator, session: str) -> None:
    """Say that a session works."""
    on.members.beat([session])


ACTS: Final[dict[str, Act]] = {
    "claim and close": claim_and_close,
    "reserve, renew, release": reserve_renew_release,
    "message": send_and_receive,
    "sign of life": give_sign_of_life,
}


def measure_coordination(operations: int = OPERATIONS, rounds: int = ROUNDS) -> list[Row]:
    """Measure each thing with one process and with several, and a claim on boards of several sizes."""
    rows = _measure_engine(SqliteFiles(), operations, rounds)
    with started_postgres() as server:
        if server is not None:
            rows += _measure_engine(PostgresDatabases(server), operations // 2, 1)
    return rows + _measure_boards()


def _measure_engine(engine: Engine, operations: int, rounds: int) -> list[Row]:
    rows: list[Row] = []
    for workers in WORKERS if hasattr(os, "fork") else WORKERS[:1]:
        for name, act in ACTS.items():
            runs = [_measure(engine, act, workers, operations // workers) for _ in range(rounds)]
            ours, bare = zip(*runs, strict=True)
            rows.append(
                Row(
                    part="coordination",
                    name=f"{engine.mark}{name}, {workers}",
                    value=operations / min(ours),
                    unit="/s",
                    ratio=min(bare) / min(ours),
                    budget=BUDGETS["coordination"][name],
                    median_ratio=statistics.median(bare) / statistics.median(ours),
                )
            )
    return rows


def _measure(engine: Engine, act: Act, workers: int, times: int) -> tuple[float, float]:
    """Give the seconds of the coordinator and of the bare driver, each in as many processes."""
    with tempfile.TemporaryDirectory() as folder:
        sessions = [f"s-{number}" for number in range(workers)]
        ours = engine.make(Path(folder))
        fill = partial(_fill, sessions=sessions, tasks=workers * times)
        with engine.opened(ours) as store:
            fill(store)
        bare = engine.copy(ours, fill)
        tapes = [Path(folder) / f"{session}.tape" for session in sessions]
        acts = [
            _Coordinating(engine, ours, session, act, times, tape)
            for session, tape in zip(sessions, tapes, strict=True)
        ]
        first = _run_at_once([one.run for one in acts])
        replays = [_Replaying(engine, bare, tape) for tape in tapes]
        return first, _run_at_once([one.run for one in replays])


def _fill(store: Store, sessions: Sequence[str], tasks: int) -> None:
    """Make a project with sessions, and tasks on its board."""
    on = Coordinator(store, "")
    for session in (*sessions, *(f"to-{one}" for one in sessions)):
        on.members.join(_make_op(), Member(session=session, agent=f"agent-{session}"))
    with store.changing() as change:
        for number in range(tasks):
            change.put_task(Task(task=f"t-{number}", title="Do it.", added=number))


def _make_op() -> str:
    return make_operation(SystemClock().now(), uuid.uuid4().bytes[-RANDOM_BYTES:])


# --- processes --------------------------------------------------------------------------------------


def _run_at_once(runs: Sequence[Callable[[Callable[[], None]], None]]) -> float:
    """Run each in a process of its own, or the only one here; give the seconds from the start of all."""
    if len(runs) == 1:
        began: list[float] = []
        runs[0](lambda: began.append(time.perf_counter()))
        return time.perf_counter() - began[0]
    ready, tell = os.pipe()
    go, hold = os.pipe()
    children = [_fork(run, tell, go, hold) for run in runs]
    os.close(go)
    for _ in children:
        os.read(ready, 1)
    start = time.perf_counter()
    os.close(hold)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    seconds = time.perf_counter() - start
    os.close(ready)
    os.close(tell)
    assert not any(codes), codes
    return seconds


def _fork(run: Callable[[Callable[[], None]], None], tell: int, go: int, hold: int) -> int:
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.close(hold)

        def wait() -> None:
            os.write(tell, b".")
            os.read(go, 1)

        run(wait)
        code = 0
    finally:
        os._exit(code)


class _Coordinating(NamedTuple):
    """A process that coordinates, and keeps what it asked of the database."""

    engine: Engine
    address: str
    session: str
    act: Act
    times: int
    tape: Path

    def run(self, start: Callable[[], None]) -> None:
        with self.engine.opened(self.address) as store:
            made = self.engine.record(store)
            on = Coordinator(store, "")
            start()
            for _ in range(self.times):
                self.act(on, self.session)
        self.tape.write_text(repr(made), encoding="utf-8")


class _Replaying(NamedTuple):
    """A process that asks the same of the bare driver."""

    engine: Engine
    address: str
    tape: Path

    def run(self, start: Callable[[], None]) -> None:
        made: list[Statement] = eval(self.tape.read_text(encoding="utf-8"))  # noqa: S307 - written by this run
        self.engine.replay(self.address, made, start)


# --- boards -----------------------------------------------------------------------------------------


def _measure_boards() -> list[Row]:
    """Claim on boards of several sizes; the largest takes long to fill, and is left to a long run."""
    is_long = os.environ.get("PASSDOWN_PROOF") == "long"
    sizes = (*BOARD, LONG_BOARD) if is_long else BOARD
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        boards = []
        for size in sizes:
            store = stack.enter_context(SqliteFiles().opened(str(Path(folder) / f"{size}.sqlite")))
            _fill(store, ["s-0"], size)
            boards.append(Coordinator(store, ""))
        times: list[list[float]] = [[] for _ in sizes]
        for _ in range(CLAIMS):  # in turn, so that all have the same machine
            for on, seconds in zip(boards, times, strict=True):
                seconds.append(_time_claim(on))
    floor = times[0]
    return [
        Row(
            part="coordination",
            name=f"claim at {size:,} tasks",
            value=statistics.median(seconds) * 1000,
            unit="ms",
            ratio=min(seconds) / min(floor),
            budget=BUDGETS["coordination"]["claim, to 1k tasks"] if size != BOARD[0] else None,
            median_ratio=statistics.median(seconds) / statistics.median(floor),
        )
        for size, seconds in zip(sizes, times, strict=True)
    ]


def _time_claim(on: Coordinator) -> float:
    began = time.perf_counter()
    claimed = on.tasks.claim(_make_op(), "s-0", [])
    seconds = time.perf_counter() - began
    assert isinstance(claimed, Claimed), claimed
    (grant,) = claimed.grants
    on.tasks.close(_make_op(), "s-0", Fenced(Resource(grant.kind, grant.name), grant.fence), "completed", "")
    return seconds
