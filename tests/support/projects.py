"""Projects with events, for tests of what is made of them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from passdown.core.formats.events import Event, render_event
from passdown.core.ids import event_file_name
from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.core.times import parse_instant
from passdown.engines.process import SystemProcesses
from passdown.engines.system import SystemClock
from passdown.records import replace
from passdown.services.log.events import name_event
from passdown.services.workspace.workspaces import NO_LIMITS, ReadLimits, Workspace
from passdown.settings import Settings
from passdown.wiring.workspaces import Outside, open_workspace
from tests.support.commands import Caller
from tests.support.gits import Project, make_started

EVENTS: Final = "thoughts/shared/handoffs/events"
VIEW: Final = "thoughts/shared/handoffs/current.md"
LOCAL: Final = ".conductor/current.md"
ARCHIVE: Final = "thoughts/shared/handoffs/archive"


def make_event(ts: str, agent: str = "toast", **said: object) -> Event:
    """Make an event as we write them: with the id of what it says."""
    at = parse_instant(ts)
    assert at is not None
    event = Event(ts=at, agent=agent, branch="main", type="session_end", reason="clear")
    return name_event(replace(event, **said))


def open_checkout(root: Path, settings: Settings, limits: ReadLimits = NO_LIMITS) -> Workspace:
    """Open a checkout with the environment of the test."""
    return open_workspace(root, settings, Outside(variables=os.environ), limits)


def put(folder: Path, path: str, text: str) -> Path:
    """Write a file with its folders, to the byte."""
    full = folder / path
    full.parent.mkdir(parents=True, exist_ok=True)
    full.write_bytes(text.encode())
    return full


def put_event(folder: Path, ts: str, agent: str = "toast", **said: object) -> Event:
    """Write an event where a session would."""
    event = make_event(ts, agent, **said)
    assert event.ts is not None
    put(folder, f"{EVENTS}/{event_file_name(event.ts, agent)}", render_event(event))
    return event


def listing(folder: Path) -> Mapping[str, bytes]:
    """Give every file of a folder but git's, by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def make_january(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Project:
    """Make a repository with a commit that is set up, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    project = make_started(folder)
    project.write("passdown.toml", "")
    return project


def call_at_noon(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> Caller:
    """Give a way to call the command in a folder, at a noon in January, where nobody knows processes."""
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return Caller(monkeypatch, capsys, folder)


def stop_clock(monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    """Let the machine's clock stand still."""
    instant = parse_instant(at)
    assert instant is not None
    monkeypatch.setattr(SystemClock, "now", lambda _: instant)
