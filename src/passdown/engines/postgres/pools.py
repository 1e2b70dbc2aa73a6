"""The connections of this process to each server: a limited number, shared by all stores (C136)."""

import os
from collections import deque
from collections.abc import Generator, Hashable, Iterable
from selectors import BaseSelector, DefaultSelector
from threading import Lock, Semaphore
from typing import Any, Final, TypeVar, cast

import psycopg

from passdown.engines.patience import Patience

T = TypeVar("T")

MARGIN: Final = 1.0
"""Extra seconds in which the server can report that a statement timed out."""
MOST: Final = 10
"""How many connections a process has to one server at a time; by default a server allows 100 in total."""


class DeadlineError(psycopg.OperationalError):
    """The server did not answer within the caller's time."""


class Connection(psycopg.Connection[Any]):
    """A connection that closes itself when it is garbage-collected."""

    patience: Patience | None = None
    """The total time to wait for the server; the driver would wait forever for a server that accepts calls
    and never answers."""
    seconds = MARGIN
    """How long to wait for one statement, if there is no total limit."""
    place = ""
    warnings: list[str]
    """What the server warned about; see `note_warnings`."""

    def note_warnings(self) -> None:
        """Begin to note what the server warns about beside its answers."""
        noted: list[str] = []
        self.warnings = noted

        def note(told: psycopg.errors.Diagnostic) -> None:
            if told.severity_nonlocalized == "WARNING":
                noted.append(told.message_primary or "")

        self.add_notice_handler(note)

    def __del__(self, *_: object) -> None:
        """Close it, without the driver's warning."""
        if hasattr(self, "pgconn"):  # the constructor may have failed before that
            self.close()

    def wait(self, gen: Generator[Any, Any, T], interval: float = 0.0, timeout: float | None = None) -> T:
        """Resume the driver whenever the server answers, until the time is up (C144)."""
        del interval, timeout
        patience = self.patience or Patience(self.seconds)
        with DefaultSelector() as selector:
            try:
                wanted = next(gen)
                selector.register(self.pgconn.socket, wanted)
                while True:
                    ready = _wait_for(selector, patience, f"PostgreSQL ({self.place})")
                    asked = gen.send(ready)
                    if asked != wanted:
                        selector.modify(self.pgconn.socket, asked)
                        wanted = asked
            except StopIteration as end:
                return cast("T", end.value)


def _wait_for(selector: BaseSelector, patience: Patience, what: str) -> int:
    """Return what the connection is ready for; raise a DeadlineError when the time is up."""
    for seconds in patience.waits(what):
        if found := selector.select(seconds):
            return found[0][1]
    raise DeadlineError(f"no answer within {patience.seconds:g} s")


class Pool:
    """The connections to one server: opened when needed, and kept for the next transaction."""

    def __init__(self, most: int = MOST) -> None:
        """Allow at most that many connections at a time."""
        self.users = 0
        self._free = Semaphore(most)
        self._kept: deque[Connection] = deque()

    def enter(self, waits: Iterable[float]) -> bool:
        """Acquire the right to one connection; `waits` yields the seconds of each attempt.

        Return False if no other thread has released its right by then.
        """
        return self._free.acquire(blocking=False) or any(self._free.acquire(timeout=one) for one in waits)

    def leave(self) -> None:
        """Release the right to a connection."""
        self._free.release()

    def take(self) -> Connection | None:
        """Return a kept connection; None if a new one is needed."""
        try:
            return self._kept.pop()
        except IndexError:
            return None

    def keep(self, connection: Connection) -> None:
        """Keep a connection for the next transaction of any store."""
        self._kept.append(connection)

    def close(self) -> None:
        """Close the kept connections."""
        while connection := self.take():
            connection.close()


class Pools:
    """The pools of a process, by server; a pool lives as long as a store uses it."""

    def __init__(self, most: int = MOST) -> None:
        """Allow at most that many connections to each server at a time."""
        self._most = most
        self._lock = Lock()
        self._pools: dict[tuple[int, Hashable], Pool] = {}

    def join(self, server: Hashable) -> Pool:
        """Start using the pool of a server; a forked process has its own."""
        with self._lock:
            pool = self._pools.setdefault((os.getpid(), server), Pool(self._most))
            pool.users += 1
            return pool

    def part(self, server: Hashable, pool: Pool) -> None:
        """Stop using a pool; when no store uses it any more, close its connections."""
        with self._lock:
            pool.users -= 1
            if pool.users:
                return
            self._pools.pop((os.getpid(), server), None)
        pool.close()


POOLS: Final = Pools()
"""The pools of this process."""
