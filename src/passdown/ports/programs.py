"""What services need from other programs: whether one is installed, and to run it."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

NOT_STARTED: Final = -1001
TIMED_OUT: Final = -1002
"""Codes of programs that did not end by themselves; negative ones above these are signals."""


class ProgramResult(NamedTuple):
    """How a program ended, and its output."""

    code: int
    text: str
    errors: str = ""
    """What it wrote to stderr, where that is not part of the text."""

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

        A program that takes too long is stopped, with those that it started. One that could not be started,
        or was stopped, returns a result that is not done, with the reason as its text. Of a long output the
        middle is left out.
        """
        ...
