"""The life of a session, as a user calls it."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from passdown.core.formats.ledgers import parse_ledger
from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.core.times import parse_instant
from passdown.engines.process import SystemProcesses
from passdown.engines.system import SystemClock, SystemEntropy
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_started
from tests.support.projects import EVENTS
from tests.support.sessions import LEDGER, NOON, CountedEntropy

HEAD = "generic-00000001 started on main (s-000000000002)\nledger: conductor/sessions/active/LEDGER.md\n"


class Clock:
    """The machine's clock, moved by the test."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Stand at noon."""
        self.at = NOON
        monkeypatch.setattr(SystemClock, "now", lambda _: self.at)

    def pass_time(self, **span: float) -> None:
        """Go on."""
        self.at += timedelta(**span)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Give the clock."""
    return Clock(monkeypatch)


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: Clock) -> Project:
    """Give a repository in which names are counted and nobody knows processes."""
    assert clock.at == parse_instant("2026-01-11T12:00:00Z")
    entropy = CountedEntropy()
    monkeypatch.setattr(SystemEntropy, "token", lambda _, size: entropy.token(size))
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
    return make_started(tmp_path / "project")


def events(project: Project) -> list[Path]:
    folder = project.folder / EVENTS
    return sorted(folder.iterdir()) if folder.exists() else []


def test_a_start_tells_who_and_where(command: Caller, project: Project) -> None:
    assert command("start") == Done(0, HEAD, "")
    assert parse_ledger((project.folder / LEDGER).read_text()).problems == ()
    assert project.git("status", "--porcelain") == ""


def test_a_start_with_the_same_id_goes_on(command: Caller) -> None:
    command(
        "start", "--session", "h-1", "--host", "claude", "--nickname", "Toast", "--track", "t-1", "--multi"
    )
    command("goal", "Ship it")

    again = command("start", "--session", "h-1", "--host", "claude")

    assert again.out == (
        "toast-00000001 is already running on main (s-000000000002)\n"
        "ledger: conductor/sessions/active/LEDGER.md\n"
        "goal: Ship it\n"
    )
    answer = json.loads(command("start", "--session", "h-1", "--host", "claude", "--json").out)
    assert (answer["version"], answer["agent"], answer["is_new"], answer["recovered"], answer["others"]) == (
        1,
        "toast-00000001",
        False,
        [],
        [],
    )
    assert (answer["track"], answer["task"], answer["goal"], answer["now"]) == ("t-1", None, "Ship it", None)


@pytest.mark.requirement("R5", "C54")
def test_a_host_that_nobody_knows_is_kept_with_a_warning(command: Caller, project: Project) -> None:
    done = command("start", "--host", "mainframe")

    assert (done.code, done.err) == (
        0,
        "passdown: unknown host mainframe; recorded as given\n",
    )
    assert "platform: mainframe\n" in (project.folder / LEDGER).read_text()


@pytest.mark.requirement("C82")
def test_a_session_that_starts_again_after_a_crash_keeps_its_track_and_its_task(
    command: Caller, clock: Clock
) -> None:
    command("start", "--session", "mine", "--track", "auth")
    command("track", "bind", "--task", "bd-7", "--session", "mine")
    clock.pass_time(hours=25)

    answer = json.loads(command("start", "--session", "mine", "--json").out)

    assert (answer["is_new"], len(answer["recovered"])) == (True, 1)
    assert command("track", "show", "--session", "mine").out == "track: auth\ntask: bd-7\n"
    clock.pass_time(hours=25)
    command("start", "--session", "mine", "--fresh")
    assert command("track", "show", "--session", "mine").out == "track: none\ntask: none\n"


def test_a_start_names_what_it_recovered_and_who_else_is_at_work(
    command: Caller, clock: Clock, project: Project
) -> None:
    command("done", "a", "--session", json.loads(command("start", "--json").out)["session"])
    command("start", "--new")
    clock.pass_time(hours=25)
    command("now", "working", "--session", "s-000000000002")
    clock.pass_time(seconds=5)

    done = command("start", "--new")

    assert done.out.startswith("generic-00000005 started on main")
    assert done.err.splitlines() == [
        "passdown: recovered generic-00000003 (did not end; last seen 1 d ago); you continue its work",
        "  hint: to start clean: `passdown end --session generic-00000005`, then",
        "        `passdown start --fresh`",
        "passdown: generic-00000001 is working here too (last seen 5 s ago): working",
    ]
    clock.pass_time(hours=25)
    answer = command("start", "--fresh")
    (event,) = events(project)
    assert "working" in event.read_text()
    assert "recovered generic-00000001 (did not end; last seen 1 d ago)\n" in answer.err
    assert "continue its work" not in answer.err
    silent = command("start", "--new")
    assert "is working here too (last seen just now; no status yet)\n" in silent.err


def test_a_heartbeat_says_who_is_alive(command: Caller, clock: Clock, project: Project) -> None:
    command("start")
    clock.pass_time(minutes=5)

    assert command("heartbeat") == Done(0, "recorded a heartbeat of generic-00000001\n", "")
    assert "heartbeat: 2026-01-11T12:05:00Z\n" in (project.folder / LEDGER).read_text()
    assert json.loads(command("heartbeat", "--json").out)["touched_at"] == "2026-01-11T12:05:00+00:00"


def test_an_end_publishes_and_comes_once(command: Caller, project: Project) -> None:
    command("start")
    command("done", "a")

    done = command("end", "--reason", "clear")

    (event,) = events(project)
    assert done.code == 0
    assert done.out.startswith("generic-00000001 ended; published ev-")
    assert "reason: clear\n" in event.read_text()
    assert command("end") == Done(
        2, "", "passdown: no session is running here\n  hint: `passdown status` lists the sessions\n"
    )
    assert command("end", "--session", "generic-00000001").code == 2
    assert len(events(project)) == 1


def test_an_end_of_a_session_that_said_nothing(command: Caller, project: Project) -> None:
    command("start")
    assert command("end").out == "generic-00000001 ended; nothing left to publish\n"
    command("start", "--fresh")
    command("done", "a")
    answer = json.loads(command("end", "--json").out)

    assert answer["event"].startswith("ev-")
    assert len(events(project)) == 1
    command("start", "--fresh")
    assert json.loads(command("end", "--json").out)["event"] is None


def test_publishing_says_what_was_published(command: Caller, project: Project) -> None:
    command("start")
    assert command("publish") == Done(0, "nothing to publish\n", "")
    assert json.loads(command("publish", "--json").out) == {
        "version": 1,
        "event": None,
        "file": None,
        "stream": None,
        "commit": None,
    }

    done = command("publish", "--checkpoint", "2", "--state", "in progress")
    answer = json.loads(command("publish", "--checkpoint", "3", "--json").out)

    first, second = events(project)
    assert done.out.endswith(f": {first.name}\n")
    assert "phase: 2" in first.read_text()
    assert (answer["file"], answer["event"][:3]) == (second.name, "ev-")
    assert "phase: 3\n  status: validated" in second.read_text()


@pytest.mark.requirement("C11", "R86")
def test_a_state_that_no_phase_has_is_refused_and_changes_nothing(command: Caller, project: Project) -> None:
    command("publish", "--checkpoint", "2", "--state", "→ IN_PROGRESS", "--name", "Login")

    refused = command("publish", "--checkpoint", "2", "--state", "bogus")

    assert refused == Done(
        2,
        "",
        "passdown: 'bogus' is not a phase state\n"
        "  hint: use one of pending, in_progress, validated, failed, skipped\n",
    )
    (event,) = events(project)
    assert "- phase: 2\n  status: in_progress\n" in event.read_text()
    assert "  name: Login\n" in event.read_text()


def test_publishing_tells_of_a_broken_ledger(command: Caller, project: Project) -> None:
    command("done", "a")
    path = project.folder / LEDGER
    path.write_text(path.read_text().replace("updated: 2026", "updated: soon"))

    done = command("publish")

    assert done.code == 0
    assert "the ledger was not changed" in done.err
    assert len(events(project)) == 1


def test_a_status_lists_who_runs_and_who_is_stale(command: Caller, clock: Clock) -> None:
    rest = "handoffs: none\n"
    assert command("status") == Done(0, f"no session is running in this project\n{rest}", "")
    command("start")
    command("goal", "Ship it")
    command("now", "x" * 50 + " " + "y" * 50)
    clock.pass_time(minutes=3)
    assert command("status").out == (
        "generic-00000001  live, last seen 3 min ago, on main\n"
        "    goal: Ship it\n"
        f"    now: {'x' * 50}\n"
        f"      {'y' * 50}\n"
        f"    ledger: updated 3 min ago\n{rest}"
    )
    clock.pass_time(hours=25)
    assert command("status").out.startswith("generic-00000001  stale, last seen 1 d ago, on main\n")
    command("start")
    assert command("status").out.startswith("generic-00000003  live, last seen just now, on main\n")
    assert command("status", "--all").out.startswith("generic-00000001  ended, last seen just now, on main\n")
    answer = json.loads(command("status", "--all", "--json").out)
    assert [(one["agent"], one["state"]) for one in answer["sessions"]] == [
        ("generic-00000001", "ended"),
        ("generic-00000003", "live"),
    ]
    assert answer["sessions"][1]["continues"] == "s-000000000002"
    assert len(json.loads(command("status", "--json").out)["sessions"]) == 1


def test_a_status_says_that_the_project_is_paused(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    assert json.loads(command("status", "--json").out)["paused_by"] is None
    command("pause")

    said = "paused by .git/passdown/paused: nothing runs automatically until `passdown unpause`\n"
    assert command("status").out.startswith(f"{said}no session is running in this project\n")
    monkeypatch.setenv("PASSDOWN_OFF", "1")
    assert json.loads(command("status", "--json").out)["paused_by"] == "PASSDOWN_OFF, .git/passdown/paused"


def test_a_fresh_start_is_not_told_the_goal_of_yesterday(command: Caller) -> None:
    command("start")
    command("goal", "Ship it")
    command("end")

    assert json.loads(command("start", "--fresh", "--json").out)["goal"] is None
    assert "Ship it" not in command("brief").out
    command("goal", "Mend it")
    assert "Goal:\n> Mend it\n" in command("brief").out


def test_a_session_keeps_the_mode_it_began_with(command: Caller, project: Project) -> None:
    command("start", "--session", "h-1")

    assert command("start", "--session", "h-1", "--multi").err == (
        "passdown: h-1-00000001 keeps the mode it started with: SA\n"
    )
    assert json.loads((project.folder / ".conductor" / "session-state_h-1.json").read_text())["mode"] == "SA"


@pytest.mark.parametrize(
    ("preferences", "mode"),
    [('{"preferredMode": "MA"}', "MA"), ('{"preferredMode": "XX"}', "SA"), ("[", "SA"), ("[]", "SA")],
)
def test_the_mode_that_is_preferred_here_is_taken(
    command: Caller, project: Project, preferences: str, mode: str
) -> None:
    folder = project.folder / ".conductor"
    folder.mkdir()
    (folder / "preferences.json").write_text(preferences, encoding="utf-8")

    command("start")

    [path] = folder.glob("session-state_*.json")
    assert json.loads(path.read_text(encoding="utf-8"))["mode"] == mode


@pytest.mark.requirement("C37")
def test_an_end_can_leave_the_ledger(command: Caller, project: Project) -> None:
    command("start")
    command("goal", "Ship it")

    assert "archived" not in command("end", "--keep").out
    ledger = project.folder / "conductor" / "sessions" / "active" / "LEDGER.md"
    assert "Ship it" in ledger.read_text(encoding="utf-8")
    assert "archived old ledger" in command("start").err
