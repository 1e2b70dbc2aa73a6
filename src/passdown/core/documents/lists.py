"""Splits Markdown lists into items."""

from enum import Enum, auto
from typing import Final, NamedTuple

from passdown.core.documents.markdown import LineState, escape_text, is_placeholder, mark_lines
from passdown.core.lazy_regex import pattern

_BULLET: Final = pattern(r"[ \t]*(?:[-*+•→]|[0-9]{1,9}[.)]|\[(?:->|→)\])(?:[ \t]+|$)")
_TICK: Final = pattern(r"\[( |x|X|~|-|->|→)\](?:[ \t]+|$)")


class Kind(Enum):
    """The kind of a piece: an item, blank lines around items, a word for "nothing", or stray text."""

    ITEM = auto()
    FRAME = auto()
    NOTHING = auto()
    STRAY = auto()


class Piece(NamedTuple):
    """Some whole lines, and their text without marker and indent."""

    kind: Kind
    lines: list[str]
    said: list[str]
    line: int

    @property
    def text(self) -> str:
        """The text of the piece."""
        return (self.said[0] if len(self.said) == 1 else "\n".join(self.said)).strip()


def cut_list(content: str, line: int) -> list[Piece]:
    """Split a text into list items, blank frames, and stray text.

    1. A marker at the list's edge opens an item.
    2. Indented lines, and lines right below an item, continue it; so does a blank line before an indented
       one.
    3. Code and comments belong to the piece in which they start.
    4. Other blank lines are frame.
    5. Everything else, including comments, is stray.
    """
    if not content:
        return []
    cutter = _Cutter(line)
    lines = content.split("\n")
    states, _ = mark_lines(lines)
    for one, state in zip(lines, states, strict=True):
        cutter.take(one, state)
    return [_named(piece) for piece in cutter.pieces]


def _named(piece: Piece) -> Piece:
    if piece.kind is Kind.STRAY and is_placeholder(piece.text):
        return piece._replace(kind=Kind.NOTHING)
    if piece.kind is not Kind.ITEM:
        return piece
    text = piece.text
    if not text:
        return piece._replace(kind=Kind.FRAME)
    return piece._replace(kind=Kind.NOTHING) if is_placeholder(text) else piece


class _Cutter:
    """Collects the pieces of a list line by line; the numbers are the rules of `cut_list`."""

    def __init__(self, line: int) -> None:
        self.pieces: list[Piece] = []
        self._line = line
        self._edge = -1

    def take(self, content: str, state: LineState) -> None:
        """Add one line to the piece it belongs to."""
        bare = content.rstrip("\r")
        indent = len(bare) - len(bare.lstrip(" \t"))
        last = self.pieces[-1].kind if self.pieces else Kind.FRAME
        inside = state is LineState.CODE or state is LineState.COMMENT
        marker = None if inside or indent > self._edge + 1 >= 1 else _BULLET.match(bare)
        if marker:  # 1
            self._edge = indent if self._edge < 0 else min(self._edge, indent)
            self._open(Kind.ITEM, content, bare[marker.end() :])
        elif not bare.strip() and not inside:  # 2, 4
            self._open(Kind.FRAME, content, "")
        elif last is Kind.STRAY:  # 3, 5
            self._extend(content, bare)
        elif inside or self._goes_on(indent, state):  # 2, 3
            self._extend(content, bare[min(indent, max(self._edge, 0) + (1 if bare[:1] == "\t" else 2)) :])
        else:  # 5
            self._open(Kind.STRAY, content, bare)
        self._line += 1

    def _goes_on(self, indent: int, state: LineState) -> bool:
        """Return whether a line continues the item above: if it is indented, or is text right below it."""
        if indent > self._edge and self._reopen():
            return True
        return state is LineState.TEXT and bool(self.pieces) and self.pieces[-1].kind is Kind.ITEM

    def _open(self, kind: Kind, content: str, said: str) -> None:
        self.pieces.append(Piece(kind, [content], [said], self._line))

    def _extend(self, content: str, said: str) -> None:
        self.pieces[-1].lines.append(content)
        self.pieces[-1].said.append(said)

    def _reopen(self) -> bool:
        """Move the blank lines after an item into it, because an indented line follows them."""
        item = len(self.pieces) - 1
        while item >= 0 and self.pieces[item].kind is Kind.FRAME:
            item -= 1
        if item < 0 or self.pieces[item].kind is not Kind.ITEM:
            return False
        blanks = self.pieces[item + 1 :]
        del self.pieces[item + 1 :]
        for blank in blanks:
            self._extend(blank.lines[0], "")
        return True


def split_tick(text: str) -> tuple[str, str]:
    """Return the content of a leading check box, and the text after it."""
    match = _TICK.match(text)
    return (match[1], text[match.end() :]) if match else ("", text)


def write_item(mark: str, text: str) -> str:
    """Write an item, with its further lines indented."""
    first, *more = escape_text(text).split("\n")
    return "\n".join([mark + first, *(f"  {line}" if line else "" for line in more)])
