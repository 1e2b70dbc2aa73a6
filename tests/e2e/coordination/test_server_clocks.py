"""Whatever is done to a client's clock, boot or process numbers: only the server's clock ends a lease."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from passdown.ports.clock import BootTime
from tests.stores.servers import MigratedDatabase
from tests.support.teams import Team
from tests.unit.coordination.test_coordination_clocks import find_process, is_held, let_amber_work

pytestmark = [pytest.mark.server, pytest.mark.requirement("C80", "C81", through="command")]


@pytest.fixture
def team(
    tmp_path: Path,
    database: MigratedDatabase,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Team:
    """Give a repository that coordinates through a server, with a session that does not work yet."""
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", database.url())
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.at = datetime.now(UTC)  # whoever is days behind is refused: its operations are too old
    for words in (("init", "--yes"), ("team", "init", "--yes")):
        assert made.command(*words).code == 0
    made.join("birch")
    return made


def let_the_server_wait(database: MigratedDatabase, minutes: int) -> None:
    """Let time pass on the server: its clock cannot be moved, so its rows are."""
    database.run("UPDATE passdown.sessions SET seen = seen - %s", 60 * minutes)
    database.run("UPDATE passdown.leases SET used = used - %s", 60 * minutes)


@pytest.mark.parametrize("hours", [24, -24])
def test_a_clients_clock_that_is_moved_ends_no_lease_and_lets_none_live_on(
    team: Team, database: MigratedDatabase, hours: int
) -> None:
    task = let_amber_work(team)

    team.at += timedelta(hours=hours)
    assert is_held(team, task)
    let_the_server_wait(database, minutes=10)
    assert is_held(team, task)
    team.at -= timedelta(hours=2 * hours)
    assert is_held(team, task)
    let_the_server_wait(database, minutes=2)

    assert not is_held(team, task)


def test_another_boot_of_a_client_ends_no_lease_and_lets_none_live_on(
    team: Team, database: MigratedDatabase
) -> None:
    task = let_amber_work(team)

    team.boot = BootTime("boot-2", 5.0)
    assert is_held(team, task)
    let_the_server_wait(database, minutes=12)

    assert not is_held(team, task)


@pytest.mark.parametrize("is_another", [True, False])
def test_no_process_of_a_client_keeps_a_lease(
    team: Team, database: MigratedDatabase, *, is_another: bool
) -> None:
    """Its number may be used again, here or on any other machine."""
    process = find_process(os.getpid())
    task = let_amber_work(team, process._replace(started="1") if is_another else process)
    assert is_held(team, task)

    let_the_server_wait(database, minutes=12)

    assert not is_held(team, task)
