"""What services need to know about the names of files: which exist, and where links lead."""

from collections.abc import Sequence
from typing import Protocol


class FileNames(Protocol):
    """The names of files on this machine. Paths are absolute, with ``/``; nothing is opened or changed."""

    def list_names(self, path: str) -> Sequence[str]:
        """Return the names of what a path leads to, which need not exist.

        The first is the path without ``.`` and ``..``. Each link on the way adds the name that the path has
        when those before it are followed, and the last one has no links. A link that leads nowhere, or in
        circles, is followed as far as it leads.
        """
        ...

    def exists(self, path: str) -> bool:
        """Return whether something has exactly this path, also a link that leads nowhere."""
        ...

    def is_folder(self, path: str) -> bool:
        """Return whether the path leads to a folder."""
        ...
