"""Folders of ours that held nothing new are not listed again until they change, on disk or in a commit."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

import pytest

from passdown.engines.files.documents import FileDocuments
from passdown.engines.git.repository import GitRepository
from passdown.records import record, replace
from passdown.services.log.commits import list_uncommitted
from tests.support.gits import Project, make_project
from tests.support.projects import ARCHIVE, EVENTS
from tests.support.sessions import MemoryWorkspace

_RECORDS: Final = "conductor/sessions/archive"
_DAYS: Final = (
    f"{EVENTS}/2026-01-02",
    f"{EVENTS}/2026-01-03",
    f"{ARCHIVE}/2026-01-02",
    f"{_RECORDS}/2026-01",
)
_KNOWN: Final = ".conductor/committed-folders.json"


class _Documents(FileDocuments):
    """Documents that remember which files they listed."""

    listed: list[str]

    def list(self, folder: str, *, apart_from: Collection[str] = ()) -> Iterator[str]:
        """List them, and remember that."""
        found = [*super().list(folder, apart_from=apart_from)]
        self.listed += found
        return iter(found)


@record
class _Place:
    """A checkout with a commit of old events, copies and records."""

    project: Project
    documents: _Documents
    workspace: MemoryWorkspace

    def write(self, path: str, at: int = 0) -> None:
        """Write a file into a folder that changed long ago."""
        self.project.write(path)
        folder = self.project.folder / path
        os.utime(folder.parent, ns=(at, at))

    def uncommitted(self, *, is_hook: bool = False) -> list[str]:
        """List what is not committed, with the files that were listed for that."""
        self.documents.listed = []
        workspace = replace(self.workspace, is_hook=is_hook)
        return [*list_uncommitted(workspace)]


@pytest.fixture
def place(tmp_path: Path) -> _Place:
    """Make it."""
    project = make_project(tmp_path)
    documents, repository = _Documents(project.folder), GitRepository(project.folder)
    documents.listed = []
    workspace = MemoryWorkspace(
        root=str(project.folder), documents=documents, repository=repository, tracking=repository
    )
    made = _Place(project=project, documents=documents, workspace=workspace)
    for folder in _DAYS:
        made.write(f"{folder}/a.md", 1)
    made.write(f"{EVENTS}/top.md")
    project.git("add", ".")
    project.git("commit", "-qm", "everything")
    assert made.uncommitted() == []
    assert {f"{folder}/a.md" for folder in _DAYS} < {*documents.listed}
    return made


@pytest.mark.requirement("C131")
def test_only_folders_that_changed_are_listed_again(place: _Place) -> None:
    assert place.uncommitted() == []
    assert place.documents.listed == [f"{EVENTS}/top.md"]

    place.write(f"{_DAYS[1]}/b.md", 2)

    assert place.uncommitted() == [f"{_DAYS[1]}/b.md"]
    assert place.documents.listed == [f"{_DAYS[1]}/a.md", f"{_DAYS[1]}/b.md", f"{EVENTS}/top.md"]


@pytest.mark.requirement("C131")
def test_a_commit_that_is_taken_back_leaves_its_files_uncommitted(place: _Place) -> None:
    for path in (f"{_DAYS[0]}/b.md", f"{_DAYS[3]}/b.md"):
        place.write(path, 2)
    place.project.git("add", ".")
    place.project.git("commit", "-qm", "two more")
    assert place.uncommitted() == []

    place.project.git("reset", "-q", "--soft", "HEAD~1")

    assert place.uncommitted() == [f"{_DAYS[3]}/b.md", f"{_DAYS[0]}/b.md"]
    assert place.uncommitted(is_hook=True) == [f"{_DAYS[3]}/b.md"]


def test_a_folder_that_has_just_changed_is_listed_again(place: _Place) -> None:
    now = int(place.workspace.clock.now().timestamp() * 1_000_000_000)
    os.utime(place.project.folder / _DAYS[0], ns=(now, now))

    assert place.uncommitted() == []
    assert place.uncommitted() == []

    assert f"{_DAYS[0]}/a.md" in place.documents.listed


def test_a_folder_with_folders_is_listed_again(place: _Place) -> None:
    (place.project.folder / _DAYS[0] / "deep").mkdir()
    os.utime(place.project.folder / _DAYS[0], ns=(3, 3))
    assert place.uncommitted() == []

    place.write(f"{_DAYS[0]}/deep/b.md")

    assert place.uncommitted() == [f"{_DAYS[0]}/deep/b.md"]


def test_a_lost_or_broken_record_costs_only_a_listing(place: _Place) -> None:
    known = place.project.folder / _KNOWN
    for text in ("", "[]", '{"a":'):
        known.write_text(text, encoding="utf-8")

        assert place.uncommitted() == []
        assert f"{_DAYS[0]}/a.md" in place.documents.listed

    known.unlink()
    known.mkdir()
    assert place.uncommitted() == place.uncommitted() == []
    assert f"{_DAYS[0]}/a.md" in place.documents.listed


def test_a_commit_made_meanwhile_is_not_mistaken_for_the_one_compared(place: _Place) -> None:
    place.write(f"{_DAYS[0]}/b.md", 2)
    (place.project.folder / _KNOWN).unlink()
    commits = iter(("before", "after"))

    class _Moving(GitRepository):
        def last_commit(self) -> str:
            return next(commits)

    moving = replace(place.workspace, repository=_Moving(place.project.folder))

    assert list_uncommitted(moving) == [f"{_DAYS[0]}/b.md"]
    assert not (place.project.folder / _KNOWN).exists()


def test_without_git_everything_is_uncommitted(tmp_path: Path) -> None:
    documents = FileDocuments(tmp_path)
    documents.create(f"{_DAYS[0]}/a.md", b"")
    repository = GitRepository(tmp_path)
    workspace = MemoryWorkspace(documents=documents, repository=repository, tracking=repository)

    assert list_uncommitted(workspace) == [f"{_DAYS[0]}/a.md"]
