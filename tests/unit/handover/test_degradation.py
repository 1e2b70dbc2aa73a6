"""Signs that a session gets worse are told by the hook that saw them, and by `passdown status`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from passdown.core.hosts.signals import (
    NO_SIGNS,
    Degradation,
    Signal,
    SignalKind,
    find_signals,
    parse_degradation,
    render_degradation,
)
from passdown.core.hosts.transcripts import Observation
from passdown.core.kinds import FactKind
from passdown.settings import FILE_NAME
from tests.support.gits import make_started
from tests.support.projects import stop_clock
from tests.unit.hooks.test_hooks import HOST, Stage

SIGNS = f".git/passdown/signals/{HOST}"


class Turns:
    """A session of Claude Code whose transcript a test writes."""

    def __init__(self, stage: Stage) -> None:
        """Begin without a call."""
        self.stage = stage
        self._count = 0

    def use(self, tool: str, times: int = 1, *, error: str = "", **input_: str) -> None:
        """Let the agent use a tool a number of times."""
        for _ in range(times):
            self._count += 1
            name = f"toolu_{self._count}"
            call = {"type": "tool_use", "id": name, "name": tool, "input": input_}
            done = {"type": "tool_result", "tool_use_id": name, "content": error, "is_error": bool(error)}
            self._write("assistant", call)
            self._write("user", done)

    def _write(self, kind: str, block: Mapping[str, object]) -> None:
        line = {"type": kind, "message": {"role": kind, "content": [block]}, "uuid": f"u-{self._count}"}
        with self.stage.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def end(self) -> str:
        """End the turn, and give what the user is told."""
        return str(self.stage.call("Stop").get("systemMessage", ""))

    def status(self) -> dict[str, Any]:
        """Give what `status` says about the session."""
        (session,) = json.loads(self.stage.command("status", "--json").out)["sessions"]
        return dict(session)


@pytest.fixture
def turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Turns:
    """Give a session that has just started."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    folder = make_started(tmp_path / "project").folder
    (folder / FILE_NAME).touch()
    stage = Stage(folder, monkeypatch, capsys)
    stage.call("SessionStart", source="startup")
    return Turns(stage)


@pytest.mark.requirement("G9")
@pytest.mark.parametrize(
    ("tool", "member", "value", "most", "said"),
    [
        ("Edit", "file_path", "a.py", 3, "edited a.py 3 times"),
        ("Write", "file_path", "a.py", 3, "edited a.py 3 times"),
        ("Bash", "command", "make all", 3, "ran make all 3 times"),
        ("Read", "file_path", "a.py", 10, "read a.py 10 times"),
    ],
)
def test_a_tool_used_again_and_again_on_the_same_target_is_a_sign(
    turns: Turns, tool: str, member: str, value: str, most: int, said: str
) -> None:
    turns.use(tool, most - 1, **{member: value})
    turns.use(tool, most - 1, **{member: "other"})
    assert turns.end() == ""
    assert turns.status()["signals"] == []

    turns.use(tool, most, **{member: value})

    assert turns.end() == ""  # one kind of sign is shown, not announced
    assert turns.status()["signals"] == [{"kind": "tool_repeat", "text": said}]
    assert f"    tool_repeat: {said}\n" in turns.stage.command("status").out


@pytest.mark.requirement("G9")
def test_two_kinds_of_signs_are_told_once_and_a_compaction_ends_them(turns: Turns) -> None:
    turns.use("Bash", command="pytest tests")
    assert turns.end() == ""
    turns.use("Edit", 4, file_path="src/a.py")
    turns.use("Bash", command="pytest tests", error="Exit code 1\nfailed")

    assert turns.end() == (
        "Passdown: this session seems to be getting worse: edited src/a.py 4 times; pytest tests fails but "
        "passed before. Save, then clear or compact"
    )
    assert {one["kind"] for one in turns.status()["signals"]} == {"tool_repeat", "quality_drop"}
    turns.use("Edit", 3, file_path="src/a.py")
    turns.use("Bash", command="pytest tests", error="Exit code 1\nfailed")
    assert turns.end() == ""  # it failed before, too
    turns.stage.call("PreCompact", trigger="auto")
    turns.stage.call("PreCompact", trigger="auto")
    session = turns.status()
    assert (session["compactions"], session["signals"]) == (2, [])
    assert "    context: compacted 2 times\n" in turns.stage.command("status").out
    turns.stage.call("SessionEnd", reason="clear")
    assert not (turns.stage.root / SIGNS).exists()


@pytest.mark.requirement("G9")
def test_the_signs_are_those_of_the_last_turn(turns: Turns) -> None:
    for _ in range(2):
        turns.use("Edit", 3, file_path="a.py")
        turns.end()
        assert len(turns.status()["signals"]) == 1
    turns.use("Edit", file_path="a.py")
    turns.end()

    assert turns.status()["signals"] == []


@pytest.mark.requirement("G9")
def test_a_status_tells_how_full_the_context_is(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    assert turns.status()["context"] is None
    level = turns.stage.root / f".git/passdown/levels/{HOST}"
    level.parent.mkdir(parents=True)
    level.write_text("75 suggest 2026-01-11T12:00:00Z\n")
    turns.stage.call("PreCompact", trigger="auto")

    assert turns.status()["context"] == {"percent": 75, "level": "suggest"}
    assert "    context: 75 % full, compacted once\n" in turns.stage.command("status").out
    monkeypatch.undo()


def test_signs_that_cannot_be_stored_stop_nothing(turns: Turns) -> None:
    (turns.stage.root / ".git/passdown/signals").mkdir()
    (turns.stage.root / SIGNS).mkdir()
    (turns.stage.root / ".conductor/signals").write_text("")
    turns.stage.command("done", "a")
    turns.use("Edit", 3, file_path=str(turns.stage.root / "a.py"))

    assert turns.end() == ""
    turns.stage.call("PreCompact", trigger="auto")

    assert turns.stage.log().count("\n") == 2
    assert [entry.text for entry in turns.stage.own().of(FactKind.FILE)] == ["a.py"]
    assert list((turns.stage.root / "thoughts/shared/handoffs/events").iterdir())


def test_secrets_are_taken_out_of_signs(turns: Turns) -> None:
    turns.use("Bash", 3, command="deploy --token ghp_" + "a1B2" * 9)
    turns.end()

    assert "ghp_" not in (turns.stage.root / SIGNS).read_text()


def test_long_targets_are_cut_where_they_say_least() -> None:
    path, command = "a/" * 50 + "end.py", "run " + "x" * 100
    seen = [Observation(FactKind.FILE, path, "")] * 3 + [Observation(FactKind.COMMAND, command, "")] * 3

    first, second = find_signals(seen, {}, [])

    assert (first.text.endswith("/end.py 3 times"), len(first.text)) == (True, 75)
    assert second.text == f"ran run {'x' * 55}… 3 times"


@pytest.mark.parametrize(("before", "after"), [("", "1"), ("1", "1"), ("0", ""), ("0", "0")])
def test_only_a_test_that_passed_and_fails_is_worse(before: str, after: str) -> None:
    assert find_signals([], {"pytest": before}, [("pytest", after)]) == ()
    assert find_signals([], {"pytest": "0"}, [("pytest", "1"), ("pytest", "0")]) == ()


def test_signs_are_read_as_they_were_written_and_anything_else_is_none() -> None:
    found = Degradation(signals=(Signal(SignalKind.TOOL_REPEAT, "read a 10 times"),), compactions=3)

    assert parse_degradation(render_degradation(found)) == found
    for text in ("", "[]", "{", '{"compactions": true, "signals": 3}', '{"compactions": -1}'):
        assert parse_degradation(text) == NO_SIGNS
    odd = '{"signals": [1, ["a"], ["tool_repeat", 3], ["nosuch", "a"], ["tool_repeat", "a"]]}'
    assert parse_degradation(odd).signals == (Signal(SignalKind.TOOL_REPEAT, "a"),)
