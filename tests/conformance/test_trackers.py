"""Every tracker keeps the promises of `Tracker`: the board, three builds of Beads, and their stand-in."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

from passdown.testing.conformance.tracker.bench import TrackerBench
from passdown.testing.conformance.tracker.suite import TrackerConformance
from tests.stores.coordination_benches import SqliteBench
from tests.stores.postgres_benches import PostgresBench
from tests.stores.servers import MigratedDatabase
from tests.support.sessions import make_coordination
from tests.trackers.beads import BUILDS, BeadsBench, BoardBench, FakePrograms, make_real


class TestMemoryBoard(TrackerConformance):
    """The board over an engine in memory."""

    def make(self, folder: Path) -> TrackerBench:
        """Make an empty board."""
        del folder
        return BoardBench(make_coordination())


class TestSqliteBoard(TrackerConformance):
    """The board over the engine of a clone."""

    def make(self, folder: Path) -> TrackerBench:
        """Make an empty board."""
        bench = SqliteBench(folder)
        return BoardBench(bench.connect())


@pytest.mark.server
class TestPostgresBoard(TrackerConformance):
    """The board over a server."""

    database: MigratedDatabase
    stack: ExitStack

    @pytest.fixture(autouse=True)
    def _reach(self, database: MigratedDatabase) -> Iterator[None]:
        self.database = database
        with ExitStack() as self.stack:
            yield

    def make(self, folder: Path) -> TrackerBench:
        """Make an empty board in a project that no other test has."""
        project = f"p-{sha256(bytes(folder)).hexdigest()[:32]}"
        bench = PostgresBench(self.database, self.database, project)
        self.stack.callback(bench.close)
        return BoardBench(bench.connect(), datetime.fromtimestamp(bench.now(), UTC))


class TestFake044(TrackerConformance):
    """The stand-in with the quirks of 0.44.0."""

    version = "0.44.0"

    def make(self, folder: Path) -> TrackerBench:
        """Make a database without tasks."""
        return BeadsBench(FakePrograms(self.version, folder))


class TestFake100(TestFake044):
    """The stand-in with the quirks of 1.0.0."""

    version = "1.0.0"


class TestFake130(TestFake044):
    """The stand-in with the quirks of 1.3.0."""

    version = "1.3.0"


@pytest.mark.beads
@pytest.mark.timeout(300)
class TestBeads044(TrackerConformance):
    """Beads 0.44.0, as it is."""

    version = "0.44.0"
    __test__ = version in BUILDS
    template: Path

    @pytest.fixture(autouse=True)
    def _template(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        self.template = tmp_path_factory.getbasetemp() / f"beads-{self.version}"

    def make(self, folder: Path) -> TrackerBench:
        """Make a database without tasks."""
        return make_real(self.version, folder, self.template)


class TestBeads100(TestBeads044):
    """Beads 1.0.0, as it is."""

    version = "1.0.0"
    __test__ = version in BUILDS


class TestBeads130(TestBeads044):
    """Beads 1.3.0, as it is."""

    version = "1.3.0"
    __test__ = version in BUILDS
