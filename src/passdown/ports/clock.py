"""Where time and randomness come from, so that tests can move the one and fix the other."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time; never fails."""

    def now(self) -> datetime:
        """Give the present instant, aware and in UTC. It may step back, and other machines may disagree."""
        ...

    def monotonic(self) -> float:
        """Give seconds since an unknown start. It never steps back; only differences mean anything."""
        ...


class Entropy(Protocol):
    """Gives bytes that nobody can guess; never fails."""

    def token(self, size: int) -> bytes:
        """Give exactly that many random bytes, fit for names that must not collide or be foreseen."""
        ...
