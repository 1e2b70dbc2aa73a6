"""Engines of coordination, with clocks and processes that a test moves."""

import multiprocessing
import os
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from multiprocessing.synchronize import Barrier as ProcessBarrier
from pathlib import Path
from threading import Barrier
from typing import Final, Protocol

from passdown.core.coordination.members import EngineTime
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.coordination.transactions import Store
from passdown.engines.sqlite.coordination import LocalMachine, SqliteStore, open_store
from passdown.engines.sqlite.mounts import MountKind
from passdown.ports.clock import BootTime
from passdown.ports.coordination import Coordination
from passdown.testing.conformance.coordination.bench import LIFETIMES, CoordinationBench, Racer
from passdown.testing.conformance.coordination.races import RACERS
from passdown.testing.memory.coordination import MemoryStore

START: Final = 1_768_000_000.0
"""When time begins; reads of the clock do not move it."""
_PATIENCE: Final = 30.0
"""Seconds to wait for other processes."""


class MovedTime:
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


class MovedBench(CoordinationBench):
    """A bench whose clock and processes a test moves."""

    def __init__(self, time: MovedTime, running: set[str]) -> None:
        """Move these."""
        self.time = time
        self.running = running

    def now(self) -> float:
        """Tell the time."""
        return self.time.seconds

    def advance(self, seconds: float, *, quiet: bool = False) -> None:
        """Move the clock."""
        self.time.seconds += seconds
        if not quiet:
            self.hear()

    @abstractmethod
    def hear(self) -> None:
        """Let somebody have been heard until now, without a silence."""

    def run(self, process: str) -> bool:
        """Let a process run."""
        self.running.add(process)
        return True

    def kill(self, process: str) -> None:
        """End a process."""
        self.running.discard(process)

    def reboot(self) -> bool:
        """Boot anew; that takes a minute."""
        self.time.boot += 1
        self.time.seconds += 60.0
        return True


class MemoryBench(MovedBench):
    """Coordination in memory; racers are threads."""

    def __init__(
        self,
        make_store: Callable[[MovedTime, Callable[[str], bool | None]], Store] | None = None,
        coordinate: Callable[[Store], Coordination] | None = None,
    ) -> None:
        """Use a store, and a coordinator over it, that may be broken."""
        super().__init__(MovedTime(), set())
        self.store = (make_store or _make_store)(self.time, self.running.__contains__)
        self._coordinate = coordinate or _coordinate

    def connect(self) -> Coordination:
        """Coordinate over the one store."""
        return self._coordinate(self.store)

    def hear(self) -> None:
        """Set the newest sign, if there is one."""
        rows = getattr(self.store, "_rows", None)
        if rows is not None and rows.newest_sign is not None:
            rows.newest_sign = self.time.seconds

    def race(self, racers: Sequence[Racer]) -> Sequence[object]:
        """Let threads act at once."""
        start = Barrier(len(racers))

        def run(racer: Racer) -> object:
            handle = self.connect()
            start.wait()
            return racer(handle)

        with ThreadPoolExecutor(len(racers)) as pool:
            return [*pool.map(run, racers)]


def _make_store(clock: MovedTime, is_running: Callable[[str], bool | None]) -> Store:
    return MemoryStore(clock, is_running, clock.pause)


def _coordinate(store: Store) -> Coordination:
    return Coordinator(store, "memory, this process", LIFETIMES)


class SharedMachine:
    """A machine with a file of coordination, whose clocks and processes a test moves.

    It can be sent to another process, and stands still there.
    """

    def __init__(self, path: Path, mount: MountKind) -> None:
        """Use a file that need not exist."""
        self.path = str(path)
        self.mount = mount
        self.time = MovedTime()
        self.running: set[str] = set()

    def read(self) -> BootTime:
        """Tell the boot, and the time in it."""
        return BootTime(f"boot-{self.time.boot}", self.time.seconds - START)

    def now(self) -> datetime:
        """Tell the time by the clock on the wall."""
        return datetime.fromtimestamp(self.time.seconds, UTC)

    def monotonic(self) -> float:
        """Tell the time since some start."""
        return self.time.seconds

    def is_running(self, process: str) -> bool:
        """Tell whether a process runs."""
        return process in self.running

    def open_store(self) -> SqliteStore:
        """Open the file."""
        local = LocalMachine(boot_clock=self, clock=self, is_running=self.is_running, pause=self.time.pause)
        return open_store(self.path, "local", local, mount=self.mount, wait=_PATIENCE)


class SqliteBench(MovedBench):
    """Coordination in an SQLite file; racers are processes."""

    def __init__(self, folder: Path, mount: MountKind = MountKind.LOCAL) -> None:
        """Use a file in a folder."""
        self._machine = SharedMachine(folder / "coordination.db", mount)
        super().__init__(self._machine.time, self._machine.running)
        self._opened: list[SqliteStore] = []

    def connect(self) -> Coordination:
        """Open the file once more."""
        self._opened.append(self._machine.open_store())
        return _coordinate(self._opened[-1])

    def hear(self) -> None:
        """Set the newest sign, if there is one."""
        if Path(self._machine.path).exists():
            with closing(sqlite3.connect(self._machine.path, isolation_level=None)) as connection:
                connection.execute("UPDATE signs SET newest = ?", (self.time.seconds,))

    def race(self, racers: Sequence[Racer]) -> Sequence[object]:
        """Let processes act at once."""
        return run_in_processes(self._machine, racers)

    def close(self) -> None:
        """Close the file."""
        for store in self._opened:
            store.close()


class ClosableStore(Store, Protocol):
    """A store that a process opened."""

    def close(self) -> None:
        """Close it."""


class StorePlace(Protocol):
    """Where processes find a project; it can be sent to them."""

    def open_store(self) -> ClosableStore:
        """Open the project."""


def run_in_processes(place: StorePlace, racers: Sequence[Racer]) -> Sequence[object]:
    """Let processes act at once; those without an act only start with the others."""
    pool = _start_processes()
    runs = [pool.submit(_run_racer, place, racer) for racer in racers]
    rest = [pool.submit(_run_racer, place, _do_nothing) for _ in range(RACERS - len(racers))]
    return [run.result() for run in [*runs, *rest]][: len(racers)]


@cache
def _start_processes() -> ProcessPoolExecutor:
    """Start as many processes as there are racers, once; forked where that can be done safely."""
    context = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
    context.set_forkserver_preload([__name__])
    start = context.Barrier(RACERS)
    return ProcessPoolExecutor(RACERS, context, _remember_start, (start,))


_STARTS: list[ProcessBarrier] = []


def _remember_start(start: ProcessBarrier) -> None:
    _STARTS.append(start)


def _run_racer(place: StorePlace, racer: Racer) -> object:
    store = place.open_store()
    try:
        _STARTS[0].wait(_PATIENCE)
        return racer(_coordinate(store))
    finally:
        store.close()


def _do_nothing(on: Coordination) -> None:
    del on
