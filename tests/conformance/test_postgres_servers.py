"""The servers that tests start answer, and PgBouncer shares connections between transactions."""

import psycopg
import pytest

from tests.stores.servers import Bouncer, Postgres

pytestmark = pytest.mark.server


def test_a_server_answers_on_its_socket(postgres: Postgres) -> None:
    with psycopg.connect(postgres.address.url()) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


def test_a_bouncer_gives_more_clients_a_turn_than_it_has_connections(bouncer: Bouncer) -> None:
    clients = [psycopg.connect(bouncer.address.url(), autocommit=True) for _ in range(8)]
    seen = {client.execute("SELECT pg_backend_pid()").fetchone() for client in clients}
    for client in clients:
        client.close()

    assert 1 <= len(seen) <= 2


def test_a_server_of_ones_own_can_be_stopped_and_started(own_postgres: Postgres) -> None:
    own_postgres.stop()
    own_postgres.start()

    with psycopg.connect(own_postgres.address.url()) as connection:
        assert connection.execute("SHOW fsync").fetchone() == ("on",)
