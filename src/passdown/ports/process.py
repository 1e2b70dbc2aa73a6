"""What services need to know about processes: whether a session's host is still running."""

from typing import Protocol

from passdown.core.sessions.session_facts import HostProcess


class Processes(Protocol):
    """The processes of this machine."""

    def find_host(self) -> HostProcess:
        """Return the process that started us and lives as long as its agent; empty if unknown."""
        ...

    def is_alive(self, process: HostProcess) -> bool | None:
        """Return whether this process, and not another one with its number, is running; None if unknown."""
        ...
