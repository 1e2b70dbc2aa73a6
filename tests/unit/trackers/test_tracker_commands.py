"""The tracker's commands that an agent ran by itself: seen in the transcript, and the session is bound."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from passdown.core.formats.journal import Scope
from passdown.core.hosts.tracker_commands import CLAIMED, LEFT, find_task_changes, find_verbs
from passdown.core.kinds import FactKind
from passdown.faces.cli.main import HookWork
from passdown.faces.hooks import quick
from passdown.services.sessions.journals import read_accounts
from passdown.settings import FILE_NAME, Settings
from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import open_checkout


@pytest.mark.requirement("R34", "R35", "C98")
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("bd update bd-1 --claim", [("bd-1", CLAIMED)]),
        ("bd update bd-1 --status in_progress --json", [("bd-1", CLAIMED)]),
        ("bd update bd-1 --status=in_progress", [("bd-1", CLAIMED)]),
        ("bd update bd-1 -s 'in_progress'", [("bd-1", CLAIMED)]),
        ("bd --actor me --json update bd-1 bd-a3f.2 --claim", [("bd-1", CLAIMED), ("bd-a3f.2", CLAIMED)]),
        ("cd sub && /opt/bin/bd update my-app-x1 --claim && bd show my-app-x1", [("my-app-x1", CLAIMED)]),
        ("bash -lc 'bd close bd-1'", [("bd-1", LEFT)]),
        ("bd close bd-1 --reason 'see bd-2' -r bd-3", [("bd-1", LEFT)]),
        ("bd update bd-1 --status closed", [("bd-1", LEFT)]),
        ("bd update bd-1 --status open --assignee ''", [("bd-1", LEFT)]),
        ("bd unclaim bd-1", [("bd-1", LEFT)]),
        ("bd update bd-1 --notes 'was bd-2' --title bd-3", []),
        ("bd update bd-1 --status blocked", []),
        ("bd show bd-1", []),
        ("bd ready", []),
        ("bd", []),
        ("bd close $ID", []),
        ("bd close bd-1 || true", []),
        ("bd close bd-1 | tail -1", []),
        ("bd close bd-1; ls", []),
        ("echo bd close bd-1", []),
        ("make build", []),
    ],
)
def test_what_a_command_did_to_tasks_is_read(command: str, expected: list[tuple[str, str]]) -> None:
    assert [tuple(one) for one in find_task_changes(command, 0, "")] == expected
    assert list(find_task_changes(command, 1, "")) == []
    assert list(find_task_changes(command, None, "")) == []


def test_a_task_that_was_refused_with_exit_code_0_is_not_claimed() -> None:
    output = "Error claiming bd-2: already claimed by alice\n✓ Updated issue: bd-1\n"

    (found,) = find_task_changes("bd update bd-1 bd-2 --claim", 0, output)

    assert found == ("bd-1", CLAIMED)


def test_the_first_ready_task_is_the_one_that_was_printed() -> None:
    command = "bd ready --claim --json"

    assert [one.task for one in find_task_changes(command, 0, '{\n "id": "bd-7", "title": "x"}')] == ["bd-7"]
    assert list(find_task_changes(command, 0, "")) == []
    assert list(find_task_changes(command, 0, '{"id": "7"}')) == []


def test_verbs_are_named_without_their_arguments() -> None:
    command = "cd x && bd --db a.db close bd-1 -r secret; timeout 5 bd ready | head; bd --help; ls bd"

    assert list(find_verbs(command)) == ["bd close", "bd ready"]


# --- with the transcript of each host ---------------------------------------------------------------


def claude(number: int, command: str, code: int) -> list[dict[str, Any]]:
    name = f"toolu_{number}"
    block = {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}
    text = f"Exit code {code}\nno" if code else "ok"
    told = {"type": "tool_result", "tool_use_id": name, "content": text, "is_error": bool(code)}
    return [
        {"type": "assistant", "message": {"content": [block]}},
        {"type": "user", "message": {"content": [told]}, "toolUseResult": {}},
    ]


def codex(number: int, command: str, code: int) -> list[dict[str, Any]]:
    item = {
        "type": "CommandExecution",
        "id": f"call_{number}",
        "command": ["/bin/bash", "-lc", command],
        "aggregated_output": "ok",
        "exit_code": code,
    }
    return [{"timestamp": "t", "type": "event_msg", "payload": {"type": "item_completed", "item": item}}]


def copilot(number: int, command: str, code: int) -> list[dict[str, Any]]:
    name = f"call_{number}"
    begun = {"toolCallId": name, "toolName": "bash", "arguments": {"command": command}}
    ended = {"toolCallId": name, "success": True, "shellExecution": {"exitCode": code}}
    return [
        {"type": "tool.execution_start", "data": begun},
        {"type": "tool.execution_complete", "data": ended},
    ]


TONGUES = {"claude": claude, "codex": codex, "copilot": copilot}


class Turns:
    """A host that writes what its agent ran, and calls at the end of the turn."""

    def __init__(
        self, host: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Start a session."""
        self.host = host
        self.root = root
        self.transcript = root.parent / "session" / "events.jsonl"
        self.transcript.parent.mkdir()
        self.transcript.touch()
        self.command = Caller(monkeypatch, capsys, root)
        self._monkeypatch = monkeypatch
        self._count = 0
        self.call("SessionStart", source="startup")

    def call(self, event: str, **told: object) -> None:
        """Call a hook."""
        usual = {"session_id": "s-1", "cwd": str(self.root), "transcript_path": str(self.transcript)}
        data = io.BytesIO(json.dumps({"hook_event_name": event, **usual, **told}).encode())
        self._monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data, isatty=lambda: False))
        assert quick.main(["--host", self.host], HookWork()) == 0

    def run(self, *commands: str, code: int = 0) -> None:
        """Let the agent run commands in one turn."""
        with self.transcript.open("a", encoding="utf-8") as file:
            for command in commands:
                self._count += 1
                for line in TONGUES[self.host](self._count, command, code):
                    file.write(json.dumps(line, separators=(",", ":")) + "\n")
            if self.host == "copilot":  # it writes its lines late, and this one last
                file.write('{"type":"hook.start","data":{"hookType":"agentStop"}}\n')
        self.call("Stop")

    @property
    def task(self) -> str:
        """The task that the session works on."""
        (account,) = read_accounts(open_checkout(self.root, Settings()), Scope.ALL)
        return account.task


@pytest.fixture(params=TONGUES)
def turns(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Turns:
    """Give a session of each host."""
    root = make_started(tmp_path / "project").folder
    (root / FILE_NAME).touch()
    return Turns(request.param, root, monkeypatch, capsys)


@pytest.mark.requirement("R34", "R35", "C98")
def test_an_agent_that_calls_the_tracker_itself_is_bound(turns: Turns) -> None:
    turns.command("track", "bind", "parser_20260111")

    turns.run("bd ready --json", "bd update bd-1 --claim --json")
    assert turns.task == "bd-1"
    status = json.loads(turns.command("status", "--json").out)
    assert status["sessions"][0]["task"] == "bd-1"
    ledger = (turns.root / status["sessions"][0]["ledger"]).read_text(encoding="utf-8")
    assert "bound_bead: bd-1" in ledger

    turns.run("bd update bd-2 --claim", code=1)
    turns.run("bd close bd-9")
    assert turns.task == "bd-1"

    turns.run("bd close bd-1 --reason completed")
    (account,) = read_accounts(open_checkout(turns.root, Settings()), Scope.ALL)
    assert (account.task, account.track) == ("", "parser_20260111")

    turns.run("bd update bd-1 --claim --json")
    assert turns.task == "bd-1"


@pytest.mark.requirement("C98")
def test_each_call_by_hand_is_counted(turns: Turns) -> None:
    turns.run("bd update bd-1 --claim", "bd close bd-1", "make")
    turns.run("bd close bd-1")

    told = json.loads(turns.command("metrics", "--json").out)

    assert told["counts"] == {"manual_bd": 3}
    assert told["manual_commands"] == [
        {"command": "bd close", "count": 2},
        {"command": "bd update", "count": 1},
    ]


def test_a_transcript_that_is_read_again_binds_nothing_again(turns: Turns) -> None:
    turns.run("bd update bd-1 --claim", "bd update bd-1 --status in_progress", "bd close bd-1")
    name = turns.transcript.name if turns.host == "copilot" else "other.jsonl"
    copy = turns.transcript.parent.parent / "copied" / name
    copy.parent.mkdir()
    copy.write_bytes(turns.transcript.read_bytes())
    turns.transcript = copy

    turns.call("Stop")

    assert turns.task == ""
    (account,) = read_accounts(open_checkout(turns.root, Settings()), Scope.ALL)
    assert len(account.of(FactKind.COMMAND)) == 3
