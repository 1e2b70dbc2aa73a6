"""The SQLite file of coordination: its statements, its identity, and its errors (C87, C94)."""

import os
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from passdown.engines.coordination import rows
from passdown.engines.patience import Patience
from passdown.engines.sqlite.database import KeptDatabase
from passdown.errors import AwayError, StorageError, UnsureError, UnwritableError

TITLE: Final = "the coordination database"
BUSY: Final = ("SQLITE_BUSY", "SQLITE_LOCKED")
UNWRITABLE: Final = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")

_UNSURE: Final = tuple(f"SQLITE_IOERR_{call}" for call in ("FSYNC", "DIR_FSYNC", "TRUNCATE", "DELETE"))
"""Errors at the end of a commit: the next process that opens the file may find the change."""
_WRITING: Final = "BEGIN IMMEDIATE"


class CoordinationDatabase(KeptDatabase):
    """The file; it runs the statements of coordination."""

    title = TITLE
    queries = rows.QUERIES
    migrations = rows.MIGRATIONS
    keeps_log = True
    patience: Patience | None = None
    """How long to wait for writers that do not use the gate; None for the connection's own limit."""

    @classmethod
    def make_error(cls, error: sqlite3.Error, path: str) -> StorageError:
        """Return an error that says what to do, especially if this process may not write here."""
        name = name_of(error)
        if name.startswith(UNWRITABLE):
            return cannot_write(path, str(error))
        if name.startswith(BUSY):
            return AwayError(
                f"{TITLE} is busy: another process is writing", hint="Nothing was changed; try again."
            )
        if name.startswith(_UNSURE):
            message = f"{TITLE} may or may not hold the change: {error}"
            return UnsureError(message, hint="Repeat the same command: the change is made only once.")
        if isinstance(error, sqlite3.IntegrityError):
            return StorageError(f"{TITLE} refused a change: {error}", hint=f"Nothing was changed in {path}.")
        return super().make_error(error, path)

    # Without `_reporting`, which costs a third of a statement.

    def ask(self, query: str, *values: object) -> list[Any]:
        try:
            return self._connection.execute(self._queries[query], values).fetchall()
        except sqlite3.Error as error:
            raise self._report(error) from error

    def change(self, query: str, *values: object) -> int:
        try:
            return self._connection.execute(self._queries[query], values).rowcount
        except sqlite3.Error as error:
            raise self._report(error) from error

    def change_all(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        with self._reporting():
            self._connection.executemany(self._queries[query], rows)

    def looking(self) -> AbstractContextManager[None]:
        """Read one consistent state, whatever other processes write in the meantime."""
        return self._transaction("BEGIN")

    @contextmanager
    def changing_soon(self) -> Generator[None, None, None]:
        """Make a change that a power cut right after it may lose, without ever damaging the file."""
        with self._reporting():
            self._connection.execute("PRAGMA synchronous = NORMAL")
            try:
                with self.changing():
                    yield
            finally:
                self._connection.execute(f"PRAGMA synchronous = {self.synchronous}")

    def _begin(self, begin: str) -> None:
        """Open a transaction; wait for other writers at most as long as the patience lasts."""
        if self.patience is None or begin != _WRITING:
            return super()._begin(begin)
        refusal = sqlite3.Error("another process is writing")
        for seconds in self.patience.waits(f"another process to release {self._path}"):
            self._connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
            try:
                return super()._begin(begin)
            except sqlite3.OperationalError as error:
                refusal = error
                if not name_of(error).startswith(BUSY):
                    break
        raise refusal

    def refuse_to_nest(self) -> None:
        """Raise an error if a transaction is open."""
        try:
            is_under_way = self._connection.in_transaction
        except sqlite3.Error as error:  # it was closed
            raise self._report(error) from error
        if is_under_way:
            message = "transactions do not nest"
            raise RuntimeError(message)

    def is_empty(self) -> bool:
        """Return whether there are no tables; raise a StorageError if the database is too new."""
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

    # --- its identity, and whether it is intact (C146) ------------------------------------------------

    def identity(self) -> int:
        """Return the number that identifies this database; 0 before it has one."""
        return int(dict(self.ask("meta")).get("identity", 0))

    def set_identity(self, identity: int) -> None:
        """Store the number that identifies the database."""
        with self.changing():
            self.change("put_identity", identity)

    def positions(self) -> Mapping[str, int]:
        """Return the position of each project."""
        return {str(project): int(position) for project, position in self.ask("positions")}

    def find_damage(self) -> str:
        """Return what SQLite finds wrong in a full check; empty if the database is intact."""
        with self._reporting():
            found = str(self._connection.execute("PRAGMA integrity_check(1)").fetchone()[0])
        return "" if found == "ok" else found

    def read_table(self, table: str) -> list[Any]:
        """Return all rows of one of our tables."""
        with self._reporting():
            return self._connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 - one of ours

    def copy_to(self, path: str) -> None:
        """Copy the database into a file that survives a power cut; an existing file is overwritten."""
        with self._reporting():
            self._copy(path)


def cannot_write(path: str, why: str) -> UnwritableError:
    """Return the error for a file that this process may not write, with a hint (C87, C158)."""
    return UnwritableError(f"{TITLE} cannot be written: {path}: {why}", hint=way_out(path))


def way_out(path: str) -> str:
    """Return a hint about what to do if this process may not write a file."""
    return (
        f"Let the sandbox of this session write to {os.path.dirname(path)}. "
        "`passdown doctor`, run outside of the sandbox, prints the command for it if the host has one."
    )


def name_of(error: sqlite3.Error) -> str:
    """Return SQLite's own name for an error; empty if the error comes from the driver."""
    return getattr(error, "sqlite_errorname", None) or ""
