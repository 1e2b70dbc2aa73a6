"""The `Journals` of a project, in git's own folder: safe from `git clean` and removed worktrees (C58).

If that folder cannot be written, as in a sandbox, the journal is written to the checkout; readers merge both.
The journals of ended sessions are archived in a folder of their own, and come back before they grow (C129).
"""

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown.core.formats.journal import JournalLine, Scope, parse_line, render_line
from passdown.core.kinds import FactKind
from passdown.core.problems import Malformed
from passdown.engines.files import read, write
from passdown.engines.files.ended_journals import NAME, SUFFIX, EndedJournals, read_lines
from passdown.engines.files.read import OpenFolder
from passdown.engines.files.system_calls import leave_unsynced
from passdown.errors import StorageError, UnsureError
from passdown.records import replace

if TYPE_CHECKING:  # most projects have archived no journal
    from passdown.ports.journals import EndedIndex

LONGEST_WAIT: Final = 10.0
"""Seconds to wait for other processes, if a journal must be locked."""

_LONGEST: Final = 30
"""The first bytes of a line, which contain its number and the name of that field."""
_TAIL: Final = 4096
"""How many bytes at the end of a journal are read to find its last line."""
_END: Final = 524_288
"""How many bytes at its end are read to find the highest number."""

_TRIES: Final = 8
"""How often a journal that grows is brought back if it is archived again at the same moment."""

_SEEN: Final = 64
"""How many bytes are compared to check that a journal still has the same beginning."""


_Mark = tuple[int, int, int]


def _mark(found: os.stat_result) -> _Mark:
    """Return the values that change when a file does."""
    return (found.st_ino, found.st_size, found.st_mtime_ns)


class _Part(NamedTuple):
    """What was already read of a journal in one folder, so that only new lines are read next time."""

    mark: _Mark
    size: int
    end: bytes
    lines: tuple[JournalLine, ...]
    rest: tuple[JournalLine, ...]


_NOTHING: Final = _Part((0, 0, 0), 0, b"", (), ())


class FileJournals:
    """Journals in several folders: the first writable one is written, all are read."""

    def __init__(
        self,
        folders: Sequence[str],
        *,
        roots: Sequence[str] = (),
        is_ignored: Callable[[str, str], bool] = lambda _, __: False,
        operations: write.FileOperations = write.HERE,
        wait: float = LONGEST_WAIT,
        open_index: "Callable[[], EndedIndex | None]" = lambda: None,
    ) -> None:
        """Store the folders, as full paths in order of preference, and how long to wait for a lock.

        No link is followed below the root that contains a folder; a folder in none of the roots is its own
        root. A file for which `is_ignored(folder, name)` holds is treated as missing, and not written.

        Ended journals are archived below the first folder; `open_index` opens their index, if it can be used.
        """
        self._folders = tuple(folders)
        self._is_ignored = is_ignored
        self._roots = {folder: read.root_of(folder, roots) for folder in folders}
        self._ways = operations
        self._wait = wait
        self._open = {
            folder: read.FolderCache(root, by_handle=operations.folder_handles)
            for folder, root in self._roots.items()
        }
        first = self._folders[0] if self._folders else ""
        self._ended = EndedJournals(first, self._roots.get(first, ""), open_index, operations)
        self._parts: dict[tuple[str, str], _Part] = {}
        self._lasts: dict[tuple[str, str], tuple[_Mark, JournalLine | None]] = {}
        self._joined: dict[str, tuple[tuple[_Part, ...], Sequence[JournalLine]]] = {}

    def close(self) -> None:
        """Close the folders that were opened."""
        for one in self._open.values():
            one.close()
        self._ended.close()

    def sessions(self, scope: Scope) -> Sequence[str]:
        names = self._list_live()
        if scope is Scope.ALL and (ended := self._ended.names()):
            names |= {*ended, *self._list_live()}  # one may have come back in the meantime
        return sorted(name.removesuffix(SUFFIX) for name in names)

    def _list_live(self) -> set[str]:
        return {name for folder in self._folders for name in self._list(folder)}

    def read(self, session: str) -> Sequence[JournalLine]:
        parts = self._read_parts(session)
        known, joined = self._joined.get(session, ((), ()))
        if len(parts) != len(known) or any(new is not old for new, old in zip(parts, known, strict=True)):
            joined = _join([line for part in parts for line in (*part.lines, *part.rest)])
            self._joined[session] = (parts, joined)
        return joined

    def _read_parts(self, session: str) -> tuple[_Part, ...]:
        """Read a journal in all folders; what was archived is only looked for if its beginning is missing."""
        name, folders = f"{session}{SUFFIX}", self._folders_of(session)
        parts = [self._read_on(folder, name) for folder in folders]
        if folders and not any(_begins(part.lines) for part in parts):
            if place := self._ended.find(name):
                parts.append(self._read_on(place, name))
            elif not any(part.size for part in parts):  # it may have come back in the meantime
                parts = [self._read_on(folder, name) for folder in folders]
        return tuple(parts)

    def _folder(self, path: str) -> OpenFolder:
        known = self._open.get(path)
        return known.get(path) if known else self._ended.folder(path)

    def _places_of(self, session: str) -> Sequence[str]:
        """Return the folders that may hold a journal: those of live ones, or else where it was archived."""
        name, folders = f"{session}{SUFFIX}", self._folders_of(session)
        if not folders or self._is_live(name):
            return folders
        place = self._ended.find(name)
        return (*folders, place) if place else folders

    def _read_on(self, folder: str, name: str) -> "_Part":
        """Read the lines added to a journal; read all of it if it changed in any other way."""
        before = self._parts.get((folder, name), _NOTHING)
        try:
            opened = self._folder(folder)
            if _mark(opened.status(name)) == before.mark:
                return before
            with opened.opened(name) as handle:
                mark = _mark(os.fstat(handle))
                known = before if _goes_on(handle, before) else _NOTHING
                os.lseek(handle, known.size, os.SEEK_SET)
                data = read.read_handle(handle, read.JOURNAL - known.size, known.size)
        except OSError:
            return _NOTHING
        whole = data.rfind(b"\n") + 1
        part = _Part(
            mark,
            known.size + whole,
            (known.end + data[:whole])[-_SEEN:],
            (*known.lines, *read_lines(data[:whole])),
            tuple(read_lines(data[whole:])),
        )
        self._parts[folder, name] = part
        return part

    def last(self, session: str) -> JournalLine | None:
        """Return the line with the highest number: the last complete line of a file."""
        name = f"{session}{SUFFIX}"
        lasts = [line for folder in self._places_of(session) if (line := self._last_in(folder, name))]
        return max(lasts, key=lambda line: line.seq, default=None)

    def _last_in(self, folder: str, name: str) -> JournalLine | None:
        try:
            opened = self._folder(folder)
            mark = _mark(opened.status(name))
            known = self._lasts.get((folder, name))
            if known is None or known[0] != mark:
                known = self._lasts[folder, name] = (mark, _read_last(opened, name))
        except OSError:
            return None
        return known[1]

    def mentioning(self, scope: Scope, *texts: str, keys: Iterable[str] | None = None) -> Sequence[str]:
        wanted = [text.encode("utf-8", "surrogatepass") for text in texts]
        live = self._list_live()
        found = {name for name in live if self._mentions(name, wanted)}
        if (
            scope is Scope.ALL
            and texts
            and (ended := self._ended.mentioning(texts, texts if keys is None else keys))
        ):
            found |= {*ended}
        if scope is Scope.ALL and texts:  # one may have come back in the meantime
            found |= {name for name in self._list_live() - live if self._mentions(name, wanted)}
        return sorted(name.removesuffix(SUFFIX) for name in found)

    def _mentions(self, name: str, wanted: Collection[bytes]) -> bool:
        parts = (self._read(folder, name) for folder in self._folders_of(name.removesuffix(SUFFIX)))
        return any(text in data for data in parts for text in wanted)

    def _list(self, folder: str) -> list[str]:
        try:
            found = [one.name for one in self._open[folder].renew(folder).scan() if NAME.fullmatch(one.name)]
        except OSError:
            return []
        return [name for name in found if not self._is_ignored(folder, name)]

    def _folders_of(self, session: str) -> Sequence[str]:
        """Return the folders whose journal of a session is not ignored."""
        name = f"{session}{SUFFIX}"
        if not NAME.fullmatch(name):  # it may come from a line that somebody else wrote
            return ()
        return [folder for folder in self._folders if not self._is_ignored(folder, name)]

    def _read(self, folder: str, name: str) -> bytes:
        try:
            return self._open[folder].get(folder).read(name, read.JOURNAL)
        except OSError:
            return b""

    def append(
        self, session: str, make: Callable[[int], JournalLine], *, durable: bool = True
    ) -> JournalLine:
        return self.extend(session, lambda seq: [make(seq)], durable=durable)[0]

    def extend(
        self,
        session: str,
        make: Callable[[int], Sequence[JournalLine]],
        *,
        alone: bool = False,
        durable: bool = True,
    ) -> Sequence[JournalLine]:
        """Add lines in the first writable folder, while the journal is locked in all folders."""
        wait = self._wait if alone else None
        for _ in range(_TRIES):
            self._take_back(session)
            with self._locked(session, wait) as held:
                if not self._is_away(session):  # otherwise it was archived before we had its lock
                    return self._extend_locked(session, make, held, alone=alone, durable=durable)
        with self._locked(session, wait) as held:  # it cannot be brought back here
            return self._extend_locked(session, make, held, alone=alone, durable=durable)

    def _take_back(self, session: str) -> None:
        """Bring a journal back that was archived, before it grows."""
        if self._is_away(session):
            self._ended.take_back(f"{session}{SUFFIX}")

    def _is_away(self, session: str) -> bool:
        name = f"{session}{SUFFIX}"
        return bool(self._folders_of(session)) and not self._is_live(name) and bool(self._ended.find(name))

    def _is_live(self, name: str) -> bool:
        return os.path.lexists(os.path.join(self._folders[0], name))

    def _locked(self, session: str, wait: float | None) -> AbstractContextManager[Mapping[str, bool]]:
        name = f"{session}{SUFFIX}"
        roots = {os.path.join(folder, name): self._roots[folder] for folder in self._folders_of(session)}
        return write.locked(roots, wait, operations=self._ways)

    def _extend_locked(
        self,
        session: str,
        make: Callable[[int], Sequence[JournalLine]],
        held: Mapping[str, bool],
        *,
        alone: bool,
        durable: bool,
    ) -> Sequence[JournalLine]:
        name = f"{session}{SUFFIX}"
        if alone and not all(held.values()):
            message = f"the journal of {session} is in use, or cannot be locked here"
            hint = "try again; nothing is lost, and the next session publishes it"
            raise StorageError(message, hint=hint)
        refused: StorageError | None = None
        for folder in self._folders:
            try:
                is_locked = held.get(os.path.join(folder, name), False)
                return self._extend(folder, session, make, is_locked=is_locked, durable=durable)
            except UnsureError:  # the lines may be there: in another folder they would be there twice
                raise
            except StorageError as error:
                refused = error
        raise refused or StorageError(
            "no folder in which to write a journal", hint="work in a folder that you can write to"
        )

    def _extend(
        self,
        folder: str,
        session: str,
        make: Callable[[int], Sequence[JournalLine]],
        *,
        is_locked: bool,
        durable: bool,
    ) -> Sequence[JournalLine]:
        name = f"{session}{SUFFIX}"
        if folder not in self._folders_of(session):
            path = os.path.join(folder, name)
            message = f"could not write {path}: git tracks it, or could not say whether it does"
            raise StorageError(message, hint="run `passdown doctor` to see how to fix it")
        made: list[JournalLine] = []

        def make_lines(end: bytes) -> bytes:
            others = [self._last_number(one, name) for one in self._folders_of(session) if one != folder]
            if not end and (place := self._ended.find(name)):  # it cannot be brought back here
                others.append(self._last_number(place, name))
            # If the end holds no complete line, it is damaged, or the file is new.
            made.extend(make(max(_last(end) or self._last_number(folder, name), *others, 0) + 1))
            lines = b"".join(map(_encode, made))
            if self._size(folder, name) + len(lines) > read.JOURNAL:
                hint = "End this session and start a new one."
                raise StorageError(f"the journal of {session} is full", hint=hint)
            return lines

        path, root = os.path.join(folder, name), self._roots[folder]
        ways = self._ways if durable else replace(self._ways, sync=leave_unsynced)
        write.append(path, make_lines, local=True, is_locked=is_locked, operations=ways, root=root)
        return made

    def _last_number(self, folder: str, name: str) -> int:
        """Return the highest number at the end of a journal, or in all of it if its end has no line."""
        # A journal that does not exist there has no number.
        with suppress(OSError):
            opened = self._folder(folder)
            with opened.opened(name) as handle:
                end = read.read_tail(handle, _END)
            # A first line that was cut off is skipped like a damaged one.
            return _last(end) or (_last(opened.read(name, read.JOURNAL)) if len(end) == _END else 0)
        return 0

    def _size(self, folder: str, name: str) -> int:
        # If its status cannot be read, writing the journal fails later.
        with suppress(OSError):
            return self._folder(folder).status(name).st_size
        return 0

    def changed(self, session: str) -> int:
        times = [0]
        for folder in self._places_of(session):
            # A folder without a journal of this session does not count.
            with suppress(OSError):
                times.append(self._folder(folder).status(f"{session}{SUFFIX}").st_mtime_ns)
        return max(times)

    def put_away(self, session: str, seq: int) -> bool:
        """Rename the file of an ended session, if it lies in the first folder alone and can be locked."""
        name = f"{session}{SUFFIX}"
        here = [one for one in self._folders_of(session) if os.path.lexists(os.path.join(one, name))]
        if here != [*self._folders[:1]]:
            return False
        with write.locked(
            {os.path.join(here[0], name): self._roots[here[0]]}, 0.0, operations=self._ways
        ) as held:
            data = self._read(here[0], name) if all(held.values()) else b""
            month = self._ended.prepare(name, data) if _last(data[-_END:]) == seq else ""
            if not month or self._ways.folder_handles:
                return bool(month) and self._ended.put(name, month)
        # Without folder handles, as on Windows, an open file cannot be renamed: it may grow before it is.
        if not self._ended.put(name, month):
            return False
        if self._last_number(self._ended.find(name), name) != seq:
            self._take_back(session)
        return not self._is_live(name)


def _begins(lines: Sequence[JournalLine]) -> bool:
    """Return whether lines contain the beginning of a journal."""
    return bool(lines) and lines[0].seq == 1 and lines[0].fact.kind == FactKind.START


def _goes_on(handle: int, known: _Part) -> bool:
    """Return whether the part that was already read is unchanged."""
    os.lseek(handle, known.size - len(known.end), os.SEEK_SET)
    return os.read(handle, len(known.end)) == known.end


def _join(lines: list[JournalLine]) -> Sequence[JournalLine]:
    """Sort lines by number, without duplicates."""
    if all(before.seq < after.seq for before, after in pairwise(lines)):
        return lines
    return list(dict.fromkeys(sorted(lines, key=lambda line: line.seq)))


def _read_last(folder: OpenFolder, name: str) -> JournalLine | None:
    """Read the last complete line from the end of a file, or from all of it if the end has none."""
    with folder.opened(name) as handle:
        end = read.read_tail(handle, _TAIL)
    # A first line that was cut off is incomplete, and is skipped like a damaged one.
    found = next(read_lines(end, last_first=True), None)
    is_all = len(end) < _TAIL
    if found or is_all:
        return found
    return next(read_lines(folder.read(name, read.JOURNAL), last_first=True), None)


def _encode(line: JournalLine) -> bytes:
    """Render a line; raise a StorageError if it could not be read back, so that no lost fact looks saved."""
    text = render_line(line)
    try:
        parse_line(text.removesuffix("\n"))
    except Malformed as found:
        hint = "Use fewer words, and no characters that cannot be saved as text."
        raise StorageError(f"a line of the journal {found.problem}", hint=hint) from found
    return text.encode()


def _last(data: bytes) -> int:
    """Return the highest number of a complete line; 0 if there is none.

    Parsing a line is slow, so the one that seems to have the highest number is parsed first. A line that does
    not begin as ours do is always parsed.
    """
    seeming = [(_seq_of(line), line) for line in data.split(b"\n")]
    others = read_lines(b"\n".join(line for seq, line in seeming if not seq))
    ours = (line for _, line in sorted(seeming, reverse=True))
    best = next((found.seq for line in ours for found in read_lines(line)), 0)
    return max((best, *(line.seq for line in others)))


def _seq_of(line: bytes) -> int:
    start, _, number = line.partition(b",")[2][:_LONGEST].partition(b'"seq":')
    digits = number.partition(b",")[0]
    return int(digits) if not start and digits.isdigit() else 0
