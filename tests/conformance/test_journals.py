"""Every engine keeps the promises of `Journals`."""

import errno
from collections.abc import Iterable, Sequence
from pathlib import Path

from passdown.core.formats.journal import Scope
from passdown.engines.files import write
from passdown.engines.files.journals import FileJournals
from passdown.engines.sqlite.database import discard_database
from passdown.engines.sqlite.ended_index import open_ended
from passdown.ports.journals import Journals
from passdown.records import replace
from passdown.testing.conformance.journals import JournalsConformance
from passdown.testing.memory.journals import MemoryJournals


def open_in(folder: Path, operations: write.FileOperations = write.HERE) -> FileJournals:
    """Make journals in two folders that need not exist, with an index of those that were archived."""
    folders = [str(folder / "git" / "journal"), str(folder / "checkout" / "journal")]
    index = str(folder / "ended.sqlite")
    return FileJournals(
        folders, roots=[str(folder)], operations=operations, open_index=lambda: open_ended(index)
    )


def refuse(*_: object, **__: object) -> None:
    """Refuse to rename, as Windows does while a file is open."""
    raise PermissionError(errno.EACCES, "it is in use")


class TestFileJournalsWithoutHandles(JournalsConformance):
    """Files of a system without folder handles, below the root of a checkout."""

    def make(self, folder: Path) -> Journals:
        """Make journals whose folders are not there yet."""
        return open_in(folder, replace(write.HERE, folder_handles=False))


class TestFileJournals(JournalsConformance):
    """Files of this machine, all in the preferred folder."""

    def make(self, folder: Path) -> Journals:
        """Make journals in two folders that need not exist."""
        return open_in(folder)


class TestFileJournalsWithAnUnknownIndex(JournalsConformance):
    """The same, when everything that the index knew is lost before each question."""

    def make(self, folder: Path) -> Journals:
        """Make journals whose index forgets everything."""
        return Forgetful(folder)


class Forgetful(FileJournals):
    """Journals that lose their index before each question."""

    def __init__(self, folder: Path) -> None:
        """Open them as a process does."""
        self._place = folder
        super().__init__(
            [str(folder / "git" / "journal")],
            roots=[str(folder)],
            open_index=lambda: open_ended(str(folder / "ended.sqlite")),
        )

    def mentioning(self, scope: Scope, *texts: str, keys: Iterable[str] | None = None) -> Sequence[str]:
        """Lose the index, and look."""
        self.close()
        discard_database(str(self._place / "ended.sqlite"))
        return super().mentioning(scope, *texts, keys=keys)


class TestFileJournalsThatCannotBeRenamed(JournalsConformance):
    """Files that the system does not let us rename."""

    puts_away = False

    def make(self, folder: Path) -> Journals:
        """Make journals that stay where they are."""
        return open_in(folder, replace(write.HERE, rename=refuse))


class TestFileJournalsInASandbox(JournalsConformance):
    """Files of this machine, where the preferred folder cannot be written."""

    puts_away = False

    def make(self, folder: Path) -> Journals:
        """Put a file in the way of the first folder."""
        (folder / "git").write_text("in the way", encoding="utf-8")
        return FileJournals([str(folder / "git" / "journal"), str(folder / "checkout" / "journal")])


class TestMemoryJournals(JournalsConformance):
    """The fake that other tests use."""

    def make(self, folder: Path) -> Journals:
        """Make journals that lie nowhere."""
        del folder
        return MemoryJournals()
