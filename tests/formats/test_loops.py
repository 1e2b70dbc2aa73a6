"""Loop ledgers and the state of a change: what a turn is, what a person wrote, what is never rewritten."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passdown.core.documents.key_value import Pair
from passdown.core.formats.change_states import (
    ChangePhase,
    Lane,
    RunMode,
    make_change_state,
    parse_change_state,
    render_change_state,
    status_of,
    with_status,
)
from passdown.core.formats.loops import (
    MAX_LINES,
    PLACEHOLDER,
    PLACEHOLDERS,
    Loop,
    Turn,
    parse_loop,
    read_result,
    render_feedback,
    render_loop,
    render_turn,
)
from passdown.errors import FormatError
from passdown.records import replace
from tests.formats.strategies import NASTY_BLOCKS, NASTY_LINES, loop_values
from tests.proof import proof_count

GOLDEN = Path(__file__).parent / "golden"
AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def _golden(name: str) -> Loop:
    return parse_loop((GOLDEN / f"loop-{name}.md").read_bytes().decode())


def _slot(text: str) -> str:
    """A ledger of one turn with this text in its slot."""
    return f"# Loop\n\n## Turn 1\n\nAsked.\n\n## User Feedback\n{text}\n---\n"


def _feedback(text: str) -> list[str]:
    return [turn.feedback for turn in parse_loop(text).turns]


# --- the seed's own ledgers -----------------------------------------------------------------------


@pytest.mark.requirement("R142", "R145", "R148")
def test_the_seeds_first_turn_is_read() -> None:
    loop = _golden("ideation")

    (turn,) = loop.turns
    assert loop.title == "Ideation Loop"
    assert turn.number == 1
    assert turn.text.startswith("Explored the core problem space.")
    assert turn.text.endswith("Worth keeping in mind.")
    assert turn.feedback == ""
    assert loop.problems == ()


@pytest.mark.requirement("R149")
def test_structured_critique_is_text_of_its_turn() -> None:
    (turn,) = _golden("critique").turns

    assert turn.number == 2
    assert "### Archimedes Critique" in turn.text
    assert turn.text.endswith("- Softened streak reset language")


@pytest.mark.requirement("R156", "R157")
def test_an_implementation_says_how_it_ended() -> None:
    template = (GOLDEN / "loop-implementation.md").read_text(encoding="utf-8")
    done = template.replace("SUCCESS | PARTIAL | FAILED", "partial")

    assert read_result(_golden("implementation").turns[0]) == ""
    assert read_result(parse_loop(done).turns[0]) == "PARTIAL"
    assert parse_loop(done).problems == ()
    assert read_result(Turn(number=1, text="```\n## Result\nSUCCESS\n```")) == ""
    assert read_result(Turn(number=1, text="## Result")) == ""


@pytest.mark.requirement("R156")
def test_what_an_implementation_lacks_is_reported() -> None:
    problems = parse_loop("# Implementation: Task 01\n\nDid it.\n\n## User Feedback\n\n---\n").problems

    missing = ["Changes Made", "Validation Results", "Deviations from Plan", "Result"]
    assert [one.field for one in problems] == missing


@pytest.mark.requirement("R158", "R150")
def test_turns_need_no_numbers_and_have_no_limit() -> None:
    text = "".join(f"Said {number}.\n\n## User Feedback\n\n---\n" for number in range(300))

    loop = parse_loop(text)

    assert [turn.number for turn in loop.turns] == [*range(1, 301)]
    assert loop.problems == ()


# --- what a person wrote --------------------------------------------------------------------------


@pytest.mark.requirement("R146")
@pytest.mark.parametrize(
    "blank",
    ["", "\n", " \t\n", *sorted(PLACEHOLDERS), PLACEHOLDER.upper(), "<!-- todo -->", "none", "<!-- a\nb -->"],
)
def test_a_slot_that_says_nothing_is_blank(blank: str) -> None:
    assert _feedback(_slot(blank)) == [""]
    assert _feedback(_slot(f"\n{blank}\n\n")) == [""]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("\nUse SQLite.\n", "Use SQLite."),
        (f"\n{PLACEHOLDER}\n\nUse SQLite.\n", "Use SQLite."),
        (f"\nUse SQLite.\n\n{PLACEHOLDER}\n", "Use SQLite."),
        ("\n(Leave blank to continue. Use SQLite.)\n", "(Leave blank to continue. Use SQLite.)"),
        ("\n<!-- to do -->\nUse SQLite.\n", "<!-- to do -->\nUse SQLite."),
        ("\n```\n---\n## User Feedback\n```\nin code\n", "```\n---\n## User Feedback\n```\nin code"),
        ("\n```\nnever closed\n", "```\nnever closed"),
        ("\n### A heading\n\nbelow\n", "### A heading\n\nbelow"),
    ],
)
def test_what_a_person_wrote_is_read_without_the_placeholder(written: str, expected: str) -> None:
    assert _feedback(_slot(written)) == [expected]
    assert _feedback(_slot(written).replace("\n", "\r\n")) == [expected]


def test_text_below_the_line_is_still_feedback() -> None:
    text = _slot("\nFirst.\n") + "\nSecond, below the line.\n"

    assert _feedback(text) == ["First.\n\nSecond, below the line."]


def test_a_turn_below_the_line_is_a_turn() -> None:
    text = _slot("\nFirst.\n") + "\n## Turn 2\n\nDid it.\n"

    assert _feedback(text) == ["First.", ""]
    assert [one.problem for one in parse_loop(text).problems] == ["section is missing"]


def test_a_second_feedback_section_belongs_to_the_same_turn() -> None:
    text = _slot("\nFirst.\n") + "\n## User Feedback\n\nSecond.\n\n---\n"

    assert _feedback(text) == ["First.\n\nSecond."]


def test_two_halves_of_a_comment_say_nothing() -> None:
    assert _feedback(_slot("\n<!-- a\n") + "\n## User Feedback\n\nb -->\n\n---\n") == [""]


def test_a_slot_that_nobody_closed_is_reported() -> None:
    (problem,) = parse_loop("## Turn 1\n\nx\n\n## User Feedback\n\nyes\n").problems

    assert (problem.field, problem.problem) == ("User Feedback", "section does not end with a `---` line")


# --- adding ---------------------------------------------------------------------------------------


@pytest.mark.requirement("R145", "R146", "R155")
def test_a_turn_that_is_added_ends_with_slot_and_separator() -> None:
    added = render_turn("# Loop\n", Turn(number=1, at=AT, agent="claude-1", text="Asked."))

    assert added == (
        "\n<!-- turn 1 2026-03-02T09:30:00.000Z by claude-1 -->\n## Turn 1\n\nAsked.\n\n"
        f"## User Feedback\n\n{PLACEHOLDER}\n\n---\n"
    )
    assert render_turn("", Turn(number=1, text="x")).startswith("<!-- turn 1 -->")


def test_an_agents_name_cannot_end_the_comment() -> None:
    text = render_turn("", Turn(number=1, agent="x --> <b>", text="Asked."))

    assert parse_loop(text).turns[0].text == "Asked."


@pytest.mark.requirement("R155")
@given(
    before=st.lists(st.sampled_from((*NASTY_LINES, *NASTY_BLOCKS, "", "## User Feedback", "---"))).map(
        "\n".join
    ),
    text=st.sampled_from((*NASTY_BLOCKS, "```\nx\n```", "plain")),
    feedback=st.sampled_from((*NASTY_BLOCKS, "```\ny\n```", "plain")),
)
@settings(max_examples=proof_count(fast=30, ci=200, long=20_000))
def test_turns_and_feedback_are_added_to_any_text_without_touching_it(
    before: str, text: str, feedback: str
) -> None:
    known = parse_loop(before).turns

    first = before + render_turn(before, Turn(number=8, at=AT, agent="a", text=text))
    second = first + render_feedback(first, feedback)

    *earlier, last = parse_loop(second).turns
    assert tuple(earlier) == known
    assert last.text == parse_loop(render_loop(Loop(turns=(Turn(number=1, text=text),)))).turns[0].text
    assert feedback.strip() in last.feedback or not parse_loop(second).turns[-1].feedback
    assert parse_loop(first).turns[-1].feedback == ""


@pytest.mark.parametrize(
    "text",
    [
        "<!-- turn 2 and\n\\---\n## User Feedback\nmore -->\nend",
        "none",
        "-",
        PLACEHOLDER,
        "---",
        "```",
        "## User Feedback",
    ],
)
def test_feedback_that_looks_like_structure_is_read_as_it_was_left(text: str) -> None:
    before = render_turn("", Turn(number=1, text=text))

    (turn,) = parse_loop(before + render_feedback(before, text)).turns

    assert (turn.text, turn.feedback) == (text, text)


def test_a_slot_left_open_is_closed_by_the_next_turn() -> None:
    before = "## Turn 1\n\nAsked.\n\n## User Feedback\n\nYes"

    after = before + render_turn(before, Turn(number=2, text="Done."))

    assert parse_loop(after).problems == ()
    assert [turn.feedback for turn in parse_loop(after).turns] == ["Yes", ""]


def test_windows_line_ends_are_kept() -> None:
    before = _slot("\nYes.\n").replace("\n", "\r\n")

    added = render_turn(before, Turn(number=2, text="Done.\nWell."))

    assert added.count("\n") == added.count("\r\n")
    assert parse_loop(before + added).turns[1].text == "Done.\nWell."


@given(loop=loop_values, more=loop_values)
def test_turns_added_to_a_value_are_added_to_its_text(loop: Loop, more: Loop) -> None:
    text = render_loop(loop)
    read = parse_loop(text)

    longer = render_loop(replace(read, turns=(*read.turns, *more.turns)))

    assert longer.startswith(text)
    assert parse_loop(longer).turns == (*loop.turns, *more.turns)


def test_a_value_whose_turns_changed_is_written_anew() -> None:
    read = parse_loop(_slot("\nYes.\n"))

    text = render_loop(replace(read, turns=(replace(read.turns[0], text="Other."),)))

    assert parse_loop(text).turns[0].text == "Other."


def test_a_ledger_with_too_many_lines_is_refused() -> None:
    assert parse_loop("\n" * (MAX_LINES - 1)).turns == ()
    with pytest.raises(FormatError, match=f"is over {MAX_LINES} lines"):
        parse_loop("\n" * MAX_LINES)


def test_a_newer_ledger_is_refused() -> None:
    with pytest.raises(
        FormatError, match="loop has format 2; this version of passdown reads up to 1"
    ) as found:
        parse_loop("# Loop\n\n<!-- turn 1 v2 -->\nx\n")

    assert found.value.line == 3


# --- the state of a change ------------------------------------------------------------------------


def test_a_state_is_read_by_every_name_of_its_phase() -> None:
    names = {"plan": "planning", "Implement": "implementing", "reconcile": "reconciling", "specs": "specs"}

    for name, phase in names.items():
        assert parse_change_state(f"# SDD State: x\n\n## Phase\n\n{name}\n").phase == ChangePhase(phase)


def test_a_state_without_front_matter_has_no_problems_and_keeps_what_it_does_not_know() -> None:
    text = (GOLDEN / "change-state-quick.md").read_text(encoding="utf-8")

    state = parse_change_state(text)

    assert (state.phase, state.lane, state.run_mode) == (ChangePhase.IMPLEMENTING, Lane.QUICK, RunMode.AUTO)
    assert state.current_task == "01"
    assert state.is_approved
    assert not state.is_reconciled
    assert [one.text for one in state.unknown] == ["## Risks\n\n- the old theme"]
    moved = render_change_state(replace(state, phase=ChangePhase.RECONCILING))
    assert moved == text.replace("implementing", "reconciling")


def test_a_state_of_a_newer_format_is_refused() -> None:
    with pytest.raises(FormatError, match="change state has format 2"):
        parse_change_state("---\nformat: 2\n---\n# SDD State: x\n")
    assert parse_change_state("---\nformat: 1\n---\n# SDD State: x\n").title == "SDD State: x"


def test_a_status_that_means_nothing_is_reported() -> None:
    text = render_change_state(make_change_state("x", Lane.BUG, RunMode.MANUAL))

    problems = parse_change_state(text.replace("Status: draft", "Status: perhaps")).problems

    assert [(one.field, one.problem) for one in problems] == [
        ("Proposal", "has the unknown status 'perhaps'")
    ]
    assert parse_change_state(text).phase is ChangePhase.PROPOSAL


def test_a_status_is_set_or_added() -> None:
    known = (Pair(key="status", value="draft"), Pair(key="By", value="ana"))

    assert with_status(known, "approved") == (Pair(key="status", value="approved"), known[1])
    assert with_status((), "complete") == (Pair(key="Status", value="complete"),)
    assert status_of(()) == ""
