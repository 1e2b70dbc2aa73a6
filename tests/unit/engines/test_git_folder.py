"""Branches and checkouts are read from git's files, and git is asked where its files do not say."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from passdown.engines.git import git_folder
from passdown.engines.git.repository import GitRepository
from passdown.errors import UsageError
from passdown.ports.repository import Checkout
from tests.support.gits import Project, make_project, make_started

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")
ID = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository with one commit."""
    return make_started(tmp_path / "project")


def without_git(project: Project) -> GitRepository:
    """Look at a repository where no git can be started."""
    return project.repository(PATH="")


def add_tree(project: Project, folder: Path, branch: str) -> Project:
    """Add a worktree on a branch of its own."""
    project.git("worktree", "add", "--quiet", "-b", branch, str(folder))
    return Project(folder=folder.resolve())


# --- branches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["main", "feature/a.b-c", "ünïcode", "unknown"])
def test_the_branch_is_read_without_git_also_before_its_first_commit(tmp_path: Path, name: str) -> None:
    project = make_project(tmp_path / "project", branch=name)

    assert without_git(project).branch() == name
    project.git("commit", "--quiet", "--allow-empty", "--message=one")
    project.git("pack-refs", "--all")
    assert without_git(project).branch() == name == project.git("branch", "--show-current").strip()


@pytest.mark.requirement("C49")
def test_a_checkout_on_no_branch_is_on_an_unknown_one(project: Project) -> None:
    project.git("checkout", "--quiet", "--detach")

    assert without_git(project).branch() == "unknown"


def test_the_branch_is_read_anew_each_time(project: Project) -> None:
    repository = without_git(project)
    assert repository.branch() == "main"

    project.git("checkout", "--quiet", "-b", "topic")

    assert repository.branch() == "topic"


@pytest.mark.parametrize(
    ("text", "branch"),
    [
        ("ref: refs/heads/main\n", "main"),
        ("ref: refs/heads/a b", "a b"),
        (f"{ID}\n", "unknown"),
        (f"{ID}{'0' * 24}\n", "unknown"),
        ("ref: refs/remotes/origin/main\n", "unknown"),
        ("ref: refs/heads/.invalid\n", None),
        ("ref: refs/heads/\n", None),
        ("", None),
        ("nonsense", None),
        (f"{ID[:-1]}\n", None),
    ],
)
def test_what_head_says_is_read_or_left_to_git(tmp_path: Path, text: str, branch: str | None) -> None:
    (tmp_path / "HEAD").write_text(text)

    assert git_folder.read_branch(str(tmp_path)) == branch


@needs_links
def test_git_is_asked_where_head_is_a_link(project: Project) -> None:
    project.git("branch", "topic")
    head = project.folder / ".git" / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/topic")

    assert project.repository().branch() == "topic"
    assert project.repository().integration_branch("") == "main"
    assert [*project.repository().checkouts()] == [
        Checkout(path=str(project.folder), branch="topic", is_here=True)
    ]
    assert without_git(project).branch() == "unknown"
    assert [*without_git(project).checkouts()] == []


# --- the integration branch ---------------------------------------------------------------------


def test_the_branch_of_the_remote_is_the_integration_branch(project: Project, tmp_path: Path) -> None:
    project.git("branch", "trunk/all")
    project.git("symbolic-ref", "HEAD", "refs/heads/trunk/all")
    project.git("clone", "--quiet", str(project.folder), str(tmp_path / "clone"))
    clone = Project(folder=tmp_path / "clone")
    clone.git("checkout", "--quiet", "-b", "main")

    assert without_git(clone).integration_branch("") == "trunk/all"
    assert without_git(clone).integration_branch("main") == "main"
    assert without_git(add_tree(clone, tmp_path / "tree", "topic")).integration_branch("") == "trunk/all"


@pytest.mark.parametrize("packed", [False, True])
def test_main_or_master_is_the_integration_branch_where_there_is_no_remote(
    tmp_path: Path, *, packed: bool
) -> None:
    project = make_project(tmp_path, branch="work")
    assert without_git(project).integration_branch("") is None
    project.git("commit", "--quiet", "--allow-empty", "--message=one")
    project.git("branch", "mainly")

    def found() -> str | None:
        if packed:
            project.git("pack-refs", "--all")
        return without_git(project).integration_branch("")

    assert found() is None
    project.git("branch", "master")
    assert found() == "master"
    project.git("branch", "main")
    assert found() == "main"


@pytest.mark.parametrize("name", ["main", "master"])
def test_a_branch_before_its_first_commit_can_be_the_integration_branch(tmp_path: Path, name: str) -> None:
    assert without_git(make_project(tmp_path, branch=name)).integration_branch("") == name


@needs_links
def test_git_is_asked_for_the_integration_branch_where_files_do_not_say(
    project: Project, tmp_path: Path
) -> None:
    project.git("clone", "--quiet", str(project.folder), str(tmp_path / "clone"))
    clone = Project(folder=tmp_path / "clone")
    clone.git("checkout", "--quiet", "-b", "topic")
    head = clone.folder / ".git" / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/topic")

    assert clone.repository().integration_branch("") == "main"
    (clone.folder / ".git" / "refs" / "remotes" / "origin" / "HEAD").unlink()
    clone.git("branch", "--quiet", "-D", "main")
    assert clone.repository().integration_branch("") is None


# --- checkouts ----------------------------------------------------------------------------------


def test_every_worktree_lists_all_of_them(project: Project, tmp_path: Path) -> None:
    trees = [add_tree(project, tmp_path / "b tree", "b"), add_tree(project, tmp_path / "a", "topic/a")]
    trees[0].git("checkout", "--quiet", "--detach")
    expected = {str(project.folder): "main", str(trees[0].folder): "unknown", str(trees[1].folder): "topic/a"}

    for here in (project, *trees):
        found = without_git(here).checkouts()
        assert {one.path: one.branch for one in found} == expected
        assert [one.path for one in found] == sorted(expected)
        assert [one.path for one in found if one.is_here] == [str(here.folder)]
        assert without_git(here).common_folder() == str(project.folder / ".git")
        listed = here.git("worktree", "list", "--porcelain").splitlines()
        assert sorted(line[9:] for line in listed if line.startswith("worktree ")) == sorted(expected)


def test_a_worktree_that_is_gone_or_reused_is_left_out(project: Project, tmp_path: Path) -> None:
    gone, reused = add_tree(project, tmp_path / "gone", "gone"), add_tree(project, tmp_path / "two", "two")
    gone.folder.rename(tmp_path / "moved")
    reused.folder.rename(tmp_path / "moved too")
    make_project(tmp_path / "two")
    (project.folder / ".git" / "worktrees" / "odd").mkdir()

    assert [one.path for one in without_git(project).checkouts()] == [str(project.folder)]


def test_a_worktree_named_by_a_relative_path_is_found(project: Project, tmp_path: Path) -> None:
    tree = add_tree(project, tmp_path / "tree", "topic")
    (project.folder / ".git" / "worktrees" / "tree" / "gitdir").write_text("../../../../tree/.git\n")
    (tree.folder / ".git").write_text("gitdir: ../project/.git/worktrees/tree\n")

    assert [one.branch for one in without_git(project).checkouts()] == ["main", "topic"]
    assert without_git(tree).branch() == "topic"


def test_worktrees_of_a_bare_repository_are_checkouts_and_it_is_none(
    project: Project, tmp_path: Path
) -> None:
    project.git("clone", "--quiet", "--bare", str(project.folder), str(tmp_path / "store.git"))
    store = Project(folder=tmp_path / "store.git")
    one, two = add_tree(store, tmp_path / "one", "one"), add_tree(store, tmp_path / "two", "two")

    for here in (one, two):
        assert [found.path for found in without_git(here).checkouts()] == [str(one.folder), str(two.folder)]


def test_the_main_checkout_of_a_submodule_is_seen_from_its_worktree(project: Project, tmp_path: Path) -> None:
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(project.folder), "sub")
    sub = Project(folder=project.folder / "sub")
    tree = add_tree(sub, tmp_path / "tree", "topic")

    found = without_git(tree).checkouts()

    assert [(one.path, one.branch) for one in found] == [
        (str(sub.folder), "main"),
        (str(tree.folder), "topic"),
    ]
    assert without_git(sub).common_folder() == str(project.folder / ".git" / "modules" / "sub")


def test_a_repository_kept_in_a_folder_of_another_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    project = Project(folder=tmp_path / "project")
    project.git("init", "--quiet", "--initial-branch=main", f"--separate-git-dir={tmp_path / 'store'}")
    project.git("commit", "--quiet", "--allow-empty", "--message=one")
    tree = add_tree(project, tmp_path / "tree", "topic")

    assert without_git(project).common_folder() == str(tmp_path / "store")
    assert [one.branch for one in without_git(project).checkouts()] == ["main", "topic"]
    assert str(tree.folder) in [one.path for one in without_git(tree).checkouts()]


@needs_links
def test_git_lists_the_checkouts_where_files_do_not_say(project: Project, tmp_path: Path) -> None:
    tree, gone = add_tree(project, tmp_path / "tree", "topic"), add_tree(project, tmp_path / "gone", "gone")
    gone.folder.rename(tmp_path / "moved")
    add_tree(project, tmp_path / "third", "third").git("checkout", "--quiet", "--detach")
    head = project.folder / ".git" / "HEAD"
    head.unlink()
    head.symlink_to("refs/heads/main")

    found = {one.path: (one.branch, one.is_here) for one in tree.repository().checkouts()}

    assert found == {
        str(project.folder): ("main", False),
        str(tree.folder): ("topic", True),
        str(tmp_path / "third"): ("unknown", False),
    }


# --- no repository, a bare one, a broken one ----------------------------------------------------


ASKS: tuple[Callable[[GitRepository], object], ...] = (
    GitRepository.is_there,
    GitRepository.branch,
    lambda repository: repository.integration_branch(""),
    GitRepository.checkouts,
    GitRepository.common_folder,
    lambda repository: repository.listing(""),
    lambda repository: repository.is_ignored("a"),
    lambda repository: repository.commit(["a"], "x"),
)


@pytest.mark.parametrize("ask", ASKS)
def test_a_bare_repository_is_refused(
    project: Project, tmp_path: Path, ask: Callable[[GitRepository], object]
) -> None:
    project.git("clone", "--quiet", "--bare", str(project.folder), str(tmp_path / "store.git"))
    project.git("config", "core.bare", "true")

    for folder in (tmp_path / "store.git", tmp_path / "store.git" / "refs", project.folder):
        with pytest.raises(UsageError, match="bare repository") as refused:
            ask(GitRepository(folder))
        assert "worktree" in refused.value.hint


def test_the_inside_of_a_git_folder_is_refused(project: Project) -> None:
    with pytest.raises(UsageError, match="bare repository"):
        GitRepository(project.folder / ".git" / "hooks").branch()


def test_a_bare_repository_that_variables_name_is_refused(project: Project, tmp_path: Path) -> None:
    project.git("clone", "--quiet", "--bare", str(project.folder), str(tmp_path / "store"))
    (tmp_path / "home").mkdir()
    variables = {**os.environ, "GIT_DIR": str(tmp_path / "store")}

    with pytest.raises(UsageError, match="bare repository"):
        GitRepository(tmp_path / "home", variables=variables).branch()
    tree = {"GIT_WORK_TREE": str(tmp_path / "home")}
    assert GitRepository(tmp_path / "home", variables={**variables, **tree}).branch() == "main"
    elsewhere = {"GIT_WORK_TREE": str(tmp_path / "store")}
    assert not GitRepository(tmp_path / "home", variables={**variables, **elsewhere}).is_there()
    nowhere = {"GIT_DIR": str(tmp_path / "home")}
    assert not GitRepository(tmp_path / "home", variables={**variables, **nowhere}).is_there()


@pytest.mark.parametrize("text", ["", "nonsense", "gitdir: /none/at/all", "gitdir:"])
def test_a_file_that_names_no_git_folder_is_no_repository(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)

    assert not GitRepository(tmp_path).is_there()


def test_an_empty_git_folder_is_no_repository_and_the_one_around_it_counts(project: Project) -> None:
    inner = project.folder / "inner"
    (inner / ".git").mkdir(parents=True)

    assert GitRepository(inner).common_folder() == str(project.folder / ".git")


@needs_links
def test_a_root_reached_through_a_link_is_found_where_it_is(project: Project, tmp_path: Path) -> None:
    (project.folder / "inner").mkdir()
    (tmp_path / "link").symlink_to(project.folder / "inner")

    assert GitRepository(tmp_path / "link").common_folder() == str(project.folder / ".git")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[core]\n\tbare = true\n", {"bare": "true"}),
        ("[core] bare\n", {"bare": "true"}),
        ('[CORE]\n  Bare = "yes" ; why\n#x\n;y\n', {"bare": "yes"}),
        ('[core "sub"]\nbare = true\n[other]\nbare = true\n', {}),
        ("[core]\nworktree = ../../x # y\n[a]\n[core]\nbare=false", {"worktree": "../../x", "bare": "false"}),
        ("", {}),
    ],
)
def test_the_core_section_of_the_settings_is_read(tmp_path: Path, text: str, found: dict[str, str]) -> None:
    (tmp_path / "config").write_text(text)

    assert git_folder.read_core(str(tmp_path)) == found


def test_no_process_is_started_to_read(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = add_tree(project, tmp_path / "tree", "topic")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    for here in (project, tree):
        repository = here.repository()
        assert repository.is_there()
        assert repository.branch() in {"main", "topic"}
        assert repository.integration_branch("") == "main"
        assert len(repository.checkouts()) == 2
        assert repository.common_folder()
