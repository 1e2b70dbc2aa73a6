"""`passdown track` binds a session to a track, lets go of it, and finishes it."""

import json
from pathlib import Path

import pytest

from tests.commands import Caller
from tests.gits import make_started
from tests.projects import stop_clock

LEDGER = "conductor/sessions/active/LEDGER.md"
SWITCH = "conductor/sessions/archive/2026-01-11-12-00-track-switch-*.md"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command, in a repository on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return Caller(monkeypatch, capsys, make_started(tmp_path / "project").folder)


@pytest.mark.requirement("R33", "R39", "R40", "R41")
def test_binding_says_what_was_left_and_what_is_there(command: Caller) -> None:
    command("start", "--nickname", "toast")

    first = command("track", "bind", "auth").out
    again = command("track", "bind", "auth").out
    other = command("track", "bind", "billing").out

    assert first.split(" ", 1)[1].startswith("works on auth\n")
    assert first.endswith(f"ledger: {LEDGER} (0 decisions, 0 files changed)\n")
    assert "continues with auth\n" in again
    (record,) = command.folder.glob(SWITCH)
    assert other.startswith(f"left auth: {record.relative_to(command.folder).as_posix()}\n")


def test_binding_as_json(command: Caller) -> None:
    command("track", "bind", "auth")

    answer = json.loads(command("track", "--json", "bind", "billing").out)

    assert (answer["track"], answer["before"], answer["task"]) == ("billing", "auth", None)
    (record,) = command.folder.glob(SWITCH)
    assert answer["handoff"]["record"] == record.relative_to(command.folder).as_posix()
    assert json.loads(command("track", "unbind", "--json").out)["track"] is None


def test_a_bare_track_shows_the_track(command: Caller) -> None:
    assert "no session is running here" in command("track").err
    assert json.loads(command("track", "--json").out)["session"] is None
    command("track", "bind", "auth")

    assert command("track").out == "track: auth\ntask: none\n"
    command("handoff", "create")
    assert command("track", "show").out.endswith("document: thoughts/shared/handoffs/auth/current.md\n")
    assert json.loads(command("track", "show", "--json").out)["track"] == "auth"


def test_unbinding_says_so_and_may_be_repeated(command: Caller) -> None:
    command("track", "bind", "auth")

    assert command("track", "unbind").out.endswith("no longer works on auth\n")
    assert command("track", "unbind").out.endswith("has no track\n")


@pytest.mark.requirement("R36", "R42")
def test_finishing_hands_over_and_removes_the_ledger(command: Caller) -> None:
    command("track", "bind", "auth")
    command("goal", "Let people sign in")

    done = command("track", "finish")

    assert done.code == 0
    assert " finished auth\n" in done.out
    assert done.out.endswith("goal: Let people sign in\nready for clear\n")
    assert not (command.folder / LEDGER).exists()
    assert command("track", "finish").code == 2


def test_finishing_may_keep_the_ledger(command: Caller) -> None:
    command("track", "bind", "auth")

    answer = json.loads(command("track", "finish", "--keep", "--json").out)

    assert (answer["before"], answer["track"]) == ("auth", None)
    assert answer["handoff"]["is_ledger_removed"] is False
    assert (command.folder / LEDGER).exists()
