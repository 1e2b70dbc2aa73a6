"""Open what the sessions of a project share."""

import json
from typing import TYPE_CHECKING, Final

from passdown.core.coordination.leases import Lifetimes
from passdown.core.sessions.session_facts import HostProcess
from passdown.engines.coordination.coordinator import Coordinator

if TYPE_CHECKING:
    from passdown.ports.coordination import Coordination
    from passdown.ports.process import Processes
    from passdown.settings import Settings

LOCAL: Final = "local"
"""The key of a project that has none (C74)."""


def open_coordination(path: str, settings: "Settings", processes: "Processes") -> "Coordination":
    """Open the engine that the settings name: SQLite in the clone, unless there is a server."""
    from passdown.engines.boot import SystemBootClock
    from passdown.engines.sqlite.coordination import LocalMachine, open_store
    from passdown.engines.system import SystemClock

    def is_running(process: str) -> bool | None:
        pid, started, boot = json.loads(process)
        return processes.is_alive(HostProcess(pid, started, boot))

    machine = LocalMachine(boot_clock=SystemBootClock(), clock=SystemClock(), is_running=is_running)
    store = open_store(path, LOCAL, machine)
    return Coordinator(store, "SQLite, this clone and its worktrees", make_lifetimes(settings))


def make_lifetimes(settings: "Settings") -> Lifetimes:
    """Return how long leases live, by the settings."""
    del settings
    return Lifetimes()
