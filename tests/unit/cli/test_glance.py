"""`passdown` without a command first says how things stand, and changes nothing."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from passdown.actions.sessions.status import StatusResult, TeamStatus
from passdown.faces.cli.glance import describe_status
from passdown.services.handover.handoffs import HandoffCount
from passdown.services.project.status import IndexHealth, IndexState
from tests.support.commands import Caller
from tests.support.projects import call_at_noon, listing, make_january, stop_clock


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command in a project that is set up."""
    project = make_january(monkeypatch, tmp_path / "shop")
    return call_at_noon(monkeypatch, capsys, project.folder)


def first(command: Caller) -> str:
    """Return what stands above the help, on one line."""
    done = command()
    above, mark, _ = done.err.partition("\n\nUsage: passdown ")
    assert (done.code, done.out, mark) == (2, "", "\n\nUsage: passdown ")
    return " ".join(above.split())


def test_a_quiet_project_is_told_in_one_line(command: Caller) -> None:
    assert first(command) == "shop: no session running, nothing waits for you."


def test_who_runs_and_what_is_open_is_told(command: Caller) -> None:
    command("start", "--nickname", "amber")
    command("now", "fix login")
    command("ask", "Which colours?")
    command("publish")
    command("ask", "Which fonts?")
    command("ask", "Which words?")

    assert (
        first(command)
        == "shop: 1 session running (amber: fix login), 3 open questions, nothing waits for you."
    )

    command("answer", "Which colours?", "Blue")
    command("answer", "Which fonts?", "Serif")
    assert ", 1 open question, nothing" in first(command)


def test_agents_of_one_name_are_told_apart(command: Caller) -> None:
    for name in ("one", "two", "three"):
        command("start", "--session", name, "--new", "--nickname", "amber")
    for name in ("birch", "cedar"):
        command("start", "--session", name, "--new", "--nickname", name)

    told = first(command)

    assert told.startswith("shop: 5 sessions running (")
    assert "; 2 more), " in told
    assert 1 <= told.count("amber-") <= 3, "of five, three are named, and three are called amber"


def test_nothing_is_started_or_written(command: Caller) -> None:
    command("start")
    command("publish")
    before = listing(command.folder)

    first(command)

    assert listing(command.folder) == before


def test_what_waits_for_a_person_is_named(command: Caller) -> None:
    command("pause")
    told = first(command)

    assert told.startswith("shop: no session running, paused by ")
    assert told.endswith(". More: `passdown status`.")


def test_each_thing_that_waits_is_counted() -> None:
    at = datetime(2026, 1, 11, tzinfo=UTC)
    found = StatusResult(
        sessions=(),
        handoffs=HandoffCount(count=0, last_at=None),
        index=IndexState(health=IndexHealth.CURRENT),
        paused_by=None,
        uncommitted=None,
        team=TeamStatus(),
        tracker=None,
        outbox=(),
        contested=((), ()),
        counted="",
        waiting=(object(),),  # type: ignore[arg-type]  # only counted
        questions=0,
        now=at,
    )

    assert describe_status("shop", found) == (
        "shop: no session running, 2 contradictions to settle, 1 change queued for the tracker. "
        "More: `passdown status`."
    )


def test_a_session_that_did_not_end_waits(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    command("start", "--nickname", "amber")
    stop_clock(monkeypatch, "2026-01-12T18:00:00Z")

    assert first(command) == ("shop: no session running, 1 session did not end. More: `passdown status`.")


def test_settings_that_cannot_be_read_do_not_hide_the_help(command: Caller) -> None:
    (command.folder / "passdown.toml").write_text("[", encoding="utf-8")

    assert first(command).startswith("passdown: passdown.toml")


def test_a_folder_below_the_root_is_of_the_project(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    (command.folder / "src").mkdir()
    monkeypatch.chdir(command.folder / "src")

    assert first(command).startswith("shop: ")
