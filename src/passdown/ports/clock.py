"""Where time and randomness come from, so that tests can control both."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time; never fails."""

    def now(self) -> datetime:
        """Return the current instant in UTC, timezone-aware. It may step back and differ between machines."""
        ...

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start. It never steps back; only differences have a meaning."""
        ...


class Entropy(Protocol):
    """Makes bytes that nobody can guess; never fails."""

    def token(self, size: int) -> bytes:
        """Return exactly that many random bytes, for names that must not collide or be predictable."""
        ...
