"""Git's index is read as git reads it, or left to git."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.project.tracked_paths import UNKNOWN_TRACKED
from passdown.engines.git import index_file, process, repository
from passdown.engines.git.index_file import MOST_BYTES, mark_of, read_index
from passdown.engines.git.process import GitResult
from passdown.engines.git.repository import GitRepository
from tests.support.gits import Project, make_project, make_started

pytestmark = pytest.mark.requirement("C119")

NAMES = (
    ".conductor/journal/s-1.jsonl",
    ".conductor/paused",
    ".CONDUCTOR/paused",
    ".config",
    "a",
    "a b/ü.md",
    "conductor/sessions/active/LEDGER.md",
    f".conductor/{'long/' * 900}name",
    *(f"src/module_{number}.py" for number in range(40)),
)


def stage(project: Project, *names: str) -> None:
    """Put names into the index that need not be files."""
    blob = project.git("hash-object", "-w", "--stdin", data="text").strip()
    project.git("update-index", "--index-info", data="".join(f"100644 {blob}\t{name}\n" for name in names))


def index_of(project: Project) -> str:
    return str(project.folder / ".git" / "index")


def expected(project: Project, folder: str = ".conductor") -> list[str]:
    """Name what git lists whose first letter could be that of the folder."""
    names = [name for name in project.git("ls-files", "-z").split("\0") if name]
    return [name for name in names if name[0] == folder[0] or not name[0].isascii()]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository whose index has many names."""
    made = make_project(tmp_path / "project")
    stage(made, *NAMES)
    return made


@pytest.mark.parametrize(
    "folder", [".conductor", ".CONDUCTOR", "conductor", "[odd]", "\\back", "!not", "ünder", "none"]
)
def test_a_large_index_is_read_by_git(project: Project, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    stage(project, "[odd]/a", "\\back/a", "!not/a", "^not/a", "ünder/a", "ÜNDER/b", "Conductor/a")
    expected = GitRepository(project.folder).tracked(folder)
    monkeypatch.setattr(repository, "_LARGE_INDEX", 0)
    monkeypatch.setattr(index_file, "read_index", lambda *_, **__: pytest.fail("it was read here"))

    assert GitRepository(project.folder).tracked(folder) == expected
    assert expected.paths or folder == "none"


def test_a_large_index_is_read_here_if_git_fails(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = GitRepository(project.folder).tracked(".conductor")
    monkeypatch.setattr(repository, "_LARGE_INDEX", 0)
    monkeypatch.setenv("PATH", str(project.folder))

    assert GitRepository(project.folder).tracked(".conductor") == expected


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_index_is_read_as_git_reads_it(project: Project, version: int) -> None:
    if version == 3:
        project.write("later.txt")
        project.git("add", "--intent-to-add", "later.txt")
        project.git("update-index", "--skip-worktree", "a")
    else:
        project.git("update-index", f"--index-version={version}")
    data = Path(index_of(project)).read_bytes()
    assert data[4:8] == version.to_bytes(4, "big")

    assert read_index(index_of(project), ".conductor") == expected(project)
    assert read_index(index_of(project), "conductor/sessions") == expected(project, "conductor")
    assert len(expected(project)) == 5


def test_all_names_are_read_where_files_have_second_names(project: Project) -> None:
    found = read_index(index_of(project), ".conductor", has_short_names=True)

    assert found == [name for name in project.git("ls-files", "-z").split("\0") if name]


def test_an_index_with_extensions_is_read(tmp_path: Path) -> None:
    project = make_started(tmp_path / "project")
    project.write(".conductor/paused")
    project.git("add", "--force", "--all")
    project.git("commit", "--quiet", "--message=two")
    project.git("update-index", "--untracked-cache")
    project.git("status")
    assert b"TREE" in Path(index_of(project)).read_bytes()

    assert read_index(index_of(project), ".conductor") == [".conductor/paused"]


def test_a_sparse_index_names_the_folder(tmp_path: Path) -> None:
    project = make_started(tmp_path / "project")
    project.write(".conductor/paused")
    project.git("add", "--force", "--all")
    project.git("commit", "--quiet", "--message=two")
    project.git("sparse-checkout", "set", "--cone", "--sparse-index", "src")
    if b"sdir" not in Path(index_of(project)).read_bytes():
        pytest.skip("this git has no sparse index")

    assert read_index(index_of(project), ".conductor") == [".conductor/"]
    assert project.repository().tracked(".conductor").holds(".conductor/paused")


def test_a_split_index_and_other_hashes_are_left_to_git(project: Project, tmp_path: Path) -> None:
    project.git("update-index", "--split-index")
    other = Project(folder=tmp_path / "other")
    other.folder.mkdir()
    other.git("init", "--quiet", "--object-format=sha256")
    other.write(".conductor/paused")
    other.git("add", "--force", "--all")

    for one in (project, other):
        assert read_index(index_of(one), ".conductor") is None
        assert one.repository().tracked(".conductor").holds(".conductor/paused")
        assert not one.repository().tracked(".conductor").holds(".conductor/other")


@pytest.mark.parametrize("version", [2, 4])
def test_an_index_that_is_cut_is_left_to_git(project: Project, tmp_path: Path, version: int) -> None:
    stage(project, "z")
    project.git("update-index", f"--index-version={version}")
    data = Path(index_of(project)).read_bytes()
    path = tmp_path / "index"
    for size in [*range(200), *range(200, len(data), 97), len(data) - 1]:
        path.write_bytes(data[:size])
        assert read_index(str(path), ".conductor") is None, size


@given(st.binary(max_size=200), st.sampled_from([2, 3, 4]), st.integers(0, 3))
def test_no_bytes_make_the_reader_fail(
    tmp_path_factory: pytest.TempPathFactory, rest: bytes, version: int, count: int
) -> None:
    path = tmp_path_factory.getbasetemp() / f"index-{os.getpid()}"
    path.write_bytes(b"DIRC" + version.to_bytes(4, "big") + count.to_bytes(4, "big") + rest)

    assert read_index(str(path), ".conductor") is None or count == 0 or len(rest) > 62


def test_an_index_that_is_missing_too_large_or_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "index"
    assert mark_of(str(path)) is None
    assert read_index(str(path), ".conductor") is None
    with path.open("wb") as file:
        file.write(b"DIRC\0\0\0\2\0\0\0\0")
        file.truncate(MOST_BYTES + 1)
    assert read_index(str(path), ".conductor") is None
    assert mark_of(str(path / "below")) == (0, 0, 0)


# --- what a repository makes of it --------------------------------------------------------------------


def test_before_the_first_file_nothing_is_tracked(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")

    assert project.repository().tracked(".conductor").paths == ()
    assert Project(folder=tmp_path).repository().tracked(".conductor").paths == ()


def test_the_index_is_read_once_until_it_changes(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = project.repository()
    first = repository.tracked(".conductor")
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("git was started"))
    assert repository.tracked(".conductor") is first
    monkeypatch.undo()

    project.git("rm", "--cached", "--quiet", "--", ".conductor/paused", ".CONDUCTOR/paused")

    assert first.holds(".conductor/paused")
    assert not repository.tracked(".conductor").holds(".conductor/paused")


def test_if_git_does_not_answer_everything_counts_as_tracked(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(index_of(project)).write_bytes(b"damaged")
    monkeypatch.setattr(process.Git, "run", lambda *_, **__: GitResult(code=128))

    assert project.repository().tracked(".conductor") == UNKNOWN_TRACKED
