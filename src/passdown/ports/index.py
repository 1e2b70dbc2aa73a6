"""The index of an event log: what was already merged, so that adding an event costs only that event."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date, datetime
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
    is_same: bool = False
    """Whether only its mark has changed; it then holds what it held before, and no sources are given."""


class LogChange(NamedTuple):
    """What changed since the last update: folders listed again, files gone, files read."""

    folders: Mapping[str, int | None]
    gone: Sequence[tuple[str, str]]
    found: Sequence[EventFile]
    unread: int = 0
    """How many files of the log are still unread."""


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
        """Its position in the order of all events."""
        return self.ranked_at, self.cause, self.rank


class LiveEvents(NamedTuple):
    """The events that have a file of their own in the log."""

    events: int = 0
    """How many there are; a count has an upper limit."""
    newest_folder: str = ""
    """The folder of the newest one, by the time in its name."""


class EventFilter(NamedTuple):
    """Which events to list; an empty field matches everything."""

    agent: str = ""
    """Their author; the digits at the end of a name may be omitted."""
    branch: str = ""
    type: str = ""
    since: datetime | None = None
    until: datetime | None = None
    """Only events from before this time."""

    def takes(self, place: EventLocation) -> bool:
        """Return whether an event matches."""
        agent, at = place.rank.agent, place.rank.at
        is_by = not self.agent or agent == self.agent or agent.startswith(f"{self.agent}-")
        is_like = self.branch in {"", place.branch} and self.type in {"", place.type}
        is_then = (self.since is None or at >= self.since) and (self.until is None or at < self.until)
        return is_by and is_like and is_then


class SingleFiles(NamedTuple):
    """The events that have files of their own and a name that starts with their date."""

    number: int = 0
    oldest: str = ""
    """The first of their names; empty if there are none."""


class NewestEvents(NamedTuple):
    """The newest events that a writer has read (C115), named by the start of their hashes."""

    present: datetime
    """The current time, by the clock and the newest sessions."""
    at: datetime | None = None
    """The newest time that is followed, at most 24 hours beyond the present."""
    heads: tuple[str, ...] = ()
    """The events that no other event comes after."""
    ahead: tuple[str, ...] = ()
    """Events that are dated further ahead and that this session has not named yet."""


class Neighbourhood(NamedTuple):
    """What a session works on: files, a track and a branch; each may be empty."""

    files: tuple[str, ...] = ()
    track: str = ""
    branch: str = ""


class NearFacts(NamedTuple):
    """Decisions, rules and questions in force that are relevant to a session's work (C132)."""

    facts: tuple[Fact, ...] = ()
    """Facts that name one of the files, and facts from the newest events of the track and the branch."""
    named: frozenset[tuple[str, str]] = frozenset()
    """Kind and text of the facts that name one of the files."""
    files: NamedFiles = NamedFiles()
    """The ways in which a text can name one of the files."""
    of_track: frozenset[str] = frozenset()
    """The hashes of the newest events of the track."""
    of_branch: frozenset[str] = frozenset()
    """The hashes of the newest events of the branch."""


NEAR_EVENTS: Final = 100
"""How many of the newest events of a track or branch are searched for relevant facts."""
NEAR_FACTS: Final = 500
"""How many facts that name a file are returned, newest first."""
NEAR_SESSIONS: Final = 3
"""How many sessions are searched for changed files."""


class RetractedFacts(Protocol):
    """The history of a fact in the events: how it was stated and retracted."""

    def said(self, kind: str, name: str) -> Sequence[Fact]:
        """Return all statements and retractions of one fact of a kind, oldest first.

        The fact is named by `core.facts.identify`. Retracted events do not count.
        """
        ...

    def retracted(self, kind: str, texts: Collection[str]) -> frozenset[str]:
        """Return the texts that an event retracts as facts of this kind and that do not hold."""
        ...


class EventContents(Protocol):
    """The facts that events state, by track, and the files that could not be merged."""

    def places_of(self, track: str, limit: int = EVERY) -> Sequence[EventLocation]:
        """Return the events of a track, named as a stream, highest rank first."""
        ...

    def stated(self, facts: Collection[Fact]) -> frozenset[Fact]:
        """Return the facts that an event states in the same words, whether they hold or not."""
        ...

    def shared_with(self, track: str, facts: Collection[Fact]) -> frozenset[Fact]:
        """Return the facts that an event of a track, or of no track, states in any words."""
        ...

    def skipped_files(self) -> Sequence[str]:
        """Return the files with entries that could not be merged, by their paths in the log, sorted."""
        ...

    def near(self, place: Neighbourhood, until: datetime) -> NearFacts:
        """Return the facts that are relevant; events that rank later than `until` do not count.

        The cost does not depend on the number of events.
        """
        ...

    def files_of_last(self, track: str, branch: str, until: datetime) -> Sequence[str]:
        """Return the files that the newest sessions of a track changed; without one, those of a branch."""
        ...


class ReadProgress(Protocol):
    """How much of a log was read, and which of its files may not be committed yet."""

    def unread(self) -> int:
        """Return how many files the last change left unread; if there are any, the index is incomplete.

        An incomplete index serves only the brief (C131); `services.log.indexing` refuses everything else.
        """
        ...

    def uncommitted(self) -> Sequence[str]:
        """Return the files, by their paths in the log, that are not known to be committed, sorted."""
        ...

    def is_held(self, folder: str, name: str, digest: str = "") -> bool:
        """Return whether a file was read completely; with the hash of an event, whether it holds that."""
        ...

    def live(self, most: int) -> LiveEvents:
        """Count the files that hold one event, up to `most`; files whose names have no time do not count."""
        ...

    def uncommitted_of(self, session: str) -> Sequence[str]:
        """Return one file of each event of a session of which no file is known to be committed, sorted."""
        ...

    def note_committed(self, paths: Collection[str]) -> None:
        """Remember that these files are committed, until they change; may be forgotten at any time."""
        ...


class SingleEvents(Protocol):
    """What is known about events in files of their own, which wait to be archived."""

    def single_files(self) -> SingleFiles:
        """Count them, and return the oldest."""
        ...

    def oldest_single(self, most: int) -> Sequence[str]:
        """Return the first of their paths in the log, in the order of their names, up to `most`."""
        ...

    def single_sessions(self) -> frozenset[str]:
        """Return the sessions that wrote them; with an empty name if one has none."""
        ...


class OpenedStore(Protocol):
    """A store that may have open files."""

    def close(self) -> None:
        """Close them; the store is not used again."""
        ...


class ListedEvents(Protocol):
    """The events as a list."""

    def places(self, prefix: str = "", limit: int = EVERY) -> Sequence[EventLocation]:
        """Return events, highest rank first; with a prefix, those whose id or hash starts with it."""
        ...

    def matching(self, wanted: EventFilter, limit: int = EVERY) -> Sequence[EventLocation]:
        """Return the events that match, highest rank first."""
        ...

    def count(self, wanted: EventFilter) -> int:
        """Return how many events match."""
        ...

    def days(self) -> Mapping[date, str]:
        """Return the days on which there are events, each with a hash of its events."""
        ...


class Index(RetractedFacts, EventContents, ListedEvents, ReadProgress, SingleEvents, OpenedStore, Protocol):
    """All events of one log, ready for queries; it may be lost at any time and rebuilt."""

    def changing(self) -> AbstractContextManager[None]:
        """Keep other writers out while a change is computed and applied, all of it or nothing."""
        ...

    def folders(self) -> Mapping[str, int]:
        """Return the mark of each folder from when it was last listed."""
        ...

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Return the files of a folder that were read, with their marks from that time."""
        ...

    def apply(self, change: LogChange) -> None:
        """Apply a change. A file that is found again replaces what it held before."""
        ...

    def digest(self, limit: int, until: datetime | None = None) -> Digest:
        """Return what a view needs, exactly as merging all events from scratch would.

        With `until`, events that rank later do not count.
        """
        ...

    def newest(self, now: datetime, session: str = "") -> NewestEvents:
        """Return the newest events that a session has read if it writes now, by its clock."""
        ...

    def published(self, session: str) -> PublishedExtent:
        """Return how much of a session is published."""
        ...

    def recall(self, name: str) -> str | None:
        """Return the text remembered under a name since the last change was applied, or None."""
        ...

    def remember(self, name: str, text: str) -> None:
        """Remember a text until the next change is applied; it may be forgotten earlier."""
        ...
