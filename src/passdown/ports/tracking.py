"""What services need to know about git's index: which files it tracks."""

from collections.abc import Sequence
from typing import Protocol

from passdown.core.project.tracked_paths import TrackedPaths


class Tracking(Protocol):
    """The files of one checkout that git tracks. Paths are relative to the project's root, with ``/``."""

    def tracked(self, folder: str) -> TrackedPaths:
        """Return what git tracks of a folder, staged files included; nothing without git.

        Usually this only reads git's index, and reads it again only after it has changed. If the index cannot
        be read and git does not answer, the result says so. Raises a UsageError in a bare repository.
        """
        ...

    def names(self) -> Sequence[str] | None:
        """Return the paths of all files below the root that git tracks; None without git, or if unknown."""
        ...
