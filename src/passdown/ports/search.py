"""Where documents are found by their words: shelves to read from, and an index that can be lost."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from passdown.core.searches import Kind, Term
from passdown.ports.event_log import FileMark

RANKED: Final = 5_000
"""Of more documents that hold all terms, only so many that were added last are counted and ranked."""


class Shelf(Protocol):
    """Folders of documents of one kind, as files that are listed cheaply and read whole."""

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        """Give every folder with a mark that changes when its files do; 0 means that it must be listed."""
        ...

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Give the files of one folder by name; a missing folder holds none."""
        ...

    def read(self, folder: str, name: str) -> bytes | None:
        """Give a file's whole content; None if it is gone or cannot be read."""
        ...


class Document(NamedTuple):
    """A text to be found. Its key is made of its content: 32 hex digits at least, the same for the same."""

    key: str
    name: str
    at: datetime
    agent: str
    text: str
    retracted: tuple[str, ...] = ()


class FoundFile(NamedTuple):
    """A file that was read, and the documents in it."""

    folder: str
    name: str
    mark: FileMark
    documents: tuple[Document, ...]


class ShelfChange(NamedTuple):
    """What changed on a shelf since the last look: folders listed again, files gone, files read."""

    kind: Kind
    folders: Mapping[str, int | None]
    gone: Sequence[tuple[str, str]]
    found: Sequence[FoundFile]


class Wanted(NamedTuple):
    """Which documents are asked for; what is empty does not matter.

    An agent may be named without the digits at its end.
    """

    kinds: frozenset[Kind] = frozenset()
    agent: str = ""
    since: datetime | None = None


class Hit(NamedTuple):
    """A document that holds all terms, and a file it lies in; the text itself is not kept.

    `key` is the first 32 digits of the document's. It is retracted if another one names its name or the first
    16 digits.
    """

    kind: Kind
    key: str
    name: str
    at: datetime
    agent: str
    is_retracted: bool
    folder: str
    file: str


class Hits(NamedTuple):
    """The best answers, the best first, then the newest; `total` counts them all, up to `RANKED`."""

    best: tuple[Hit, ...]
    total: int


class SearchIndex(Protocol):
    """The words of all documents; it may be lost at any time and built again.

    A document that lies in several files is one document, and it is there as long as one of them is.
    """

    def changing(self) -> AbstractContextManager[None]:
        """Hold off other writers; all that is applied within is kept, or nothing."""
        ...

    def folders(self, kind: Kind) -> Mapping[str, int]:
        """Give the mark that each folder of a shelf had when it was last listed."""
        ...

    def files(self, kind: Kind, folder: str) -> Mapping[str, FileMark]:
        """Give the files of a folder that were read, as they were then."""
        ...

    def apply(self, change: ShelfChange) -> None:
        """Take a change in, within `changing`. A file found again takes the place of what it held before."""
        ...

    def find(self, terms: Sequence[Term], wanted: Wanted, limit: int) -> Hits:
        """Find the documents that hold every term; without a term there are none."""
        ...
