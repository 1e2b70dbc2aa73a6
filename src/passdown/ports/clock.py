"""Where time and randomness come from, so that tests can control both."""

from datetime import datetime
from typing import NamedTuple, Protocol


class Clock(Protocol):
    """Tells the time; never fails."""

    def now(self) -> datetime:
        """Return the current instant in UTC, timezone-aware. It may step back and differ between machines."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start. It never steps back; only differences have a meaning."""
        ...


class BootTime(NamedTuple):
    """An instant that all processes of one boot of the machine measure alike."""

    boot: str
    """The id of the boot: another one at every boot, and empty if nobody can tell."""
    seconds: float
    """Seconds since a start that all processes of the boot share."""


class BootClock(Protocol):
    """Tells the time within a boot; never fails."""

    def read(self) -> BootTime:
        """Return the boot and the seconds in it.

        If the boot is known, the seconds never step back, do not depend on the wall clock, and where the
        system can do that, do not count while it sleeps. Only instants of the same boot can be compared;
        whatever ran in another boot has ended.

        If nobody can tell the boot, it is empty and the seconds are the wall clock's, since 1970: they may
        step back, and go on through a boot. Whoever stores them takes none earlier than the newest it has.
        """
        ...


class Entropy(Protocol):
    """Makes bytes that nobody can guess; never fails."""

    def token(self, size: int) -> bytes:
        """Return exactly that many random bytes, for names that must not collide or be predictable."""
        ...
