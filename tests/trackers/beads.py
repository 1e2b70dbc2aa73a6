"""Beads for tests: the builds that `PASSDOWN_BD` names, and a stand-in with their quirks."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Final

import pytest

from passdown.engines.files.locks import Gate
from passdown.engines.programs import SystemPrograms
from passdown.engines.system import SystemClock, pause
from passdown.ports.coordination import Coordination
from passdown.ports.programs import ProgramResult, Programs
from passdown.ports.tracker import Tracker
from passdown.testing.conformance.tracker.bench import TrackerBench
from passdown.trackers.beads.builds import Binary, probe
from passdown.trackers.beads.calls import Calls, Installation
from passdown.trackers.beads.holdings import Holdings
from passdown.trackers.beads.tracker import Beads
from passdown.trackers.board import Board
from tests.support.sessions import NOON, make_coordination
from tests.trackers import fake_bd
from tests.trackers.fake_bd import FakeBd

BUILDS: Final = tuple(os.environ.get("PASSDOWN_BD_VERSIONS", " ".join(fake_bd.BUILDS)).split())
"""The builds that are tried themselves; `PASSDOWN_BD_VERSIONS` names fewer."""
_FOLDER: Final = os.environ.get("PASSDOWN_BD", "")
"""Read before the guards of `conftest.py` take our variables away."""
_INIT: Final = ("init", "-q", "--stealth", "-p", "tp", "--skip-hooks")
_QUIET: Final = {
    "0.44.0": ("--skip-merge-driver",),
    "1.0.0": ("--skip-agents", "--non-interactive"),
    "1.3.0": ("--skip-agents", "--non-interactive", "--role", "maintainer"),
}


def find_bd(version: str) -> Path:
    """Return a build of `bd`; skip the test without it, which fails in CI."""
    program = Path(_FOLDER, f"bd-{version}")
    if not _FOLDER or not program.exists():
        pytest.skip(f"bd {version} is not in the folder that PASSDOWN_BD names")
    return program


def list_init_words(version: str) -> Sequence[str]:
    """Return what makes a build create a database and nothing else."""
    return (*_INIT, *_QUIET[version])


def environment(folder: Path) -> dict[str, str]:
    """Return the environment in which a build is called, as the product makes it."""
    quiet = ("BEADS_NO_DAEMON", "BD_DISABLE_METRICS", "BD_DISABLE_EVENT_FLUSH", "BD_NO_REMOTE_ADOPT")
    return {**os.environ, **dict.fromkeys(quiet, "1"), "BEADS_DIR": str(folder)}


def make_database(version: str, root: Path, template: Path, program: str = "") -> Path:
    """Make the database of a project, once for all tests: making one takes up to four seconds."""
    if not template.exists():
        program = program or str(find_bd(version))  # skips the test if there is none
        made = template.with_name(f"{template.name}-made")
        made.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(made)], check=True)
        variables = {name: text for name, text in environment(made).items() if name != "BEADS_DIR"}
        command = [program, *list_init_words(version)]
        subprocess.run(command, cwd=made, env=variables, stdin=subprocess.DEVNULL, check=True)
        made.rename(template)
    shutil.copytree(template / ".beads", root / ".beads", symlinks=True)
    return root / ".beads"


class BoardBench(TrackerBench):
    """The board over an engine."""

    def __init__(self, shared: Coordination, now: datetime = NOON) -> None:
        """Keep the engine, and its time."""
        self._shared = shared
        self._now = now

    @property
    def tracker(self) -> Tracker:
        """The board."""
        return Board(self._shared)

    @property
    def coordination(self) -> Coordination:
        """The engine."""
        return self._shared

    @property
    def now(self) -> datetime:
        """The time of the engine."""
        return self._now


class BenchClock(SystemClock):
    """A clock whose date a test sets, and whose seconds pass."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        """Keep where the date is found."""
        self._now = now

    def now(self) -> datetime:
        """Give the date."""
        return self._now()


class BeadsBench(BoardBench):
    """Beads, called in some way, with leases in memory."""

    def __init__(
        self,
        programs: Programs,
        lock: Callable[[float], AbstractContextManager[None]] = lambda _: nullcontext(),
        name: str = "bd",
    ) -> None:
        """Ask the build what it can do."""
        super().__init__(make_coordination())
        self.programs = programs
        self.clock = NOON
        self.build = probe(programs, Binary(name, 0, 0))
        self._lock, self._name = lock, name
        self.limits: list[float] = []
        self.calls = self.make_calls()

    def make_calls(self) -> Calls:
        """Begin to call `bd` as the next command does."""
        clock = BenchClock(lambda: self.clock)
        return Calls(Installation(self._name, self.build, self._limit, self._lock, pause, clock))

    def _limit(self, seconds: float) -> Programs:
        self.limits.append(seconds)
        return self.programs

    @property
    def tracker(self) -> Tracker:
        """Beads."""
        return Beads(self.calls, Holdings(lambda: self._shared, 600.0))


class FakePrograms:
    """Runs the stand-in in this process."""

    def __init__(self, version: str, folder: Path) -> None:
        """Keep its tasks in a folder."""
        self._bd = FakeBd(version, folder)

    def find(self, name: str) -> str:
        """Return the name."""
        return name

    def run(self, command: Sequence[str]) -> ProgramResult:
        """Run a command."""
        return self._bd.run([*command[1:]])


def make_real(version: str, folder: Path, template: Path) -> BeadsBench:
    """Make a project whose tasks a real build keeps."""
    root = folder / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    place = make_database(version, root, template)
    programs = SystemPrograms(str(root), seconds=60.0, variables=environment(place), separate=True)
    lock = folder / "bd.lock"
    return BeadsBench(programs, Gate(str(lock)).passed, str(find_bd(version)))
