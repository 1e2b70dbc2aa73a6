"""The states and loop ledgers of changes: cheap to look at, read as a whole, only ever added to."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from passdown.ports.event_log import FileMark

NO_CHANGES: Final = -1
"""The mark of a folder of changes that does not exist."""


class ChangeFiles(Protocol):
    """The changes of one checkout; files are named from the folder of their change, with ``/``.

    No symbolic link is followed, and none is listed. What disappears during a call counts as missing.
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
        """Add to a file what a function makes of its content, in a single write; return what was added.

        The file is created if there is none. Nobody else can add to it in the meantime; what was there is
        never changed. When it returns, what was added survives a power cut. Raises a StorageError if it
        cannot be read or written; nothing is added then.
        """
        ...
