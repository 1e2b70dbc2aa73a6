"""Events are read where they lie, and the logs of several checkouts become one."""

from pathlib import Path

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.facts import GateStatus
from passdown.core.formats.events import Event, EventCheckpoint, EventGate, render_event
from passdown.core.phases import PhaseState
from passdown.engines.memory.index import MemoryIndex
from passdown.errors import PassdownError
from passdown.ports.index import EventLocation
from passdown.records import replace
from passdown.services.log.history import (
    EventTexts,
    InputFile,
    find_event,
    index_files,
    join_logs,
    label,
    list_places,
    parse_text,
    read_subjects,
)
from passdown.services.log.rollups import archive_events
from tests.stores.benches import Bench, make_bench
from tests.support.projects import EVENTS, make_event, put, put_event


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Give a checkout with an old event and a new one."""
    put_event(tmp_path, "2026-01-02T13:00:00Z", now="Old")
    put_event(tmp_path, "2026-01-10T13:00:00Z", now="New")
    return make_bench(tmp_path)


def places_of(bench: Bench) -> list[EventLocation]:
    """List the events, the newest first."""
    return list(list_places(bench.checkout))


def test_the_text_of_an_event_is_read_from_its_file_or_its_rollup(bench: Bench) -> None:
    archive_events(bench.checkout.log, bench.clock, 7)
    new, old = places_of(bench)
    texts = EventTexts(bench.checkout.log)

    assert texts.read(new) == render_event(make_event("2026-01-10T13:00:00Z", now="New"))
    assert texts.read(old) == render_event(make_event("2026-01-02T13:00:00Z", now="Old"))
    assert texts.read(old) is not None
    assert texts.read(old._replace(rank=new.rank)) is None
    assert texts.read(new._replace(name="gone.md")) is None
    assert EventTexts(bench.checkout.log).read(old._replace(name="rollup-gone.jsonl")) is None


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Event(now="Now\n it is", goal="g"), "Now it is"),
        (Event(this_session=("Done", "More"), goal="g"), "Done"),
        (Event(goal="Goal"), "Goal"),
        (Event(decisions=(Pair(key="k", value="v"),)), "k: v"),
        (Event(open_questions=("Why?",)), "Why?"),
        (Event(retracted_events=("ev-1",)), "retracts ev-1"),
        (Event(receipts=("pytest: exit 1", "a" * 40), files_modified=("a.py", "b.py")), "edited a.py, b.py"),
        (Event(receipts=("a" * 40, "pytest: exit 1")), "pytest: exit 1"),
        (
            Event(checkpoints=(EventCheckpoint(phase=2, name="Login", status=PhaseState.VALIDATED),)),
            "Phase 2 (Login): validated",
        ),
        (Event(checkpoints=(EventCheckpoint(),), receipts=("pytest: exit 1",)), "Phase ?: pending"),
        (
            Event(gates=(EventGate(gate="spec"), EventGate(gate="design", status=GateStatus.PASS))),
            "gate design: PASS",
        ),
        (Event(more=(("turns", ("habits/ideation turn 1",)),)), "habits/ideation turn 1"),
        (Event(receipts=("a" * 40,)), "no record"),
        (Event(reason="clear", type="session_end"), "ended"),
        (
            Event(
                type="session_end",
                goal="Ship",
                origins=(Pair(key="goal", value="2 2026-01-11T12:00:00Z by amber"),),
            ),
            "no record",
        ),
        (Event(retracted_done=("the parser",)), "retracted: the parser"),
        (Event(retracted_decisions=("store",), this_session=("tests",)), "tests"),
        (Event(), "no record"),
    ],
)
def test_a_label_says_what_an_event_is_about(event: Event, said: str) -> None:
    assert label(event) == said


@pytest.mark.requirement("C152")
def test_an_event_that_says_nothing_is_labelled_by_the_subjects_of_its_commits(bench: Bench) -> None:
    first, second, unknown = ("a" * 40, "b" * 40, "c" * 40)
    event = Event(receipts=(first, "pytest: exit 1", second, unknown), files_modified=("a.py",))

    assert label(event, {first: "Add it", second: "Mend it"}) == "Add it; Mend it"
    assert label(replace(event, now="Mending"), {first: "Add it"}) == "Mending"
    assert read_subjects(bench.checkout, [event, Event(now="Mending", receipts=(first,))]) == {}


def test_an_event_that_is_gone_or_cannot_be_read_says_nothing() -> None:
    assert label(parse_text(None)) == "no record"
    assert parse_text("---\nformat: 99\n---\n") == Event()


def test_logs_are_joined_and_the_first_that_has_an_event_shows_it(bench: Bench) -> None:
    new, old = places_of(bench)
    gone = old._replace(is_retracted=True)

    joined = list(join_logs([[new], [new, gone], [old]]))

    assert [(seen.place.rank, seen.where) for seen in joined] == [(new.rank, 0), (old.rank, 1)]
    assert [seen.place.is_retracted for seen in joined] == [False, True]
    assert [seen.place.is_retracted for seen in join_logs([[old], [gone]])] == [True]


def test_an_event_is_found_by_the_start_of_its_name(bench: Bench) -> None:
    new, old = places_of(bench)
    longer = old._replace(rank=old.rank._replace(id=f"{new.rank.id}0"))

    assert find_event([[new, longer]], new.rank.id).place == new
    assert find_event([[new]], new.rank.hash[:8]).place == new
    with pytest.raises(PassdownError, match="there is no event x"):
        find_event([[]], "x")
    with pytest.raises(PassdownError, match="ev matches 2 events: "):
        find_event([[new, old]], "ev")


@pytest.mark.requirement("R126")
def test_an_index_is_filled_with_exactly_the_files_named(bench: Bench) -> None:
    archive_events(bench.checkout.log, bench.clock, 7)
    rollup = next((bench.folder / EVENTS).rglob("rollup-*"))
    new = next((bench.folder / EVENTS).glob("*.md"))
    put(bench.folder, "torn.md", "---\nts: [\n")
    index = MemoryIndex()

    index_files(
        index,
        [
            InputFile(rollup.as_posix(), rollup.read_bytes()),
            InputFile(new.as_posix(), new.read_bytes()),
            InputFile("a/copy.md", new.read_bytes()),
            InputFile("torn.md", b"---\nts: [\n"),
            InputFile("gone.md", None),
        ],
    )

    digest = index.digest(1)
    assert (digest.event_count, digest.skipped) == (2, 2)
