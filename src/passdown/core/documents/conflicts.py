"""Conflict markers: the lines that git leaves in a text that it could not merge."""

import re
from typing import Final

from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, error
from passdown.errors import FormatError

MARKED: Final = "has merge conflict markers"

_HINT: Final = "keep the lines that are right and remove the markers"
_MARKS: Final = ("<<<<<<<", ">>>>>>>", "|||||||")
_MARKER: Final = pattern(r"^(?:<{7}|>{7}|\|{7})(?:[ \t][^\n]*|\r?)$", re.MULTILINE)
_DIVIDER: Final = "======="


def find_conflict(text: str) -> int:
    """Return the line number of the first conflict marker in a text; 0 if there is none.

    A line of `=======` alone does not count, because Markdown underlines headings with it.
    """
    if not any(mark in text for mark in _MARKS):
        return 0
    found = _MARKER.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def is_marker(line: str) -> bool:
    """Return whether a line is one of the four markers, including the divider between the two sides."""
    return line.rstrip() == _DIVIDER or bool(_MARKER.match(line))


def refuse_conflict(path: str, text: str) -> None:
    """Raise `FormatError` for a text with conflict markers; only a person can tell which side is right."""
    if line := find_conflict(text):
        raise FormatError(f"{path}:{line}: {MARKED}", line=line, hint=_HINT)


def conflict_problems(text: str) -> list[Problem]:
    """Return the problem of a text with conflict markers; it is never fixed automatically."""
    line = find_conflict(text)
    return [error(line, "file", MARKED, _HINT)] if line else []
