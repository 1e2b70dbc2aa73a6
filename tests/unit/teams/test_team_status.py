"""What `passdown status` says about coordination."""

import json
from pathlib import Path

import pytest

from passdown.core.coordination.offers import NewOffer
from passdown.engines.process import SystemProcesses
from passdown.services.operations.operations import make_id
from tests.support.teams import Team


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a repository with two sessions."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.join("amber", "birch")
    return made


def offer(team: Team, task: str) -> None:
    """Let a session offer its task to anybody."""
    workspace = team.host.project()
    session = team.account("amber").session
    workspace.coordination.offers.offer(make_id(workspace), NewOffer(session, "", task))


@pytest.mark.requirement("R213")
def test_status_is_a_map_from_path_to_holder(team: Team) -> None:
    team.run("amber", "reserve", "src/app.py")
    fence = team.ask("amber", "reserve", "docs/")["grants"][0]["fence"]

    answer = json.loads(team.command("status", "--json").out)

    assert answer["engine"] == "SQLite, this clone and its worktrees"
    assert list(answer["reservations"]) == ["docs/", "src/app.py"]
    session = team.account("amber").session
    assert answer["reservations"]["docs/"] == {
        "agent": team.agent("amber"),
        "session": session,
        "left": 660.0,
        "fence": fence,
    }


def test_status_shows_who_holds_what_for_how_long(team: Team) -> None:
    one = team.add("Sign in form, with a title that does not fit into a line of a terminal at all")
    team.run("amber", "claim", one)
    team.run("amber", "reserve", "src/app.py")
    team.run("birch", "inbox")
    team.run("amber", "msg", "hello")
    team.pass_time(minutes=2)

    shown = team.command("status").out.splitlines()

    amber, birch = team.agent("amber"), team.agent("birch")
    assert "coordination: SQLite, this clone and its worktrees" in shown
    at = shown.index(f"  {amber}  live, last seen 2 min ago")
    assert shown[at + 1].startswith(f"    task {one}, 9 min left: Sign in form, with")
    assert shown[at + 2] == "    file src/app.py, 9 min left"
    assert f"  {birch}  live, last seen 2 min ago, 1 unread message" in shown
    assert max(map(len, shown)) <= 80


def test_status_names_orphaned_tasks_and_offers(team: Team) -> None:
    one, two = team.add("one"), team.add("two")
    team.run("birch", "claim", one)
    team.pass_time(minutes=12)
    team.run("amber", "claim", two)
    offer(team, two)

    shown = team.command("status").out
    answer = json.loads(team.command("status", "--json").out)

    assert f"  {team.agent('birch')}  silent, last seen 12 min ago\n" in shown
    assert f"    task {one}, orphaned (`passdown takeover {one}`): one\n" in shown
    assert f"  offer: task {two} from {team.agent('amber')} to anybody, 1 d left\n" in shown
    assert {task["id"]: task["is_orphaned"] for task in answer["tasks"]} == {one: True, two: False}
    (standing,) = answer["offers"]
    assert (standing["task"], standing["to"], standing["agent"]) == (two, None, team.agent("amber"))
    assert {one["agent"]: one["is_live"] for one in answer["members"]} == {
        team.agent("amber"): True,
        team.agent("birch"): False,
    }


@pytest.mark.requirement("C62")
def test_status_says_of_a_crashed_session_the_same_above_and_below(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.run("birch", "claim", team.add("one"))
    monkeypatch.setattr(SystemProcesses, "is_alive", lambda *_: False)

    shown = team.command("status").out

    assert f"{team.agent('birch')}  stale, last seen " in shown
    assert f"  {team.agent('birch')}  stale, last seen " in shown.partition("coordination:")[2]
    assert "live" not in shown


@pytest.mark.requirement("C123")
def test_status_says_that_a_silent_session_may_still_run(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SystemProcesses, "is_alive", lambda *_: None)
    team.pass_time(minutes=12)

    shown = " ".join(team.command("status").out.split())

    assert f"{team.agent('birch')} unknown, last seen 12 min ago" in shown
    assert f"it may still run. If it does not: `passdown end --session {team.agent('birch')}`" in shown


def test_silent_sessions_that_left_nothing_are_not_shown(team: Team) -> None:
    team.run("amber", "inbox")
    team.pass_time(hours=1)

    assert "  no sessions yet\n" in team.command("status").out


def test_status_opens_and_shows_nothing_where_nobody_coordinates(team: Team) -> None:
    shown = team.command("status").out
    answer = json.loads(team.command("status", "--json").out)

    assert "coordination" not in shown
    assert (answer["engine"], answer["reservations"], answer["members"]) == (None, {}, [])
    assert not (team.project.folder / ".git/passdown/coordination.sqlite").exists()


@pytest.mark.requirement("R216")
def test_status_without_the_engine_lists_the_sessions_and_says_why(team: Team) -> None:
    (team.project.folder / ".git/passdown/coordination.sqlite").write_bytes(b"this is no database" * 100)

    done = team.command("status")

    assert done.code == 0
    assert team.agent("amber") in done.out
    assert "the coordination database" in done.err
    team.monkeypatch.setenv("PASSDOWN_COORDINATION_ENGINE", "off")
    assert team.command("status").err == ""


def test_status_lists_the_live_first_and_of_these_the_one_seen_last(team: Team) -> None:
    team.join("cedar", "drake")
    for name in ("drake", "amber", "cedar", "birch"):
        team.run(name, "reserve", f"{name}.py")
        team.pass_time(minutes=3)

    members = json.loads(team.command("status", "--json").out)["members"]

    wanted = [team.agent(name) for name in ("birch", "cedar", "amber", "drake")]
    assert [one["agent"] for one in members] == wanted
    shown = team.command("status").out
    assert sorted(wanted[:3], key=lambda one: shown.index(f"  {one}  ")) == wanted[:3]
