"""The connections of this process to each server: a bounded number, which all of its stores share (C136)."""

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
"""Seconds in which a server can say that a statement took too long."""
MOST: Final = 10
"""How many connections a process has to one server at a time; a server allows 100 in all by default."""


class DeadlineError(psycopg.OperationalError):
    """The server did not answer in the time that a caller has."""


class Connection(psycopg.Connection[Any]):
    """A connection that is closed once nobody holds it, if it was not closed before."""

    patience: Patience | None = None
    """How long to wait for the server in all; the driver would wait for ever if it takes calls and says
    nothing."""
    seconds = MARGIN
    """How long to wait for one statement, if there is no limit for all of them."""
    place = ""

    def __del__(self, *_: object) -> None:
        """Close it, without the driver's warning."""
        if hasattr(self, "pgconn"):  # it may not have come so far
            self.close()

    def wait(self, gen: Generator[Any, Any, T], interval: float = 0.0, timeout: float | None = None) -> T:
        """Let the driver go on whenever the server answers, as long as there is time (C144)."""
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
    """Return for what the connection is ready; raise an error if the time is over."""
    for seconds in patience.waits(what):
        if found := selector.select(seconds):
            return found[0][1]
    raise DeadlineError(f"no answer within {patience.seconds:g} s")


class Pool:
    """The connections to one server: opened when they are needed, and kept for the next transaction."""

    def __init__(self, most: int = MOST) -> None:
        """Allow so many at a time."""
        self.users = 0
        self._free = Semaphore(most)
        self._kept: deque[Connection] = deque()

    def enter(self, waits: Iterable[float]) -> bool:
        """Take the right to one connection; `waits` says how many seconds to wait for others, and again.

        Return False if none of them has given its right back by then.
        """
        return self._free.acquire(blocking=False) or any(self._free.acquire(timeout=one) for one in waits)

    def leave(self) -> None:
        """Give that right back."""
        self._free.release()

    def take(self) -> Connection | None:
        """Return a connection that was kept; None if a new one is needed."""
        try:
            return self._kept.pop()
        except IndexError:
            return None

    def keep(self, connection: Connection) -> None:
        """Keep a connection for the next transaction, whoever makes it."""
        self._kept.append(connection)

    def close(self) -> None:
        """Close what is kept."""
        while connection := self.take():
            connection.close()


class Pools:
    """The pools of a process, by server; one lives as long as somebody uses it."""

    def __init__(self, most: int = MOST) -> None:
        """Allow so many connections to each server at a time."""
        self._most = most
        self._lock = Lock()
        self._pools: dict[tuple[int, Hashable], Pool] = {}

    def join(self, server: Hashable) -> Pool:
        """Use the pool of a server; a process that was forked has its own."""
        with self._lock:
            pool = self._pools.setdefault((os.getpid(), server), Pool(self._most))
            pool.users += 1
            return pool

    def part(self, server: Hashable, pool: Pool) -> None:
        """Use it no longer; the last one to do so closes its connections."""
        with self._lock:
            pool.users -= 1
            if pool.users:
                return
            self._pools.pop((os.getpid(), server), None)
        pool.close()


POOLS: Final = Pools()
"""The pools of this process."""
