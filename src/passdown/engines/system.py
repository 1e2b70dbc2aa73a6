"""The clock and random numbers of this machine; nothing else in the project reads either."""

import os
import time
from datetime import UTC, datetime
from typing import Final

_TICKS: Final = 10_000_000
"""The ticks of Windows in a second."""


class SystemClock:
    """The `Clock` of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class SystemEntropy:
    """The `Entropy` of this machine."""

    def token(self, size: int) -> bytes:
        return os.urandom(size)


def awake_seconds(platform: str) -> float | None:
    """Return the seconds that the machine has been awake since it booted; None if it does not tell.

    Each system is asked for one certain clock: Python's own monotonic clock is another one on Windows since
    3.13, and processes of different versions share what they write.
    """
    if platform == "win32":
        return _unbiased_seconds()
    clock = getattr(time, "CLOCK_UPTIME_RAW", None)  # macOS; elsewhere Python's clock is CLOCK_MONOTONIC
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def _unbiased_seconds() -> float | None:
    try:
        import ctypes  # slow to load, and needed on Windows only

        load = getattr(ctypes, "WinDLL", ctypes.CDLL)  # only Windows has it
        ask = load("kernel32").QueryUnbiasedInterruptTime
    except (ImportError, AttributeError, OSError):  # a Python without it, or another system
        return None
    ticks = ctypes.c_ulonglong()
    done = ask(ctypes.byref(ticks))
    return ticks.value / _TICKS if done else None


def local_time(instant: datetime) -> str:
    """Return an instant as local time of day, HH:MM."""
    return f"{instant.astimezone():%H:%M}"


def pause(seconds: float) -> None:
    """Sleep for a number of seconds."""
    time.sleep(seconds)
