"""The journals of a project: one for each session, shared by all its checkouts."""

from collections.abc import Callable, Sequence
from typing import Protocol

from passdown.core.formats.journal import JournalLine, Scope


class Journals(Protocol):
    """Append-only files of facts. All StorageErrors carry a hint.

    A question about many journals says which ones it means. One about a single session means its journal,
    wherever it is.
    """

    def sessions(self, scope: Scope) -> Sequence[str]:
        """Return the sessions that have a journal, sorted by name."""
        ...

    def read(self, session: str) -> Sequence[JournalLine]:
        """Return the readable lines of a session, sorted by number; none if it has no journal.

        Lines stored in several places are joined; incomplete and damaged lines are left out.
        """
        ...

    def last(self, session: str) -> JournalLine | None:
        """Return the line with the highest number, or None if there is none.

        The cost does not depend on the length of the journal.
        """
        ...

    def mentioning(self, scope: Scope, *texts: str) -> Sequence[str]:
        """Return the sessions whose journal contains one of these texts in JSON form, sorted.

        No line is parsed, so a journal that does not match costs next to nothing.
        """
        ...

    def append(
        self, session: str, make: Callable[[int], JournalLine], *, durable: bool = True
    ) -> JournalLine:
        """Add one line, made for the next free number; when it returns, the line survives a power cut.

        Without `durable` it may not survive, so nothing may rely on it.

        Concurrent writers get different numbers. While a line is made, nobody else can add one if the file
        system has locks. Raises a StorageError if nothing was written, and an UnsureError if it was
        written but may not be durable. If `make` raises, its error is passed on and nothing is written.
        """
        ...

    def extend(
        self, session: str, make: Callable[[int], Sequence[JournalLine]], *, alone: bool = False
    ) -> Sequence[JournalLine]:
        """Add lines in one write, made for consecutive numbers from the next free one; there may be none.

        The promises of `append` hold for all lines. After a crash, possibly only the first ones are there.

        With `alone`, no other process can make or add lines meanwhile. Raises a StorageError, without calling
        `make`, if the journal cannot be locked in time.
        """
        ...

    def changed(self, session: str) -> int:
        """Return when a journal last grew, in nanoseconds of the file system's clock; 0 if there is none."""
        ...
