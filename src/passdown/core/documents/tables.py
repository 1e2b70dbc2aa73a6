"""Reads and writes the rows and cells of Markdown tables."""

import re
from collections.abc import Sequence
from typing import Final

from passdown.core.documents.lists import Kind, Piece
from passdown.core.documents.markdown import LineState, fold_title, is_placeholder, mark_lines
from passdown.core.lazy_regex import pattern

MAX_ROW: Final = 65_536

_SEPARATOR: Final = pattern(r"\|?[ \t]*:?--[-:| \t]*$")
_CELL: Final = pattern(r"([^|\\]*(?:\\.[^|\\]*)*)(\\?)(?:\||$)", re.DOTALL)
_DASHES: Final = pattern(r"[:-]+")
# A backslash is an escape only before a bar or a `<br>`; elsewhere, as in a Windows path, it is text.
_WRITTEN: Final = pattern(r"(\\+)(\||<br[ ]*/?>)?|<br[ ]*/?>")
_ESCAPED: Final = pattern(r"(\\+)(\||\n|<(?=br[ ]*/?>))?|\||\n|<(?=br[ ]*/?>)")


def cut_table(content: str, header: Sequence[str], line: int) -> list[Piece]:
    """Split a text into rows, frame (blank lines, the header, separators), and other text.

    A row of empty cells counts as "nothing".
    """
    if not content:
        return []
    wanted = [fold_title(name) for name in header]
    pieces: list[Piece] = []
    lines = content.split("\n")
    states, _ = mark_lines(lines)
    for number, (one, state) in enumerate(zip(lines, states, strict=True), line):
        bare = one.strip()
        is_row = state is LineState.TEXT and bare.startswith("|") and len(bare) <= MAX_ROW
        cells = read_row(bare) if is_row else []
        kind = _kind(bare, cells) if state is LineState.TEXT else Kind.STRAY
        if kind is Kind.ITEM and wanted and [fold_title(cell) for cell in cells] == wanted:
            kind, wanted = Kind.FRAME, []  # a second header is a row with the same text
        if kind is Kind.STRAY and pieces and pieces[-1].kind is Kind.STRAY:
            pieces[-1].lines.append(one)
            pieces[-1].said.append(bare)
        else:
            pieces.append(Piece(kind, [one], [bare], number))
    return pieces


def _kind(bare: str, cells: Sequence[str]) -> Kind:
    if not bare or _SEPARATOR.match(bare):
        return Kind.FRAME
    if not bare.startswith("|") or len(bare) > MAX_ROW:
        return Kind.NOTHING if is_placeholder(bare) else Kind.STRAY
    return Kind.ITEM if any(cells) else Kind.NOTHING


def read_row(row: str) -> list[str]:
    """Return the texts of the cells of a row; a dash or "(none)" is an empty cell."""
    *cells, _ = _CELL.finditer(row.strip().removeprefix("|"))  # the last match is the empty end
    return [_read_cell(cell[1] + cell[2]) for cell in cells]


def _read_cell(cell: str) -> str:
    bare = cell.strip()
    if not bare or is_placeholder(bare):
        return ""
    if bare[0] == "\\" and _says_nothing(bare[1:]):
        return bare[1:]
    return _WRITTEN.sub(_unescape, bare)


def _unescape(match: re.Match[str]) -> str:
    slashes, special = _slashes(match)
    if not special:
        return slashes
    half, escaped = divmod(len(slashes), 2)
    return "\\" * half + (special if escaped or special == "|" else "\n")


def write_row(cells: Sequence[str]) -> str:
    """Write a row; an empty cell becomes a dash."""
    return f"| {' | '.join(_write_cell(cell) for cell in cells)} |"


def _write_cell(cell: str) -> str:
    if not cell:
        return "-"
    return f"\\{cell}" if _says_nothing(cell) else _ESCAPED.sub(_escape, cell)


def _says_nothing(cell: str) -> bool:
    """Return whether a cell, ignoring backslashes, would be read as empty, or its row as a separator."""
    bare = cell.lstrip("\\")
    return "\n" not in bare and (is_placeholder(bare) or _DASHES.fullmatch(bare) is not None)


def _escape(match: re.Match[str]) -> str:
    slashes, special = _slashes(match)
    if not special:
        return slashes
    return slashes * 2 + ("<br>" if special == "\n" else f"\\{special}")


def _slashes(match: re.Match[str]) -> tuple[str, str]:
    """Return a run of backslashes and the text that follows it; either may be empty."""
    return (match[1], match[2] or "") if match[1] else ("", match[0])


def write_header(header: Sequence[str]) -> str:
    """Write a table's header and separator."""
    names = f"| {' | '.join(header)} |"
    return f"{names}\n|{'|'.join('-' * (len(name) + 2) for name in header)}|"
