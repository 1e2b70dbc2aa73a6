"""The end of a session archives a few events, and searches only the folders of the oldest (C127)."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from passdown.core.formats.events import render_event
from passdown.engines.files.documents import FileDocuments
from passdown.errors import StorageError
from passdown.records import replace
from passdown.services.log import archive_runs
from passdown.services.log.commits import ARCHIVING, CommitTrigger
from passdown.services.log.events import update_index
from passdown.services.log.synthesis import synthesize
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME
from passdown.testing.memory.repository import MemoryRepository
from tests.stores.benches import Bench, make_bench
from tests.support.projects import ARCHIVE, EVENTS, make_event, put

pytestmark = pytest.mark.requirement("C127")

_DAYS = tuple(f"2026-01-0{day}" for day in range(1, 4))


class _Repository(MemoryRepository):
    """A repository that knows whether it listed all events."""

    listed = 0

    def listing(self, *folders: str) -> Mapping[str, str]:
        """Count listings of all events."""
        self.listed += folders == (EVENTS, ARCHIVE)
        return super().listing(*folders)


def _put(folder: Path, day: str, number: int, named: str = "") -> str:
    """Write an event into the folder of its day; its name can have another."""
    text = render_event(make_event(f"{day}T13:00:0{number}Z", "toast", now=f"{day} {number}"))
    path = f"{EVENTS}/{named or day}/{named or day}T13-00-0{number}Z_toast.md"
    put(folder, path, text)
    return path


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Make a checkout with two events on each of three old days; two are archived at once."""
    monkeypatch.setattr(archive_runs, "AT_ONCE", 2)
    put(tmp_path, FILE_NAME, "")
    for day in _DAYS:
        for number in (1, 2):
            _put(tmp_path, day, number)
    return make_bench(tmp_path)


def _repository(bench: Bench) -> _Repository:
    repository = _Repository(bench.checkout.documents)
    repository.commits = bench.repository.commits
    return repository


def _archive(bench: Bench) -> _Repository:
    """Commit everything, and archive a few, as the end of a session does."""
    repository = _repository(bench)
    update_index(bench.checkout.log, bench.checkout.index)
    repository.commit([*bench.checkout.documents.list("thoughts")], "everything")
    synthesize(_with(bench.checkout, repository), trigger=CommitTrigger.SESSION_END, to_commit=True)
    bench.repository.commits = repository.commits
    return repository


def _with(workspace: Workspace, repository: MemoryRepository) -> Workspace:
    return replace(workspace, repository=repository, tracking=repository, archive_branch=repository)


def _single(bench: Bench, top: str = EVENTS) -> list[str]:
    """Name the days of single files."""
    return [path.split("/")[-2] for path in bench.checkout.documents.list(top) if path.endswith(".md")]


def test_the_end_of_a_session_archives_the_oldest_and_lists_nothing_else(bench: Bench) -> None:
    repository = _archive(bench)

    assert _single(bench) == [_DAYS[1]] * 2 + [_DAYS[2]] * 2
    assert _single(bench, ARCHIVE) == [_DAYS[0]] * 2
    assert repository.commits[-1].message == "passdown: 2 events archived (1 new rollup)"
    assert repository.listed == 0


def test_copies_that_are_too_old_are_removed_a_few_days_at_a_time(bench: Bench) -> None:
    for _ in _DAYS:
        _archive(bench)
    put(bench.folder, f"{ARCHIVE}/notes/a.md", "somebody's")
    bench.clock.at += timedelta(days=40)
    _put(bench.folder, "2026-02-01", 1)

    repository = _archive(bench)

    assert _single(bench, ARCHIVE) == [_DAYS[1]] * 2 + [_DAYS[2]] * 2 + ["2026-02-01", "notes"]
    assert "1 event archived, 2 archive files removed" in repository.commits[-1].message
    assert repository.listed == 0


def test_an_event_of_another_day_than_its_name_is_archived_with_that_day(bench: Bench) -> None:
    _put(bench.folder, _DAYS[2], 3, named=_DAYS[0])
    _put(bench.folder, "2025-12-31", 0, named=_DAYS[0])

    repository = _archive(bench)

    assert repository.listed == 1
    assert any("events/2025-12-31/rollup" in path for path in repository.listing(EVENTS))


def test_a_file_that_cannot_be_read_stays(bench: Bench) -> None:
    bad = put(bench.folder, f"{EVENTS}/{_DAYS[0]}/{_DAYS[0]}T00-00-00Z_bad.md", "no event")
    unreadable = _put(bench.folder, _DAYS[0], 0)

    class _Unreadable(FileDocuments):
        def read(self, path: str, *, settled: bool = False) -> bytes:
            if path == unreadable and self.is_strict:
                raise StorageError("no", hint="no")
            return super().read(path, settled=settled)

        is_strict = False

    documents = _Unreadable(bench.folder)
    repository = _Repository(documents)
    repository.commit([*documents.list("thoughts")], "everything")
    documents.is_strict = True
    workspace = _with(replace(bench.checkout, documents=documents), repository)
    update_index(workspace.log, workspace.index)

    synthesize(workspace, trigger=CommitTrigger.SESSION_END, to_commit=True)

    assert bad.exists()
    assert (bench.folder / unreadable).exists()
    assert repository.listed == 0


def test_after_an_interrupted_run_files_of_every_day_are_looked_at(bench: Bench) -> None:
    _archive(bench)
    repository = _repository(bench)
    workspace = _with(bench.checkout, repository)
    ARCHIVING.put(workspace)

    synthesize(workspace, trigger=CommitTrigger.SESSION_END, to_commit=True)

    assert repository.listed == 1
    assert not ARCHIVING.is_put(workspace)


def test_events_that_are_due_and_not_committed_hold_up_no_others(bench: Bench) -> None:
    waiting = _put(bench.folder, _DAYS[0], 0)
    repository = _repository(bench)
    there = [path for path in bench.checkout.documents.list("thoughts") if _DAYS[0] not in path]
    repository.commit(there, "all but the first day")
    workspace = _with(bench.checkout, repository)
    update_index(workspace.log, workspace.index)

    done = archive_runs.archive_due(workspace)

    assert done is not None
    assert done.moved == 2
    assert (bench.folder / waiting).exists()
    assert repository.listed == 1
