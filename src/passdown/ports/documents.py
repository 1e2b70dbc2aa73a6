"""How services read and replace whole files below one root."""

from collections.abc import Iterator, Sequence
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

    def replace(self, path: str, data: bytes, *, local: bool = False) -> None:
        """Make a file hold exactly these bytes; folders are made on demand.

        A local file, and a folder made for it, is for its owner alone.

        When it returns, the bytes survive a power cut. Readers, and whoever looks after a crash, find the old
        content or the new, never a mixture. Raises a StorageError if it cannot be written, if it is not a
        regular file, or if a link on the way leads out of the root.
        """
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Make a file that must not exist; False if anything is in its place. Otherwise like `replace`."""
        ...

    def remove(self, path: str, data: bytes) -> bool:
        """Remove a file that holds exactly these bytes; False if it holds others, or is not there.

        Only the archiver calls it, for what the archive holds already, and whoever takes a mark of ours away
        that says nothing but that it is there. Raises a StorageError if the file
        cannot be removed, or if a link on the way leads out of the root.
        """
        ...

    def folders(self, folder: str) -> Sequence[str]:
        """Name the folders that lie directly in a folder, in order, by their last part alone.

        Links to folders are left out. A folder that is missing or cannot be read holds none.
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
