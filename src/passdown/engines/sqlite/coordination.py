"""The rows of coordination in one SQLite file, for all checkouts of a clone (C75, C78, C81, C87, C94).

Writers pass a gate, one at a time: that is fairer than SQLite's own waiting, and two connections never write
or checkpoint at once, which damages files before SQLite 3.51.3. Nothing relies on the gate: without it,
`BEGIN IMMEDIATE` keeps writers apart.
"""

import errno
import os
import sqlite3
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from typing import Any, Final, NoReturn

from passdown import layout
from passdown.core.coordination.leases import Lifetimes
from passdown.core.coordination.members import EngineTime
from passdown.engines.coordination import rows
from passdown.engines.coordination.changes import note_sign
from passdown.engines.coordination.rows import RowReading, RowTransaction, Statements
from passdown.engines.coordination.transactions import LIFETIMES, Reading, Transaction
from passdown.engines.files.gate import Gate
from passdown.engines.files.write import make_folder
from passdown.engines.patience import Patience
from passdown.engines.sqlite.database import WAIT_SECONDS, KeptDatabase, open_database, open_read_only
from passdown.engines.sqlite.engine_clock import ClockRow, tell_time
from passdown.engines.sqlite.mounts import MountKind, find_mount
from passdown.engines.system import pause
from passdown.errors import AwayError, StorageError, UnsureError, UnwritableError
from passdown.ports.clock import BootClock, Clock
from passdown.records import record

TITLE: Final = "the coordination database"

_UNWRITABLE: Final = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")
_FORBIDDEN: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
_UNSURE: Final = tuple(f"SQLITE_IOERR_{call}" for call in ("FSYNC", "DIR_FSYNC", "TRUNCATE", "DELETE"))
"""What fails at the end of a commit: the change may be found by whoever opens the file next."""
_WRITING: Final = "BEGIN IMMEDIATE"
_SILENCES_SINCE: Final = 3
"""The version of the file that first had silences."""
_MOST_OPENINGS: Final = 20
_OPENING_PAUSE: Final = 0.02
_LOGS: Final = ("-wal", "-journal")
"""The suffixes of files without which a database may be only half of the truth."""


@record
class LocalMachine:
    """What a store of rows asks of this machine."""

    boot_clock: BootClock
    clock: Clock
    """For the beginning, and for the time between two boots."""
    is_running: Callable[[str], bool | None]
    pause: Callable[[float], None] = pause


class CoordinationDatabase(KeptDatabase):
    """The file; it runs the statements of coordination."""

    title = TITLE
    queries = rows.QUERIES
    migrations = rows.MIGRATIONS
    keeps_log = True
    patience: Patience | None = None
    """How long to wait for writers that know no turns; None as the connection was told."""

    @classmethod
    def make_error(cls, error: sqlite3.Error, path: str) -> StorageError:
        """Return an error that says what to do, above all if nobody may write here."""
        name = _name_of(error)
        if name.startswith(_UNWRITABLE):
            return cannot_write(path, str(error))
        if name.startswith(_BUSY):
            return AwayError(
                f"{TITLE} is busy: another process is writing", hint="Nothing was changed; try again."
            )
        if name.startswith(_UNSURE):
            message = f"{TITLE} may or may not hold the change: {error}"
            return UnsureError(message, hint="Repeat the same operation: it is done once.")
        if isinstance(error, sqlite3.IntegrityError):
            return StorageError(f"{TITLE} refused a change: {error}", hint=f"Nothing was changed in {path}.")
        return super().make_error(error, path)

    # Without `_reporting`, which takes a third of the time of a statement.

    def ask(self, query: str, *values: object) -> list[Any]:
        """Return the rows that a statement gives."""
        try:
            return self._connection.execute(self._queries[query], values).fetchall()
        except sqlite3.Error as error:
            raise self._report(error) from error

    def change(self, query: str, *values: object) -> int:
        """Return how many rows a statement changed."""
        try:
            return self._connection.execute(self._queries[query], values).rowcount
        except sqlite3.Error as error:
            raise self._report(error) from error

    def change_all(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each of some rows of values."""
        with self._reporting():
            self._connection.executemany(self._queries[query], rows)

    def looking(self) -> AbstractContextManager[None]:
        """Read one consistent state, whatever others write in the meantime."""
        return self._transaction("BEGIN")

    @contextmanager
    def changing_soon(self) -> Generator[None, None, None]:
        """Change something that may be lost if the power fails at once; the file is never damaged by that."""
        with self._reporting():
            self._connection.execute("PRAGMA synchronous = NORMAL")
            try:
                with self.changing():
                    yield
            finally:
                self._connection.execute(f"PRAGMA synchronous = {self.synchronous}")

    def _begin(self, begin: str) -> None:
        """Open a transaction; for others that write only as much time is spent as is left."""
        if self.patience is None or begin != _WRITING:
            return super()._begin(begin)
        refusal = sqlite3.Error("another process is writing")
        for seconds in self.patience.waits(f"another process to release {self._path}"):
            self._connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
            try:
                return super()._begin(begin)
            except sqlite3.OperationalError as error:
                refusal = error
                if not _name_of(error).startswith(_BUSY):
                    break
        raise refusal

    def refuse_to_nest(self) -> None:
        """Raise an error if a transaction is under way."""
        try:
            is_under_way = self._connection.in_transaction
        except sqlite3.Error as error:  # it was closed
            raise self._report(error) from error
        if is_under_way:
            message = "transactions do not nest"
            raise RuntimeError(message)

    def is_empty(self) -> bool:
        """Return whether there are no tables; refuse to read a database that is too new."""
        with self._reporting():
            version, known = self._version(), len(self.scripts())
            if version and self._meta("least_reader") > known:
                raise self.too_new(version, known)
        return not version

    def _least_writer(self, version: int) -> int:
        del version
        return self._meta("least_writer")

    def _meta(self, name: str) -> int:
        return int(dict(self._connection.execute(self._queries["meta"]).fetchall())[name])


def open_store(
    path: str,
    project: str,
    machine: LocalMachine,
    *,
    mount: MountKind | None = None,
    gate: Gate | None = None,
    wait: float | Patience = WAIT_SECONDS,
) -> "SqliteStore":
    """Open the file of a clone, created if it is missing, for one project.

    `mount` is the kind of file system that holds it; None finds out. `wait` is the time to wait for other
    writers, in seconds: each time, or in all if it is a patience. Raises a StorageError if the file cannot be
    written: then nothing is granted.
    """
    folder = os.path.dirname(path)
    if mount is None:
        mount = find_mount(folder, sys.platform)
    if mount is MountKind.REMOTE:
        raise StorageError(
            f"{TITLE} cannot be in {folder}: it is on a network or virtual file system",
            hint="Use a server engine: sessions on several machines or in containers cannot share this file.",
        )
    try:
        make_folder(folder)
    except StorageError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in _FORBIDDEN:
            raise cannot_write(path, error.message) from error
        raise
    turn = _Turn(gate or Gate(layout.database_gate(path)), wait)
    with turn.taken() as patience, patience.spending():
        is_local = mount is MountKind.LOCAL
        database = _open_patiently(path, machine, shared_memory=is_local, wait=patience.left)
    return SqliteStore(database, project, machine, turn)


class _Turn:
    """How writers of a file wait for one another."""

    def __init__(self, gate: Gate, wait: float | Patience) -> None:
        self._gate = gate
        self._wait = wait

    @contextmanager
    def taken(self) -> Generator[Patience, None, None]:
        """Wait for one's turn; give what is left of the time for writers that know no turns."""
        patience = self._wait if isinstance(self._wait, Patience) else Patience(self._wait)
        with self._gate.passed(patience):
            yield patience


def _open_patiently(
    path: str, machine: LocalMachine, *, shared_memory: bool, wait: float
) -> CoordinationDatabase:
    """Open the file; without a gate, SQLite does not wait for others that create it at the same moment."""
    began = machine.boot_clock.read().seconds
    for _ in range(_MOST_OPENINGS):
        try:
            return open_database(CoordinationDatabase, path, shared_memory=shared_memory, wait=wait)
        except StorageError as error:
            is_busy = str(getattr(error.__cause__, "sqlite_errorname", "")).startswith(_BUSY)
            if not is_busy or machine.boot_clock.read().seconds - began >= wait:
                raise
        machine.pause(_OPENING_PAUSE)
    return open_database(CoordinationDatabase, path, shared_memory=shared_memory, wait=wait)


class _LocalStore:
    """What every store on this machine can do."""

    def __init__(self, project: str, machine: LocalMachine) -> None:
        self._project = project
        self._machine = machine

    def wall_time(self, reading: Reading) -> float:
        """Return the time by the wall clock of this machine, which makes the ids of operations."""
        del reading
        return self._machine.clock.now().timestamp()

    def is_running(self, process: str) -> bool | None:
        """Return whether a host's process runs on this machine; None if that cannot be known here."""
        return self._machine.is_running(process)

    def pause(self, seconds: float) -> None:
        """Wait before looking again."""
        self._machine.pause(seconds)

    def _tell_time(self, statements: Statements) -> tuple[ClockRow, int]:
        """Return the time, and the position of the last change, which is in the same row."""
        rows = statements.ask("clock", self._project)
        stored, position = (ClockRow(*rows[0][:-1]), rows[0][-1]) if rows else (ClockRow(), 0)
        wall = self._machine.clock.now().timestamp()
        return tell_time(stored, self._machine.boot_clock.read(), wall), position

    def _read(self, statements: Statements) -> RowReading:
        now, _ = self._tell_time(statements)
        return RowReading(statements, self._project, now.time)


class SqliteStore(_LocalStore):
    """The rows of one project: a `Store`."""

    def __init__(
        self, database: CoordinationDatabase, project: str, machine: LocalMachine, turn: _Turn
    ) -> None:
        """Use an open database."""
        super().__init__(project, machine)
        self._database = database
        self._turn = turn

    @contextmanager
    def changing(self) -> Generator[Transaction, None, None]:
        """Take the project's lock, then give a transaction; keep its changes unless it raises."""
        self._database.refuse_to_nest()
        with self._turn.taken() as self._database.patience, self._database.changing():
            time, fence = self._store_time(positions=1)
            yield RowTransaction(self._database, self._project, time, fence)

    @contextmanager
    def looking(self) -> Generator[Reading, None, None]:
        """Give one consistent state; nobody waits for it."""
        self._database.refuse_to_nest()
        with self._database.looking():
            yield self._read(self._database)

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        """Set the last sign of life of these sessions, if they have not ended, to now; no position."""
        self._database.refuse_to_nest()
        with self._turn.taken() as self._database.patience, self._database.changing_soon():
            time, fence = self._store_time(positions=0)
            beats = [
                self._database.change("beat", time.seconds, time.boot, self._project, session)
                for session in sessions
            ]
            if any(beats):
                note_sign(RowTransaction(self._database, self._project, time, fence), lifetimes)

    def close(self) -> None:
        """Close the file; the last one to do so may move what was written into the database."""
        with suppress(StorageError), self._turn.taken():  # whoever is busy has it open, too
            return self._database.close()
        return self._database.close()

    def _store_time(self, positions: int) -> tuple[EngineTime, int]:
        """Read the clock while nobody else can write, so that instants are stored in their order.

        The next positions are taken with it; return the last of them.
        """
        now, position = self._tell_time(self._database)
        fence = position + positions
        if not self._database.change("set_clock", *now, fence, self._project) and positions:
            self._database.change("add_project", self._project)
            self._database.change("set_clock", *now, fence, self._project)
        return now.time, fence


def open_reader(
    path: str, project: str, machine: LocalMachine, refusal: UnwritableError | None = None
) -> "ReadOnlyStore":
    """Look at a file that may not be written; a missing one holds an empty project, and is not created.

    `refusal` is raised when somebody wants to change something.
    """
    refusal = refusal or cannot_write(path, "it was opened for reading")
    return ReadOnlyStore(path, project, machine, refusal)


class ReadOnlyStore(_LocalStore):
    """The rows of one project, where nobody may write: a `Store` that grants nothing."""

    def __init__(self, path: str, project: str, machine: LocalMachine, refusal: UnwritableError) -> None:
        """Name the file, and say why nothing is changed in it."""
        super().__init__(project, machine)
        self._path = path
        self._refusal = refusal

    @contextmanager
    def looking(self) -> Generator[Reading, None, None]:
        """Give one consistent state.

        The file is opened anew each time: others may write to it in between, and one that is opened without
        its log is not looked at again.
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
        """Refuse: whoever cannot write is granted nothing."""
        self._refuse()

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        """Refuse, as for any change."""
        del sessions, lifetimes
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise self._refusal


class _ReadDatabase(CoordinationDatabase):
    """The file, opened for reading; no writer may have brought it to this version yet."""

    def ask(self, query: str, *values: object) -> list[Any]:
        """Return the rows that a statement gives; a table that the file lacks has none."""
        if query == "heard" and not self._has_silences:
            return []
        return super().ask(query, *values)

    @cached_property
    def _has_silences(self) -> bool:
        with self._reporting():
            return self._version() >= _SILENCES_SINCE

    @classmethod
    def make_error(cls, error: sqlite3.Error, path: str) -> StorageError:
        """Return an error that says what to do, if even reading needs a folder that can be written."""
        if _name_of(error).startswith(_UNWRITABLE):
            return StorageError(f"{TITLE} cannot be read: {path}: {error}", hint=_way_out(path))
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


def cannot_write(path: str, why: str) -> UnwritableError:
    """Return the error for a file that this process may not write, with the way out (C87, C158)."""
    return UnwritableError(f"{TITLE} cannot be written: {path}: {why}", hint=_way_out(path))


def _way_out(path: str) -> str:
    return (
        f"Let the sandbox of this session write to {os.path.dirname(path)}. Where the host can be told, "
        "`passdown doctor`, run outside of the sandbox, names the command that does it."
    )


def _name_of(error: sqlite3.Error) -> str:
    """Return SQLite's own name for an error; empty if the driver raised it by itself."""
    return getattr(error, "sqlite_errorname", None) or ""
