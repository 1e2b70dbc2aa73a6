"""An index of the journals that were put away: what is in which folder, and by what it is found (C129)."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Protocol

from passdown.records import record


@record
class EndedJournal:
    """What the index knows of a journal."""

    folder: Annotated[str, "The year and month of its folder."]
    name: Annotated[str, "The name of its file."]
    size: Annotated[int, "The size of the file in bytes, by which a change is noticed."]
    keys: Annotated[frozenset[str], "Everything by which it is looked up."] = frozenset()


class EndedIndex(Protocol):
    """It may be lost at any time; a journal that it does not know is read instead."""

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
        """Forget a journal that is no longer put away."""
        ...

    def note_complete(self, folder: str, mark: int) -> None:
        """Remember that every journal of a folder with this mark is known."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...
