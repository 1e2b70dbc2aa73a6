"""How fast sessions coordinate, against the bare driver with the same statements in the same run.

Whatever the coordinator asks of the database is recorded, and replayed by a loop on another database with the
same content, pragmas, durability and gate: as many processes, each with its own connection. What is asked
for is there before the clock starts for both: ids of operations here, all values there. The ratio is the
share of the bare speed that is left; a number of workers with `1k` is that of workers in 1,000 projects.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from bench.budgets import BUDGETS
from bench.coordination_engines import Content, Engine, PostgresDatabases, SqliteFiles, Statement
from bench.processes import time_at_once
from bench.rows import Row
from passdown.core.coordination.leases import PATH, Fenced, Granted, Resource
from passdown.core.coordination.messages import NewMessage
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.core.coordination.tasks import Claimed
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.system import SystemClock
from tests.stores.servers import started_postgres

MANY: Final = 1_000
CLAIMS: Final = 40
READS: Final = 200
_TTL: Final = 600.0
_QUICK: Final = 8
"""How many times as often that is done which waits for no disk: noise would decide otherwise."""
_LEAST_TIMES: Final = 2
"""How often each worker acts at least."""
_MOST_IDS: Final = 3
"""How many operations an act has at most."""

Act = Callable[[Coordinator, str, Iterator[str]], None]


class Size(NamedTuple):
    """How much is measured."""

    workers: Sequence[int]
    workers_of_many: Sequence[int]
    """In 1,000 projects."""
    operations: int
    """How often each thing is done in a round, by all workers together."""
    rounds: int
    boards: Sequence[int]


WHOLE: Final = Size((1, 8, 32), (1, 8, 32), 320, 3, (1_000, 100_000, 1_000_000))
CI: Final = Size((1, 8), (8,), 64, 1, (1_000, 100_000))


# --- what is measured -------------------------------------------------------------------------------


def claim_and_close(on: Coordinator, session: str, ids: Iterator[str]) -> None:
    """Claim whatever is ready, and close it."""
    claimed = on.tasks.claim(next(ids), session, [])
    assert isinstance(claimed, Claimed), claimed
    (grant,) = claimed.grants
    held = Fenced(Resource(grant.kind, grant.name), grant.fence)
    on.tasks.close(next(ids), session, held, "completed", "")


def reserve_renew_release(on: Coordinator, session: str, ids: Iterator[str]) -> None:
    """Reserve a folder, use it again, and release it."""
    wanted = Resource(PATH, f"src/{session}/")
    granted = on.leases.acquire(next(ids), session, [wanted], _TTL)
    assert isinstance(granted, Granted), granted
    held = [Fenced(wanted, granted.grants[0].fence)]
    on.leases.renew(next(ids), session, held)
    on.leases.release(next(ids), session, held)


def send_and_receive(on: Coordinator, session: str, ids: Iterator[str]) -> None:
    """Send a message to somebody, who reads it."""
    on.messages.send(next(ids), NewMessage(session, f"agent-to-{session}", "hello"))
    waiting = on.messages.waiting(f"to-{session}")
    on.messages.acknowledge(next(ids), f"to-{session}", [one.position for one in waiting])


def give_sign_of_life(on: Coordinator, session: str, ids: Iterator[str]) -> None:
    """Say that a session works."""
    del ids
    on.members.beat([session])


ACTS: Final[dict[str, Act]] = {
    "claim and close": claim_and_close,
    "reserve, renew, release": reserve_renew_release,
    "message": send_and_receive,
    "sign of life": give_sign_of_life,
}


def read_message(on: Coordinator, session: str, ids: Iterator[str]) -> None:
    """Look at a message that waits."""
    del ids
    assert len(on.messages.waiting(f"to-{session}")) == 1


def measure_coordination(size: Size = WHOLE) -> list[Row]:
    """Measure each thing with one process and with several, and a claim on boards of several sizes."""
    with tempfile.TemporaryDirectory() as folder, started_postgres() as server:
        rows = [*_measure_engine(SqliteFiles(Path(folder)), size, Path(folder))]
        if server is not None:
            half = size._replace(operations=size.operations // 2)  # each takes several times as long there
            rows += _measure_engine(PostgresDatabases(server), half, Path(folder))
        return rows


def _measure_engine(engine: Engine, size: Size, folder: Path) -> Iterator[Row]:
    can_fork = hasattr(os, "fork")
    for many, all_workers in ((False, size.workers), (True, size.workers_of_many)):
        for workers in all_workers if can_fork else all_workers[:1]:
            for name, act in ACTS.items():
                times = _QUICK if act is give_sign_of_life else 1
                shared = _share(workers, size.operations * times, many=many)
                ours, bare = _Bench(engine, folder, act, shared).measure(size.rounds)
                yield Row(
                    part="coordination",
                    name=f"{engine.mark}{name}, {workers}{', 1k' if many else ''}",
                    value=sum(worker.times for worker in shared) / min(ours),
                    unit="/s",
                    ratio=min(bare) / min(ours),
                    budget=BUDGETS["coordination"][name],
                    median_ratio=statistics.median(bare) / statistics.median(ours),
                )
    yield _measure_reading(engine, folder)
    yield from _measure_boards(engine, size.boards)


# --- many processes ---------------------------------------------------------------------------------


class _Worker(NamedTuple):
    """One process: its session, and the projects in which it acts, one after the other."""

    session: str
    projects: Sequence[str]
    times: int


def _share(workers: int, operations: int, *, many: bool) -> list[_Worker]:
    times = max(operations // workers, _LEAST_TIMES)
    if not many:
        return [_Worker(f"s-{number}", ["p-0"], times) for number in range(workers)]
    projects = [f"p-{number}" for number in range(MANY)]
    return [_Worker("s-0", projects[number::workers], times) for number in range(workers)]


class _Bench:
    """One act by several workers."""

    def __init__(
        self, engine: Engine, folder: Path, act: Act, workers: Sequence[_Worker], *, mail: int = 0
    ) -> None:
        self._engine = engine
        self._act = act
        self._workers = workers
        self._tapes = [folder / f"{number}.tape" for number in range(len(workers))]
        projects = len({project for worker in workers for project in worker.projects})
        claims = sum(worker.times for worker in workers)
        many = Content(projects, 1, -(-claims // projects), mail)
        self._content = Content(1, len(workers), claims, mail) if projects == 1 else many

    def measure(self, rounds: int) -> tuple[list[float], list[float]]:
        """Give the seconds of the coordinator and of the bare driver, each in turn."""
        self._fill("recorded")
        time_at_once(
            [
                _Coordinating(self._engine, "recorded", worker, self._act, tape).run
                for worker, tape in zip(self._workers, self._tapes, strict=True)
            ]
        )
        ours: list[float] = []
        bare: list[float] = []
        for number in range(rounds):
            for measure in (self._ours, self._bare) if number % 2 else (self._bare, self._ours):
                (ours if measure == self._ours else bare).append(measure())
        return ours, bare

    def _fill(self, name: str) -> None:
        self._engine.fill(name, self._content)

    def _ours(self) -> float:
        self._fill("ours")
        return time_at_once(
            [_Coordinating(self._engine, "ours", one, self._act).run for one in self._workers]
        )

    def _bare(self) -> float:
        self._fill("bare")
        return time_at_once([_Replaying(self._engine, "bare", tape).run for tape in self._tapes])


class _Coordinating(NamedTuple):
    """A process that coordinates; with a tape, it keeps what it asked of the database, and is slower."""

    engine: Engine
    name: str
    worker: _Worker
    act: Act
    tape: Path | None = None

    def run(self, start: Callable[[], None]) -> None:
        act, (session, projects, times) = self.act, self.worker
        used = projects[:times]
        with self.engine.opened(self.name, used) as stores:
            made = self.engine.record(stores) if self.tape else []
            coordinators = [Coordinator(store, "") for store in stores]
            ids = iter([_make_id() for _ in range(times * _MOST_IDS)])
            start()
            for number in range(times):
                act(coordinators[number % len(used)], session, ids)
        if self.tape:
            self.tape.write_text(repr(made), encoding="utf-8")


class _Replaying(NamedTuple):
    """A process that asks the same of the bare driver."""

    engine: Engine
    name: str
    tape: Path

    def run(self, start: Callable[[], None]) -> None:
        made: list[Statement] = eval(self.tape.read_text(encoding="utf-8"))  # noqa: S307 - written by this run
        self.engine.replay(self.name, made, start)


def _make_id() -> str:
    return make_operation(SystemClock().now(), os.urandom(RANDOM_BYTES))


# --- reading and boards -----------------------------------------------------------------------------


def _measure_reading(engine: Engine, folder: Path) -> Row:
    """Read one message that waits, again and again; both in turn, and the quickest of each counts."""
    bench = _Bench(engine, folder, read_message, [_Worker("s-0", ["p-0"], READS)], mail=1)
    ours, bare = bench.measure(3)
    return Row(
        part="coordination",
        name=f"{engine.mark}read a message",
        value=min(ours) / READS * 1000,
        unit="ms",
        ratio=min(ours) / min(bare),
        budget=BUDGETS["coordination"]["read a message"],
        median_ratio=statistics.median(ours) / statistics.median(bare),
    )


def _measure_boards(engine: Engine, sizes: Sequence[int]) -> list[Row]:
    """Claim on boards of several sizes, in turn, so that all have the same machine."""
    with ExitStack() as stack:
        boards: list[Coordinator] = []
        for size in sizes:
            name = f"board_{size}"
            engine.fill(name, Content(1, 1, size))
            boards += [Coordinator(one, "") for one in stack.enter_context(engine.opened(name, ["p-0"]))]
        times: list[list[float]] = [[] for _ in sizes]
        for _ in range(CLAIMS):
            for on, seconds in zip(boards, times, strict=True):
                seconds.append(_time_claim(on))
    return [
        Row(
            part="coordination",
            name=f"{engine.mark}claim at {size:,} tasks",
            value=statistics.median(seconds) * 1000,
            unit="ms",
            ratio=min(seconds) / min(times[0]),
            budget=BUDGETS["coordination"]["claim, to 1k tasks"] if size != sizes[0] else None,
            median_ratio=statistics.median(seconds) / statistics.median(times[0]),
        )
        for size, seconds in zip(sizes, times, strict=True)
    ]


def _time_claim(on: Coordinator) -> float:
    """Give the seconds of a claim; closing the task is not timed."""
    claim, close = _make_id(), _make_id()
    began = time.perf_counter()
    claimed = on.tasks.claim(claim, "s-0", [])
    seconds = time.perf_counter() - began
    assert isinstance(claimed, Claimed), claimed
    (grant,) = claimed.grants
    on.tasks.close(close, "s-0", Fenced(Resource(grant.kind, grant.name), grant.fence), "completed", "")
    return seconds
