"""Every engine keeps the promises of `Journals`."""

from pathlib import Path

from passdown.engines.files import write
from passdown.engines.files.journals import FileJournals
from passdown.ports.journals import Journals
from passdown.records import replace
from passdown.testing.conformance.journals import JournalsConformance
from passdown.testing.memory.journals import MemoryJournals


class TestFileJournalsWithoutHandles(JournalsConformance):
    """Files of a system without folder handles, below the root of a checkout."""

    def make(self, folder: Path) -> Journals:
        """Make journals whose folders are not there yet."""
        operations = replace(write.HERE, folder_handles=False)
        folders = [str(folder / "git" / "journal"), str(folder / "checkout" / "journal")]
        return FileJournals(folders, roots=[str(folder)], operations=operations)


class TestFileJournals(JournalsConformance):
    """Files of this machine, all in the preferred folder."""

    def make(self, folder: Path) -> Journals:
        """Make journals in two folders that need not exist."""
        return FileJournals([str(folder / "git" / "journal"), str(folder / "checkout" / "journal")])


class TestFileJournalsInASandbox(JournalsConformance):
    """Files of this machine, where the preferred folder cannot be written."""

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
