"""How long one call waits in all for what sessions share, on its own clock (C144)."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from passdown.engines.system import SystemClock

TOLD_AFTER: Final = 1.0
"""Seconds after which a caller is told what it waits for."""


class Patience:
    """The time that is left for waiting; everything that waits for the engine takes from it."""

    def __init__(self, seconds: float, tell: Callable[[str], None] = lambda _: None) -> None:
        """Wait at most that long; `tell` is given what is waited for, once, when it takes long."""
        self.seconds = seconds
        self._tell = tell
        self._monotonic = SystemClock().monotonic
        self._waited = 0.0
        self._is_told = False

    @property
    def left(self) -> float:
        """The seconds that are left; never negative."""
        return max(self.seconds - self._waited, 0.0)

    def restart(self) -> None:
        """Begin anew: nobody waited for the engine, but on purpose."""
        self._waited = 0.0

    def waits(self, what: str) -> Generator[float, None, None]:
        """Yield how many seconds to wait next, until nothing is left; leave the loop when it is over.

        The first one may be 0: it is tried once in any case.
        """
        is_first = True
        while is_first or self.left > 0:
            is_first = False
            with self.spending():
                left = self.left
                yield left if self._is_told else min(left, max(TOLD_AFTER - self._waited, 0.0))
            if self._waited >= TOLD_AFTER and not self._is_told:
                self._is_told = True
                self._tell(f"waiting for {what}")

    @contextmanager
    def spending(self) -> Generator[None, None, None]:
        """Take the time of what is done within from what is left."""
        began = self._monotonic()
        try:
            yield
        finally:
            self._waited += self._monotonic() - began
