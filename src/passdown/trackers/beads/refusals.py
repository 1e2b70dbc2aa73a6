"""The words with which each build of `bd` refuses; any other failure may be temporary (C148).

They were collected by running the builds. They are searched at the beginning of a message, or after a colon
or a quotation mark, because `bd` puts the action before them, and the text of a task is elsewhere.
"""

import re
from enum import StrEnum
from typing import Final, NamedTuple

from passdown.core.lazy_regex import pattern
from passdown.ports.programs import ProgramResult
from passdown.trackers.beads.builds import Build
from passdown.trackers.beads.issues import parse_answer

_START: Final = r"(?:^|: |\")\s*(?:Error: )?"
_UNKNOWN: Final = (r"no issues? found matching", r"[Ii]ssue not found", r"[Ii]ssue \S+ not found")
_INVALID: Final = (
    r"invalid (?:priority|status|issue type|ID format|dependency (?:type|format)|sort policy|--[\w-]+)",
    r"validation failed",
    r"title (?:required|is required|cannot be empty|must be)",
    r"description is required",
    r"prefix mismatch",
    r"unknown (?:command|flag|shorthand flag)",
    r"requires at least \d+ arg",
    r"cannot modify (?:template|pinned issue|hooked issue)",
    r"parent issue \S+ not found",
    r"maximum hierarchy depth",
)


class AnswerMeaning(StrEnum):
    """The meaning of an answer of `bd`."""

    DONE = "done"
    UNKNOWN = "unknown"
    """There is no such task."""
    REFUSED = "refused"
    FAILED = "failed"
    """The failure may be temporary, and the change may have been made."""


class _Table(NamedTuple):
    """The refusals of one build."""

    numbers: tuple[int, int, int]
    has_imports: bool
    """Whether the build keeps its tasks in SQLite with a file of lines beside it; the others use Dolt."""
    unknown: re.Pattern[str]
    refused: re.Pattern[str]


def _make(numbers: tuple[int, int, int], *words: str, has_imports: bool = False) -> _Table:
    unknown, refused = (
        pattern(f"{_START}(?:{'|'.join(some)})", re.MULTILINE) for some in (_UNKNOWN, (*_INVALID, *words))
    )
    return _Table(numbers, has_imports, unknown, refused)


_TABLES: Final = (
    _make(
        (0, 44, 0),
        r"already claimed by ",
        r"cannot add dependency: would create a cycle",
        r"would create a cycle",
        r"issue cannot depend on itself",
        r"dependency target \S+ not found",
        r"issue ID \S+ already exists",
        r"issue ID already exists",
        r"issue \S+ is already closed",
        has_imports=True,
    ),
    _make(
        (1, 0, 0),
        r"issue already claimed by ",
        r"cannot close \S+: blocked by open issues",
        r"adding dependency would create a cycle",
        r"cannot add self-dependency",
        r"dependency \S+ -> \S+ already exists",
        r"metadata edit failed",
        r"at least one issue ID is required",
        r"issue \S+ is already closed",
        r"Error 1105: string '(?:[^']|'(?! is too large))*' is too large for column",
    ),
    _make(
        (1, 3, 0),
        r"issue already claimed by ",
        r"issue not claimable: status",
        r"issue not claimable: \S+ status",
        r"cannot reassign \S+: held by ",
        r"cannot close(?: \S+)?: assignee is ",
        r"cannot close blocked issue",
        r"cannot unclaim closed issue",
        r"assignee mismatch",
        r"adding dependency would create a cycle",
        r"cannot add self-dependency",
        r"\S+ already exists; use bd update",
        r"metadata edit failed",
        r"at least one issue ID is required",
    ),
)


def judge(build: Build, done: ProgramResult) -> AnswerMeaning:
    """Return the meaning of an answer; the exit code is not enough, since some builds fail with 0."""
    answer = parse_answer(done.text)
    if done.is_done and answer.is_readable and not answer.error:
        return AnswerMeaning.DONE
    table = _find_table(build)
    said = f"{answer.error}\n{done.errors}\n{done.text}"
    if table.unknown.search(said):
        return AnswerMeaning.UNKNOWN
    return AnswerMeaning.REFUSED if table.refused.search(said) else AnswerMeaning.FAILED


def _find_table(build: Build) -> _Table:
    """Return the refusals of a build, or of the nearest known build with the same storage."""
    alike = [one for one in _TABLES if one.has_imports == build.has_imports]
    return min(alike, key=lambda one: abs(_weigh(one.numbers) - _weigh(build.numbers)))


def _weigh(numbers: tuple[int, int, int]) -> int:
    major, minor, patch = numbers
    return (major * 1_000 + minor) * 1_000 + patch
