"""Every engine keeps the promises of `Repository`."""

import sys
from pathlib import Path

import pytest

from passdown.engines.git.repository import GitRepository
from passdown.ports.repository import Repository, Skipped, SkipReason
from passdown.testing.conformance.repository import IGNORED, RepositoryConformance
from passdown.testing.memory.documents import MemoryDocuments
from passdown.testing.memory.repository import MemoryRepository
from tests.support.gits import make_project

FORBIDDEN = ('quote".md', "star*.md", ":(top)x")


class TestGitRepository(RepositoryConformance):
    """Real git."""

    folder: Path

    def make(self, folder: Path) -> Repository:
        """Make a repository with its own rule of what to ignore."""
        self.folder = folder
        make_project(folder)
        (folder / ".git" / "info" / "exclude").write_text(f"/{IGNORED}/\n")
        return GitRepository(folder)

    def make_outside(self, folder: Path) -> Repository:
        """Look at a folder of no repository."""
        return GitRepository(folder)

    def write(self, path: str, data: bytes) -> None:
        """Write a file of the checkout."""
        if sys.platform == "win32" and path in FORBIDDEN:
            pytest.skip("there can be no file of that name")
        full = self.folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(data)

    def remove(self, path: str) -> None:
        """Remove a file of the checkout."""
        (self.folder / path).unlink()


class TestMemoryRepository(RepositoryConformance):
    """The fake that other tests use."""

    shelf: MemoryDocuments

    def make(self, folder: Path) -> Repository:
        """Make a repository that lies nowhere."""
        del folder
        self.shelf = MemoryDocuments()
        return MemoryRepository(self.shelf, ignored=[IGNORED])

    def make_outside(self, folder: Path) -> Repository:
        """Make one that is not there."""
        del folder
        repository = MemoryRepository(MemoryDocuments())
        repository.there = False
        return repository

    def write(self, path: str, data: bytes) -> None:
        """Write a file of the documents."""
        self.shelf.replace(path, data)

    def remove(self, path: str) -> None:
        """Take a file from the documents."""
        assert self.shelf.remove(path, self.shelf.read(path))


def test_the_fake_refuses_as_it_is_told() -> None:
    repository = MemoryRepository(MemoryDocuments({"a": b""}))
    repository.refusal = Skipped(why=SkipReason.LOCKED, reason="held")

    assert repository.commit(["a"], "a commit") == repository.refusal
    assert repository.commits == []


@pytest.mark.parametrize("is_real", [False, True])
@pytest.mark.parametrize("more", [0, 200])
def test_committed_files_are_found_among_few_or_many(tmp_path: Path, more: int, *, is_real: bool) -> None:
    files = ("a/b.md", "a/c/d.md", "top.md")
    project = make_project(tmp_path)
    for path in files:
        project.write(path)
    memory = MemoryRepository(MemoryDocuments(dict.fromkeys(files, b"")))
    repository = GitRepository(tmp_path) if is_real else memory
    asked = ["a/b.md", "top.md", "a/c", "a/c/e.md", *(f"a/none-{number}.md" for number in range(more))]
    assert repository.committed_among(asked) == frozenset()
    repository.commit(files, "files")

    assert repository.committed_among(asked) == {"a/b.md", "top.md"}
    assert repository.committed_among([]) == frozenset()


@pytest.mark.parametrize("is_real", [False, True])
def test_a_folder_of_a_commit_keeps_its_id_while_it_holds_the_same(tmp_path: Path, *, is_real: bool) -> None:
    files = ("a/b/c.md", "a/d/e.md", "a/f.md", "top.md")
    project = make_project(tmp_path)
    for path in files:
        project.write(path)
    documents = MemoryDocuments(dict.fromkeys((*files, "a/b/new.md"), b""))
    repository = GitRepository(tmp_path) if is_real else MemoryRepository(documents)
    assert repository.entries(["a"]) == {}
    repository.commit(files, "files")

    before = repository.entries(["a", "none"])
    project.write("a/b/new.md")
    repository.commit(["a/b/new.md"], "one more")
    after = repository.entries(["a", "none"])

    assert [*before] == [*after] == ["a/b/", "a/d/", "a/f.md"]
    assert before["a/b/"] != after["a/b/"]
    assert {path: after[path] for path in ("a/d/", "a/f.md")} == {
        path: before[path] for path in ("a/d/", "a/f.md")
    }
    assert "top.md" in repository.entries([""])


def test_outside_of_git_nothing_is_committed(tmp_path: Path) -> None:
    assert GitRepository(tmp_path).committed_among(["a.md"]) == frozenset()
    assert GitRepository(tmp_path).entries(["a"]) == {}
