"""What every `Index` must record about how far its log was read (C131)."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path

import pytest

from passdown.ports.event_log import FileMark
from passdown.ports.index import EventFile, Index, LogChange

_DAY = "2026-01-10"


class ReadProgressConformance(ABC):
    """The promises of the port about unread files; subclass it beside `IndexConformance`."""

    @abstractmethod
    def make(self, folder: Path) -> Index:
        """Make an empty index; the folder is empty and may be used."""

    @abstractmethod
    def drop(self, index: Index) -> None:
        """Release what `make` returned."""

    @pytest.fixture
    def progress(self, tmp_path: Path) -> Iterator[Index]:
        """Return an empty index."""
        index = self.make(tmp_path)
        yield index
        self.drop(index)

    def test_what_the_last_change_left_unread_is_counted(self, progress: Index) -> None:
        """An index is incomplete until a change leaves nothing unread."""
        assert progress.unread() == 0
        _apply(progress, _found("2.md"), unread=3)
        assert progress.unread() == 3
        _apply(progress, _found("1.md"))

        assert progress.unread() == 0

    def test_a_change_that_fails_leaves_as_much_unread_as_before(self, progress: Index) -> None:
        """All of a change is kept, or nothing."""
        _apply(progress, _found("2.md"), unread=3)

        with pytest.raises(ZeroDivisionError):
            _fail(progress)

        assert progress.unread() == 3

    def test_files_are_not_known_to_be_committed_until_that_is_noted_or_once_they_changed(
        self, progress: Index
    ) -> None:
        """A file counts as committed in the version that was read."""
        _apply(progress, _found("1.md"), _found("2.md", _DAY))
        assert progress.uncommitted() == ["1.md", f"{_DAY}/2.md"]

        progress.note_committed(["1.md", f"{_DAY}/2.md", "gone.md"])
        assert progress.uncommitted() == []
        _apply(progress, _found("1.md", size=9), _found("4.md"))

        assert progress.uncommitted() == ["1.md", "4.md"]


def _found(name: str, folder: str = "", size: int = 1) -> EventFile:
    return EventFile(folder, name, FileMark(size, 2, 3), (), 1)


def _apply(index: Index, *found: EventFile, unread: int = 0) -> None:
    with index.changing():
        index.apply(LogChange({}, (), found, unread))


def _fail(index: Index) -> None:
    with index.changing():
        index.apply(LogChange({}, (), ()))
        raise ZeroDivisionError
