"""Git's own record tells what was committed and changed in a checkout since an instant."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from passdown.core.git_hash import git_blob_id
from passdown.engines.git.repository import GitRepository
from passdown.testing.memory.git_history import MemoryHistory
from tests.support.gits import Project, make_project, make_started

EVER = datetime(2000, 1, 1, tzinfo=UTC)
NEVER = datetime.now(UTC) + timedelta(days=365)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return make_started(tmp_path / "project")


def commit(project: Project, path: str, *options: str) -> str:
    """Commit a file, and give the commit's id."""
    project.write(path, f"{path} {options}\n")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=x", *options)
    return project.git("rev-parse", "HEAD").strip()


def test_commits_are_those_that_were_made_here(project: Project) -> None:
    first = project.git("rev-parse", "HEAD").strip()
    second = commit(project, "a.txt")
    replaced = commit(project, "b.txt")
    third = commit(project, "c.txt", "--amend")
    project.git("checkout", "--quiet", "-b", "side", "HEAD~1")
    fourth = commit(project, "d.txt")
    project.git("checkout", "--quiet", "main")
    project.git("merge", "--quiet", "--no-ff", "--message=merged", "side")
    merged = project.git("rev-parse", "HEAD").strip()
    project.git("reset", "--quiet", "--hard", "HEAD~1")
    project.git("merge", "--quiet", "--ff-only", "side", check=False)

    repository = project.repository()

    assert list(repository.commits_since(EVER)) == [first, second, third, fourth, merged]
    assert replaced not in repository.commits_since(EVER)
    assert list(repository.commits_since(NEVER)) == []


def test_commits_of_the_first_second_count_from_the_last_one_that_was_there(project: Project) -> None:
    record = project.folder / ".git" / "logs" / "HEAD"
    names = [letter * 40 for letter in "abcd"]
    lines = [
        f"{before} {after} A <a@b> {at} +0000\tcommit: x\n"
        for before, after, at in zip(names, names[1:], (5, 5, 6), strict=False)
    ]
    back = f"{names[3]} {names[1]} A <a@b> 7 +0000\tcheckout: moving from side to main\n"
    record.write_text("".join(lines) + back, encoding="utf-8")
    since = datetime.fromtimestamp(5.5, UTC)

    assert list(project.repository().commits_since(since)) == names[1:]
    assert list(project.repository().commits_since(since, names[1])) == names[2:]


@pytest.mark.requirement("C135")
def test_commits_are_described_by_subject_and_files_if_a_branch_has_them(project: Project) -> None:
    one = project.git("rev-parse", "HEAD").strip()
    second = commit(project, "sub/ä b.txt")
    project.git("commit", "--quiet", "--allow-empty", "--message=passdown: 2 events, view")
    own = project.git("rev-parse", "HEAD").strip()
    project.git("checkout", "--quiet", "--detach")
    lost = commit(project, "c.txt")
    repository = project.repository()
    assert [found.id for found in repository.describe([lost])] == [lost]  # it is checked out
    project.git("checkout", "--quiet", "main")

    found = repository.describe([second, "f" * 40, "abc1234", "--all", own, lost, one])

    assert [(one.id, one.files) for one in found] == [
        (second, ("sub/ä b.txt",)),
        (one, ("kept.txt", "other.txt")),
    ]
    assert found[-1].subject == "one"
    assert list(repository.describe([])) == []
    below = GitRepository(project.folder / "sub")
    assert [one.files for one in below.describe([second, one])] == [("ä b.txt",), ()]


def test_a_folder_without_git_describes_nothing(tmp_path: Path) -> None:
    assert list(GitRepository(tmp_path, variables={}).describe(["a" * 40])) == []


def test_a_worktree_has_a_record_of_its_own(project: Project, tmp_path: Path) -> None:
    project.git("worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    side = Project(folder=tmp_path / "side")
    made = commit(side, "a.txt")

    assert list(side.repository().commits_since(EVER)) == [made]
    assert made not in project.repository().commits_since(EVER)


def test_files_are_those_of_the_commits_and_those_that_differ_and_are_newer(project: Project) -> None:
    old = project.write("old.txt")
    os.utime(project.folder / old, (0, 0))
    since = datetime.now(UTC) - timedelta(hours=1)
    project.write(".gitignore", "ignored.txt\n")
    commit(project, "sub/ä b.txt")
    project.write("kept.txt", "changed\n")
    project.write("new.txt")
    project.write("ignored.txt")
    project.git("rm", "--quiet", "other.txt")

    repository = project.repository()

    assert sorted(repository.files_since(since)) == sorted(
        [".gitignore", "kept.txt", "new.txt", "other.txt", "old.txt", "sub/ä b.txt"]
    )
    assert list(repository.files_since(NEVER)) == []
    below = GitRepository(project.folder / "sub")
    assert list(below.files_since(since)) == ["ä b.txt"]


def test_without_a_commit_a_record_or_git_there_is_nothing(tmp_path: Path) -> None:
    empty = make_project(tmp_path / "empty")
    empty.write("a.txt")
    (tmp_path / "outside").mkdir()
    outside = GitRepository(tmp_path / "outside", variables={})

    assert list(empty.repository().commits_since(EVER)) == []
    assert list(empty.repository().files_since(EVER)) == ["a.txt"]
    assert (list(outside.commits_since(EVER)), list(outside.files_since(EVER))) == ([], [])


def test_a_damaged_record_tells_what_can_be_read(project: Project) -> None:
    record = project.folder / ".git" / "logs" / "HEAD"
    good = record.read_bytes()
    bad = b"\xff\xfe\nshort\n" + b"a b <c> 9999999999 +0000\tcommit: x\n" + b"0 1 x y z\tcommit\n"
    record.write_bytes(bad + good)

    assert list(project.repository().commits_since(EVER)) == [project.git("rev-parse", "HEAD").strip()]


def test_the_texts_of_a_file_are_those_of_the_last_commit_and_its_parents(project: Project) -> None:
    commit(project, "a.txt")
    project.git("checkout", "--quiet", "-b", "side")
    commit(project, "a.txt", "--no-verify")
    project.git("checkout", "--quiet", "main")
    commit(project, "b.txt")
    project.git("merge", "--quiet", "--no-ff", "--message=merged", "side")

    first, second = b"a.txt ()\n", b"a.txt ('--no-verify',)\n"
    assert list(project.repository().texts_of("a.txt")) == [second, first, second]
    assert list(project.repository().texts_of("none.txt")) == []
    assert list(project.repository().texts_of("a\nb")) == []


def test_contents_of_committed_files_are_given_by_their_ids(project: Project) -> None:
    project.write("a.txt", "one\n\nblob 3\n")
    project.write("b/c.txt", "")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=two")
    repository = project.repository()
    ids = repository.listing("")
    unknown = "0" * 40

    found = repository.contents([ids["a.txt"], unknown, ids["b/c.txt"]])

    assert found == {ids["a.txt"]: b"one\n\nblob 3\n", ids["b/c.txt"]: b""}
    assert repository.contents([]) == {}


def test_without_git_there_are_no_contents(tmp_path: Path) -> None:
    assert GitRepository(tmp_path).contents(["0" * 40]) == {}
    known = MemoryHistory()
    known.texts["a.txt"] = (b"one\n",)
    name = git_blob_id(b"one\n")
    assert known.contents([name, "0" * 40]) == {name: b"one\n"}


def test_without_commits_or_git_there_are_no_texts(tmp_path: Path) -> None:
    empty = make_project(tmp_path / "empty")
    empty.write("a.txt")

    assert list(empty.repository().texts_of("a.txt")) == []
    assert list(GitRepository(tmp_path).texts_of("a.txt")) == []
