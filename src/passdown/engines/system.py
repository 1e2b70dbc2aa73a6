"""The clock and the randomness of this machine; nothing else in the project reads either."""

import os
import time
from datetime import UTC, datetime


class SystemClock:
    """The `Clock` of this machine."""

    def now(self) -> datetime:
        """Give the present instant in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Give seconds since an unknown start, never stepping back."""
        return time.monotonic()


class SystemEntropy:
    """The `Entropy` of this machine."""

    def token(self, size: int) -> bytes:
        """Give random bytes from the operating system."""
        return os.urandom(size)


def local_time(instant: datetime) -> str:
    """Give the local time of day of an instant, HH:MM."""
    return f"{instant.astimezone():%H:%M}"


def pause(seconds: float) -> None:
    """Do nothing for a while."""
    time.sleep(seconds)
