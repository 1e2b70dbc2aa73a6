"""Synthesis writes the view where the trigger lets it, then archives and commits where that is due."""

from pathlib import Path

import pytest

from passdown.core.formats.view_location import ViewPolicy
from passdown.engines.files.documents import FileDocuments
from passdown.engines.sqlite.event_index import SqliteIndex, open_index
from passdown.errors import CacheError, PassdownError
from passdown.ports.repository import Committed, Skipped
from passdown.records import replace
from passdown.services.log.commits import CommitTrigger, NotDue, list_uncommitted
from passdown.services.log.events import update_index
from passdown.services.log.synthesis import (
    check_view,
    find_ahead,
    is_legacy,
    is_uncommitted,
    preview_view,
    synthesize,
)
from passdown.services.log.views import ViewState, view_place
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME, EventSettings, Settings, ViewSettings
from tests.stores.benches import Bench, committed, make_bench
from tests.support.projects import ARCHIVE, EVENTS, LOCAL, VIEW, listing, put, put_event


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Give a checkout with an old event and a new one, on 11 January."""
    put_event(tmp_path, "2026-01-02T13:00:00Z", now="Old", goal="Fix hooks")
    put_event(tmp_path, "2026-01-10T13:00:00Z", now="New")
    (tmp_path / FILE_NAME).write_bytes(b"")
    return make_bench(tmp_path)


def old_events(folder: Path) -> list[str]:
    """Name the archived files."""
    return [path for path in listing(folder) if path.startswith(ARCHIVE)]


@pytest.mark.requirement("R96", "R113")
def test_whoever_asks_gets_the_view_in_its_place(bench: Bench) -> None:
    outcome = synthesize(bench.checkout)

    assert (outcome.event_count, outcome.skipped, outcome.ahead) == (2, 0, ())
    assert (outcome.written.path, outcome.written.before) == (VIEW, ViewState.MISSING)
    assert (outcome.archived, outcome.committed) == (None, None)
    assert check_view(bench.checkout)[1] is ViewState.CURRENT


@pytest.mark.requirement("R131", "R132")
@pytest.mark.parametrize("trigger", [CommitTrigger.START, CommitTrigger.EVENT, None])
def test_a_trigger_that_does_not_commit_writes_the_local_view(
    bench: Bench, trigger: CommitTrigger | None
) -> None:
    outcome = synthesize(bench.checkout, trigger=trigger)

    assert (outcome.place.path, outcome.place.is_tracked) == (LOCAL, False)
    assert not (bench.folder / VIEW).exists()


def test_outside_git_every_trigger_writes_the_one_view_and_archives(tmp_path: Path) -> None:
    put_event(tmp_path, "2026-01-02T13:00:00Z", now="Old")
    bench = make_bench(tmp_path, with_git=False)

    outcome = synthesize(bench.checkout, trigger=CommitTrigger.EVENT)

    assert outcome.written.path == VIEW
    assert outcome.archived is not None
    assert outcome.archived.moved == 1
    assert not is_uncommitted(bench.checkout, outcome.place)


@pytest.mark.requirement("R127", "R130", "R133")
def test_a_commit_takes_events_archive_and_view_along(bench: Bench) -> None:
    outcome = synthesize(bench.checkout, trigger=CommitTrigger.SESSION_END, to_commit=True)

    assert isinstance(outcome.committed, Committed)
    assert outcome.archived is not None
    local = [LOCAL, ".conductor/.gitignore"]
    assert sorted((*committed(bench), *local)) == sorted(set(listing(bench.folder)) - {FILE_NAME})
    assert listing(bench.folder)[LOCAL] == listing(bench.folder)[VIEW]
    assert old_events(bench.folder)
    assert list_uncommitted(bench.checkout) == []
    assert not is_uncommitted(bench.checkout, outcome.place)
    again = synthesize(bench.checkout, to_commit=True)
    assert isinstance(again.committed, Skipped)


def test_a_commit_that_a_setting_forbids_is_not_due(bench: Bench) -> None:
    outcome = synthesize(bench.checkout, trigger=CommitTrigger.START, to_commit=True)

    assert isinstance(outcome.committed, NotDue)
    assert bench.repository.commits == []


def test_to_commit_without_a_trigger_commits_nothing(bench: Bench) -> None:
    assert synthesize(bench.checkout, trigger=None, to_commit=True).committed is None


@pytest.mark.requirement("R129")
@pytest.mark.parametrize(
    ("archive", "setting", "to_commit", "is_done"),
    [
        (None, True, False, False),
        (None, True, True, True),
        (None, False, True, False),
        (True, False, False, True),
        (False, True, True, False),
    ],
)
def test_archiving_happens_when_asked_or_with_a_commit(
    bench: Bench, *, archive: bool | None, setting: bool, to_commit: bool, is_done: bool
) -> None:
    checkout = bench.with_settings(Settings(events=EventSettings(archive=setting)))
    synthesize(checkout, archive=False, to_commit=True)

    outcome = synthesize(checkout, archive=archive, to_commit=to_commit)

    assert (outcome.archived is not None, bool(old_events(bench.folder))) == (is_done, is_done)


def test_a_document_of_somebody_else_stops_it_before_anything_is_archived(bench: Bench) -> None:
    put(bench.folder, VIEW, "# Mine\n")
    before = listing(bench.folder)

    with pytest.raises(PassdownError, match="was not made by Passdown"):
        synthesize(bench.checkout, archive=True)

    assert listing(bench.folder) == before


@pytest.mark.requirement("R117")
def test_no_other_synthesis_of_the_checkout_can_write_meanwhile(bench: Bench, tmp_path: Path) -> None:
    path = str(tmp_path / "cache.sqlite")
    index = open_index(path, shared_memory=False)
    other = open_index(path, shared_memory=False)
    impatient(other)
    seen: list[bool] = []

    class Watched(FileDocuments):
        def replace(
            self,
            path: str,
            data: bytes,
            *,
            local: bool = False,
            expected: bytes | None = None,
            durable: bool = True,
        ) -> None:
            seen.append(is_held(other))
            super().replace(path, data, local=local, expected=expected, durable=durable)

    synthesize(replace(bench.checkout, index=index, documents=Watched(bench.folder)))

    assert seen == [True]
    assert not is_held(other)
    index.close()
    other.close()


def impatient(index: SqliteIndex) -> None:
    """Let an index wait for nobody."""
    index._connection.execute("PRAGMA busy_timeout = 0")  # a test must not wait


def is_held(index: SqliteIndex) -> bool:
    """Say whether somebody else is changing the index."""
    try:
        with index.changing():
            return False
    except CacheError:
        return True


@pytest.mark.requirement("R117")
def test_a_slow_synthesis_does_not_put_an_older_view_over_a_newer_one(bench: Bench, tmp_path: Path) -> None:
    path = str(tmp_path / "cache.sqlite")
    slow = replace(bench.checkout, index=open_index(path, shared_memory=False))
    fast = replace(bench.checkout, index=open_index(path, shared_memory=False))
    update_index(slow.log, slow.index)

    class Between:
        """Lets the other one run between looking and writing."""

        def __init__(self, checkout: Workspace) -> None:
            self._checkout = checkout
            self._is_done = False

        def __call__(self) -> None:
            if not self._is_done:
                self._is_done = True
                put_event(bench.folder, "2026-01-10T15:00:00Z", now="Newest")
                synthesize(self._checkout)

    between = Between(fast)
    repository = bench.repository
    looked = repository.branch

    def branch() -> str:
        between()
        return looked()

    repository.branch = branch  # type: ignore[method-assign]  # it is asked between looking and writing
    synthesize(slow)

    assert "Newest" in bench.read(VIEW)
    for one in (slow.index, fast.index):
        assert isinstance(one, SqliteIndex)
        one.close()


def test_what_would_be_written_is_told_before(bench: Bench) -> None:
    steps: list[int] = []

    preview = preview_view(bench.checkout, lambda number, _: steps.append(number))

    assert (preview.event_count, preview.state, preview.place.path) == (2, ViewState.MISSING, VIEW)
    assert [place.rank.agent for place in preview.newest] == ["toast", "toast"]
    assert steps == [1, 2]
    synthesize(bench.checkout)
    assert bench.read(VIEW) == preview.text


@pytest.mark.requirement("R139")
def test_only_a_current_md_without_a_folder_of_events_is_legacy(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)

    assert not is_legacy(bench.checkout)
    put(tmp_path, VIEW, "# Mine\n")
    assert is_legacy(bench.checkout)
    put_event(tmp_path, "2026-01-10T13:00:00Z", now="New")
    assert not is_legacy(bench.checkout)


def test_events_far_ahead_are_found_unless_they_are_retracted(bench: Bench) -> None:
    update_index(bench.checkout.log, bench.checkout.index)
    assert find_ahead(bench.checkout.index, bench.clock.now()) == ()
    ahead = put_event(bench.folder, "2026-01-13T13:00:00Z", "ahead", now="Wrong clock")

    outcome = synthesize(bench.checkout)

    assert [place.rank.id for place in outcome.ahead] == [ahead.id]
    put_event(bench.folder, "2026-01-14T13:00:00Z", "back", retracted_events=(ahead.id,))
    assert [place.rank.agent for place in synthesize(bench.checkout).ahead] == ["back"]


@pytest.mark.parametrize("policy", [ViewPolicy.INTEGRATION, ViewPolicy.NEVER])
def test_what_is_not_committed_yet_is_noticed(bench: Bench, policy: ViewPolicy) -> None:
    checkout = bench.with_settings(Settings(view=ViewSettings(commit=policy)))
    place = view_place(bench.repository, checkout.settings)
    synthesize(checkout)
    assert is_uncommitted(checkout, place)
    synthesize(checkout, to_commit=True)
    assert not is_uncommitted(checkout, place)
    put(bench.folder, VIEW, "changed\n")
    assert is_uncommitted(checkout, place) is place.is_tracked
    (bench.folder / VIEW).unlink()
    assert not is_uncommitted(checkout, place)
    assert any(path.startswith(EVENTS) for path in committed(bench))
