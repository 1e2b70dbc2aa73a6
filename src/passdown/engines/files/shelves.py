"""Shelves of documents that are no events: the records of the archive, and the stream documents."""

# ruff: noqa: PTH118 (pathlib is slow on 100,000 files)

import os
import stat
from collections.abc import Mapping
from typing import Final

from passdown.engines.files.event_log import FileEventLog
from passdown.ports.clock import Clock
from passdown.ports.event_log import FileMark

DOCUMENT: Final = "current.md"

# Numbers of files and times far from now can have more bits than an index can store.
_STORED: Final = 0x7FFF_FFFF_FFFF_FFFF


def open_folder(folder: str, clock: Clock) -> FileEventLog:
    """Open a folder of Markdown files that are written once, as events are."""
    return FileEventLog(folder, folder, clock)


class StreamShelf:
    """The documents of streams: `current.md` in each folder. They change, so each is looked at each time."""

    def __init__(self, folder: str, clock: Clock) -> None:
        """Keep the folder above those of the streams, as a full path."""
        self._folder = folder
        self._files = FileEventLog(folder, folder, clock)

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Give the one folder, which must always be listed."""
        del known
        return {"": 0}

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Give the documents by the name of their stream and their own."""
        del folder
        try:
            with os.scandir(self._folder) as found:
                names = [one.name for one in found if one.is_dir(follow_symlinks=False)]
        except OSError:
            return {}
        paths = [f"{name}/{DOCUMENT}" for name in names if _is_text(name)]
        return {path: mark for path in paths if (mark := self._mark(path))}

    def read(self, folder: str, name: str) -> bytes | None:
        """Give a document; None if it is gone or cannot be read."""
        return self._files.read(folder, name)

    def _mark(self, path: str) -> FileMark | None:
        try:
            known = os.lstat(os.path.join(self._folder, path))
        except OSError:
            return None
        if not stat.S_ISREG(known.st_mode):
            return None
        return FileMark(known.st_size, known.st_mtime_ns & _STORED, known.st_ino & _STORED)


def _is_text(name: str) -> bool:
    """Say whether a name can be written down: a file system may hold any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
