"""The cache of a new checkout begins as a copy of another one, and goes with its checkout (C131)."""

import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from passdown.engines.git.repository import GitRepository
from passdown.settings import Settings
from passdown.wiring.caches import CachePlace, open_cached, remove_caches
from tests.support.commands import Caller
from tests.support.gits import Project
from tests.support.projects import EVENTS, put_event

PLANTED = "planted-in-the-cache"
CACHE = ".git/passdown/cache"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command, in a project with committed events and a cache that can be told."""
    for hour in range(8, 12):
        put_event(project.folder, f"2026-01-11T{hour:02}:00:00Z", now=f"Step {hour}")
    project.git("add", "-A")
    project.git("commit", "-m", "events")
    call = Caller(monkeypatch, capsys, project.folder)
    call("log")
    plant(project.folder)
    return call


def plant(folder: Path) -> None:
    """Change what the only cache says, so that a copy of it can be told from one that was made anew."""
    (path,) = (folder / CACHE).glob("events-*.sqlite")
    with closing(sqlite3.connect(path)) as cache, cache:
        cache.execute("UPDATE sources SET branch = ?", (PLANTED,))


def add_worktree(project: Project, name: str = "other") -> Path:
    place = project.folder.parent / name
    project.git("worktree", "add", "-q", "-b", name, str(place))
    return place


def list_branches(command: Caller, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(folder)
    events = json.loads(command("log", "--json").out)["events"]
    return [event["branch"] for event in events if event["checkout"] == "."]


def caches(folder: Path) -> set[str]:
    return {path.name for path in (folder / CACHE).iterdir() if path.suffix in {".sqlite", ".txt"}}


@pytest.mark.requirement("C131")
def test_the_cache_of_a_new_worktree_begins_as_a_copy(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = add_worktree(project)
    put_event(other, "2026-01-11T12:00:00Z", now="Step 12")

    assert list_branches(command, other, monkeypatch) == ["main", *[PLANTED] * 4]


@pytest.mark.requirement("C131")
def test_what_differs_in_the_new_worktree_is_read_there(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = add_worktree(project)
    first, second, *_ = sorted((other / EVENTS).iterdir())
    first.write_text(first.read_text(encoding="utf-8").replace("Step 8", "Step X"), encoding="utf-8")
    second.unlink()

    assert list_branches(command, other, monkeypatch) == [PLANTED, PLANTED, "main"]
    assert "Step X" in command("log").out
    assert command("view", "verify").out.count("\n") == 2  # the changed one and the one that is gone


@pytest.mark.requirement("C131")
def test_a_copy_says_what_an_index_of_the_worktree_says(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(project.folder / CACHE)
    command("log")
    other = add_worktree(project)
    put_event(other, "2026-01-11T12:00:00Z", now="Step 12")
    monkeypatch.chdir(other)

    copied = [command(*words).out for words in (("log",), ("synthesize", "--dry-run"))]
    shutil.rmtree(project.folder / CACHE)

    assert [command(*words).out for words in (("log",), ("synthesize", "--dry-run"))] == copied


def open_in(project: Project, root: Path, largest: int | None = None) -> int:
    """Open the cache of a checkout and return how many events it has before any is read."""
    repository = GitRepository(root, variables=os.environ)
    place = CachePlace(root, Settings(), str(project.folder / ".git"), repository, largest)
    index = open_cached(place)
    assert index is not None
    with closing(index):
        return len(index.places())


@pytest.mark.requirement("C131")
@pytest.mark.usefixtures("command")
def test_a_hook_copies_no_large_cache(project: Project) -> None:
    assert open_in(project, add_worktree(project, "a"), 1) == 0
    assert open_in(project, add_worktree(project, "b"), 64 * 1024 * 1024) == 4
    left = [path for path in (project.folder / CACHE).iterdir() if path.name[-1].isdigit()]
    assert left == []  # no unfinished copy


@pytest.mark.requirement("C131")
@pytest.mark.usefixtures("command")
def test_a_cache_of_another_version_is_not_copied(project: Project) -> None:
    (path,) = (project.folder / CACHE).glob("events-*.sqlite")
    with closing(sqlite3.connect(path)) as cache:
        cache.execute("PRAGMA user_version = 1")

    assert open_in(project, add_worktree(project)) == 0


@pytest.mark.requirement("C131")
def test_caches_of_checkouts_that_are_gone_go_at_the_next_start(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = caches(project.folder)
    other, hidden = add_worktree(project), add_worktree(project, "hidden")
    for place in (other, hidden):
        list_branches(command, place, monkeypatch)
    monkeypatch.chdir(project.folder)
    assert len(caches(project.folder)) == 3 * len(before)

    hidden.rename(hidden.with_name("unmounted"))
    command("start")
    assert len(caches(project.folder)) == 3 * len(before)  # git still lists it: its disk may come back
    project.git("worktree", "remove", "--force", str(other))
    command("end")
    command("start")

    assert len(caches(project.folder)) == 2 * len(before)
    assert before < caches(project.folder)


@pytest.mark.requirement("C131")
@pytest.mark.usefixtures("command")
def test_caches_of_other_projects_and_of_unknown_ones_stay(project: Project) -> None:
    inner = project.folder / "packages/inner"
    inner.mkdir(parents=True)
    assert open_in(project, inner) == 4
    unknown = project.folder / CACHE / "search-0123456789ab.sqlite"
    unknown.touch()
    place = CachePlace(project.folder, Settings(), str(project.folder / ".git"), project_tracking(project))
    kept = caches(project.folder)

    assert remove_caches(place) == 0
    assert caches(project.folder) == kept
    os.utime(unknown, (0, 0))
    assert remove_caches(place) == 1
    assert caches(project.folder) == kept - {unknown.name}
    assert remove_caches(place._replace(common=None)) == 0


def project_tracking(project: Project) -> GitRepository:
    return GitRepository(project.folder, variables=os.environ)
