"""What services need to know about the files that git tracks and the files in the last commit."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from passdown.core.project.tracked_paths import TrackedPaths


class Tracking(Protocol):
    """The files of one checkout that git tracks. Paths are relative to the project's root, with ``/``."""

    def tracked(self, folder: str) -> TrackedPaths:
        """Return the tracked files in a folder, including staged ones; nothing without git.

        Usually this only reads git's index, and only again after the index has changed. If the index cannot
        be read and git does not answer, the result says so. Raises a UsageError in a bare repository.
        """
        ...

    def names(self, start: str = "") -> Sequence[str] | None:
        """Return the paths of all files below the root that git tracks; None without git, or if unknown.

        With an ASCII start, other paths than those that begin with it, in upper or lower case, and those that
        are not ASCII, may be left out.
        """
        ...

    def committed_among(self, paths: Sequence[str]) -> frozenset[str]:
        """Return the paths that are files in the last commit, without links and submodules.

        Starts git. The result is empty before the first commit and without git.
        """
        ...

    def entries(self, folders: Sequence[str]) -> Mapping[str, str]:
        """Return the ids of everything that the last commit has directly in these folders, by path.

        The path of a folder ends in ``/``; its id is the same as long as it holds the same. Links and
        submodules are left out. Starts git. The result is empty before the first commit and without git.
        """
        ...
