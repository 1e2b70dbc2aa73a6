"""What services ask of other programs: whether one is there, and to run it."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Outcome(NamedTuple):
    """How a program ended, and what it said."""

    code: int
    text: str

    @property
    def is_done(self) -> bool:
        """Whether it did what it was asked."""
        return self.code == 0


class Programs(Protocol):
    """The programs of this machine that a person could start."""

    def find(self, name: str) -> str:
        """Give the path of the program that a shell would start under that name; empty if there is none."""
        ...

    def run(self, command: Sequence[str]) -> Outcome:
        """Run a program to its end, with nothing to read and without a shell.

        It is stopped when it takes too long. One that cannot be started, or was stopped, is an outcome that
        is not done, with a text that says why.
        """
        ...
