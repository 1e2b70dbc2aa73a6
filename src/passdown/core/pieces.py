"""A list or table cut into pieces, and how it changes: what stays, stays to the byte."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, auto
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Kind(Enum):
    """What a piece is: an item, the frame around items, a word for "nothing", or text that is none."""

    ITEM = auto()
    FRAME = auto()
    NOTHING = auto()
    STRAY = auto()


class Piece(NamedTuple):
    """Some whole lines, and what they say without marker and indent."""

    kind: Kind
    lines: list[str]
    said: list[str]
    line: int

    @property
    def text(self) -> str:
        """What the piece says."""
        return (self.said[0] if len(self.said) == 1 else "\n".join(self.said)).strip()


def splice(
    pieces: Sequence[Piece],
    old: Sequence[T],
    new: Sequence[T],
    write: Callable[[T], str],
    opening: str = "",
) -> str:
    """Turn a list that holds `old` into one that holds `new`, rewriting only the items that differ.

    `old` are the values of the pieces that are items, in order. Items that stay, and stay in order, keep
    their bytes; what is no item stays where it is; the first item of all takes the place of a word for
    "nothing". `opening` is written before it when there is no frame.
    """
    places = [index for index, piece in enumerate(pieces) if piece.kind is Kind.ITEM]
    matched = _matched(old, new)
    kept = frozenset(places[at] for at in matched if at is not None)
    added = _added(pieces, places, matched, [write(one) for one in new])
    framed = places or any(piece.kind is Kind.FRAME and piece.text for piece in pieces)
    lines: list[str] = []
    for index, piece in enumerate([*pieces, None]):
        if index in added and opening and not framed:
            lines += opening.split("\n")
        lines += added.get(index, ())
        if piece is not None and _stays(piece, index in kept, bool(new) and not old):
            lines += piece.lines
    return "\n".join(lines)


def _stays(piece: Piece, kept: bool, first: bool) -> bool:  # noqa: FBT001 - private
    if piece.kind is Kind.ITEM:
        return kept
    return piece.kind is not Kind.NOTHING or not first


def _matched(old: Sequence[T], new: Iterable[T]) -> list[int | None]:
    """For each new value, the place of an equal old one behind those matched before, if there is one."""
    spots: dict[T, list[int]] = {}
    for at, value in enumerate(old):
        spots.setdefault(value, []).append(at)
    found: list[int | None] = []
    last = -1
    for value in new:
        mine = spots.get(value, [])
        behind = bisect_right(mine, last)
        found.append(mine[behind] if behind < len(mine) else None)
        last = last if found[-1] is None else mine[behind]
    return found


def _added(
    pieces: Sequence[Piece], places: Sequence[int], matched: Iterable[int | None], written: Iterable[str]
) -> dict[int, list[str]]:
    """Return the lines of new items by the piece before which they go.

    1. Right after the item that stays before them.
    2. Before the first item.
    3. No items: after the frame that opens the list, such as a table's header.
    4. No frame either: at the end.
    """
    frames = [index for index, piece in enumerate(pieces) if piece.kind is Kind.FRAME and piece.text]
    start = places[0] if places else frames[-1] + 1 if frames else len(pieces)  # 2, 3, 4
    edge = _edge(pieces[places[0]]) if places else ""
    added: dict[int, list[str]] = {}
    for match, text in zip(matched, written, strict=True):
        if match is not None:  # 1
            start, edge = places[match] + 1, _edge(pieces[places[match]])
        else:
            lines = text.split("\n")
            added.setdefault(start, []).extend(edge + line if line else "" for line in lines)
    return added


def _edge(piece: Piece) -> str:
    line = piece.lines[0]
    return line[: len(line) - len(line.lstrip(" \t"))]
