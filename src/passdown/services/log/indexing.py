"""Bring an index up to date with its source files, and refuse one that has not read all of them.

An incomplete index may only be used for the brief, which shows how much was read (C131). Everything else made
from an index must call `require_complete`, or `events.update_index`, which does. `events.update_portion` is
for code that may continue without it: the brief, publishing a session, and committing events without a view.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from passdown.errors import UnreadError
from passdown.ports.event_log import FileMark

if TYPE_CHECKING:  # an event log is a search source, but does not need the search
    from passdown.ports.index import ReadProgress
    from passdown.ports.search import SearchSource

T = TypeVar("T")

Step = Callable[[int, int], None]
"""Called from time to time with the number of files read and their total."""

NewFile = tuple[str, str, FileMark]
"""A file that is new or changed: its folder, its name and its mark."""

UNREAD: Final = FileMark(-1, -1, -1)
"""The mark of a file that could not be read, so that the next update tries it again."""


class IndexTarget(Protocol[T]):
    """An index, and how files are read for it."""

    def folders(self) -> Mapping[str, int]:
        """Return the mark of each folder at the time it was last listed."""
        ...

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Return the files of a folder that were read, with their marks at that time."""
        ...

    def read(self, folder: str, name: str, mark: FileMark) -> T:
        """Read a file that is new or changed."""
        ...

    def choose(self, new: Sequence[NewFile]) -> Iterable[NewFile]:
        """Return the new files to read now, in this order."""
        ...

    def is_enough(self) -> bool:
        """Return whether the files read so far should be applied before more are read."""
        ...

    def apply(
        self, folders: Mapping[str, int | None], gone: Sequence[tuple[str, str]], found: Sequence[T]
    ) -> None:
        """Apply the listed folders, the missing files, and what was read."""
        ...


class _Difference(NamedTuple):
    """How a source differs from an index, by names and marks only."""

    folders: dict[str, int | None]
    gone: list[tuple[str, str]]
    new: list[NewFile]


def require_complete(index: "ReadProgress") -> None:
    """Raise an UnreadError if not all events were read."""
    if unread := index.unread():
        raise make_unread(unread)


def make_unread(count: int) -> UnreadError:
    """Make the error that tells how many files were not read."""
    files = "1 event file has" if count == 1 else f"{count} event files have"
    return UnreadError(f"{files} not been read yet", hint="run `passdown brief` to read them all")


def find_changed(source: "SearchSource", known: Mapping[str, int]) -> Mapping[str, int] | None:
    """Return the current folders, or None if an index that knows them is up to date."""
    there = source.folders(known)
    return None if there == known and all(there.values()) else there


def count_changes(
    source: "SearchSource", known: Mapping[str, int], files: Callable[[str], Mapping[str, FileMark]]
) -> int:
    """Return how many files an index with these folders and files still has to read or forget."""
    there = find_changed(source, known)
    if there is None:
        return 0
    difference = _compare(source, files, known, there)
    return len(difference.gone) + len(difference.new)


def bring_up_to_date(
    source: "SearchSource",
    target: IndexTarget[T],
    there: Mapping[str, int] | None = None,
    step: Step | None = None,
) -> None:
    """Read new files and apply them to the index; `there` are the current folders if already known.

    Listed folders and missing files are recorded with the last batch, so that after an interruption the next
    call continues where this one stopped.
    """
    known = target.folders()
    difference = _compare(source, target.files, known, source.folders(known) if there is None else there)
    if not any(difference):
        return
    found: list[T] = []
    for number, (folder, name, mark) in enumerate(target.choose(difference.new), 1):
        found.append(target.read(folder, name, mark))
        if step is not None:
            step(number, len(difference.new))
        if target.is_enough():
            target.apply({}, (), found)
            found = []
    target.apply(difference.folders, difference.gone, found)


def _compare(
    source: "SearchSource",
    files: Callable[[str], Mapping[str, FileMark]],
    known: Mapping[str, int],
    there: Mapping[str, int],
) -> _Difference:
    """List the changed folders and compare them with the index."""
    found = _Difference({folder: None for folder in known if folder not in there}, [], [])
    for folder, mark in there.items():
        if mark and known.get(folder) == mark:
            continue
        listed, had = source.files(folder), files(folder)
        found.gone.extend((folder, name) for name in had if name not in listed)
        found.new.extend((folder, name, one) for name, one in sorted(listed.items()) if had.get(name) != one)
        if known.get(folder) != mark:
            found.folders[folder] = mark
    return found
