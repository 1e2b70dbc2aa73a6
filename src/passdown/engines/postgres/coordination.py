"""The store of coordination in PostgreSQL: any machine that reaches the server.

1. A change takes the project's row first, and only later statements look (C78). Each statement sees what was
   committed before it, so that whoever waited for the row sees all that was changed before it got it. Before
   that it queues at a row that never changes: whoever waits for a row that others change has to wait for its
   new version again, behind those who came later.
2. Whoever looks sees one state, and waits for nobody.
3. A sign of life takes no position, and skips a session that somebody is changing at this moment: to wait for
   it could be waiting in a circle. The row with the project's newest sign is locked after all others, and
   whoever holds it waits for nothing.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import Any, Final

from passdown.core.coordination.leases import Lifetimes
from passdown.core.coordination.members import EngineTime
from passdown.engines.coordination.changes import note_sign
from passdown.engines.coordination.rows import QUERIES, RowReading, RowTransaction
from passdown.engines.coordination.transactions import LIFETIMES, Reading, Transaction
from passdown.engines.patience import Patience
from passdown.engines.postgres.connections import MIGRATE, Connections, Limits, Opening, OpenTransaction
from passdown.engines.postgres.migrate import find_migrations
from passdown.engines.postgres.statements import read_statements
from passdown.engines.system import pause
from passdown.errors import OtherThreadError, StorageError

_OWN_QUERIES: Final = Path(__file__).parent / "queries.sql"
_CHANGE: Final = Opening(  # 1: what RETURNING calls is called when the row is held
    begin="BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    then="SELECT 1 FROM queues WHERE project = {project} FOR UPDATE; "
    "UPDATE projects SET pos = pos + 1 WHERE project = {project} "
    "RETURNING pos, extract(epoch FROM clock_timestamp())::float8",
)
_LOOK: Final = Opening(  # 2
    begin="BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    then="SELECT extract(epoch FROM clock_timestamp())::float8",
)
_BEAT: Final = Opening(  # 3
    begin="BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    settings=(("synchronous_commit", "off"),),
    then="SELECT extract(epoch FROM clock_timestamp())::float8",
)


def open_store(
    url: str,
    project: str,
    *,
    limits: Limits | None = None,
    prepared: bool = False,
    patience: Patience | None = None,
) -> "PostgresStore":
    """Open the rows of a project; nothing is connected before the first transaction.

    `prepared` lets the server keep statements: not for a PgBouncer before 1.21. `patience` is for all that is
    waited for; without it, each statement has its own limit.
    """
    connections = Connections(url, limits=limits, prepared=prepared, patience=patience)
    return PostgresStore(connections, project)


class _NamedStatements:
    """Runs statements by their name in one transaction."""

    def __init__(self, transaction: OpenTransaction, statements: Mapping[str, bytes]) -> None:
        self._transaction = transaction
        self._statements = statements

    def ask(self, query: str, *values: object) -> Sequence[Sequence[Any]]:
        return self._transaction.ask(self._statements[query], values)

    def change(self, query: str, *values: object) -> int:
        return self._transaction.change(self._statements[query], values)

    def change_all(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        self._transaction.change_all(self._statements[query], rows)


class PostgresStore:
    """The rows of one project: a `Store`."""

    def __init__(self, connections: Connections, project: str) -> None:
        """Keep a project over connections; only the thread that opens it may use it."""
        self._connections = connections
        self._project = project
        self._thread = get_ident()
        self._statements = {**read_statements(QUERIES), **read_statements(_OWN_QUERIES)}
        self._is_checked = False

    @property
    def place(self) -> str:
        """Where the server is."""
        return self._connections.place

    def close(self) -> None:
        """Let its connections go."""
        self._connections.close()

    @contextmanager
    def changing(self) -> Generator[Transaction, None, None]:
        with self._open(_CHANGE) as (transaction, named):
            self._check("least_writer", named)
            row = transaction.first_row
            if not row:
                named.change("add_project", self._project)
                named.change("add_queue", self._project)
                (row,) = named.ask("take_position_and_time", self._project)
            fence, seconds = row
            yield RowTransaction(named, self._project, EngineTime(seconds), fence)

    @contextmanager
    def looking(self) -> Generator[Reading, None, None]:
        with self._open(_LOOK) as (transaction, named):
            self._check("least_reader", named)
            yield RowReading(named, self._project, EngineTime(transaction.first_row[0]))

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        with self._open(_BEAT) as (transaction, named):
            now = EngineTime(transaction.first_row[0])
            if named.change("beat_all", self._project, list(sessions), self._project):
                note_sign(RowTransaction(named, self._project, now, 0), lifetimes)

    def wall_time(self, reading: Reading) -> float:
        """Return the time by the server's clock: clients have clocks of their own."""
        return reading.time.seconds

    def is_running(self, process: str) -> bool | None:
        """Return None: a server does not know what runs on the machines of its clients."""
        del process
        return None

    def pause(self, seconds: float) -> None:
        """Wait before looking again; nobody waits for the server meanwhile."""
        pause(seconds)
        self._connections.restart()

    @contextmanager
    def _open(self, opening: Opening) -> Generator[tuple[OpenTransaction, _NamedStatements], None, None]:
        if get_ident() != self._thread:
            message = f"PostgreSQL ({self.place}) was opened in another thread"
            raise OtherThreadError(message, hint="Open the project once in each thread.")
        with self._connections.open(self._project, opening) as transaction:
            yield transaction, _NamedStatements(transaction, self._statements)

    def _check(self, least: str, named: _NamedStatements) -> None:
        """Refuse tables that this version may not use; ask once."""
        if self._is_checked:
            return
        known = len(find_migrations())
        meta = {str(name): int(value) for name, value in named.ask("meta")}
        if meta["version"] < known:
            message = f"its tables have version {meta['version']}, and this version of Passdown needs {known}"
            raise StorageError(f"PostgreSQL ({self.place}): {message}.", hint=MIGRATE)
        if meta[least] > known:
            message = f"its tables are for versions of Passdown that know version {meta[least]} of them"
            raise StorageError(f"PostgreSQL ({self.place}): {message}.", hint="Update Passdown.")
        self._is_checked = True
