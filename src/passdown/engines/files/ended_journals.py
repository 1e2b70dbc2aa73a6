"""The journals of ended sessions that were archived: in `ended/<year-month>/`, and found by an index (C129).

The index is only a shortcut. A journal that it does not know, or knows with another size, is read.
"""

import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown import layout
from passdown.core.formats.journal import JournalLine, parse_line
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Malformed
from passdown.engines.files import read, write
from passdown.engines.system import SystemClock
from passdown.errors import StorageError

if TYPE_CHECKING:  # most projects have archived no journal
    from passdown.ports.journals import EndedIndex, EndedJournal

SUFFIX: Final = ".jsonl"
NAME: Final = pattern(r"(?:[a-z0-9][a-z0-9-]{0,63}|-)\.jsonl")
"""The name of a journal's file."""

LEARNED: Final = 200
"""How many unknown journals one question adds to the index."""

_MONTH: Final = pattern(r"[0-9]{4}-[0-9]{2}")
# The time stamps of folders can be this coarse.
_SETTLED: Final = 2.0
_BILLION: Final = 1_000_000_000


class _Unknown(NamedTuple):
    """Journals that must be read, and the folders of which all journals will then be known."""

    journals: list[tuple[str, str, int]]
    marks: Mapping[str, int]


class EndedJournals:
    """The folder `ended` next to the live journals."""

    def __init__(
        self,
        live: str,
        root: str,
        open_index: "Callable[[], EndedIndex | None]" = lambda: None,
        operations: write.FileOperations = write.HERE,
    ) -> None:
        """Store the folder of the live journals; the index is opened when there is a journal to look for."""
        self._live = live
        self._top = os.path.join(live, layout.ENDED)
        self._root = root
        self._ways = operations
        self._open_index = open_index
        self._opened: list[EndedIndex | None] = []
        self._folders = read.FolderCache(root, by_handle=operations.folder_handles)

    def close(self) -> None:
        """Close what was opened."""
        self._folders.close()
        while self._opened:
            if (index := self._opened.pop()) is not None:
                index.close()

    def folder(self, path: str) -> read.OpenFolder:
        """Return an open folder of journals."""
        return self._folders.get(path)

    def find(self, name: str) -> str:
        """Return the folder that holds a journal; empty if it was not archived."""
        for month in self._months():
            path = os.path.join(self._top, month)
            with suppress(OSError):
                if stat.S_ISREG(self._folders.get(path).status(name).st_mode):
                    return path
        return ""

    def _months(self) -> Sequence[str]:
        """Return the names of the folders, newest first."""
        try:
            with read.open_folder(self._root, self._top, by_handle=self._ways.folder_handles) as top:
                found = [one.name for one in top.scan() if _MONTH.fullmatch(one.name) and read.is_folder(one)]
        except OSError:
            return ()
        return sorted(found, reverse=True)

    # --- looking up -----------------------------------------------------------------------------------

    def names(self) -> Collection[str]:
        """Return the names of all journals that were archived."""
        return [name for month in self._months() for name, _ in self._list(month)]

    def mentioning(self, texts: Collection[str], keys: Iterable[str]) -> Collection[str]:
        """Return the names of the journals that have one of the keys; of unknown ones, one of the texts.

        An unknown journal that disappears meanwhile is named too: it may be live again.
        """
        months = self._months()
        if not months:
            return ()
        index = self._index
        if index is None:
            every = [(month, name, size) for month in months for name, size in self._list(month)]
            return self._scan(every, texts)
        try:
            unknown = self._find_unknown(index, months)
            found = {*index.mentioning(keys), *self._scan(unknown.journals, texts)}
            self._learn(index, unknown)
        except StorageError:  # the index cannot be used: do without
            self._opened[:] = [None]
            return self.mentioning(texts, keys)
        return found

    @property
    def _index(self) -> "EndedIndex | None":
        if not self._opened:
            self._opened.append(self._open_index())
        return self._opened[0]

    def _list(self, month: str) -> Iterator[tuple[str, int]]:
        # A folder or file that is gone was brought back.
        with suppress(OSError):
            for one in self._folders.renew(os.path.join(self._top, month)).scan():
                with suppress(OSError):
                    if NAME.fullmatch(one.name):
                        yield one.name, one.stat(follow_symlinks=False).st_size

    def _mark(self, month: str) -> int:
        """Return when the names in a folder last changed; 0 if it is unknown."""
        try:
            return self._folders.get(os.path.join(self._top, month)).status(os.curdir).st_mtime_ns
        except OSError:
            return 0

    def _find_unknown(self, index: "EndedIndex", months: Sequence[str]) -> _Unknown:
        """List the folders that have changed since every journal in them was known."""
        settled = int((SystemClock().now().timestamp() - _SETTLED) * _BILLION)
        complete = index.folders()
        unknown: list[tuple[str, str, int]] = []
        marks: dict[str, int] = {}
        for month in months:
            mark = self._mark(month)
            if mark and complete.get(month) == mark:
                continue
            known = index.journals(month)
            unknown += [(month, name, size) for name, size in self._list(month) if known.get(name) != size]
            if 0 < mark < settled:
                marks[month] = mark
        return _Unknown(unknown, marks)

    def _scan(self, journals: Collection[tuple[str, str, int]], texts: Collection[str]) -> set[str]:
        """Return the journals that contain one of the texts, or cannot be read; no line is parsed."""
        wanted = [text.encode("utf-8", "surrogatepass") for text in texts]
        found: set[str] = set()
        for month, name, _ in journals:
            data = self._read(month, name)
            if data is None or any(text in data for text in wanted):
                found.add(name)
        return found

    def _read(self, month: str, name: str) -> bytes | None:
        try:
            return self._folders.get(os.path.join(self._top, month)).read(name, read.JOURNAL)
        except OSError:
            return None

    def _learn(self, index: "EndedIndex", unknown: _Unknown) -> None:
        """Add a portion of the unknown journals to the index."""
        portion = unknown.journals[:LEARNED]
        made = [one for place in portion if (one := self._describe(*place)) is not None]
        if not (made or unknown.marks):
            return
        left = {month for month, _, _ in unknown.journals[LEARNED:]}
        left |= {month for month, _, _ in portion} - {one.folder for one in made}
        with index.changing():
            for one in made:
                index.learn(one)
            for month, mark in unknown.marks.items():
                if month not in left:
                    index.note_complete(month, mark)

    def _describe(self, month: str, name: str, size: int) -> "EndedJournal | None":
        data = self._read(month, name)
        if data is None or len(data) != size:
            return None
        return _describe(month, name, data)

    # --- archiving ------------------------------------------------------------------------------------

    def prepare(self, name: str, data: bytes) -> str:
        """Return the folder for a journal with this content; empty if it must stay where it is.

        The index knows it from now on, so that at no moment it is missing from both. If the index cannot be
        written, or a line cannot be read, the journal stays.
        """
        lines = [*read_lines(data)]
        is_whole = len(lines) == sum(1 for one in data.split(b"\n") if one.strip())
        if not (lines and is_whole) or self._index is None or self.find(name):
            return ""
        month = f"{lines[-1].written_at:%Y-%m}"
        with suppress(StorageError), self._index.changing():
            self._index.learn(_describe(month, name, data))
            return month
        return ""

    def put(self, name: str, month: str) -> bool:
        """Rename a live journal that was prepared; return whether that worked."""
        place, index = os.path.join(self._top, month), self._index
        with suppress(StorageError):  # where nothing can be renamed, nothing is archived
            write.make_folder(place, operations=self._ways, root=self._root)
            is_known = index is not None and self._is_known(index, month)
            write.move(self._path(name), os.path.join(place, name), operations=self._ways, root=self._root)
            if index is not None and is_known:
                with index.changing():
                    index.note_complete(month, self._mark(month))
            return True
        return False

    def _is_known(self, index: "EndedIndex", month: str) -> bool:
        """Return whether the index knows every journal in a folder: it says so, or there is none."""
        known = index.folders().get(month)
        return not any(self._list(month)) if known is None else known == self._mark(month)

    def take_back(self, name: str) -> None:
        """Make a journal live again that was archived, before it grows."""
        place = self.find(name)
        if place and not os.path.lexists(self._path(name)):
            # Another process may be faster; if it cannot be renamed, new lines go to another folder.
            with suppress(StorageError):
                old = os.path.join(place, name)
                write.move(old, self._path(name), operations=self._ways, root=self._root)

    def _path(self, name: str) -> str:
        return os.path.join(self._live, name)


def _describe(month: str, name: str, data: bytes) -> "EndedJournal":
    from passdown.core.sessions.journal_keys import keys_of  # most projects have archived no journal
    from passdown.ports.journals import EndedJournal

    keys = keys_of(name.removesuffix(SUFFIX), read_lines(data))
    return EndedJournal(folder=month, name=name, size=len(data), keys=keys)


def read_lines(data: bytes, *, last_first: bool = False) -> Iterator[JournalLine]:
    """Yield the complete lines; damaged or truncated lines are left out."""
    lines = data.decode("utf-8", "replace").split("\n")
    for line in reversed(lines) if last_first else lines:
        if line.strip():
            # A line that a crash truncated was never acknowledged; `passdown check` reports damaged lines.
            with suppress(Malformed):
                yield parse_line(line.rstrip("\r"))
