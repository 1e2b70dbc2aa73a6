"""The sources of time and randomness, so that tests can control both."""

from datetime import datetime
from typing import NamedTuple, Protocol


class Clock(Protocol):
    """Tells the time; never fails."""

    def now(self) -> datetime:
        """Return the current instant in UTC, timezone-aware. It may step back and differ between machines."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start. It never steps back; only differences are meaningful."""
        ...


class BootTime(NamedTuple):
    """An instant that all processes of one boot of the machine measure alike."""

    boot: str
    """The id of the boot, different for every boot; empty if unknown."""
    seconds: float
    """Seconds since a start that all processes of the boot share."""


class BootClock(Protocol):
    """Tells the time within a boot; never fails."""

    def read(self) -> BootTime:
        """Return the boot and the seconds in it.

        If the boot is known, the seconds never step back, do not depend on the wall clock, and, if the system
        supports it, do not count while it sleeps. Only instants of the same boot can be compared; every
        process of another boot has ended.

        If the boot is unknown, it is empty, and the seconds are the wall clock's, since 1970. They may step
        back and continue through a boot, so code that stores them never stores one earlier than its newest.
        """
        ...


class Entropy(Protocol):
    """Makes bytes that nobody can guess; never fails."""

    def token(self, size: int) -> bytes:
        """Return exactly that many random bytes, for names that must not collide or be predictable."""
        ...
