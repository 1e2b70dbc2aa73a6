"""The stream document and its Ledger section."""

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.formats import examples
from passdown.core.formats.streams import Question, QuestionKind, fix_stream, parse_stream, render_stream
from passdown.records import replace

HEAD = (
    "---\ndate: 2026-01-01T00:00:00Z\nsession_name: a\nbranch: b\nstatus: active\n---\n\n# Work Stream: a\n\n"
)


@pytest.mark.requirement("R73", "G14")
@pytest.mark.parametrize(
    ("section", "context"),
    [
        ("**Goal:** x\n\n---\n\n## Context\n\nRest\n", "## Context\n\nRest"),
        ("**Goal:** x\n\n## Context\n\nRest\n", "## Context\n\nRest"),
        ("**Goal:** x\n\n# Title\n\nRest\n", "# Title\n\nRest"),
        ("**Goal:** x\n\n### Now\n[->] y\n", ""),
        ("**Goal:** x\n\n```\n---\n## Context\n```\n\n---\nRest\n", "Rest"),
        ("**Goal:** x\n\n<!--\n---\n-->\n---\nRest\n", "Rest"),
        ("**Goal:** x\n- - -\n----\n ---\n--- x\n---\nRest", "Rest"),
        ("**Goal:** x\r\n---\r\nRest\r\n", "Rest"),
    ],
)
def test_the_ledger_section_ends_at_the_first_rule_heading_or_the_end(section: str, context: str) -> None:
    stream = parse_stream(f"{HEAD}## Ledger\n{section}")

    assert stream.goal == "x"
    assert stream.context == context


@pytest.mark.requirement("G14")
@pytest.mark.parametrize("text", ["", HEAD, f"{HEAD}### Ledger\n**Goal:** x\n", "```\n## Ledger\n```\n"])
def test_without_a_ledger_section_there_is_none(text: str) -> None:
    stream = parse_stream(text)

    assert (stream.goal, stream.context) == ("", "")
    assert "section is missing" in {one.problem for one in stream.problems if one.field == "Ledger"}


@pytest.mark.requirement("R68")
@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("plain?", Question(text="plain?")),
        ("UNCONFIRMED: a: b", Question(text="a: b", kind=QuestionKind.UNCONFIRMED)),
        ("unconfirmed:a", Question(text="a", kind=QuestionKind.UNCONFIRMED)),
        ("UNKNOWN: cost", Question(text="cost", kind=QuestionKind.UNKNOWN)),
        ("[ ] ask", Question(text="ask", kind=QuestionKind.TODO)),
        ("[x] asked", Question(text="[x] asked")),
    ],
)
def test_open_points_have_a_kind(item: str, expected: Question) -> None:
    text = f"{HEAD}## Ledger\n\n### Open Questions\n- {item}\n\n---\n"

    assert parse_stream(text).questions == (expected,)


@pytest.mark.requirement("R67")
@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("Storage: Redis: 24h", Pair(key="Storage", value="Redis: 24h")),
        ("Storage:", Pair(key="Storage")),
        ("keep it", Pair(key="keep it")),
        ("http://x.y", Pair(key="http://x.y")),
    ],
)
def test_decisions_have_a_key_and_a_reason(item: str, expected: Pair) -> None:
    assert parse_stream(f"{HEAD}## Ledger\n\n### Decisions\n- {item}\n").decisions == (expected,)


@pytest.mark.requirement("R74")
def test_new_context_goes_after_the_section() -> None:
    text = f"{HEAD}## Ledger\n**Goal:** x\n"

    changed = render_stream(replace(parse_stream(text), context="## Context\n\nNew."))

    assert changed == f"{HEAD}## Ledger\n**Goal:** x\n\n---\n\n## Context\n\nNew.\n"


@pytest.mark.requirement("R64", "R74")
def test_a_repair_keeps_what_stands_around_the_section() -> None:
    head = f"{HEAD}Words before.\n\n"
    text = f"{head}## Ledger\n**Goal:** x\n\n### Now\n- one\n- two\n\n## Context\n\nRest.\n"

    repaired = fix_stream(parse_stream(text))

    stream = parse_stream(repaired)
    assert repaired.startswith(f"{head}## Ledger\n**Updated:**")
    assert repaired.endswith("\n---\n\n## Context\n\nRest.\n")
    assert (stream.now, stream.next) == ("one", ("two",))
    assert stream.problems == ()


def test_a_sound_stream_needs_no_repair() -> None:
    text = render_stream(examples.STREAM)

    assert fix_stream(parse_stream(text)) == text
