"""Texts of a given shape: a small part of regular expressions, with random choices that can be repeated."""

import string
from collections.abc import Iterator
from random import Random
from typing import Final

_CLASSES: Final = {"w": string.ascii_letters + string.digits + "_", "d": string.digits, "b": ""}
_AT_LEAST: Final = 4
"""How many more characters there may be where a shape sets no limit."""


def make_text(shape: str, random: Random) -> str:
    """Return a text of a shape: literals, sets, groups, alternatives and repetitions."""
    text, end = _alternatives(shape, 0, random)
    assert end == len(shape), f"{shape} has a `)` too many"
    return text


def _alternatives(shape: str, at: int, random: Random) -> tuple[str, int]:
    texts: list[str] = []
    while True:
        text, at = _sequence(shape, at, random)
        texts.append(text)
        if at >= len(shape) or shape[at] == ")":
            return random.choice(texts), at
        at += 1


def _sequence(shape: str, at: int, random: Random) -> tuple[str, int]:
    parts: list[str] = []
    while at < len(shape) and shape[at] not in "|)":
        start, at = at, _skip(shape, at)
        least, most, at = _count(shape, at)
        count = random.randint(least, most)
        parts += [_one(shape[start:], random) for _ in range(count)]
    return "".join(parts), at


def _one(shape: str, random: Random) -> str:
    """Make one text of the first element of a shape."""
    if shape[0] == "[":
        return random.choice(list(_members(shape[1 : _skip(shape, 0) - 1])))
    if shape[0] == "(":
        inner = 3 if shape.startswith("(?:") else 1
        return _alternatives(shape, inner, random)[0]
    if shape[0] == "\\":
        letters = _CLASSES.get(shape[1], shape[1])
        return random.choice(letters) if letters else ""
    return shape[0]


def _skip(shape: str, at: int) -> int:
    """Return where the element that begins at an offset ends."""
    if shape[at] == "\\":
        return at + 2
    if shape[at] == "[":
        at += 1
        while shape[at] != "]":
            at += 2 if shape[at] == "\\" else 1
    elif shape[at] == "(":
        at += 1
        while shape[at] != ")":
            at = _skip(shape, at)
    return at + 1


def _count(shape: str, at: int) -> tuple[int, int, int]:
    """Return how often an element may occur, and where the shape goes on."""
    sign = shape[at : at + 1]
    if sign == "{":
        end = shape.index("}", at)
        least, comma, most = shape[at + 1 : end].partition(",")
        upper = int(most) if most else int(least) + (_AT_LEAST if comma else 0)
        return int(least), upper, end + 1
    if sign in {"?", "+"}:
        return int(sign == "+"), 1 if sign == "?" else _AT_LEAST, at + 1
    return 1, 1, at


def _members(text: str) -> Iterator[str]:
    at = 0
    while at < len(text):
        if text[at] == "\\":
            yield from _CLASSES.get(text[at + 1], text[at + 1])
            at += 2
        elif text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            yield from map(chr, range(ord(text[at]), ord(text[at + 2]) + 1))
            at += 3
        else:
            yield text[at]
            at += 1
