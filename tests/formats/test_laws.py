"""What holds for every format: reading gives back what was written, and writing what was read."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passdown.core.formats.registry import FORMATS, Format
from passdown.core.problems import Severity
from passdown.core.schemas import to_data
from passdown.errors import FormatError
from passdown.records import names_of, replace
from tests.formats.strategies import BY_NAME, KINDS, NASTY_BLOCKS, NASTY_LINES, Kind
from tests.hostile.counter import lost_lines
from tests.proof import proof_count

GOLDEN = Path(__file__).parent / "golden"
DOCUMENTS = {
    one.name: [
        one.example(),
        *(path.read_bytes().decode() for path in sorted(GOLDEN.glob(f"{one.name}-*"))),
    ]
    for one in FORMATS
}
each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.format.name)
FIXABLE = tuple(one for one in FORMATS if one.fix)


@each_kind
@given(data=st.data())
@settings(max_examples=proof_count(fast=8, ci=100, long=10_000))
def test_a_value_reads_back_as_it_was_written(kind: Kind, data: st.DataObject) -> None:
    value = data.draw(kind.values)

    written = kind.render(value)

    read = kind.parse(written)
    assert read == value
    assert kind.render(read) == written
    assert kind.render(replace(read, source=None)) == written


@each_kind
@given(data=st.data())
def test_what_we_write_completely_has_no_errors(kind: Kind, data: st.DataObject) -> None:
    value = kind.completed(data.draw(kind.values))

    problems = kind.parse(kind.render(value)).problems

    torn = value.unknown if kind.format.name == "journal" else ()
    errors = [one for one in problems if one.severity is Severity.ERROR]
    assert [one.field for one in errors] == ["line"] * len(torn)


@each_kind
@given(text=st.text() | st.lists(st.sampled_from((*NASTY_LINES, *NASTY_BLOCKS, ""))).map("\n".join))
def test_any_text_is_written_as_it_was_read_or_refused(kind: Kind, text: str) -> None:
    assert _rendered(kind, text) in (text, None)


_FRAGMENTS = (
    *NASTY_LINES,
    "",
    " ",
    "\t",
    "\r",
    "\n",
    "\r\n",
    "\n\n",
    "\ufeff",
    "\x00",
    "---\n",
    "  ",
    "## Ledger\n",
)


@st.composite
def mutated(draw: st.DrawFn, name: str) -> str:
    """A document of a format, damaged in a few places."""
    text = draw(st.sampled_from(DOCUMENTS[name]))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.sampled_from((0, 0, 1, 5, 80))))
        text = text[:start] + draw(st.sampled_from(_FRAGMENTS)) + text[end:]
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@each_kind
@given(data=st.data())
@settings(max_examples=proof_count(fast=8, ci=100, long=10_000))
def test_damaged_documents_are_written_as_they_were_read(kind: Kind, data: st.DataObject) -> None:
    text = data.draw(mutated(kind.format.name))

    assert _rendered(kind, text) in (text, None)


@each_kind
@given(data=st.data())
def test_what_is_wrong_is_reported_on_a_line_of_the_document(kind: Kind, data: st.DataObject) -> None:
    text = data.draw(mutated(kind.format.name))

    try:
        problems = kind.parse(text).problems
    except FormatError:
        return

    last = max(2, text.count("\n") + 1)
    assert [one for one in problems if not 1 <= one.line <= last] == []
    assert list(problems) == sorted(problems, key=lambda one: one.line)


@pytest.mark.parametrize("name", ["ledger", "stream", "archive", "session-state", "handoff"])
@given(data=st.data())
def test_one_field_of_a_damaged_document_can_be_changed_and_the_others_stay(
    name: str, data: st.DataObject
) -> None:
    kind = BY_NAME[name]
    value = data.draw(kind.values)
    changed = data.draw(st.sampled_from([one for one in _fields(value) if one != "unknown"]))
    try:
        document = kind.parse(data.draw(mutated(name)))
    except FormatError:
        return

    wanted = replace(document, **{changed: getattr(value, changed)})
    found = kind.parse(kind.render(wanted))

    assert replace(found, unknown=()) == replace(wanted, unknown=())


@pytest.mark.parametrize("one", FIXABLE, ids=lambda one: one.name)
@given(data=st.data())
def test_a_repaired_document_needs_no_second_repair(one: Format, data: st.DataObject) -> None:
    text = data.draw(mutated(one.name))
    assert one.fix

    try:
        repaired = one.fix(text)
    except FormatError:
        return

    lost = set(lost_lines(text, to_data(one.parse(repaired))))
    assert one.fix(repaired) == repaired
    assert lost <= set(lost_lines(text, to_data(one.parse(text))))


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)
def test_each_example_is_valid_and_written_as_we_write(one: Format) -> None:
    kind = BY_NAME[one.name]
    text = one.example()

    document = kind.parse(text)

    assert document.problems == ()
    assert document.unknown == ()
    assert kind.render(replace(document, source=None)) == text


def _fields(value: Any) -> list[str]:  # any document
    return [name for name in names_of(value) if name not in {"problems", "source"}]


def _rendered(kind: Kind, text: str) -> str | None:
    """What a text becomes, or None when it is refused."""
    try:
        return kind.render(kind.parse(text))
    except FormatError:
        return None
