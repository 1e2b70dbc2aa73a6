"""Open what the sessions of a project share."""

import importlib.util
import json
from typing import TYPE_CHECKING, Final, NamedTuple

from passdown.core.coordination.leases import Lifetimes
from passdown.core.sessions.session_facts import HostProcess
from passdown.engines.coordination.coordinator import Coordinator
from passdown.errors import StorageError, UsageError
from passdown.wiring.projects import find_coordination_url

if TYPE_CHECKING:
    from passdown.engines.coordination.transactions import Store
    from passdown.engines.sqlite.coordination import LocalMachine
    from passdown.ports.coordination import Coordination
    from passdown.ports.process import Processes
    from passdown.settings import Settings

_POSTGRES: Final = ("postgresql", "postgres")
LOCAL: Final = "local"
"""The name of the project in the file of a clone; behind a `/` the root's path in the repository (C74).

A key in `passdown.toml` does not change it: worktrees of one clone may have branches with the key and without
it, and must not grant the same task twice.
"""


class EngineFile(NamedTuple):
    """The database of a clone, and where the project is in its repository."""

    path: str
    below: str = ""
    wait: float | None = None
    """Seconds to wait for other writers; None is the default."""

    @property
    def project(self) -> str:
        """The name of the project in the database."""
        return f"{LOCAL}/{self.below}" if self.below else LOCAL


def open_coordination(file: EngineFile, settings: "Settings", processes: "Processes") -> "Coordination":
    """Open the engine that the settings name: SQLite in the clone, unless there is a server (C76)."""
    url = find_coordination_url(settings)
    if url is None:
        hint = "Set `engine` below [coordination] to auto."
        raise StorageError("coordination is off in this project", hint=hint)
    if url and not settings.project.key:
        hint = "`passdown team init` draws one; commit it, so that every clone has it"
        raise UsageError("a project needs a key to coordinate through a server", hint=hint)
    return _open_postgres(url, settings) if url else _open_sqlite(file, settings, processes)


def migrate_server(settings: "Settings", url: str) -> int:
    """Bring the tables of a server up to date, with the role that owns them; return their version."""
    url = url or find_coordination_url(settings) or ""
    if not url:
        hint = "Set `url` below [coordination] in your settings file, or give --url."
        raise UsageError("no server is named", hint=hint)
    _require_server(url)
    from passdown.engines.postgres.migrate import migrate

    return migrate(url).after


def _open_postgres(url: str, settings: "Settings") -> "Coordination":
    _require_server(url)
    from passdown.engines.postgres.coordination import open_store

    store = open_store(url, settings.project.key)
    return Coordinator(store, f"PostgreSQL, {store.place}", make_lifetimes(settings))


def _require_server(url: str) -> None:
    """Raise a StorageError unless there is an engine for the URL, and the server answers at once (C86)."""
    scheme = url.partition(":")[0]
    if scheme not in _POSTGRES:
        hint = "Use a postgresql:// URL, or none to coordinate through a file in git's folder."
        raise StorageError(f"there is no engine for {scheme} URLs in this version", hint=hint)
    if importlib.util.find_spec("psycopg") is None:
        hint = "Install it: `uv tool install 'passdown[postgres]'` or `pip install 'passdown[postgres]'`."
        raise StorageError("the driver for PostgreSQL is not installed", hint=hint)
    from passdown.engines.postgres.reachability import (
        is_reachable,  # before the driver, which is slow to load
    )

    if not is_reachable(url):
        raise StorageError(
            "the server that sessions coordinate through does not answer",
            hint="Nothing was granted; try again when it is back.",
        )


def open_for_reading(file: EngineFile, settings: "Settings", processes: "Processes") -> "Coordination | None":
    """Open the file of the clone to be looked at; None if sessions coordinate elsewhere, or not at all."""
    if find_coordination_url(settings) != "":
        return None
    from passdown.engines.sqlite.coordination import open_reader

    return _coordinate(open_reader(file.path, file.project, _find_machine(processes)), settings)


def _open_sqlite(file: EngineFile, settings: "Settings", processes: "Processes") -> "Coordination":
    from passdown.engines.sqlite.coordination import open_store
    from passdown.engines.sqlite.database import WAIT_SECONDS

    wait = WAIT_SECONDS if file.wait is None else file.wait
    return _coordinate(open_store(file.path, file.project, _find_machine(processes), wait=wait), settings)


def _coordinate(store: "Store", settings: "Settings") -> "Coordination":
    return Coordinator(store, "SQLite, this clone and its worktrees", make_lifetimes(settings))


def _find_machine(processes: "Processes") -> "LocalMachine":
    from passdown.engines.boot import SystemBootClock
    from passdown.engines.sqlite.coordination import LocalMachine
    from passdown.engines.system import SystemClock

    def is_running(process: str) -> bool | None:
        pid, started, boot = json.loads(process)
        return processes.is_alive(HostProcess(pid, started, boot))

    return LocalMachine(boot_clock=SystemBootClock(), clock=SystemClock(), is_running=is_running)


def make_lifetimes(settings: "Settings") -> Lifetimes:
    """Return how long leases live, by the settings."""
    given = settings.coordination
    return Lifetimes(
        silent=given.lease_minutes * 60.0,
        unused=given.reservation_minutes * 60.0,
        orphaned=given.orphan_minutes * 60.0,
    )
