"""Which files of events a run archives: moved to the archive, removed from it, or removed at once (C127)."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

MANY_FILES: Final = 2_000
"""How many single files git may track before a job archives without waiting."""
COPY_DAYS: Final = 30
"""How many days the archive keeps the file of an event."""


class TrackedEvent(NamedTuple):
    """An event in a file of its own that the last commit has; `is_copy` if it is in the archive."""

    day: date
    path: str
    is_copy: bool


class RunRules(NamedTuple):
    """What a run may do."""

    today: date
    retention_days: int
    is_early: bool = False
    """Whether many files are a reason not to wait."""
    most: int | None = None
    """How many files may be moved, and how many removed; None for all."""


class RunChoice(NamedTuple):
    """The chosen files, oldest first."""

    moved: tuple[TrackedEvent, ...]
    removed: tuple[TrackedEvent, ...]
    """Single files and copies that a rollup replaces."""


def choose_files(files: Sequence[TrackedEvent], rules: RunRules) -> RunChoice:
    """Choose what to archive.

    1. Single files of days longer ago than the retention move to the archive.
    2. Copies of days longer ago than the archive keeps them are removed.
    3. If it may be early: as long as there are more than 2,000 files, those of the oldest day are removed; a
       day that is not over in UTC stays.
    """
    ordered = sorted(files)
    due = rules.today - timedelta(days=rules.retention_days)
    old = rules.today - timedelta(days=COPY_DAYS)
    moved = [one for one in ordered if not one.is_copy and one.day < due][: rules.most]  # 1
    removed = [one for one in ordered if one.is_copy and one.day < old][: rules.most]  # 2
    if rules.is_early and len(ordered) - len(removed) > MANY_FILES:  # 3
        removed = _choose_early(ordered, removed, rules.today)[: rules.most]
        gone = set(removed)
        moved = [one for one in moved if one not in gone]
    return RunChoice(tuple(moved), tuple(removed))


def _choose_early(
    ordered: Sequence[TrackedEvent], removed: Sequence[TrackedEvent], today: date
) -> list[TrackedEvent]:
    chosen = set(removed)
    day: date | None = None
    for one in ordered:
        if one.day >= today or (one.day != day and len(ordered) - len(chosen) <= MANY_FILES):
            break
        day = one.day
        chosen.add(one)
    return [one for one in ordered if one in chosen]
