"""What services need to know about processes: whether the host of a session is still running."""

from typing import Protocol

from passdown.core.sessions.session_facts import HostProcess


class Processes(Protocol):
    """The processes of this machine."""

    def find_host(self) -> HostProcess:
        """Return the process that started us and lives as long as its agent; empty if it is unknown."""
        ...

    def is_alive(self, process: HostProcess) -> bool | None:
        """Return whether this process, not another with the same number, still runs; None if unknown."""
        ...
