"""What services need from the files in which a host records a session."""

from collections.abc import Callable, Sequence
from typing import Protocol


class Transcripts(Protocol):
    """Files that a host appends to while we read them."""

    def find(self, patterns: Sequence[str]) -> Sequence[str]:
        """Return the paths of all files that match a pattern, sorted; ``*`` stands for any name."""
        ...

    def size(self, path: str) -> int:
        """Return the size of a file in bytes; 0 if it is missing."""
        ...

    def await_line(self, path: str, offset: int, is_it: Callable[[bytes], bool]) -> None:
        """Wait briefly for a matching line after an offset; return when it is there or time is up."""
        ...

    def read(self, path: str, offset: int) -> bytes:
        """Return the content of a file from an offset, at most 32 MiB; empty at its end or if it is missing.

        Raises a StorageError if the file exists but cannot be read.
        """
        ...
