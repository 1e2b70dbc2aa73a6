"""The clock that all processes of a boot share, on systems that tell the boot and on those that do not."""

import ctypes
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passdown.engines.system import SystemBootClock, SystemClock

NAME = b"kern.bootsessionuuid"
UUID = "5E6FFEBE-2B2C-4C0B-9C5E-0D6A4C6B7A11"
TICKS = 133_456_789_012_345_678
HOUR = 36_000_000_000

not_on_windows = pytest.mark.skipif(sys.platform == "win32", reason="the program is a script for a shell")


class Library:
    """A library of the system with one function."""

    def __init__(self, name: str, function: Callable[..., int]) -> None:
        """Offer the function under its name."""
        setattr(self, name, function)


def plant_windows(
    monkeypatch: pytest.MonkeyPatch, *, booted: int = TICKS, bias: int = 0, awake: int = 0, failed: int = 0
) -> None:
    """Make this system look like a Windows that booted and has been awake at these ticks."""

    def query(kind: int, numbers: Any, size: int, _: None) -> int:
        assert (kind, size) == (3, 48)
        numbers._obj[0], numbers._obj[4] = booted, bias
        return failed

    def read_awake(ticks: Any) -> int:
        ticks._obj.value = awake
        return 1

    def load(name: str) -> Library:
        if name == "ntdll":
            return Library("NtQuerySystemInformation", query)
        return Library("QueryUnbiasedInterruptTime", read_awake)

    monkeypatch.setattr(ctypes, "WinDLL", load, raising=False)


def plant_kernel(monkeypatch: pytest.MonkeyPatch, text: str, failed: int = 0) -> None:
    """Make this system look like a macOS whose kernel answers this."""

    def ask(name: bytes, buffer: Any, size: Any, *_: object) -> int:
        assert name == NAME
        assert len(text) < size._obj.value
        buffer.value = text.encode()
        return failed

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Library("sysctlbyname", ask))


def plant_program(monkeypatch: pytest.MonkeyPatch, folder: Path, script: str) -> None:
    """Make `sysctl` this script, and the library one that does not know the call."""
    program = folder / "sysctl"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())


def is_wall_clock(clock: SystemBootClock) -> bool:
    """Return whether nobody knows the boot, and the seconds are those since 1970."""
    before = SystemClock().now().timestamp()
    found = clock.read()
    after = SystemClock().now().timestamp()
    return found.boot == "" and before <= found.seconds <= after


@pytest.mark.requirement("C81")
def test_processes_of_a_boot_read_the_same_boot_and_the_same_clock() -> None:
    script = "from passdown.engines.system import SystemBootClock; print(*SystemBootClock().read())"
    clock = SystemBootClock()
    before = clock.read()

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    boot, seconds = done.stdout.split()
    assert boot == before.boot
    assert before.seconds < float(seconds) < clock.read().seconds < SystemClock().now().timestamp()


@pytest.mark.requirement("C81")
def test_the_wall_clock_has_no_part_in_the_clock_of_a_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("6d1f\n", encoding="utf-8")
    clock = SystemBootClock("linux", str(tmp_path))
    before = clock.read()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    monkeypatch.setattr(SystemClock, "now", lambda _: pytest.fail("asked for the wall clock"))

    after = clock.read()

    assert before.boot == after.boot == "6d1f"
    assert before.seconds <= after.seconds <= time.monotonic()


def test_without_proc_the_wall_clock_counts(tmp_path: Path) -> None:
    assert is_wall_clock(SystemBootClock("linux", str(tmp_path)))


def test_an_empty_boot_id_is_none(tmp_path: Path) -> None:
    (tmp_path / "sys/kernel/random").mkdir(parents=True)
    (tmp_path / "sys/kernel/random/boot_id").write_text("\n", encoding="utf-8")

    assert is_wall_clock(SystemBootClock("linux", str(tmp_path)))


@pytest.mark.parametrize("platform", ["freebsd14", "cygwin"])
def test_a_system_nobody_knows_has_the_wall_clock(platform: str) -> None:
    assert is_wall_clock(SystemBootClock(platform))


def test_the_system_is_asked_once() -> None:
    answers = iter(["first", "second"])
    clock = SystemBootClock("darwin", ask=lambda: next(answers))

    assert [clock.read().boot for _ in range(2)] == ["first", "first"]


def test_on_macos_the_clock_does_not_run_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "CLOCK_UPTIME_RAW", 8, raising=False)
    monkeypatch.setattr(time, "clock_gettime", {8: 71.5}.__getitem__, raising=False)

    assert SystemBootClock("darwin", ask=lambda: UUID).read() == (UUID, 71.5)


def test_on_macos_the_kernel_tells_the_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_kernel(monkeypatch, UUID)

    assert SystemBootClock("darwin").read().boot == UUID


@not_on_windows
def test_on_macos_a_program_tells_the_boot_if_the_library_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_program(monkeypatch, tmp_path, f'test "$*" = "-n {NAME.decode()}" && echo {UUID}')

    assert SystemBootClock("darwin").read().boot == UUID


@not_on_windows
def test_on_macos_a_sandbox_that_refuses_both_leaves_the_wall_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant_program(monkeypatch, tmp_path, "echo half; exit 1")
    plant_kernel(monkeypatch, "half", failed=-1)
    assert is_wall_clock(SystemBootClock("darwin"))

    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert is_wall_clock(SystemBootClock("darwin"))


def test_on_windows_the_boot_time_is_the_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_windows(monkeypatch, awake=715_000_000)

    assert SystemBootClock("win32").read() == (str(TICKS), 71.5)


def test_on_windows_who_sets_the_clock_starts_no_other_boot(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_windows(monkeypatch)
    before = SystemBootClock("win32").read()
    plant_windows(monkeypatch, booted=TICKS + HOUR, bias=HOUR)
    after = SystemBootClock("win32").read()
    plant_windows(monkeypatch, booted=TICKS - HOUR, bias=-HOUR)
    back = SystemBootClock("win32").read()

    assert before.boot == after.boot == back.boot == str(TICKS)


def test_on_windows_another_boot_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_windows(monkeypatch)
    before = SystemBootClock("win32").read()
    plant_windows(monkeypatch, booted=TICKS + HOUR)

    assert SystemBootClock("win32").read().boot != before.boot


@pytest.mark.parametrize(("booted", "failed"), [(0, 0), (TICKS, -1073741820)])
def test_on_windows_a_refusal_leaves_the_wall_clock(
    monkeypatch: pytest.MonkeyPatch, booted: int, failed: int
) -> None:
    plant_windows(monkeypatch, booted=booted, failed=failed)

    assert is_wall_clock(SystemBootClock("win32"))


def test_on_windows_without_its_libraries_the_wall_clock_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> object:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "WinDLL", refuse, raising=False)
    assert is_wall_clock(SystemBootClock("win32"))
    assert is_wall_clock(SystemBootClock("win32", ask=lambda: str(TICKS)))

    monkeypatch.setattr(ctypes, "WinDLL", lambda _: object(), raising=False)
    assert is_wall_clock(SystemBootClock("win32"))
    assert is_wall_clock(SystemBootClock("win32", ask=lambda: str(TICKS)))


def test_a_python_without_ctypes_has_the_wall_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "ctypes", None)

    assert is_wall_clock(SystemBootClock("darwin"))
    assert is_wall_clock(SystemBootClock("win32"))
    assert is_wall_clock(SystemBootClock("win32", ask=lambda: str(TICKS)))


def test_on_windows_a_clock_that_fails_leaves_the_wall_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_windows(monkeypatch)
    monkeypatch.setattr(
        ctypes, "WinDLL", lambda _: Library("QueryUnbiasedInterruptTime", lambda _: 0), raising=False
    )

    assert is_wall_clock(SystemBootClock("win32", ask=lambda: str(TICKS)))
