"""A person at a real terminal beside two running agents: what they say is theirs, and both agents read it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.support.commands import environment, run
from tests.support.gits import make_started
from tests.support.terminals import Terminal

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs tmux and /proc"),
]

ADA: Final = "ada-lovelace-"


def _enter(folder: Path, host: str, session: str) -> None:
    """Let the hook of a host start a session, as a running host does."""
    told = {
        "hook_event_name": "SessionStart",
        "session_id": session,
        "cwd": str(folder),
        "source": "startup",
        "transcript_path": "",
    }
    subprocess.run(
        [sys.executable, "-m", "passdown", "hook", "--host", host],
        cwd=folder,
        env=environment(),
        input=json.dumps(told).encode(),
        capture_output=True,
        check=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give a project of Ada's in which two agents work on a loop."""
    project = make_started(tmp_path / "project")
    project.git("config", "user.name", "Ada Lovelace")
    assert run("init", "--yes", cwd=project.folder).code == 0
    _enter(project.folder, "claude", "c-1")
    _enter(project.folder, "codex", "x-1")
    assert run("ask", "Which store?", "--session", "c-1", cwd=project.folder).code == 0
    assert run("loop", "open", "habits", "ideation", cwd=project.folder).code == 0
    turn = run("loop", "append", "habits", "ideation", "Streaks.", "--session", "c-1", cwd=project.folder)
    assert turn.code == 0, turn
    return project.folder


def _brief(folder: Path, session: str) -> str:
    done = run("brief", "--session", session, cwd=folder)
    assert done.code == 0, done
    return " ".join(done.out.split())


@pytest.mark.requirement("C122", "C51", through="command")
def test_a_person_speaks_beside_two_agents_and_both_read_it_under_their_name(folder: Path) -> None:
    with Terminal(folder, {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}) as terminal:
        screens = [
            terminal.run(line, "$ ")
            for line in (
                "passdown tell 'Keep it simple'",
                "passdown answer 'Which store' 'Redis'",
                "passdown decide port 'Use 8080' --because 'the proxy expects it'",
                "passdown loop feedback habits ideation 'No penalty'",
                "passdown feedback",
            )
        ]
    briefs = [_brief(folder, name) for name in ("c-1", "x-1")]

    assert not [one for one in screens if "several" in one], screens
    assert "Keep it simple" in screens[-1]
    for brief in briefs:
        for said in ("Keep it simple", "Which store? → Redis", "port: Use 8080", "No penalty"):
            assert said in brief
            before = brief.partition(said)[0].rpartition("(")[2]
            assert before.startswith(ADA), (said, before, brief)
