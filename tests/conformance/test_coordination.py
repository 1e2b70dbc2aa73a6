"""Every engine keeps the promises of `Coordination`."""

from hashlib import sha256
from pathlib import Path

import pytest

from passdown.engines.sqlite.mounts import MountKind
from passdown.testing.conformance.coordination.bench import CoordinationBench
from passdown.testing.conformance.coordination.races import RacePromises
from passdown.testing.conformance.coordination.suite import CoordinationConformance
from tests.stores.coordination_benches import MemoryBench, SqliteBench
from tests.stores.postgres_benches import PostgresBench
from tests.stores.servers import Bouncer, MigratedDatabase


class TestMemoryCoordination(CoordinationConformance):
    """The plainest form of what a store promises."""

    def make(self, folder: Path) -> CoordinationBench:
        """Make a project that lies nowhere."""
        del folder
        return MemoryBench()


class TestSqliteCoordination(CoordinationConformance):
    """A file of this machine; every session has a connection of its own, and every racer a process."""

    def make(self, folder: Path) -> CoordinationBench:
        """Make a project in a file that is not there yet."""
        return SqliteBench(folder, MountKind.LOCAL)


class TestSqliteRacesInARollbackJournal(RacePromises):
    """Where nobody knows what kind of file system it is on, SQLite locks the whole file."""

    def make(self, folder: Path) -> CoordinationBench:
        """Make a project in a file that is not there yet."""
        return SqliteBench(folder, MountKind.UNKNOWN)


@pytest.mark.server
class TestPostgresCoordination(CoordinationConformance):
    """A server; every session has a connection of its own, and every racer a process."""

    database: MigratedDatabase
    reached: MigratedDatabase

    @pytest.fixture(autouse=True)
    def _reach(self, database: MigratedDatabase) -> None:
        self.database = self.reached = database

    def make(self, folder: Path) -> CoordinationBench:
        """Make a project that no other test has."""
        project = f"p-{sha256(bytes(folder)).hexdigest()[:32]}"
        return PostgresBench(self.database, self.reached, project)


@pytest.mark.server
class TestPostgresRacesThroughABouncer(RacePromises):
    """The same server, with a PgBouncer in transaction mode before it."""

    database: MigratedDatabase
    reached: MigratedDatabase

    @pytest.fixture(autouse=True)
    def _reach(self, database: MigratedDatabase, bouncer: Bouncer) -> None:
        self.database, self.reached = database, database.through(bouncer)

    make = TestPostgresCoordination.make
