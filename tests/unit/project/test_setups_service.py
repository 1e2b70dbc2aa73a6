"""What a checkout lacks is planned and written: rules for git, then the project's file."""

import os
from pathlib import Path

import pytest

from passdown.core.project.git_rules import put_block
from passdown.errors import StorageError, UsageError
from passdown.services.project.setups import SetupRequest, is_initialised, is_private, plan_setup, write_setup
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import CommitSettings, Paths, Settings
from passdown.wiring.projects import read_settings
from tests.support.gits import Project, make_project, make_started
from tests.support.projects import open_checkout, put

IGNORE = "# >>> passdown >>>\n/.conductor\n/conductor/sessions/active\n.passdown-*.tmp\n# <<< passdown <<<\n"
ATTRIBUTES = (
    "# >>> passdown >>>\n/thoughts/shared/handoffs/** -text\n/conductor/sessions/archive/** -text\n"
    "/changes/*/loops/** -text\n/thoughts/shared/handoffs/events/** linguist-generated\n"
    "/thoughts/shared/handoffs/archive/** linguist-generated\n"
    "/conductor/sessions/archive/** linguist-generated\n"
    "/thoughts/shared/handoffs/current.md merge=union\n# <<< passdown <<<\n"
)
LOCAL = ("conductor/sessions/active/LEDGER.md", ".conductor/state.json", "src/.passdown-1-ab.tmp")
SHARED = (
    "thoughts/shared/handoffs/events/one.md",
    "thoughts/shared/handoffs/current.md",
    "conductor/sessions/archive/one.md",
    "changes/x/loops/plan.md",
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository with a commit."""
    return make_started(tmp_path / "project")


def open_site(folder: Path, settings: Settings | None = None) -> Workspace:
    return open_checkout(folder, settings or Settings())


def set_up(folder: Path, **request: bool) -> list[str]:
    """Set a project up, and name the files that were written."""
    site = open_site(folder)
    plan = plan_setup(site, SetupRequest(**request))
    write_setup(site, plan.changes)
    return [change.shown for change in plan.changes]


def ignored(project: Project, *paths: str) -> list[str]:
    """Name the paths that git keeps out."""
    return project.git("check-ignore", "--", *paths, check=False).splitlines()


@pytest.mark.requirement("R3", "C2")
def test_local_files_are_ignored_and_shared_ones_are_not(project: Project) -> None:
    assert set_up(project.folder) == [".gitignore", ".gitattributes", "passdown.toml"]
    assert ignored(project, *LOCAL, *SHARED, "passdown.toml") == list(LOCAL)
    assert (project.folder / ".gitignore").read_text() == IGNORE
    assert (project.folder / ".gitattributes").read_text() == ATTRIBUTES
    assert project.count() == 1


@pytest.mark.requirement("C66")
def test_git_leaves_the_line_ends_of_shared_files_alone(project: Project) -> None:
    put(project.folder, ".gitattributes", "* text=auto\n")
    set_up(project.folder)

    said = project.git("check-attr", "text", "--", *SHARED, "README.md").splitlines()

    assert said == [*(f"{path}: text: unset" for path in SHARED), "README.md: text: auto"]


def test_what_the_user_wrote_stays_to_the_byte(project: Project) -> None:
    mine = b"# mine\r\n*.log\r\n\xff"
    for name in (".gitignore", ".gitattributes"):
        (project.folder / name).write_bytes(mine)

    set_up(project.folder)

    for name in (".gitignore", ".gitattributes"):
        assert (project.folder / name).read_bytes().startswith(mine + b"\r\n# >>> passdown >>>\r\n")
    assert ignored(project, *LOCAL, *SHARED, "x.log") == [*LOCAL, "x.log"]
    assert "unset" in project.git("check-attr", "text", "--", SHARED[0])


@pytest.mark.parametrize("private", [True, False])
def test_setting_up_again_changes_nothing(project: Project, *, private: bool) -> None:
    set_up(project.folder, is_private=private)

    assert set_up(project.folder) == set_up(project.folder, is_private=private) == []
    assert is_private(open_site(project.folder)) == private
    assert is_initialised(open_site(project.folder))


@pytest.mark.requirement("C61")
def test_what_is_private_leaves_no_trace_in_what_others_get(project: Project) -> None:
    assert set_up(project.folder, is_private=True) == [".git/info/exclude", "passdown.toml"]
    for path in (*LOCAL, *SHARED):
        project.write(path)

    assert project.git("status", "--porcelain", "--untracked-files=all") == ""
    assert "session_end = false" in (project.folder / "passdown.toml").read_text()


def test_what_was_private_can_be_shared_and_git_gets_its_file_back(project: Project) -> None:
    exclude = project.folder / ".git/info/exclude"
    before = exclude.read_bytes()
    set_up(project.folder, is_private=True)

    assert set_up(project.folder, is_private=False) == [".git/info/exclude", ".gitignore", ".gitattributes"]
    assert exclude.read_bytes() == before
    assert set_up(project.folder, is_private=True) == [".git/info/exclude"]
    assert (project.folder / ".gitignore").read_text() == IGNORE


def test_git_without_a_file_of_exclusions_gets_one(project: Project) -> None:
    (project.folder / ".git/info/exclude").unlink()

    set_up(project.folder, is_private=True)

    assert ignored(project, *LOCAL, *SHARED) == [*LOCAL, *SHARED]


def test_private_projects_of_one_repository_do_not_expose_each_other(project: Project) -> None:
    for name in ("web", "api"):
        (project.folder / name).mkdir()
        set_up(project.folder / name, is_private=True)

    paths = [f"{name}/{path}" for name in ("web", "api") for path in (*SHARED, "passdown.toml")]
    assert ignored(project, *paths) == paths
    set_up(project.folder / "api", is_private=False)
    assert ignored(project, *paths) == [path for path in paths if path.startswith("web/")]


def test_a_worktree_is_set_up_for_itself_and_keeps_private_what_all_keep_private(project: Project) -> None:
    project.git("worktree", "add", "--quiet", "../other", "-b", "side")
    other = Project(folder=project.folder.parent / "other")

    assert set_up(other.folder) == [".gitignore", ".gitattributes", "passdown.toml"]
    assert ignored(other, *LOCAL, *SHARED) == list(LOCAL)
    set_up(project.folder, is_private=True)
    assert is_private(open_site(other.folder))


@pytest.mark.requirement("C49")
def test_a_submodule_is_a_project_of_its_own(project: Project, tmp_path: Path) -> None:
    inner = make_started(tmp_path / "inner")
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(inner.folder), "sub")
    sub = Project(folder=project.folder / "sub")

    assert set_up(sub.folder, is_private=True) == [".git/info/exclude", "passdown.toml"]
    assert ignored(sub, *LOCAL, *SHARED) == [*LOCAL, *SHARED]
    assert not is_private(open_site(project.folder))


def test_without_git_there_is_the_projects_file_and_nothing_else(tmp_path: Path) -> None:
    assert set_up(tmp_path, is_private=True) == ["passdown.toml"]
    assert set_up(tmp_path) == []
    assert not is_private(open_site(tmp_path))


@pytest.mark.requirement("C49")
def test_a_bare_repository_is_refused(tmp_path: Path) -> None:
    make_project(tmp_path / "bare").git("config", "core.bare", "true")

    with pytest.raises(UsageError, match="bare repository"):
        plan_setup(open_site(tmp_path / "bare"), SetupRequest())


@pytest.mark.requirement("C1")
def test_rules_follow_the_paths_of_the_settings(project: Project) -> None:
    paths = Paths(runtime="my state", ledgers="log/[live]", handoffs="log", view="STATE.md")
    site = open_site(project.folder, Settings(paths=paths))

    write_setup(site, plan_setup(site, SetupRequest()).changes)

    local = ["my state/x", "log/[live]/LEDGER.md"]
    assert ignored(project, *local, "log/l/LEDGER.md", "log/x/current.md", "STATE.md") == local
    said = project.git("check-attr", "text", "--", "log/x/current.md", "STATE.md").splitlines()
    assert [line.rpartition(" ")[2] for line in said] == ["unset", "unset"]


def test_commits_are_switched_off_in_a_new_file_and_never_in_one_that_is_there(project: Project) -> None:
    set_up(project.folder, commits=False)
    off = CommitSettings(session_end=False, handoff=False, checkpoint=False)

    assert read_settings(project.folder, os.environ) == (Settings(commit=off), ())
    assert (
        plan_setup(open_site(project.folder, Settings(commit=off)), SetupRequest(commits=False)).changes == ()
    )
    with pytest.raises(UsageError, match="exists and was not changed") as refused:
        plan_setup(open_site(project.folder), SetupRequest(commits=False))
    assert refused.value.hint == (
        "under [commit], set session_end = false, handoff = false, checkpoint = false"
    )


def test_whoever_is_killed_half_way_has_agreed_to_nothing_and_can_repeat_it(project: Project) -> None:
    site = open_site(project.folder)
    changes = plan_setup(site, SetupRequest()).changes
    for count in range(len(changes)):
        write_setup(site, plan_setup(site, SetupRequest()).changes[:1])
        assert is_initialised(site) == (count == len(changes) - 1)

    assert plan_setup(site, SetupRequest()).changes == ()
    assert {change.path: change.after for change in changes} == {
        change.path: (project.folder / change.path).read_bytes() for change in changes
    }


@pytest.mark.parametrize("name", [".gitignore", "passdown.toml"])
def test_a_file_that_changed_since_it_was_shown_is_not_overwritten(project: Project, name: str) -> None:
    put(project.folder, ".gitignore", "one\n")
    site = open_site(project.folder)
    plan = plan_setup(site, SetupRequest())
    put(project.folder, name, "two\n")

    with pytest.raises(StorageError, match="has changed since"):
        write_setup(site, plan.changes)

    assert (project.folder / name).read_text() == "two\n"


def test_an_older_block_is_brought_up_to_date(project: Project) -> None:
    old = put_block(b"*.log\n", ["/old"]) + b"*.bak\n"
    (project.folder / ".gitignore").write_bytes(old)

    set_up(project.folder)

    assert (project.folder / ".gitignore").read_text() == f"*.log\n{IGNORE}*.bak\n"
