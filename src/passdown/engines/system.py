"""The clocks and random numbers of this machine; nothing else in the project reads them.

No other module knows how a system tells one boot from another. Linux has an id in /proc, macOS in a kernel
variable. Windows has no id, but keeps the time at which it booted. The difference between the wall clock and
the uptime would not do: setting the clock would make one boot look like two.
"""

import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property
from typing import Final

from passdown.engines.files import read
from passdown.ports.clock import BootTime

PROC: Final = "/proc"
Ask = Callable[[], str]

_DARWIN_NAME: Final = "kern.bootsessionuuid"
_DARWIN_BYTES: Final = 64
_TIME_OF_DAY: Final = 3
"""SystemTimeOfDayInformation: in 64-bit numbers the boot time, the time, the zone and its id, the bias."""
_BOOT_TIME: Final = 0
_BOOT_TIME_BIAS: Final = 4
_TICKS: Final = 10_000_000
"""The ticks of Windows in a second."""


class SystemClock:
    """The `Clock` of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class SystemBootClock:
    """Reads the boot and its clock from the system."""

    def __init__(self, platform: str = sys.platform, proc: str = PROC, ask: Ask | None = None) -> None:
        """Choose the implementation for a system, named as in `sys.platform`.

        `ask` returns the id of the boot, or an empty text, where it is not in /proc.
        """
        self._platform = platform
        self._proc = proc
        self._ask = ask

    def read(self) -> BootTime:
        """Return the boot and the seconds since it; if either is unknown, the wall clock's seconds."""
        seconds = awake_seconds(self._platform) if self._boot else None
        if seconds is None:
            return BootTime("", SystemClock().now().timestamp())
        return BootTime(self._boot, seconds)

    @cached_property
    def _boot(self) -> str:
        """The id of the boot. No process survives a boot, so the system is asked once."""
        if self._platform.startswith("linux"):
            return self._read_boot_id()
        if self._ask is not None:
            return self._ask()
        if self._platform == "darwin":
            return _ask_kernel() or _ask_sysctl()
        return _ask_windows() if self._platform == "win32" else ""

    def _read_boot_id(self) -> str:
        try:
            found = read.read_trusted(f"{self._proc}/sys/kernel/random/boot_id")
        except OSError:
            return ""
        return found.decode("ascii", "replace").strip()


class SystemEntropy:
    """The `Entropy` of this machine."""

    def token(self, size: int) -> bytes:
        return os.urandom(size)


def awake_seconds(platform: str) -> float | None:
    """Return the seconds that the machine has been awake since it booted; None if they are unknown.

    Each system has one fixed clock for this: Python 3.13 changed its monotonic clock on Windows, and
    processes with different Python versions share what they write.
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


def _ask_kernel() -> str:
    """Return the boot id of macOS; empty if the kernel does not reveal it, as in a sandbox."""
    try:
        import ctypes  # not needed on Linux

        ask = ctypes.CDLL(None).sysctlbyname
    except (ImportError, AttributeError, OSError, TypeError):  # a Python without it, or another system
        return ""
    text = ctypes.create_string_buffer(_DARWIN_BYTES)
    size = ctypes.c_size_t(_DARWIN_BYTES)
    failed = ask(_DARWIN_NAME.encode(), text, ctypes.byref(size), None, ctypes.c_size_t(0))
    return "" if failed else text.value.decode("ascii", "replace").strip()


def _ask_sysctl() -> str:
    """Return the same from the program `sysctl`, for a Python without `ctypes`."""
    import subprocess  # slow to load, and rarely needed

    command = ["sysctl", "-n", _DARWIN_NAME]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _ask_windows() -> str:
    """Return the tick at which Windows booted, by its clock at that time; empty if it is unknown.

    When the clock is set, Windows moves the boot time with it and adds the same amount to the bias, so the
    difference of the two does not change.
    """
    try:
        import ctypes  # not needed on Linux

        load = getattr(ctypes, "WinDLL", ctypes.CDLL)  # only Windows has it
        ask = load("ntdll").NtQuerySystemInformation
    except (ImportError, AttributeError, OSError):  # a Python without it, or another system
        return ""
    numbers = (ctypes.c_longlong * 6)()
    failed = ask(_TIME_OF_DAY, ctypes.byref(numbers), ctypes.sizeof(numbers), None)
    booted = numbers[_BOOT_TIME] - numbers[_BOOT_TIME_BIAS]
    return "" if failed or not numbers[_BOOT_TIME] else str(booted)


def local_time(instant: datetime) -> str:
    """Return an instant as local time of day, HH:MM."""
    return f"{instant.astimezone():%H:%M}"


def pause(seconds: float) -> None:
    """Sleep for a number of seconds."""
    time.sleep(seconds)
