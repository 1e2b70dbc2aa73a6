"""The rows of coordination in one SQLite file, for all checkouts of a clone (C75, C78, C81, C87, C94).

Writers pass a gate, one at a time: that is fairer than SQLite's own waiting, and two connections never write
or checkpoint at once, which can damage files before SQLite 3.51.3. Correctness does not depend on the gate:
without it, `BEGIN IMMEDIATE` keeps writers apart.
"""

import errno
import os
import sqlite3
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from typing import Any, Final, NoReturn
from weakref import finalize

from passdown import layout
from passdown.core.coordination.leases import Lifetimes
from passdown.core.coordination.members import EngineTime
from passdown.engines.coordination.changes import note_sign
from passdown.engines.coordination.rows import RowReading, RowTransaction, Statements
from passdown.engines.coordination.transactions import LIFETIMES, Reading, Transaction
from passdown.engines.files.locks import Gate
from passdown.engines.files.write import make_folder
from passdown.engines.patience import Patience
from passdown.engines.sqlite.change_log import RecordedStatements
from passdown.engines.sqlite.coordination_database import (
    BUSY,
    TITLE,
    UNWRITABLE,
    CoordinationDatabase,
    cannot_write,
    name_of,
    way_out,
)
from passdown.engines.sqlite.coordination_file import CoordinationFile, OpenFile, Recovery
from passdown.engines.sqlite.database import WAIT_SECONDS, is_damage, open_database, open_read_only
from passdown.engines.sqlite.engine_clock import ClockRow, tell_time
from passdown.engines.sqlite.mounts import MountKind, find_mount
from passdown.engines.system import pause
from passdown.errors import AwayError, StorageError, UnsureError, UnwritableError
from passdown.ports.clock import BootClock, Clock
from passdown.records import record

_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_SILENCES_SINCE: Final = 3
"""The first version of the file that has silences."""
_MOST_OPENINGS: Final = 20
_OPENING_PAUSE: Final = 0.02
_LOGS: Final = ("-wal", "-journal")
"""The suffixes of the log files without which a database may be incomplete."""


@record
class LocalMachine:
    """What a store of rows needs from this machine."""

    boot_clock: BootClock
    clock: Clock
    """For the first instant, and for the time between two boots."""
    is_running: Callable[[str], bool | None]
    pause: Callable[[float], None] = pause
    recovery: Recovery | None = None
    """How to restore a lost file; without it, changes are not logged."""


def open_store(
    path: str,
    project: str,
    machine: LocalMachine,
    *,
    mount: MountKind | None = None,
    gate: Gate | None = None,
    wait: float | Patience = WAIT_SECONDS,
) -> "SqliteStore":
    """Open the file of a clone for one project; create it if it does not exist.

    `mount` is the kind of file system that holds it; None means to find out. `wait` is the time to wait for
    other writers: a number of seconds each time, or a patience for all waits together. Raises a StorageError
    if the file cannot be written: then nothing is granted.
    """
    folder = os.path.dirname(path)
    if mount is None:
        mount = find_mount(folder, sys.platform)
    if mount is MountKind.REMOTE:
        raise StorageError(
            f"{TITLE} cannot be stored in {folder}: it is on a network or virtual file system",
            hint="Sessions on several machines or in containers cannot share this file: use a server engine.",
        )
    try:
        make_folder(folder)
    except StorageError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in _FORBIDDEN:
            raise cannot_write(path, error.message) from error
        raise
    turn = _Turn(gate or Gate(layout.lock_name(path)), wait)
    is_local = mount is MountKind.LOCAL

    def open_at(place: str) -> CoordinationDatabase:
        return _open_patiently(place, machine, shared_memory=is_local, wait=turn.left)

    return SqliteStore(CoordinationFile(path, open_at, machine.recovery), project, machine, turn)


class _Turn:
    """How the writers of a file wait for each other."""

    def __init__(self, gate: Gate, wait: float | Patience) -> None:
        self.gate = gate
        self.wait = wait
        self._patience = Patience(0.0)

    @property
    def left(self) -> float:
        """The seconds of this turn that are left to wait for writers that do not use the gate."""
        return self._patience.left

    @contextmanager
    def taken(self) -> Generator[Patience, None, None]:
        """Wait for our turn; yield the time that is left to wait for writers that do not use the gate."""
        self._patience = self.wait if isinstance(self.wait, Patience) else Patience(self.wait)
        with self.gate.passed(self._patience):
            yield self._patience

    def is_kept(self) -> bool:
        """Return whether no other process can have passed the gate since."""
        return self.gate.is_kept()


def _open_patiently(
    path: str, machine: LocalMachine, *, shared_memory: bool, wait: float
) -> CoordinationDatabase:
    """Open the file; SQLite itself does not wait for a process that creates it at the same moment."""
    began = machine.boot_clock.read().seconds
    for _ in range(_MOST_OPENINGS):
        try:
            return open_database(CoordinationDatabase, path, shared_memory=shared_memory, wait=wait)
        except StorageError as error:
            is_busy = str(getattr(error.__cause__, "sqlite_errorname", "")).startswith(BUSY)
            if not is_busy or machine.boot_clock.read().seconds - began >= wait:
                raise
        machine.pause(_OPENING_PAUSE)
    return open_database(CoordinationDatabase, path, shared_memory=shared_memory, wait=wait)


def read_time(statements: Statements, project: str, machine: LocalMachine) -> tuple[ClockRow, int]:
    """Return the time of a project and the position of its last change, which are in the same row."""
    rows = statements.ask("clock", project)
    stored, position = (ClockRow(*rows[0][:-1]), rows[0][-1]) if rows else (ClockRow(), 0)
    wall = machine.clock.now().timestamp()
    return tell_time(stored, machine.boot_clock.read(), wall), position


class _LocalStore:
    """The methods that all stores on this machine share."""

    def __init__(self, project: str, machine: LocalMachine) -> None:
        self._project = project
        self._machine = machine

    def confirm(self) -> None:
        """Return at once: what can be read was committed, and is on the disk."""

    def wall_time(self, reading: Reading) -> float:
        """Return the time by the wall clock of this machine, from which operation ids are made."""
        del reading
        return self._machine.clock.now().timestamp()

    def is_running(self, process: str) -> bool | None:
        return self._machine.is_running(process)

    def pause(self, seconds: float) -> None:
        self._machine.pause(seconds)

    def _read(self, statements: Statements) -> RowReading:
        now, _ = read_time(statements, self._project, self._machine)
        return RowReading(statements, self._project, now.time)


class SqliteStore(_LocalStore):
    """The rows of one project: a `Store`."""

    def __init__(self, place: CoordinationFile, project: str, machine: LocalMachine, turn: _Turn) -> None:
        super().__init__(project, machine)
        self._file = place
        self._turn = turn
        with turn.taken() as patience, patience.spending():
            self._database = place.connect()
        self._finalizer = finalize(self, _let_go, place.opened, turn.gate)

    @contextmanager
    def changing(self) -> Generator[Transaction, None, None]:
        self._database.refuse_to_nest()
        with self._taking_turn():
            statements = RecordedStatements(self._database)
            with self._database.changing():
                time, fence = self._store_time(statements, positions=1)
                yield RowTransaction(statements, self._project, time, fence)
                self._require_same()
            is_logged = self._file.opened.log_change(self._project, fence, statements.calls)
            if not (is_logged and self._turn.is_kept()):  # it may be neither in the file nor in its log
                message = f"{TITLE} was removed or replaced while it was changed"
                raise UnsureError(message, hint="Repeat the same command: the change is made only once.")
            self._file.opened.shorten_log()

    @contextmanager
    def looking(self) -> Generator[Reading, None, None]:
        self._database.refuse_to_nest()
        if not self._file.opened.is_same():
            with self._taking_turn():
                pass
        with self._noting_damage(), self._database.looking():
            yield self._read(self._database)

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        self._database.refuse_to_nest()
        with self._taking_turn():
            with self._database.changing_soon():
                time, fence = self._store_time(self._database, positions=0)
                beats = [
                    self._database.change("beat", time.seconds, time.boot, self._project, session)
                    for session in sessions
                ]
                if any(beats):
                    note_sign(RowTransaction(self._database, self._project, time, fence), lifetimes)
                self._require_same()
            self._file.opened.shorten_log()

    def close(self) -> None:
        """Close the file; the last process to do so may move the write-ahead log into the database."""
        _close(self._file.opened, self._turn.gate, self._turn.wait)

    def let_go(self) -> None:
        """Close the file without waiting for processes that are busy."""
        self._finalizer()

    @contextmanager
    def _taking_turn(self) -> Generator[None, None, None]:
        """Keep other writers out, and reopen the file if another program has touched it (C146)."""
        with self._turn.taken() as patience, self._noting_damage():
            with patience.spending():
                self._database = self._file.refresh()
            self._database.patience = patience
            try:
                yield
            finally:
                self._database.patience = None  # so that an abandoned store holds no reference to it

    def _require_same(self) -> None:
        """Raise an error before a change is committed to a file that was removed or replaced."""
        if not (self._file.opened.is_same() and self._turn.is_kept()):
            message = f"{TITLE} was removed or replaced while it was changed"
            raise AwayError(message, hint="Nothing was changed; try again.")

    @contextmanager
    def _noting_damage(self) -> Generator[None, None, None]:
        """If the file turns out to be damaged, make the next process that opens it examine all of it."""
        try:
            yield
        except StorageError as error:
            if is_damage(error.__cause__) and not isinstance(error.__cause__, sqlite3.IntegrityError):
                self._file.opened.log_damage()
            raise

    def _store_time(self, statements: Statements, positions: int) -> tuple[EngineTime, int]:
        """Read the clock while no other process can write, so that instants are stored in order.

        This takes the next positions too; return the last of them.
        """
        now, position = read_time(statements, self._project, self._machine)
        fence = position + positions
        if not statements.change("set_clock", *now, fence, self._project) and positions:
            statements.change("add_project", self._project)
            statements.change("set_clock", *now, fence, self._project)
        return now.time, fence


def _close(opened: OpenFile, gate: Gate, wait: float | Patience) -> None:
    with suppress(StorageError), gate.passed(wait):  # if another process is busy, it has the file open too
        opened.close()
    opened.close()


def _let_go(opened: OpenFile, gate: Gate) -> None:
    """Close the file of a store that is no longer needed, without waiting.

    If another process is busy, the next process to open the file examines it. In another thread, the
    connection is closed when it is garbage-collected.
    """
    with suppress(sqlite3.ProgrammingError):
        _close(opened, gate, 0.0)


def open_reader(
    path: str, project: str, machine: LocalMachine, refusal: UnwritableError | None = None
) -> "ReadOnlyStore":
    """Open a file that may not be written; a missing one counts as an empty project, and is not created.

    Attempts to change something raise `refusal`.
    """
    refusal = refusal or cannot_write(path, "it was opened read-only")
    return ReadOnlyStore(path, project, machine, refusal)


class ReadOnlyStore(_LocalStore):
    """The rows of one project that we may not write: a `Store` that grants nothing."""

    def __init__(self, path: str, project: str, machine: LocalMachine, refusal: UnwritableError) -> None:
        """Store the path of the file, and the error with which changes are refused."""
        super().__init__(project, machine)
        self._path = path
        self._refusal = refusal

    @contextmanager
    def looking(self) -> Generator[Reading, None, None]:
        """Yield one consistent state.

        The file is opened again each time: other processes may write to it in between, and SQLite does not
        read a file again that it opened without its log.
        """
        if not os.path.exists(self._path):
            yield self._read(_Nothing())
            return
        has_log = any(os.path.exists(self._path + end) for end in _LOGS)
        try:
            connection = open_read_only(self._path, immutable=not has_log)
        except sqlite3.Error as error:
            raise _ReadDatabase.make_error(error, self._path) from error
        database = _ReadDatabase(connection, self._path)
        try:
            with database.looking():
                yield self._read(_Nothing() if database.is_empty() else database)
        finally:
            database.close()

    def changing(self) -> AbstractContextManager[Transaction]:
        """Refuse: a session that cannot write is granted nothing."""
        self._refuse()

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        """Refuse, as for any change."""
        del sessions, lifetimes
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise self._refusal


class _ReadDatabase(CoordinationDatabase):
    """The file, opened read-only; it may still be of an older version."""

    def ask(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a statement's result; a table that the file lacks has none."""
        if query == "heard" and not self._has_silences:
            return []
        return super().ask(query, *values)

    @cached_property
    def _has_silences(self) -> bool:
        with self._reporting():
            return self._version() >= _SILENCES_SINCE

    @classmethod
    def make_error(cls, error: sqlite3.Error, path: str) -> StorageError:
        """Return an error with a way out if even reading needs a writable folder."""
        if name_of(error).startswith(UNWRITABLE):
            return StorageError(f"{TITLE} cannot be read: {path}: {error}", hint=way_out(path))
        return super().make_error(error, path)


class _Nothing:
    """Runs statements on a database without rows."""

    def ask(self, query: str, *values: object) -> list[Any]:
        """Return no rows."""
        del query, values
        return []

    def change(self, query: str, *values: object) -> int:
        """Change nothing."""
        del query, values
        return 0

    def change_all(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Change nothing."""
