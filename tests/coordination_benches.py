"""Engines of coordination, with clocks and processes that a test moves."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Final

from passdown.core.coordination.members import EngineTime
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.coordination.transactions import Store
from passdown.engines.memory.coordination import MemoryStore
from passdown.ports.coordination import Coordination
from passdown.testing.conformance.coordination.bench import LIFETIMES, CoordinationBench, Racer

START: Final = 1_768_000_000.0
"""When time begins; reads of the clock do not move it."""


class MovedClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        """Begin."""
        self.seconds = START
        self.boot = 0

    def __call__(self) -> EngineTime:
        """Tell the time."""
        return EngineTime(self.seconds, self.boot)

    def pause(self, seconds: float) -> None:
        """Move on instead of waiting."""
        self.seconds += seconds


class MemoryBench(CoordinationBench):
    """Coordination in memory; racers are threads."""

    def __init__(
        self,
        make_store: Callable[[MovedClock, Callable[[str], bool | None]], Store] | None = None,
        coordinate: Callable[[Store], Coordination] | None = None,
    ) -> None:
        """Use a store, and a coordinator over it, that may be broken."""
        self.clock = MovedClock()
        self.running: set[str] = set()
        self.store = (make_store or _make_store)(self.clock, self.running.__contains__)
        self._coordinate = coordinate or _coordinate

    def connect(self) -> Coordination:
        """Coordinate over the one store."""
        return self._coordinate(self.store)

    def now(self) -> float:
        """Tell the time."""
        return self.clock.seconds

    def advance(self, seconds: float) -> None:
        """Move the clock."""
        self.clock.seconds += seconds

    def race(self, racers: Sequence[Racer]) -> Sequence[object]:
        """Let threads act at once."""
        start = Barrier(len(racers))

        def run(racer: Racer) -> object:
            handle = self.connect()
            start.wait()
            return racer(handle)

        with ThreadPoolExecutor(len(racers)) as pool:
            return [*pool.map(run, racers)]

    def run(self, process: str) -> bool:
        """Let a process run."""
        self.running.add(process)
        return True

    def kill(self, process: str) -> None:
        """End a process."""
        self.running.discard(process)

    def reboot(self) -> bool:
        """Boot anew; that takes a minute."""
        self.clock.boot += 1
        self.clock.seconds += 60.0
        return True


def _make_store(clock: MovedClock, is_running: Callable[[str], bool | None]) -> Store:
    return MemoryStore(clock, is_running, clock.pause)


def _coordinate(store: Store) -> Coordination:
    return Coordinator(store, "memory, this process", LIFETIMES)
