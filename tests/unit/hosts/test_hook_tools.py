"""Before a tool runs: what a subagent must leave to its session is refused, and every doubt passes."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from passdown.core.hosts.subagents import find_coordination
from passdown.core.shell_commands import find_programs
from passdown.faces.cli.main import HookWork
from passdown.faces.hooks import quick
from passdown.hosts import HOSTS
from passdown.settings import FILE_NAME
from tests.looks import hands_on
from tests.support.commands import take_answer
from tests.support.gits import make_started

HOST_NAMES = [row.names[0] for row in HOSTS.rows]


class Caller:
    """A host that asks before it runs a tool."""

    def __init__(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Keep where it runs."""
        self.root = root
        self._monkeypatch = monkeypatch
        self._capsys = capsys

    @hands_on
    def __call__(self, host: str, tool: object, given: object, **told: object) -> dict[str, Any]:
        """Ask, and give the answer."""
        payload = {
            "hook_event_name": "PreToolUse",
            "session_id": "s-1",
            "cwd": str(self.root),
            "tool_name": tool,
            "tool_input": given,
            **told,
        }
        data = io.BytesIO(json.dumps(payload).encode())
        self._monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data, isatty=lambda: False))
        self._capsys.readouterr()
        assert quick.main(["--host", host], HookWork()) == 0
        return take_answer(self._capsys)

    def log(self) -> str:
        """Give what went wrong."""
        path = self.root / ".git" / "passdown" / "hooks.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Caller:
    """Give a way to ask, in a project whose owner agreed."""
    root = make_started(tmp_path / "project").folder
    (root / FILE_NAME).touch()
    return Caller(root, monkeypatch, capsys)


@pytest.mark.requirement("C84", "R206", "R207", "R208", "R209")
@pytest.mark.parametrize("host", HOST_NAMES)
@pytest.mark.parametrize("command", ["bd close bd-7 --reason done", "cd src && passdown handoff create"])
def test_a_subagent_that_coordinates_is_refused_and_told_what_to_return(
    ask: Caller, host: str, command: str
) -> None:
    answer = ask(host, "Bash", {"command": command}, agent_id="a-1", agent_type="general-purpose")

    (told,) = answer.values()
    assert (told["hookEventName"], told["permissionDecision"]) == ("PreToolUse", "deny")
    first, returned = told["permissionDecisionReason"].split("\n")
    program = "bd close" if "bd" in command else "passdown handoff"
    assert first.startswith(f"Passdown: `{program}` was not run: a subagent (general-purpose) ")
    assert '"success" or "failed"' in first
    assert '"close" or "update"' in first
    example = json.loads(returned)
    assert list(example) == ["status", "summary", "beadUpdates", "filesModified"]
    assert list(example["beadUpdates"][0]) == ["id", "action", "reason", "notes"]
    assert ask.log() == ""


@pytest.mark.requirement("C84")
@pytest.mark.parametrize("host", HOST_NAMES)
def test_the_agent_of_the_session_is_not_refused_and_a_subagent_may_read(ask: Caller, host: str) -> None:
    assert ask(host, "Bash", {"command": "bd close bd-7"}) == {}
    assert ask(host, "Bash", {"command": "bd show bd-7 && ls"}, agent_id="a-1") == {}
    assert ask(host, "Bash", {"command": "make test"}, agent_id="a-1") == {}
    assert ask(host, "Edit", {"file_path": "bd", "path": "bd"}, agent_id="a-1") == {}
    assert ask.log() == ""
    assert not (ask.root / "conductor").exists()


@pytest.mark.parametrize("host", HOST_NAMES)
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Bash", None),
        ("Bash", ["bd close"]),
        ("Bash", {"command": ["bd close"]}),
        ("Bash", {"command": "bd close 'unfinished"}),
        ("Tomorrow", {"command": "bd close x"}),
        (None, {"command": "bd close x"}),
        (3, "bd close x"),
    ],
)
def test_what_cannot_be_understood_passes(ask: Caller, host: str, tool: object, given: object) -> None:
    is_command = tool == "Bash" and given == {"command": "bd close 'unfinished"}

    assert bool(ask(host, tool, given, agent_id="a-1")) is is_command
    assert ask(host, tool, given, agent_id=["a-1"]) == {}
    assert ask.log() == ""


def test_a_tool_that_is_not_judged_loads_nothing(ask: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[object] = []

    def answer(_: HookWork, __: list[str], payload: dict[str, object], *___: object) -> int:
        judged.append(payload)
        return 0

    monkeypatch.setattr(HookWork, "answer", answer)

    ask("claude", "Bash", {"command": "bd close x"})
    ask("claude", "Bash", {"command": "make"}, agent_id="a-1")
    ask("claude", "Edit", {"file_path": "bd"}, agent_id="a-1")
    assert judged == []

    ask("claude", "Bash", {"command": "bd close x"}, agent_id="a-1")
    assert len(judged) == 1


def test_a_pause_and_a_project_that_is_not_set_up_refuse_nothing(
    ask: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = {"command": "bd close x"}
    with monkeypatch.context() as patch:
        patch.setenv("PASSDOWN_OFF", "1")
        assert ask("claude", "Bash", command, agent_id="a-1") == {}
    assert ask("claude", "Bash", command, agent_id="a-1")

    (ask.root / FILE_NAME).write_text("[view\n")  # the settings cannot be read
    assert ask("claude", "Bash", command, agent_id="a-1") == {}
    (ask.root / FILE_NAME).unlink()
    assert ask("claude", "Bash", command, agent_id="a-1") == {}


@pytest.mark.requirement("C84")
@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("bd close a", "bd close"),
        ("bd --json update a --notes x", "bd update"),
        ("bd --db /x/y.db create 'a b'", "bd create"),
        ("bd --db=/x/y.db sync", "bd sync"),
        ("FOO=1 timeout 5 /usr/local/bin/bd.exe close a", "bd close"),
        ("(cd a; bd dep add a b)", "bd dep"),
        ("if true; then bd close a; fi", "bd close"),
        ("while read x\ndo bd close $x\ndone", "bd close"),
        ("bash -lc 'cd x && bd close a'", "bd close"),
        ("uv run passdown claim bd-1", "passdown claim"),
        ("python3 -m passdown takeover bd-1", "passdown takeover"),
        ("true | passdown task list", "passdown task"),
        ("passdown close bd-1", "passdown close"),
        ("echo x > y; passdown handoff create", "passdown handoff"),
        ("passdown release --again shop-1a.2", "passdown release"),
        ("passdown release src/app.py t-1", "passdown release"),
        ("passdown release", ""),
        ("passdown release src/ README.md --session s-1", "passdown release"),
        ("passdown release src/ ./docs README.md *.py", ""),
        ("bd show a", ""),
        ("bd ready && bd list && bd blocked; bd version; bd help close", ""),
        ("bd --db /x/close show a", ""),
        ("bd", ""),
        ("bd --version", ""),
        ("bd --db", ""),
        ("bd close --help", ""),
        ("bd > out.txt", ""),
        ("bd 2>&1 | head", ""),
        ('bd "$VERB" a', ""),
        ("passdown claim -h", ""),
        ("passdown done 'closed bd-1'", ""),
        ("passdown", ""),
        ("echo bd close a", ""),
        ("echo 'bd close a'", ""),
        ("abd close a", ""),
        ("bash run.sh bd close", ""),
        ("bash -c", ""),
        ("python -m", ""),
        ("then", ""),
        ("sudo", ""),
        ("", ""),
    ],
)
def test_commands_that_coordinate_are_found_wherever_they_stand(command: str, found: str) -> None:
    assert find_coordination(command) == found


def test_programs_are_found_with_their_words() -> None:
    command = "cd 'a b' && env X=1 /bin/ls -l; sh -c \"git status\" | python -m json.tool x"

    assert list(find_programs(command)) == [
        ["cd", "a b"],
        ["ls", "-l"],
        ["git", "status"],
        ["json.tool", "x"],
    ]
