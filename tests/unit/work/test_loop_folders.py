"""Folders of ledgers that nobody opened with a command go on from what their ledgers say (S3, C105)."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.work.loops import ChangeFacts, LoopKind, LoopName, TaskMark, find_last, find_route
from tests.support.commands import Caller
from tests.support.gits import Project
from tests.support.projects import listing, put

SLOT = "## User Feedback\n\n(Leave blank to continue. Write notes here to guide the next iteration.)\n\n---\n"
IDEATION = f"# Ideation Loop\n\n## Turn 1\n\nA habit tracker, offline first.\n\n{SLOT}"
PROPOSAL = (
    "# Proposal Loop\n\n## Turn 1\n\nStreaks, with a penalty.\n\n"
    "## User Feedback\n\nKeep the streaks, but nobody should feel guilty.\n\n---\n"
)
SUCCESS = f"# Implementation: Task 01\n\n## Result\n\nSUCCESS\n\n{SLOT}"
FAILED = SUCCESS.replace("SUCCESS", "FAILED")


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give an agent with a session."""
    call = Caller(monkeypatch, capsys, project.folder)
    assert call("start", "--nickname", "forge").code == 0
    return call


def lay(agent: Caller, **ledgers: str) -> None:
    """Write ledgers as another tool or a person would; `_` in a name stands for `-`."""
    for name, text in ledgers.items():
        put(agent.folder, f"changes/habits/loops/{name.replace('_', '-')}.md", text)


def go_on(agent: Caller) -> dict[str, object]:
    """Give what is said about where the change goes on."""
    done = agent("loop", "continue", "habits", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert isinstance(found, dict)
    return found


@pytest.mark.requirement("R143", "R154", "C105", through="command")
def test_a_folder_of_ledgers_goes_on_with_its_last_turn_and_feedback(agent: Caller) -> None:
    lay(agent, ideation=IDEATION, proposal=PROPOSAL)

    shown = agent("loop", "continue", "habits").out
    added = agent("loop", "append", "habits", "proposal", "Streaks without a penalty.")

    assert shown.startswith(
        "habits: proposal (full lane, manual mode, not approved)\nnext: revise the proposal"
    )
    assert "last turn of changes/habits/loops/proposal.md:\n> Streaks, with a penalty.\n" in shown
    assert "> habits/proposal turn 1: Keep the streaks, but nobody should feel guilty.\n" in shown
    assert added.out == (
        "added turn 2 to changes/habits/loops/proposal.md\nanswered the feedback on turn 1\n"
    )
    text = (agent.folder / "changes/habits/loops/proposal.md").read_text(encoding="utf-8")
    assert text.startswith(PROPOSAL)
    assert not (agent.folder / "changes/habits/state.md").exists()


@pytest.mark.requirement("G16", "R144", through="command")
@pytest.mark.parametrize(
    ("ledgers", "phase", "task", "next_loop"),
    [
        (("ideation",), "ideation", None, "ideation"),
        (("ideation", "proposal", "specs"), "specs", None, "specs"),
        (("discovery", "specs"), "discovery", None, "discovery"),
        (("tasks", "specs"), "tasks", None, "tasks"),
        (("tasks", "plan-01"), "planning", "01", "plan-01"),
        (("plan-01", "implement-01"), "implementing", "01", "implement-01"),
        (("plan-01", "implement-01", "plan-02"), "planning", "02", "plan-02"),
        (("plan-01", "implement-01", "plan-20", "plan-100"), "planning", "100", "plan-100"),
        (("implement-01", "reconcile", "plan-01"), "reconciling", None, "reconcile"),
        (("finish",), "initialized", None, "ideation"),
    ],
)
def test_the_last_ledger_decides_where_a_folder_goes_on(
    agent: Caller, ledgers: Sequence[str], phase: str, task: str | None, next_loop: str
) -> None:
    for name in ledgers:
        put(agent.folder, f"changes/habits/loops/{name}.md", IDEATION)
    before = listing(agent.folder / "changes")

    found = go_on(agent)

    assert (found["phase"], found["task"], found["next_loop"]) == (phase, task, next_loop)
    assert listing(agent.folder / "changes") == before


@pytest.mark.requirement("G16", "R157", through="command")
@pytest.mark.parametrize(
    ("ledger", "tasks", "next_loop", "advice"),
    [
        (FAILED, "", "implement-01", "implement the plan of task 01, then append its result to implement-01"),
        (SUCCESS, "", "reconcile", "task 01 is done; continue with `passdown loop open habits reconcile`"),
        (
            SUCCESS,
            "## [x] 01: A\n## [ ] 02: B\n",
            "plan-02",
            "task 01 is done; continue with `passdown loop open",
        ),
        (SUCCESS, "## [x] 01: A\n## [x] 02: B\n", "reconcile", "task 01 is done"),
        (SUCCESS, "## [-] 01: A\n", "implement-01", "implement the plan of task 01"),
    ],
    ids=["failed", "done", "another task", "all done", "a person wants it again"],
)
def test_an_implementation_that_succeeded_is_not_asked_for_again(
    agent: Caller, ledger: str, tasks: str, next_loop: str, advice: str
) -> None:
    lay(agent, plan_01=IDEATION, implement_01=ledger)
    if tasks:
        put(agent.folder, "changes/habits/tasks.md", tasks)

    found = go_on(agent)

    assert found["next_loop"] == next_loop
    assert str(found["advice"]).startswith(advice)
    turn = found["last_turn"]
    assert isinstance(turn, dict)
    assert "## Result" in turn["text"]


@pytest.mark.requirement("G16", through="command")
def test_a_folder_of_ledgers_gets_a_state_when_a_loop_is_opened(agent: Caller) -> None:
    lay(agent, ideation=IDEATION)

    refused = agent("loop", "open", "habits", "specs")
    is_written = (agent.folder / "changes/habits/state.md").exists()
    opened = agent("loop", "open", "habits", "proposal", "--auto", "--json")

    assert (refused.code, "the proposal of habits is not approved" in refused.err) == (1, True)
    assert not is_written
    found = json.loads(opened.out)
    assert (found["phase"], found["mode"], found["is_new"]) == ("proposal", "auto", False)
    assert (agent.folder / "changes/habits/loops/ideation.md").read_text(encoding="utf-8") == IDEATION
    assert agent("check").code == 0


@pytest.mark.requirement("G16", through="command")
def test_a_folder_of_ledgers_is_reconciled_like_any_other(agent: Caller) -> None:
    lay(agent, implement_01=SUCCESS, reconcile="# Reconcile Loop\n")

    done = agent("loop", "append", "habits", "reconcile", "The manual says it.", "--complete")

    assert done.code == 0, done.err
    text = (agent.folder / "changes/habits/state.md").read_text(encoding="utf-8")
    assert "## Phase\n\nreconciling\n" in text
    assert "- Status: complete" in text
    assert "habits is reconciled" in str(go_on(agent)["advice"])


def test_what_a_state_says_counts_more_than_the_ledgers(agent: Caller) -> None:
    lay(agent, ideation=IDEATION, specs=IDEATION)
    put(agent.folder, "changes/habits/state.md", "# SDD State: habits\n\n## Phase\n\nideation\n")
    stated = go_on(agent)["phase"]
    put(agent.folder, "changes/habits/state.md", "# SDD State: habits\n\n## Lane\n\nfull\n")

    assert stated == "ideation"
    assert go_on(agent)["phase"] == "specs"


def test_a_state_without_ledgers_has_no_loop_yet(agent: Caller) -> None:
    put(agent.folder, "changes/habits/state.md", "# SDD State: habits\n")

    done = agent("loop", "append", "habits", "ideation", "x")

    assert done.code == 2
    assert done.err == (
        "passdown: habits has no loop ideation\n  hint: to open it: `passdown loop open habits ideation`\n"
    )


_BEFORE = ("ideation", "proposal", "specs", "discovery", "tasks")


@given(tasks=st.integers(1, 12), data=st.data())
def test_whatever_order_ledgers_are_found_in_the_last_of_the_work_counts(
    tasks: int, data: st.DataObject
) -> None:
    work = [*_BEFORE, *(f"{kind}-{one:02}" for one in range(1, tasks + 1) for kind in ("plan", "implement"))]
    done = data.draw(st.integers(1, len(work)))
    found = data.draw(st.permutations(work[:done]))

    last = find_last([*found, "finish", "notes"])

    assert last is not None
    assert last.text == work[done - 1]
    assert find_last([*found, "reconcile"]) == LoopName(LoopKind.RECONCILE)
    assert find_last(["finish"]) is None


def test_a_task_that_no_list_has_is_done_when_its_ledger_says_so() -> None:
    facts = ChangeFacts(name="x", loops=frozenset({"implement-01"}), tasks=(TaskMark("02", "x", "b"),))

    assert find_route(facts).loop == LoopName(LoopKind.IMPLEMENT, "01")
