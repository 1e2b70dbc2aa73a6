"""Looking starts no session, whichever command it is (C51, C107)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import click
import pytest

from passdown.faces.cli.tree import cli
from tests.support.commands import Done
from tests.support.teams import Team

LOOKING: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "archive": (),
        "archive verify": (),
        "blocked": (),
        "brief": (),
        "certify": (),
        "check": (),
        "completion": ("bash",),
        "checkpoint show": (),
        "context check": (),
        "context recall": (),
        "doctor": (),
        "event": (),
        "event show": ("none",),
        "feedback": (),
        "format": (),
        "format example": ("ledger",),
        "format schema": ("ledger",),
        "gate": (),
        "gate list": (),
        "gate show": ("design",),
        "guard": (),
        "handoff": (),
        "handoff list": (),
        "handoff offers": (),
        "handoff show": (),
        "help": ("--all",),
        "history": (),
        "history show": ("none",),
        "inbox": (),
        "log": (),
        "log show": ("none",),
        "loop": (),
        "loop continue": ("habits",),
        "loop status": (),
        "metrics": (),
        "preflight": ("sign-in",),
        "ready": (),
        "result list": ("--all",),
        "result rules": (),
        "result show": ("0123456789",),
        "search": ("anything",),
        "status": (),
        "task blocked": (),
        "task export": (),
        "task list": (),
        "task ready": (),
        "task show": ("t-1234",),
        "tdd": (),
        "track": (),
        "track show": (),
        "view": (),
        "view list": ("goal",),
        "view show": (),
        "view verify": (),
    }
)
"""The commands that only look, each with arguments that let it look."""

WORKING = frozenset(
    {
        *("answer", "ask", "decide", "done", "goal", "next", "note", "now", "retract", "rule-out", "tell"),
        *("archive clean", "archive resolve", "archive run", "try"),
        *("checkpoint fail", "checkpoint resume", "checkpoint start", "checkpoint validate"),
        *("claim", "close", "context save", "end", "event retract", "feedback dismiss", "gate fail"),
        *("gate pass", "gate run", "guard install", "guard uninstall", "handoff accept", "handoff create"),
        *(
            "handoff decline",
            "handoff offer",
            "handoff resume",
            "handoff withdraw",
            "heartbeat",
            "import",
            "init",
        ),
        *("install", "log retract", "loop append", "loop approve", "loop feedback", "loop finish"),
        *(
            "loop open",
            "migrate",
            "msg",
            "observe",
            "pause",
            "publish",
            "release",
            "renew",
            "reserve",
            "result apply",
            "result drop",
        ),
        *("start", "sync", "synthesize", "takeover", "task add", "task block", "task change"),
        *("task give-back", "task import", "task note", "tdd green", "tdd red", "tdd refactor", "team init"),
        *("team migrate", "track bind", "track finish", "track unbind", "uninstall", "unpause"),
    }
)


def list_commands(context: click.Context, path: str = "") -> Iterator[str]:
    """Name every command of the parser that does something by itself."""
    command = context.command
    if not isinstance(command, click.Group):
        yield path
        return
    if path and command.invoke_without_command:
        yield path
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from list_commands(
            click.Context(below, info_name=name, parent=context), f"{path} {name}".strip()
        )


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a project with one open loop, and no session."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    assert made.command("loop", "open", "habits", "ideation").code == 0
    return made


def list_all(team: Team) -> list[object]:
    """List the sessions, also those that ended."""
    found: list[object] = json.loads(team.command("status", "--all", "--json").out)["sessions"]
    return found


def test_every_command_either_looks_or_works() -> None:
    found = sorted(list_commands(click.Context(cli)))

    assert found == sorted({*LOOKING, *WORKING})
    assert WORKING.isdisjoint(LOOKING)


@pytest.mark.requirement("C51", "C107", through="command")
@pytest.mark.parametrize("name", LOOKING)
def test_looking_starts_no_session(team: Team, name: str) -> None:
    done = team.command(*name.split(), *LOOKING[name])

    assert "started" not in done.err
    assert "Traceback" not in done.err
    assert list_all(team) == []
    assert not (team.project.folder / "conductor").exists()


@pytest.mark.requirement("C105", "C107", "R147", through="command")
def test_whoever_is_shown_feedback_needs_a_session_whose_next_turn_answers_it(team: Team) -> None:
    ledger = team.project.folder / "changes/habits/loops/ideation.md"
    turn = "# Turn 1\n\nOne idea.\n\n## User Feedback\n\nAnother idea, please.\n\n---\n"
    ledger.write_text(turn, encoding="utf-8")

    shown = team.command("loop", "continue", "habits")

    assert "no session was running here; started" in shown.err
    assert "> habits/ideation turn 1: Another idea, please." in shown.out
    assert (
        "answered the feedback on turn 1" in team.command("loop", "append", "habits", "ideation", "Two.").out
    )


@pytest.mark.requirement("C51", "C107", through="command")
def test_who_looks_without_a_session_is_told_so(team: Team) -> None:
    nobody = "passdown: no session is running here"
    assert team.command("inbox") == Done(0, "No unread messages.\n", f"{nobody}\n")
    assert json.loads(team.command("inbox", "--json").out) == {"version": 1, "messages": [], "handoffs": []}
    assert team.command("tdd").out.startswith("phase: none\n")
    gates = team.command("gate")
    assert (gates.code, gates.out.splitlines()[0]) == (0, "track: none")
