"""Engines of coordination whose statements can be recorded, and replayed by their bare driver."""

import shutil
import sqlite3
import uuid
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from passdown import layout
from passdown.engines.boot import SystemBootClock
from passdown.engines.coordination.transactions import Store
from passdown.engines.files.gate import Gate
from passdown.engines.sqlite.coordination import LocalMachine, SqliteStore, open_store
from passdown.engines.sqlite.mounts import MountKind
from passdown.engines.system import SystemClock
from tests.servers import MigratedDatabase, Postgres

__all__ = ["Engine", "PostgresDatabases", "SqliteFiles", "Statement", "Store"]

PROJECT: Final = "local"
_WAIT: Final = 30.0

Statement = tuple[str | bytes, Sequence[Any]]


class Engine(Protocol):
    """What is measured."""

    mark: str
    """What its rows begin with."""

    def make(self, folder: Path) -> str:
        """Make an empty project; return its address."""
        ...

    def copy(self, address: str, fill: Callable[[Store], None]) -> str:
        """Make another database with the same content: by a copy, or by filling it the same way."""
        ...

    def opened(self, address: str) -> AbstractContextManager[Store]:
        """Open a project."""
        ...

    def record(self, store: Any) -> list[Statement]:  # noqa: ANN401 - an engine's own
        """Keep all statements of a store from now on, in the list that is returned."""
        ...

    def replay(self, address: str, made: Sequence[Statement], start: Callable[[], None]) -> None:
        """Run statements with the bare driver; call `start` when that can begin."""
        ...


class SqliteFiles:
    """SQLite; each transaction that changes something is behind the gate."""

    mark = ""

    def make(self, folder: Path) -> str:
        """Name a file."""
        return str(folder / "ours.sqlite")

    def copy(self, address: str, fill: Callable[[Store], None]) -> str:
        """Copy the file."""
        del fill
        return str(shutil.copy(address, f"{address}.bare"))

    @contextmanager
    def opened(self, address: str) -> Generator[SqliteStore, None, None]:
        """Open the file, with all pragmas."""
        machine = LocalMachine(boot_clock=SystemBootClock(), clock=SystemClock(), is_running=lambda _: None)
        store = open_store(address, PROJECT, machine, mount=MountKind.LOCAL, wait=_WAIT)
        yield store
        store.close()

    def record(self, store: Any) -> list[Statement]:  # noqa: ANN401 - as above
        """Put a recorder before the connection."""
        recorder = store._database._connection = _Recorder(store._database._connection)
        return recorder.made

    def replay(self, address: str, made: Sequence[Statement], start: Callable[[], None]) -> None:
        """Run statements on the driver's own connection."""
        gate = Gate(layout.database_gate(address))
        behind = ExitStack()
        with self.opened(address) as store:
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
    """PostgreSQL on a server of our own: two databases, and a project in both for each measurement."""

    mark = "server: "

    def __init__(self, server: Postgres) -> None:
        """Make the databases."""
        self._databases = {name: MigratedDatabase(server.address, name) for name in ("ours", "bare")}
        for database in self._databases.values():
            database.create()

    def make(self, folder: Path) -> str:
        """Name a project."""
        del folder
        return f"ours {uuid.uuid4().hex}"

    def copy(self, address: str, fill: Callable[[Store], None]) -> str:
        """Fill the same project in the other database."""
        bare = f"bare {address.split()[1]}"
        with self.opened(bare) as store:
            fill(store)
        return bare

    @contextmanager
    def opened(self, address: str) -> Generator[Any, None, None]:
        """Open a project as a verb does."""
        from passdown.engines.postgres.coordination import open_store as open_server  # with its driver

        name, project = address.split()
        store = open_server(self._databases[name].url(), project)
        yield store
        store.close()

    def record(self, store: Any) -> list[Statement]:  # noqa: ANN401 - as above
        """Connect, and keep what that connection is asked."""
        with store.looking():
            pass
        (one,) = store._connections._idle
        made: list[Statement] = []
        execute = one.execute

        def keep(statement: Any, values: Sequence[Any] = ()) -> Any:  # noqa: ANN401 - the driver's
            text = statement if isinstance(statement, bytes) else statement.as_bytes(one)
            made.append((text, values))
            return execute(statement, values) if values else execute(statement)

        one.execute = keep
        return made

    def replay(self, address: str, made: Sequence[Statement], start: Callable[[], None]) -> None:
        """Run statements on a connection of the driver."""
        import psycopg

        url = self._databases[address.partition(" ")[0]].url()
        with psycopg.connect(url, autocommit=True, prepare_threshold=None) as connection:
            start()
            for statement, values in made:
                cursor = connection.execute(statement, values or None)
                if cursor.description is not None:
                    cursor.fetchall()
