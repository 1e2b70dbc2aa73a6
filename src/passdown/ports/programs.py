"""What services need from other programs: to find and run them, and whether a process still runs."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from passdown.core.sessions.session_facts import HostProcess

NOT_STARTED: Final = -1001
TIMED_OUT: Final = -1002
"""Codes of programs that did not end by themselves; other negative codes are signals."""


class ProgramResult(NamedTuple):
    """The exit code and output of a program."""

    code: int
    text: str
    errors: str = ""
    """Its output to stderr, if that is not part of the text."""

    @property
    def is_done(self) -> bool:
        """Whether the program succeeded."""
        return self.code == 0


class Programs(Protocol):
    """The programs on this machine that the user could start."""

    def find(self, name: str) -> str:
        """Return the path of the program that a shell would run under that name; empty if there is none."""
        ...

    def run(self, command: Sequence[str]) -> ProgramResult:
        """Run a program to its end, without input and without a shell.

        A program that takes too long is stopped, with the programs that it started. If it could not be
        started, or was stopped, the result is not done and its text is the reason. A long output loses its
        middle.
        """
        ...


class Processes(Protocol):
    """The processes of this machine."""

    def find_host(self) -> HostProcess:
        """Return the process that started us and lives as long as its agent; empty if unknown."""
        ...

    def is_alive(self, process: HostProcess) -> bool | None:
        """Return whether this process, and not another one with its number, is running; None if unknown."""
        ...
