"""Citus: a coordinator and workers on ports of this machine, from what `scripts/build-citus` made."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psycopg

from tests.clusters.programs import as_nobody, find_port, kill_server
from tests.stores.servers import ADMIN, APP

DATABASE: Final = "passdown"
SHARDS: Final = 32


class Server:
    """One server of the cluster, or a plain one."""

    def __init__(self, folder: Path, programs: Path, *, has_citus: bool) -> None:
        """Make it and start it."""
        self._data, self._programs = folder, programs
        self.port = find_port()
        self._run(
            "initdb", "--no-sync", "--auth=trust", f"--username={ADMIN}", "--encoding=UTF8", "--locale=C"
        )
        settings = {
            "listen_addresses": "'127.0.0.1'",
            "port": self.port,
            "unix_socket_directories": "''",
            "max_connections": 300,
            "max_prepared_transactions": 300,
            "citus.max_cached_conns_per_worker": 1,
            "shared_preload_libraries": "'citus'",
        }
        lines = [
            f"{name} = {value}"
            for name, value in settings.items()
            if has_citus or "citus" not in f"{name}{value}"
        ]
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        self.start()
        self.run(f"CREATE DATABASE {DATABASE}", database="postgres")
        if has_citus:
            self.run("CREATE EXTENSION citus")

    def url(self, user: str = ADMIN, database: str = DATABASE) -> str:
        """Return the address of the database for a user."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._run("pg_ctl", "-w", "-s", "-l", str(self._data / "log"), "start")

    def kill(self) -> None:
        """Kill it as a power failure would."""
        kill_server(self._data)

    def stop(self) -> None:
        """Stop it."""
        self._run("pg_ctl", "-s", "-m", "immediate", "stop")

    def run(self, statement: str, *, database: str = DATABASE) -> list[tuple[object, ...]]:
        """Execute a statement as administrator."""
        with psycopg.connect(self.url(database=database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _run(self, program: str, *words: str) -> None:
        as_nobody(str(self._programs / program), "-D", str(self._data), *words)


class Citus:
    """A coordinator and its workers."""

    def __init__(self, folder: Path, programs: Path, workers: int) -> None:
        """Make them, and let the coordinator know its workers."""
        names = ["coordinator", *(f"worker-{number}" for number in range(workers))]
        self.coordinator, *self.workers = (Server(folder / name, programs, has_citus=True) for name in names)
        self.coordinator.run(f"SELECT citus_set_coordinator_host('127.0.0.1', {self.coordinator.port})")
        for worker in self.workers:
            self.coordinator.run(f"SELECT citus_add_node('127.0.0.1', {worker.port})")
        self.coordinator.run(f"ALTER DATABASE {DATABASE} SET citus.shard_count = {SHARDS}")

    def url(self, user: str = APP) -> str:
        """Return where clients connect."""
        return self.coordinator.url(user)

    def stop(self) -> None:
        """Stop all."""
        for one in (self.coordinator, *self.workers):
            one.stop()


@contextmanager
def make_folder() -> Generator[Path, None, None]:
    """Make a folder for servers, which run as a user without rights where we are root."""
    folder = tempfile.mkdtemp(prefix="pd-")
    if os.geteuid() == 0:
        subprocess.run(["chown", "nobody", folder], check=True)
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def started_citus(programs: Path, workers: int = 2) -> Generator[Citus, None, None]:
    """Give a cluster that is stopped and removed afterwards."""
    with make_folder() as folder:
        cluster = Citus(folder, programs, workers)
        try:
            yield cluster
        finally:
            cluster.stop()


@contextmanager
def started_plain(programs: Path) -> Generator[Server, None, None]:
    """Give one server with the same PostgreSQL and settings."""
    with make_folder() as folder:
        server = Server(folder / "plain", programs, has_citus=False)
        try:
            yield server
        finally:
            server.stop()
