"""A commit of ours takes our files and nothing else, whatever the user is in the middle of."""

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from passdown.engines.git.commits import PAUSES, choose_paths
from passdown.engines.git.repository import GitRepository
from passdown.ports.repository import Committed, Skipped, SkipReason
from tests.support.gits import Project, make_project, make_started

EVENT = "thoughts/shared/handoffs/events/one.md"
HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-merge-commit",
    "post-index-change",
    "reference-transaction",
    "post-rewrite",
    "pre-auto-gc",
)
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a right of their own there")
needs_scripts = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for a POSIX shell")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository with one commit."""
    return make_started(tmp_path / "project")


def commit(project: Project, *paths: str, **variables: str) -> Committed:
    """Commit these files, and insist on success."""
    outcome = project.repository(**variables).commit(paths, "passdown: test")
    assert isinstance(outcome, Committed), outcome
    return outcome


def skip(project: Project, *paths: str, **variables: str) -> Skipped:
    """Try to commit these files, and insist that nothing of the repository changes."""
    before = (project.git("rev-list", "--all", "--count"), project.index(), status(project))

    outcome = project.repository(**variables).commit(paths, "passdown: test")

    assert isinstance(outcome, Skipped), outcome
    assert (project.git("rev-list", "--all", "--count"), project.index(), status(project)) == before
    assert not (project.folder / ".git" / "index.lock").exists()
    return outcome


def status(project: Project) -> str:
    """What git says of index and files together."""
    return project.git("status", "--porcelain=v2", "--untracked-files=all")


# --- the user's index ---------------------------------------------------------------------------


@pytest.mark.requirement("C42")
def test_what_the_user_has_staged_stays_staged_and_out_of_our_commit(project: Project) -> None:
    project.git("add", project.write("staged-new.txt"))
    project.git("add", project.write("kept.txt", "staged\n"))
    project.write("kept.txt", "changed again\n")
    project.git("rm", "--quiet", "other.txt")
    before = project.index()

    commit(project, project.write(EVENT))

    assert project.changed() == [f"A\t{EVENT}"]
    after = [line for line in project.index().splitlines() if EVENT not in line]
    assert after == before.splitlines()
    assert (project.folder / "kept.txt").read_text() == "changed again\n"


@pytest.mark.requirement("C42")
def test_the_next_commit_of_the_user_neither_contains_nor_deletes_our_files(project: Project) -> None:
    project.git("add", project.write("mine.txt"))
    commit(project, project.write(EVENT), project.write("view.md"))

    project.git("commit", "--quiet", "--message=mine")

    assert project.changed() == ["A\tmine.txt"]
    assert project.tree() == ["kept.txt", "mine.txt", "other.txt", EVENT, "view.md"]
    assert status(project) == ""


def test_flags_of_other_entries_stay(project: Project) -> None:
    project.write("intended.txt")
    project.git("add", "--intent-to-add", "intended.txt")
    project.git("update-index", "--assume-unchanged", "kept.txt")
    project.git("update-index", "--skip-worktree", "other.txt")
    project.write("kept.txt", "hidden change\n")
    before = project.index()

    commit(project, project.write(EVENT))

    assert [line for line in project.index().splitlines() if EVENT not in line] == before.splitlines()
    assert project.changed() == [f"A\t{EVENT}"]
    assert "hidden change" not in project.git("show", "HEAD:kept.txt")


def test_our_own_file_is_committed_as_it_lies_on_disk_though_another_text_is_staged(project: Project) -> None:
    project.git("add", project.write(EVENT, "staged\n"))
    project.write(EVENT, "on disk\n")

    commit(project, EVENT)

    assert project.git("show", f"HEAD:{EVENT}") == "on disk\n"
    assert status(project) == ""


def test_our_own_file_that_the_user_means_to_add_is_committed(project: Project) -> None:
    project.git("add", "--intent-to-add", project.write(EVENT))

    commit(project, EVENT)

    assert project.changed() == [f"A\t{EVENT}"]
    assert status(project) == ""


def test_an_archived_event_leaves_one_folder_and_enters_the_other(project: Project) -> None:
    archived = "thoughts/shared/handoffs/archive/2026-01-10/one.md"
    commit(project, project.write(EVENT))
    (project.folder / archived).parent.mkdir(parents=True)
    (project.folder / EVENT).rename(project.folder / archived)

    outcome = commit(project, EVENT, archived)

    assert outcome.paths == (archived, EVENT)
    assert project.tree() == ["kept.txt", "other.txt", archived]
    assert status(project) == ""


def test_the_commit_is_named_and_stands_on_the_branch(project: Project) -> None:
    outcome = commit(project, project.write(EVENT))

    assert outcome.commit == project.git("rev-parse", "refs/heads/main").strip()
    assert project.git("log", "-1", "--format=%B").strip() == "passdown: test"
    assert project.git("log", "-1", "--format=%an, %ce") == "Ada Author, cleo@example.invalid\n"
    assert project.count() == 2


# --- kinds of checkouts -------------------------------------------------------------------------


def test_the_first_commit_of_a_repository_takes_only_our_files(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.git("add", project.write("mine.txt"))

    outcome = commit(project, project.write(EVENT))

    assert outcome.commit == project.git("rev-parse", "HEAD").strip()
    assert project.tree() == [EVENT]
    assert status(project).split()[1] == "A."


def test_a_worktree_commits_to_its_own_branch(project: Project, tmp_path: Path) -> None:
    project.git("worktree", "add", "--quiet", "-b", "topic", str(tmp_path / "tree"))
    tree = Project(folder=(tmp_path / "tree").resolve())
    tree.git("add", tree.write("mine.txt"))

    outcome = commit(tree, tree.write(EVENT))

    assert outcome.commit == project.git("rev-parse", "topic").strip()
    assert tree.changed() == [f"A\t{EVENT}"]
    assert project.count() == 1
    assert status(project) == ""


def test_a_detached_checkout_commits_where_it_stands(project: Project) -> None:
    project.git("checkout", "--quiet", "--detach")

    outcome = commit(project, project.write(EVENT))

    assert outcome.commit == project.git("rev-parse", "HEAD").strip()
    assert project.git("rev-list", "--count", "main").strip() == "1"


def test_paths_are_those_of_the_root_though_it_lies_deeper_than_the_top(project: Project) -> None:
    inner = Project(folder=project.folder / "packages" / "a b")
    inner.folder.mkdir(parents=True)

    outcome = commit(inner, inner.write("events/one.md"))

    assert outcome.paths == ("events/one.md",)
    assert project.changed() == ["A\tpackages/a b/events/one.md"]
    assert [*inner.repository().listing("events")] == ["events/one.md"]
    assert isinstance(inner.repository().commit(["../../kept.txt"], "x"), Skipped)


def test_a_folder_outside_of_a_sparse_checkout_is_committed_and_what_is_left_out_is_not_deleted(
    project: Project,
) -> None:
    commit(project, project.write("events/old.md"), project.write("src/a.py"))
    project.git("sparse-checkout", "set", "--cone", "src")
    assert not (project.folder / "events").exists()

    outcome = commit(project, project.write("events/new.md"), "events/old.md")

    assert outcome.paths == ("events/new.md",)
    assert project.tree() == ["events/new.md", "events/old.md", "kept.txt", "other.txt", "src/a.py"]
    assert isinstance(project.repository().commit(["events/old.md"], "x"), Skipped)
    assert status(project) == ""


@pytest.mark.parametrize("safe", ["false", "warn", "true"])
def test_line_ends_are_changed_as_the_settings_of_git_say(project: Project, safe: str) -> None:
    project.git("config", "core.autocrlf", "true")
    project.git("config", "core.safecrlf", safe)

    commit(project, project.write("crlf.md", "one\r\ntwo\r\n"), project.write("lf.md", "one\ntwo\n"))

    assert project.git("show", "HEAD:crlf.md") == project.git("show", "HEAD:lf.md") == "one\ntwo\n"
    assert status(project) == ""
    assert skip(project, "crlf.md", "lf.md").why is SkipReason.NOTHING


# --- what must not happen -----------------------------------------------------------------------


def plant_hooks(folder: Path, trace: Path) -> None:
    """Write hooks that each leave their name and fail."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in HOOKS:
        hook = folder / name
        hook.write_text(f'#!/bin/sh\necho {name} >> "{trace}"\nexit 1\n')
        hook.chmod(hook.stat().st_mode | stat.S_IXUSR)


@pytest.mark.requirement("C42")
@needs_scripts
@pytest.mark.parametrize("place", ["hooks", "elsewhere"])
def test_no_hook_runs(project: Project, tmp_path: Path, place: str) -> None:
    trace = tmp_path / "trace"
    folder = project.folder / ".git" / "hooks" if place == "hooks" else tmp_path / "elsewhere"
    plant_hooks(folder, trace)
    if place == "elsewhere":
        project.git("config", "core.hooksPath", str(folder))
    project.git("commit", "--allow-empty", "--message=x", check=False)
    assert trace.exists(), "the hooks are not planted right"
    trace.unlink()

    commit(project, project.write(EVENT), project.write("kept.txt", "changed\n"))

    assert not trace.exists()


def test_hooks_that_settings_name_are_switched_off(project: Project, tmp_path: Path) -> None:
    log = tmp_path / "log"
    project.git("config", "hook.my linter.command", "false")
    project.git("config", "hook.my linter.event", "pre-commit")

    commit(project, project.write(EVENT), GIT_CONFIG_GLOBAL=os.devnull)
    program = _spy(tmp_path, log)
    commit(project, project.write("two.md"), PATH=f"{program}{os.pathsep}{os.environ['PATH']}")

    lines = [line for line in log.read_text().splitlines() if " commit " in line]
    assert len(lines) == 1
    assert "-c hook.my linter.enabled=false" in lines[0]


def _spy(folder: Path, log: Path, setting: str = "", lock: Path | None = None) -> Path:
    """Make a git that notes its arguments and then is the real one, with one more variable.

    With a lock, another process seems to take it just before every commit.
    """
    place = folder / "spy"
    place.mkdir()
    script = place / "git"
    take = f'case "$*" in *" commit "*) touch "{lock}";; esac' if lock else ""
    script.write_text(
        f'#!/bin/sh\necho "git $*" >> "{log}"\n{take}\nexec env {setting} "{shutil.which("git")}" "$@"\n'
    )
    script.chmod(0o755)
    return place


@needs_scripts
def test_one_new_file_takes_four_processes_and_a_known_one_three(project: Project, tmp_path: Path) -> None:
    log = tmp_path / "log"
    path = f"{_spy(tmp_path, log)}{os.pathsep}{os.environ['PATH']}"

    commit(project, project.write(EVENT), PATH=path)
    first = len(log.read_text().splitlines())
    commit(project, project.write(EVENT, "changed\n"), PATH=path)

    assert (first, len(log.read_text().splitlines()) - first) == (4, 3)


def test_nothing_is_signed_asked_cleaned_or_taken_from_a_template(project: Project, tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.write_text("from the template\n")
    for name, value in {
        "commit.gpgSign": "true",
        "gpg.program": "false",
        "core.editor": "false",
        "commit.template": str(template),
        "commit.verbose": "true",
        "commit.cleanup": "strip",
        "commit.status": "true",
        "gc.auto": "1",
        "gc.autoDetach": "false",
        "i18n.commitEncoding": "ISO-8859-1",
    }.items():
        project.git("config", name, value)
    project.write(EVENT)

    outcome = project.repository(GIT_EDITOR="false").commit([EVENT], "# passdown: ünicode")

    assert isinstance(outcome, Committed)
    assert project.git("log", "-1", "--encoding=UTF-8", "--format=%G? %B").strip() == "N # passdown: ünicode"
    assert "gpgsig" not in project.git("cat-file", "commit", "HEAD")
    assert not [*(project.folder / ".git" / "objects" / "pack").iterdir()]


@needs_scripts
def test_git_starts_no_other_program(project: Project, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    path = f"{_spy(tmp_path, tmp_path / 'log', f'GIT_TRACE={trace}')}{os.pathsep}{os.environ['PATH']}"
    plant_hooks(project.folder / ".git" / "hooks", tmp_path / "hooks")

    commit(project, project.write(EVENT), PATH=path)

    assert "built-in: git commit" in trace.read_text()
    assert "run_command" not in trace.read_text()


NO_IDENTITY = {f"GIT_{role}_{part}": "" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}


@pytest.mark.requirement("C42")
def test_without_an_identity_nothing_is_committed_and_nobody_is_guessed(project: Project) -> None:
    outcome = skip(project, project.write(EVENT), **NO_IDENTITY, EMAIL="guess@example.invalid")

    assert outcome.why is SkipReason.NO_IDENTITY
    assert "user.email" in outcome.hint
    assert not outcome.is_quiet


@pytest.mark.parametrize("missing", ["name", "email"])
def test_half_an_identity_is_none(project: Project, missing: str) -> None:
    given = {"name": "Some One", "email": "some@example.invalid"}
    del given[missing]
    for part, value in given.items():
        project.git("config", f"user.{part}", value)

    assert skip(project, project.write(EVENT), **NO_IDENTITY).why is SkipReason.NO_IDENTITY


def test_an_identity_of_the_settings_is_enough(project: Project) -> None:
    project.git("config", "user.name", "Some One")
    project.git("config", "user.email", "some@example.invalid")
    project.git("config", "user.useConfigOnly", "true")
    variables = {name: value for name, value in os.environ.items() if name not in NO_IDENTITY}

    outcome = GitRepository(project.folder, variables=variables).commit([project.write(EVENT)], "x")

    assert isinstance(outcome, Committed)
    assert project.git("log", "-1", "--format=%an %ce") == "Some One some@example.invalid\n"


# --- in the middle of something -----------------------------------------------------------------


def make_conflict(project: Project) -> None:
    """Make two branches that change the same line; main stands on one of them."""
    project.git("checkout", "--quiet", "-b", "topic")
    project.write("kept.txt", "topic\n")
    project.git("commit", "--quiet", "--all", "--message=topic")
    project.write("other.txt", "second\n")
    project.git("commit", "--quiet", "--all", "--message=second")
    project.git("checkout", "--quiet", "main")
    project.write("kept.txt", "main\n")
    project.git("commit", "--quiet", "--all", "--message=main")


def start_am(project: Project) -> None:
    """Stop in the middle of applying a patch."""
    patch = project.git("format-patch", "--stdout", "main..topic")
    project.git("am", data=patch, check=False)


def start_revert(project: Project) -> None:
    """Stop in the middle of taking a commit back."""
    project.write("kept.txt", "later\n")
    project.git("commit", "--quiet", "--all", "--message=later")
    project.git("revert", "HEAD~1", check=False)


def start_picking(project: Project) -> None:
    """Stop between two commits that are picked, with the first of them committed by hand."""
    project.git("cherry-pick", "topic~1", "topic", check=False)
    project.git("checkout", "--quiet", "--theirs", "kept.txt")
    project.git("commit", "--quiet", "--all", "--no-edit")


STARTS: dict[str, Callable[[Project], object]] = {
    "merge": lambda project: project.git("merge", "topic", check=False),
    "resolved merge": lambda project: (
        project.git("merge", "topic", check=False),
        project.git("add", "kept.txt"),
    ),
    "rebase": lambda project: project.git("rebase", "topic", check=False),
    "rebase by patches": lambda project: project.git("rebase", "--apply", "topic", check=False),
    "cherry-pick": lambda project: project.git("cherry-pick", "topic~1", check=False),
    "several picks": start_picking,
    "revert": start_revert,
    "bisect": lambda project: project.git("bisect", "start", "main", "main~1"),
    "am": start_am,
}


@pytest.mark.requirement("C42")
@pytest.mark.parametrize("name", STARTS)
def test_nothing_is_committed_in_the_middle_of_something(project: Project, name: str) -> None:
    make_conflict(project)
    STARTS[name](project)

    outcome = skip(project, project.write(EVENT))

    assert outcome.why is SkipReason.UNFINISHED
    assert "in progress" in outcome.reason
    assert outcome.hint


def test_a_merge_in_another_worktree_does_not_concern_us(project: Project, tmp_path: Path) -> None:
    make_conflict(project)
    project.git("worktree", "add", "--quiet", "-b", "third", str(tmp_path / "tree"), "main")
    Project(folder=tmp_path / "tree").git("merge", "topic", check=False)

    commit(project, project.write(EVENT))


def make_unmerged(project: Project) -> None:
    """Leave a conflict in `kept.txt` that belongs to no merge."""
    project.write("kept.txt", "stashed\n")
    project.git("stash")
    project.write("kept.txt", "committed\n")
    project.git("commit", "--quiet", "--all", "--message=two")
    project.git("stash", "pop", check=False)
    assert "u UU" in status(project)


def test_a_conflict_of_the_user_stays_as_it_is(project: Project) -> None:
    make_unmerged(project)
    before = (project.index(), status(project), (project.folder / "kept.txt").read_bytes())

    commit(project, project.write(EVENT))

    index = [line for line in project.index().splitlines(keepends=True) if EVENT not in line]
    assert ("".join(index), status(project), (project.folder / "kept.txt").read_bytes()) == before
    assert project.changed() == [f"A\t{EVENT}"]


def test_a_conflict_in_our_own_file_is_not_committed(project: Project) -> None:
    make_unmerged(project)

    outcome = skip(project, "kept.txt", project.write(EVENT))

    assert outcome.why is SkipReason.UNFINISHED
    assert "kept.txt" in outcome.reason


def test_inside_a_hook_of_git_nothing_is_committed_and_its_index_is_not_touched(
    project: Project, tmp_path: Path
) -> None:
    foreign = tmp_path / "index"
    foreign.write_bytes(b"not ours")

    outcome = skip(project, project.write(EVENT), GIT_INDEX_FILE=str(foreign))

    assert outcome.why is SkipReason.UNFINISHED
    assert foreign.read_bytes() == b"not ours"


def test_variables_of_another_repository_do_not_lead_us_there(project: Project, tmp_path: Path) -> None:
    other = make_started(tmp_path / "other")
    place = str(other.folder / ".git")

    commit(project, project.write(EVENT), GIT_DIR=place, GIT_WORK_TREE=str(other.folder), GIT_PREFIX="x/")

    assert project.changed() == [f"A\t{EVENT}"]
    assert (other.count(), status(other)) == (1, "")


def test_the_variables_of_a_repository_kept_elsewhere_are_followed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    store = make_project(tmp_path / "store")
    variables = {"GIT_DIR": str(store.folder / ".git"), "GIT_WORK_TREE": str(home)}
    (home / "event.md").write_text("one\n")

    repository = GitRepository(home, variables={**os.environ, **variables})

    assert (repository.is_there(), repository.branch()) == (True, "main")
    assert isinstance(repository.commit(["event.md"], "x"), Committed)
    assert store.tree() == ["event.md"]


# --- locks and failures -------------------------------------------------------------------------


@pytest.mark.parametrize("path", [EVENT, "kept.txt"])
def test_an_index_that_another_holds_is_left_alone(project: Project, path: str) -> None:
    project.write(path, "changed\n")
    before = project.index()
    lock = project.folder / ".git" / "index.lock"
    lock.write_bytes(b"")
    pauses: list[float] = []

    outcome = GitRepository(project.folder, wait=pauses.append).commit([path], "x")

    assert isinstance(outcome, Skipped)
    assert (outcome.why, tuple(pauses)) == (SkipReason.LOCKED, PAUSES)
    assert "try again later" in outcome.hint
    assert lock.exists()
    lock.unlink()
    assert project.index() == before
    assert project.count() == 1


def test_an_index_that_is_held_for_a_moment_is_waited_for(project: Project) -> None:
    lock = project.folder / ".git" / "index.lock"
    lock.write_bytes(b"")

    def wait(seconds: float) -> None:
        del seconds
        lock.unlink()

    outcome = GitRepository(project.folder, wait=wait).commit([project.write(EVENT)], "x")

    assert isinstance(outcome, Committed)


def test_after_a_commit_that_fails_the_index_is_as_before(project: Project) -> None:
    project.git("add", project.write("mine.txt"))
    project.write("kept.txt", "changed\n")
    lock = project.folder / ".git" / "refs" / "heads" / "main.lock"
    lock.write_bytes(b"")

    outcome = skip(project, project.write(EVENT), "kept.txt")

    assert outcome.why is SkipReason.REFUSED
    assert "lock" in outcome.reason
    lock.unlink()
    project.git("commit", "--quiet", "--message=mine")
    assert project.changed() == ["A\tmine.txt"]


@needs_scripts
def test_after_an_interrupt_the_index_is_as_before(project: Project, tmp_path: Path) -> None:
    project.git("add", project.write("mine.txt"))
    before = project.index()
    lock = project.folder / ".git" / "index.lock"
    path = f"{_spy(tmp_path, tmp_path / 'log', lock=lock)}{os.pathsep}{os.environ['PATH']}"

    def interrupt(seconds: float) -> None:
        del seconds
        lock.unlink()
        raise KeyboardInterrupt

    repository = GitRepository(project.folder, variables={**os.environ, "PATH": path}, wait=interrupt)
    with pytest.raises(KeyboardInterrupt):
        repository.commit([project.write(EVENT)], "x")

    assert "reset" in (tmp_path / "log").read_text()
    assert (project.index(), project.count()) == (before, 1)


def test_after_a_first_commit_that_fails_the_index_is_as_before(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    project.git("add", project.write("mine.txt"))
    before = project.git("ls-files", "--stage")
    lock = project.folder / ".git" / "refs" / "heads" / "main.lock"
    lock.write_bytes(b"")

    outcome = project.repository().commit([project.write(EVENT)], "x")

    assert isinstance(outcome, Skipped)
    assert project.git("ls-files", "--stage") == before


def test_a_folder_in_the_index_where_we_have_a_file_is_not_replaced(project: Project) -> None:
    project.git("add", project.write("place/file.txt"))
    (project.folder / "place" / "file.txt").unlink()
    (project.folder / "place").rmdir()

    outcome = skip(project, project.write("place"))

    assert outcome.why is SkipReason.REFUSED


def test_git_that_is_missing_is_a_reason(project: Project, tmp_path: Path) -> None:
    outcome = project.repository(PATH=str(tmp_path / "empty")).commit([project.write(EVENT)], "x")

    assert isinstance(outcome, Skipped)
    assert outcome.why is SkipReason.NO_GIT
    assert "could not be started" in outcome.reason


def test_settings_that_git_cannot_read_are_a_reason(project: Project) -> None:
    with (project.folder / ".git" / "config").open("a") as file:
        file.write("[broken\n")

    outcome = project.repository().commit([project.write(EVENT)], "x")

    assert isinstance(outcome, Skipped)
    assert outcome.why is SkipReason.REFUSED
    assert "config" in outcome.reason


@needs_scripts
def test_a_repository_of_someone_else_is_a_reason(project: Project, tmp_path: Path) -> None:
    place = _spy(tmp_path, tmp_path / "log", "GIT_TEST_ASSUME_DIFFERENT_OWNER=1")
    path = f"{place}{os.pathsep}{os.environ['PATH']}"

    outcome = skip(project, project.write(EVENT), PATH=path)

    assert outcome.why is SkipReason.REFUSED
    assert "dubious ownership" in outcome.reason
    assert "safe.directory" in outcome.hint
    assert project.repository(PATH=path).listing("") == {}
    assert project.repository(PATH=path).branch() == "main"


def test_without_a_home_commits_are_made(project: Project) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in {"HOME", "XDG_CONFIG_HOME"}}
    variables.pop("GIT_CONFIG_GLOBAL")

    outcome = GitRepository(project.folder, variables=variables).commit([project.write(EVENT)], "x")

    assert isinstance(outcome, Committed)


# --- which paths --------------------------------------------------------------------------------


@needs_links
def test_links_and_what_lies_behind_them_are_left_alone(project: Project, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "file.md").write_text("secret")
    (project.folder / "link.md").symlink_to(secret / "file.md")
    (project.folder / "folder").symlink_to(secret)
    (project.folder / "dangling.md").symlink_to(tmp_path / "none")

    outcome = skip(project, "link.md", "folder", "folder/file.md", "dangling.md")

    assert outcome.why is SkipReason.NOTHING


@needs_links
def test_a_tracked_file_that_became_a_link_is_left_alone(project: Project, tmp_path: Path) -> None:
    (project.folder / "kept.txt").unlink()
    (project.folder / "kept.txt").symlink_to(tmp_path)

    assert skip(project, "kept.txt").why is SkipReason.NOTHING


def test_files_of_a_submodule_are_left_alone(project: Project, tmp_path: Path) -> None:
    other = make_started(tmp_path / "other")
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.folder), "sub")
    project.git("commit", "--quiet", "--message=sub")
    inner = Project(folder=project.folder / "sub")
    inner.write(EVENT)

    assert skip(project, f"sub/{EVENT}", "sub/kept.txt", "sub").why is SkipReason.NOTHING
    assert inner.repository().common_folder() == str(project.folder / ".git" / "modules" / "sub")
    commit(inner, EVENT)
    assert inner.count() == 2


def test_a_tracked_file_that_rules_ignore_is_still_ours(project: Project) -> None:
    commit(project, project.write(EVENT))
    project.write(".gitignore", "thoughts/\n")
    project.write("thoughts/new.md")

    outcome = commit(project, project.write(EVENT, "changed\n"), "thoughts/new.md")

    assert outcome.paths == (EVENT,)
    assert project.repository().is_ignored("thoughts/new.md")
    assert not project.repository().is_ignored(EVENT)


def test_paths_are_chosen_once_each_and_written_in_one_way(tmp_path: Path) -> None:
    names = ["b", "./a//c", "a/c", "x/../b", "", "a\0b", ".git/config", "x/.GIT/y", "../a", "/a", "."]

    assert choose_paths(str(tmp_path), names) == ["a/c", "b"]


@needs_links
def test_folders_that_are_links_or_other_repositories_are_not_entered(tmp_path: Path) -> None:
    for name in ("own", "real/deep", "other/.git", "other/deep"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "own" / "link").symlink_to(tmp_path / "real")
    names = ["own/a", "own/link/a", "own/link/deep/a", "other/a", "other/deep/a", "gone/deep/a"]

    assert choose_paths(str(tmp_path), names) == ["gone/deep/a", "own/a"]


def test_a_path_that_cannot_be_looked_at_is_left_alone(tmp_path: Path) -> None:
    assert choose_paths(str(tmp_path), ["x" * 5000]) == []


def test_a_file_below_what_is_now_a_file_is_gone(project: Project) -> None:
    commit(project, project.write("place/file.md"))
    (project.folder / "place" / "file.md").unlink()
    (project.folder / "place").rmdir()
    project.write("place")

    commit(project, "place/file.md")

    assert project.tree() == ["kept.txt", "other.txt"]
