"""The `ChangeFiles` of a checkout on this machine."""

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from passdown import layout
from passdown.engines.files import read, write
from passdown.engines.files.read import OpenFolder
from passdown.ports.change_files import NO_CHANGES
from passdown.ports.clock import Clock
from passdown.ports.event_log import FileMark

# The time stamps of folders can be this coarse; git protects its index in the same way.
_SETTLED: Final = 2_000_000_000
_BILLION: Final = 1_000_000_000
# Inode numbers, and times far from now, can have more bits than JSON readers preserve.
_STORED: Final = 0x1F_FFFF_FFFF_FFFF


class FileChanges:
    """The changes below one folder, which need not exist."""

    def __init__(self, root: str, folder: str, clock: Clock) -> None:
        """Store the root, below which no link is followed, and the full path of the folder of changes."""
        self._root = root
        self._folder = folder
        self._clock = clock

    def mark(self) -> int:
        try:
            with read.open_folder(self._root, self._folder) as opened:
                changed = opened.status(os.curdir).st_mtime_ns
        except OSError:
            return NO_CHANGES
        return changed if changed < self._clock.now().timestamp() * _BILLION - _SETTLED else 0

    def changes(self) -> Sequence[str]:
        try:
            with read.open_folder(self._root, self._folder) as opened:
                return sorted(one.name for one in opened.scan() if read.is_folder(one) and _is_name(one.name))
        except OSError:
            return []

    def files(self, change: str) -> Mapping[str, FileMark]:
        found: dict[str, FileMark] = {}
        try:
            with read.open_folder(self._root, os.path.join(self._folder, change)) as opened:
                _add_mark(found, opened, layout.CHANGE_STATE, layout.CHANGE_STATE)
                with opened.enter(layout.LOOP_FOLDER) as loops:
                    for name in sorted(one.name for one in loops.scan() if _is_name(one.name)):
                        _add_mark(found, loops, name, f"{layout.LOOP_FOLDER}/{name}")
        except OSError:
            return found
        return found

    def read(self, change: str, name: str) -> bytes | None:
        try:
            return read.read(self._root, self._path(change, name), read.DOCUMENT)
        except OSError:
            return None

    def append(self, change: str, name: str, make: Callable[[bytes], bytes]) -> bytes:
        path = self._path(change, name)

        def make_all(tail: bytes) -> bytes:
            del tail  # only the end of the file, if it is long
            return make(read.read(self._root, path, read.DOCUMENT))

        return write.append(path, make_all, local=False, root=self._root)

    def _path(self, change: str, name: str) -> str:
        return os.path.join(self._folder, change, name)


def _is_name(name: str) -> bool:
    """Return whether a name is not hidden and is valid text; file names can be any bytes."""
    return not name.startswith(".") and name.isprintable() and name.isascii()


def _add_mark(found: dict[str, FileMark], folder: OpenFolder, name: str, shown: str) -> None:
    try:
        known = folder.status(name)
    except OSError:
        return
    if stat.S_ISREG(known.st_mode) and layout.is_change_file(shown):
        found[shown] = FileMark(known.st_size, known.st_mtime_ns & _STORED, known.st_ino & _STORED)
