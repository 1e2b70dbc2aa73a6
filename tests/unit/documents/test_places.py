"""Places: each codec reads back what it writes, and a revision keeps what is no value."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.documents.fields import count_key, text_key
from passdown.core.documents.places import (
    Codec,
    Entries,
    Heading,
    ListOf,
    Paragraph,
    PlacePosition,
    SingleLine,
    TableOf,
    composed,
    is_comment,
    rewrite,
)
from passdown.core.problems import Malformed, Severity
from tests.support.texts import normal_text, said_line, said_text, texts

T = TypeVar("T")

AT = PlacePosition(10, "Place")
STRAYS = (
    "",
    "\n",
    "<!-- c -->",
    "text w",
    "\n\nmore",
    "```\ncode\n```",
    "| only |",
    "- [ ] open",
    "* [x] star",
    "- \n",
)
contents = st.lists(
    st.sampled_from((*STRAYS, "- a", "- b\n  c", "  - d", "| a | b |", "|---|---|", "- (none)"))
).map(lambda lines: "\n".join(lines).strip("\n"))
TEXTS = ListOf(str, str)
TICKED = ListOf(str, str, tick="[x]", nothing="- (none yet)")
BARE = ListOf(str, str, mark="[->] ", bare=True)
TABLE = TableOf(("One", "Two"), tuple, tuple)
PARAGRAPH = Paragraph("(none)")
LINE = SingleLine(str, str, "")


def read_digit(text: str) -> int:
    """One digit, or nothing of ours."""
    if len(text) != 1 or text not in "0123456789":
        raise Malformed("is no digit", "write one")
    return int(text)


DIGITS = ListOf(read_digit, str)
DIGIT = SingleLine(read_digit, str, -1)


Task = Mapping[str, object]
ENTRIES = Entries((text_key("bead", keep_empty=True), count_key("phase")))
lists = st.lists(said_text, max_size=4).map(tuple)
rows = st.lists(st.tuples(said_text, normal_text), max_size=4).map(tuple)
tasks: st.SearchStrategy[Task] = st.fixed_dictionaries(
    {"bead": st.none() | said_line, "phase": st.none() | st.integers(0, 9)}
)


@given(lists)
@pytest.mark.parametrize("codec", [TEXTS, TICKED, BARE])
def test_a_written_list_is_read_back(codec: ListOf[str], value: tuple[str, ...]) -> None:
    reading = codec.read(codec.write(value), AT)

    assert (reading.value, list(reading.strays), list(reading.problems)) == (value, [], [])


@given(rows)
def test_a_written_table_is_read_back(value: tuple[tuple[str, str], ...]) -> None:
    reading = TABLE.read(TABLE.write(value), AT)

    assert (reading.value, list(reading.strays), list(reading.problems)) == (value, [], [])


@given(normal_text)
def test_a_written_paragraph_is_read_back(value: str) -> None:
    assert PARAGRAPH.read(PARAGRAPH.write(value), AT).value == value


@given(said_line | st.just(""))
def test_a_written_line_is_read_back(value: str) -> None:
    assert LINE.read(LINE.write(value), AT).value == value


@given(texts)
def test_a_line_stays_one_line(value: str) -> None:
    assert "\n" not in LINE.write(value)


@given(tasks)
def test_written_entries_are_read_back(value: Task) -> None:
    assert ENTRIES.read(ENTRIES.write(value), AT).value == value


@given(contents, lists)
@example("  - a\n- b", ("x", "b", "y"))
@example("- a\n\ntext", ())
@pytest.mark.parametrize("codec", [TEXTS, TICKED, BARE])
def test_a_revised_list_says_what_it_should_and_keeps_the_rest(
    codec: ListOf[str], content: str, value: tuple[str, ...]
) -> None:
    _check_revision(codec, content, value)


@given(contents, rows)
def test_a_revised_table_says_what_it_should_and_keeps_the_rest(
    content: str, value: tuple[tuple[str, str], ...]
) -> None:
    _check_revision(TABLE, content, value)


def _check_revision(codec: Codec[tuple[T, ...]], content: str, value: tuple[T, ...]) -> None:
    was = codec.read(content, AT)

    revised = rewrite(codec, content, value)

    reading = codec.read(revised, AT)
    assert reading.value == value
    assert _lines(reading.strays) == _lines(was.strays)
    assert rewrite(codec, revised, value) == revised


def _lines(strays: Sequence[str]) -> list[str]:
    return [line for stray in strays for line in stray.split("\n") if line.strip()]


@given(contents | texts, said_line | st.just(""))
def test_a_revised_line_keeps_those_below_it(content: str, value: str) -> None:
    was = LINE.read(content, AT)

    reading = LINE.read(rewrite(LINE, content, value), AT)

    assert reading.value == value
    assert _lines(reading.strays) == _lines(was.strays)


@given(contents | texts, tasks)
def test_revised_entries_keep_the_others(content: str, value: Task) -> None:
    was = ENTRIES.read(content, AT)

    reading = ENTRIES.read(rewrite(ENTRIES, content, value), AT)

    assert reading.value == value
    kept = "\n".join(reading.strays)
    assert [text for text in was.strays if text not in kept] == []


def test_a_list_tells_what_is_no_item() -> None:
    reading = DIGITS.read("- 1\n- x\n\ntext " + "y" * 99 + "\nmore\n<!-- c -->", AT)

    assert reading.value == (1,)
    assert list(reading.strays) == ["- x", "text " + "y" * 99 + "\nmore\n<!-- c -->"]
    assert [(one.line, one.field, one.hint) for one in reading.problems] == [
        (11, "Place", "write one"),
        (13, "Place", "start it with `- `"),
    ]
    assert reading.problems[1].problem == "has text that is not a list item: text " + "y" * 54 + "…"
    assert reading.problems[1].severity is Severity.WARNING


def test_a_check_box_that_is_missing_can_be_repaired_and_another_one_not() -> None:
    problems = TICKED.read("- a\n- [X] b\n- [ ] c", AT).problems

    assert [(one.line, one.problem, one.fixable) for one in problems] == [
        (10, "has no check box [x]", True),
        (12, "has [ ] instead of [x]", False),
    ]


def test_a_bare_text_is_an_item_where_there_is_no_other() -> None:
    assert BARE.read("a\nb\n\nc", AT).value == ("a\nb", "c")
    assert [one.fixable for one in BARE.read("a", AT).problems] == [True]
    assert BARE.read("<!-- c -->", AT).value == ()
    assert BARE.read("a\n[->] b", AT).value == ("b",)
    assert BARE.read("[->] (none)\n\na", AT).value == ()


def test_a_text_that_is_left_is_not_taken_for_the_item() -> None:
    revised = rewrite(BARE, "[->] a\n\ntext", ())

    assert revised == "(none)\n\ntext"
    assert rewrite(BARE, revised, ("b",)) == "text\n\n[->] b"


@pytest.mark.parametrize(
    ("content", "value", "revised"),
    [
        ("  - a\n- b", ("b", "c"), "- b\n- c"),
        ("   - a\n- b\n  - c", ("b\n- c", "x", "y"), "- b\n  - c\n- x\n- y"),
    ],
)
def test_a_list_with_an_odd_layout_can_be_changed(content: str, value: tuple[str, ...], revised: str) -> None:
    assert rewrite(TEXTS, content, value) == revised


def test_a_layout_that_cannot_be_kept_is_made_anew() -> None:
    content = "   - a\n- b\n\ntext"

    revised = rewrite(TEXTS, content, ("a", "b", "c"))

    assert TEXTS.read(revised, AT).value == ("a", "b", "c")


def test_a_row_of_the_wrong_width_is_read_and_told() -> None:
    reading = TABLE.read("| a | b | c |\n| d |", AT)

    assert reading.value == (("a", "b | c"), ("d", ""))
    assert [(one.problem, one.fixable) for one in reading.problems] == [("has 3 cells instead of 2", True)]


def test_a_row_that_does_not_fit_is_a_stray() -> None:
    table = TableOf(("One",), lambda cells: read_digit(cells[0]), lambda digit: (str(digit),))

    reading = table.read("| 1 |\r\n| x |\r\ntext", AT)

    assert reading.value == (1,)
    assert list(reading.strays) == ["| x |", "text"]


def test_a_table_that_is_written_anew_has_a_header_and_keeps_other_text() -> None:
    header = "| One | Two |\n|-----|-----|\n"

    assert rewrite(TABLE, "text", (("a", ""),)) == f"text\n\n{header}| a | - |"
    assert rewrite(TABLE, "| a | b |", (("a", "b"), ("c", "d"))) == f"{header}| a | b |\n| c | d |"


@pytest.mark.parametrize(
    ("content", "strays", "whole"),
    [
        ("", [], ""),
        ("bead: a", [], "bead: a"),
        ("bead: a", ["- b"], "- b\n\nbead: a"),
        ("bead: a", ["bead: b"], "bead: a\n\nbead: b"),
        ("bead: a", ["- b", "bead: c"], "- b\n\nbead: a\n\nbead: c"),
        ("", ["- b"], "- b"),
    ],
)
def test_strays_stand_where_they_do_no_harm(content: str, strays: list[str], whole: str) -> None:
    assert composed(ENTRIES.read, content, strays) == whole


def test_a_word_for_nothing_keeps_strays_from_being_the_value() -> None:
    assert composed(LINE.read, "", ["a"]) == "(none)\n\na"
    assert composed(TEXTS.read, "", ["<!-- c -->\n  - d"]) == "- (none)\n\n<!-- c -->\n  - d"
    assert composed(ENTRIES.read, "", ["bead: a"]) == "- (none)\n\nbead: a"


def test_a_line_that_does_not_fit_is_kept_as_a_stray() -> None:
    reading = DIGIT.read("x\n\nmore", AT)

    assert reading.value == -1
    assert list(reading.strays) == ["x", "more"]
    assert [(one.line, one.problem) for one in reading.problems] == [
        (10, "is no digit"),
        (11, "has more than one line"),
    ]


def test_a_heading_holds_nothing_but_strays() -> None:
    assert list(Heading().read("text", AT).strays) == ["text"]
    assert list(Heading().read("", AT).strays) == []
    assert Heading().write(None) == ""
    assert rewrite(Heading(), "text", None) == "text"


def test_problems_of_entries_name_the_place() -> None:
    assert [one.field for one in ENTRIES.read("phase: x", AT).problems] == ["Place/phase"]


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("<!-- a -->", True),
        (" <!-- a --> \n<!--\nb\n-->", True),
        ("<!-- a", False),
        ("<!-- a --> b", False),
        ("", True),
    ],
)
def test_comments_are_told_from_text(text: str, is_one: bool) -> None:
    assert is_comment(text) is is_one
