"""What the ledger, the state file and the commands say of a session agrees, whatever was edited by hand."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from passdown.core.formats.archives import parse_archive
from passdown.core.formats.events import parse_event
from passdown.core.formats.ledgers import Ledger, Mode, TddPhase, Validation, parse_ledger
from passdown.core.formats.views import parse_view
from passdown.core.sessions.handoffs import from_archive
from passdown.engines.system import SystemClock
from tests.support.commands import Caller, run
from tests.support.gits import Project, make_started
from tests.support.projects import EVENTS, call_at_noon
from tests.support.sessions import LEDGER, NOON

VIEW = "thoughts/shared/handoffs/current.md"
ARCHIVE = "conductor/sessions/archive"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository."""
    return make_started(tmp_path / "project")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command."""
    return call_at_noon(monkeypatch, capsys, project.folder)


def read_ledger(command: Caller) -> Ledger:
    """Read the ledger, and find nothing wrong with it."""
    ledger = parse_ledger((command.folder / LEDGER).read_text(encoding="utf-8"))
    assert ledger.problems == ()
    return ledger


def read_state(command: Caller) -> dict[str, Any]:
    """Read the state file of the one session."""
    (path,) = (command.folder / ".conductor").glob("session-state_*.json")
    return dict(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.requirement("C28")
def test_keys_are_camel_case_in_the_state_file_and_snake_case_elsewhere(command: Caller) -> None:
    command("track", "bind", "auth_20260111")

    state = read_state(command)
    ledger = (command.folder / LEDGER).read_text(encoding="utf-8")
    told = json.loads(command("status", "--json").out)

    assert {"agentId", "trackId", "currentTask", "tddPhase", "lastUpdated"} <= state.keys()
    assert not [key for key in state if "_" in key]
    assert "\nbound_track: auth_20260111\n" in ledger
    assert not [key for key in re.findall(r"(?m)^ *(\w+):", ledger.split("---")[1]) if key != key.lower()]
    assert [*told] == [key.lower() for key in told]


@pytest.mark.requirement("R15")
def test_what_sessions_remember_and_what_the_workflow_does_stand_in_one_file(command: Caller) -> None:
    command("start", "--nickname", "amber")
    command("now", "write the parser")
    command("track", "bind", "auth_20260111")
    command("gate", "fail", "design", "--note", "no product")
    ledger = read_ledger(command)
    assert (ledger.now, ledger.bound_track) == ("write the parser", "auth_20260111")
    assert [(row.gate, row.notes) for row in ledger.gate_history] == [("design", "no product")]

    path = command.folder / LEDGER
    text = path.read_text(encoding="utf-8").replace("write the parser", "write the tests")
    path.write_text(text.replace("bound_track: auth_20260111", "bound_track: api_20260112"), encoding="utf-8")

    brief = command("brief").out
    assert "> write the tests\n" in brief
    assert "track > api_20260112\n" in brief
    assert command("gate").out.startswith("track: api_20260112\n")


def edit(command: Caller, old: str, new: str) -> None:
    """Change the ledger as a person would."""
    path = command.folder / LEDGER
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, text
    path.write_text(text.replace(old, new), encoding="utf-8")


def bindings(command: Caller) -> tuple[tuple[str | None, str | None], ...]:
    """Give track and task as front matter, body, state file and command say them."""
    ledger, state = read_ledger(command), read_state(command)
    shown = json.loads(command("track", "--json").out)
    return (
        (ledger.bound_track, ledger.bound_bead),
        (ledger.task_track, ledger.task_bead),
        (state["trackId"], state["currentTask"]),
        (shown["track"], shown["task"]),
    )


@pytest.mark.requirement("R16", "R17")
def test_a_new_ledger_has_the_defaults_of_the_template(command: Caller) -> None:
    command("start")

    text = (command.folder / LEDGER).read_text(encoding="utf-8")
    block = "validation:\n  gates_passed: []\n  current_gate: null\n  retries: 0\n  last_failure: null\n"
    assert block in text
    assert "tdd_phase: null\n" in text
    assert read_ledger(command).validation == Validation()


@pytest.mark.requirement("R16")
def test_a_validation_block_that_somebody_filled_in_stays(command: Caller) -> None:
    command("start")
    edit(command, "gates_passed: []", "gates_passed: [design]")
    edit(command, "retries: 0", "retries: 1")

    command("done", "wrote the parser")

    assert read_ledger(command).validation == Validation(gates_passed=("design",), retries=1)


@pytest.mark.requirement("R27")
@pytest.mark.parametrize(("zone", "ahead"), [("IST-5:30", 330), ("PST8", -480)])
def test_a_decision_is_dated_in_local_time(
    monkeypatch: pytest.MonkeyPatch, project: Project, zone: str, ahead: int
) -> None:
    monkeypatch.setenv("TZ", zone)  # in this form Windows knows it, too

    assert run("decide", "db", "SQLite", cwd=project.folder).code == 0

    ledger = parse_ledger((project.folder / LEDGER).read_text(encoding="utf-8"))
    assert ledger.updated is not None
    local = ledger.updated + timedelta(minutes=ahead)
    assert [one.when for one in ledger.decisions] == [f"{local:%H:%M}"]


@pytest.mark.requirement("R34", "R35", "R219")
def test_a_claim_binds_the_task_and_a_close_keeps_the_track(command: Caller) -> None:
    command("track", "bind", "auth")
    assert set(bindings(command)) == {("auth", None)}

    claimed = command("track", "bind", "--task", "bd-1").out
    assert " works on task bd-1\n" in claimed
    assert set(bindings(command)) == {("auth", "bd-1")}

    closed = command("track", "unbind", "--task").out
    assert closed.endswith(" no longer works on task bd-1\n")
    assert set(bindings(command)) == {("auth", None)}
    assert command("track", "unbind", "--task").out.endswith(" has no task\n")


@pytest.mark.requirement("R33", "R34")
def test_track_and_task_can_be_bound_together(command: Caller) -> None:
    answer = json.loads(command("track", "bind", "auth", "--task", "bd-1", "--json").out)

    assert (answer["track"], answer["task"], answer["before"]) == ("auth", "bd-1", None)
    assert set(bindings(command)) == {("auth", "bd-1")}
    answer = json.loads(command("track", "unbind", "--task", "--json").out)
    assert (answer["track"], answer["task"], answer["before"]) == ("auth", None, "auth")
    refused = command("track", "bind")
    assert (refused.code, refused.out) == (2, "")
    assert "name a track, a task, or both" in refused.err


@pytest.mark.requirement("R34", "R35")
def test_a_task_that_is_edited_in_the_ledger_is_taken_in(command: Caller) -> None:
    command("track", "bind", "auth")
    edit(command, "bound_bead: null", "bound_bead: bd-1")
    assert "recorded 1 manual edit from" in command("note", "a").err
    assert set(bindings(command)) == {("auth", "bd-1")}

    edit(command, "bound_bead: bd-1", "bound_bead: null")
    command("note", "b")

    assert set(bindings(command)) == {("auth", None)}


def finish(command: Caller) -> None:
    assert command("track", "finish").code == 0


def finish_and_keep(command: Caller) -> None:
    assert command("track", "finish", "--keep").code == 0


def archive(command: Caller) -> None:
    assert command("handoff", "create", "--archive").code == 0


def end(command: Caller) -> None:
    assert command("end").code == 0


def unbind(command: Caller) -> None:
    assert command("track", "unbind").code == 0


@pytest.mark.requirement("R36", "R37", "R38")
@pytest.mark.parametrize("leave", [finish, finish_and_keep, archive, end, unbind])
def test_who_leaves_a_track_has_no_track_task_or_phase_anywhere(
    command: Caller, leave: Callable[[Caller], None]
) -> None:
    command("track", "bind", "auth", "--task", "bd-1")
    edit(command, "tdd_phase: null", "tdd_phase: RED")
    command("done", "wrote the parser")
    before = read_state(command)
    assert (before["trackId"], before["currentTask"], before["tddPhase"]) == ("auth", "bd-1", "RED")

    leave(command)

    after = read_state(command)
    assert (after["trackId"], after["currentTask"], after["tddPhase"]) == (None, None, None)
    command("note", "the ledger is written anew")
    assert read_ledger(command).bound_track is None
    assert read_ledger(command).tdd_phase is None


@pytest.mark.requirement("R19", "R38")
def test_a_stale_session_that_is_archived_has_no_track_or_task(
    monkeypatch: pytest.MonkeyPatch, command: Caller
) -> None:
    command("track", "bind", "auth", "--task", "bd-1")
    command("done", "wrote the parser")
    monkeypatch.setattr(SystemClock, "now", lambda _: NOON + timedelta(days=2))

    command("start", "--new")

    assert len(list((command.folder / ARCHIVE).glob("*-stale-*.md"))) == 1
    states = [json.loads(path.read_text()) for path in (command.folder / ".conductor").glob("*.json")]
    assert len(states) == 2
    assert {(one["trackId"], one["currentTask"]) for one in states} == {(None, None)}


@pytest.mark.requirement("R11", "R219")
def test_the_phase_of_the_ledger_is_that_of_the_state_file(command: Caller) -> None:
    command("track", "bind", "--task", "bd-1")
    edit(command, "tdd_phase: null", "tdd_phase: RED")

    command("heartbeat")

    assert (read_ledger(command).tdd_phase, read_state(command)["tddPhase"]) == (TddPhase.RED, "RED")
    edit(command, "tdd_phase: RED", "tdd_phase: null")
    command("heartbeat")
    assert (read_ledger(command).tdd_phase, read_state(command)["tddPhase"]) == (None, None)


@pytest.mark.requirement("R219", "C5")
def test_a_phase_that_only_the_state_file_says_gives_way_to_the_ledger(command: Caller) -> None:
    command("start")
    (path,) = (command.folder / ".conductor").glob("session-state_*.json")
    path.write_text(path.read_text().replace('"tddPhase": null', '"tddPhase": "RED"'))

    command("heartbeat")

    assert (read_ledger(command).tdd_phase, read_state(command)["tddPhase"]) == (None, None)


@pytest.mark.requirement("R219")
def test_closing_a_task_clears_its_phase_and_the_tasks_claimed_with_it(command: Caller) -> None:
    command("track", "bind", "--task", "bd-1")
    edit(command, "tdd_phase: null", "tdd_phase: GREEN\ncurrent_tasks: [bd-1, bd-2]")
    command("note", "a")
    assert read_ledger(command).current_tasks == ("bd-1", "bd-2")

    command("track", "unbind", "--task")

    ledger, state = read_ledger(command), read_state(command)
    assert (ledger.bound_bead, ledger.tdd_phase, ledger.current_tasks) == (None, None, ())
    assert (state["currentTask"], state["tddPhase"], state["currentTasks"]) == (None, None, None)


def nows(command: Caller) -> dict[str, str | None]:
    """Give what is done now as ledger, list of sessions, view and brief say it."""
    command("publish")
    command("synthesize")
    (session,) = json.loads(command("status", "--json").out)["sessions"]
    brief = command("brief").out.partition("\nNow:\n> ")[2].partition("\n")[0]
    return {
        "ledger": read_ledger(command).now or None,
        "status": session["now"],
        "view": parse_view((command.folder / VIEW).read_text(encoding="utf-8")).now or None,
        "brief": brief or None,
    }


@pytest.mark.requirement("R64", "R77")
@pytest.mark.parametrize("over", [("done",), ("done", "write the parser"), ("now", "--clear")])
def test_what_is_done_or_left_stands_nowhere_under_now(command: Caller, over: tuple[str, ...]) -> None:
    command("goal", "Ship it")
    command("now", "write the parser")
    assert set(nows(command).values()) == {"write the parser"}

    done = command(*over)

    assert (done.code, done.err) == (0, "")
    assert set(nows(command).values()) == {None}
    assert "### Now" not in (command.folder / VIEW).read_text(encoding="utf-8")
    assert read_ledger(command).done == (("write the parser",) if over[0] == "done" else ())
    command("now", "write the parser")
    assert set(nows(command).values()) == {"write the parser"}


@pytest.mark.requirement("R77")
def test_what_is_removed_from_now_by_hand_is_left_everywhere(command: Caller) -> None:
    command("now", "write the parser")
    command("publish")
    edit(command, "### Now\n- write the parser\n", "### Now\n")

    command("note", "a")

    assert set(nows(command).values()) == {None}


@pytest.mark.requirement("R77", "C59")
def test_what_the_next_session_finishes_does_not_come_back(command: Caller) -> None:
    command("now", "write the parser")
    command("end")
    assert "write the parser" in command("start").out + command("brief").out

    command("done")

    assert set(nows(command).values()) == {None}


def test_clearing_says_what_was_left(command: Caller) -> None:
    command("now", "write the parser")

    assert command("now", "--clear").out == "now cleared; it was: write the parser\n"
    assert command("now", "--clear").out == "now is already empty\n"
    assert json.loads(command("now", "--clear", "--json").out)["text"] == ""
    refused = command("now", "a", "--clear")
    assert (refused.code, refused.out) == (2, "")
    assert "give either a text or --clear" in refused.err


@pytest.mark.requirement("R109", "C59")
def test_leaving_ones_own_work_leaves_that_of_others(command: Caller) -> None:
    one = json.loads(command("start", "--json").out)["session"]
    other = json.loads(command("start", "--new", "--json").out)["session"]
    command("now", "mine", "--session", one)
    command("publish", "--session", one)
    command("now", "theirs", "--session", other)
    command("publish", "--session", other)

    command("now", "--clear", "--session", one)
    command("publish", "--session", one)
    command("synthesize")

    assert parse_view((command.folder / VIEW).read_text(encoding="utf-8")).now == "theirs"


def branches(command: Caller) -> dict[str, object]:
    """Give the branch as list of sessions, ledger, event and record say it."""
    status = json.loads(command("status", "--json").out)["sessions"][0]["branch"]
    command("done", status)
    written = json.loads(command("handoff", "create", "--json").out)
    (event,) = [path for path in (command.folder / EVENTS).iterdir() if f"- {status}\n" in path.read_text()]
    archive = (command.folder / written["record"]).read_text(encoding="utf-8")
    return {
        "status": status,
        "ledger": read_ledger(command).branch,
        "event": parse_event(event.read_text(encoding="utf-8")).branch,
        "record": from_archive(parse_archive(archive)).branch,
    }


@pytest.mark.requirement("R28", "R98", "G15")
def test_the_branch_follows_a_switch_and_is_unknown_without_one(command: Caller, project: Project) -> None:
    command("start")
    assert set(branches(command).values()) == {"main"}

    project.git("switch", "-qc", "feature/auth")
    assert set(branches(command).values()) == {"feature/auth"}

    project.git("checkout", "-q", "--detach")
    assert set(branches(command).values()) == {"unknown"}


@pytest.mark.requirement("G15")
def test_the_branch_of_a_session_elsewhere_is_that_of_its_checkout(command: Caller, project: Project) -> None:
    other = command.folder.parent / "other"
    project.git("worktree", "add", "-q", str(other))
    assert run("start", cwd=other).code == 0
    Project(folder=other).git("switch", "-qc", "feature/auth")

    (session,) = json.loads(command("status", "--json").out)["sessions"]

    assert (session["checkout"], session["branch"]) == (str(other), "feature/auth")


@pytest.mark.requirement("G15")
def test_a_session_that_never_ended_keeps_the_branch_it_was_seen_on(
    monkeypatch: pytest.MonkeyPatch, command: Caller, project: Project
) -> None:
    command("done", "wrote the parser")
    project.git("switch", "-qc", "another")
    monkeypatch.setattr(SystemClock, "now", lambda _: NOON + timedelta(hours=25))

    command("start", "--new")

    (event,) = (command.folder / EVENTS).iterdir()
    assert "branch: main\n" in event.read_text()


@pytest.mark.requirement("G15")
def test_a_worktree_and_a_folder_below_it_are_of_one_project(command: Caller, project: Project) -> None:
    command("start", "--nickname", "toast")
    other = command.folder.parent / "other"
    project.git("worktree", "add", "-q", str(other))
    (other / "src").mkdir()

    seen = json.loads(run("status", "--json", cwd=other / "src").out)["sessions"]

    assert [one["checkout"] for one in seen] == [str(command.folder)]
    assert run("goal", "Ship it", "--session", seen[0]["session"], cwd=other / "src").code == 0
    assert json.loads(command("status", "--json").out)["sessions"][0]["goal"] == "Ship it"
    assert not (other / "conductor").exists()
    assert len(list((command.folder / ".git/passdown/journal").iterdir())) == 1


@pytest.mark.requirement("R101", "G15", "C57")
def test_an_event_is_named_to_the_millisecond_and_written_once(command: Caller) -> None:
    command("done", "a")
    command("publish")
    assert command("publish").out == "nothing to publish\n"
    command("end")
    assert command("end").code == 2

    event, end = sorted((command.folder / EVENTS).iterdir())
    assert "type: session_end\n" in end.read_text()
    assert re.fullmatch(r"2026-01-11T12-00-00\.000Z_generic-[0-9a-f]{8}\.md", event.name)
    assert "ts: 2026-01-11T12:00:00.000Z\n" in event.read_text()


@pytest.mark.requirement("R14")
@pytest.mark.parametrize(
    "verb",
    [
        ("note", "a"),
        ("done", "a", "--json"),
        ("heartbeat",),
        ("publish",),
        ("track", "bind", "auth"),
        ("start", "--session", "h-1"),
        ("end", "--keep"),
    ],
)
@pytest.mark.parametrize(("new", "found"), [("mode: MA", "was changed to MA"), ("x-mode: MA", "was removed")])
def test_a_mode_that_is_edited_by_hand_is_put_back_and_said_once(
    command: Caller, verb: tuple[str, ...], new: str, found: str
) -> None:
    command("start", "--session", "h-1")
    edit(command, "\nmode: SA", f"\n{new}")
    line = 7 if found == "was changed to MA" else 1

    done = command(*verb)

    assert done.code == 0
    warning = f"{LEDGER}:{line}: mode {found}; changed back to SA: a session keeps the mode it started with"
    assert f"passdown: {warning}\n" in done.err
    assert read_ledger(command).mode is Mode.SINGLE
    assert read_state(command)["mode"] == "SA"
    assert "mode" not in command("status").err + command("heartbeat").err
