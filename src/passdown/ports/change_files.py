"""The states and loop ledgers of changes: cheap to check, read as a whole, only ever appended to."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from passdown.ports.event_log import FileMark

NO_CHANGES: Final = -1
"""The mark of a folder of changes that does not exist."""


class ChangeFiles(Protocol):
    """The changes of one checkout; file paths are relative to the change's folder, with ``/``.

    Symbolic links are neither followed nor listed. A file that disappears during a call counts as missing.
    """

    def mark(self) -> int:
        """Return a mark that changes when a change is added or removed; `NO_CHANGES` if there are none.

        0 means that the folder changed so recently that its next change might go unnoticed.
        """
        ...

    def changes(self) -> Sequence[str]:
        """Return the names of all changes, sorted."""
        ...

    def files(self, change: str) -> Mapping[str, FileMark]:
        """Return the state and the loop ledgers of a change, each with its mark."""
        ...

    def read(self, change: str, name: str) -> bytes | None:
        """Return the whole content of a file, or None if it is gone or cannot be read."""
        ...

    def append(self, change: str, name: str, make: Callable[[bytes], bytes]) -> bytes:
        """Append what a function makes from a file's content, in a single write; return what was appended.

        A missing file is created. Nobody else can append in the meantime, and existing content never changes.
        When it returns, the appended bytes survive a power cut. Raises a StorageError if the file cannot be
        read or written; then nothing is appended.
        """
        ...
