"""Old events are archived a day at a time, and the view does not change by a byte."""

from datetime import timedelta
from pathlib import Path

import pytest

from passdown.core.merge.rollups import is_rollup
from passdown.engines.files.event_log import FileEventLog
from passdown.engines.memory.index import MemoryIndex
from passdown.services.log.events import update_index
from passdown.services.log.rollups import archive_events, count_due
from passdown.services.log.views import make_text
from tests.stores.benches import Bench, make_bench
from tests.support.projects import ARCHIVE, EVENTS, listing, put, put_event


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Give a checkout with events of four days, on 11 January."""
    for day in (1, 2, 3, 4):
        put_event(tmp_path, f"2026-01-0{day}T13:00:00Z", this_session=(f"Day {day}",))
        put_event(tmp_path, f"2026-01-0{day}T14:00:00Z", "waffle", now=f"Day {day}")
    return make_bench(tmp_path)


def text_of(bench: Bench) -> str:
    """Make the view from scratch."""
    index = MemoryIndex()
    update_index(bench.checkout.log, index)
    return make_text(index)


def loose(bench: Bench) -> list[str]:
    """Name the events in files of their own."""
    return [path for path in listing(bench.folder) if path.startswith(EVENTS) and path.endswith(".md")]


def rollups(bench: Bench) -> list[str]:
    """Name the rollups."""
    return [path for path in listing(bench.folder) if is_rollup(path.rpartition("/")[2])]


@pytest.mark.requirement("R98", "R129", "C22")
def test_events_older_than_the_retention_move_and_the_view_stays(bench: Bench) -> None:
    before, files = text_of(bench), listing(bench.folder)
    log, clock = bench.checkout.log, bench.clock

    assert count_due(log, clock, 7) == 6
    archived = archive_events(log, clock, 7)

    assert (archived.moved, archived.days, len(rollups(bench))) == (6, 3, 3)
    assert text_of(bench) == before
    after = listing(bench.folder)
    for path, data in files.items():
        name = path.rpartition("/")[2]
        assert data in {after.get(path), after.get(f"{ARCHIVE}/{name[:10]}/{name}")}
    assert count_due(log, clock, 7) == 0
    assert archive_events(log, clock, 7).moved == 0
    assert listing(bench.folder) == after


def test_days_that_come_later_are_archived(bench: Bench) -> None:
    log, clock = bench.checkout.log, bench.clock
    assert archive_events(log, clock, 9).days == 1
    before = text_of(bench)

    clock.at += timedelta(days=400)
    assert archive_events(log, clock, 7).days == 3

    assert text_of(bench) == before
    assert loose(bench) == []


def test_an_event_that_comes_late_gets_a_rollup_of_its_own(bench: Bench) -> None:
    log, clock = bench.checkout.log, bench.clock
    archive_events(log, clock, 7)
    put_event(bench.folder, "2026-01-01T15:00:00Z", "late", this_session=("Came late",))
    before = text_of(bench)

    archived = archive_events(log, clock, 7)

    assert (archived.moved, len(rollups(bench))) == (1, 4)
    assert text_of(bench) == before


def test_an_event_that_a_rollup_holds_is_only_moved(bench: Bench) -> None:
    log, clock = bench.checkout.log, bench.clock
    files = listing(bench.folder)
    archive_events(log, clock, 7)
    path = f"{EVENTS}/2026-01-01T13-00-00.000Z_toast.md"
    put(bench.folder, path, files[path].decode())

    archived = archive_events(log, clock, 7)

    assert (archived.moved, len(rollups(bench))) == (1, 3)


def test_what_cannot_be_merged_or_is_dated_ahead_stays(bench: Bench) -> None:
    put(bench.folder, f"{EVENTS}/torn.md", "---\nts: [\n")
    put(
        bench.folder,
        f"{EVENTS}/2026-01-01T00-00-00Z_old.md",
        "---\nts: 2026-01-11T00:00:00Z\nagent: a\n---\n",
    )
    put(bench.folder, f"{EVENTS}/2999-01-01/2999-01-01T00-00-00Z_new.md", "---\nagent: a\n---\n")

    archive_events(bench.checkout.log, bench.clock, 7)

    names = [path.rpartition("/")[2] for path in loose(bench)]
    assert [name for name in names if "2026-01-04" not in name] == [
        "2026-01-01T00-00-00Z_old.md",
        "2999-01-01T00-00-00Z_new.md",
        "torn.md",
    ]


def test_events_in_folders_by_day_are_archived_too(tmp_path: Path) -> None:
    bench = make_bench(tmp_path)
    name = "2026-01-01T13-00-00.000Z_toast.md"
    put(tmp_path, f"{EVENTS}/2026-01-01/{name}", "---\nagent: a\n---\nnow: x\n")
    before = text_of(bench)

    assert archive_events(bench.checkout.log, bench.clock, 7) == (1, 1)
    assert f"{ARCHIVE}/2026-01-01/{name}" in listing(tmp_path)
    assert text_of(bench) == before


def test_a_file_that_the_archive_has_with_other_content_stays(bench: Bench) -> None:
    name = "2026-01-01T13-00-00.000Z_toast.md"
    put(bench.folder, f"{ARCHIVE}/2026-01-01/{name}", "other\n")

    archived = archive_events(bench.checkout.log, bench.clock, 7)

    assert (archived.moved, f"{EVENTS}/{name}" in loose(bench)) == (5, True)


def test_a_rollup_that_somebody_else_makes_in_the_same_moment_is_enough(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = text_of(bench)
    create = FileEventLog.create

    def create_twice(log: FileEventLog, folder: str, name: str, data: bytes) -> bool:
        assert create(log, folder, name, data)
        return create(log, folder, name, data)

    monkeypatch.setattr(FileEventLog, "create", create_twice)
    archived = archive_events(bench.checkout.log, bench.clock, 7)

    assert (archived.moved, len(rollups(bench))) == (6, 3)
    assert text_of(bench) == before
