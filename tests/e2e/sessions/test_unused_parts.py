"""A project with one agent prints nothing about the parts that it does not use."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.looks import hands_on
from tests.support.commands import environment
from tests.support.gits import Project, make_project

SESSION: Final = "5f0c4f6e-6f5e-4a53-9d1c-0d6b2f1f7a11"
UNUSED: Final = re.compile(
    r"test.first|\btdd\b|\bred phase|tracker|\bbeads?\b|\bbd\b|\bgates?\b|\bloops?\b|\bteams?\b|\bindex\b"
    r"|postgres|coordinat",
    re.IGNORECASE,
)
MOMENTS: Final[tuple[tuple[str, dict[str, object]], ...]] = (
    ("SessionStart", {"source": "startup", "model": "opus"}),
    ("UserPromptSubmit", {"prompt": "Make the login work"}),
    ("PostToolUse", {"tool_name": "Read", "tool_input": {"file_path": "src/app.py"}, "tool_response": {}}),
)
VERBS: Final = (
    ("goal", "People can log in"),
    ("now", "Write the login form"),
    ("decide", "store", "Keep sessions in Redis", "--because", "it expires them"),
    ("rule-out", "No token in a URL"),
    ("next", "Write the tests", "Update the docs"),
    ("ask", "How long does a login last?"),
    ("answer", "How long", "A day"),
    ("tell", "The form needs a label"),
    ("note", "The design is in Figma"),
    ("done", "Wrote the login form"),
    ("retract", "No token"),
    ("heartbeat",),
    ("publish",),
    ("status",),
    ("brief",),
    ("log",),
    ("task", "add", "Rate limits"),
    ("ready",),
    ("preflight",),
    ("claim",),
    ("reserve", "src/"),
    ("renew",),
    ("release", "src/"),
    ("inbox",),
    ("msg", "hello", "--to", "all"),
    ("handoff", "create"),
    ("handoff", "list"),
    ("synthesize",),
    ("view",),
    ("view", "verify"),
    ("check",),
    ("certify",),
    ("archive", "verify"),
    ("metrics",),
    ("pause",),
    ("unpause",),
    ("observe",),
    ("search", "redis"),
    ("search", "zebra"),
)
LAST: Final[tuple[tuple[str, dict[str, object]], ...]] = (
    ("PreCompact", {"trigger": "manual", "custom_instructions": ""}),
    ("Stop", {"stop_hook_active": False}),
    ("SessionEnd", {"reason": "other"}),
    ("SessionStart", {"source": "startup", "model": "opus", "session_id": SESSION.replace("1", "2")}),
)


@hands_on
def call(project: Project, *words: str, payload: str = "", **variables: str) -> str:
    """Run the command as a process, and return all that it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "passdown", *words],
        cwd=project.folder,
        env=environment(**variables),
        input=payload,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def live_a_day(project: Project, home: Path) -> Iterator[tuple[str, str]]:
    """Yield each hook and verb of a day in Claude Code, with what it prints."""
    variables = home / "variables"
    payload = {"session_id": SESSION, "transcript_path": str(home / "t.jsonl"), "cwd": str(project.folder)}

    def fire(moment: str, more: dict[str, object]) -> tuple[str, str]:
        text = json.dumps({**payload, "hook_event_name": moment, **more})
        return moment, call(project, "hook", payload=text, CLAUDE_ENV_FILE=str(variables))

    for moment, more in MOMENTS:
        yield fire(moment, more)
    name, _, session = variables.read_text(encoding="utf-8").strip().rpartition("=")
    for words in VERBS:
        yield " ".join(words), call(project, *words, **{name.removeprefix("export "): session})
    for moment, more in LAST:
        yield fire(moment, more)


@pytest.mark.requirement("R179")
def test_a_day_of_one_agent_prints_nothing_about_unused_parts(tmp_path: Path) -> None:
    project = make_project(tmp_path / "shop")
    project.write("src/app.py", "print('hello')\n")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=Start")

    printed = [("init", call(project, "init", "--yes")), *live_a_day(project, tmp_path)]

    assert not [name for name, text in printed if "passdown --help" in text]
    assert "Keep sessions in Redis" in dict(printed)["SessionStart"]
    found = [
        f"{name}: {line}"
        for name, text in printed
        for line in text.splitlines()
        if UNUSED.search(line) and not line.startswith("+")  # a rule for git, which init shows
    ]
    assert not found, "\n".join(found)
