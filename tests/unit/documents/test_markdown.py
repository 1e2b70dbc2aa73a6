"""Markdown: cutting loses nothing, code and comments are no structure, and text stays text."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.documents.markdown import (
    LineState,
    escape_text,
    find_rule,
    fold_title,
    is_heading,
    is_placeholder,
    line_end,
    mark_lines,
    read_heading,
    split_sections,
    unescape_text,
    with_line_ends,
    write_heading,
)
from passdown.core.documents.outlines import Outline, cut_body
from passdown.core.documents.places import Paragraph, Place, SingleLine
from tests.support.texts import normal_text, said_line, said_text, texts

MARKS = {LineState.TEXT: ".", LineState.OPENING: "<", LineState.CODE: "c", LineState.COMMENT: "x"}
SECTION: Place[str] = Place("A", Paragraph(), "## A")
LABEL: Place[str] = Place("A/Goal", SingleLine(str, str, ""), "**Goal:**", " ")
OUTLINE = Outline((SECTION, LABEL))


def marked(text: str) -> str:
    """One letter for each line: what it is part of."""
    return "".join(MARKS[state] for state in mark_lines(text.split("\n"))[0])


@given(texts)
def test_the_sections_of_a_text_are_the_text(text: str) -> None:
    sections = split_sections(text)

    assert "".join(one.head + one.body for one in sections) == text
    for section in sections[1:]:
        assert text.split("\n")[section.line - 1] == section.head.removesuffix("\n")
        assert is_heading(section.head)


def test_headings_in_code_and_comments_open_no_section() -> None:
    text = "# A\n```\n## no\n```\n<!--\n## no\n-->\n- ~~~\n## no\n~~~\n ## no\n##no\n## B ##\n"

    assert [(one.level, one.title, one.line) for one in split_sections(text)] == [
        (0, "", 1),
        (1, "A", 1),
        (2, "B", 13),
    ]


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("a\n```\nb\n```\nc", ".<cc."),
        ("~~~ py\n```\n~~~\n", "<cc."),
        ("````\n```\n`````", "<cc"),
        ("```\na", ".."),
        ("````\na\n```", "..."),
        ("````\na\n```\nb\n```", "..<cc"),
        ("```a`b\n```", ".."),
        ("- ```\n  a\n  ```", "<cc"),
        ("- [x] 1. ```\na\n```", "<cc"),
        ("[->] ~~~\n~~~", "<c"),
        ("<!-- a -->\nb", "<."),
        ("<!-- a\nb\nc --> d\ne", "<xx."),
        ("- <!-- a\n-->", "<x"),
        ("<!-- a\nb", ".."),
        ("a <!-- b\nc -->", ".."),
        ("<!--\n```\n-->\n```\n```", "<xx<c"),
        ("```\r\na\r\n```\r\n", "<cc."),
    ],
)
def test_code_and_comments_that_are_never_closed_are_text(text: str, marks: str) -> None:
    assert marked(text) == marks


def test_openings_that_are_never_closed_are_told() -> None:
    assert mark_lines(["```", "a", "```", "~~~", "<!--"])[1] == [3, 4]


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("---", 0),
        ("a\n---\n---\n", 2),
        ("a\r\n--- \r\n", 3),
        ("```\n---\n```\n---", 12),
        ("<!--\n---\n-->", -1),
        (" ---\n----\n- --\n---a", -1),
        ("", -1),
    ],
)
def test_a_rule_is_a_line_of_its_own_outside_code_and_comments(text: str, offset: int) -> None:
    assert find_rule(text) == offset


@given(normal_text)
@example("1. ```py")
@example("+ ~~~")
@example("\\none")
@example("```\n\\# a\n```\n\\# b")
def test_an_escaped_text_is_read_back(text: str) -> None:
    assert unescape_text(escape_text(text)) == text


@given(said_text)
@example("<!-- a\n```\n-->")
def test_an_escaped_text_opens_nothing(text: str) -> None:
    before, behind = "# T\n\n## A\n\n", "\n\n## B\n\n**Goal:** b\n\n```\n```\n<!-- -->\n---\n"
    for embedded in (
        escape_text(text),
        *(mark + escape_text(text) for mark in ("- ", "- [x] ", "[->] ", "1. ")),
    ):
        document = before + embedded + behind

        assert [one.title for one in split_sections(document)] == ["", "T", "A", "B"]
        assert find_rule(document) == len(document) - 4
        assert [one.name for one in cut_body(document, OUTLINE)] == ["title", "A", "?B"]
        assert marked(document).endswith(".....<c<..")


@pytest.mark.parametrize("text", ["\\- a", "\\*b*", "\\d+", "\\(none) yet", "C:\\x", "a\n\\_b_"])
def test_a_backslash_that_guards_no_structure_is_text(text: str) -> None:
    assert unescape_text(text) == text


def test_a_backslash_in_code_is_text() -> None:
    text = "a\n```\n\\# b\n```"

    assert unescape_text(text) == text


@pytest.mark.parametrize("text", ["(none)", " None ", "N/A", "-", "(none yet)"])
def test_words_for_nothing_say_nothing(text: str) -> None:
    assert is_placeholder(text)


@given(said_line, st.integers(1, 6))
@example("C #", 1)
@example("#", 2)
def test_a_written_heading_is_read_back(title: str, level: int) -> None:
    line = write_heading(level, title)

    assert is_heading(line)
    assert read_heading(line) == (level, title)


def test_spellings_of_a_heading_are_the_same() -> None:
    assert fold_title(" Open  QUESTIONS: ") == fold_title("Open Questions")


@given(texts, texts)
def test_new_lines_get_the_line_end_of_their_document(old: str, new: str) -> None:
    ended = with_line_ends(new, old)

    assert ended.replace("\r", "") == new.replace("\r", "")
    assert with_line_ends(old, old) == old
    if line_end(old) == "\n":
        assert ended == new


def test_old_lines_keep_theirs() -> None:
    assert with_line_ends("a\r\nb\nnew\n\nlast", "a\r\nb\nc\r\n") == "a\r\nb\nnew\r\n\r\nlast"


@pytest.mark.parametrize("line", ["---\r", "--- \r", "#\r", "## \r"])
def test_structure_before_a_carriage_return_is_escaped_too(line: str) -> None:
    escaped = escape_text(f"---\n_idx\n{line}")

    assert find_rule(escaped) < 0
    assert len(split_sections(escaped)) == 1
    assert unescape_text(escaped) == f"---\n_idx\n{line}"
