"""What several tests of faults share."""

from collections.abc import Iterator

import pytest

from passdown.engines.postgres.migrate import migrate
from tests.stores.proxies import Proxy
from tests.stores.servers import PORT, MigratedDatabase, Postgres


@pytest.fixture
def proxy(own_postgres: Postgres) -> Iterator[Proxy]:
    """A proxy before a server with tables."""
    migrate(MigratedDatabase(own_postgres.address, "postgres").url("postgres"))
    with Proxy(own_postgres.address.folder / f".s.PGSQL.{PORT}") as made:
        yield made
