"""What services need from the files in which a host records a session."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from passdown.core.hosts.transcripts import MAX_LINE


class TranscriptFile(NamedTuple):
    """A file that a host wrote."""

    path: str
    """Its path below the folder that was listed, with ``/``."""
    size: int
    """Its size in bytes."""
    changed: datetime
    """When it was last written."""


class Transcripts(Protocol):
    """Files that a host appends to while we read them."""

    def find(self, patterns: Sequence[str]) -> Sequence[str]:
        """Return the paths of all files that match a pattern, sorted; ``*`` stands for any name."""
        ...

    def list(self, folder: str) -> Sequence[TranscriptFile]:
        """Return the regular files below a folder, at any depth, sorted by path; a missing one has none.

        The folder itself may be a link; no link below it is followed.
        """
        ...

    def size(self, path: str) -> int:
        """Return the size of a file in bytes; 0 if it is missing."""
        ...

    def await_line(self, path: str, offset: int, is_it: Callable[[bytes], bool]) -> None:
        """Wait briefly for a matching line after an offset; return when it is there or time is up."""
        ...

    def read(self, path: str, offset: int, most: int = MAX_LINE) -> bytes:
        """Return the content of a file from an offset, at most that many bytes.

        It is empty at the file's end, or if the file is missing. Raises a StorageError if the file exists but
        cannot be read.
        """
        ...
