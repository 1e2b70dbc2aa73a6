"""Verifying reads everything anew, and names each event that is missing or altered."""

from pathlib import Path

import pytest

from passdown.core.formats.events import render_event
from passdown.engines.memory.index import MemoryIndex
from passdown.records import replace
from passdown.services.log.events import update_index
from passdown.services.log.rollups import archive_events
from passdown.services.log.synthesis import synthesize
from passdown.services.log.verification import DamagedEvent, EventDamage, UnmergedFile, Verdict, verify
from passdown.services.log.views import ViewState
from tests.stores.benches import Bench, make_bench
from tests.support.projects import EVENTS, VIEW, listing, make_event, put, put_event

FIRST = f"{EVENTS}/2026-01-10T13-00-00.000Z_toast.md"
PLAIN = f"{EVENTS}/2026-01-10T15-00-00Z_plain.md"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Give a checkout with events and their view."""
    put_event(tmp_path, "2026-01-02T13:00:00Z", now="Old")
    put_event(tmp_path, "2026-01-10T13:00:00Z", now="New")
    put(tmp_path, PLAIN, "---\nreason: none\n---\nnow: Plain\n")
    bench = make_bench(tmp_path)
    synthesize(bench.checkout)
    return bench


def look(bench: Bench) -> Verdict:
    """Verify with a new index."""
    return verify(bench.checkout, MemoryIndex())


def change(bench: Bench, path: str, old: str, new: str) -> None:
    """Change a file behind everybody's back."""
    text = bench.read(path)
    assert old in text
    put(bench.folder, path, text.replace(old, new))


def test_what_is_as_recorded_is_good_also_after_archiving_and_committing(bench: Bench) -> None:
    steps: list[tuple[int, int]] = []
    assert look(bench).is_good

    synthesize(bench.checkout, archive=True, to_commit=True)
    verdict = verify(bench.checkout, MemoryIndex(), lambda number, total: steps.append((number, total)))

    assert verdict.is_good
    assert (verdict.event_count, verdict.findings, verdict.left) == (3, (), ())
    assert steps == [(1, 3), (2, 3), (3, 3)]
    bench.clock.at = bench.clock.at.replace(day=30)
    synthesize(bench.checkout, archive=True)
    assert look(bench).is_good


def test_an_id_is_made_of_what_its_event_says(bench: Bench) -> None:
    event = make_event("2026-01-10T13:00:00Z", now="New")
    change(bench, FIRST, "New", "Newer")

    verdict = look(bench)

    assert verdict.findings == (
        DamagedEvent(EventDamage.ALTERED, event.id or "", FIRST, "its text does not match its id"),
    )
    assert not verdict.is_good
    assert not verdict.is_outdated
    synthesize(bench.checkout)
    assert look(bench).findings == verdict.findings


def test_line_ends_are_no_alteration(bench: Bench) -> None:
    synthesize(bench.checkout, to_commit=True, archive=False)
    change(bench, FIRST, "\n", "\r\n")

    assert look(bench).findings == ()


def test_a_committed_event_that_is_changed_or_gone_is_named(bench: Bench) -> None:
    put(bench.folder, f"{EVENTS}/notes.txt", "no event")
    synthesize(bench.checkout, to_commit=True, archive=True)
    rollup = next(path for path in listing(bench.folder) if "/rollup-" in path)
    change(bench, PLAIN, "Plain", "Changed")
    (bench.folder / FIRST).unlink()
    (bench.folder / f"{EVENTS}/notes.txt").unlink()
    change(bench, rollup, '"v": 1', '"v":  1')
    update_index(bench.checkout.log, bench.checkout.index)

    found = look(bench).findings

    assert [(one.wrong, one.path, one.reason) for one in found] == [
        (EventDamage.ALTERED, rollup, "it differs from the last commit"),
        (EventDamage.MISSING, FIRST, "the last commit has it"),
        (EventDamage.ALTERED, PLAIN, "it differs from the last commit"),
    ]
    assert [bool(one.event) for one in found] == [False, False, True]


def test_what_the_cache_knew_is_named_when_the_view_does_not_fit(bench: Bench) -> None:
    old = bench.checkout.index.places()
    change(bench, PLAIN, "Plain", "Changed")
    (bench.folder / FIRST).unlink()
    name = next(path for path in listing(bench.folder) if "2026-01-02" in path)
    put(bench.folder, f"{EVENTS}/moved.md", bench.read(name).replace("Old", "Older"))
    (bench.folder / name).unlink()

    verdict = look(bench)

    ids = {place.name: place.rank.id for place in old}
    assert verdict.findings == (
        DamagedEvent(
            EventDamage.ALTERED,
            ids["2026-01-02T13-00-00.000Z_toast.md"],
            f"{EVENTS}/moved.md",
            "its text does not match its id",
        ),
        DamagedEvent(
            EventDamage.ALTERED, ids["2026-01-10T15-00-00Z_plain.md"], PLAIN, "its text has changed"
        ),
        DamagedEvent(
            EventDamage.MISSING, ids["2026-01-10T13-00-00.000Z_toast.md"], FIRST, "it existed before"
        ),
        DamagedEvent(
            EventDamage.ALTERED, ids["2026-01-02T13-00-00.000Z_toast.md"], name, "another event has its id"
        ),
    )


def test_a_missing_rollup_names_each_event_in_it(bench: Bench) -> None:
    archive_events(bench.checkout.log, bench.clock, 7)
    synthesize(bench.checkout)
    rollup = next(path for path in listing(bench.folder) if "/rollup-" in path)
    (bench.folder / rollup).unlink()

    (found,) = look(bench).findings

    assert (found.wrong, found.path) == (EventDamage.MISSING, rollup)
    assert found.event == make_event("2026-01-02T13:00:00Z", now="Old").id


def test_a_view_of_the_events_that_are_here_is_good_whatever_the_cache_knew(bench: Bench) -> None:
    other = replace(bench.checkout, index=MemoryIndex())
    update_index(bench.checkout.log, bench.checkout.index)
    (bench.folder / FIRST).unlink()
    synthesize(other)

    assert look(bench).is_good


def test_an_event_added_since_is_outdated(bench: Bench) -> None:
    put_event(bench.folder, "2026-01-10T16:00:00Z", now="Newest")

    verdict = look(bench)

    assert (verdict.state, verdict.is_outdated, verdict.are_events_recorded) == (
        ViewState.OUTDATED,
        True,
        False,
    )
    assert (verdict.event_count, verdict.recorded_count) == (4, 3)
    (bench.folder / VIEW).unlink()
    missing = look(bench)
    assert (missing.state, missing.is_outdated, missing.recorded_count) == (ViewState.MISSING, True, None)


def test_events_that_nobody_can_name_are_counted(bench: Bench) -> None:
    (bench.folder / FIRST).unlink()
    update_index(bench.checkout.log, bench.checkout.index)

    verdict = look(bench)

    assert (verdict.findings, verdict.is_outdated, verdict.is_good) == ((), False, False)
    assert (verdict.event_count, verdict.recorded_count) == (2, 3)


@pytest.mark.parametrize(
    ("old", "new", "state", "is_outdated"),
    [
        ("Plain", "Edited", ViewState.EDITED, False),
        ("_synthesized", "synthesized", ViewState.FOREIGN, False),
        ("renderer: 6", "renderer: 9", ViewState.OTHER_RENDERER, True),
        ("event_count: 3", "event_count: 4", ViewState.OUTDATED, False),
        ("event_count: 3", "event_count: x", ViewState.OUTDATED, False),
    ],
)
def test_a_view_that_was_changed_is_not_good(
    bench: Bench, old: str, new: str, state: ViewState, *, is_outdated: bool
) -> None:
    change(bench, VIEW, old, new)

    verdict = look(bench)

    assert (verdict.state, verdict.is_outdated, verdict.is_good) == (state, is_outdated, False)


def test_a_view_too_large_to_read_has_no_footer(bench: Bench) -> None:
    put(bench.folder, VIEW, "x" * 20_000_000 + "\n" + bench.read(VIEW))

    found = look(bench)

    assert found.recorded_count in {None, 3}
    assert not found.is_good


@pytest.mark.requirement("R115")
def test_what_cannot_be_merged_is_listed_with_its_problem(bench: Bench) -> None:
    put(bench.folder, f"{EVENTS}/a.md", "---\nagent: a\n---\n")
    put(bench.folder, f"{EVENTS}/e.md", "---\nts: 2026-01-10\nagent: ''\n---\n")
    put(bench.folder, f"{EVENTS}/b.md", "---\nts: 2026-01-10\nagent: a\nformat: 99\n---\n")
    (bench.folder / EVENTS / "c.md").write_bytes(b"\xff")
    put(bench.folder, f"{EVENTS}/d.md", "x" * 1_100_000)
    put(bench.folder, f"{EVENTS}/2026-01-01/rollup-0.jsonl", '{"type":"rollup","v":1}\nnothing\n')
    synthesize(bench.checkout)

    verdict = look(bench)

    assert verdict.is_good
    left = {one.path.rpartition("/")[2]: one.problem for one in verdict.left}
    assert left["a.md"] == "ts cannot be read, and the file name does not contain it"
    assert left["b.md"].startswith("event has format 99")
    assert left["e.md"] == "agent cannot be read, and the file name does not contain it"
    assert left["c.md"] == "is not UTF-8 text"
    assert left["d.md"] == "cannot be read, or is too large"
    assert left["rollup-0.jsonl"] == "2 of its lines cannot be read"
    assert UnmergedFile(f"{EVENTS}/a.md", left["a.md"]) in verdict.left


def test_the_id_of_an_event_of_a_newer_version_is_not_judged(bench: Bench) -> None:
    event = make_event("2026-01-10T17:00:00Z", now="x")
    put(bench.folder, f"{EVENTS}/newer.md", "format: 99\n" + render_event(event))

    assert look(bench).findings == ()


@pytest.mark.requirement("C128")
def test_a_committed_event_may_lie_in_another_folder(bench: Bench) -> None:
    synthesize(bench.checkout, to_commit=True, archive=False)
    text = (bench.folder / FIRST).read_text(encoding="utf-8")
    (bench.folder / FIRST).unlink()
    name = FIRST.rpartition("/")[2]
    put(bench.folder, f"{EVENTS}/2026-01-10/{name}", text)
    moved = look(bench).findings

    assert moved == ()
