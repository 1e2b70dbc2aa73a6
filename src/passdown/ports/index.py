"""What was already merged from an event log, so that adding an event costs only that event."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from passdown.core.facts import Fact
from passdown.core.formats.journal import PublishedExtent
from passdown.core.merge.event_facts import EventFacts, EventRank
from passdown.core.merge.merge import Digest
from passdown.core.merge.named_files import NamedFiles
from passdown.ports.event_log import FileMark

EVERY: Final = 2_000_000_000
"""A limit that is never reached."""


class EventFile(NamedTuple):
    """A file that was read: its events, and how many of its entries could not be merged."""

    folder: str
    name: str
    mark: FileMark
    sources: tuple[EventFacts, ...]
    skipped: int


class LogChange(NamedTuple):
    """What changed since the last update: folders listed again, files gone, files read."""

    folders: Mapping[str, int | None]
    gone: Sequence[tuple[str, str]]
    found: Sequence[EventFile]
    unread: int = 0
    """How many files of the log are left to be read."""


class EventLocation(NamedTuple):
    """Where an event is stored: one of the files that hold it."""

    rank: EventRank
    branch: str
    type: str
    folder: str
    name: str
    is_retracted: bool
    ranked_at: datetime
    """Its rank; later than that of the events it came after, whatever its date."""
    cause: int
    """Orders events of one rank."""

    @property
    def order(self) -> tuple[datetime, int, EventRank]:
        """Its place in the order of all events."""
        return self.ranked_at, self.cause, self.rank


class NewestEvents(NamedTuple):
    """What a writer has read (C115); events are named by the start of their hashes."""

    present: datetime
    """What time it is, by the clock and the newest sessions."""
    at: datetime | None = None
    """The newest time that is followed: at most 24 hours beyond the present."""
    heads: tuple[str, ...] = ()
    """The events that no other comes after."""
    ahead: tuple[str, ...] = ()
    """Those that are dated further ahead, and that this session has not named so far."""


class Neighbourhood(NamedTuple):
    """What a session works on: files, a track and a branch; each may be empty."""

    files: tuple[str, ...] = ()
    track: str = ""
    branch: str = ""


class NearFacts(NamedTuple):
    """Decisions, rules and questions in force that are near a session's work (C132)."""

    facts: tuple[Fact, ...] = ()
    """Those that name one of the files, and those of the newest events of the track and the branch."""
    named: frozenset[tuple[str, str]] = frozenset()
    """Kind and text of those that name one of the files."""
    files: NamedFiles = NamedFiles()
    """How words name one of the files."""
    of_track: frozenset[str] = frozenset()
    """The hashes of the newest events of the track."""
    of_branch: frozenset[str] = frozenset()
    """The hashes of the newest events of the branch."""


NEAR_EVENTS: Final = 100
"""How many of the newest events of a track or branch are looked at for what is near."""
NEAR_FACTS: Final = 500
"""How many facts that name a file are found, the newest first."""
NEAR_SESSIONS: Final = 3
"""Of how many sessions the files are found."""


class RetractedFacts(Protocol):
    """What events say of a fact over time, and what they take back."""

    def said(self, kind: str, name: str) -> Sequence[Fact]:
        """Return all that events state and take back of one fact of a kind, the oldest first.

        It is named by what `core.facts.identify` gives. Events that are retracted say nothing.
        """
        ...

    def retracted(self, kind: str, texts: Collection[str]) -> frozenset[str]:
        """Return those of some texts that an event takes back as facts of this kind, and that do not hold."""
        ...


class EventContents(Protocol):
    """What events of which track state, and which files hold none."""

    def places_of(self, track: str, limit: int = EVERY) -> Sequence[EventLocation]:
        """Return the events of a track, named as a stream, the last by rank first."""
        ...

    def stated(self, facts: Collection[Fact]) -> frozenset[Fact]:
        """Return those of some facts that an event states in the same words, whether they hold or not."""
        ...

    def shared_with(self, track: str, facts: Collection[Fact]) -> frozenset[Fact]:
        """Return those of some facts that an event of a track, or of none, states, in whatever words."""
        ...

    def skipped_files(self) -> Sequence[str]:
        """Return the files with entries that could not be merged, by their paths in the log, sorted."""
        ...

    def near(self, place: Neighbourhood, until: datetime) -> NearFacts:
        """Return what is near; events that rank later than `until` say nothing.

        It costs the same, however many events there are.
        """
        ...

    def files_of_last(self, track: str, branch: str, until: datetime) -> Sequence[str]:
        """Return the files that the newest sessions of a track changed; without one, those of a branch."""
        ...


class ReadProgress(Protocol):
    """How far a log was read, and which of its files may not be committed yet."""

    def unread(self) -> int:
        """Return how many files were left unread by the last change: with any, the index is incomplete.

        An incomplete index serves the brief alone (C131): `services.log.indexing` refuses all else.
        """
        ...

    def uncommitted(self) -> Sequence[str]:
        """Return the files, by their paths in the log, that are not known to be committed, sorted."""
        ...

    def note_committed(self, paths: Collection[str]) -> None:
        """Keep that these files are committed, until they change; it may be forgotten at any time."""
        ...


class OpenedStore(Protocol):
    """Something that may have opened files."""

    def close(self) -> None:
        """Close them; it is not used again."""
        ...


class Index(RetractedFacts, EventContents, ReadProgress, OpenedStore, Protocol):
    """All events found in one log, ready to be queried; it may be lost at any time and rebuilt."""

    def changing(self) -> AbstractContextManager[None]:
        """Keep other writers out while a change is computed and applied; all of it is kept, or nothing."""
        ...

    def folders(self) -> Mapping[str, int]:
        """Return the mark that each folder had when it was last listed."""
        ...

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Return the files of a folder that were read, with their marks at that time."""
        ...

    def apply(self, change: LogChange) -> None:
        """Apply a change. A file that is found again replaces what it held before."""
        ...

    def digest(self, limit: int, until: datetime | None = None) -> Digest:
        """Return what a view needs: exactly what merging all events from scratch would return.

        With `until`, events that rank later say nothing.
        """
        ...

    def newest(self, now: datetime, session: str = "") -> NewestEvents:
        """Return what a session that writes now, by its clock, has read."""
        ...

    def published(self, session: str) -> PublishedExtent:
        """Return how much of a session is published."""
        ...

    def places(self, prefix: str = "", limit: int = EVERY) -> Sequence[EventLocation]:
        """Return events, the last by rank first; with a prefix, those whose id or hash starts with it."""
        ...

    def recall(self, name: str) -> str | None:
        """Return what was remembered under a name since the last change was applied, or None."""
        ...

    def remember(self, name: str, text: str) -> None:
        """Keep a text until the next change is applied; it may be forgotten at any time."""
        ...
