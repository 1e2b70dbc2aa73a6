"""The journals of a project: one for each session, shared by all its checkouts. An index of ended ones."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Protocol

from passdown.core.formats.journal import JournalLine, Scope
from passdown.records import record


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

    def mentioning(self, scope: Scope, *texts: str, keys: Iterable[str] | None = None) -> Sequence[str]:
        """Return the sessions whose journal contains one of these texts in JSON form, sorted.

        No line is parsed, so a journal that does not match costs next to nothing. One that was archived is
        found by its keys (`core.sessions.journal_keys`): one of these, or of the texts if there are none.
        Its other texts are not searched, and the keys are only
        made if a journal was archived. More sessions may be named than are meant, but no fewer.
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

    def put_away(self, session: str, seq: int) -> bool:
        """Take the journal of an ended session out of the live ones; return whether that worked (C129).

        Nothing changes if its last line has another number, if another process uses it, or where nothing can
        be renamed. When a line is added, it becomes live again first, and its numbers go on.
        """
        ...


@record
class EndedJournal:
    """What an index knows of a journal that was archived."""

    folder: Annotated[str, "The year and month of its folder."]
    name: Annotated[str, "The name of its file."]
    size: Annotated[int, "The size of the file in bytes, by which a change is noticed."]
    keys: Annotated[frozenset[str], "Everything by which it is looked up."] = frozenset()


class EndedIndex(Protocol):
    """Which journals were archived, and by what they are found (C129).

    It may be lost at any time; a journal that it does not know is read instead.
    """

    def folders(self) -> Mapping[str, int]:
        """Return the folders of which every journal is known, with their marks from that time."""
        ...

    def journals(self, folder: str) -> Mapping[str, int]:
        """Return the names of the known journals of a folder, with their sizes."""
        ...

    def names(self) -> Sequence[str]:
        """Return the names of all known journals."""
        ...

    def mentioning(self, keys: Iterable[str]) -> Sequence[str]:
        """Return the names of the known journals that have one of the keys."""
        ...

    def changing(self) -> AbstractContextManager[None]:
        """Keep other writers out, and make all changes or none."""
        ...

    def learn(self, journal: EndedJournal) -> None:
        """Know a journal, in place of what was known of its name."""
        ...

    def forget(self, name: str) -> None:
        """Forget a journal that is no longer archived."""
        ...

    def note_complete(self, folder: str, mark: int) -> None:
        """Remember that every journal of a folder with this mark is known."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...
