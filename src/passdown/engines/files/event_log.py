"""The `EventLog` of a checkout: `events/`, its folders by day, and the archive beside it."""

# ruff: noqa: PTH118 (pathlib is slow on 100,000 files)

import os
import stat
from collections.abc import Mapping, Sequence
from typing import Final

from passdown.core.rollups import is_rollup
from passdown.engines.files import archive, write
from passdown.engines.files.folders import list_marks
from passdown.ports.clock import Clock
from passdown.ports.event_log import FileMark

MAX_EVENT: Final = 1_048_576
MAX_ROLLUP: Final = 268_435_456

_READ: Final[int] = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
_FIRST_READ: Final = 65_536
# Numbers of files and times far from now can have more bits than an index can store.
_STORED: Final = 0x7FFF_FFFF_FFFF_FFFF


class FileEventLog:
    """The events below one folder of this machine; it need not exist yet."""

    def __init__(self, events: str, archived: str, clock: Clock, *, ways: write.Ways = write.HERE) -> None:
        """Keep the folder of events and that of archived ones, both as full paths."""
        self._events = events
        self._archived = archived
        self._clock = clock
        self._ways = ways

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Give the top folder, called ``""``, and its folders by day, each with its mark."""
        return list_marks(self._events, known, self._clock.now().timestamp())

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Give the files of a folder that can hold events."""
        try:
            with os.scandir(os.path.join(self._events, folder)) as found:
                return {one.name: mark for one in found if _can_hold(one.name) and (mark := _mark(one))}
        except OSError:
            return {}

    def read(self, folder: str, name: str) -> bytes | None:
        """Give a file's content; None if it is gone, is none of ours, or is too large."""
        most = MAX_ROLLUP if is_rollup(name) else MAX_EVENT
        try:
            handle = os.open(os.path.join(self._events, folder, name), _READ | _NOFOLLOW)
        except OSError:
            return None
        try:
            return _read_all(handle, most)
        except OSError:
            return None
        finally:
            os.close(handle)

    def create(self, folder: str, name: str, data: bytes) -> bool:
        """Create a file, durably; False if there is one of that name."""
        return write.create(os.path.join(self._events, folder, name), data, ways=self._ways)

    def archive(self, folder: str, names: Sequence[str], day: str) -> int:
        """Move files to the archive of a day."""
        here = os.path.join(self._events, folder)
        return archive.move_files(here, names, os.path.join(self._archived, day), ways=self._ways)


def _read_all(handle: int, most: int) -> bytes | None:
    """Read a file in one go, as nearly all can be; no more than is allowed."""
    data = os.read(handle, _FIRST_READ)
    if len(data) < _FIRST_READ:
        return data
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        return None
    parts = [data]
    size = len(data)
    while data and size <= most:
        data = os.read(handle, _FIRST_READ)
        parts.append(data)
        size += len(data)
    return b"".join(parts) if size <= most else None


def _can_hold(name: str) -> bool:
    can_hold = (name.endswith(".md") and not name.startswith(".")) or is_rollup(name)
    return can_hold and (name.isascii() or _is_text(name))


def _is_text(name: str) -> bool:
    """Say whether a name can be written down: a file system may hold any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _mark(entry: os.DirEntry[str]) -> FileMark | None:
    """Give the mark of a regular file; None for anything else, and for one that is gone."""
    try:
        if not entry.is_file(follow_symlinks=False):
            return None
        known = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return FileMark(known.st_size, known.st_mtime_ns & _STORED, known.st_ino & _STORED)
