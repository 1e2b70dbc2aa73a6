"""A server whose answers take long: what a command sends to it, and what `passdown doctor` says."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from passdown.core.project.findings import CLAIM_TRIPS, SLOW_TRIP
from tests.stores.proxies import Proxy
from tests.stores.servers import APP, MigratedDatabase, Postgres
from tests.support.commands import run
from tests.support.gits import make_started

pytestmark = pytest.mark.server
_TRIPS_OF_TCP_AND_LOOK = 3
"""What the proxy does not count: two TCP connections, and one request for encryption."""


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[Proxy]:
    """The way to the server."""
    address = postgres.address
    with Proxy(address.folder / f".s.PGSQL.{address.port}") as proxy:
        yield proxy


@pytest.fixture
def team(tmp_path: Path, proxy: Proxy, database: MigratedDatabase, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project for a team, in which a session works."""
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", proxy.url(APP, database.name))
    folder = make_started(tmp_path / "project").folder
    for words in (("init", "--yes"), ("team", "init", "--yes"), ("start", "--new", "--nickname", "amber")):
        assert run(*words, cwd=folder).code == 0
    return folder


def find_hints(folder: Path) -> list[dict[str, str]]:
    """Return what the doctor says about the server."""
    done = run("doctor", "--json", cwd=folder)
    return [one for one in json.loads(done.out)["findings"] if one["code"] == "server"]


def test_doctor_tells_what_a_slow_server_costs(
    team: Path, proxy: Proxy, database: MigratedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.delay = 1.25 * SLOW_TRIP
    (hint,) = find_hints(team)
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", database.url())  # its socket, which nothing delays

    assert "ms to answer a message, so a claim, which sends about 40, waits" in hint["what"]
    assert (hint["severity"], "PgBouncer on their machine" in hint["hint"]) == ("warning", True)
    assert find_hints(team) == []


def test_a_claim_sends_no_more_messages_than_doctor_says(team: Path, proxy: Proxy) -> None:
    for words in (
        ("task", "add", "Form"),
        ("task", "add", "List"),
        ("claim",),
    ):  # the first claim checks more
        assert run(*words, "--session", "amber", cwd=team).code == 0
    proxy.messages = 0
    assert run("claim", "--session", "amber", cwd=team).code == 0

    assert proxy.messages + _TRIPS_OF_TCP_AND_LOOK <= CLAIM_TRIPS
