"""What is looked at before a session works: by `passdown preflight`, and once by the commands that work."""

from pathlib import Path

import click
import pytest

from passdown.engines import system
from tests.support.people import sit_down, stand_up
from tests.support.teams import Team, break_database
from tests.unit.trackers.test_beads_commands import BeadsTeam

STEPS = ["tracker", "mode", "lock", "context", "outbox", "orphans", "agents"]


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a repository with two sessions."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.join("amber", "birch")
    return made


def steps(team: Team, session: str, *words: str) -> dict[str, str]:
    """Let a session do the preflight; give what each step says."""
    return {one["step"]: one["text"] for one in team.ask(session, "preflight", *words)["steps"]}


@pytest.mark.requirement("R160", "G4")
def test_a_preflight_says_each_step_in_order(team: Team) -> None:
    done = team.run("amber", "preflight")

    assert done.code == 0
    first, *lines = done.out.splitlines()
    assert first.startswith("amber-")
    assert lines == [
        "tasks:    board, no tasks yet",
        "mode:     SA, locked for this session",
        "lock:     no track to lock",
        "context:  none saved",
        "outbox:   nothing queued",
        "orphans:  none",
        "agents:   none",
    ]
    assert done.err == ""
    assert [*steps(team, "amber")] == STEPS


# --- the mode -------------------------------------------------------------------------------------------


@pytest.mark.requirement("G4", "R14")
def test_the_mode_is_that_of_a_team_where_another_session_lives_in_the_clone(team: Team) -> None:
    assert steps(team, "amber")["mode"].startswith("SA, locked")
    assert steps(team, "birch")["mode"].startswith("MA, locked")


@pytest.mark.requirement("G4", "R14")
def test_a_preference_decides_before_the_others_and_never_changes_a_session(team: Team) -> None:
    (team.project.folder / ".conductor/preferences.json").write_text('{"preferredMode": "SA"}')

    assert steps(team, "birch")["mode"].endswith("; the next session prefers SA")
    team.join("cedar")
    assert steps(team, "cedar")["mode"].startswith("SA, locked")
    team.command("start", "--new", "--multi", "--session", "dune")
    assert steps(team, "dune")["mode"].startswith("MA, locked")


@pytest.mark.requirement("G4")
def test_a_server_makes_the_first_session_one_of_a_team_though_it_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", "postgresql://127.0.0.1:1/none")
    monkeypatch.setenv("PASSDOWN_PROJECT_KEY", f"p-{0:032x}")
    team = Team(tmp_path / "project", monkeypatch, capsys)
    team.command("start", "--session", "amber")

    assert steps(team, "amber")["mode"].startswith("MA, locked")


# --- the lock of a track --------------------------------------------------------------------------------


@pytest.mark.requirement("G4")
def test_a_track_is_locked_by_the_session_that_binds_it(team: Team) -> None:
    assert team.run("amber", "track", "bind", "sign-in").code == 0

    refused = team.run("birch", "track", "bind", "sign-in")
    asked = team.run("birch", "preflight", "sign-in")

    assert refused.code == asked.code == 3
    assert refused.out == ""
    held = f"track sign-in is held by {team.agent('amber')} (expires in 11 min if it stays silent)"
    assert " ".join(refused.err.split()).startswith(f"passdown: lock: {held} hint: ")
    assert "--wait" in refused.err
    assert team.account("birch").track == ""
    assert f"lock:     track sign-in is held by {team.agent('amber')}" in asked.out
    data = team.ask("birch", "track", "bind", "sign-in")
    assert data["held"]["agent"] == team.agent("amber")
    assert steps(team, "amber")["lock"] == "sign-in is locked by this session"


@pytest.mark.requirement("G4")
@pytest.mark.parametrize(
    "words", [("track", "unbind"), ("track", "finish"), ("end",), ("track", "bind", "x")]
)
def test_a_lock_ends_with_the_work_on_the_track(team: Team, words: tuple[str, ...]) -> None:
    team.run("amber", "track", "bind", "sign-in")

    assert team.run("amber", *words).code == 0

    assert team.run("birch", "track", "bind", "sign-in").code == 0
    assert steps(team, "birch")["lock"] == "sign-in is locked by this session"


@pytest.mark.requirement("G4")
def test_a_silent_session_loses_its_lock(team: Team) -> None:
    team.run("amber", "track", "bind", "sign-in")
    team.pass_time(minutes=12)

    assert team.run("birch", "track", "bind", "sign-in").code == 0
    assert steps(team, "birch")["lock"] == "sign-in is locked by this session"


@pytest.mark.requirement("G4")
def test_one_may_continue_beside_the_session_that_has_the_lock(team: Team) -> None:
    team.run("amber", "track", "bind", "sign-in")

    done = team.run("birch", "track", "bind", "sign-in", "--continue")

    assert done.code == 0
    assert "; continuing without the lock\n" in done.err.replace("\n  ", " ")
    assert team.account("birch").track == "sign-in"
    assert steps(team, "amber")["lock"] == "sign-in is locked by this session"


@pytest.mark.requirement("G4")
@pytest.mark.parametrize("ends", [True, False])
def test_one_may_wait_for_the_lock(team: Team, *, ends: bool) -> None:
    team.run("amber", "track", "bind", "sign-in")
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        team.pass_time(seconds=seconds)
        if len(waits) == 3 and ends:
            team.monkeypatch.setattr(system, "pause", lambda _: None)
            team.run("amber", "end")

    team.monkeypatch.setattr(system, "pause", wait)

    done = team.run("birch", "track", "bind", "sign-in", "--wait")

    assert done.code == (0 if ends else 3)
    assert len(waits) == (3 if ends else 120)


def _answer(team: Team, answer: str = "") -> list[str]:
    """Let a person choose birch, and answer like this; give what they are asked."""
    asked = list[str]()

    def choose(text: str, **_: object) -> str:
        asked.append(text)
        return team.agent("birch") if text.startswith("For which session") else answer

    team.monkeypatch.setattr(click, "prompt", choose)
    return asked


@pytest.mark.requirement("G4", "C122")
def test_only_a_person_takes_a_track_by_force(team: Team) -> None:
    team.run("amber", "track", "bind", "sign-in")
    bind = ("track", "bind", "sign-in", "--force")
    sit_down(team.monkeypatch)
    asked = _answer(team)
    named = team.run("birch", *bind)
    stand_up(team.monkeypatch)
    refused = team.run("birch", *bind)
    sit_down(team.monkeypatch)

    done = team.command(*bind)

    assert (named.code, refused.code, done.code) == (2, 2, 0)
    for one in (named, refused):
        assert "only a person at a terminal" in one.err
    assert asked == [f"For which session? ({team.agent('amber')}, {team.agent('birch')})"]
    stand_up(team.monkeypatch)
    assert team.run("amber", "preflight").code == 3
    both = team.run("birch", "preflight", "--wait", "--continue")
    assert (both.code, "cannot be combined" in both.err) == (2, True)


@pytest.mark.requirement("G4")
@pytest.mark.parametrize(
    ("answer", "code", "holder"),
    [("c", 0, "amber"), ("w", 3, "amber"), ("f", 0, "birch"), ("q", 3, "amber")],
)
@pytest.mark.parametrize("is_prepared", [True, False])
def test_a_person_is_asked(team: Team, answer: str, code: int, holder: str, *, is_prepared: bool) -> None:
    team.run("amber", "track", "bind", "sign-in")
    if is_prepared:
        team.run("birch", "preflight")
    sit_down(team.monkeypatch)
    team.monkeypatch.setattr(system, "pause", lambda _: None)
    asked = _answer(team, answer)

    done = team.command("track", "bind", "sign-in")

    assert done.code == code
    assert asked[1:] == ["Continue alongside it, wait, force it, or quit? [c/w/f/q]"]
    assert steps(team, holder)["lock"] == "sign-in is locked by this session"
    assert team.account("birch").track == ("" if code else "sign-in")


@pytest.mark.requirement("C122")
def test_whoever_names_a_session_is_asked_and_may_not_force(team: Team) -> None:
    team.run("amber", "track", "bind", "sign-in")
    sit_down(team.monkeypatch)
    asked = _answer(team, "c")

    done = team.run("birch", "track", "bind", "sign-in")

    assert (done.code, asked) == (0, ["Continue alongside it, wait, or quit? [c/w/q]"])
    assert f"track sign-in is held by {team.agent('amber')}" in done.err
    assert team.account("birch").track == "sign-in"


# --- what is in the way ---------------------------------------------------------------------------------


@pytest.mark.requirement("G4")
def test_without_bd_the_settings_decide_whether_work_may_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    team = BeadsTeam(tmp_path / "project", monkeypatch, capsys)
    monkeypatch.setenv("PATH", str(team.programs))
    team.join("amber")

    found = steps(team, "amber")["tracker"]
    monkeypatch.setenv("PASSDOWN_TRACKER_KIND", "beads")
    done = team.run("amber", "preflight")

    assert found == "board, because bd was not found or .beads has no database"
    assert (done.code, done.out) == (1, "")
    assert "passdown: bd is not installed, or has no database here\n" in done.err
    monkeypatch.setenv("PASSDOWN_TRACKER_KIND", "none")
    assert steps(team, "amber")["tracker"] == "none"


@pytest.mark.requirement("R21")
def test_a_missing_tracker_stops_only_what_asks_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    team = BeadsTeam(tmp_path / "project", monkeypatch, capsys)
    team.join("amber")
    monkeypatch.setenv("PASSDOWN_TRACKER_KIND", "beads")

    bound = team.run("amber", "track", "bind", "sign-in")
    opened = team.command("loop", "open", "login", "ideation")
    turn = team.run("amber", "loop", "append", "login", "ideation", "An idea")
    gate = team.run("amber", "gate", "pass", "design", "--note", "read it")
    claim = team.run("amber", "claim")

    assert (bound.code, opened.code, turn.code, gate.code, claim.code) == (0, 0, 0, 0, 1)
    for done in (bound, turn, gate):
        assert "passdown: tracker: bd is not installed, or has no database here\n" in done.err


@pytest.mark.requirement("R21")
def test_an_engine_that_is_away_is_a_warning_where_work_goes_on_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    team = Team(tmp_path / "project", monkeypatch, capsys)
    team.add("Sign in")
    team.join("amber")
    break_database(team.project.folder / ".git/passdown/coordination.sqlite")

    bound = team.run("amber", "track", "bind", "sign-in")
    gate = team.run("amber", "gate", "pass", "design", "--note", "read it")
    left = team.run("amber", "track", "finish", "--no-validate")

    assert (bound.code, gate.code, left.code) == (0, 0, 0)
    assert "passdown: lock: could not lock sign-in: the coordination database is damaged" in bound.err
    assert "passdown: lock: the coordination database is damaged" in left.err
    assert gate.err == ""


@pytest.mark.requirement("R21", "R233")
def test_a_saved_context_is_recalled_and_a_broken_one_is_named(team: Team) -> None:
    team.run("amber", "goal", "Ship the sign-in")
    assert team.run("amber", "context", "save", "--nothing-ruled-out").code == 0

    assert "Ship the sign-in" in steps(team, "amber")["context"]
    path = team.project.folder / ".conductor/session-context.md"
    whole = path.read_text()
    path.write_text(whole.partition("\n")[2])
    assert steps(team, "amber")["context"].startswith(".conductor/session-context.md: ")
    path.write_text(whole.replace("session-context v1", "session-context v9"))
    done = team.run("amber", "preflight")
    assert done.code == 0
    assert "this version of passdown reads up to 1" in " ".join(done.out.split())


@pytest.mark.requirement("G4", "R198")
def test_what_waits_for_the_tracker_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(system, "pause", lambda _: None)
    team = BeadsTeam(tmp_path / "project", monkeypatch, capsys).install()
    team.join("amber", "birch")
    task = team.add("Sign in")
    team.run("amber", "claim", task)
    team.install(before="import sys\nif sys.argv[1] != 'version': sys.exit(1)\n")
    assert "Close queued" in team.run("amber", "close").out

    waits = team.run("birch", "preflight")
    team.install()
    done = team.run("birch", "preflight")

    assert waits.code == done.code == 0
    assert "outbox:   1 still queued\n" in waits.out
    assert "outbox:   1 sent\n" in done.out
    assert team.rows()[task]["status"] == "closed"


@pytest.mark.requirement("G4", "R226")
def test_what_dead_sessions_left_is_named(team: Team) -> None:
    task = team.add("Sign in")
    team.run("amber", "claim", task)
    team.run("amber", "handoff", "create", "--to", "cedar", "please look at the form")
    team.pass_time(hours=13)
    team.join("dune")

    found = steps(team, "dune")

    amber = team.agent("amber")
    assert found["orphans"].startswith("amber left a handoff for cedar: .conductor/handoff_amber_to_cedar")
    assert f"{task}, held by {amber}: `passdown takeover {task}`" in found["orphans"]
    assert f"{amber} has been silent for 13 h and holds {task}" in found["agents"]


@pytest.mark.requirement("G4")
def test_silent_sessions_are_known_from_their_journals_where_nobody_coordinates(team: Team) -> None:
    team.run("amber", "track", "bind", "x", "--task", "t-1", "--skip-preflight")
    team.pass_time(minutes=11)

    found = steps(team, "birch")

    assert found["agents"] == f"{team.agent('amber')} has been silent for 11 min and holds t-1"
    assert not (team.project.folder / ".git/passdown/coordination.sqlite").exists()


# --- once in a session ----------------------------------------------------------------------------------


@pytest.mark.requirement("G4", "R159")
def test_commands_that_work_do_it_once_and_say_only_what_is_in_the_way(team: Team) -> None:
    task = team.add("Sign in")
    team.command("start", "--new", "--session", "cedar", "--track", "sign-in")
    team.run("amber", "track", "bind", "sign-in")

    quiet = team.run("birch", "claim", task, "--tdd")
    told = team.run("cedar", "claim")
    again = team.run("cedar", "claim")

    assert [line for line in quiet.err.splitlines() if "TDD" not in line] == []
    held = f"track sign-in is held by {team.agent('amber')} (expires in 11 min if it stays silent)"
    assert told.err.replace("\n  ", " ").splitlines() == [f"passdown: lock: {held}"]
    assert (told.code, again.code, again.err) == (0, 0, "")


@pytest.mark.requirement("G4")
def test_a_preflight_can_be_skipped(team: Team) -> None:
    team.run("amber", "track", "bind", "sign-in")

    done = team.run("birch", "track", "bind", "sign-in", "--skip-preflight")

    assert done.code == 0
    assert team.account("birch").is_prepared is False
    assert "lock" not in done.err


@pytest.mark.requirement("R21")
@pytest.mark.parametrize("words", [("gate", "pass", "spec", "--note", "read"), ("loop", "continue", "login")])
def test_gates_and_loops_do_it_once(team: Team, words: tuple[str, ...]) -> None:
    team.run("amber", "track", "bind", "sign-in", "--skip-preflight")
    team.command("loop", "open", "login", "ideation")
    team.run("birch", "track", "bind", "sign-in")

    first = team.run("amber", *words)
    second = team.run("amber", *words)

    assert (first.code, second.code) == (0, 0)
    assert f"lock: track sign-in is held by {team.agent('birch')}" in first.err
    assert "lock:" not in second.err
    assert team.account("amber").is_prepared
