"""What a loop needs before it is opened, where a change goes on, and how often an agent may revise (S3)."""

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.formats.change_states import ChangePhase, ChangeState, Lane, RunMode
from passdown.core.formats.loops import Loop, Turn
from passdown.core.work.loop_feedback import MOST, find_feedback, name_feedback, next_number, place_of
from passdown.core.work.loops import (
    ChangeFacts,
    CycleVerdict,
    LoopKind,
    LoopName,
    TaskMark,
    find_finish_refusal,
    find_refusal,
    find_route,
    judge_cycles,
    mark_task,
    may_go_on,
    parse_loop_name,
    parse_tasks,
)
from passdown.records import replace

APPROVED = (Pair(key="Status", value="approved"),)
OPEN, AT_WORK, DONE = TaskMark("01", " ", "a"), TaskMark("01", "-", "a"), TaskMark("01", "x", "a")


def _facts(phase: str, **more: object) -> ChangeFacts:
    """A change whose proposal is approved."""
    state = ChangeState(phase=ChangePhase(phase), lane=Lane.FULL, proposal=APPROVED)
    return replace(ChangeFacts(name="x", state=state), **more)


@pytest.mark.requirement("R144")
@pytest.mark.parametrize(
    "name", ["ideation", "proposal", "specs", "discovery", "tasks", "plan-01", "implement-12"]
)
def test_each_loop_has_its_name(name: str) -> None:
    loop = parse_loop_name(name)

    assert loop is not None
    assert loop.text == name


@pytest.mark.parametrize(
    "name", ["", "plan", "plan-1", "ideation-01", "finish", "Plan-01", "plan-01/../x", "a b"]
)
def test_anything_else_is_no_loop(name: str) -> None:
    assert parse_loop_name(name) is None


def test_titles_are_those_of_the_seed() -> None:
    assert LoopName(LoopKind.IDEATION).title == "Ideation Loop"
    assert LoopName(LoopKind.PLAN, "01").title == "Plan Loop: Task 01"
    assert LoopName(LoopKind.IMPLEMENT, "01").title == "Implementation: Task 01"


@pytest.mark.parametrize(
    ("loop", "facts", "problem"),
    [
        ("ideation", _facts("proposal"), ""),
        ("ideation", _facts("specs"), "is in the phase specs; its ideation is over"),
        ("proposal", _facts("initialized"), ""),
        ("proposal", _facts("ideation"), ""),
        ("specs", _facts("proposal"), ""),
        ("specs", _facts("proposal", state=ChangeState()), "is not approved"),
        ("discovery", _facts("specs"), "has no specs"),
        ("discovery", _facts("specs", has_specs=True), ""),
        ("tasks", _facts("specs"), "has no discovery yet"),
        ("tasks", _facts("discovery", tasks=(OPEN,)), ""),
        ("tasks", _facts("discovery", tasks=(DONE,)), "are in progress or done: 01"),
        ("plan-01", _facts("tasks"), "has no task 01"),
        ("plan-01", _facts("tasks", tasks=(OPEN,)), ""),
        ("plan-01", _facts("tasks", tasks=(OPEN, TaskMark("02", "-", "b"))), "task 02 of x is in progress"),
        ("implement-01", _facts("planning", tasks=(AT_WORK,)), "has no plan"),
        ("implement-01", _facts("planning", tasks=(OPEN,), plans=frozenset({"01"})), "is not in progress"),
        ("implement-01", _facts("planning", tasks=(AT_WORK,), plans=frozenset({"01"})), ""),
        ("reconcile", _facts("implementing", tasks=(AT_WORK,)), "are open: 01"),
        ("reconcile", _facts("implementing"), "has no tasks yet"),
        ("reconcile", _facts("implementing", tasks=(DONE,)), ""),
        ("reconcile", ChangeFacts(name="x"), ""),
        ("reconcile", _facts("finished", tasks=(DONE,)), "x is finished"),
        ("specs", _facts("specs", state=ChangeState(), loops=frozenset({"specs"})), "is not approved"),
        ("tasks", _facts("planning", tasks=(DONE,), loops=frozenset({"tasks"})), "are in progress or done"),
    ],
)
def test_a_loop_is_opened_when_the_change_is_as_far(loop: str, facts: ChangeFacts, problem: str) -> None:
    name = parse_loop_name(loop)
    assert name is not None

    refused = find_refusal(name, facts)

    assert problem in refused.problem if refused else problem == ""


def test_tasks_are_written_anew_with_consent_and_short_lanes_need_no_discovery() -> None:
    loop = LoopName(LoopKind.TASKS)
    quick = ChangeState(phase=ChangePhase.PROPOSAL, lane=Lane.QUICK, proposal=APPROVED)

    assert find_refusal(loop, _facts("discovery", tasks=(DONE,)), is_forced=True) is None
    assert find_refusal(loop, _facts("proposal", state=quick)) is None


@pytest.mark.parametrize(
    ("facts", "loop", "is_run", "advice"),
    [
        (_facts("initialized"), "ideation", False, "ask the user how to begin"),
        (_facts("initialized", state=ChangeState(lane=Lane.BUG)), "proposal", False, "ask the user"),
        (_facts("proposal"), "proposal", True, "continue the proposal loop"),
        (
            _facts("proposal", state=ChangeState(phase=ChangePhase.PROPOSAL)),
            "proposal",
            True,
            "until a person runs",
        ),
        (_facts("tasks"), "tasks", True, "break specs and discovery down"),
        (
            _facts("tasks", state=ChangeState(phase=ChangePhase.TASKS, lane=Lane.QUICK)),
            "tasks",
            True,
            "break the proposal down",
        ),
        (_facts("planning", tasks=(AT_WORK,)), "plan-01", True, "plan-01"),
        (_facts("implementing", tasks=(AT_WORK,)), "implement-01", False, "implement the plan of task 01"),
        (_facts("implementing"), "implement", False, "task ?"),
        (_facts("reconciling"), "reconcile", True, "reconcile"),
        (
            _facts(
                "reconciling",
                state=ChangeState(
                    phase=ChangePhase.RECONCILING, reconcile=(Pair(key="Status", value="complete"),)
                ),
            ),
            "",
            False,
            "is reconciled",
        ),
        (_facts("finished"), "", False, "x is finished"),
    ],
)
def test_a_change_goes_on_in_the_loop_of_its_phase(
    facts: ChangeFacts, loop: str, is_run: bool, advice: str
) -> None:
    route = find_route(facts)

    assert (route.loop.text if route.loop else "", route.is_run) == (loop, is_run)
    assert advice in route.advice


def test_a_change_is_finished_when_it_is_reconciled_and_nobody_waits() -> None:
    done = ChangeState(
        phase=ChangePhase.RECONCILING, proposal=APPROVED, reconcile=(Pair(key="Status", value="complete"),)
    )
    facts = _facts("reconciling", tasks=(DONE,))

    assert find_finish_refusal(replace(facts, state=done), []) is None
    cases = [
        (facts, [], "x is not reconciled"),
        (replace(facts, state=None), [], "x is not reconciled"),
        (replace(facts, state=done, tasks=(AT_WORK,)), [], "tasks of x are open: 01"),
        (replace(facts, state=done), ["x/specs turn 1"], "unanswered feedback: x/specs turn 1"),
        (replace(facts, state=done), [*"abcd"], "unanswered feedback: a, b, c and 1 more"),
    ]
    for one, waiting, problem in cases:
        refused = find_finish_refusal(one, waiting)
        assert refused is not None
        assert refused.problem == problem


def test_auto_mode_stops_before_the_documentation_is_reconciled() -> None:
    auto = ChangeState(phase=ChangePhase.IMPLEMENTING, run_mode=RunMode.AUTO, proposal=APPROVED)

    assert may_go_on(_facts("implementing", state=auto))
    assert not may_go_on(_facts("implementing", state=replace(auto, proposal=())))
    assert not may_go_on(_facts("implementing", state=replace(auto, run_mode=RunMode.MANUAL)))
    assert not may_go_on(_facts("implementing", state=replace(auto, phase=ChangePhase.RECONCILING)))


@pytest.mark.requirement("R151", "R152")
@pytest.mark.parametrize(
    ("kind", "mode", "most", "is_refused"),
    [
        (LoopKind.SPECS, RunMode.MANUAL, 3, False),
        (LoopKind.SPECS, RunMode.AUTO, 3, True),
        (LoopKind.IMPLEMENT, RunMode.MANUAL, 1, False),
        (LoopKind.IMPLEMENT, RunMode.AUTO, 20, True),
    ],
)
def test_cycles_before_a_turn_are_capped(kind: LoopKind, mode: RunMode, most: int, is_refused: bool) -> None:
    loop = LoopName(kind)

    assert judge_cycles(loop, mode, most) == CycleVerdict()
    assert judge_cycles(loop, mode, most + 1).is_refused is is_refused
    assert f"exceed the limit of {most} in {mode.value} mode" in judge_cycles(loop, mode, most + 1).text


def test_tasks_are_read_and_marked_without_touching_the_rest() -> None:
    text = "# Tasks\n\n## [ ] 01: One\n\n- [X] 2. Two\n- [?] 03 no\n"

    assert parse_tasks(text) == (TaskMark("01", " ", "One"), TaskMark("02", "x", "Two"))
    assert mark_task(text, "02", "-") == text.replace("[X]", "[-]")
    assert mark_task(text, "09", "-") == text


def test_feedback_has_an_id_of_its_own_by_which_a_later_turn_names_it() -> None:
    turn = Turn(number=1, text="Asked.", feedback="Yes")
    (found,) = find_feedback("x/specs", Loop(turns=(turn,)))

    said = Loop(turns=(turn, Turn(number=2, text=name_feedback([found]))))
    earlier = Loop(turns=(Turn(number=0, text=found.id), turn))

    assert [one.is_named for one in find_feedback("x/specs", said)] == [True]
    assert [one.is_named for one in find_feedback("x/specs", earlier)] == [False]
    assert (found.text, found.place, place_of(found.text)) == ("x/specs turn 1: Yes", *["x/specs turn 1"] * 2)
    assert place_of("Keep the API stable") == ""
    assert next_number(said.turns) == 3


def test_long_feedback_is_cut_in_the_fact_and_told_apart() -> None:
    texts = [f"{'x' * MOST}{end}" for end in "ab"]

    found = [next(find_feedback("x/specs", Loop(turns=(Turn(number=1, feedback=one),)))) for one in texts]

    assert len({one.id for one in found}) == 2
    assert all(len(one.text) < MOST + 100 for one in found)
