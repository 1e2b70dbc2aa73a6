"""What services ask about processes: whether the host of a session still lives."""

from typing import Protocol

from passdown.core.accounts import Process


class Processes(Protocol):
    """The processes of this machine."""

    def find_host(self) -> Process:
        """Give the process that started us, and that lives as long as its agent; empty if nobody knows."""
        ...

    def is_alive(self, process: Process) -> bool | None:
        """Say whether a process still runs, the same one and not another with its number; None if unknown."""
        ...
