"""Processes that share a project: nobody is given what another holds, and nothing that was said is lost.

Races: 64 processes claim tasks, or reserve patterns that overlap. Histories: 8 processes do whatever comes to
their minds, while one is killed, others are stopped until their leases are over, and a server is restarted or
replaced by the one that follows it; `call_checker.py` says what must hold. Files are in memory where the
system has such a folder: these proofs are about order, and one race of each kind is run on the disk.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from passdown.engines.postgres.migrate import migrate
from tests.proof import proof_count
from tests.proofs.conftest import Figures
from tests.stores.servers import ADMIN, APP, PORT, MigratedDatabase, Postgres
from tests.support.commands import environment

ROOT: Final = Path(__file__).resolve().parents[3]
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder of our own is made there
RACERS: Final = proof_count(fast=16, ci=64, long=64)
SEED: Final = 20260201
COUNTS: Final = {
    "claims": proof_count(fast=32, ci=1_000, long=100_000),
    "reservations": proof_count(fast=32, ci=1_000, long=50_000),
}
DISK_COUNTS: Final = {
    "claims": proof_count(fast=32, ci=500, long=10_000),
    "reservations": proof_count(fast=32, ci=500, long=50_000),
}
SERVER_COUNTS: Final = {
    "claims": proof_count(fast=16, ci=500, long=100_000),
    "reservations": proof_count(fast=16, ci=500, long=50_000),
}

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(0),
    pytest.mark.requirement("C78", "C80"),
    pytest.mark.skipif(not hasattr(os, "fork") or sys.platform != "linux", reason="needs fork"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that no disk holds, if there is one."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    folder = tempfile.mkdtemp(prefix="passdown-", dir=MEMORY)
    yield Path(folder)
    shutil.rmtree(folder)


def run(what: str, address: object, count: int, workers: int, **more: str) -> dict[str, object]:
    """Run processes in a process of its own, which may fork, and read what it found."""
    order: dict[str, object] = {
        "what": what,
        "address": str(address),
        "size": count,
        "workers": workers,
        "seed": SEED,
        **more,
    }
    return run_apart("call_runs", order)


def run_apart(module: str, order: dict[str, object]) -> dict[str, object]:
    """Run a module in a process of its own, and read what it found."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.proofs.coordination.{module}", json.dumps(order)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, object] = json.loads(done.stdout)
    return found


def check(found: dict[str, object], about: str, figures: Figures) -> None:
    """Refuse whatever is wrong, and note the figures."""
    wrong = found.pop("wrong")
    figures(about, found)

    assert wrong == []


@pytest.mark.parametrize("what", COUNTS)
def test_of_many_processes_each_is_given_what_nobody_else_holds(
    what: str, memory: Path, figures: Figures
) -> None:
    found = run(what, memory / "c.sqlite", COUNTS[what], RACERS)

    check(found, f"{RACERS} processes race {what}, SQLite in memory", figures)


@pytest.mark.parametrize("what", DISK_COUNTS)
def test_of_many_processes_on_a_disk_each_is_given_what_nobody_else_holds(
    what: str, tmp_path: Path, figures: Figures
) -> None:
    found = run(what, tmp_path / "shared" / "c.sqlite", DISK_COUNTS[what], RACERS)

    check(found, f"{RACERS} processes race {what}, SQLite on disk", figures)


@pytest.mark.server
@pytest.mark.parametrize("what", SERVER_COUNTS)
def test_of_many_clients_of_a_server_each_is_given_what_nobody_else_holds(
    what: str, database: MigratedDatabase, project: str, figures: Figures
) -> None:
    found = run(what, database.url(), SERVER_COUNTS[what], RACERS, project=project)

    check(found, f"{RACERS} processes race {what}, PostgreSQL", figures)


# --- histories --------------------------------------------------------------------------------------


@pytest.mark.requirement("C79", "C82")
def test_histories_with_kills_and_stopped_processes_have_an_order(memory: Path, figures: Figures) -> None:
    found = run("histories", memory / "c.sqlite", proof_count(fast=3, ci=30, long=20_000), 8)

    assert int(str(found["kills"])) > 0
    check(found, "histories, SQLite", figures)


@pytest.mark.server
@pytest.mark.requirement("C79", "C82")
def test_histories_of_a_server_that_is_restarted_have_an_order(
    own_postgres: Postgres, figures: Figures
) -> None:
    database = MigratedDatabase(own_postgres.address, "postgres")
    migrate(database.url("postgres"))

    found = run(
        "histories",
        database.url(),
        proof_count(fast=1, ci=3, long=300),
        8,
        server=str(own_postgres.address.folder),
        admin=database.url("postgres"),
    )

    check(found, "histories, PostgreSQL restarted in each", figures)


@pytest.mark.server
@pytest.mark.requirement("C78", "C79")
def test_histories_in_which_another_server_takes_over_have_an_order(
    postgres_pair: tuple[Postgres, Postgres], figures: Figures
) -> None:
    """What one server acknowledged is on the other; whoever was not told repeats the call there."""
    primary, follower = postgres_pair
    migrate(primary.address.url())
    count = proof_count(fast=1, ci=3, long=500)
    hosts = ",".join(str(server.address.folder) for server in postgres_pair)

    found = run(
        "histories",
        f"postgresql://{APP}@/postgres?host={hosts}&port={PORT}",
        count,
        8,
        server=str(primary.address.folder),
        standby=str(follower.address.folder),
        admin=f"postgresql://{ADMIN}@/postgres?host={hosts}&port={PORT}&target_session_attrs=read-write",
    )

    assert found["failovers"] == count
    check(found, "histories, PostgreSQL, another server takes over in each", figures)


@pytest.mark.parametrize(
    ("fault", "said"), [("no fences", "a stale holder"), ("no lifetimes", "two holders")]
)
def test_the_checker_finds_a_coordinator_without(memory: Path, fault: str, said: str) -> None:
    found = run("histories", memory / "c.sqlite", 6, 8, fault=fault)

    assert said in str(found["wrong"])
