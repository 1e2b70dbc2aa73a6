"""Three sessions of one project, each in a checkout of its own: briefs name the others and their work."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stores.servers import MigratedDatabase
from tests.support.commands import Done, environment, run
from tests.support.gits import Project, make_started

TASKS = {"amber": "t-form", "birch": "t-docs", "cedar": "t-api"}
FILES = {"amber": "src/", "birch": "docs/", "cedar": "api/v1.py"}
READY = ("t-one", "t-two", "t-three")
_LOADED = re.compile(r"^import time:[^|]*\|[^|]*\|\s*([\w.]+)$", re.MULTILINE)


class Agent:
    """An agent that works in a checkout of its own, by commands, with a task and a file that it holds."""

    def __init__(self, folder: Path, name: str) -> None:
        """Start a session."""
        self.folder = folder
        self.name = name
        started = run("start", "--new", "--nickname", name, "--session", name, cwd=folder)
        assert started.code == 0, started
        self.agent = started.out.split()[0]

    def __call__(self, *words: str) -> Done:
        """Run a command in the checkout."""
        return run(*words, "--session", self.name, cwd=self.folder)

    def take(self) -> None:
        """Claim a task, and reserve a file."""
        assert self("claim", TASKS[self.name]).code == 0
        assert self("reserve", FILES[self.name]).code == 0

    def start_by_hook(self, session: str) -> tuple[str, list[str]]:
        """Let Claude Code start another session here; give what it is told, and what was loaded for it."""
        payload = {
            "hook_event_name": "SessionStart",
            "session_id": session,
            "cwd": str(self.folder),
            "source": "startup",
        }
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "passdown", "hook", "--host", "claude"],
            cwd=self.folder,
            env=environment(),
            input=json.dumps(payload).encode(),
            capture_output=True,
            check=True,
        )
        told = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
        return str(told), _LOADED.findall(done.stderr.decode())


def add_tasks(folder: Path) -> None:
    """Write down a task for each agent, and more of them, of which the last is not among the first three."""
    for task in (*TASKS.values(), *READY, "t-four"):
        assert run("task", "add", f"Title of {task}", "--id", task, cwd=folder).code == 0


def make_set_up(folder: Path, *commands: tuple[str, ...]) -> Project:
    project = make_started(folder)
    for words in (("init", "--yes"), *commands):
        assert run(*words, cwd=project.folder).code == 0
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=set up")
    return project


def check_brief(text: str, agents: list[Agent]) -> None:
    """Check that a brief has a line for each of these agents, with task and file, and the ready tasks."""
    for one in agents:
        (line,) = [
            line for line in text.splitlines() if line.startswith(f"({one.agent}, ") and "task" in line
        ]
        assert f"task {TASKS[one.name]}: Title of {TASKS[one.name]}" in line
        assert f"files: {FILES[one.name]}" in line
    ready = re.findall(r"^ready: `passdown claim (t-\w+)` > Title of (t-\w+)$", text, re.MULTILINE)
    assert ready == [(task, task) for task in READY]


@pytest.mark.requirement("C77", "C132")
def test_worktrees_of_one_clone_are_told_of_each_other(tmp_path: Path) -> None:
    project = make_set_up(tmp_path / "first")
    for name in ("second", "third"):
        project.git("worktree", "add", "--quiet", "-b", name, str(tmp_path / name))
    add_tasks(project.folder)
    folders = (project.folder, tmp_path / "second", tmp_path / "third")
    agents = [Agent(folder, name) for folder, name in zip(folders, TASKS, strict=True)]
    for one in agents:
        one.take()

    for one in agents:
        check_brief(one("brief").out, [other for other in agents if other is not one])
        told, _ = one.start_by_hook(f"new-{one.name}")
        check_brief(told, agents)


@pytest.mark.server
@pytest.mark.requirement("C77", "C132")
def test_clones_are_told_of_each_other_through_a_server(
    tmp_path: Path, database: MigratedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", database.url())
    project = make_set_up(tmp_path / "first", ("team", "init", "--yes"))
    for name in ("second", "third"):
        Project(folder=tmp_path).git("clone", "--quiet", "first", name)
    add_tasks(project.folder)
    folders = (project.folder, tmp_path / "second", tmp_path / "third")
    agents = [Agent(folder, name) for folder, name in zip(folders, TASKS, strict=True)]
    for one in agents:
        one.take()

    for one in agents:
        by_command = one("brief").out
        check_brief(by_command, [other for other in agents if other is not one])
        assert "(from the server, " not in by_command
        told, loaded = one.start_by_hook(f"new-{one.name}")
        check_brief(told, agents)
        assert re.search(r"^Other agents .* \(from the server, \d+ s ago\):$", told, re.MULTILINE)
        assert "passdown.services.coordination.team_input" in loaded
        assert not [name for name in loaded if name.startswith("psycopg")]

    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", "postgresql://127.0.0.1:9/passdown")
    away = agents[0]("brief")
    assert "cannot reach the coordination server (127.0.0.1:9)" in " ".join(away.err.split())
    check_brief(away.out, agents[1:])
    assert "(from the server, " in away.out
