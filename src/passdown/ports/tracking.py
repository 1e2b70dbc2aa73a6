"""What services need to know about the files that git tracks, and those that the last commit has."""

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

    def committed_among(self, paths: Sequence[str]) -> frozenset[str]:
        """Return those of some paths that are files in the last commit; links and submodules are left out.

        Git is started. The result is empty before the first commit and without git.
        """
        ...
