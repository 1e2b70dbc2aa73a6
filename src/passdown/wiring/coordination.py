"""Open what the sessions of a project share."""

import json
from typing import TYPE_CHECKING, Final

from passdown.core.coordination.leases import Lifetimes
from passdown.core.sessions.session_facts import HostProcess
from passdown.engines.coordination.coordinator import Coordinator
from passdown.errors import StorageError
from passdown.wiring.projects import find_coordination_url

if TYPE_CHECKING:
    from passdown.engines.coordination.transactions import Store
    from passdown.engines.sqlite.coordination import LocalMachine
    from passdown.ports.coordination import Coordination
    from passdown.ports.process import Processes
    from passdown.settings import Settings

LOCAL: Final = "local"
"""The key of a project that has none (C74)."""


def open_coordination(path: str, settings: "Settings", processes: "Processes") -> "Coordination":
    """Open the engine that the settings name: SQLite in the clone, unless there is a server (C76)."""
    url = find_coordination_url(settings)
    if url is None:
        hint = "Set `engine` below [coordination] to auto."
        raise StorageError("coordination is off in this project", hint=hint)
    if url:
        scheme = url.partition(":")[0]
        hint = "Unset the URL to coordinate through a file in git's folder."
        raise StorageError(f"there is no engine for {scheme} URLs in this version", hint=hint)
    return _open_sqlite(path, settings, processes)


def open_for_reading(path: str, settings: "Settings", processes: "Processes") -> "Coordination | None":
    """Open the file of the clone to be looked at; None if sessions coordinate elsewhere, or not at all."""
    if find_coordination_url(settings) != "":
        return None
    from passdown.engines.sqlite.coordination import open_reader

    return _coordinate(open_reader(path, LOCAL, _find_machine(processes)), settings)


def _open_sqlite(path: str, settings: "Settings", processes: "Processes") -> "Coordination":
    from passdown.engines.sqlite.coordination import open_store

    return _coordinate(open_store(path, LOCAL, _find_machine(processes)), settings)


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
