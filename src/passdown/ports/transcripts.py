"""What services ask of the files in which a host writes down a session."""

from collections.abc import Callable, Sequence
from typing import Protocol


class Transcripts(Protocol):
    """Files that a host adds to while we read."""

    def find(self, patterns: Sequence[str]) -> Sequence[str]:
        """Give the paths of the files that match any of the patterns, in order; ``*`` stands for any name."""
        ...

    def size(self, path: str) -> int:
        """Give how long a file is, in bytes; 0 without one."""
        ...

    def await_line(self, path: str, offset: int, is_it: Callable[[bytes], bool]) -> None:
        """Wait a moment for a line of a kind, from an offset on; go on without it when the moment is over."""
        ...

    def read(self, path: str, offset: int) -> bytes:
        """Give what a file holds from an offset on, at most 32 MiB of it; empty at its end, and without one.

        Raises a StorageError when it is there and cannot be read.
        """
        ...
