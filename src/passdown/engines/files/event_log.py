"""The `EventLog` of a checkout: `events/`, its day folders, and the archive next to it."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Final

from passdown.core.merge.rollups import is_rollup
from passdown.engines.files import archive, read, write
from passdown.engines.files.folders import DAY, list_marks
from passdown.ports.clock import Clock
from passdown.ports.event_log import FileMark

# Inode numbers, and times far from now, can have more bits than an index can store.
_STORED: Final = 0x7FFF_FFFF_FFFF_FFFF


class FileEventLog:
    """The events below one folder on this machine, which need not exist yet."""

    def __init__(
        self,
        events: str,
        archived: str,
        clock: Clock,
        *,
        root: str = "",
        operations: write.FileOperations = write.HERE,
        named: re.Pattern[str] = DAY,
    ) -> None:
        """Store the full paths of the folders of events and of archived events.

        `named` is the format of the names of the folders in the first. Both are below the root, and no link
        is followed below it; without a root, each is its own root.
        """
        self._events = events
        self._archived = archived
        self._clock = clock
        self._named = named
        self._ways = operations
        self._roots = (root,) if root else ()
        self._root = root or events
        self._folders = read.FolderCache(self._root, by_handle=operations.folder_handles)

    def close(self) -> None:
        """Close the folders that were opened."""
        self._folders.close()

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return the top folder, named ``""``, and its day folders, each with its mark."""
        now = self._clock.now().timestamp()
        by_handle, named = self._ways.folder_handles, self._named
        return list_marks(self._events, known, now, root=self._root, by_handle=by_handle, named=named)

    def files(self, folder: str) -> Mapping[str, FileMark]:
        try:
            opened = self._folders.renew(os.path.join(self._events, folder))
            return {
                one.name: mark for one in opened.scan() if _can_hold(one.name) and (mark := mark_entry(one))
            }
        except OSError:
            return {}

    def read(self, folder: str, name: str) -> bytes | None:
        most = read.ROLLUP if is_rollup(name) else read.EVENT
        try:
            return self._folders.get(os.path.join(self._events, folder)).read(name, most)
        except OSError:
            return None

    def may_read(self, events: int = 0) -> bool:
        """Return True: everything may be read."""
        del events
        return True

    def create(self, folder: str, name: str, data: bytes) -> bool:
        path = os.path.join(self._events, folder, name)
        return write.create(path, data, operations=self._ways, root=self._root)

    def archive(self, folder: str, names: Sequence[str], day: str) -> int:
        here, there = os.path.join(self._events, folder), os.path.join(self._archived, day)
        return archive.move_files(here, names, there, operations=self._ways, roots=self._roots)

    def discard(self, folder: str, files: Mapping[str, bytes], *, is_archived: bool = False) -> Sequence[str]:
        path = os.path.join(self._archived if is_archived else self._events, folder)
        removed = archive.remove_files(path, files, operations=self._ways, roots=self._roots)
        if is_archived:
            archive.remove_if_empty(path)
        return removed


def _can_hold(name: str) -> bool:
    can_hold = (name.endswith(".md") and not name.startswith(".")) or is_rollup(name)
    return can_hold and (name.isascii() or is_text(name))


def is_text(name: str) -> bool:
    """Return whether a name is valid text; file names can be any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def mark_entry(entry: os.DirEntry[str]) -> FileMark | None:
    """Return the mark of a regular file; None for anything else, or if it no longer exists."""
    if not read.is_file(entry):
        return None
    try:
        known = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    return make_mark(known)


def make_mark(known: os.stat_result) -> FileMark:
    """Return the mark of a file with this status."""
    return FileMark(known.st_size, known.st_mtime_ns & _STORED, known.st_ino & _STORED)
