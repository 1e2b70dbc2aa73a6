"""Lists: items are read back, and cutting loses nothing."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.documents.lists import Kind, cut_list, split_tick, write_item
from passdown.core.documents.markdown import unescape_text
from tests.support.texts import said_text, texts

MARKS = ("- ", "- [x] ", "- [ ] ", "[->] ", "1. ")


def cut(content: str) -> list[tuple[Kind, str]]:
    """The pieces that say something."""
    return [(piece.kind, piece.text) for piece in cut_list(content, 1) if piece.text]


@given(texts)
def test_the_lines_of_the_pieces_are_the_content(content: str) -> None:
    pieces = cut_list(content, 5)

    assert "\n".join(line for piece in pieces for line in piece.lines) == content
    number = 5
    for piece in pieces:
        assert piece.line == number
        assert len(piece.lines) == len(piece.said)
        number += len(piece.lines)


@given(st.lists(said_text, min_size=1), st.sampled_from(MARKS))
@example(["```\na\n\nb\n```", "<!-- a\n```\n-->"], "[->] ")
def test_written_items_are_read_back(items: list[str], mark: str) -> None:
    pieces = cut_list("\n".join(write_item(mark, item) for item in items), 1)

    assert {piece.kind for piece in pieces} <= {Kind.ITEM}
    assert [_said(piece.text, mark) for piece in pieces] == items


def _said(text: str, mark: str) -> str:
    return unescape_text(split_tick(text)[1] if mark.startswith("- [") else text)


@pytest.mark.parametrize(
    ("content", "items"),
    [
        ("- a\n- b", ["a", "b"]),
        ("* a\n+ b\n• c\n→ d\n1. e\n2) f\n[->] g", ["a", "b", "c", "d", "e", "f", "g"]),
        ("- a\r\n- b\r", ["a", "b"]),
        ("  - a\n  - b", ["a", "b"]),
        ("- a\n  - b\n    c\n- d", ["a\n- b\n  c", "d"]),
        ("- a\nb\n- c", ["a\nb", "c"]),
        ("- a\n\n  b\n\n- c", ["a\n\nb", "c"]),
        ("- a\n\tb", ["a\nb"]),
        ("-\n  a", ["a"]),
        ("- ```\n  - b\n\n  c\n  ```\n- d", ["```\n- b\n\nc\n```", "d"]),
        ("- ```\n# a\n```\n- b", ["```\n# a\n```", "b"]),
        ("- <!-- a -->\n- b", ["<!-- a -->", "b"]),
        ("- a\n - b", ["a", "b"]),
    ],
)
def test_items_are_read_in_every_layout(content: str, items: list[str]) -> None:
    assert cut(content) == [(Kind.ITEM, item) for item in items]


@pytest.mark.parametrize(
    ("content", "pieces"),
    [
        ("", []),
        ("a\nb\n\nc", [(Kind.STRAY, "a\nb"), (Kind.STRAY, "c")]),
        ("- a\n\nb\n  c", [(Kind.ITEM, "a"), (Kind.STRAY, "b\n  c")]),
        (
            "- a\n<!-- b\n\n- c\n-->\n- d",
            [(Kind.ITEM, "a"), (Kind.STRAY, "<!-- b\n\n- c\n-->"), (Kind.ITEM, "d")],
        ),
        ("- a\n```\n- b\n```", [(Kind.ITEM, "a"), (Kind.STRAY, "```\n- b\n```")]),
        ("  a\n\n  b", [(Kind.STRAY, "a"), (Kind.STRAY, "b")]),
        ("- \n- (none)\n- None", [(Kind.NOTHING, "(none)"), (Kind.NOTHING, "None")]),
        ("-a\n*b*", [(Kind.STRAY, "-a\n*b*")]),
    ],
)
def test_what_is_no_item_is_told_apart(content: str, pieces: list[tuple[Kind, str]]) -> None:
    assert cut(content) == pieces


@pytest.mark.parametrize(
    ("text", "tick"),
    [
        ("[ ] a", " "),
        ("[x] a", "x"),
        ("[X] a", "X"),
        ("[->] a", "->"),
        ("[→] a", "→"),
        ("[~] a", "~"),
        ("[-] a", "-"),
    ],
)
def test_check_boxes_are_read(text: str, tick: str) -> None:
    assert split_tick(text) == (tick, "a")


def test_text_without_a_check_box_is_all_text() -> None:
    assert split_tick("[xx] a") == ("", "[xx] a")
