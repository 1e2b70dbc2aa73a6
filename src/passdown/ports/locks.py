"""Named locks that end with the process that holds them."""

from contextlib import AbstractContextManager
from typing import Protocol


class Locks(Protocol):
    """Locks that all checkouts of a clone share."""

    def held(self, name: str, wait: float) -> AbstractContextManager[bool]:
        """Hold a lock for the duration of the context; its value says whether that worked in `wait` seconds.

        A lock ends with the process that holds it. Programs that were given `handles` hold it too, so it
        outlives a killed process until those programs have ended. If the file system has no locks, every
        caller gets the lock.
        """
        ...

    def handles(self) -> tuple[int, ...]:
        """Return the open files of the held locks, to pass to programs that are started."""
        ...
