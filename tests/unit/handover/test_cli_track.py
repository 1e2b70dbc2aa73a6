"""`passdown track` binds a session to a track, lets go of it, and finishes it."""

import json
from pathlib import Path

import pytest

from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import stop_clock

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


def test_one_decision_is_one_decision(command: Caller) -> None:
    command("decide", "store", "Redis")

    assert command("track", "bind", "auth").out.endswith("(1 decision, 0 files changed)\n")


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


def say_of(command: Caller, name: str) -> list[str]:
    """Let the session say one thing of each kind; return the texts."""
    said = {kind: f"{kind} of {name}" for kind in ("goal", "now", "next", "done", "ask", "rule-out")}
    for kind, text in said.items():
        assert command(kind, text).code == 0
    assert command("decide", f"choice_{name}", f"decision of {name}").code == 0
    return [*said.values(), f"decision of {name}"]


@pytest.mark.requirement("C147", "R39", "R40", "R42")
def test_a_track_shows_its_own_facts_alone(command: Caller) -> None:
    command("start", "--nickname", "toast")
    command("done", "Said before any track")
    command("track", "bind", "alpha")
    alpha = say_of(command, "alpha")
    command("track", "bind", "beta")
    empty = command("brief").out
    beta = say_of(command, "beta")
    brief = command("brief").out
    command("track", "finish")

    (record,) = (command.folder / "conductor/sessions/archive").glob("*-track-complete-*.md")
    document = command.folder / "thoughts/shared/handoffs/beta/current.md"
    for text in (empty, brief, *(path.read_text(encoding="utf-8") for path in (record, document))):
        assert [one for one in (*alpha, "Said before any track") if one in text] == []
    for path in (record, document):
        shown = path.read_text(encoding="utf-8").replace("Ruled out: ", "")
        assert [one for one in beta if one not in shown] == []
    assert [one for one in beta if one not in brief] == []
    assert document.read_text(encoding="utf-8").count("status: complete\n") == 1

    command("track", "bind", "alpha")
    again = command("brief").out
    assert [one for one in alpha if one not in again] == []
    assert [one for one in beta if one in again] == []
    assert " facts found: " in command("certify").out


@pytest.mark.requirement("C147")
def test_what_a_track_takes_back_is_gone_from_its_document(command: Caller) -> None:
    command("start", "--track", "alpha")
    command("goal", "Of alpha")
    command("track", "bind", "beta")
    command("decide", "store", "Redis")
    assert command("retract", "store").code == 0
    command("handoff", "create")

    document = (command.folder / "thoughts/shared/handoffs/beta/current.md").read_text(encoding="utf-8")
    assert [one for one in ("Of alpha", "Redis") if one in document] == []


@pytest.mark.requirement("C147")
def test_a_start_on_another_track_carries_nothing_of_the_last_one_on(command: Caller) -> None:
    command("start", "--track", "alpha")
    alpha = say_of(command, "alpha")
    command("end")

    command("start", "--track", "beta")
    assert [one for one in alpha if one in command("brief").out] == []
    command("end")
    command("start")
    command("track", "bind", "alpha")

    brief = command("brief").out
    assert [one for one in alpha if one not in brief] == []


@pytest.mark.requirement("C147")
def test_what_was_carried_on_from_another_track_is_left_when_one_is_bound(command: Caller) -> None:
    command("start", "--track", "alpha")
    alpha = say_of(command, "alpha")
    command("end")
    command("start")
    assert "goal of alpha" in command("brief").out

    command("track", "bind", "beta")

    assert [one for one in alpha if one in command("brief").out] == []


@pytest.mark.requirement("C147")
def test_what_two_tracks_say_and_what_belongs_to_none_is_told_to_both(command: Caller) -> None:
    command("start")
    command("rule-out", "threads")
    command("decide", "store", "SQLite")
    command("end")
    command("start", "--track", "alpha")
    command("done", "Both")
    command("decide", "store", "Redis")
    command("end")
    command("start", "--track", "beta")
    command("done", "Both")
    command("end")

    for track in ("alpha", "beta"):
        command("start", "--track", track)
        brief = command("brief").out
        assert "> threads\n" in brief
        assert "> Both\n" in brief
        assert "> store: Redis\n" in brief  # it replaced what was told to both
        command("end")


@pytest.mark.requirement("C147", "R42")
def test_a_finished_track_is_active_again_when_somebody_goes_on_with_it(command: Caller) -> None:
    command("start", "--track", "alpha")
    command("goal", "Ship it")
    command("track", "finish")
    document = command.folder / "thoughts/shared/handoffs/alpha/current.md"
    assert "status: complete\n" in document.read_text(encoding="utf-8")

    command("track", "bind", "alpha")
    command("handoff", "create")

    assert "status: active\n" in document.read_text(encoding="utf-8")
