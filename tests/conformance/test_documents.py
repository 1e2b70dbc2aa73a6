"""Every engine keeps the promises of `Documents`."""

from pathlib import Path

from passdown.engines.files.documents import FileDocuments, UntrackedDocuments
from passdown.engines.files.write import HERE
from passdown.engines.git.repository import GitRepository
from passdown.ports.documents import Documents
from passdown.records import replace
from passdown.testing.conformance.documents import DocumentsConformance
from passdown.testing.memory.documents import MemoryDocuments


class TestFileDocuments(DocumentsConformance):
    """Files of this machine."""

    def make(self, folder: Path) -> Documents:
        """Make documents below a folder that need not exist."""
        return FileDocuments(folder)


class TestFileDocumentsWithoutExchange(DocumentsConformance):
    """Files of a system that cannot exchange two names."""

    def make(self, folder: Path) -> Documents:
        """Make documents that move a file aside instead."""
        return FileDocuments(folder, operations=replace(HERE, exchange=lambda *_: False))


class TestFileDocumentsWithoutLeases(DocumentsConformance):
    """Files of a system that does not tell who has a file open."""

    def make(self, folder: Path) -> Documents:
        """Make documents that wait until a file has settled."""
        return FileDocuments(folder, operations=replace(HERE, is_unused=lambda _: None))


class TestUntrackedDocuments(DocumentsConformance):
    """Files of this machine without state that git tracks, where git tracks nothing."""

    def make(self, folder: Path) -> Documents:
        """Make documents below a folder that need not exist."""
        return UntrackedDocuments(FileDocuments(folder), ".conductor", lambda: GitRepository(folder))


class TestFileDocumentsWithoutHandles(DocumentsConformance):
    """Files of a system without folder handles."""

    def make(self, folder: Path) -> Documents:
        """Make documents below a folder that need not exist."""
        return FileDocuments(folder, operations=replace(HERE, folder_handles=False))


class TestMemoryDocuments(DocumentsConformance):
    """The fake that other tests use."""

    def make(self, folder: Path) -> Documents:
        """Make documents that lie nowhere."""
        del folder
        return MemoryDocuments()


def test_memory_starts_with_the_files_it_is_given() -> None:
    documents = MemoryDocuments({"a/b.md": b"one", "c.md": b"two"})

    assert {name: documents.read(name) for name in documents.list("")} == {"a/b.md": b"one", "c.md": b"two"}
