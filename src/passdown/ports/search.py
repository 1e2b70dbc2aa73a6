"""Full-text search over documents: the sources to read, and an index that can be rebuilt."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import NamedTuple, Protocol

from passdown.core.project.ranking import MatchRank, QuestionWeights
from passdown.core.project.search_query import DocumentKind, SearchQuery
from passdown.ports.event_log import FileMark


class SearchSource(Protocol):
    """Folders of documents of one kind, as files that are cheap to list and read as a whole."""

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Return every folder with a mark that changes when its files do; 0 means: list it again."""
        ...

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Return the files of one folder by name; a missing folder has none."""
        ...

    def read(self, folder: str, name: str) -> bytes | None:
        """Return the whole content of a file, or None if it is gone or cannot be read."""
        ...


class SearchDocument(NamedTuple):
    """A searchable text. Its key, at least 32 hex digits, depends only on its content."""

    key: str
    name: str
    at: datetime
    agent: str
    text: str
    retracted: tuple[str, ...] = ()


class SearchFile(NamedTuple):
    """A file that was read, and the documents in it."""

    folder: str
    name: str
    mark: FileMark
    documents: tuple[SearchDocument, ...]


class SearchChange(NamedTuple):
    """What changed in a search source since the last update: folders listed again, files gone, files read."""

    kind: DocumentKind
    folders: Mapping[str, int | None]
    gone: Sequence[tuple[str, str]]
    found: Sequence[SearchFile]


class SearchFilter(NamedTuple):
    """Which documents to search; an empty field matches everything.

    An agent may be named without the digits at the end.
    """

    kinds: frozenset[DocumentKind] = frozenset()
    agent: str = ""
    since: datetime | None = None


class Hit(NamedTuple):
    """A document that was found, and a file that contains it; the text itself is not stored.

    `key` is the first 32 digits of the document's key. The document is retracted if another one lists its
    name or the first 16 digits of its key.
    """

    kind: DocumentKind
    key: str
    name: str
    at: datetime
    agent: str
    is_retracted: bool
    folder: str
    file: str
    rank: MatchRank = MatchRank.ALL
    score: float = 0.0
    missing: tuple[str, ...] = ()
    """The words of the question that it lacks."""
    share: float = 1.0
    """The part of the question's weight that it holds."""


class Hits(NamedTuple):
    """The best results, in the order of `rank_documents`, and what the words of the question are worth."""

    best: tuple[Hit, ...]
    total: int
    weak: int = 0
    """How many of them are weak."""
    is_least: bool = False
    """Whether there may be more than `total`."""
    weights: QuestionWeights = QuestionWeights()


class SearchIndex(Protocol):
    """The words of all documents; it may be lost at any time and rebuilt.

    A document that is in several files counts once, and stays as long as one of them does.
    """

    def changing(self) -> AbstractContextManager[None]:
        """Keep other writers out; everything applied within is kept, or nothing."""
        ...

    def folders(self, kind: DocumentKind) -> Mapping[str, int]:
        """Return the mark of each folder of a source from when it was last listed."""
        ...

    def files(self, kind: DocumentKind, folder: str) -> Mapping[str, FileMark]:
        """Return the files of a folder that were read, with their marks from that time."""
        ...

    def apply(self, change: SearchChange) -> None:
        """Apply a change, within `changing`. A file that is found again replaces what it held before."""
        ...

    def find(self, query: SearchQuery, wanted: SearchFilter, limit: int) -> Hits:
        """Return the documents that answer a query, as `rank_documents` ranks them; none if it is empty."""
        ...

    def close(self) -> None:
        """Close the index; it is not used again."""
        ...
