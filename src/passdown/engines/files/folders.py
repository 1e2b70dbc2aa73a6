"""The folders of an event log and when each last changed; it imports little, for every check begins here."""

# ruff: noqa: PTH116, PTH118 (pathlib is slow, and dear to load)

import os
import stat
from collections.abc import Mapping
from typing import Final

from passdown.core.patterns import pattern

DAY: Final = pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""How the folder of a day is called."""
# Some systems stamp folders by a clock that stands still for so long; git guards its index the same way.
_SETTLED: Final = 2.0
_BILLION: Final = 1_000_000_000


def list_marks(events: str, known: Mapping[str, int], now: float) -> Mapping[str, int]:
    """Give the top folder, called ``""``, and its folders by day, each with the time its names last changed.

    `now` is the present in seconds since 1970; a folder that changed just before it has the mark 0. Where the
    top folder is as it is known, its folders are not listed again.
    """
    top = _changed(events)
    if top is None:
        return {}
    settled = int((now - _SETTLED) * _BILLION)
    names = [name for name in known if name] if known.get("") == top else _days(events)
    marks = {"": top, **{name: _changed(os.path.join(events, name)) for name in names}}
    return {name: mark if mark < settled else 0 for name, mark in marks.items() if mark is not None}


def _days(events: str) -> list[str]:
    try:
        with os.scandir(events) as found:
            return [one.name for one in found if DAY.fullmatch(one.name) and _is_folder(one)]
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _changed(path: str) -> int | None:
    """Say when a folder's list of names last changed; None for what is no folder."""
    try:
        known = os.stat(path)
    except OSError:
        return None
    return known.st_mtime_ns if stat.S_ISDIR(known.st_mode) else None
