"""A plugin whose program is not there says so once in a session, and is quiet at every other event."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from passdown.core.hosts.installs import command_line, find_called, first_word, hook_line, split_line
from passdown.engines.user_folders import read_plugin
from passdown.hosts.plugins import guard_line

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows is given a line without a shell")

EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "Stop",
    "PreCompact",
    "SubagentStart",
    "SubagentStop",
    "SessionEnd",
)
SHELLS = [one for one in ("sh", "bash", "dash", "zsh", "fish") if shutil.which(one)]


def read_lines() -> dict[str, str]:
    """Give what the plugin runs at each event, as a marketplace gives it to hosts."""
    hooks = json.loads(read_plugin()["hooks/hooks.json"])["hooks"]
    return {event: hooks[event][0]["hooks"][0]["command"] for event in EVENTS}


def run(line: str, payload: object, path: str, shell: str = "sh", **variables: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [shutil.which(shell) or shell, "-c", line],
        input=json.dumps(payload),
        env={"PATH": path, "HOME": path, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Give a folder of programs without ours."""
    for name in ("sh", "tr"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    return str(tmp_path)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("variable", "member"), [("X", "systemMessage"), ("COPILOT_CLI", "additionalContext")]
)
def test_one_line_is_said_at_the_start_and_nothing_else(
    path: str, shell: str, variable: str, member: str
) -> None:
    said: list[str] = []
    for event, line in read_lines().items():
        for source in ("startup", "compact", "resume") if event == "SessionStart" else ("",):
            payload = {"hook_event_name": event, "source": source, "prompt": '"source":"startup"'}
            code, out, err = run(line, payload, path, shell, **{variable: "1"})
            assert (code, err) == (0, "")
            said += [out] if out else []

    (told,) = said
    assert list(json.loads(told)) == [member]
    assert "uv tool install passdown" in json.loads(told)[member]


@pytest.mark.parametrize("name", ["passdown", "a b/passdown", 'a$b"c`d/passdown'])
def test_a_program_that_is_there_is_called_with_the_payload(path: str, tmp_path: Path, name: str) -> None:
    program = tmp_path / "bin" / name
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text('#!/bin/sh\necho "$*"\nread -r line\necho "$line"\n')
    program.chmod(0o755)
    line = guard_line(hook_line(command_line([str(program)], "linux"), "claude"))

    assert run(line, {"source": "startup"}, path) == (0, 'hook --host claude\n{"source": "startup"}\n', "")
    assert split_line(find_called(line)) == (str(program), "hook", "--host", "claude")
    program.unlink()
    code, out, err = run(line, {"source": "startup"}, path)
    assert (code, err) == (0, "")
    assert "not installed" in json.loads(out)["systemMessage"]


def test_a_line_that_cannot_be_quoted_stays_as_it_is() -> None:
    line = hook_line(command_line(["/it's/passdown"], "linux"), "claude")

    assert guard_line(line) == line
    assert find_called(line) == line
    assert guard_line("") == ""
    assert first_word("") == ""
    assert os.path.basename(first_word("/x/passdown hook")) == "passdown"
