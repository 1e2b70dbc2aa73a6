"""What services need to know about file names: which exist, and where links lead."""

from collections.abc import Sequence
from typing import Protocol


class FileNames(Protocol):
    """The names of files on this machine. Paths are absolute, with ``/``; nothing is opened or changed."""

    def list_names(self, path: str) -> Sequence[str]:
        """Return the names of the file that a path leads to; the file need not exist.

        The first is the path without ``.`` and ``..``. Each link on the way adds the path's name after
        following it and the links before it; the last name has no links. Dangling and circular links are
        followed as far as they lead.
        """
        ...

    def exists(self, path: str) -> bool:
        """Return whether something has exactly this path, even a dangling link."""
        ...

    def is_folder(self, path: str) -> bool:
        """Return whether the path leads to a folder."""
        ...
