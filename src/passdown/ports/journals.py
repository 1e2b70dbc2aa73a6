"""The journals of a project: one for each session, shared by all its checkouts."""

from collections.abc import Callable, Sequence
from typing import Protocol

from passdown.core.journal import JournalLine


class Journals(Protocol):
    """Append-only files of facts. All StorageErrors carry a hint."""

    def sessions(self) -> Sequence[str]:
        """Name the sessions that have a journal, in the order of their names."""
        ...

    def read(self, session: str) -> Sequence[JournalLine]:
        """Give the lines of a session that can be read, by their numbers; none without a journal.

        Lines that lie in several places are joined; a torn or damaged line is left out.
        """
        ...

    def last(self, session: str) -> JournalLine | None:
        """Give the line with the highest number; None without one.

        It costs the same however long the journal is.
        """
        ...

    def mentioning(self, *texts: str) -> Sequence[str]:
        """Name the sessions whose journal holds one of these texts, as JSON writes it, in order.

        No line is read for it, so that one which need not be read costs next to nothing.
        """
        ...

    def append(self, session: str, make: Callable[[int], JournalLine]) -> JournalLine:
        """Add one line, made for the next free number; when it returns, the line survives a power cut.

        Of several writers at once each gets a number of its own. While a line is made nobody else adds one,
        where the file system has locks. Raises a StorageError when nothing was written; what `make` raises is
        raised, and nothing is written.
        """
        ...

    def extend(self, session: str, make: Callable[[int], Sequence[JournalLine]]) -> Sequence[JournalLine]:
        """Add lines by one write, made for the numbers from the next free one on; there may be none.

        The promises of `append` hold for them all. Cut off by a crash, the first of them may be there.
        """
        ...

    def changed(self, session: str) -> int:
        """Tell when a journal last grew, in nanoseconds of the file system's clock; 0 without one."""
        ...
