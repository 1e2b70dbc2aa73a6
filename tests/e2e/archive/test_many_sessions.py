"""What remains of sessions that ended: journals, events and records, and nothing else for each of them."""

import io
import json
import os
import re
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from passdown.engines.system import SystemClock
from passdown.faces.cli.main import HookWork
from passdown.faces.hooks import quick
from passdown.settings import FILE_NAME
from passdown.wiring import ended_files
from tests.looks import hands_on
from tests.proof import proof_count
from tests.support.commands import Caller
from tests.support.gits import make_started

SESSIONS: Final = proof_count(fast=30, ci=200, long=1_000)
_FEW: Final = 36
_DAYS: Final = 60
_KEPT: Final = ("journal", "events", "archive", "objects", "cache", "logs", "processed_handoffs")
"""Folders that hold what sessions said, and those of git."""
_NAMES: Final = re.compile(r"[0-9a-f]{6,}|[0-9]+")


class Team:
    """A clone in which one session follows another, some hours later."""

    def __init__(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Begin long ago, without sessions."""
        self.root = root
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self._patch = monkeypatch
        self._call = Caller(monkeypatch, capsys, root)
        self._number = 0
        monkeypatch.setattr(SystemClock, "now", lambda _: self.now)
        self._hook("99999999-0000-4000-8000-999999999999", "SessionStart", source="startup")  # it runs on

    @hands_on
    def _hook(self, session: str, event: str, **told: object) -> None:
        transcript = str(self.root.parent / "transcript.jsonl")
        payload = {"hook_event_name": event, "session_id": session, "cwd": str(self.root)}
        data = io.BytesIO(json.dumps({**payload, "transcript_path": transcript, **told}).encode())
        self._patch.setattr(sys, "stdin", SimpleNamespace(buffer=data, isatty=lambda: False))
        assert quick.main([], HookWork()) == 0

    def live(self) -> None:
        """Let a session start, work, be compacted, be written to, and end."""
        self._number += 1
        session = f"{self._number:08d}-0000-4000-8000-{self._number:012d}"
        self._hook(session, "SessionStart", source="startup")
        self._hook(session, "PreCompact", trigger="auto")
        if self._number % 3:
            self._hook(session, "SessionEnd", reason="logout")
        else:
            self._say(session, "done", f"part {self._number}")
            self._say(session, "reserve", f"src/{self._number % 9}/")
            self._hook(session, "Stop")
            self._say(session, "end")

    def _say(self, session: str, *words: str) -> None:
        done = self._call(*words, "--session", session)
        assert done.code == 0, done

    def pass_time(self, apart: timedelta) -> None:
        """Let time pass; what was written just now was written before that."""
        stamp = self.now.timestamp()
        for folder in (".git/passdown", ".conductor", "conductor/sessions/active"):
            for place, below, names in os.walk(self.root / folder):
                below[:] = [name for name in below if name not in {"journal", "cache", "coordination"}]
                for path in (Path(place), *(Path(place) / name for name in names)):
                    is_new = (
                        not path.name.startswith("coordination.") and path.stat().st_mtime > stamp + 86_400
                    )
                    if is_new:
                        os.utime(path, (stamp, stamp))
        self.now += apart

    def count(self) -> Counter[str]:
        """Count files and folders by their names without ids, except those of journals and the log."""
        found: Counter[str] = Counter()
        for place, below, names in os.walk(self.root):
            below[:] = [name for name in below if name not in _KEPT]
            for name in (*below, *names):
                path = os.path.relpath(os.path.join(place, name), self.root)
                found[_NAMES.sub("#", path)] += 1
        return found


@pytest.fixture
def team(in_memory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a clone whose owner agreed."""
    folder = make_started(in_memory / "project").folder
    (folder / FILE_NAME).touch()
    return Team(folder, monkeypatch, capsys)


def find_grown(team: Team, sessions: int) -> dict[str, tuple[int, int]]:
    """Return the names of which there are more after all sessions than after half of them."""
    counts: list[Counter[str]] = []
    for _ in range(2):
        for _ in range(sessions // 2):
            team.live()
            team.pass_time(timedelta(days=_DAYS / sessions))
        counts.append(team.count())
    before, after = counts
    return {name: (before[name], count) for name, count in after.items() if count > before[name] + 3}


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C2", through="hook")
def test_ended_sessions_leave_no_files_but_what_they_said(team: Team) -> None:
    assert find_grown(team, SESSIONS) == {}


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_files_of_sessions_are_found_where_none_is_deleted(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended_files, "delete_of_ended", lambda *_: None)

    grown = find_grown(team, _FEW)

    assert {*grown} >= {
        ".conductor/session-state_claude-#.json",
        ".git/passdown/outbox/s-#.lock",
        ".git/passdown/signals/#-#-#-#-#",
        "conductor/sessions/active/claude-#",
    }
