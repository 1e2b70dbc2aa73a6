"""Connections to PostgreSQL that PgBouncer may share out: all that matters lasts one transaction (C95).

A connection has no state of its own: no prepared statements unless they are asked for, and the project, the
schema and the limits of time are set in each transaction, for that transaction.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final, LiteralString, NamedTuple

import psycopg
from psycopg import conninfo, errors, sql
from psycopg.pq import TransactionStatus

from passdown.errors import AwayError, StorageError, UsageError

SCHEMA: Final = "passdown"
SET_PROJECT: Final = "passdown.project"
MIGRATE: Final = "Run `passdown team migrate` with the role that owns the tables."

_PREPARE_AFTER: Final = 5
_CONNECT_SECONDS: Final = 5
_MOST_OPENINGS: Final = 1_000
"""How many rendered openings are kept; each project has a few."""
_UNCHANGED: Final = "Nothing was changed. Try again later."
_UNKNOWN: Final = "Nobody knows whether it was done. Repeat it with the same operation id: that is safe."
_SECRET_OPTIONS: Final = ("password", "sslpassword")


class Connection(psycopg.Connection[Any]):
    """A connection that is closed once nobody holds it: a workspace is let go, never closed."""

    def __del__(self, *_: object) -> None:
        """Close it, without the driver's warning."""
        if hasattr(self, "pgconn"):  # it may not have come so far
            self.close()


class Limits(NamedTuple):
    """How long to wait, in seconds."""

    statement: float = 10.0
    """For one statement, also for the lock that it needs."""
    idle: float = 30.0
    """How long the server waits for the next statement of a transaction: nobody keeps a project locked."""


class Opening(NamedTuple):
    """What opens a transaction; all of it is sent at once."""

    begin: LiteralString
    settings: tuple[tuple[str, str], ...] = ()
    then: LiteralString = ""
    """A further statement, in which `{project}` stands for the project."""

    def render(self, project: str, limits: Limits) -> sql.Composed:
        """Return the statements for one project."""
        values = {
            SET_PROJECT: project,
            "search_path": f"{SCHEMA}, pg_temp",  # temporary tables come last, so that they hide none
            "statement_timeout": _milliseconds(limits.statement),
            "idle_in_transaction_session_timeout": _milliseconds(limits.idle),
            **dict(self.settings),
        }
        calls = [sql.SQL("set_config({}, {}, true)").format(*pair) for pair in values.items()]
        parts = [sql.SQL(self.begin), sql.SQL("SELECT {}").format(sql.SQL(", ").join(calls))]
        if self.then:
            parts.append(sql.SQL(self.then).format(project=project))
        return sql.SQL("; ").join(parts)


class OpenTransaction:
    """A transaction on a connection."""

    def __init__(
        self,
        connection: Connection,
        opened: "psycopg.Cursor[Any]",
        reporting: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Use a connection whose transaction was opened; `reporting` turns errors of the driver into ours."""
        self._connection = connection
        self._reporting = reporting
        while opened.nextset():
            continue
        self.first_row: Sequence[Any] = opened.fetchone() or ()
        """The row of the last statement that opened it; empty if there is none."""

    def ask(self, statement: bytes, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a statement."""
        return self._execute(statement, values).fetchall()

    def change(self, statement: bytes, values: Sequence[object] = ()) -> int:
        """Return how many rows a statement changed."""
        return self._execute(statement, values).rowcount

    def run_script(self, script: str) -> None:
        """Run the statements of a script."""
        with self._reporting():
            self._connection.execute(script.encode())

    def change_all(self, statement: bytes, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each of some rows of values, without waiting for each answer."""
        with self._reporting(), self._connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def _execute(self, statement: bytes, values: Sequence[object]) -> "psycopg.Cursor[Any]":
        try:
            return self._connection.execute(statement, values)
        except (psycopg.Error, UnicodeEncodeError):
            with self._reporting():  # only now: it would take a tenth of the time of a statement
                raise


class Connections:
    """The connections to one database: opened when they are needed, and kept for the next transaction."""

    def __init__(self, url: str, *, limits: Limits | None = None, prepared: bool = False) -> None:
        """Take a `postgresql:` URL; nothing is opened yet."""
        self._idle: deque[Connection] = deque()
        self._openings: dict[tuple[str, Opening], bytes] = {}
        self._options = _read_options(url)
        self._limits = limits or Limits()
        self._prepared = prepared

    @property
    def place(self) -> str:
        """Where the database is, without user and password."""
        host = self._options.get("host") or self._options.get("service") or "default host"
        return ":".join(str(part) for part in (host, self._options.get("port")) if part)

    @contextmanager
    def open(self, project: str, opening: Opening) -> Generator[OpenTransaction, None, None]:
        """Run one transaction; keep its changes unless it raises.

        Every error of the driver becomes a StorageError.
        """
        with self._reporting():
            connection = self._take()
            try:
                opened = connection.execute(self._render(project, opening, connection))
                yield OpenTransaction(connection, opened, self._reporting)
                self._commit(connection)
            finally:
                self._give_back(connection)

    def close(self) -> None:
        """Close what is kept."""
        with suppress(IndexError):  # none is left
            while True:
                self._idle.pop().close()

    def _render(self, project: str, opening: Opening, connection: Connection) -> bytes:
        """Render what opens a transaction, once: that takes as long as several of its statements."""
        known = self._openings.get((project, opening))
        if known is None:
            if len(self._openings) >= _MOST_OPENINGS:
                self._openings.clear()
            known = opening.render(project, self._limits).as_bytes(connection)
            self._openings[project, opening] = known
        return known

    def _take(self) -> Connection:
        with suppress(IndexError):  # none is kept
            return self._idle.pop()
        return Connection.connect(
            **self._options,
            autocommit=True,  # transactions are opened by hand, together with their settings
            prepare_threshold=_PREPARE_AFTER if self._prepared else None,
        )

    def _give_back(self, connection: Connection) -> None:
        """Keep a connection for the next transaction, after undoing what was not kept."""
        if connection.info.transaction_status != TransactionStatus.IDLE:
            with suppress(psycopg.Error):  # closing the connection undoes it, too
                connection.execute(b"ROLLBACK")
        if connection.info.transaction_status == TransactionStatus.IDLE:
            self._idle.append(connection)
            return
        connection.close()
        self.close()  # whatever ended this connection has probably ended the others

    def _commit(self, connection: Connection) -> None:
        try:
            said = connection.execute(b"COMMIT").statusmessage
        except psycopg.Error as error:
            if connection.info.transaction_status == TransactionStatus.UNKNOWN:
                raise self._make_error(error, _UNKNOWN) from error
            raise
        if said != "COMMIT":  # an error in the transaction was not passed on
            raise StorageError(f"PostgreSQL ({self.place}) refused the change.", hint=_UNCHANGED)

    @contextmanager
    def _reporting(self) -> Generator[None, None, None]:
        try:
            yield
        except UnicodeEncodeError as error:  # half a character, which no database takes
            raise self._make_error(errors.DataError(error.reason), _UNCHANGED) from error
        except (errors.UndefinedTable, errors.InsufficientPrivilege) as error:
            raise self._make_error(error, MIGRATE) from error
        except psycopg.Error as error:
            raise self._make_error(error, _UNCHANGED) from error

    def _make_error(self, error: psycopg.Error, hint: str) -> StorageError:
        """Make an error that tells neither passwords nor the values of rows."""
        text = error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__
        for name in _SECRET_OPTIONS:
            if secret := self._options.get(name):
                text = text.replace(str(secret), "…")
        kind = AwayError if isinstance(error, psycopg.OperationalError) else StorageError
        return kind(f"PostgreSQL ({self.place}): {text}", hint=hint)


def _read_options(url: str) -> dict[str, Any]:
    """Read a URL; what it does not say is set: short waits, and a server that can be written to."""
    try:
        given = conninfo.conninfo_to_dict(url)
    except psycopg.Error:  # its text may quote a password
        raise UsageError(
            "The URL of the coordination engine cannot be read.",
            hint="It looks like postgresql://user@host:5432/database; special characters are %-encoded.",
        ) from None
    return {
        "connect_timeout": _CONNECT_SECONDS,
        "tcp_user_timeout": _milliseconds(Limits().idle),
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "target_session_attrs": "read-write",
        "client_encoding": "utf8",
        "application_name": SCHEMA,
        **given,
    }


def _milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))
