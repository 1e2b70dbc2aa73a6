"""How services read and replace whole files below one root."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol


class Documents(Protocol):
    """The files below one root folder, named by their path relative to it, with ``/`` on every system.

    Every method that takes a path raises a StorageError if the path leads out of the root. Symbolic links
    below the root are never followed, wherever they lead. All StorageErrors carry a hint.
    """

    def read(self, path: str, *, settled: bool = False) -> bytes:
        """Return the whole content of a file.

        With `settled`, for files that people edit, it never returns half of what a program is writing; if the
        program keeps writing for too long, it raises a StorageError.

        Raises a StorageError if there is no such file, if it cannot be read, if it is larger than any file of
        its kind may be, if a link is in its path, or if it is not a regular file (a folder, a FIFO, a
        device), in which case it does not block.
        """
        ...

    def list(self, folder: str, *, apart_from: Collection[str] = ()) -> Iterator[str]:
        """List the regular files below a folder, at any depth, as paths that `read` accepts.

        Paths are sorted as text, so the order is the same on every system. ``""`` is the root. The list
        leaves out symbolic links of any kind, our own unfinished writes, and everything named ``.git``,
        ``node_modules`` or ``.venv``. Folders in `apart_from` are not opened. A missing folder is empty.
        Raises a StorageError if the folder cannot be read, if it is a file, or if a link is in its path.
        """
        ...

    def replace(
        self,
        path: str,
        data: bytes,
        *,
        local: bool = False,
        expected: bytes | None = None,
        durable: bool = True,
    ) -> None:
        """Replace the content of a file with exactly these bytes, creating folders as needed.

        A local file, and a folder created for it, is accessible only to its owner.

        `expected`, for files that people edit, is the content when the file was last read. If the file holds
        anything else when it is replaced, or if a program keeps writing to the displaced file, nothing is
        lost: `displaced` returns that content.

        When it returns, the bytes survive a power cut. Readers, even after a crash, find the old content or
        the new, never a mixture. Without `durable`, for what can be made again, only a power cut may leave
        the old content, or an empty file. Raises a StorageError if the file cannot be written, if it is not a
        regular file, or if a link is in its path.
        """
        ...

    def displaced(self, path: str, seen: Collection[bytes] = ()) -> Sequence[bytes]:
        """Return the unexpected content that `replace` displaced from a file, oldest first.

        It is returned, even after a crash and to other processes, until it is named in `seen`. What a program
        is still writing is returned by a later call, as a whole.
        """
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Create a file; return False if anything already has that path. Otherwise like `replace`.

        A file that starts with ``#!`` is made executable.
        """
        ...

    def remove(self, path: str, data: bytes, *, kept: bool = False, durable: bool = True) -> bool:
        """Remove a file that holds exactly these bytes; return False if its content differs or it is missing.

        With `kept`, for files that people edit, anything written to it at that moment is not lost, but
        returned by `displaced`.

        Used for files that the archive already holds, for our marker files, and for our files that the user
        asked to remove. Without `durable`, a power cut may bring it back. Raises a StorageError if the file
        cannot be removed, or if a link is in its path.
        """
        ...

    def folders(self, folder: str) -> Mapping[str, int]:
        """Return the folders directly in a folder by name, sorted, each with a mark.

        The mark is the time when its list of names last changed, in nanoseconds since 1970. Links to folders
        are left out. A folder that is missing or cannot be read has none.
        """
        ...

    def exists(self, path: str) -> bool:
        """Return whether the path is a file or folder that can be reached; a link cannot."""
        ...

    def is_folder(self, path: str) -> bool:
        """Return whether the path is a folder."""
        ...

    def size(self, path: str) -> int:
        """Return the size of a file in bytes; raise a StorageError if there is no such file."""
        ...
