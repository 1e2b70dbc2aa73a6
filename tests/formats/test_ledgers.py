"""The live ledger, field by field."""

import pytest

from passdown.core.documents.documents import heading_line
from passdown.core.formats import examples
from passdown.core.formats.ledgers import ReadFile, Validation, fix_ledger, parse_ledger, render_ledger
from passdown.core.problems import Severity
from passdown.records import replace

HEAD = "---\nupdated: 2025-12-27T10:30:00Z\nsession_id: T-1\nplatform: claude\n"


def _validation(block: str) -> Validation | None:
    return parse_ledger(f"{HEAD}{block}---\n").validation


@pytest.mark.requirement("R16")
@pytest.mark.parametrize("block", ["validation: null\n", "validation:\n", "validation: ~\n", ""])
def test_no_validation_is_none(block: str) -> None:
    assert _validation(block) is None


def test_validation_that_is_taken_away_becomes_null() -> None:
    ledger = parse_ledger(f"{HEAD}validation:\n  retries: 1\n---\n")

    assert render_ledger(replace(ledger, validation=None)) == f"{HEAD}---\n"


@pytest.mark.requirement("R16")
def test_validation_keeps_what_it_does_not_know() -> None:
    block = "validation:\n  retries: 2\n  owner: me\n  deep:\n    a: 1\n  # note\n  retries: 3\n"

    ledger = parse_ledger(f"{HEAD}{block}---\n")

    assert ledger.validation == Validation(retries=2)
    assert {one.place for one in ledger.unknown} == {"front matter / validation"}
    assert [one.text for one in ledger.unknown] == ["owner: me", "deep:\n  a: 1", "# note", "retries: 3"]


def test_what_validation_does_not_know_stays_when_the_rest_changes() -> None:
    block = "validation:\n  # note\n  retries: 2\n  owner: me\n  retries: 3\n"
    ledger = parse_ledger(f"{HEAD}{block}---\n")

    changed = render_ledger(replace(ledger, validation=Validation(retries=4)))

    assert changed == (
        f"{HEAD}validation:\n  # note\n  owner: me\n  gates_passed: []\n  current_gate: null\n"
        "  retries: 4\n  last_failure: null\n  retries: 3\n---\n"
    )


def test_validation_that_is_taken_away_leaves_what_it_did_not_know() -> None:
    ledger = parse_ledger(f"{HEAD}validation:\n  retries: 1\n  owner: me\n  retries: 2\n---\n")

    left = render_ledger(replace(ledger, validation=None))

    assert left == f"{HEAD}validation:\n  owner: me\n---\n"
    assert parse_ledger(left).validation is None


def test_validation_with_a_key_twice_can_be_taken_away() -> None:
    ledger = parse_ledger(f"{HEAD}validation:\n  retries: 1\n  retries: 2\n---\n")

    assert render_ledger(replace(ledger, validation=None)) == f"{HEAD}---\n"


def test_sections_are_not_taken_for_lines_of_the_validation_block() -> None:
    text = f"{HEAD}---\n\n# Session Ledger\n\n## front matter\n\n### validation\n\nretries: 9\n"
    ledger = parse_ledger(text)

    again = parse_ledger(render_ledger(replace(ledger, mode_locked_at=ledger.updated)))

    assert again.validation is None
    assert again.unknown == ledger.unknown


@pytest.mark.parametrize(
    "block",
    [
        "validation: passed\n",
        "validation:\n  retries: many\n",
        "validation:\n- design\n",
        "validation:\n  - design\n retries: 1\n",
    ],
)
def test_a_validation_block_that_does_not_fit_is_kept_and_reported(block: str) -> None:
    ledger = parse_ledger(f"{HEAD}{block}---\n")

    assert ledger.validation is None
    assert [one.text for one in ledger.unknown] == [block.rstrip()]
    assert [(one.line, one.severity) for one in ledger.problems if one.field == "validation"] == [
        (5, Severity.ERROR)
    ]


@pytest.mark.requirement("R10", "R11")
@pytest.mark.parametrize("line", ["mode: both", "tdd_phase: PURPLE"])
def test_a_choice_outside_its_set_is_kept_and_reported(line: str) -> None:
    ledger = parse_ledger(f"{HEAD}{line}\n---\n")

    assert (ledger.mode, ledger.tdd_phase) == (None, None)
    assert [one.text for one in ledger.unknown] == [line]
    assert [one.line for one in ledger.problems if one.severity is Severity.ERROR] == [5]


@pytest.mark.requirement("R28")
@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("`a.md` - why", ReadFile(path="a.md", reason="why")),
        ("a.md - why - oh", ReadFile(path="a.md", reason="why - oh")),
        ("`a - b.md` - why", ReadFile(path="a - b.md", reason="why")),
        ("`a.md`", ReadFile(path="a.md")),
        ("`a.md` and `b.md` - why", ReadFile(path="`a.md` and `b.md`", reason="why")),
        ("`` a`b `` - why", ReadFile(path="a`b", reason="why")),
        ("``` - why", ReadFile(path="```", reason="why")),
    ],
)
def test_files_that_were_read_have_a_path_and_a_reason(item: str, expected: ReadFile) -> None:
    text = f"{HEAD}---\n\n# Session Ledger\n\n## Working Set\n\n**Read:**\n- {item}\n"

    assert parse_ledger(text).read == (expected,)


@pytest.mark.requirement("R28")
@pytest.mark.parametrize("path", ["a", "a`b", "``", "`a`", "a b", "a - b", "`" * 9, "a\nb"])
def test_any_path_reads_back_as_it_was_written(path: str) -> None:
    ledger = replace(examples.LEDGER, modified=(path,), read=(ReadFile(path=path, reason="x"),))

    found = parse_ledger(render_ledger(ledger))

    assert found.modified == (path,)
    assert found.read == (ReadFile(path=path, reason="x"),)


def test_a_repair_adds_what_is_missing_and_changes_nothing_else() -> None:
    text = f"{HEAD}---\n\n## Goal\n\nA goal.\n\n## Notes\n\nKept.\n"

    repaired = fix_ledger(parse_ledger(text))

    ledger = parse_ledger(repaired)
    assert (ledger.title, ledger.goal) == ("Session Ledger", "A goal.")
    assert repaired.startswith(f"{HEAD}---\n")
    assert "## Notes\n\nKept.\n" in repaired
    assert ledger.problems == ()


def test_a_sound_ledger_needs_no_repair() -> None:
    text = render_ledger(examples.LEDGER)

    assert fix_ledger(parse_ledger(text)) == text


def test_the_line_of_a_heading_is_found_in_any_case() -> None:
    text = "# T\n## GOAL\nx\n### Now: here\n- a\n- b\n"

    assert heading_line(text, "Goal") == 2
    assert heading_line(text, "now") == 4
    assert heading_line(text, "Now", "- b") == 6
    assert heading_line(text, "Now", "nowhere") == 4
    assert heading_line(text, "Next") == 1


def test_a_key_that_stands_twice_in_the_validation_block_keeps_its_first_value() -> None:
    text = "---\nvalidation:\n  retries: 1\n  retries: 2\n---\n\n# Session Ledger\n"
    ledger = parse_ledger(text)

    again = parse_ledger(render_ledger(replace(ledger, source=None)))

    assert ledger.validation == again.validation
    assert again.validation is not None
    assert again.validation.retries == 1
