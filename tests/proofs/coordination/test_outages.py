"""Engines that are away and back: nothing of a live session is taken before C143 allows it."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Final

import pytest

from passdown.core.coordination.leases import PATH, Granted, Held, Lifetimes, Resource
from passdown.core.coordination.members import Member
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.postgres.coordination import PostgresStore, open_store
from passdown.engines.postgres.migrate import migrate
from passdown.engines.system import SystemClock
from passdown.errors import StorageError
from passdown.testing.conformance.coordination.bench import DEATH, LIFETIMES, CoordinationBench, SharedProject
from tests.proof import proof_count
from tests.stores.coordination_benches import MemoryBench, SqliteBench
from tests.stores.proxies import Proxy
from tests.stores.servers import APP, PORT, MigratedDatabase, Postgres

pytestmark = pytest.mark.proof

HISTORIES: Final = proof_count(fast=10, ci=60, long=2_000)
OUTAGES: Final = proof_count(fast=1, ci=3, long=200)
PROMOTIONS: Final = proof_count(fast=1, ci=1, long=40)

# --- moved clocks -----------------------------------------------------------------------------------

STEPS: Final = (15.0, 40.0, 70.0, 130.0, 300.0, 540.0, 1_800.0)
HOLDERS: Final = ("live", "cut", "dead")
INTERVAL: Final = LIFETIMES.grace
"""How late the project's newest sign may be: it is written at most once in so many seconds."""


class Outages:
    """One history: who was heard when, and what C143 says about it."""

    def __init__(self, bench: CoordinationBench, seed: int) -> None:
        """Begin with three sessions that hold something, and one that wants all of it."""
        self.project = SharedProject(bench)
        self.bench = bench
        self.random = random.Random(seed)
        self.project.join(*HOLDERS, "taker")
        self.project.add(*HOLDERS)
        for name in HOLDERS:
            self.project.claimed(name, name)
        self.signs = [bench.now()]
        self.seen = dict.fromkeys((*HOLDERS, "taker"), bench.now())
        self.held = set(HOLDERS)

    def hear(self, *sessions: str) -> None:
        """Let sessions be heard."""
        self.project.beat(*sessions)
        self.signs.append(self.bench.now())
        self.seen.update(dict.fromkeys(sessions, self.bench.now()))

    def judge(self, name: str) -> tuple[bool, bool]:
        """Return whether what a session holds must be held, and whether it must be free."""
        now, seen = self.bench.now(), self.seen[name]
        heard = [seen, *(one for one in self.signs if one > seen)]
        longest = max((later - one for one, later in pairwise(heard)), default=0.0)
        spared = longest if longest >= LIFETIMES.quiet else 0.0
        most = longest + INTERVAL if longest + INTERVAL >= LIFETIMES.quiet else 0.0
        return now - seen - spared < DEATH, now - seen - most > DEATH

    def step(self) -> None:
        """Let time pass; then sessions are heard, if the engine is there for them, and one tries to take."""
        self.bench.advance(self.random.choice(STEPS), quiet=True)
        is_away, is_cut = self.random.random() < 0.4, self.random.random() < 0.5
        if is_away:
            return
        self.hear("live", *(() if is_cut else ("cut",)), *(("taker",) if self.random.random() < 0.7 else ()))
        self.try_to_take()

    def try_to_take(self) -> None:
        """Take what can be taken; every answer must be as C143 says."""
        self.hear("taker")
        for name in sorted(self.held):
            must_be_held, must_be_free = self.judge(name)
            outcome = self.project.take_task("taker", name)
            assert not (must_be_held and isinstance(outcome, Granted)), (name, self.signs, self.seen)
            assert not (must_be_free and isinstance(outcome, Held)), (name, self.signs, self.seen)
            if isinstance(outcome, Granted):
                self.held.remove(name)

    def end(self) -> None:
        """The dead are served to whoever asks every 15 minutes, at the second try; live ones keep theirs."""
        for _ in range(2):
            self.bench.advance(900.0, quiet=True)
            self.try_to_take()
        assert "dead" not in self.held


def make_memory(folder: Path) -> CoordinationBench:
    """A project in memory."""
    del folder
    return MemoryBench()


@pytest.mark.requirement("C143")
@pytest.mark.parametrize("make", [make_memory, SqliteBench])
def test_whatever_is_away_for_however_long_nothing_is_taken_too_early(
    tmp_path: Path, make: Callable[[Path], CoordinationBench]
) -> None:
    for seed in range(HISTORIES if make is make_memory else HISTORIES // 5):
        folder = tmp_path / str(seed)
        folder.mkdir()
        bench = make(folder)
        history = Outages(bench, seed)
        for _ in range(12):
            history.step()
        history.end()
        bench.close()


# --- a real server, with short lifetimes -----------------------------------------------------------------

SHORT: Final = Lifetimes(silent=2.0, grace=0.5, quiet=1.0)
LIFE: Final = SHORT.silent + SHORT.grace
TICK: Final = 0.2
MOST_TICKS: Final = 200


class Client:
    """A session in a clone of its own."""

    def __init__(self, url: str, name: str, project: str) -> None:
        """Take part."""
        self.name = name
        self.store: PostgresStore = open_store(url, project)
        self.on = Coordinator(self.store, "PostgreSQL", SHORT)
        self.op = _make_ops()
        self.on.members.join(self.op(), Member(session=name, agent=name))

    def hold(self, path: str) -> None:
        """Reserve a path."""
        held = self.on.leases.acquire(self.op(), self.name, [Resource(PATH, path)], SHORT.silent)
        assert isinstance(held, Granted)

    def is_heard(self) -> bool:
        """Try to give a sign of life; return whether it arrived."""
        with suppress(StorageError):
            self.on.members.beat([self.name])
            return True
        return False

    def take(self, path: str) -> bool:
        """Try to take a path over; return whether it was given."""
        assert self.is_heard()
        taken = self.on.leases.take_over(self.op(), self.name, [Resource(PATH, path)], force=False)
        return isinstance(taken, Granted)


def _make_ops() -> Callable[[], str]:
    from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
    from passdown.engines.system import SystemEntropy

    return lambda: make_operation(SystemClock().now(), SystemEntropy().token(RANDOM_BYTES))


def wait_until(is_over: Callable[[], bool]) -> None:
    """Try until something holds."""
    for _ in range(MOST_TICKS):
        if is_over():
            return
        Event().wait(TICK)
    pytest.fail("it never came to that")


class Round:
    """Two clones, each behind a proxy: one with a live and a dead session, one with a session that takes."""

    def __init__(self, near: Proxy, far: Proxy, project: str) -> None:
        """Let both hold something; only one is heard from now on."""
        self.near, self.far = near, far
        self.live, self.dead = (Client(near.url(APP, "postgres"), name, project) for name in ("live", "dead"))
        self.taker = Client(far.url(APP, "postgres"), "taker", project)
        self.live.hold("live/**")
        self.dead.hold("dead/**")
        assert self.live.is_heard()
        assert self.taker.is_heard()

    def outlast(self, *, is_taker_heard: bool) -> None:
        """Let more time pass than a lease lives; the live session tries to be heard all the while."""
        clock = SystemClock()
        end = clock.monotonic() + LIFE + 2 * SHORT.quiet
        while clock.monotonic() < end:
            assert not self.live.is_heard()
            assert self.taker.is_heard() is is_taker_heard
            Event().wait(TICK)

    def end_outage(self) -> None:
        """Nothing is taken at once; the live session keeps what it has, and the dead one loses it."""
        wait_until(self.taker.is_heard)
        assert not self.taker.take("live/**")
        assert not self.taker.take("dead/**")

        def is_dead_served() -> bool:
            wait_until(self.live.is_heard)
            assert not self.taker.take("live/**")
            return self.taker.take("dead/**")

        wait_until(is_dead_served)

    def close(self) -> None:
        """Close all connections."""
        for client in (self.live, self.dead, self.taker):
            client.store.close()


@contextmanager
def proxies(server: Postgres) -> Iterator[tuple[Proxy, Proxy]]:
    """Give the ways of two clones to a server."""
    socket_file = server.address.folder / f".s.PGSQL.{PORT}"
    with Proxy(socket_file) as near, Proxy(socket_file) as far:
        yield near, far


@pytest.mark.server
@pytest.mark.timeout(0)
@pytest.mark.requirement("C143")
def test_after_an_outage_the_live_keep_what_they_hold_and_the_dead_lose_it(own_postgres: Postgres) -> None:
    """The server is stopped, a proxy refuses all, or only some: then others were heard, and C80 holds."""
    migrate(MigratedDatabase(own_postgres.address, "postgres").url("postgres"))
    with proxies(own_postgres) as (near, far):
        for number in range(OUTAGES):
            made = Round(near, far, f"p-{number}")
            way = ("stop", "refuse-all", "refuse-some")[number % 3]
            if way == "stop":
                own_postgres.stop("immediate" if number % 2 else "fast")
            else:
                near.refuse()
            if way == "refuse-all":
                far.refuse()
            made.outlast(is_taker_heard=way == "refuse-some")
            if way == "refuse-some":
                assert made.taker.take("live/**")
                assert made.taker.take("dead/**")
            if way == "stop":
                own_postgres.start()
            near.restore()
            far.restore()
            if way != "refuse-some":
                made.end_outage()
            made.close()


@pytest.mark.server
@pytest.mark.timeout(0)
@pytest.mark.requirement("C143")
def test_after_a_failover_the_live_keep_what_they_hold_and_the_dead_lose_it(
    postgres_pair: tuple[Postgres, Postgres],
) -> None:
    primary, standby = postgres_pair
    migrate(MigratedDatabase(primary.address, "postgres").url("postgres"))
    for number in range(PROMOTIONS):
        with proxies(primary) as (near, far):
            made = Round(near, far, f"p-{number}")
            primary.stop("immediate")
            made.outlast(is_taker_heard=False)
            standby.promote()
            for proxy in (near, far):
                proxy.lead_to(standby.address.folder / f".s.PGSQL.{PORT}")
            made.end_outage()
            made.close()
        primary.follow(standby)
        primary, standby = standby, primary
