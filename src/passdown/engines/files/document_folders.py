"""Search sources other than events: records, stream documents, loop ledgers, history and ended journals."""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from passdown import layout
from passdown.engines.files import read
from passdown.engines.files.ended_journals import NAME
from passdown.engines.files.event_log import FileEventLog, is_text, make_mark, mark_entry
from passdown.engines.files.folders import MONTH, list_marks
from passdown.engines.files.read import OpenFolder
from passdown.errors import StorageError
from passdown.ports.change_files import ChangeFiles
from passdown.ports.clock import Clock
from passdown.ports.event_log import FileMark

DOCUMENT: Final = layout.CURRENT


def open_folder(folder: str, clock: Clock, *, root: str = "") -> FileEventLog:
    """Open a folder of Markdown files that, like events, are written once, and its folders by month."""
    return FileEventLog(folder, folder, clock, root=root, named=MONTH)


class StreamDocuments:
    """The documents of streams: `current.md` in each folder. They can change, so all are always checked."""

    def __init__(self, folder: str, *, root: str = "") -> None:
        """Store the full path of the folder that contains the stream folders.

        No link is followed below the root, which is by default that folder.
        """
        self._folder = folder
        self._root = root or folder

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return the only folder, which must always be listed."""
        del known
        return {"": 0}

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Return the documents by path: the stream's name and the file name."""
        del folder
        try:
            with read.open_folder(self._root, self._folder) as opened:
                names = [one.name for one in opened.scan() if read.is_folder(one) and is_text(one.name)]
                marks = {f"{name}/{DOCUMENT}": _mark(opened, name) for name in names}
        except OSError:
            return {}
        return {path: mark for path, mark in marks.items() if mark}

    def read(self, folder: str, name: str) -> bytes | None:
        del folder
        return _read(self._root, os.path.join(self._folder, name), read.DOCUMENT)


class LoopLedgers:
    """The ledgers of all loops. They can change, so all are always checked."""

    def __init__(self, files: ChangeFiles) -> None:
        self._files = files

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return the only folder, which must always be listed."""
        del known
        return {"": 0}

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Return the ledgers by path: the change and the ledger in it."""
        del folder
        return {
            f"{change}/{name}": mark
            for change in self._files.changes()
            for name, mark in self._files.files(change).items()
            if layout.loop_of(name)
        }

    def read(self, folder: str, name: str) -> bytes | None:
        del folder
        change, _, path = name.partition("/")
        return self._files.read(change, path)


class HistoryFiles:
    """The imported sessions of a project, in a folder for each host. They grow, so all are always checked."""

    def __init__(self, root: str, folder: str) -> None:
        """Store the full path of the folder, and that below which no link is followed; empty if unknown."""
        self._root = root
        self._folder = folder

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return the only folder, which must always be listed."""
        del known
        return {"": 0}

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Return the files by path: the host and the file name."""
        del folder
        found: dict[str, FileMark] = {}
        if not self._root:
            return found
        # Without a folder, nothing was imported.
        with suppress(OSError), read.open_folder(self._root, self._folder) as top:
            for host in [one.name for one in top.scan() if read.is_folder(one) and is_text(one.name)]:
                found |= _list_history(top, host)
        return found

    def read(self, folder: str, name: str) -> bytes | None:
        del folder
        return _read(self._root, os.path.join(self._folder, name), read.JOURNAL)


class EndedJournalFiles:
    """The archived journals of ended sessions, in a folder for each month. One that grows again leaves it."""

    def __init__(self, folder: str, clock: Clock, *, root: str) -> None:
        """Store the full path of the folder of months, and that below which no link is followed."""
        self._folder = folder
        self._clock = clock
        self._root = root

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return the folder itself, named ``""``, and those of months; none if a link is in the way."""
        now = self._clock.now().timestamp()
        try:
            return list_marks(self._folder, known, now, root=self._root, named=MONTH)
        except StorageError:
            return {}

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Return the journals of a month; there are none beside the months."""
        try:
            with read.open_folder(self._root, os.path.join(self._folder, folder)) as opened:
                entries = [one for one in opened.scan() if folder and NAME.fullmatch(one.name)]
                return {one.name: mark for one in entries if (mark := mark_entry(one))}
        except OSError:
            return {}

    def read(self, folder: str, name: str) -> bytes | None:
        """Return a journal."""
        return _read(self._root, os.path.join(self._folder, folder, name), read.JOURNAL)


def _read(root: str, path: str, most: int) -> bytes | None:
    """Return the content of a file; None if it is gone or cannot be read."""
    try:
        return read.read(root, path, most)
    except OSError:
        return None


def _list_history(top: OpenFolder, host: str) -> Mapping[str, FileMark]:
    """Return the marks of the history files of a host, by path."""
    try:
        with top.enter(host) as folder:
            names = [
                one.name
                for one in folder.scan()
                if layout.history_session(one.name) and is_text(one.name) and read.is_file(one)
            ]
            return {f"{host}/{name}": make_mark(folder.status(name)) for name in names}
    except OSError:  # it was removed meanwhile
        return {}


def _mark(streams: OpenFolder, name: str) -> FileMark | None:
    """Return the mark of a stream's document."""
    try:
        with streams.enter(name) as stream:
            known = stream.status(DOCUMENT)
    except OSError:
        return None
    return make_mark(known) if stat.S_ISREG(known.st_mode) else None
