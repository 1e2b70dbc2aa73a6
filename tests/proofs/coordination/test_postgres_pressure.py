"""Processes that claim while their PostgreSQL is under pressure: nothing is given twice, and nothing is lost.

`pressure_runs.py` says what is done to them: sessions that sit in a transaction, readers that keep an old
state, connections that are ended or taken, restarts, kills.
"""

import sys
from typing import Final

import pytest

from passdown.engines.postgres.migrate import migrate
from tests.proof import proof_count
from tests.proofs.conftest import Figures
from tests.proofs.coordination.test_claim_races import SEED, check, run_apart
from tests.stores.servers import ADMIN, APP, Address, Bouncer, Postgres

SIZE: Final = proof_count(fast=10, ci=15, long=2_000)
SECONDS: Final = float(proof_count(fast=1, ci=1, long=15))
"""How long everything stands still; in a long run that is longer than a verb waits."""
CONNECTIONS: Final = 24

pytestmark = [
    pytest.mark.proof,
    pytest.mark.server,
    pytest.mark.timeout(0),
    pytest.mark.requirement("C78", "C79", "C80"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs fork"),
]


def run(server: Postgres, reached: Address) -> dict[str, object]:
    """Let processes work on a server in a process of its own, which may fork, and read what it found."""
    order = {
        "address": reached.url(APP),
        "server": str(server.address.folder),
        "direct": server.address.url(APP),
        "admin": server.address.url(ADMIN),
        "size": SIZE,
        "seconds": SECONDS,
        "seed": SEED,
    }
    return run_apart("pressure_runs", order)


@pytest.fixture
def small_postgres(own_postgres: Postgres) -> Postgres:
    """A server with few connections."""
    migrate(own_postgres.address.url())
    own_postgres.configure(max_connections=CONNECTIONS)
    own_postgres.stop()
    own_postgres.start()
    return own_postgres


def test_under_pressure_each_task_is_closed_once(small_postgres: Postgres, figures: Figures) -> None:
    found = run(small_postgres, small_postgres.address)

    check(found, "8 processes claim under pressure, PostgreSQL", figures)


def test_under_pressure_and_through_a_bouncer_each_task_is_closed_once(
    small_postgres: Postgres, own_bouncer: Bouncer, figures: Figures
) -> None:
    found = run(small_postgres, own_bouncer.address)

    check(found, "8 processes claim under pressure, PostgreSQL through PgBouncer", figures)
