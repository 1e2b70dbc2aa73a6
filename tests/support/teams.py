"""A repository in which sessions work together by commands, with a clock that a test moves."""

import gc
import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from passdown import layout
from passdown.core.sessions.session_facts import NO_PROCESS, Account, HostProcess
from passdown.engines.process import SystemProcesses
from passdown.engines.system import SystemBootClock
from passdown.ports.clock import BootTime
from tests.looks import hands_on
from tests.support.commands import Answer, Done
from tests.unit.sessions.test_ordinary_sessions import Day

AMBER = HostProcess(101, "1", "boot-1")
BIRCH = HostProcess(202, "1", "boot-1")


AWAY = "away-"


def break_database(path: Path) -> None:
    """Put something else in the place of a database; its parts are kept under other names.

    The log of its changes is moved, too: nobody can restore it.
    """
    gc.collect()  # commands of this process have it open
    log = path.parent / layout.COORDINATION_CHANGES
    for part in (*path.parent.glob(f"{path.name}*"), *([log] if log.exists() else [])):
        part.rename(part.with_name(f"{AWAY}{part.name}"))
    path.write_bytes(b"this is no database" * 100)


class Team(Day):
    """A `Day` with sessions that coordinate; moving the clock moves that of the boot too."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Begin with a boot that began long ago."""
        super().__init__(folder, monkeypatch, capsys)
        self.boot = BootTime("boot-1", 1_000.0)
        monkeypatch.setattr(SystemBootClock, "read", lambda _: self.boot)

    @hands_on
    def pass_time(self, *, quiet: float = False, **span: float) -> None:
        """Move both clocks on; some session was heard meanwhile, unless it was quiet."""
        before = self.at
        super().pass_time(**span)
        seconds = (self.at - before).total_seconds()
        self.boot = self.boot._replace(seconds=self.boot.seconds + seconds)
        if not quiet:
            self._hear(seconds)

    def _hear(self, seconds: float) -> None:
        """Move the project's newest sign of life on, where there is one; one that is locked stays."""
        path = self.project.folder / ".git/passdown/coordination.sqlite"
        if path.exists():
            with (
                suppress(sqlite3.Error),
                closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection,
            ):
                connection.execute("UPDATE signs SET newest = newest + ?", (seconds,))

    def join(self, *names: str) -> None:
        """Start sessions, each called by its name."""
        for name in names:
            assert self.command("start", "--new", "--session", name, "--nickname", name).code == 0

    def run(self, session: str, *arguments: str) -> Done:
        """Let a session call a command."""
        return self.command(*arguments, "--session", session)

    @hands_on
    def ask(self, session: str, *arguments: str) -> dict[str, Any]:
        """Let a session call a command, and give its answer."""
        return Answer(json.loads(self.run(session, *arguments, "--json").out))

    @hands_on
    def add(self, title: str, *options: str) -> str:
        """Add a task; give its id."""
        return str(json.loads(self.command("task", "add", title, *options, "--json").out)["task"]["task"])

    def account(self, name: str) -> Account:
        """Give the session that has an id of a host; one that runs comes first."""
        found = [one for one in self.host.accounts() if name in one.host_sessions]
        return min(found, key=lambda one: one.ended_at is not None)

    def agent(self, session: str) -> str:
        """Give the agent of a session."""
        return next(one.agent for one in self.host.accounts() if session in one.host_sessions)


class Hosts(Team):
    """A team whose sessions run in hosts, with processes that a test ends."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Begin with a project that is set up, and no session."""
        super().__init__(folder, monkeypatch, capsys)
        (folder / "passdown.toml").touch()
        self.database = folder / ".git/passdown/coordination.sqlite"
        self.alive = {AMBER, BIRCH}
        monkeypatch.setattr(SystemProcesses, "is_alive", lambda _, process: self.is_alive(process))

    def is_alive(self, process: HostProcess) -> bool | None:
        """Tell whether a process runs, unless it is unknown."""
        return None if process == NO_PROCESS else process in self.alive

    def begin(self, name: str, process: HostProcess, source: str = "startup") -> dict[str, Any]:
        """Let a host begin a session, or go on with it."""
        self.monkeypatch.setattr(SystemProcesses, "find_host", lambda _: process)
        return self.host.call("SessionStart", session_id=name, source=source)

    def break_engine(self) -> None:
        """Put something else in the place of the database."""
        break_database(self.database)

    def mend_engine(self) -> None:
        """Put the database back."""
        for path in self.database.parent.glob(f"{AWAY}*"):
            path.replace(path.with_name(path.name.removeprefix(AWAY)))


def context(answer: dict[str, Any]) -> str:
    """Give what a hook tells the model."""
    text: str = answer["hookSpecificOutput"]["additionalContext"]
    return text
