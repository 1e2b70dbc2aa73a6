"""The total time that one call may wait for coordination, on the call's own clock (C144)."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from passdown.engines.system import SystemClock

TOLD_AFTER: Final = 1.0
"""Seconds after which the caller is told what it is waiting for."""


class Patience:
    """The waiting time that a call has left; every wait for the engine is deducted from it."""

    def __init__(self, seconds: float, tell: Callable[[str], None] = lambda _: None) -> None:
        """Allow that many seconds; if waiting takes long, call `tell` once with what is being waited for."""
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
        """Reset the time: the last wait was intended, and not caused by the engine."""
        self._waited = 0.0

    def waits(self, what: str) -> Generator[float, None, None]:
        """Yield how many seconds to wait next, until no time is left; break out of the loop on success.

        The first value may be 0: there is always at least one attempt.
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
        """Deduct the time that the body of the `with` takes."""
        began = self._monotonic()
        try:
            yield
        finally:
            self._waited += self._monotonic() - began
