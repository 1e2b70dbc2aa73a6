"""Every store of coordination does the same with its rows."""

from hashlib import sha256
from pathlib import Path

import pytest

from passdown.core.coordination.members import EngineTime
from passdown.engines.coordination.transactions import Store
from passdown.engines.postgres.coordination import open_store as open_postgres
from passdown.engines.sqlite.mounts import MountKind
from passdown.testing.memory.coordination import MemoryStore
from tests.stores.coordination_files import SharedFile
from tests.stores.servers import Bouncer, MigratedDatabase
from tests.stores.stored_rows import StoredRows


class TestMemoryRows(StoredRows):
    """Rows in memory."""

    def make(self, folder: Path, project: str = "local") -> Store:
        """Return the one store of a project; its clock goes on."""
        stores: dict[tuple[Path, str], Store] = self.__dict__.setdefault("stores", {})
        ticks = iter(range(1_000))
        return stores.setdefault((folder, project), MemoryStore(lambda: EngineTime(float(next(ticks)))))


class TestSqliteRows(StoredRows):
    """An SQLite file with everything that a local disk offers."""

    mount = MountKind.LOCAL

    def make(self, folder: Path, project: str = "local") -> Store:
        """Open the file."""
        return SharedFile(folder).open(project, mount=self.mount)


class TestSqliteRowsInARollbackJournal(TestSqliteRows):
    """An SQLite file where nobody knows what kind of file system it is on."""

    mount = MountKind.UNKNOWN

    test_whoever_looks_sees_one_state = None  # type: ignore[assignment]  # readers and writers wait there


@pytest.mark.server
class TestPostgresRows(StoredRows):
    """A PostgreSQL server."""

    database: MigratedDatabase

    @pytest.fixture(autouse=True)
    def _reach(self, database: MigratedDatabase) -> None:
        self.database = database

    def make(self, folder: Path, project: str = "local") -> Store:
        """Open a project that no other test has."""
        return open_postgres(self.database.url(), f"p-{sha256(bytes(folder)).hexdigest()[:32]}-{project}")


@pytest.mark.server
class TestPostgresRowsThroughABouncer(TestPostgresRows):
    """A PostgreSQL server behind a PgBouncer in transaction mode."""

    @pytest.fixture(autouse=True)
    def _reach(self, database: MigratedDatabase, bouncer: Bouncer) -> None:
        self.database = database.through(bouncer)
