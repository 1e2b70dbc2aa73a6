"""How a change goes on: which one is meant, what its phase says, and what each loop needs before it (G16)."""

import io
import json
import os
import sys
from pathlib import Path

import pytest

from passdown.faces.cli import output
from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import listing, put, stop_clock

STATE = "changes/habits/state.md"
TASKS = "changes/habits/tasks.md"
PHASES = {
    "ideation": ("ideation", True),
    "proposal": ("proposal", True),
    "specs": ("specs", True),
    "discovery": ("discovery", True),
    "tasks": ("tasks", True),
    "planning": ("plan-02", True),
    "implementing": ("implement-02", False),
    "reconciling": ("reconcile", True),
    "initialized": ("ideation", False),
    "finished": (None, False),
}
"""For each phase the loop in which a change goes on, and whether an agent does so by itself."""


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give an agent with a session, in a repository."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    project = make_started(tmp_path / "project")
    (project.folder / "passdown.toml").write_text("", encoding="utf-8")
    call = Caller(monkeypatch, capsys, project.folder)
    assert call("start", "--nickname", "forge").code == 0
    return call


def state(phase: str, *, lane: str = "full", mode: str = "manual", proposal: str = "approved") -> str:
    """Write a state as a person may have it."""
    return (
        f"# SDD State: habits\n\n## Phase\n\n{phase}\n\n## Lane\n\n{lane}\n\n## Run Mode\n\n{mode}\n\n"
        f"## Proposal\n\n- Status: {proposal}\n\n## Reconcile\n\n- Status: pending\n"
    )


def go_on(agent: Caller, *arguments: str) -> dict[str, object]:
    """Give what is said about where a change goes on."""
    done = agent("loop", "continue", *arguments, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert isinstance(found, dict)
    return found


# --- which change ---------------------------------------------------------------------------------


@pytest.fixture
def several(agent: Caller) -> Caller:
    """Give three changes, of which `second` changed last."""
    for number, name in enumerate(("first", "third", "second")):
        path = put(agent.folder, f"changes/{name}/state.md", state("ideation"))
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return agent


@pytest.mark.requirement("G16")
def test_a_change_that_is_named_is_meant_whichever_changed_last(several: Caller) -> None:
    assert go_on(several, "first")["change"] == "first"


@pytest.mark.requirement("G16")
def test_without_a_name_the_only_change_is_meant(agent: Caller) -> None:
    put(agent.folder, STATE, state("ideation"))

    assert go_on(agent)["change"] == "habits"


@pytest.mark.requirement("G16")
def test_of_several_the_one_that_changed_last_is_meant_after_a_confirmation(
    monkeypatch: pytest.MonkeyPatch, several: Caller
) -> None:
    monkeypatch.setattr(output, "has_person", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    agreed = several("loop", "continue")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    refused = several("loop", "continue")
    monkeypatch.setattr(output, "has_person", lambda: False)
    alone = several("loop", "continue")

    assert "Continue second?" in agreed.out
    assert "second: ideation (" in agreed.out
    assert go_on(several, "--yes")["change"] == "second"
    for done in (refused, alone):
        assert done.code == 2
        assert "name one of second, third, first" in done.err


# --- phases ---------------------------------------------------------------------------------------


@pytest.mark.requirement("G16")
@pytest.mark.parametrize("phase", PHASES)
def test_the_phase_of_a_change_decides_what_comes_next(agent: Caller, phase: str) -> None:
    put(agent.folder, STATE, state(phase))
    put(agent.folder, TASKS, "## [x] 01: Store\n\n## [-] 02: Show\n")
    before = listing(agent.folder / "changes")

    found = go_on(agent, "habits")

    assert (found["next_loop"], found["is_run"]) == PHASES[phase]
    assert listing(agent.folder / "changes") == before


@pytest.mark.requirement("G16")
@pytest.mark.parametrize(
    "is_again", [pytest.param(False, id="for the first time"), pytest.param(True, id="again")]
)
@pytest.mark.parametrize(
    ("loop", "phase", "files", "missing"),
    [
        ("ideation", "specs", {}, "its ideation is over"),
        ("proposal", "ideation", {}, ""),
        ("ideation", "proposal", {}, ""),
        ("discovery", "specs", {}, "has no specs"),
        ("discovery", "specs", {"specs/a.md": "# A\n"}, ""),
        ("tasks", "specs", {}, "has no discovery yet"),
        ("tasks", "discovery", {}, ""),
        ("tasks", "discovery", {"tasks.md": "## [-] 01: A\n"}, "are in progress or done: 01"),
        ("plan-01", "tasks", {}, "has no task 01"),
        (
            "plan-01",
            "tasks",
            {"tasks.md": "## [ ] 01: A\n## [-] 02: B\n"},
            "task 02 of habits is in progress",
        ),
        ("plan-01", "tasks", {"tasks.md": "## [ ] 01: A\n## [x] 02: B\n"}, ""),
        ("implement-01", "planning", {"tasks.md": "## [-] 01: A\n"}, "has no plan"),
        (
            "implement-01",
            "planning",
            {"tasks.md": "## [ ] 01: A\n", "plans/01.md": "# P\n"},
            "is not in progress",
        ),
        ("implement-01", "planning", {"tasks.md": "## [-] 01: A\n", "plans/01.md": "# P\n"}, ""),
        (
            "reconcile",
            "implementing",
            {"tasks.md": "## [x] 01: A\n## [-] 02: B\n"},
            "tasks of habits are open: 02",
        ),
        ("reconcile", "implementing", {}, "has no tasks yet"),
        ("reconcile", "implementing", {"tasks.md": "## [x] 01: A\n"}, ""),
    ],
)
def test_a_loop_opens_only_when_its_change_is_as_far(
    agent: Caller, loop: str, phase: str, files: dict[str, str], missing: str, *, is_again: bool
) -> None:
    put(agent.folder, STATE, state(phase))
    if is_again:
        put(agent.folder, f"changes/habits/loops/{loop}.md", "# Loop\n")
    for path, text in files.items():
        put(agent.folder, f"changes/habits/{path}", text)
    before = listing(agent.folder / "changes")

    done = agent("loop", "open", "habits", loop)

    assert done.code == (1 if missing else 0), done.err
    assert missing in " ".join(done.err.split())
    if missing:
        assert "hint:" in done.err
        assert listing(agent.folder / "changes") == before


@pytest.mark.requirement("G16")
def test_a_change_begins_only_in_a_folder_of_its_own(agent: Caller) -> None:
    put(agent.folder, "changes/habits/notes.txt", "x")

    assert agent("loop", "open", "habits", "ideation").code == 1
    assert agent("loop", "open", "other", "ideation").code == 0


# --- lanes and modes ------------------------------------------------------------------------------


@pytest.mark.requirement("G16")
@pytest.mark.parametrize("lane", ["bug", "quick"])
def test_short_lanes_go_from_the_proposal_to_the_tasks(agent: Caller, lane: str) -> None:
    assert agent("loop", "open", "habits", "proposal", "--lane", lane).code == 0
    waits = agent("loop", "open", "habits", "tasks")
    text = (agent.folder / STATE).read_text(encoding="utf-8")
    put(agent.folder, STATE, text.replace("Status: draft", "Status: approved"))

    refused = [agent("loop", "open", "habits", loop) for loop in ("ideation", "specs", "discovery")]

    assert (waits.code, "is not approved" in waits.err) == (1, True)
    assert [done.code for done in refused] == [1, 1, 1]
    assert all(f"the {lane} lane, which has no" in " ".join(done.err.split()) for done in refused)
    assert agent("loop", "open", "habits", "tasks").code == 0
    assert go_on(agent)["advice"] == "break the proposal down into tasks"


@pytest.mark.requirement("G16")
@pytest.mark.parametrize("mode", ["manual", "auto"])
@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("loop", ["specs", "discovery", "tasks", "plan-01", "implement-01", "reconcile"])
def test_no_mode_goes_past_a_proposal_that_nobody_approved(
    agent: Caller, loop: str, mode: str, *, is_there: bool
) -> None:
    put(agent.folder, STATE, state("proposal", mode=mode, proposal="draft"))
    put(agent.folder, TASKS, "## [x] 01: Store\n" if loop == "reconcile" else "## [-] 01: Store\n")
    put(agent.folder, "changes/habits/plans/01.md", "# Plan\n")
    put(agent.folder, "changes/habits/specs/a.md", "# A\n")
    if is_there:  # from a time at which it was approved
        put(agent.folder, f"changes/habits/loops/{loop}.md", "# Loop\n")
    before = listing(agent.folder / "changes")

    done = agent("loop", "open", "habits", loop)

    assert (done.code, "the proposal of habits is not approved" in done.err) == (1, True)
    assert listing(agent.folder / "changes") == before
    assert go_on(agent)["goes_on"] is False


@pytest.mark.requirement("G16")
@pytest.mark.parametrize("phase", PHASES)
def test_auto_mode_goes_on_from_the_approval_to_the_implementation(agent: Caller, phase: str) -> None:
    put(agent.folder, STATE, state(phase, mode="auto"))
    auto = go_on(agent, "habits")["goes_on"]
    put(agent.folder, STATE, state(phase, mode="manual"))

    assert auto is (phase not in {"reconciling", "finished"})
    assert go_on(agent, "habits")["goes_on"] is False


# --- the end --------------------------------------------------------------------------------------


@pytest.fixture
def reconciled(agent: Caller) -> Caller:
    """Give a change of which everything is done but the end."""
    put(agent.folder, STATE, state("reconciling").replace("pending", "complete") + "\n## Notes\n\nMine.\n")
    put(agent.folder, TASKS, "## [x] 01: Store\n")
    put(agent.folder, "changes/habits/loops/reconcile.md", "# Reconcile Loop\n")
    return agent


@pytest.mark.requirement("G16")
def test_a_change_that_is_reconciled_is_finished_and_nothing_of_it_is_lost(reconciled: Caller) -> None:
    before = listing(reconciled.folder / "changes")
    asked = go_on(reconciled)

    done = reconciled("loop", "finish", "habits")
    again = reconciled("loop", "finish", "habits", "--json")

    assert asked["advice"] == (
        "habits is reconciled; ask the user whether it is finished: `passdown loop finish habits`"
    )
    assert done.out == "finished habits; its ledgers stay in changes/habits/loops\n"
    after = dict(listing(reconciled.folder / "changes"))
    text = after.pop("habits/state.md").decode()
    assert "## Phase\n\nfinished\n" in text
    assert "## Finish Status\n\ncomplete\n" in text
    assert "## Notes\n\nMine.\n" in text
    assert after == {path: data for path, data in before.items() if path != "habits/state.md"}
    assert json.loads(again.out) == {
        "version": 1,
        "change": "habits",
        "phase": "finished",
        "state": STATE,
        "is_new": False,
    }
    assert reconciled("loop", "finish", "habits").out == "habits is already finished\n"
    assert "finished the change habits" in reconciled("brief").out
    assert reconciled("check").code == 0


@pytest.mark.requirement("G16")
@pytest.mark.parametrize(
    ("path", "old", "new", "problem", "hint"),
    [
        (STATE, "complete", "pending", "habits is not reconciled", "append habits reconcile TEXT --complete"),
        (STATE, "approved", "draft", "the proposal of habits is not approved", "a person runs"),
        (TASKS, "[x]", "[-]", "tasks of habits are open: 01", "implement them first"),
    ],
)
def test_a_change_of_which_something_is_left_is_not_finished(
    reconciled: Caller, path: str, old: str, new: str, problem: str, hint: str
) -> None:
    put(reconciled.folder, path, (reconciled.folder / path).read_text(encoding="utf-8").replace(old, new))
    before = listing(reconciled.folder / "changes")

    done = reconciled("loop", "finish", "habits")

    assert done.code == 1
    assert problem in " ".join(done.err.split())
    assert hint in " ".join(done.err.split())
    assert listing(reconciled.folder / "changes") == before


@pytest.mark.requirement("G16")
def test_a_change_is_not_finished_while_feedback_of_a_person_waits(reconciled: Caller) -> None:
    said = "# Reconcile Loop\n\n## Turn 1\n\nDone.\n\n## User Feedback\n\nThe manual, too.\n\n---\n"
    put(reconciled.folder, "changes/habits/loops/reconcile.md", said)

    refused = reconciled("loop", "finish", "habits")
    answered = reconciled("loop", "append", "habits", "reconcile", "The manual, too.", "--answers", "1")
    done = reconciled("loop", "finish", "habits", "--json")

    assert refused.code == 1
    assert "unanswered feedback: habits/reconcile turn 1" in " ".join(refused.err.split())
    assert "`passdown loop continue habits` shows it" in " ".join(refused.err.split())
    assert answered.code == 0
    assert json.loads(done.out)["is_new"] is True


@pytest.mark.requirement("G16")
def test_a_change_that_is_finished_does_not_go_on(reconciled: Caller) -> None:
    assert reconciled("loop", "finish", "habits").code == 0

    nothing = reconciled("loop", "continue")
    refused = reconciled("loop", "open", "habits", "tasks", "--force")
    put(reconciled.folder, "changes/other/state.md", state("ideation"))

    assert (nothing.code, "there is no change to continue" in nothing.err) == (2, True)
    assert (refused.code, "habits is finished" in refused.err) == (1, True)
    assert go_on(reconciled)["change"] == "other"
    unknown = reconciled("loop", "finish", "never")
    assert (unknown.code, "there is no change never" in unknown.err) == (2, True)


@pytest.mark.requirement("G16")
def test_work_after_the_reconciliation_is_reconciled_again(reconciled: Caller) -> None:
    put(reconciled.folder, TASKS, "## [x] 01: Store\n## [ ] 02: Show\n")

    assert reconciled("loop", "open", "habits", "plan-02").code == 0
    assert go_on(reconciled)["next_loop"] == "plan-02"
    put(reconciled.folder, TASKS, "## [x] 01: Store\n## [x] 02: Show\n")
    refused = reconciled("loop", "finish", "habits")

    assert (refused.code, "habits is not reconciled" in refused.err) == (1, True)
