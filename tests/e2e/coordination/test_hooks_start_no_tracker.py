"""Hooks never start the tracker: whatever a host calls, a `bd` that comes first and hangs is not run."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from passdown.hosts import HOSTS
from tests.support.gits import make_started
from tests.trackers.dying_bd import make_hanging

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="the tracker that would hang is a shell script"
)

PAYLOADS: Final = Path(__file__).parents[2] / "hosts" / "payloads"
SAID: Final = {
    "status": "success",
    "summary": "x",
    "beadUpdates": [{"id": "bd-1", "action": "close", "notes": "y"}],
}
SECONDS: Final = 60


def payloads(host: str) -> Iterator[Mapping[str, Any]]:
    """Give every recorded payload of a host, and those of the hook before a tool."""
    for name in (f"{host}.jsonl", f"{host}.tools.jsonl"):
        path = PAYLOADS / name
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        yield from (json.loads(line)["payload"] for line in lines)


def names() -> list[str]:
    return [row.names[0] for row in HOSTS.rows if (PAYLOADS / f"{row.names[0]}.jsonl").exists()]


class Traced:
    """A project with Beads, and a program of that name which says that it was started, and hangs."""

    def __init__(self, folder: Path) -> None:
        """Put the program before all others."""
        self.root = make_started(folder / "project").folder
        self.programs = folder / "programs"
        make_hanging(self.programs, self.root)
        self.transcript = folder / "session" / "events.jsonl"
        self.transcript.parent.mkdir()
        self.transcript.write_text("", encoding="utf-8")

    def run(self, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run the command as a host would."""
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [sys.executable, "-m", "passdown", *arguments],
            cwd=self.root,
            env={**os.environ, "PATH": path},
            input=given,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )

    def call(self, host: str, payload: Mapping[str, Any]) -> str:
        """Let a host call a hook about this project."""
        here = {"cwd": str(self.root), "transcript_path": str(self.transcript)}
        told = {
            **payload,
            **{name: value for name, value in here.items() if name in payload or name == "cwd"},
        }
        if "last_assistant_message" in payload or payload.get("hook_event_name") == "SubagentStop":
            told["last_assistant_message"] = json.dumps(SAID)
        done = self.run("hook", "--host", host, given=json.dumps(told))
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    @property
    def started(self) -> str:
        """What the program was started with."""
        path = self.programs / "started"
        return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.mark.requirement("C99", "C84", "C98")
@pytest.mark.parametrize("host", names())
def test_no_hook_starts_the_tracker_not_even_one_that_hangs(tmp_path: Path, host: str) -> None:
    traced = Traced(tmp_path)
    assert shutil.which("bd", path=str(traced.programs))
    recorded = list(payloads(host))
    first = recorded[0]
    ids = {"session_id": first["session_id"]}
    events = {one.get("hook_event_name", "SubagentStart") for one in recorded}
    assert {"SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "SessionEnd"} <= events
    assert {"SubagentStart", "SubagentStop"} <= events

    said = [traced.call(host, first)]
    # A task that is bound, and results that wait, are what later hooks could want to ask the tracker about.
    named = [{**one, **{name: ids[name] for name in ids if name in one}} for one in recorded]
    tool = {
        **ids,
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "bd close x"},
    }
    agent = {"agent_id": "a-1", "agent_type": "x", "parent_agent_id": ids["session_id"]}
    said += [traced.call(host, one) for one in (*named, tool, {**tool, **agent})]

    assert traced.started == ""
    assert "## Beads Rules (Subagent)" in "".join(said)
    assert "`bd close` was not run: a subagent (x)" in "".join(said)
