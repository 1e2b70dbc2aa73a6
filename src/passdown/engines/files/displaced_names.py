"""The names of our hidden files: writes that a crash left unfinished, and displaced files.

The name of a displaced file tells which file it was, and which content was expected in it.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final
from zlib import crc32

from passdown.core.lazy_regex import pattern

_NAME: Final = pattern(r"\..+(\.[0-9a-f]{8}-[0-9a-f]+){2}\.[0-9a-f]{16}\.displaced")
_LEFTOVER: Final = pattern(r"\.passdown-[0-9]+-[0-9a-f]{16}\.tmp")


class Displaced(Enum):
    """What a displaced file holds."""

    EXPECTED = "what its writer expected"
    UNFINISHED = "what was to be written: the replacement is not finished, or never was"
    CHANGED = "anything else"


def mark_both(expected: bytes, new: bytes) -> str:
    """Return the part of a name that identifies the expected and the new content."""
    return f"{_mark(expected)}.{_mark(new)}"


def displaced_name(name: str, marks: str, token: bytes) -> str:
    """Return a hidden name for the displaced file of that name."""
    return f".{name}.{marks}.{token.hex()}.displaced"


def seen_name(name: str, data: bytes) -> str:
    """Return the name that a displaced file gets once this content of it was read."""
    *start, _, _, token, end = name.split(".")
    return ".".join([*start, mark_both(data, data), token, end])


def is_displaced(name: str) -> bool:
    """Return whether a name is that of a displaced file."""
    return _NAME.fullmatch(name) is not None


def judge_displaced(name: str, data: bytes) -> Displaced:
    """Return what a displaced file with this name and content holds."""
    *_, expected, new, _, _ = name.split(".")
    mark = _mark(data)
    if mark == expected:
        return Displaced.EXPECTED
    return Displaced.UNFINISHED if mark == new else Displaced.CHANGED


def choose_displaced(names: Iterable[str], name: str) -> list[str]:
    """Return those of a folder's names that belong to displaced files of that name."""
    start = f".{name}."
    return sorted(one for one in names if one.startswith(start) and is_displaced(one))


def _mark(data: bytes) -> str:
    return f"{crc32(data):08x}-{len(data):x}"


def is_leftover(name: str) -> bool:
    """Return whether a name is that of a temporary file of ours that a killed process left behind."""
    return _LEFTOVER.fullmatch(name) is not None


def leftover_pid(name: str) -> int:
    """Return the process id from the name of a leftover."""
    return int(name.split("-")[1])
