"""Which session a command means by a name or a variable, what only looks, and what a start takes over."""

import json
from pathlib import Path
from typing import Any

import pytest

from passdown.core.sessions.session_facts import HostProcess
from passdown.engines.process import SystemProcesses
from tests.support.commands import Done, run
from tests.support.teams import Team

SHELL = HostProcess(101, "1", "boot-1")


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a project without a session, at one terminal."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: SHELL)
    monkeypatch.setattr(SystemProcesses, "is_alive", lambda _, process: process == SHELL)
    return made


def list_all(team: Team) -> list[dict[str, Any]]:
    """List the sessions, also those that ended."""
    found: list[dict[str, Any]] = json.loads(team.command("status", "--all", "--json").out)["sessions"]
    return found


def mode_of(team: Team, session: str) -> str:
    """Say in which mode a session works."""
    return str(team.ask(session, "preflight")["mode"])


# --- what a name finds -----------------------------------------------------------------------------------


@pytest.mark.requirement("C161", through="command")
def test_a_session_is_found_by_an_id_an_agent_a_nickname_or_a_start_of_one(team: Team) -> None:
    started = json.loads(team.command("start", "--session", "T-abc123", "--nickname", "Toast", "--json").out)
    team.join("birch")

    session, agent = started["session"], started["agent"]
    for name in (session, session[:6], agent, agent[:7], "T-abc123", "T-ab", "t-AB", "toast", "Toast"):
        done = team.run(name, "now", f"by {name}")
        assert (done.code, done.out, done.err) == (0, f"now: by {name}\n", ""), name
    assert team.account("T-abc123").now is not None
    assert team.account("birch").now is None


@pytest.mark.requirement("C161", through="command")
def test_a_nickname_is_found_as_it_was_given_and_before_the_start_of_another(team: Team) -> None:
    for nickname in ("Tea Pot", "tea", "tea-pot-lid"):
        team.command("start", "--new", "--nickname", nickname)

    for nickname in ("Tea Pot", "tea"):
        assert team.run(nickname, "now", f"with {nickname}").code == 0, nickname

    doing = {one["agent"].rpartition("-")[0]: one["now"] for one in list_all(team)}
    assert doing == {"tea-pot": "with Tea Pot", "tea": "with tea", "tea-pot-lid": None}


@pytest.mark.requirement("C161", through="command")
def test_only_a_start_makes_a_session_by_name_and_a_slip_is_told_what_comes_nearest(team: Team) -> None:
    team.join("amber", "birch")
    team.add("Sign in")

    for words in (("claim",), ("now", "x"), ("preflight",), ("brief",), ("handoff", "create"), ("end",)):
        done = team.run("ambre", *words)
        assert (done.code, done.out) == (2, ""), words
        lines = " ".join(done.err.split())
        assert lines.startswith("passdown: there is no session ambre hint: similar: "), words
        assert f"{team.account('amber').session} ({team.agent('amber')})" in lines
        assert team.agent("birch") not in lines
    assert len(list_all(team)) == 2
    assert team.run("amber", "claim").out.startswith("Claimed: ")
    strange = " ".join(team.run("zzzzzz", "now", "x").err.split())
    assert all(f"({team.agent(name)})" in strange for name in ("amber", "birch"))
    assert team.command("start", "--session", "ambre").code == 0
    assert len(list_all(team)) == 3


@pytest.mark.requirement("C161", through="command")
def test_of_several_that_fit_it_is_the_only_one_that_has_not_ended(team: Team) -> None:
    for name in ("one", "two", "three"):
        team.command("start", "--new", "--session", name, "--nickname", "toast")

    several = team.run("toast", "now", "x")
    assert several.code == 2
    for name in ("one", "two", "three"):
        assert team.account(name).session in several.err
    team.run("one", "end")
    assert team.run("toast-", "now", "x").code == 2
    team.run("three", "end")

    assert team.run("toast", "now", "y").out == "now: y\n"
    assert team.run("toast-", "now", "z").out == "now: z\n"
    assert team.account("two").now is not None
    team.run("two", "end")
    over = team.run("toast", "now", "x")
    assert (over.code, over.err.count(", ended)")) == (2, 3)


@pytest.mark.requirement("C161", through="command")
def test_a_whole_name_comes_before_the_start_of_another_even_if_its_session_ended(team: Team) -> None:
    team.join("amber", "amber-two")

    assert team.run("amber", "now", "mine").code == 0
    assert team.account("amber-two").now is None
    team.run("amber", "end")

    done = team.run("amber", "now", "x")

    assert (done.code, done.err.splitlines()[0]) == (2, "passdown: session amber has ended")
    assert team.account("amber-two").now is None


@pytest.mark.requirement("C161", through="command")
def test_an_ended_session_can_be_read_by_its_names(team: Team) -> None:
    team.join("amber")
    team.run("amber", "goal", "Ship it")
    session = team.account("amber").session
    team.run("amber", "end")
    team.join("birch")

    for name in ("amber", session, session[:8], "AMBER"):
        assert team.ask(name, "brief")["session"] == session
    team.join("amber-two")
    team.run("amber-two", "end")
    assert team.run("ambe", "brief").code == 2
    for number in range(6):
        team.join(f"cedar-{number}")
    assert "and 1 more" in team.run("cedar", "now", "x").err


# --- what the environment names --------------------------------------------------------------------------


@pytest.mark.requirement("C161", through="command")
def test_an_id_in_our_variable_that_nobody_knows_starts_a_session_and_says_so(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.join("birch")
    monkeypatch.setenv("PASSDOWN_SESSION", "T-new")

    assert json.loads(team.command("brief", "--json").out)["session"] is None
    first = team.command("now", "Look around")

    assert first.out == "now: Look around\n"
    agent = team.agent("T-new")
    assert " ".join(first.err.split()) == (
        f"passdown: no session is called T-new (set in PASSDOWN_SESSION); started {agent}"
    )
    assert team.command("now", "Look again") == Done(0, "now: Look again\n", "")
    assert team.account("birch").now is None


@pytest.mark.requirement("C161", through="command")
@pytest.mark.parametrize("words", [(), ("--nickname", "toast")])
def test_a_start_takes_the_new_id_in_our_variable(
    team: Team, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PASSDOWN_SESSION", "T-new")

    team.command("start", *words)

    assert team.command("now", "Look around").err == ""
    assert len(list_all(team)) == 1
    assert team.account("T-new").now is not None
    team.command("end")
    assert team.command("now", "x").err.startswith("passdown: no session was running here; started generic-")


# --- what only looks -------------------------------------------------------------------------------------


@pytest.mark.requirement("C51", "C107", through="command")
@pytest.mark.parametrize(
    "words",
    [("preflight",), ("preflight", "sign-in"), ("loop",), ("loop", "status"), ("status",), ("brief",)],
)
def test_looking_starts_no_session(team: Team, words: tuple[str, ...]) -> None:
    assert team.command(*words).code == 0

    assert list_all(team) == []
    assert not (team.project.folder / "conductor").exists()
    nobody = " ".join(team.run("amber", "now", "x").err.split())
    assert nobody == "passdown: there is no session amber hint: `passdown start --session ID` starts one"


@pytest.mark.requirement("C107", "G4", through="command")
def test_a_preflight_before_the_start_says_each_step_and_the_start_is_the_first_session(team: Team) -> None:
    done = team.command("preflight")

    assert done.code == 0
    assert done.out.splitlines() == [
        "no session is running; start one with `passdown start`",
        "tasks:    board, no tasks yet",
        "mode:     SA, if a session starts now",
        "lock:     no track to lock",
        "context:  none saved",
        "outbox:   nothing queued",
        "orphans:  none",
        "agents:   none",
    ]
    data = json.loads(team.command("preflight", "--json").out)
    assert (data["session"], data["agent"], data["mode"], data["held"]) == (None, None, "SA", None)
    assert team.command("start", "--session", "T-abc").code == 0
    assert [one["session"] for one in list_all(team)] == [team.account("T-abc").session]
    assert mode_of(team, "T-abc") == "SA"


@pytest.mark.requirement("C107", through="command")
def test_a_preflight_without_a_session_says_who_has_the_track_and_takes_nothing(team: Team) -> None:
    team.join("amber")
    team.run("amber", "track", "bind", "sign-in")
    team.monkeypatch.chdir(make_worktree(team))

    held = team.command("preflight", "sign-in")
    free = team.command("preflight", "billing")

    assert held.code == 3
    assert f"lock:     track sign-in is held by {team.agent('amber')}" in held.out
    assert "mode:     MA, if a session starts now" in held.out
    assert "lock:     billing is free" in free.out
    assert json.loads(team.command("preflight", "sign-in", "--json").out)["held"]["agent"] == (
        team.agent("amber")
    )
    refused = team.command("preflight", "sign-in", "--continue")
    assert (refused.code, "no session is running here" in refused.err) == (2, True)
    assert len(list_all(team)) == 1


def make_worktree(team: Team) -> Path:
    """Make a second checkout, in which nobody works."""
    folder = team.project.folder.parent / "second"
    team.project.git("worktree", "add", "-q", str(folder))
    return folder


# --- an empty session ------------------------------------------------------------------------------------


@pytest.mark.requirement("C107", "R217", through="command")
def test_a_start_takes_the_empty_session_of_its_terminal(team: Team) -> None:
    empty = json.loads(team.command("heartbeat", "--json").out)["session"]

    started = json.loads(
        team.command("start", "--session", "T-abc", "--nickname", "Toast", "--track", "sign-in", "--json").out
    )

    assert (started["session"], started["is_new"], started["others"]) == (empty, True, [])
    assert started["agent"].startswith("toast-")
    assert (started["track"], started["ledger"]) == ("sign-in", "conductor/sessions/active/LEDGER.md")
    assert len(list_all(team)) == 1
    assert mode_of(team, "T-abc") == "SA"
    states = [path.name for path in (team.project.folder / ".conductor").glob("session-state_*")]
    assert states == ["session-state_T-abc.json"]
    ledger = (team.project.folder / "conductor/sessions/active/LEDGER.md").read_text()
    assert "\nsession_id: T-abc\n" in ledger
    assert team.run("T-abc", "goal", "Ship it") == Done(0, "goal: Ship it\n", "")
    assert team.run("toast", "end").code == 0


def test_an_empty_session_without_its_state_file_is_taken_as_well(team: Team) -> None:
    team.command("heartbeat")
    for path in (team.project.folder / ".conductor").glob("session-state_*"):
        path.unlink()

    assert team.command("start", "--session", "T-abc").code == 0

    assert len(list_all(team)) == 1
    assert (team.project.folder / ".conductor/session-state_T-abc.json").exists()


@pytest.mark.requirement("C107", through="command")
def test_an_empty_session_that_goes_on_with_a_goal_keeps_it(team: Team) -> None:
    team.command("goal", "Ship it")
    team.command("end")
    team.command("heartbeat")

    started = json.loads(team.command("start", "--session", "T-abc", "--json").out)

    assert (started["goal"], len(list_all(team))) == ("Ship it", 2)


@pytest.mark.requirement("C107", through="command")
@pytest.mark.parametrize("words", [("--fresh",), ("--track", "billing")])
def test_an_empty_session_is_left_if_what_it_goes_on_with_must_go(team: Team, words: tuple[str, ...]) -> None:
    team.command("start", "--track", "sign-in")
    team.command("goal", "Ship it")
    team.command("end")
    team.command("heartbeat")

    started = json.loads(team.command("start", "--session", "T-abc", *words, "--json").out)

    assert (started["goal"], len(list_all(team))) == (None, 3)


@pytest.mark.requirement("C107", through="command")
@pytest.mark.parametrize(
    "words",
    [
        ("note", "x"),
        ("track", "bind", "sign-in"),
        ("reserve", "src/"),
        ("claim",),
        ("start", "--session", "a"),
    ],
)
def test_a_session_that_has_done_something_or_has_a_name_is_not_taken(
    team: Team, words: tuple[str, ...]
) -> None:
    team.add("Sign in")
    team.command(*words)

    started = json.loads(team.command("start", "--session", "T-abc", "--json").out)

    assert started["is_new"]
    assert len(list_all(team)) == 2


def test_another_start_and_a_plain_one_take_no_empty_session(team: Team) -> None:
    team.command("start")

    assert " is already running " in team.command("start").out
    assert len(list_all(team)) == 1
    assert team.command("start", "--new", "--session", "T-abc").code == 0
    assert len(list_all(team)) == 2


@pytest.mark.requirement("C107", through="command")
def test_the_seeds_own_order_at_a_real_terminal_is_one_session_in_single_mode(tmp_path: Path) -> None:
    from tests.support.gits import make_started

    project = make_started(tmp_path / "project")

    def call(*words: str) -> Done:
        return run(*words, cwd=project.folder)

    assert call("preflight").out.startswith("no session is running")
    assert call("start", "--session", "T-abc").code == 0
    assert "mode:     SA, locked for this session" in call("preflight").out
    typo = call("now", "x", "--session", "T-bac")
    assert (typo.code, "similar: " in typo.err, "(t-abc-" in typo.err) == (2, True, True)
