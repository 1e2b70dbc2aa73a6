"""What was already folded from an event log, so that one more event costs no more than itself."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from passdown.core.merge import Digest
from passdown.core.sources import Rank, Source
from passdown.ports.event_log import FileMark

EVERY: Final = 2_000_000_000
"""A limit that nothing reaches."""


class Found(NamedTuple):
    """A file that was read: the events in it, and how many of its entries could not be merged."""

    folder: str
    name: str
    mark: FileMark
    sources: tuple[Source, ...]
    skipped: int


class Change(NamedTuple):
    """What changed since the last look: folders listed again, files gone, files read."""

    folders: Mapping[str, int | None]
    gone: Sequence[tuple[str, str]]
    found: Sequence[Found]


class Place(NamedTuple):
    """Where an event lies: one of the files that hold it."""

    rank: Rank
    branch: str
    type: str
    folder: str
    name: str
    is_retracted: bool


class Published(NamedTuple):
    """How far the events of a session go: the last line of its journal in them (0: none), and the newest."""

    line: int
    at: datetime | None


class Index(Protocol):
    """All events found in one log, ready to be asked; it may be lost at any time and built again."""

    def changing(self) -> AbstractContextManager[None]:
        """Hold off others while a change is worked out and applied; all of it is kept, or nothing."""
        ...

    def folders(self) -> Mapping[str, int]:
        """Give the mark that each folder had when it was last listed."""
        ...

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Give the files of a folder that were read, as they were then."""
        ...

    def apply(self, change: Change) -> None:
        """Take a change in. A file that is found again takes the place of what it held before."""
        ...

    def digest(self, limit: int) -> Digest:
        """Give what a view needs: exactly what merging all events anew would give."""
        ...

    def newest(self, until: datetime) -> datetime | None:
        """Give the time of the newest event that is not later than this."""
        ...

    def published(self, session: str) -> Published:
        """Give how far the events of a session go."""
        ...

    def places(self, prefix: str = "", limit: int = EVERY) -> Sequence[Place]:
        """Give events, the newest first; with a prefix, those whose id or hash begins so."""
        ...

    def recall(self, name: str) -> str | None:
        """Give what was remembered under a name since the last change that was applied; else None."""
        ...

    def remember(self, name: str, text: str) -> None:
        """Keep a text until the next change is applied; it may be forgotten at any time."""
        ...
