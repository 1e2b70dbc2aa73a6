"""Connections to PostgreSQL, which PgBouncer may share: no state outlives a transaction (C95).

Prepared statements are used only if asked for. The project, the schema and the time limits are set in each
transaction, for that transaction.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, LiteralString, NamedTuple, TypeVar
from weakref import finalize

import psycopg
from psycopg import conninfo, errors, sql
from psycopg.pq import TransactionStatus

from passdown.engines.patience import Patience
from passdown.engines.postgres.pools import MARGIN, POOLS, Connection, DeadlineError, Pool, Pools
from passdown.engines.postgres.reachability import pair_ports
from passdown.engines.postgres.statements import split_script
from passdown.engines.system import SystemClock
from passdown.errors import AwayError, BrokenError, StorageError, UnansweredError, UsageError

T = TypeVar("T")

SCHEMA: Final = "passdown"
SET_PROJECT: Final = "passdown.project"
MIGRATE: Final = "Run `passdown team migrate` with the role that owns the tables."

_PREPARE_AFTER: Final = 5
_CONNECT_SECONDS: Final = 5
_MEASUREMENTS: Final = 5
_MOST_OPENINGS: Final = 1_000
"""How many rendered openings are cached; each project has a few."""
_UNCHANGED: Final = "Nothing was changed. Try again later."
UNKNOWN: Final = "The change may or may not have been made. Repeat the same command: it is made only once."
_BETWEEN_SERVERS: Final = ("08", "XX")
"""The errors with which a server says that it lost another one, which had the rows and may have committed."""
_SECRET_OPTIONS: Final = ("password", "sslpassword")


class Limits(NamedTuple):
    """How long to wait, in seconds."""

    statement: float = 10.0
    """For one statement, including the lock that it needs."""
    idle: float = 30.0
    """How long the server waits for a transaction's next statement, so that no client blocks a project."""


class Opening(NamedTuple):
    """The statements that open a transaction; they are sent together."""

    begin: LiteralString
    settings: tuple[tuple[str, str], ...] = ()
    then: LiteralString = ""
    """Further statements, in which `{project}` stands for the project."""
    is_distributed: bool = False
    """Whether Citus has the rows on other servers, to which it passes only a `SET LOCAL` by itself."""

    def render(self, project: str, limits: Limits) -> tuple[sql.Composed, ...]:
        """Return the statements for one project, as the messages in which they are sent."""
        begin, then = self._begin(project, limits), sql.SQL(self.then).format(project=project)
        if self.is_distributed:
            name = sql.SQL("SET LOCAL {} = {}").format(sql.SQL(SET_PROJECT), project)
            return (begin, name, then) if self.then else (begin, name)
        return (sql.SQL("; ").join([begin, then]) if self.then else begin,)

    def _begin(self, project: str, limits: Limits) -> sql.Composed:
        values = {
            **({"citus.propagate_set_commands": "local"} if self.is_distributed else {SET_PROJECT: project}),
            "search_path": f"{SCHEMA}, pg_temp",  # last, so that temporary tables shadow none of ours
            "statement_timeout": _milliseconds(limits.statement),
            "idle_in_transaction_session_timeout": _milliseconds(limits.idle),
            **dict(self.settings),
        }
        calls = [sql.SQL("set_config({}, {}, true)").format(*pair) for pair in values.items()]
        return sql.SQL("{}; SELECT {}").format(sql.SQL(self.begin), sql.SQL(", ").join(calls))


class OpenTransaction:
    """A transaction on a connection."""

    def __init__(
        self,
        connection: Connection,
        opened: "psycopg.Cursor[Any]",
        reporting: Callable[[], AbstractContextManager[None]],
    ) -> None:
        """Use a connection with an open transaction; `reporting` turns the driver's errors into ours."""
        self._connection = connection
        self._reporting = reporting
        self.first_rows: Sequence[Sequence[Any]] = _read_rows(opened)
        """The first row that each opening statement returned; empty if there is none."""

    def ask(self, statement: bytes, values: Sequence[object] = ()) -> list[Any]:
        return self._execute(statement, values).fetchall()

    def ask_all(self, asked: Sequence[tuple[bytes, Sequence[object]]]) -> list[list[Any]]:
        """Return the rows of several statements, which are sent together, with their values in the text."""
        text = b"; ".join(statement for statement, _ in asked)
        with self._reporting(), psycopg.ClientCursor(self._connection) as cursor:
            cursor.execute(text, [value for _, values in asked for value in values])
            found = [cursor.fetchall()]
            while cursor.nextset():
                found.append(cursor.fetchall())
            return found

    def change(self, statement: bytes, values: Sequence[object] = ()) -> int:
        return self._execute(statement, values).rowcount

    def run_script(self, script: str) -> None:
        """Run the statements of a script, one after the other."""
        with self._reporting():
            for statement in split_script(script):
                self._connection.execute(statement)

    def change_all(self, statement: bytes, rows: Sequence[Sequence[object]]) -> None:
        with self._reporting(), self._connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def _execute(self, statement: bytes, values: Sequence[object]) -> "psycopg.Cursor[Any]":
        try:
            return self._connection.execute(statement, values)
        except (psycopg.Error, UnicodeEncodeError):
            with self._reporting():  # only on errors: entering it costs a tenth of a statement
                raise


class Connections:
    """One store's access to the connections that this process has to its server."""

    def __init__(
        self,
        url: str,
        *,
        limits: Limits | None = None,
        prepared: bool = False,
        patience: Patience | None = None,
        pools: Pools = POOLS,
    ) -> None:
        """Store a `postgresql:` URL; no connection is opened yet.

        `patience` is one limit for all transactions together; without it, each statement has its own limit.
        """
        self._pools = pools
        self._pool: Pool | None = None
        self._part: Callable[[], object] = lambda: None
        self._openings: dict[tuple[str, Opening], tuple[bytes, ...]] = {}
        self._options = _read_options(url)
        self._limits = limits or Limits()
        self._prepared = prepared
        self._patience = patience

    @property
    def place(self) -> str:
        """The hosts of the database with their ports, without user and password."""
        host = self._options.get("host") or self._options.get("service") or "default host"
        pairs = pair_ports(str(host).split(","), str(self._options.get("port") or "").split(","))
        return ", ".join(f"{host}:{port}" if port else host for host, port in pairs)

    @contextmanager
    def open(self, project: str, opening: Opening) -> Generator[OpenTransaction, None, None]:
        """Run one transaction; keep its changes unless it raises.

        Every error of the driver becomes a StorageError.
        """
        with self._reporting(), self._taking() as connection:
            opened = self._begin(connection, self._render(project, opening, connection))
            yield OpenTransaction(connection, opened, self._reporting)
            self._commit(connection)

    def measure(self) -> float:
        """Return how many seconds the server takes to answer a statement that does nothing.

        This is the least of a few times: on a busy machine some answers are late, but hardly all.
        """
        clock = SystemClock()
        times: list[float] = []
        with self._reporting(), self._taking() as connection:
            for _ in range(_MEASUREMENTS):
                began = clock.monotonic()
                connection.execute(b"SELECT 1")
                times.append(clock.monotonic() - began)
        return min(times)

    def restart(self) -> None:
        """Reset the time that may be spent waiting for the server."""
        if self._patience is not None:
            self._patience.restart()

    def close(self) -> None:
        """Release the connections; they are closed once no store of this process uses the server."""
        self._pool = None
        self._part()

    def _begin(self, connection: Connection, messages: Sequence[bytes]) -> "psycopg.Cursor[Any]":
        """Send what opens a transaction; a standby refuses that."""
        try:
            *others, last = messages
            for message in others:
                connection.execute(message)
            return connection.execute(last)
        except errors.FeatureNotSupported as error:
            raise self._make_error(error, _UNCHANGED, AwayError) from error

    def _render(self, project: str, opening: Opening, connection: Connection) -> tuple[bytes, ...]:
        """Render the opening of a transaction; cached, because that takes as long as several statements."""
        known = self._openings.get((project, opening))
        if known is None:
            if len(self._openings) >= _MOST_OPENINGS:
                self._openings.clear()
            known = tuple(one.as_bytes(connection) for one in opening.render(project, self._limits))
            self._openings[project, opening] = known
        return known

    @contextmanager
    def _taking(self) -> Generator[Connection, None, None]:
        """Take a connection out of the pool for exclusive use."""
        pool = self._pool or self._join()
        patience = self._patience or Patience(self._limits.statement + MARGIN)
        if not pool.enter(patience.waits(f"a free connection to PostgreSQL ({self.place})")):
            message = f"PostgreSQL ({self.place}): all connections of this process are in use"
            raise StorageError(message, hint=_UNCHANGED)
        try:
            connection = pool.take() or self._connect()
            connection.patience, connection.place = self._patience, self.place
            connection.seconds = self._limits.statement + MARGIN
            try:
                yield connection
            finally:
                self._give_back(pool, connection)
        finally:
            pool.leave()

    def _join(self) -> Pool:
        server = (tuple(sorted(self._options.items())), self._prepared)
        self._pool = pool = self._pools.join(server)
        self._part = finalize(self, self._pools.part, server, pool)
        return pool

    def _connect(self) -> Connection:
        """Connect in a thread, which is abandoned when time is up: looking up a name can hang."""
        made: SimpleQueue[Connection | Exception] = SimpleQueue()

        def connect() -> None:
            try:
                connection = Connection.connect(
                    **self._options,
                    autocommit=True,  # transactions are opened by hand, together with their settings
                    prepare_threshold=_PREPARE_AFTER if self._prepared else None,
                )
                connection.note_warnings()
                made.put(connection)
            except (psycopg.Error, OSError, UnicodeError) as error:
                made.put(error)

        Thread(target=connect, daemon=True).start()
        patience = self._patience or Patience(self._limits.statement + MARGIN)
        for seconds in patience.waits(f"PostgreSQL ({self.place})"):
            with suppress(Empty):
                found = made.get(timeout=seconds)
                if isinstance(found, Exception):
                    raise found
                return found
        raise DeadlineError(f"no connection within {patience.seconds:g} s")

    def _give_back(self, pool: Pool, connection: Connection) -> None:
        """Return a connection to the pool, after rolling back what was not committed."""
        if connection.info.transaction_status != TransactionStatus.IDLE and self._has_time:
            with suppress(psycopg.Error):  # closing the connection rolls back as well
                connection.execute(b"ROLLBACK")
        if connection.info.transaction_status == TransactionStatus.IDLE:
            pool.keep(connection)
            return
        connection.close()
        pool.close()  # what broke this connection has probably broken the others

    @property
    def _has_time(self) -> bool:
        return self._patience is None or self._patience.left > 0

    def _commit(self, connection: Connection) -> None:
        """Commit; if the wait for a standby was cancelled, the answer has a warning."""
        connection.warnings.clear()
        try:
            said = connection.execute(b"COMMIT").statusmessage
        except psycopg.Error as error:
            status = connection.info.transaction_status
            is_lost = status == TransactionStatus.UNKNOWN or isinstance(error, DeadlineError)
            if is_lost or (error.sqlstate or "").startswith(_BETWEEN_SERVERS):
                raise self._make_error(error, UNKNOWN, UnansweredError) from error
            raise
        if said != "COMMIT":  # a statement failed earlier, and its error was swallowed
            raise StorageError(f"PostgreSQL ({self.place}) refused the change.", hint=_UNCHANGED)
        if connection.warnings:
            raise UnansweredError(f"PostgreSQL ({self.place}): {connection.warnings[0]}", hint=UNKNOWN)

    @contextmanager
    def _reporting(self) -> Generator[None, None, None]:
        try:
            yield
        except UnicodeEncodeError as error:  # a lone surrogate, which no database accepts
            raise self._make_error(errors.DataError(error.reason), _UNCHANGED) from error
        except (errors.UndefinedTable, errors.InsufficientPrivilege) as error:
            raise self._make_error(error, MIGRATE) from error
        except psycopg.Error as error:
            raise self._make_error(error, _UNCHANGED) from error

    def _make_error(
        self, error: psycopg.Error, hint: str, kind: type[StorageError] | None = None
    ) -> StorageError:
        """Make an error that reveals neither passwords nor values of rows."""
        text = error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__
        for name in _SECRET_OPTIONS:
            if secret := self._options.get(name):
                text = text.replace(str(secret), "…")
        return (kind or _find_kind(error))(f"PostgreSQL ({self.place}): {text}", hint=hint)


def _read_rows(opened: "psycopg.Cursor[Any]") -> Sequence[Sequence[Any]]:
    rows: list[Sequence[Any]] = []
    has_more: bool | None = True
    while has_more:
        rows.append((opened.fetchone() if opened.description else None) or ())
        has_more = opened.nextset()
    return rows


def _find_kind(error: psycopg.Error) -> type[StorageError]:
    """Return our class for an error of the driver.

    An error that the server reports is not a broken connection, except those with which it closes the
    connection (class 57P).
    """
    if not isinstance(error, psycopg.OperationalError):
        return StorageError
    is_broken = not error.sqlstate or error.sqlstate.startswith("57P")
    return BrokenError if is_broken and not isinstance(error, DeadlineError) else AwayError


def _read_options(url: str) -> dict[str, Any]:
    """Read a URL, with our defaults for what it leaves open: short timeouts, and a writable server.

    libpq chooses among several servers. Where there is only one, a standby refuses each transaction instead:
    PgBouncer goes on telling libpq what the server said when PgBouncer first connected to it.
    """
    try:
        given = conninfo.conninfo_to_dict(url)
    except psycopg.Error:  # its text may quote a password
        raise UsageError(
            "Cannot read the URL of the coordination server.",
            hint="Write it as postgresql://user@host:5432/database, with special characters %-encoded.",
        ) from None
    return {
        "connect_timeout": _CONNECT_SECONDS,
        "tcp_user_timeout": _milliseconds(Limits().idle),
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "target_session_attrs": "any" if _has_one_host(given) else "read-write",
        "client_encoding": "utf8",
        "application_name": SCHEMA,
        **given,
    }


def _has_one_host(options: Mapping[str, Any]) -> bool:
    """Return whether the URL names one server; a service file may name more."""
    return "," not in str(options.get("host") or ",")


def _milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))
