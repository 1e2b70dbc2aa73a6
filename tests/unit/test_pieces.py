"""Splicing: what is not changed stays to the byte, and nothing that is no item is lost."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.lists import cut_list, write_item
from passdown.core.pieces import Kind, Piece, splice
from tests.texts import texts

LINES = (
    "- {}",
    "* {}",
    "- {}\n  more",
    "- {}\n\n  more",
    "<!-- {} -->",
    "\ntext {}",
    "- (none)",
    "",
    "  - {}",
)
layouts = st.lists(st.sampled_from(LINES)).map(
    lambda lines: "\n".join(line.format(f"w{number}") for number, line in enumerate(lines))
)
edits = st.lists(st.tuples(st.sampled_from(["keep", "drop", "change", "add"]), st.integers(0, 9)))


def said(pieces: list[Piece]) -> list[str]:
    """The values of the items."""
    return [piece.text for piece in pieces if piece.kind is Kind.ITEM]


def write(text: str) -> str:
    """An item of a list."""
    return write_item("- ", text)


def edited(items: list[str], changes: list[tuple[str, int]]) -> list[str]:
    """The items after some random changes."""
    new = list(items)
    for how, where in changes:
        at = min(where, len(new))
        if how == "add":
            new.insert(at, f"new{where}")
        elif how != "keep" and at < len(new):
            new[at : at + 1] = [f"changed{where}"] if how == "change" else []
    return new


@given(layouts | texts)
def test_nothing_changed_is_nothing_changed(content: str) -> None:
    pieces = cut_list(content, 1)

    assert splice(pieces, said(pieces), said(pieces), write) == content


@given(layouts, edits)
@example("- w0\n\ntext w1\n- w2", [("drop", 0), ("add", 9)])
def test_all_but_the_changed_items_stays(content: str, changes: list[tuple[str, int]]) -> None:
    pieces = cut_list(content, 1)
    old = said(pieces)
    new = edited(old, changes)

    spliced = splice(pieces, old, new, write)

    lines = spliced.split("\n")
    moved = [text for text in old if text in new] != [text for text in new if text in old]
    for piece in pieces:
        gone = piece.kind is Kind.ITEM and (piece.text not in new or moved)
        if not gone and not (piece.kind is Kind.NOTHING and not old):
            assert all(line in lines for line in piece.lines)
    assert all(text.split("\n")[0] in spliced for text in new)


@pytest.mark.parametrize(
    ("content", "new", "spliced"),
    [
        ("- a\n- b\n- c", ["a", "x", "c"], "- a\n- x\n- c"),
        ("- a\n- b", ["a", "b", "x"], "- a\n- b\n- x"),
        ("- a\n- b", ["x", "a", "b"], "- x\n- a\n- b"),
        ("* a\n\n* b\n\ntext", ["b"], "\n* b\n\ntext"),
        ("  - a\n  - b", ["a", "x\ny", "b"], "  - a\n  - x\n    y\n  - b"),
        ("- (none)", ["x"], "- x"),
        ("- (none)", [], "- (none)"),
        ("* a\n* b\n* c\n* d", ["b", "d", "x"], "* b\n* d\n- x"),
        ("* a\n* b", ["b", "a"], "* b\n- a"),
        ("text", ["x"], "text\n- x"),
        ("", ["x"], "- x"),
        ("- a\n- a\n- a", ["a", "a"], "- a\n- a"),
        ("- a\n<!-- c -->\n- b", [], "<!-- c -->"),
    ],
)
def test_new_items_stand_where_they_belong(content: str, new: list[str], spliced: str) -> None:
    pieces = cut_list(content, 1)

    assert splice(pieces, said(pieces), new, write) == spliced


def test_the_first_item_of_all_gets_the_opening() -> None:
    assert splice([], [], ["a"], write, "head") == "head\n- a"
    assert splice(cut_list("text", 1), [], ["a"], write, "head") == "text\nhead\n- a"
    assert splice([Piece(Kind.FRAME, ["was"], ["was"], 1)], [], ["a"], write, "head") == "was\n- a"
    assert splice([], [], [], write, "head") == ""
