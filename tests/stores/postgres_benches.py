"""Coordination in PostgreSQL for the suite: nobody sets its clock, so what is stored is moved back."""

from collections.abc import Sequence
from typing import Final

import psycopg

from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.postgres.connections import Connections
from passdown.engines.postgres.coordination import PostgresStore
from passdown.ports.coordination import Coordination
from passdown.testing.conformance.coordination.bench import LIFETIMES, CoordinationBench, Racer
from tests.stores.coordination_benches import run_in_processes
from tests.stores.servers import ADMIN, MigratedDatabase

_INSTANTS: Final = (
    ("projects", ("newest",)),
    ("sessions", ("seen", "ended")),
    ("leases", ("used", "held_until", "ended")),
    ("messages", ("sent", "expires")),
    ("inbox", ("read_at",)),
    ("offers", ("expires",)),
    ("log", ("made_at",)),
)
_SIGNS: Final = ("signs", ("newest",))


class PostgresBench(CoordinationBench):
    """One project in a database; racers are processes."""

    def __init__(self, database: MigratedDatabase, reached: MigratedDatabase, project: str) -> None:
        """Use a database, reached in its own way."""
        self._url = reached.url()
        self._project = project
        self._opened: list[PostgresStore] = []
        self._admin = psycopg.connect(database.url(ADMIN), autocommit=True, prepare_threshold=None)

    def connect(self) -> Coordination:
        """Connect once more."""
        self._opened.append(_PassingStore(self, Connections(self._url), self._project))
        return coordinate(self._opened[-1])

    def now(self) -> float:
        """Ask the server for the time."""
        ((seconds,),) = self._admin.execute("SELECT extract(epoch FROM clock_timestamp())::float8").fetchall()
        return float(seconds)

    def advance(self, seconds: float, *, quiet: bool = False) -> None:
        """Move all that is stored into the past; if somebody is heard, the newest sign stays as it is."""
        self._move_silences(seconds)
        for table, columns in (*_INSTANTS, _SIGNS) if quiet else _INSTANTS:
            moved = ", ".join(f"{column} = {column} - {seconds!r}" for column in columns)
            statement = f"UPDATE passdown.{table} SET {moved} WHERE project = %s"  # noqa: S608
            self._admin.execute(statement.encode(), (self._project,))

    def _move_silences(self, seconds: float) -> None:
        """Move each silence into a row of its own: where one began is its key."""
        columns = "project, began, ended"
        found = self._admin.execute(
            f"DELETE FROM passdown.silences WHERE project = %s RETURNING {columns}".encode(),  # noqa: S608
            (self._project,),
        ).fetchall()
        for project, began, ended in found:
            values = (project, began - seconds, ended - seconds)
            self._admin.execute("INSERT INTO passdown.silences VALUES (%s, %s, %s)", values)

    def race(self, racers: Sequence[Racer]) -> Sequence[object]:
        """Let processes act at once."""
        return run_in_processes(RacersDatabase(self._url, self._project), racers)

    def close(self) -> None:
        """Close all connections."""
        self._admin.close()
        for store in self._opened:
            store.close()


class _PassingStore(PostgresStore):
    """A store that lets time pass instead of waiting."""

    def __init__(self, bench: PostgresBench, connections: Connections, project: str) -> None:
        super().__init__(connections, project)
        self._bench = bench

    def pause(self, seconds: float) -> None:
        """Move on."""
        self._bench.advance(seconds)


class RacersDatabase:
    """Where racers find their project; it can be sent to another process."""

    def __init__(self, url: str, project: str) -> None:
        """Name a project in a database."""
        self._url = url
        self._project = project

    def open_store(self) -> PostgresStore:
        """Connect."""
        return PostgresStore(Connections(self._url), self._project)


def coordinate(store: PostgresStore) -> Coordination:
    """Coordinate over a store."""
    return Coordinator(store, "PostgreSQL", LIFETIMES)
