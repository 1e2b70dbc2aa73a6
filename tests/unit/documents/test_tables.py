"""Tables: rows are read back, and cutting loses nothing."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.documents.lists import Kind
from passdown.core.documents.tables import MAX_ROW, cut_table, read_row, write_header, write_row
from tests.support.texts import said_text, texts

HEADER = ("Decision", "Reasoning")


def kinds(content: str) -> str:
    """One letter for each piece."""
    return "".join(piece.kind.name[0] for piece in cut_table(content, HEADER, 1))


@given(texts)
def test_the_lines_of_the_pieces_are_the_content(content: str) -> None:
    pieces = cut_table(content, HEADER, 5)

    assert "\n".join(line for piece in pieces for line in piece.lines) == content
    number = 5
    for piece in pieces:
        assert piece.line == number
        assert len(piece.lines) == len(piece.said)
        number += len(piece.lines)


@given(st.lists(st.tuples(said_text, said_text | st.just("")), min_size=1))
@example([("--", "")])
@example([("\\--", "\\none"), ("Decision", "Reasoning")])
@example([("\\\\\nNone", "\\\n-")])
@example([("a\\", "b\\|c\\\n\\\\d<br>")])
def test_written_rows_are_read_back(rows: list[tuple[str, str]]) -> None:
    content = "\n".join([write_header(HEADER), *map(write_row, rows)])

    pieces = [piece for piece in cut_table(content, HEADER, 1) if piece.kind is not Kind.FRAME]

    assert {piece.kind for piece in pieces} == {Kind.ITEM}
    assert [tuple(read_row(piece.text)) for piece in pieces] == rows


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("| a | b |", ["a", "b"]),
        ("|a|b", ["a", "b"]),
        ("| a | | - | (none) |", ["a", "", "", ""]),
        (r"| a \| b |", ["a | b"]),
        (r"| \\srv\d+ | C:\x\ |", [r"\\srv\d+", "C:\\x\\"]),
        ("| a<br>b<br/>c |", ["a\nb\nc"]),
        ("", []),
        ("| a \\", ["a \\"]),
    ],
)
def test_cells_are_read(row: str, cells: list[str]) -> None:
    assert read_row(row) == cells


@pytest.mark.parametrize(
    ("content", "pieces"),
    [
        ("", ""),
        ("| Decision | Reasoning |\n|---|---|\n| a | b |\n\n| - | - |", "FFIFN"),
        ("|decision|REASONING:|\r\n|:--|--:|\r\n| a | b |\r", "FFI"),
        ("--- | ---\ntext\nmore\n```\n| a | b |\n```\n| a |", "FSI"),
        ("| a | b |\n| Decision | Reasoning |\n| Decision | Reasoning |", "IFI"),
    ],
)
def test_rows_and_frame_are_told_apart(content: str, pieces: str) -> None:
    assert kinds(content) == pieces


def test_a_row_too_long_to_be_one_is_kept_as_text() -> None:
    row = "|" * (MAX_ROW + 1)

    (piece,) = cut_table(row, HEADER, 1)

    assert piece.kind is Kind.STRAY
    assert piece.lines == [row]
