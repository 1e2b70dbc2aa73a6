"""State that git tracks is not there for services, and is not written by them."""

from collections.abc import Mapping, Sequence

import pytest

from passdown.core.project.tracked_paths import TrackedPaths, find_tracked
from passdown.engines.files.documents import UntrackedDocuments
from passdown.errors import StorageError
from passdown.ports.tracking import Tracking
from passdown.testing.memory.documents import MemoryDocuments

pytestmark = pytest.mark.requirement("C119")

STATE = (
    *("paused", "preferences.json", "last-checkpoint-commit.txt", "metrics.jsonl", "hooks.log"),
    *("journal/s-1.jsonl", "waiting/abc", "levels/abc", "cache/x", "something-new"),
)
DOCUMENTS = (
    *("handoff_1.json", "session-context.md", "pending_1.json", "unsynced_1.json", "unsynced.json"),
    *("current.md", ".gitignore", "edited-view-1.md", "legacy-current-1.md"),
)


class Index:
    """An index, and how often it was asked."""

    def __init__(self, *paths: str) -> None:
        """Keep what is tracked."""
        self._paths = paths
        self.asked = 0

    def names(self, start: str = "") -> None:
        """Know no names."""
        del start

    def committed_among(self, paths: Sequence[str]) -> frozenset[str]:
        """Know no commit."""
        del paths
        return frozenset()

    def entries(self, folders: Sequence[str]) -> Mapping[str, str]:
        """Know no commit."""
        del folders
        return {}

    def tracked(self, folder: str) -> TrackedPaths:
        """Say what is tracked."""
        self.asked += 1
        return find_tracked(self._paths, folder)


def make(index: Index, *paths: str) -> tuple[UntrackedDocuments, MemoryDocuments]:
    """Make documents that hold these paths."""
    inner = MemoryDocuments(dict.fromkeys(paths, b"theirs"))

    def ask() -> Tracking:
        return index

    return UntrackedDocuments(inner, ".conductor", ask), inner


@pytest.mark.parametrize("name", STATE)
def test_state_that_git_tracks_is_neither_read_nor_written(name: str) -> None:
    path = f".conductor/{name}"
    documents, inner = make(Index(path), path, "README.md")

    assert not documents.exists(path)
    assert list(documents.list("")) == ["README.md"]
    assert not documents.remove(path, b"theirs")
    for act in (documents.read, documents.size, lambda one: documents.replace(one, b"ours")):
        with pytest.raises(StorageError, match="git tracks it"):
            act(path)
    assert not documents.create(path, b"ours")
    assert inner.read(path) == b"theirs"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_read_whoever_tracks_them(name: str) -> None:
    path = f".conductor/{name}"
    index = Index(path)
    documents, _ = make(index, path)

    assert documents.exists(path)
    assert documents.read(path) == b"theirs"
    assert index.asked == 0


@pytest.mark.parametrize("name", STATE)
def test_state_that_git_does_not_track_is_read_and_written(name: str) -> None:
    path = f".conductor/{name}"
    documents, inner = make(Index("README.md"), path)

    assert documents.exists(path)
    assert (documents.read(path), documents.size(path)) == (b"theirs", 6)
    documents.replace(path, b"ours")
    assert inner.read(path) == b"ours"
    assert documents.remove(path, b"ours")


def test_git_is_not_asked_about_what_is_not_there_or_is_no_state() -> None:
    index = Index()
    documents, _ = make(index, "README.md", ".conductor/session-state_a.json")

    assert not documents.exists(".conductor/paused")
    documents.create(".conductor/paused", b"ours")
    documents.read("README.md")
    documents.read(".conductor/session-state_a.json")
    assert documents.is_folder(".conductor")
    assert [*documents.folders("")] == [".conductor"]

    assert index.asked == 0
