"""The changes to the coordination database since its last copy, so that a lost one can be restored (C146).

The folder has periods, each with a number: a copy of the database at the start of the period, unless it was
new, and a file of changes. That file begins with a line about the period; each change is a line with the
statements that made it. Only a process that has passed the database's gate writes here. Only the start of a
period is synced: if a power cut loses a line, the change is still in the database.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, cast

from passdown.engines.coordination.rows import Statements
from passdown.engines.files import read, write
from passdown.engines.files.system_calls import leave_unsynced
from passdown.engines.files.write import HERE
from passdown.errors import StorageError
from passdown.records import replace

_COPY: Final = ".sqlite"
_CHANGES: Final = ".jsonl"
_KEPT: Final = 3
"""How many periods are kept."""
_LONGEST: Final = 16_777_216
"""The bytes of changes after which the next period begins."""
_MOST: Final = 4 * _LONGEST
_END: Final = 65_536

Call = tuple[str, Sequence[object]]
"""A statement by its name, and its values."""


class FileState(NamedTuple):
    """The status of a file after a change; if it is still the same, no other program touched the file."""

    inode: int
    size: int
    changed: int


class Period(NamedTuple):
    """The start of a period."""

    number: int
    identity: int
    """The number that identifies the database."""
    version: int
    """The version of its tables."""
    day: str
    positions: Mapping[str, int]
    """The position of each project."""
    has_copy: bool
    restored: str = ""
    """What was restored at the start of the period, and why; empty if nothing was."""


class LoggedChange(NamedTuple):
    """One change of one project."""

    project: str
    position: int
    calls: Sequence[Call]


class Known(NamedTuple):
    """What the end of the log records about the database."""

    period: Period
    positions: Mapping[str, int]
    state: FileState | None
    """The status of the file; None if it was unknown, or the database was found damaged."""


class RecordedStatements:
    """Runs the statements of a transaction, and records those that change something."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self.calls: list[Call] = []

    def ask(self, query: str, *values: object) -> Sequence[Sequence[Any]]:
        return self._statements.ask(query, *values)

    def change(self, query: str, *values: object) -> int:
        self.calls.append((query, values))
        return self._statements.change(query, *values)

    def change_all(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        self.calls += [(query, row) for row in rows]
        self._statements.change_all(query, rows)


def find_state(path: str) -> FileState | None:
    """Return the status of a file now; None if it is missing."""
    with suppress(OSError):
        found = os.stat(path)
        return FileState(found.st_ino, found.st_size, found.st_mtime_ns)
    return None


class ChangeLog:
    """The change log of one database."""

    def __init__(self, folder: str) -> None:
        """Store the path of the folder, which is created with the first period."""
        self._folder = folder
        self._unsynced = replace(HERE, sync=leave_unsynced)

    # --- reading --------------------------------------------------------------------------------------

    def _list(self) -> list[int]:
        """Return the numbers of the periods; other processes may begin one at any time."""
        try:
            found = read.names(self._folder, self._folder)
        except OSError:
            return []
        stems = (name.removesuffix(_CHANGES) for name in found if name.endswith(_CHANGES))
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def copy_of(self, number: int) -> str:
        """Return the path of the copy at the start of a period."""
        return self._path(number, _COPY)

    def _path(self, number: int, suffix: str) -> str:
        return os.path.join(self._folder, f"{number:06d}{suffix}")

    def periods(self) -> Sequence[Period]:
        """Return the periods that can be read, the oldest first."""
        found = (self._read_period(number) for number in self._list())
        return [period for period in found if period is not None]

    def _read_period(self, number: int) -> Period | None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            first = json.loads(read.read_start(self._path(number, _CHANGES), _END).partition(b"\n")[0])
            return Period(
                number,
                int(first["identity"]),
                int(first["version"]),
                str(first["day"]),
                {str(name): int(position) for name, position in first["positions"].items()},
                bool(first["has_copy"]),
                str(first.get("restored", "")),
            )
        return None

    def changes_of(self, period: Period) -> Iterator[LoggedChange]:
        """Yield the changes of a period, the oldest first; a line that cannot be read is left out."""
        with suppress(OSError):
            for line in read.read_trusted(self._path(period.number, _CHANGES), _MOST).splitlines():
                found = _parse(line)
                if "run" in found:
                    yield LoggedChange(found["project"], found["position"], found["run"])

    def known(self) -> Known | None:
        """Return what the log records about the database; None if it was never in use.

        A line is ignored if its process died while writing it.
        """
        newest_first = map(self._read_period, reversed(self._list()))
        period = next(filter(None, newest_first), None)
        if period is None:
            return None
        positions = dict(period.positions)
        state: FileState | None = None
        for line in self._read_end(period):
            if "position" in line:
                positions[line["project"]] = max(line["position"], positions.get(line["project"], 0))
            if "file" in line:
                state = FileState(*line["file"]) if line["file"] else None
        return Known(period, positions, state)

    def _read_end(self, period: Period) -> Sequence[Mapping[str, Any]]:
        """Return the last lines of a period, including a change if it has one."""
        path = self._path(period.number, _CHANGES)
        with suppress(OSError):
            lines = [_parse(line) for line in read.read_end(path, _END).splitlines()]
            if any("position" in line for line in lines):
                return lines
            return [_parse(line) for line in read.read_trusted(path, _MOST).splitlines()]
        return ()

    def is_full(self, period: Period, day: str) -> bool:
        """Return whether the next period is due: on another day, or after many changes."""
        state = find_state(self._path(period.number, _CHANGES))
        return period.day != day or state is None or state.size > _LONGEST

    # --- writing --------------------------------------------------------------------------------------

    def add(self, change: LoggedChange, state: FileState | None) -> bool:
        """Add a change that was made; return whether it was written."""
        return self._append(
            {
                "project": change.project,
                "position": change.position,
                "file": state,
                "run": [[query, list(values)] for query, values in change.calls],
            }
        )

    def note_state(self, state: FileState | None) -> None:
        """Record the status of the file after something other than a change; None if it is damaged."""
        self._append({"file": state})

    def _append(self, line: Mapping[str, object]) -> bool:
        """Add a line; if that fails, the next process to open the database notices the gap and copies it."""
        for number in self._list()[-1:]:
            path = self._path(number, _CHANGES)
            with suppress(StorageError):
                text = json.dumps(line, separators=(",", ":")).encode() + b"\n"
                write.append(path, text, local=True, is_locked=True, operations=self._unsynced)
                return True
        return False

    def next_number(self) -> int:
        """Return the number of the next period; leftovers of a period that did not begin are overwritten."""
        return max(self._list(), default=0) + 1

    def begin(self, period: Period) -> None:
        """Begin a period whose copy exists."""
        first = json.dumps(period._asdict(), separators=(",", ":")).encode() + b"\n"
        write.replace(self._path(period.number, _CHANGES), first, local=True)

    def list_old(self) -> Sequence[str]:
        """Return the files of periods that are no longer needed."""
        return [self._path(number, end) for number in self._list()[:-_KEPT] for end in (_CHANGES, _COPY)]

    def make_folder(self) -> None:
        """Create the folder."""
        write.make_folder(self._folder)


def _parse(line: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        found: object = json.loads(line)
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
    return {}
