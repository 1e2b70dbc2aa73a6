"""What services ask of a checkout's own record: what was committed and changed here since an instant."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol, runtime_checkable


@runtime_checkable
class Works(Protocol):
    """The work that was done in one checkout. Git missing or unwilling is an answer, not an error."""

    def commits_since(self, at: datetime) -> Sequence[str]:
        """Give the ids of the commits that were made in this checkout since, the oldest first.

        What was fetched, checked out or amended away is not among them. Reads files only.
        """
        ...

    def files_since(self, at: datetime) -> Sequence[str]:
        """Give the files below the root that those commits changed, and those that differ and are newer.

        Paths are written from the root with ``/``; what git ignores is left out. Starts git.
        """
        ...
