"""What every `Repository` implementation must do."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import pytest

from passdown.core.git_hash import git_blob_id
from passdown.ports.repository import Committed, Repository, Skipped, SkipReason

IGNORED = "local"
"""The folder that a test's repository ignores."""

ODD_NAMES = (
    "a b/c d.md",
    "-dash.md",
    "--all",
    'quote".md',
    "it's.md",
    "ü/日本.md",
    "star*.md",
    "[a].md",
    ":(top)x",
    "!not.md",
    "#hash.md",
)


class RepositoryConformance(ABC):
    """The promises of the port; subclass it, say how to make one with files, and name it `Test…`."""

    @abstractmethod
    def make(self, folder: Path) -> Repository:
        """Make a repository without commits, on the branch main, that ignores the folder `local`."""

    @abstractmethod
    def make_outside(self, folder: Path) -> Repository:
        """Return the repository of a folder that is in no repository."""

    @abstractmethod
    def write(self, path: str, data: bytes) -> None:
        """Write a file in the repository made last."""

    @abstractmethod
    def remove(self, path: str) -> None:
        """Remove a file from the repository made last."""

    @pytest.fixture
    def repository(self, tmp_path: Path) -> Repository:
        """Return a repository without commits."""
        return self.make(tmp_path / "project")

    def commit(self, repository: Repository, *paths: str) -> Committed:
        """Write these files, each with its path as content, and commit them."""
        for path in paths:
            self.write(path, path.encode())
        outcome = repository.commit(paths, "a commit")
        assert isinstance(outcome, Committed), outcome
        return outcome

    def test_a_repository_without_a_commit_has_a_branch_and_no_files(self, repository: Repository) -> None:
        """The branch is the one that the first commit will create."""
        assert repository.is_there()
        assert repository.branch() == "main"
        assert repository.integration_branch("") == "main"
        assert repository.listing("") == {}
        assert repository.common_folder()

    def test_without_a_repository_everything_but_commits_works(self, tmp_path: Path) -> None:
        """Nothing is an error."""
        repository = self.make_outside(tmp_path)

        assert not repository.is_there()
        assert repository.branch() == "unknown"
        assert repository.integration_branch("") is None
        assert [*repository.checkouts()] == []
        assert repository.common_folder() is None
        assert repository.listing("") == {}
        assert not repository.is_ignored("a")
        outcome = repository.commit(["a"], "a commit")
        assert isinstance(outcome, Skipped)
        assert (outcome.why, outcome.is_quiet) == (SkipReason.NO_REPOSITORY, True)

    def test_the_branch_that_the_settings_prefer_is_the_integration_branch(
        self, repository: Repository
    ) -> None:
        """The branch need not exist."""
        assert repository.integration_branch("trunk") == "trunk"

    def test_the_checkout_we_stand_in_is_listed(self, repository: Repository) -> None:
        """The current checkout is always listed."""
        (here,) = repository.checkouts()

        assert (here.branch, here.is_here) == ("main", True)
        assert here.path

    def test_committed_files_are_listed_with_the_ids_of_their_content(self, repository: Repository) -> None:
        """The id tells whether a file is still what was committed."""
        outcome = self.commit(repository, "a/b.md", "a/c/d.md", "a-b.md")

        assert outcome.commit
        assert outcome.paths == ("a-b.md", "a/b.md", "a/c/d.md")
        ids = {path: git_blob_id(path.encode()) for path in outcome.paths}
        assert repository.listing("") == ids
        inner = {path: ids[path] for path in ("a/b.md", "a/c/d.md")}
        assert repository.listing("a") == repository.listing("a/") == inner
        assert repository.listing("none") == repository.listing("a/b.md") == {}

    def test_only_the_named_files_are_committed(self, repository: Repository) -> None:
        """All other changes are left out."""
        self.commit(repository, "a", "b")
        self.write("b", b"changed")
        self.write("c", b"new")

        self.commit(repository, "d")

        ids = {path: git_blob_id(path.encode()) for path in ("a", "b", "d")}
        assert repository.listing("") == ids

    def test_a_change_and_a_removal_are_committed(self, repository: Repository) -> None:
        """A deleted file is left out of the next commit, if it is named."""
        self.commit(repository, "events/1.md", "events/2.md", "view.md")
        self.remove("events/1.md")
        self.remove("events/2.md")
        self.write("view.md", b"changed")

        outcome = repository.commit(["events/1.md", "view.md"], "a commit")

        assert isinstance(outcome, Committed)
        assert repository.listing("") == {
            "events/2.md": git_blob_id(b"events/2.md"),
            "view.md": git_blob_id(b"changed"),
        }

    def test_nothing_changed_is_nothing_to_commit(self, repository: Repository) -> None:
        """The commit is skipped, and the user need not be told."""
        first = self.commit(repository, "a")

        for paths in ([], ["a"], ["none"], [""], ["a", "none/at/all"]):
            outcome = repository.commit(paths, "a commit")
            assert isinstance(outcome, Skipped), paths
            assert (outcome.why, outcome.is_quiet) == (SkipReason.NOTHING, True)
            assert outcome.reason
        assert first.paths == ("a",)

    def test_ignored_files_are_left_out(self, repository: Repository) -> None:
        """Local files stay local, even if they are named."""
        self.write(f"{IGNORED}/state.json", b"{}")
        assert repository.is_ignored(f"{IGNORED}/state.json")
        assert not repository.is_ignored("a")

        outcome = self.commit(repository, "a", f"{IGNORED}/state.json")

        assert outcome.paths == ("a",)
        assert [*repository.listing("")] == ["a"]

    def test_files_outside_and_folders_are_left_out(self, repository: Repository) -> None:
        """Only files below the root are committed."""
        self.write("folder/file", b"x")

        outcome = repository.commit(["folder", "../outside", "/etc/hostname", ".", ".."], "a commit")

        assert isinstance(outcome, Skipped)
        assert outcome.why is SkipReason.NOTHING

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_any_name_is_taken_as_it_is(self, repository: Repository, name: str) -> None:
        """No name is an option, a pattern or a command, and none refers to another file."""
        self.write("stays out", b"x")

        outcome = self.commit(repository, name)

        assert outcome.paths == (name,)
        assert repository.listing("") == {name: git_blob_id(name.encode())}
        assert not repository.is_ignored(name)
        self.remove(name)
        assert isinstance(repository.commit([name], "gone"), Committed)
        assert repository.listing("") == {}

    def test_a_thousand_files_are_one_commit(self, repository: Repository) -> None:
        """No list of files is too long."""
        names: Sequence[str] = [
            f"events/2026-01-10T13-03-52.{number:03}Z_{'long-name' * 8}.md" for number in range(1000)
        ]

        outcome = self.commit(repository, *names)

        assert [*outcome.paths] == sorted(names)
        assert sorted(repository.listing("events")) == sorted(names)
