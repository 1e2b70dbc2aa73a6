"""The coordination store in PostgreSQL, for all machines that reach the server.

1. A change first locks the project's row, and reads only after that (C78). Each statement sees what was
   committed before it, so a change that waited for the row sees everything that came before. To get the row
   it first queues at another row, which never changes: a transaction that waits for a row that others update
   would have to wait again for the new version, behind those that came later.
2. A reader sees one consistent state, and does not wait. It begins as if it would write, which a standby
   refuses: what a standby knows may be old.
3. A heartbeat takes no position, and skips sessions that are being changed at this moment: waiting for
   them could be a deadlock. The row with the project's newest sign is locked last, and its holder waits for
   nothing.
4. A server shows a change before its standby has it, if somebody cancelled the wait of the commit. The answer
   to a repeated operation therefore waits for the standby itself, in a transaction that changes nothing.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import get_ident
from typing import Any, Final

from passdown.core.coordination.leases import PATH, TASK, Lifetimes
from passdown.core.coordination.members import EngineTime
from passdown.engines.coordination.changes import note_sign
from passdown.engines.coordination.rows import QUERIES, RowReading, RowTransaction
from passdown.engines.coordination.transactions import LIFETIMES, Reading, Transaction
from passdown.engines.patience import Patience
from passdown.engines.postgres.connections import (
    MIGRATE,
    UNKNOWN,
    Connections,
    Limits,
    Opening,
    OpenTransaction,
)
from passdown.engines.postgres.distribution import DISTRIBUTED
from passdown.engines.postgres.migrate import find_migrations
from passdown.engines.postgres.statements import read_statements
from passdown.engines.system import pause
from passdown.errors import OtherThreadError, StorageError, UnansweredError

_OWN_QUERIES: Final = Path(__file__).parent / "queries.sql"
_CHANGE: Final = Opening(  # 1: the clock is read once the row is locked
    begin="BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    then="SELECT 1 FROM queues WHERE project = {project} FOR UPDATE; "
    "UPDATE projects SET pos = pos + 1 WHERE project = {project} RETURNING pos; "
    "SELECT extract(epoch FROM clock_timestamp())::float8",
)
_LOOK: Final = Opening(  # 2
    begin="BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE; SET TRANSACTION READ ONLY",
    then="SELECT extract(epoch FROM clock_timestamp())::float8",
)
_BEAT: Final = Opening(  # 3
    begin="BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    settings=(("synchronous_commit", "off"),),
    then="SELECT extract(epoch FROM clock_timestamp())::float8",
)
_CONFIRM: Final = Opening(  # 4: only a transaction with a lock of its own waits; this one hinders no change
    begin="BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    then="SELECT 1 FROM projects WHERE project = {project} FOR KEY SHARE",
)
_AND_META: Final = "; SELECT json_object_agg(name, value) FROM meta"

OpeningRows = Sequence[Sequence[Any]]
"""The first row that each opening statement returned."""


def open_store(
    url: str,
    project: str,
    *,
    limits: Limits | None = None,
    prepared: bool = False,
    patience: Patience | None = None,
) -> "PostgresStore":
    """Open the rows of a project; no connection is made before the first transaction.

    `prepared` uses prepared statements, which PgBouncer supports from 1.21 on. `patience` is one limit for
    all waits; without it, each statement has its own limit.
    """
    connections = Connections(url, limits=limits, prepared=prepared, patience=patience)
    return PostgresStore(connections, project)


class _NamedStatements:
    """Runs statements by their name in one transaction."""

    def __init__(self, transaction: OpenTransaction, statements: Mapping[str, bytes]) -> None:
        self._transaction = transaction
        self._statements = statements
        self._known: dict[tuple[object, ...], Sequence[Sequence[Any]]] = {}

    def ask(self, query: str, *values: object) -> Sequence[Sequence[Any]]:
        known = self._known.get((query, *values))
        return self._transaction.ask(self._statements[query], values) if known is None else known

    def ask_ahead(self, *asked: tuple[str, *tuple[object, ...]]) -> None:
        """Ask several questions in one message; only for a transaction that always sees one state."""
        rows = self._transaction.ask_all([(self._statements[query], values) for query, *values in asked])
        self._known.update(zip(asked, rows, strict=True))

    def change(self, query: str, *values: object) -> int:
        return self._transaction.change(self._statements[query], values)

    def change_all(self, query: str, rows: Sequence[Sequence[object]]) -> None:
        self._transaction.change_all(self._statements[query], rows)


class _SnapshotReading(RowReading):
    """A reading in which several questions can be asked in one message."""

    def __init__(self, statements: _NamedStatements, project: str, time: EngineTime) -> None:
        super().__init__(statements, project, time)
        self._named = statements

    def read_ahead(self, ready: int) -> None:
        self._named.ask_ahead(
            ("leases_stored", self._project, PATH),
            ("leases", self._project, TASK),
            ("members", self._project),
            ("held_tasks", self._project),
            ("ready_tasks", self._project, ready),
            ("heard", self._project, self._project),
        )


class PostgresStore:
    """The rows of one project: a `Store`."""

    def __init__(self, connections: Connections, project: str) -> None:
        """Open a project over connections; only the thread that opens it may use it."""
        self._connections = connections
        self._project = project
        self._thread = get_ident()
        self._statements = {**read_statements(QUERIES), **read_statements(_OWN_QUERIES)}
        self._is_checked = self._is_distributed = False

    @property
    def place(self) -> str:
        """The host and port of the server."""
        return self._connections.place

    def close(self) -> None:
        """Release the connections."""
        self._connections.close()

    @contextmanager
    def changing(self) -> Generator[Transaction, None, None]:
        with self._open(_CHANGE, "least_writer") as (rows, named):
            *_, position, (seconds,) = rows
            if not position:
                named.change("add_project", self._project)
                named.change("add_queue", self._project)
                (position,) = named.ask("take_position", self._project)
                ((seconds,),) = named.ask("read_time")
            (fence,) = position
            yield RowTransaction(named, self._project, EngineTime(seconds), fence)

    @contextmanager
    def looking(self) -> Generator[Reading, None, None]:
        with self._open(_LOOK, "least_reader") as (rows, named):
            yield _SnapshotReading(named, self._project, EngineTime(rows[-1][0]))

    def beat(self, sessions: Sequence[str], lifetimes: Lifetimes = LIFETIMES) -> None:
        with self._open(_BEAT, "least_writer") as (rows, named):
            now = EngineTime(rows[-1][0])
            if named.change("beat_all", now.seconds, self._project, list(sessions), self._project):
                note_sign(RowTransaction(named, self._project, now, 0), lifetimes)

    def confirm(self) -> None:
        """Wait until a standby has what can be read here, if commits wait for one."""
        try:
            with self._open(_CONFIRM, "least_writer"):
                pass
        except StorageError as error:  # the change was made, so "nothing was changed" would be wrong
            raise UnansweredError(error.message, hint=UNKNOWN) from error

    def wall_time(self, reading: Reading) -> float:
        """Return the time by the server's clock, because the clocks of clients differ."""
        return reading.time.seconds

    def is_running(self, process: str) -> bool | None:
        """Return None: a server does not know what runs on the machines of its clients."""
        del process
        return None

    def pause(self, seconds: float) -> None:
        """Sleep before looking again; this time does not count as waiting for the server."""
        pause(seconds)
        self._connections.restart()

    @contextmanager
    def _open(
        self, opening: Opening, least: str
    ) -> Generator[tuple[OpeningRows, _NamedStatements], None, None]:
        """Open a transaction; the first one finds out whether this version may use the tables, and how.

        It asks that in its opening message. Where rows are distributed, it saw none, because other servers
        did not know the project.
        """
        if get_ident() != self._thread:
            message = f"PostgreSQL ({self.place}) was opened in another thread"
            raise OtherThreadError(message, hint="Open the project once in each thread.")
        with ExitStack() as stack:
            if not self._is_checked:
                (*rows, (meta,)), named = self._enter(stack, opening._replace(then=opening.then + _AND_META))
                self._check(least, meta)
                if not self._is_distributed:
                    yield rows, named
                    return
                stack.close()
            yield self._enter(stack, opening)

    def _enter(self, stack: ExitStack, opening: Opening) -> tuple[OpeningRows, _NamedStatements]:
        opening = opening._replace(is_distributed=self._is_distributed)
        transaction = stack.enter_context(self._connections.open(self._project, opening))
        return transaction.first_rows, _NamedStatements(transaction, self._statements)

    def _check(self, least: str, meta: Mapping[str, int]) -> None:
        """Raise an error if this version may not use the tables."""
        known = len(find_migrations())
        if meta["version"] < known:
            message = f"the database has schema {meta['version']}, but this Passdown needs schema {known}"
            raise StorageError(f"PostgreSQL ({self.place}): {message}.", hint=MIGRATE)
        if meta[least] > known:
            message = f"the database needs a Passdown that knows schema {meta[least]}; this one knows {known}"
            raise StorageError(f"PostgreSQL ({self.place}): {message}.", hint="Update Passdown.")
        self._is_checked, self._is_distributed = True, DISTRIBUTED in meta
