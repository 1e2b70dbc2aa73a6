"""Every engine keeps the promises of `Documents`."""

from pathlib import Path

from passdown.engines.files.documents import FileDocuments
from passdown.engines.memory.documents import MemoryDocuments
from passdown.ports.documents import Documents
from passdown.testing.conformance.documents import DocumentsConformance


class TestFileDocuments(DocumentsConformance):
    """Files of this machine."""

    def make(self, folder: Path) -> Documents:
        """Make documents below a folder that need not exist."""
        return FileDocuments(folder)


class TestMemoryDocuments(DocumentsConformance):
    """The fake that other tests use."""

    def make(self, folder: Path) -> Documents:
        """Make documents that lie nowhere."""
        del folder
        return MemoryDocuments()


def test_memory_starts_with_the_files_it_is_given() -> None:
    documents = MemoryDocuments({"a/b.md": b"one", "c.md": b"two"})

    assert {name: documents.read(name) for name in documents.list("")} == {"a/b.md": b"one", "c.md": b"two"}
