"""The base of all SQLite files: open and prepare, query and change, report errors.

There are two kinds. A `RebuildableDatabase` is a cache: it is rebuilt if its version differs or it is
damaged. A `KeptDatabase` holds what is stored nowhere else: an older one is migrated, and none is ever
discarded.
"""

import os
import re
import sqlite3
import sys
from _thread import get_ident  # `threading` is large, and most verbs do not need it
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeVar

from passdown import layout
from passdown.core.lazy_regex import pattern
from passdown.engines.files.read import names, open_folder, read_trusted
from passdown.engines.files.write import make_private, reporting, sync_folder
from passdown.engines.sqlite.mounts import MountKind, find_mount
from passdown.errors import CacheError, OtherThreadError, StorageError

D = TypeVar("D", bound="Database")

WAIT_SECONDS: Final = 10.0
"""How long to wait for other writers by default, in seconds."""

_NAME: Final = pattern(r"^-- name: (\w+)\n", re.MULTILINE)
PARTS: Final = ("", "-wal", "-shm", "-journal")
"""The suffixes of the files that make up one database."""
_LOG_BYTES: Final = 4_194_304
"""The size to which the write-ahead log shrinks after its content has reached the database."""

_KEPT_LOG_BYTES: Final = 819_200
"""How long the write-ahead log may get in a database that keeps it."""
_NO_CHECKPOINT_ON_CLOSE: Final = 1006
"""SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE."""


class _Connection(sqlite3.Connection):
    """A connection that closes its file when it is garbage-collected."""

    def __del__(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # the file could not be opened, so there is nothing to close
            self.close()


def open_database(
    kind: type[D], path: str, *, shared_memory: bool | None = None, wait: float | None = None
) -> D:
    """Open a database, created if it is missing, and prepare it for use.

    `shared_memory` allows SQLite's write-ahead log, which does not work on network file systems; None allows
    it if the file is known to be on a local disk. `wait` is the time to wait for other writers in seconds, or
    None for the default. Raises the error of its kind if the file cannot be used.
    """
    if shared_memory is None:
        shared_memory = find_mount(os.path.dirname(path), sys.platform) is MountKind.LOCAL
    try:
        try:
            return _open(kind, path, shared_memory=shared_memory, wait=wait)
        except sqlite3.Error as error:
            if not (is_damage(error) and kind.may_be_discarded):
                raise
        discard_database(path)
        return _open(kind, path, shared_memory=shared_memory, wait=wait)
    except sqlite3.Error as error:
        raise kind.make_error(error, path) from error


def _open(kind: type[D], path: str, *, shared_memory: bool, wait: float | None) -> D:
    seconds = WAIT_SECONDS if wait is None else wait
    make_private(path)  # SQLite gives the other parts the mode of this file
    connection = sqlite3.connect(path, timeout=seconds, isolation_level=None, factory=_Connection)
    with ExitStack() as unless_opened:
        unless_opened.callback(connection.close)
        if kind.gives_room_back and not connection.execute("PRAGMA page_count").fetchone()[0]:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # an existing file would need a lock
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
        connection.execute(f"PRAGMA journal_mode = {'WAL' if shared_memory else 'TRUNCATE'}")
        connection.execute(f"PRAGMA synchronous = {kind.synchronous}")
        if kind.synchronous == "FULL":
            # On macOS, a plain sync leaves data in the drive's own cache; other systems ignore this.
            connection.execute("PRAGMA fullfsync = ON")
        if kind.keeps_log:
            _keep_log(connection)
        database = kind(connection, path)
        database.prepare()
        unless_opened.pop_all()
    return database


def _keep_log(connection: sqlite3.Connection) -> None:
    """Keep the write-ahead log when the file is closed.

    Otherwise a process that opens the file for one change would sync five times: for a new log, the change,
    the log, the database, and the folder. The log is kept short, because the next process to open the file
    reads all of it.
    """
    connection.execute("PRAGMA wal_autocheckpoint = 0")  # `shorten_log` does it
    configure = getattr(connection, "setconfig", None)
    if configure is not None:  # from Python 3.12 on
        configure(_NO_CHECKPOINT_ON_CLOSE, True)  # noqa: FBT003 - the signature of `sqlite3`


def open_read_only(path: str, *, immutable: bool = False) -> sqlite3.Connection:
    """Open a database read-only; raise the driver's error if it cannot be read.

    An immutable one is not locked, because no process writes to it: SQLite does not look for a write-ahead
    log, and does not need to create a file.
    """
    for character in "%?#":  # `urllib` is slow to import
        path = path.replace(character, f"%{ord(character):02x}")
    slashes = path.replace("\\", "/")
    address = f"file:{slashes if slashes.startswith('/') else f'/{slashes}'}?mode=ro"
    if immutable:
        address += "&immutable=1"
    return sqlite3.connect(address, uri=True, isolation_level=None, factory=_Connection)


def discard_database(path: str) -> None:
    """Remove a database; parts that are missing or cannot be removed are ignored, opening it reports them."""
    for end in PARTS:
        with suppress(OSError):
            os.unlink(path + end)


def move_database(path: str, to: str) -> None:
    """Rename a database; raise a StorageError if it cannot be moved."""
    with reporting(path):
        for end in reversed(PARTS):  # so that its log is never next to another file
            with suppress(FileNotFoundError):
                os.rename(path + end, to + end)


def put_in_place(made: str, path: str) -> None:
    """Rename a closed database to a free name, durably."""
    folder = os.path.dirname(path)
    with reporting(path), open_folder(folder, folder) as opened:
        os.replace(made, path)
        sync_folder(opened)
    discard_database(made)  # files that SQLite left next to it


def copy_database(path: str, to: str) -> None:
    """Copy a database that no process writes to; raise a StorageError if it cannot be read."""
    make_private(to)
    try:
        with closing(open_read_only(path, immutable=True)) as source, closing(sqlite3.connect(to)) as target:
            source.backup(target)
    except sqlite3.Error as error:
        raise StorageError(f"could not copy {path}: {error}", hint="Nothing was changed.") from error


def is_damage(error: BaseException | None) -> bool:
    """Return whether an error means a damaged file, not a locked or read-only one, a full disk or no FTS5.

    A file or log that is shorter than it should be was cut by another program. An error that the driver
    raises before it reads the file says nothing about damage.
    """
    if getattr(error, "sqlite_errorname", "") == "SQLITE_IOERR_SHORT_READ":
        return True
    others = (sqlite3.OperationalError, sqlite3.ProgrammingError)
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, others)


class Database(ABC):
    """A connection to one file, with its named queries."""

    title: ClassVar[str]
    """The name of the file in messages."""
    queries: ClassVar[Path]
    """The file with its queries."""
    synchronous: ClassVar[str]
    may_be_discarded: ClassVar[bool]
    gives_room_back: ClassVar[bool] = False
    """Whether a new file is created in such a way that it can shrink."""
    keeps_log: ClassVar[bool] = False
    """Whether the write-ahead log is kept when the file is closed, if Python supports that."""

    def __init__(self, connection: sqlite3.Connection, path: str = "") -> None:
        """Use a connection that does not start transactions on its own."""
        self._connection = connection
        self._path = path
        self._thread = get_ident()
        self._queries = read_queries(self.queries)

    @classmethod
    @abstractmethod
    def make_error(cls, error: sqlite3.Error, path: str) -> StorageError:
        """Return the error to raise for an error of the driver."""

    @abstractmethod
    def prepare(self) -> None:
        """Create or update the tables for this version."""

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def changing(self) -> AbstractContextManager[None]:
        """Keep other writers out; commit all changes made inside, or none."""
        return self._transaction("BEGIN IMMEDIATE")

    @contextmanager
    def _looking(self) -> Generator[None, None, None]:
        """Read one consistent state of the database, whatever other processes write in the meantime."""
        if self._connection.in_transaction:
            yield
            return
        with self._transaction("BEGIN"):
            yield

    @contextmanager
    def _transaction(self, begin: str, *, is_opening: bool = False) -> Generator[None, None, None]:
        """Run a transaction and turn errors of the driver into ours, in one generator instead of three.

        Code that opens the file needs the driver's errors.
        """
        try:
            self._begin(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            finally:
                self._roll_back()
        except sqlite3.Error as error:
            if is_opening:
                raise
            raise self._report(error) from error

    def shorten_log(self) -> bool:
        """Move a long write-ahead log into the file; return whether anything was moved."""
        try:
            if os.stat(f"{self._path}-wal").st_size < _KEPT_LOG_BYTES:
                return False
        except OSError:
            return False
        self.empty_log()
        return True

    def empty_log(self) -> None:
        """Move the write-ahead log into the file."""
        with self._reporting():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _begin(self, begin: str) -> None:
        """Open a transaction; wait for other writers as long as the connection's limit allows."""
        self._connection.execute(begin)

    def _roll_back(self) -> None:
        # After a commit there is nothing to roll back, and after some errors SQLite has already done it.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    @contextmanager
    def _reporting(self) -> Generator[None, None, None]:
        """Turn errors of the driver into ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._report(error) from error

    def _report(self, error: sqlite3.Error) -> StorageError:
        """Return our error for one of the driver; record damage."""
        if get_ident() != self._thread:  # the driver refuses every call there
            message = f"{self.title} was opened in another thread"
            return OtherThreadError(message, hint="Open the project once in each thread.")
        if is_damage(error):
            self._note_damage()
        return self.make_error(error, self._path)

    def _note_damage(self) -> None:  # noqa: B027 - optional for subclasses
        """React to damage that is found while the file is in use."""

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    def _set_version(self, version: int) -> None:
        self._connection.execute(f"PRAGMA user_version = {version}")

    def _run_script(self, path: Path) -> None:
        """Run the statements of a file inside the transaction; `executescript` would end it."""
        for statement in split_statements(_read(path)):
            self._connection.execute(statement)

    # --- queries by name ----------------------------------------------------------------------

    def _run(self, query: str, *values: object) -> None:
        self._connection.execute(self._queries[query], values)

    def _all(self, query: str, *values: object) -> list[Any]:
        with self._reporting():
            return self._connection.execute(self._queries[query], values).fetchall()

    def _one(self, query: str, *values: object) -> Any:  # noqa: ANN401 - rows are typed by their query
        with self._reporting():
            return self._first(query, *values)

    def _first(self, query: str, *values: object) -> Any:  # noqa: ANN401 - as above
        """Return the first row; for callers that already report errors."""
        return self._connection.execute(self._queries[query], values).fetchone()


class RebuildableDatabase(Database):
    """A cache: emptied if its version differs, discarded if it is damaged, and then filled again.

    Any other failure raises a CacheError; callers can always work without the cache.
    """

    version: ClassVar[int]
    schema: ClassVar[Path]
    origin: ClassVar[str]
    """What it is rebuilt from, as messages name it."""
    synchronous = "NORMAL"
    may_be_discarded = True

    @classmethod
    def make_error(cls, error: sqlite3.Error, path: str) -> StorageError:
        """Return an error saying that the cache cannot be used, and may be deleted."""
        del path
        hint = f"You can delete it at any time: Passdown rebuilds it from {cls.origin}."
        return CacheError(f"{cls.title} cannot be used: {error}", hint=hint)

    def prepare(self) -> None:
        """Create the tables, unless they exist and are usable."""
        if self._is_usable():
            return
        with self._transaction("BEGIN IMMEDIATE", is_opening=True):
            if not self._is_usable():  # another process may have been faster
                self._drop_tables()
                self._make_tables()
                self._set_version(self.version)

    def _is_usable(self) -> bool:
        return self._version() == self.version

    def _make_tables(self) -> None:
        self._run_script(self.schema)

    def _drop_tables(self) -> None:
        for kind in ("CREATE VIRTUAL TABLE%", "%"):  # dropping a virtual table drops the tables below it
            wanted = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE ?"
            for (name,) in self._connection.execute(wanted, (kind,)).fetchall():
                self._connection.execute(f'DROP TABLE "{name}"')

    def _note_damage(self) -> None:
        """Mark the file to be rebuilt on the next open; if that fails too, it is discarded then."""
        with suppress(sqlite3.Error):
            self._roll_back()
            self._set_version(0)


class KeptDatabase(Database):
    """A database with data that is stored nowhere else: it is never emptied or discarded.

    1. An older database gets the missing migrations, all of them or none, after a copy was made next to it.
    2. A newer database is refused and left as it is, unless it allows this version to write.
    3. A damaged database is reported and left as it is.
    """

    migrations: ClassVar[Path]
    """The folder of its migrations: SQL scripts that run once each, in the order of their names."""
    synchronous = "FULL"
    may_be_discarded = False

    @classmethod
    def make_error(cls, error: sqlite3.Error, path: str) -> StorageError:
        """Return an error that says what is wrong and that nothing was discarded."""
        if is_damage(error):  # 3
            hint = f"It was not changed. Restore a backup, or move {path} away to start over."
            return StorageError(f"{cls.title} is damaged: {error}", hint=hint)
        return StorageError(f"{cls.title} cannot be used: {error}", hint=f"Nothing was changed in {path}.")

    def prepare(self) -> None:
        """Run the missing migrations."""
        scripts = self.scripts()
        if self._known_version(len(scripts)) == len(scripts):
            return
        with self._transaction("BEGIN IMMEDIATE", is_opening=True):
            version = self._known_version(len(scripts))  # another process may have been faster
            if 0 < version < len(scripts):
                self._copy(layout.database_copy(self._path, version))
            for script in scripts[version:]:  # 1
                self._run_script(script)
            if version < len(scripts):
                self._set_version(len(scripts))

    @classmethod
    def scripts(cls) -> list[Path]:
        """Return the migrations that this version knows; their count is its version of the database."""
        found = names(cls.migrations, cls.migrations)
        return sorted(cls.migrations / name for name in found if name.endswith(".sql"))

    def _known_version(self, known: int) -> int:
        """Return the version of the database, at most ours; raise a StorageError if it is too new."""
        version = self._version()
        if version > known and self._least_writer(version) > known:  # 2
            raise self.too_new(version, known)
        return min(version, known)

    def _least_writer(self, version: int) -> int:
        """Return the lowest version that may write to a newer database; by default only its own."""
        return version

    @classmethod
    def too_new(cls, version: int, known: int) -> StorageError:
        """Return the error for a database that only a newer version of Passdown may use."""
        found = f"it has version {version}, but this version of Passdown knows only {known}"
        return StorageError(f"{cls.title} is too new: {found}", hint="Update Passdown.")

    def _copy(self, path: str) -> None:
        """Copy the database as it was before the transaction, durably."""
        make_private(path)
        source = open_read_only(self._path)
        target = sqlite3.connect(path, factory=_Connection)
        try:
            source.backup(target)
        finally:
            source.close()
            target.close()


@cache
def read_queries(path: Path) -> Mapping[str, str]:
    """Read the queries in a file, each under a line `-- name: …`."""
    _, *parts = _NAME.split(_read(path))
    return MappingProxyType(
        {name: text.strip().removesuffix(";") for name, text in zip(parts[::2], parts[1::2], strict=True)}
    )


def _read(path: Path) -> str:
    """Read a file of this package."""
    return read_trusted(path).decode("utf-8")


def split_statements(script: str) -> Iterator[str]:
    """Split a script into statements; a trigger is one statement."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
