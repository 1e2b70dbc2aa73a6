"""The clock and random numbers of this machine; nothing else in the project reads either."""

import os
import time
from datetime import UTC, datetime


class SystemClock:
    """The `Clock` of this machine."""

    def now(self) -> datetime:
        """Return the current instant in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start; never steps back."""
        return time.monotonic()


class SystemEntropy:
    """The `Entropy` of this machine."""

    def token(self, size: int) -> bytes:
        """Return random bytes from the operating system."""
        return os.urandom(size)


def local_time(instant: datetime) -> str:
    """Return an instant as local time of day, HH:MM."""
    return f"{instant.astimezone():%H:%M}"


def pause(seconds: float) -> None:
    """Sleep for a number of seconds."""
    time.sleep(seconds)
