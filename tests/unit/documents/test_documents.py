"""Documents, proved on the ledger: nothing is lost, and a change changes only its own lines."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from passdown.core.documents.documents import MAX_CHARS, front_problems
from passdown.core.facts import GateStatus
from passdown.core.formats.ledgers import (
    GateResult,
    Ledger,
    LedgerDecision,
    Mode,
    Validation,
    fix_ledger,
    parse_ledger,
    render_ledger,
)
from passdown.errors import FormatError
from passdown.records import replace
from tests.support.mangled import changed, documents, strings, words
from tests.support.texts import normal_text, said_line, said_text, texts

TITLES = (
    *("## Active Task", "## Goal", "## State", "### Done", "### Now", "### Next", "## Key Decisions"),
    *("## Working Set", "## Open Questions", "## Validation History"),
)
GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "ledger-template.md"
NOON = datetime(2026, 1, 10, 12, 0, tzinfo=UTC)
ids = st.none() | said_line
lists = st.lists(said_text, max_size=3).map(tuple)
CHANGES: dict[str, st.SearchStrategy[object]] = {
    "updated": st.none() | st.just(NOON),
    "session_id": ids,
    "bound_track": ids,
    "mode": st.none() | st.sampled_from(Mode),
    "current_tasks": st.lists(said_line, max_size=3).map(tuple),
    "validation": st.none() | st.builds(Validation, retries=st.integers(0, 9), last_failure=ids),
    "title": said_line,
    "task_bead": ids,
    "goal": normal_text,
    "done": lists,
    "now": normal_text,
    "next": lists,
    "decisions": st.lists(
        st.builds(LedgerDecision, decision=said_text, reasoning=normal_text), max_size=3
    ).map(tuple),
    "branch": said_line | st.just(""),
    "questions": lists,
    "gate_history": st.lists(
        st.builds(GateResult, gate=said_line, status=st.sampled_from(GateStatus), notes=normal_text),
        max_size=3,
    ).map(tuple),
}
changes = st.sampled_from(sorted(CHANGES)).flatmap(lambda name: st.tuples(st.just(name), CHANGES[name]))
WHERE = {"title": "# ", "task_bead": "bead:", "branch": "**Branch:**"}


def same(one: Ledger, other: Ledger) -> None:
    """Both say the same; what is unknown may have moved."""
    nothing = replace(one, unknown=())
    assert nothing == replace(other, unknown=())


def lost(old: str, new: str) -> list[str]:
    """The lines that say something and are gone."""
    before, after = (Counter(line.strip() for line in text.split("\n")) for text in (old, new))
    return [line for line in (before - after).elements() if line]


@given(documents(TITLES) | texts)
def test_what_is_not_changed_is_written_as_it_was(text: str) -> None:
    assert render_ledger(parse_ledger(text)) == text


@given(documents(TITLES))
def test_every_line_is_read_into_a_field_or_kept_as_unknown(text: str) -> None:
    assert words(text) - words(parse_ledger(text)) == Counter()


@given(documents(TITLES) | texts, changes)
def test_a_changed_field_is_read_back_and_no_other_changes(text: str, change: tuple[str, object]) -> None:
    name, value = change
    ledger = changed(parse_ledger(text), name, value)
    # A fence or comment that is never closed is an error; new text may close it.
    assume(
        all("never closed" not in problem.problem or problem.field != "text" for problem in ledger.problems)
    )

    same(parse_ledger(render_ledger(ledger)), ledger)


@given(documents(TITLES), changes)
def test_a_change_loses_nothing_but_the_old_value(text: str, change: tuple[str, object]) -> None:
    name, value = change
    ledger = parse_ledger(text)

    revised = render_ledger(changed(ledger, name, value))

    gone = words(text) - words(revised)
    misfits = [one.text for one in ledger.unknown if one.text.startswith((f"{name}:", "bead:"))]
    assert gone - words(getattr(ledger, name)) - words(" ".join(misfits)) == Counter()


@given(documents(TITLES), changes)
def test_a_change_touches_no_line_of_another_field(text: str, change: tuple[str, object]) -> None:
    name, value = change
    ledger = parse_ledger(text)
    moved = any(
        problem.field == "State/Now" and "more than one" in problem.problem for problem in ledger.problems
    )

    revised = render_ledger(changed(ledger, name, value))

    mine = "\n".join(strings(getattr(ledger, name)))
    start = WHERE.get(name, f"{name}:")
    others = [line for line in lost(text, revised) if not line.startswith(start) and "(none)" not in line]
    if not moved and name != "validation":
        assert [line for line in others if not words(line) <= words(mine)] == []
        assert [line for line in others if not words(line) and line.lstrip("-* ") not in mine] == []


@given(documents(TITLES), changes, st.sampled_from(["\n", "\r\n"]))
def test_new_lines_have_the_line_end_of_the_document(text: str, change: tuple[str, object], eol: str) -> None:
    name, value = change
    source = f"first{eol}" + text.replace("\r\n", "\n").replace("\n", eol)

    revised = render_ledger(changed(parse_ledger(source), name, value))

    assert revised.count("\r\n") == (revised.count("\n") if eol == "\r\n" else 0)


@given(documents(TITLES))
def test_a_document_without_its_source_says_the_same(text: str) -> None:
    ledger = parse_ledger(text)

    again = parse_ledger(render_ledger(replace(ledger, source=None)))

    same(again, ledger)
    assert words(ledger) - words(again) == Counter()


@given(documents(TITLES) | texts)
def test_fixing_repairs_all_at_once_and_loses_nothing(text: str) -> None:
    ledger = parse_ledger(text)

    fixed = fix_ledger(ledger)

    again = parse_ledger(fixed)
    assert [problem for problem in again.problems if problem.fixable] == []
    assert words(text) - words(fixed) == Counter()
    same(replace(again, title=ledger.title), ledger)
    assert fix_ledger(again) == fixed


def test_the_golden_document_is_read_without_a_problem() -> None:
    ledger = parse_ledger(GOLDEN.read_text(encoding="utf-8"))

    assert ledger.problems == ()
    assert ledger.unknown == ()
    assert ledger.now == "Current work item"


@pytest.mark.requirement("C29")
def test_of_several_items_under_now_the_first_stays_and_the_others_go_to_the_front_of_next() -> None:
    text = "## State\n### Now\n- a\n- b\n### Next\n- c\n"
    ledger = parse_ledger(text)

    assert (ledger.now, ledger.next) == ("a", ("b", "c"))
    assert "keep one; the others belong under Next" in [one.hint for one in ledger.problems]
    assert render_ledger(ledger) == text
    moved = "## State\n### Now\n- {}\n### Next\n- b\n- c\n"
    assert render_ledger(replace(ledger, now="x")) == moved.format("x")
    assert render_ledger(replace(ledger, goal="g")) == "## Goal\n\ng\n\n" + moved.format("a")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", "---\nsession_id: s\n---\n\n"),
        ("# T\n", "---\nsession_id: s\n---\n\n# T\n"),
        ("\ufeff# T\n", "\ufeff---\nsession_id: s\n---\n\n# T\n"),
        ("---\nx: y\n\n# T\n", "---\nsession_id: s\nx: y\n\n# T\n"),
        ("---\nx: y", "---\nsession_id: s\nx: y\n"),
        ("---", "---\nsession_id: s\n"),
        ("---\r\nx: y\r\n---\r\n", "---\r\nsession_id: s\r\nx: y\r\n---\r\n"),
    ],
)
def test_a_key_finds_its_front_matter(text: str, result: str) -> None:
    assert render_ledger(replace(parse_ledger(text), session_id="s")) == result


def test_a_document_without_keys_stays_without_front_matter() -> None:
    assert (
        render_ledger(replace(parse_ledger("# Session Ledger\n"), goal="g"))
        == "# Session Ledger\n\n## Goal\n\ng\n"
    )


def test_a_front_matter_that_is_never_closed_is_closed_before_a_text_that_would_close_it() -> None:
    goal = "```\n---\n```"
    ledger = replace(parse_ledger("---\nx: y\n\n## Goal\n"), goal=goal)

    assert render_ledger(ledger) == f"---\nx: y\n---\n\n## Goal\n\n{goal}\n"


@pytest.mark.parametrize(
    ("text", "fixed"),
    [
        ("---\nx: y", "---\nx: y\n---\n# Session Ledger\n"),
        ("---\nx: y\n\n## Goal\n", "---\nx: y\n---\n# Session Ledger\n\n## Active Task\n"),
    ],
)
def test_a_front_matter_that_is_never_closed_is_closed(text: str, fixed: str) -> None:
    assert fix_ledger(parse_ledger(text)).startswith(fixed)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# T\n", "is missing"),
        ("---\nx: y\n", "is never closed"),
        ("\ufeff---\nx: y\n---\n", "has a byte order mark before it"),
    ],
)
def test_what_is_wrong_with_a_front_matter_is_told(text: str, problem: str) -> None:
    assert problem in [one.problem for one in parse_ledger(text).problems if one.field == "front matter"]


def test_a_sound_front_matter_has_no_problem() -> None:
    assert front_problems("---\n---\n", "---\n", "---\n") == []


def test_another_title_is_told_and_left() -> None:
    problems = parse_ledger("---\nx: y\n---\n# Mine\n").problems

    assert [(one.problem, one.fixable) for one in problems if one.field == "title"] == [("is 'Mine'", False)]


def test_a_document_that_is_too_large_or_too_new_is_refused() -> None:
    with pytest.raises(FormatError, match="over 1048576 characters"):
        parse_ledger("a" * (MAX_CHARS + 1))
    with pytest.raises(FormatError, match="has format 99") as refused:
        parse_ledger("---\nformat: 99\n---\n")

    assert (refused.value.field, refused.value.hint) == (
        "format",
        "upgrade passdown; the file was not changed",
    )


def test_a_key_is_found_by_its_line() -> None:
    problems = parse_ledger("---\nx: y\nplatform: vim\n---\n").problems

    assert [one.line for one in problems if one.field == "platform"] == [3]
