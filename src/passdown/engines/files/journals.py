"""The `Journals` of a project: in git's own folder, safe from `git clean` and removed worktrees (C58).

Where that cannot be written, as in a sandbox, a journal grows in the checkout; readers join both.
"""

# ruff: noqa: PTH116, PTH118, PTH208 (one listing and one stat each, often)

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import BinaryIO, Final, NamedTuple

from passdown.core.journal import JournalLine, parse_line, render_line
from passdown.core.patterns import pattern
from passdown.core.problems import Malformed
from passdown.engines.files import write
from passdown.errors import StorageError

SUFFIX: Final = ".jsonl"

_TAIL: Final = 4096
"""How much of a journal's end is read to find its last line."""

_NAME: Final = pattern(r"[a-z0-9][a-z0-9-]{0,63}\.jsonl")


_SEEN: Final = 64
"""How many bytes tell that a journal still begins as it did."""


_Mark = tuple[int, int, int]


def _mark(found: os.stat_result) -> _Mark:
    """Give what changes when a file does."""
    return (found.st_ino, found.st_size, found.st_mtime_ns)


class _Part(NamedTuple):
    """What was read of a journal in one folder, so that only what is new is read the next time."""

    mark: _Mark
    size: int
    end: bytes
    lines: tuple[JournalLine, ...]
    rest: tuple[JournalLine, ...]


_NOTHING: Final = _Part((0, 0, 0), 0, b"", (), ())


class FileJournals:
    """Journals in folders: the first that can be written is written to, all are read."""

    def __init__(self, folders: Sequence[str], *, ways: write.Ways = write.HERE) -> None:
        """Keep the folders, as full paths, the preferred one first."""
        self._folders = tuple(folders)
        self._ways = ways
        self._parts: dict[str, _Part] = {}
        self._lasts: dict[str, tuple[_Mark, JournalLine | None]] = {}
        self._joined: dict[str, tuple[tuple[_Part, ...], Sequence[JournalLine]]] = {}

    def sessions(self) -> Sequence[str]:
        """Name the sessions that have a journal."""
        names = {name for folder in self._folders for name in _list(folder)}
        return sorted(name.removesuffix(SUFFIX) for name in names)

    def read(self, session: str) -> Sequence[JournalLine]:
        """Give the lines that can be read, by number; equal ones once."""
        parts = tuple(self._read_on(self._path(folder, session)) for folder in self._folders)
        known, joined = self._joined.get(session, ((), ()))
        if len(parts) != len(known) or any(new is not old for new, old in zip(parts, known, strict=True)):
            joined = _join([line for part in parts for line in (*part.lines, *part.rest)])
            self._joined[session] = (parts, joined)
        return joined

    def _read_on(self, path: str) -> "_Part":
        """Read what a journal has grown by; one that changed in another way is read anew."""
        before = self._parts.get(path, _NOTHING)
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - one read
                mark = _mark(os.fstat(file.fileno()))
                if mark == before.mark:
                    return before
                known = before if _goes_on(file, before) else _NOTHING
                file.seek(known.size)
                data = file.read()
        except OSError:
            return _NOTHING
        whole = data.rfind(b"\n") + 1
        part = _Part(
            mark,
            known.size + whole,
            (known.end + data[:whole])[-_SEEN:],
            (*known.lines, *_lines(data[:whole])),
            tuple(_lines(data[whole:])),
        )
        self._parts[path] = part
        return part

    def last(self, session: str) -> JournalLine | None:
        """Give the line with the highest number: the last whole one of a file."""
        lasts = [line for folder in self._folders if (line := self._last_in(self._path(folder, session)))]
        return max(lasts, key=lambda line: line.seq, default=None)

    def _last_in(self, path: str) -> JournalLine | None:
        try:
            mark = _mark(os.stat(path))
        except OSError:
            return None
        known = self._lasts.get(path)
        if known is None or known[0] != mark:
            known = self._lasts[path] = (mark, _read_last(path))
        return known[1]

    def mentioning(self, *texts: str) -> Sequence[str]:
        """Name the sessions whose journal holds one of these texts."""
        wanted = [text.encode() for text in texts]
        found = {
            name
            for folder in self._folders
            for name in _list(folder)
            for data in [_read(os.path.join(folder, name))]
            if any(text in data for text in wanted)
        }
        return sorted(name.removesuffix(SUFFIX) for name in found)

    def append(self, session: str, make: Callable[[int], JournalLine]) -> JournalLine:
        """Add a line in the first folder that takes it."""
        return self.extend(session, lambda seq: [make(seq)])[0]

    def extend(self, session: str, make: Callable[[int], Sequence[JournalLine]]) -> Sequence[JournalLine]:
        """Add lines in the first folder that takes them."""
        refused: StorageError | None = None
        for folder in self._folders:
            try:
                return self._extend(folder, session, make)
            except StorageError as error:
                refused = error
        raise refused or StorageError(
            "there is no place for a journal", hint="work in a folder you can write"
        )

    def _extend(
        self, folder: str, session: str, make: Callable[[int], Sequence[JournalLine]]
    ) -> Sequence[JournalLine]:
        path = self._path(folder, session)
        made: list[JournalLine] = []

        def make_lines(end: bytes) -> bytes:
            # An end without a whole line is damaged, or the file is new.
            last = _last(end) or _last(_read(path))
            made.extend(make(max(last, self._last_elsewhere(folder, session)) + 1))
            return b"".join(map(_encode, made))

        write.append(path, make_lines, local=True, ways=self._ways)
        return made

    def _last_elsewhere(self, folder: str, session: str) -> int:
        others = (one for one in self._folders if one != folder)
        return max((_last(_read(self._path(one, session))) for one in others), default=0)

    def changed(self, session: str) -> int:
        """Tell when a journal last grew."""
        times = [0]
        for folder in self._folders:
            # A folder that has no journal of this session says nothing about it.
            with suppress(OSError):
                times.append(os.stat(self._path(folder, session)).st_mtime_ns)
        return max(times)

    def _path(self, folder: str, session: str) -> str:
        return os.path.join(folder, f"{session}{SUFFIX}")


def _goes_on(file: BinaryIO, known: _Part) -> bool:
    """Say whether what was read still stands before what is new."""
    file.seek(known.size - len(known.end))
    return file.read(len(known.end)) == known.end


def _join(lines: list[JournalLine]) -> Sequence[JournalLine]:
    """Put lines in the order of their numbers, equal ones once."""
    if all(before.seq < after.seq for before, after in pairwise(lines)):
        return lines
    return list(dict.fromkeys(sorted(lines, key=lambda line: line.seq)))


def _list(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if _NAME.fullmatch(name)]
    except OSError:
        return []


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - one read
            return file.read()
    except OSError:
        return b""


def _read_last(path: str) -> JournalLine | None:
    """Read the last whole line of a file from its end; where that holds none, from all of it."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - one read
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - _TAIL, 0))
            end = file.read()
    except OSError:
        return None
    # What the cut leaves of a line is no whole line, and is passed over like a damaged one.
    found = next(_backwards(end), None)
    return found or (next(_backwards(_read(path)), None) if size > _TAIL else None)


def _backwards(data: bytes) -> Iterator[JournalLine]:
    """Read the lines that are whole, the last one first."""
    for line in reversed(data.decode("utf-8", "replace").split("\n")):
        if line.strip():
            # As in reading all of them.
            with suppress(Malformed):
                yield parse_line(line.rstrip("\r"))


def _encode(line: JournalLine) -> bytes:
    """Write a line; one that could not be read again must not look as if it were safe."""
    text = render_line(line)
    try:
        parse_line(text.removesuffix("\n"))
    except Malformed as found:
        hint = "Say it in fewer words, without characters that cannot be written down."
        raise StorageError(f"a line of the journal {found.problem}", hint=hint) from found
    return text.encode()


def _last(data: bytes) -> int:
    return max((line.seq for line in _lines(data)), default=0)


def _lines(data: bytes) -> Iterator[JournalLine]:
    """Read the lines that are whole; a damaged or cut one is left out."""
    for line in data.decode("utf-8", "replace").split("\n"):
        if line.strip():
            # What a crash cut off was never acknowledged; what was damaged is reported by a check.
            with suppress(Malformed):
                yield parse_line(line.rstrip("\r"))
