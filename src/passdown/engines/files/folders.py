"""The folders of an event log and when each last changed; imports little, because every check loads it."""

import errno
import os
import re
import stat
from collections.abc import Mapping
from typing import Final

from passdown.core.lazy_regex import pattern
from passdown.engines.files import read

DAY: Final = pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
"""The format of a day folder's name."""
MONTH: Final = pattern(r"[0-9]{4}-[0-9]{2}")
"""The format of a month folder's name."""
# The time stamps of folders can be this coarse; git protects its index in the same way.
_SETTLED: Final = 2.0
_BILLION: Final = 1_000_000_000


def list_marks(
    events: str,
    known: Mapping[str, int],
    now: float,
    *,
    root: str = "",
    by_handle: bool = read.HAS_HANDLES,
    named: re.Pattern[str] = DAY,
) -> Mapping[str, int]:
    """Return the top folder, named ``""``, and its day folders, each with the time its names last changed.

    `named` is the format of the names of the folders in it, if they are not of days. `now` is the current
    time in seconds since 1970; a folder that changed just before it has the mark 0. If the mark of the top
    folder is the known one, its folders are not listed again.

    Raises a StorageError if there is a link between the root, which is by default the top folder, and the top
    folder: the events would be those of another project.
    """
    try:
        top = read.open_folder(root or events, events, by_handle=by_handle)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise read.unreadable(events, error) from error
        return {}
    with top:
        settled = int((now - _SETTLED) * _BILLION)
        mark = _changed(top, "")
        names = [name for name in known if name] if known.get("") == mark else _list_folders(top, named)
        marks = {"": mark, **{name: _changed(top, name) for name in names}}
    return {name: mark if mark < settled else 0 for name, mark in marks.items() if mark is not None}


def _list_folders(top: read.OpenFolder, named: re.Pattern[str]) -> list[str]:
    try:
        return [one.name for one in top.scan() if named.fullmatch(one.name) and read.is_folder(one)]
    except OSError:
        return []


def _changed(top: read.OpenFolder, name: str) -> int | None:
    """Return when a folder's list of names last changed, or None if it is not a folder."""
    try:
        known = top.status(name or os.curdir)
    except OSError:
        return None
    return known.st_mtime_ns if stat.S_ISDIR(known.st_mode) else None
