"""A change of what sessions share is done or not there, whatever call of it fails or is the last one."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import passdown
from passdown.engines.sqlite.coordination import LocalMachine, open_store
from passdown.engines.sqlite.mounts import MountKind
from passdown.engines.system import SystemClock
from passdown.ports.clock import BootTime
from passdown.records import record
from tests.faults.sessions.test_write_faults import strace

__all__ = ["strace"]

SOURCE = str(Path(passdown.__file__).parents[1])
REFUSED = 3
CALLS = ("pwrite64", "write", "fsync", "fdatasync", "ftruncate", "unlink", "flock", "openat")
# `chdir` marks where the change begins and ends; before it, the file is open and holds one change.
CHILD = """
import os, sys
from passdown.core.coordination.leases import Lease
from passdown.engines.coordination.transactions import LogRow
from passdown.engines.sqlite.coordination import LocalMachine, open_store
from passdown.engines.sqlite.mounts import MountKind
from passdown.engines.system import SystemClock
from passdown.errors import StorageError
from passdown.ports.clock import BootTime
class Boot:
    def read(self):
        return BootTime("boot-a", SystemClock().monotonic())
machine = LocalMachine(boot_clock=Boot(), clock=SystemClock(), is_running=lambda process: None)
path, mount = sys.argv[1:]
store = open_store(path, "local", machine, mount=MountKind(mount))
def change():
    with store.changing() as change:
        number = change.fence
        for name in range(40):
            lease = Lease(kind="path", name=f"{name}", session="s", fence=number, ttl=1.0, used=1.0)
            change.put_lease(lease)
        change.add_log(LogRow(number, f"op-{number}", 1.0, "s", "reserve", "x" * 9000, "{}"))
change()
code = 0
os.chdir("/")
try:
    change()
except StorageError as error:
    print(error.message)
    code = 3
os.chdir("/")
print("acknowledged" if code == 0 else "refused", flush=True)
os._exit(code)
"""


@record
class Outcome:
    """How a traced child ended."""

    code: int
    said: str
    trace: tuple[str, ...]

    def points(self) -> list[tuple[str, int]]:
        """Name the calls between the marks, each with its number among all calls of that name."""
        marks = [number for number, line in enumerate(self.trace) if line.startswith("chdir(")]
        begin, end = marks[0], marks[1]
        found, counts = [], dict.fromkeys(CALLS, 0)
        for number, line in enumerate(self.trace[:end]):
            if (match := re.match(r"([a-z0-9]+)\(", line)) and match[1] in counts:
                counts[match[1]] += 1
                if number > begin:
                    found.append((match[1], counts[match[1]]))
        return found


def run_traced(strace: str, folder: Path, mount: MountKind, *injections: str) -> Outcome:
    """Make two changes under the tracer."""
    folder.mkdir()
    log = folder / "trace"
    rules = [word for rule in injections for word in ("-e", rule)]
    child = [sys.executable, "-S", "-c", CHILD, str(folder / "passdown" / "c.sqlite"), mount.value]
    ended = subprocess.run(
        [strace, "-qq", "-o", str(log), "-e", f"trace=chdir,{','.join(CALLS)}", *rules, *child],
        capture_output=True,
        check=False,
        text=True,
        env={"PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1", "PATH": os.environ["PATH"]},
    )
    trace = tuple(log.read_text(encoding="utf-8", errors="replace").splitlines())
    return Outcome(code=ended.returncode, said=ended.stdout + ended.stderr, trace=trace)


class Boot:
    """The boot in which the child ran."""

    def read(self) -> BootTime:
        """Give the clock of the system."""
        return BootTime("boot-a", SystemClock().monotonic())


def count_changes(path: Path, mount: MountKind) -> int:
    """Look at the file as the next process does: it is whole, and so is each change in it."""
    machine = LocalMachine(boot_clock=Boot(), clock=SystemClock(), is_running=lambda _: None)
    store = open_store(str(path), "local", machine, mount=mount)
    with store.looking() as reading:
        position = reading.position()
        assert [row.position for row in reading.log_since(0, 9)] == list(range(1, position + 1))
        assert {lease.fence for lease in reading.leases("path")} == {position}
        assert len(reading.leases("path")) == 40
    with store.changing() as change:
        assert change.fence == position + 1
    store.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    return position


def each_point(
    strace: str, folder: Path, mount: MountKind, fault: str, check: Callable[[str, Path, Outcome], None]
) -> int:
    """Make the changes once unharmed, then once for each call of the second with the fault put there."""
    clean = run_traced(strace, folder / "clean", mount)
    assert (clean.code, clean.said) == (0, "acknowledged\n")

    def run(point: tuple[str, int]) -> None:
        call, number = point
        place = folder / f"{call}-{number}"
        outcome = run_traced(strace, place, mount, f"inject={call}:{fault}:when={number}")
        check(call, place / "passdown" / "c.sqlite", outcome)

    with ThreadPoolExecutor(max_workers=4) as pool:
        list(pool.map(run, clean.points()))
    return len(clean.points())


@pytest.mark.parametrize("mount", [MountKind.LOCAL, MountKind.UNKNOWN])
def test_a_kill_at_any_call_leaves_the_change_or_nothing_of_it(
    strace: str, tmp_path: Path, mount: MountKind
) -> None:
    def check(call: str, path: Path, outcome: Outcome) -> None:
        assert outcome.code == -signal.SIGKILL, (call, outcome.said)
        assert count_changes(path, mount) in {1, 2}, call

    assert each_point(strace, tmp_path, mount, "signal=SIGKILL", check) >= 8


@pytest.mark.parametrize("mount", [MountKind.LOCAL, MountKind.UNKNOWN])
@pytest.mark.parametrize("fault", ["ENOSPC", "EIO"])
def test_a_call_that_fails_leaves_the_change_or_nothing_of_it_and_never_lies(
    strace: str, tmp_path: Path, mount: MountKind, fault: str
) -> None:
    def check(call: str, path: Path, outcome: Outcome) -> None:
        changes = count_changes(path, mount)
        if outcome.code == 0:
            assert (changes, "acknowledged" in outcome.said) == (2, True), call
        else:
            may_be_kept = "may or may not hold the change" in outcome.said
            assert (outcome.code, changes == 1 or may_be_kept) == (REFUSED, True), (call, outcome.said)
            assert may_be_kept or "the coordination database cannot be used" in outcome.said, call

    assert each_point(strace, tmp_path, mount, f"error={fault}", check) >= 8
