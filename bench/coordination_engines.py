"""Engines of coordination whose statements can be recorded, and replayed by their bare driver."""

import copy
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from passdown import layout
from passdown.engines.coordination.transactions import Store
from passdown.engines.files.locks import Gate
from passdown.engines.sqlite.coordination import LocalMachine, open_store
from passdown.engines.sqlite.database import PARTS
from passdown.engines.sqlite.mounts import MountKind
from passdown.engines.system import SystemBootClock, SystemClock
from tests.stores.servers import ADMIN, MigratedDatabase, Postgres

__all__ = ["Content", "Engine", "PostgresDatabases", "SqliteFiles", "Statement", "Store"]

_WAIT: Final = 30.0
_DAY: Final = 86_400.0
_NUMBERS: Final = (
    "WITH RECURSIVE p (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM p WHERE i + 1 < ?), "
    "n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)"
)
_TABLES: Final = "projects, sessions, tasks, waits, leases, messages, inbox, offers, log"

Statement = tuple[str | bytes, Sequence[Any]]


class Content(NamedTuple):
    """What a database holds before something is measured there: projects called p-0, p-1 and so on."""

    projects: int
    sessions: int
    """How many sessions each project has that act, and as many to which they write."""
    tasks: int
    """How many tasks each project has."""
    mail: int = 0
    """How many messages wait in each project for the first of those to which others write."""

    def statements(self) -> list[Statement]:
        """Return what makes it, the same for every database: a million rows take seconds."""
        now = time.time()
        tasks = "'t-' || n.i, 'Do it.', '', 2, '', 'open', '', '', 0, 0, n.i"
        message = "'m-' || n.i, 's-0', 'agent-s-0', 'agent-to-s-0', 'hello', '', 'normal', 'note', ?, ?"
        made: list[tuple[str, int, Sequence[float]]] = [
            ("projects SELECT 'p-' || p.i, 0, 0, '', 0, 0", 1, ()),
            (f"tasks SELECT 'p-' || p.i, {tasks}", self.tasks, ()),
            (f"messages SELECT 'p-' || p.i, {message}", self.mail, (now, now + _DAY)),
            ("inbox SELECT 'p-' || p.i, 'to-s-0', n.i, 'm-' || n.i, NULL", self.mail, ()),
        ]
        for who in ("s-", "to-s-"):
            row = f"'{who}' || n.i, 'agent-{who}' || n.i, '', 'default', 'any', '', 0, ?, NULL, ''"
            made.append((f"sessions SELECT 'p-' || p.i, {row}", self.sessions, (now,)))
        return [
            (f"{_NUMBERS} INSERT INTO {text} FROM p, n", (self.projects, each, *values))
            for text, each, values in made
            if each
        ]


class Engine(Protocol):
    """What is measured; it has several databases, each with a name."""

    mark: str
    """What its rows begin with."""

    def fill(self, name: str, content: Content) -> None:
        """Make a database that holds this and nothing else."""
        ...

    def opened(self, name: str, projects: Sequence[str]) -> AbstractContextManager[list[Store]]:
        """Open projects over one connection."""
        ...

    def record(self, stores: Sequence[Any]) -> list[Statement]:
        """Keep all statements of these stores from now on, in the list that is returned."""
        ...

    def replay(self, name: str, made: Sequence[Statement], start: Callable[[], None]) -> None:
        """Run statements with the bare driver; call `start` when that can begin."""
        ...


class SqliteFiles:
    """SQLite; each transaction that changes something is behind the gate."""

    mark = ""

    def __init__(self, folder: Path) -> None:
        """Keep files in a folder."""
        self._folder = folder

    def _path(self, name: str) -> str:
        return str(self._folder / f"{name}.sqlite")

    def fill(self, name: str, content: Content) -> None:
        """Make a file."""
        for end in PARTS:
            with suppress(FileNotFoundError):
                Path(f"{self._path(name)}{end}").unlink()
        with self.opened(name, [""]) as (store,):
            connection: Any = store._database._connection
            connection.execute("BEGIN")
            for statement, values in content.statements():
                connection.execute(statement, values)
            connection.execute("COMMIT")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def opened(self, name: str, projects: Sequence[str]) -> Generator[list[Any], None, None]:
        """Open the file, with all pragmas."""
        machine = LocalMachine(boot_clock=SystemBootClock(), clock=SystemClock(), is_running=lambda _: None)
        first = open_store(self._path(name), projects[0], machine, mount=MountKind.LOCAL, wait=_WAIT)
        stores = [copy.copy(first) for _ in projects]
        for store, project in zip(stores, projects, strict=True):
            store._project = project
        yield stores
        first.close()

    def record(self, stores: Sequence[Any]) -> list[Statement]:
        """Put a recorder before the connection."""
        database = stores[0]._database
        recorder = database._connection = _Recorder(database._connection)
        return recorder.made

    def replay(self, name: str, made: Sequence[Statement], start: Callable[[], None]) -> None:
        """Run statements on the driver's own connection."""
        gate = Gate(layout.database_gate(self._path(name)))
        behind = ExitStack()
        with self.opened(name, [""]) as (store,):
            connection: Any = store._database._connection
            start()
            for statement, values in made:
                if statement == "BEGIN IMMEDIATE":
                    behind.enter_context(gate.passed(_WAIT))
                connection.execute(statement, values).fetchall()
                if statement == "COMMIT":
                    behind.close()


class _Recorder:
    """A connection to a file that keeps what it was asked."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.made: list[Statement] = []
        self.close = connection.close

    @property
    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        self.made.append((statement, values))
        return self._connection.execute(statement, values)


class PostgresDatabases:
    """PostgreSQL on a server of our own that waits for the disk."""

    mark = "server: "

    def __init__(self, server: Postgres) -> None:
        """Make databases on a server when they are first filled."""
        self._server = server
        self._databases: dict[str, MigratedDatabase] = {}

    def fill(self, name: str, content: Content) -> None:
        """Empty a database, and fill it."""
        import psycopg

        from passdown.engines.postgres.statements import mark_values

        if name not in self._databases:
            self._databases[name] = MigratedDatabase(self._server.address, name)
            self._databases[name].create()
        with psycopg.connect(self._databases[name].url(ADMIN), autocommit=True) as connection:
            connection.execute("SET search_path TO passdown")
            connection.execute(f"TRUNCATE {_TABLES}".encode())
            with connection.transaction():
                for statement, values in content.statements():
                    connection.execute(mark_values(str(statement)).encode(), values)
            connection.execute("VACUUM ANALYZE passdown.tasks")  # as the server does by itself after a while

    @contextmanager
    def opened(self, name: str, projects: Sequence[str]) -> Generator[list[Any], None, None]:
        """Open projects as a verb does, but over the same connections."""
        from passdown.engines.postgres.connections import Connections  # with its driver
        from passdown.engines.postgres.coordination import PostgresStore

        connections = Connections(self._databases[name].url())
        stores = [PostgresStore(connections, project) for project in projects]
        for store in stores:
            with store.looking():  # each asks once which version the tables have
                pass
        yield stores
        connections.close()

    def record(self, stores: Sequence[Any]) -> list[Statement]:
        """Keep what the connection is asked."""
        (one,) = stores[0]._connections._idle
        made: list[Statement] = []
        execute = one.execute

        def keep(statement: bytes, values: Sequence[Any] = ()) -> Any:  # noqa: ANN401 - the driver's
            made.append((statement, values))
            return execute(statement, values) if values else execute(statement)

        one.execute = keep
        return made

    def replay(self, name: str, made: Sequence[Statement], start: Callable[[], None]) -> None:
        """Run statements on a connection of the driver."""
        import psycopg

        url = self._databases[name].url()
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
            start()
            for statement, values in made:
                cursor = connection.execute(statement, values or None)
                if cursor.description is not None:
                    cursor.fetchall()
