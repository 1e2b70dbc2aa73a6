"""A repository in which sessions work together by commands, with a clock that a test moves."""

import json
from pathlib import Path
from typing import Any

import pytest

from passdown.engines.boot import SystemBootClock
from passdown.ports.clock import BootTime
from tests.commands import Done
from tests.unit.test_ordinary_sessions import Day


class Team(Day):
    """A `Day` with sessions that coordinate; moving the clock moves that of the boot too."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Begin with a boot that began long ago."""
        super().__init__(folder, monkeypatch, capsys)
        self.boot = BootTime("boot-1", 1_000.0)
        monkeypatch.setattr(SystemBootClock, "read", lambda _: self.boot)

    def pass_time(self, **span: float) -> None:
        """Move both clocks on."""
        before = self.at
        super().pass_time(**span)
        self.boot = self.boot._replace(seconds=self.boot.seconds + (self.at - before).total_seconds())

    def join(self, *names: str) -> None:
        """Start sessions, each called by its name."""
        for name in names:
            assert self.command("start", "--new", "--session", name, "--nickname", name).code == 0

    def run(self, session: str, *arguments: str) -> Done:
        """Let a session call a command."""
        return self.command(*arguments, "--session", session)

    def ask(self, session: str, *arguments: str) -> dict[str, Any]:
        """Let a session call a command, and read its answer."""
        answer: dict[str, Any] = json.loads(self.run(session, *arguments, "--json").out)
        return answer

    def add(self, title: str, *options: str) -> str:
        """Add a task; give its id."""
        return str(json.loads(self.command("task", "add", title, *options, "--json").out)["task"]["task"])

    def agent(self, session: str) -> str:
        """Give the agent of a session."""
        return next(one.agent for one in self.host.accounts() if session in one.host_sessions)
