"""How services read and replace whole files below one root."""

from collections.abc import Iterator
from typing import Protocol


class Documents(Protocol):
    """The files below one root folder, named by their path from it, with ``/`` on every system.

    Every method that takes a path raises a StorageError for one that leads out of the root. All StorageErrors
    carry a hint.
    """

    def read(self, path: str) -> bytes:
        """Give the whole content of a file. A symbolic link to a file is followed.

        Raises a StorageError if there is no such file, if it cannot be read, and, without waiting, if it is
        not a regular file (a folder, a FIFO, a device).
        """
        ...

    def list(self, folder: str) -> Iterator[str]:
        """Name the regular files below a folder, at any depth, each so that `read` takes it.

        The order is that of the whole paths as text: the same on every system. ``""`` is the root. Left out
        are symbolic links of any kind, our own unfinished writes, and everything called ``.git``,
        ``node_modules`` or ``.venv``. A folder that is missing holds nothing. Raises a StorageError for a
        folder that cannot be read, or for a file in its place.
        """
        ...

    def replace(self, path: str, data: bytes) -> None:
        """Make a file hold exactly these bytes; folders are made on demand.

        When it returns, the bytes survive a power cut. Readers, and whoever looks after a crash, find the old
        content or the new, never a mixture. Raises a StorageError if it cannot be written, if it is not a
        regular file, or if a link on the way leads out of the root.
        """
        ...

    def exists(self, path: str) -> bool:
        """Say whether the path names a file or folder that can be reached."""
        ...

    def is_folder(self, path: str) -> bool:
        """Say whether the path names a folder."""
        ...

    def size(self, path: str) -> int:
        """Give the size of a file in bytes; raises a StorageError if there is no such file."""
        ...
