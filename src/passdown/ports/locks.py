"""Locks by name that end with whoever holds them."""

from contextlib import AbstractContextManager
from typing import Protocol


class Locks(Protocol):
    """Locks that all checkouts of a clone share."""

    def held(self, name: str, wait: float) -> AbstractContextManager[bool]:
        """Hold a lock as long as the context lasts; its value is whether that worked within `wait` seconds.

        A lock ends with the process that holds it. Programs that `handles` were passed to hold it, too, so
        it outlives a killed process until what that started has ended. Where nothing can be locked,
        everybody is told that it worked.
        """
        ...

    def handles(self) -> tuple[int, ...]:
        """Return the open files of the locks that are held, to be passed to programs that are started."""
        ...
