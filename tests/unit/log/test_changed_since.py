"""Which files a branch changes against another one, by git."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from passdown.engines.git.repository import GitRepository
from passdown.testing.memory.git_history import MemoryHistory
from tests.support.gits import Project, make_started


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository with a commit, on a branch with another one."""
    made = make_started(tmp_path / "project")
    made.git("checkout", "-q", "-b", "feat")
    made.write("src/a b.py", "x\n")
    made.write("top.py", "x\n")
    made.git("add", "--all")
    made.git("commit", "-q", "-m", "More")
    return made


def test_the_files_that_a_commit_lacks_are_found(project: Project, tmp_path: Path) -> None:
    first, last = project.git("rev-list", "--reverse", "HEAD").split()
    repository, below = GitRepository(project.folder), GitRepository(project.folder / "src")
    paths = ("src/a b.py", "top.py", "*.py")

    assert [*repository.find_created(first, paths)] == [*paths]
    assert [*repository.find_created(last, paths)] == ["*.py"]
    assert [*below.find_created(last, ("a b.py", "b.py"))] == ["b.py"]

    assert [*repository.find_created("0" * 40, paths)] == []
    assert [*repository.find_created("--help", paths)] == []
    assert [*repository.find_created(last, ())] == []
    assert [*GitRepository(tmp_path / "plain").find_created(last, paths)] == []


def test_the_lines_that_changed_since_a_commit_are_counted(project: Project, tmp_path: Path) -> None:
    first, last = project.git("rev-list", "--reverse", "HEAD").split()
    project.write("src/a b.py", "y\nz\n")
    project.write("*.py", "new\n")
    (project.folder / "top.py").write_bytes(b"\0\1")
    repository, below = GitRepository(project.folder), GitRepository(project.folder / "src")
    paths = ("src/a b.py", "top.py", "*.py")

    assert repository.count_changes(last, paths) == {"src/a b.py": (2, 1), "top.py": (None, None)}
    assert repository.count_changes(first, paths) == {"src/a b.py": (2, 0), "top.py": (None, None)}
    assert below.count_changes(last, ("a b.py",)) == {"a b.py": (2, 1)}

    assert repository.count_changes(last, ("*.py",)) == {}
    assert repository.count_changes("0" * 40, paths) == {}
    assert repository.count_changes("--help", paths) == {}
    assert repository.count_changes(last, ()) == {}
    assert GitRepository(tmp_path / "plain").count_changes(last, paths) == {}


def test_the_files_that_a_commit_lacks_are_found_without_git() -> None:
    history = MemoryHistory()
    at = datetime(2026, 1, 11, tzinfo=UTC)
    history.works = [(at, "one", ("a.py",)), (at, "two", ("b.py",)), (at, "three", ("c.py",))]

    assert [*history.find_created("two", ("a.py", "b.py", "c.py"))] == ["c.py"]
    assert [*history.find_created("none", ("a.py",))] == []


def test_the_files_of_the_branch_alone_are_listed(project: Project) -> None:
    project.git("checkout", "-q", "main")
    project.write("main.py", "x\n")
    project.git("add", "--all")
    project.git("commit", "-q", "-m", "Main")
    project.git("checkout", "-q", "feat")

    assert [*GitRepository(project.folder).changed_since("main")] == ["src/a b.py", "top.py"]
    assert [*GitRepository(project.folder / "src").changed_since("main")] == ["a b.py"]


def test_a_branch_that_only_the_remote_has_is_known(project: Project, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", "-b", "feat", str(project.folder), str(tmp_path / "c")], check=True)

    assert [*GitRepository(tmp_path / "c").changed_since("main")] == ["src/a b.py", "top.py"]


def test_without_git_or_such_a_branch_there_are_none(project: Project, tmp_path: Path) -> None:
    assert [*GitRepository(project.folder).changed_since("none")] == []
    assert [*GitRepository(project.folder).changed_since("a\0b")] == []
    (tmp_path / "plain").mkdir()
    assert [*GitRepository(tmp_path / "plain").changed_since("main")] == []


def test_memory_knows_what_a_test_says() -> None:
    history = MemoryHistory()
    history.changed["main"] = ("a.py",)

    assert (history.changed_since("main"), history.changed_since("other")) == (("a.py",), ())


def test_a_file_of_a_commit_is_read(project: Project, tmp_path: Path) -> None:
    first, last = project.git("rev-list", "--reverse", "HEAD").split()
    repository = GitRepository(project.folder)

    assert repository.read_committed(last, "src/a b.py") == b"x\n"
    assert GitRepository(project.folder / "src").read_committed(last, "a b.py") == b"x\n"
    assert repository.read_committed(first, "src/a b.py") is None
    assert repository.read_committed("0" * 40, "top.py") is None
    assert repository.read_committed("--help", "top.py") is None
    assert GitRepository(tmp_path / "plain").read_committed(last, "top.py") is None
