"""The names of our hidden files: writes that a crash left unfinished, and displaced files.

The name of a displaced file tells from which file it was displaced, and what was expected to be in that.
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
    """Return the part of a name that tells what was expected and what was written."""
    return f"{_mark(expected)}.{_mark(new)}"


def displaced_name(name: str, marks: str, token: bytes) -> str:
    """Return a hidden name for the file that is displaced from a name."""
    return f".{name}.{marks}.{token.hex()}.displaced"


def seen_name(name: str, data: bytes) -> str:
    """Return the name of a displaced file once this content of it was taken in."""
    *start, _, _, token, end = name.split(".")
    return ".".join([*start, mark_both(data, data), token, end])


def is_displaced(name: str) -> bool:
    """Return whether a name is that of a displaced file."""
    return _NAME.fullmatch(name) is not None


def judge_displaced(name: str, data: bytes) -> Displaced:
    """Return what a displaced file of this name and content holds."""
    *_, expected, new, _, _ = name.split(".")
    mark = _mark(data)
    if mark == expected:
        return Displaced.EXPECTED
    return Displaced.UNFINISHED if mark == new else Displaced.CHANGED


def choose_displaced(names: Iterable[str], name: str) -> list[str]:
    """Return those of the names in a folder that files have that were displaced from a name."""
    start = f".{name}."
    return sorted(one for one in names if one.startswith(start) and is_displaced(one))


def _mark(data: bytes) -> str:
    return f"{crc32(data):08x}-{len(data):x}"


def is_leftover(name: str) -> bool:
    """Return whether a name is that of one of our temporary files, left behind by a killed process."""
    return _LEFTOVER.fullmatch(name) is not None


def leftover_pid(name: str) -> int:
    """Return the process id from the name of a leftover."""
    return int(name.split("-")[1])
