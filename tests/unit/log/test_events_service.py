"""Taking events in, and writing them: each once, in an order that respects cause and effect."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import permutations, product
from pathlib import Path

import pytest

from passdown.core.formats.events import Event, parse_event
from passdown.core.merge.event_facts import EventRank, parse_event_facts
from passdown.core.merge.rollups import RollupMember, name_rollup, render_rollup
from passdown.core.times import FOLLOW_LIMIT
from passdown.engines.files.event_log import FileEventLog
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.memory.index import MemoryIndex
from passdown.engines.sqlite.event_index import open_index
from passdown.engines.system import SystemClock
from passdown.errors import StorageError
from passdown.ports.event_log import FileMark
from passdown.ports.index import EventFile, Index, LiveEvents, LogChange
from passdown.records import replace
from passdown.services.log.events import name_event, stores_by_day, update_index, write_event
from passdown.settings import EventLayout
from tests.support.events import NOW, SEED_EXAMPLE, START, MovedClock, make_text, newest, read

EVENT = Event(agent="toast-0000aaaa", branch="main", type="session_end", reason="clear", now="x")


def put(log: MemoryEventLog, *texts: str) -> None:
    for number, text in enumerate(texts):
        assert log.create("", f"{len(log.files(''))}-{number}.md", text.encode())


@pytest.mark.requirement("R113")
def test_every_event_of_every_folder_is_taken_in() -> None:
    log, index = MemoryEventLog(), MemoryIndex()
    texts = [make_text(now=str(number)) for number in range(5)]
    sources = [read(text) for text in texts[:2]]
    rollup = render_rollup(
        sources[0].rank.at.date(), [(RollupMember("a.md", text.encode()), read(text)) for text in texts[:2]]
    )
    log.create("", name_rollup(rollup), rollup.encode())
    for text, folder in zip(texts[2:], ("", "2026-01-10", "2026-01-11"), strict=True):
        log.create(folder, "event.md", text.encode())

    update_index(log, index)

    assert {place.rank for place in index.places()} == {read(text).rank for text in texts}


@pytest.mark.requirement("R115")
def test_what_cannot_be_merged_stays_and_is_counted() -> None:
    log, index = MemoryEventLog(), MemoryIndex()
    put(log, SEED_EXAMPLE, "no front matter", "")
    log.create("", "rollup-0.jsonl", b"{}")

    update_index(log, index)

    assert (index.digest(1).event_count, index.digest(1).skipped) == (1, 3)
    assert len(log.files("")) == 4


class CountingLog(MemoryEventLog):
    """Counts what is listed and read; a file named `held.md` cannot be read while `is_held`."""

    def __init__(self) -> None:
        """Begin with nothing."""
        super().__init__()
        self.asked: list[str] = []
        self.is_held = False

    def files(self, folder: str) -> dict[str, FileMark]:
        """List a folder."""
        self.asked.append(f"list {folder}")
        return dict(super().files(folder))

    def read(self, folder: str, name: str) -> bytes | None:
        """Read a file."""
        self.asked.append(f"read {name}")
        return None if self.is_held and name == "held.md" else super().read(folder, name)


@pytest.mark.requirement("R119")
def test_when_nothing_changed_nothing_is_listed_or_read() -> None:
    log, index = CountingLog(), MemoryIndex()
    put(log, SEED_EXAMPLE)
    update_index(log, index)
    log.asked.clear()

    update_index(log, index)

    assert log.asked == []


@pytest.mark.requirement("R119")
def test_one_more_event_is_the_only_one_that_is_read() -> None:
    log, index = CountingLog(), MemoryIndex()
    put(log, SEED_EXAMPLE, make_text(now="x"))
    log.create("2026-01-10", "other.md", SEED_EXAMPLE.encode())
    update_index(log, index)
    log.create("", "new.md", make_text(now="new").encode())
    log.asked.clear()

    update_index(log, index)

    assert log.asked == ["list ", "read new.md"]
    assert index.digest(1).event_count == 3


@pytest.mark.requirement("R115")
def test_a_file_that_could_not_be_read_is_read_when_its_folder_is_listed_again() -> None:
    log, index = CountingLog(), MemoryIndex()
    log.is_held = True
    log.create("", "held.md", SEED_EXAMPLE.encode())
    update_index(log, index)
    assert (index.digest(1).event_count, index.digest(1).skipped) == (0, 1)

    log.is_held = False
    put(log, make_text(now="x"))
    update_index(log, index)

    assert (index.digest(1).event_count, index.digest(1).skipped) == (2, 0)


def test_what_is_gone_is_forgotten_with_its_folder() -> None:
    log, index = MemoryEventLog(), MemoryIndex()
    put(log, SEED_EXAMPLE)
    update_index(log, index)

    update_index(MemoryEventLog(), index)

    assert (index.digest(1).event_count, index.folders()) == (0, {})


def test_whoever_waits_is_told_how_far_it_is() -> None:
    log, steps = MemoryEventLog(), list[tuple[int, int]]()
    put(log, SEED_EXAMPLE, make_text(now="x"))

    update_index(log, MemoryIndex(), lambda done, total: steps.append((done, total)))

    assert steps == [(1, 2), (2, 2)]


@pytest.mark.requirement("R99", "R100", "R101", "R102")
def test_a_written_event_has_its_time_id_and_name() -> None:
    log, index = MemoryEventLog(), MemoryIndex()

    written = write_event(log, index, MovedClock(START), EVENT)

    assert written is not None
    assert (written.folder, written.name) == ("", "2026-01-10T12-00-00.000Z_toast-0000aaaa.md")
    data = log.read("", written.name)
    assert data is not None
    assert parse_event(data.decode()) == written.event == name_event(replace(EVENT, ts=START))
    assert written.event.id
    assert written.event.id.startswith("ev-")
    assert newest(index.digest(1), NOW).facts[0].event_id == written.event.id


@pytest.mark.requirement("C48")
def test_with_folders_by_day_an_event_lies_in_that_of_its_time() -> None:
    log = MemoryEventLog()

    written = write_event(log, MemoryIndex(), MovedClock(START), EVENT, layout=EventLayout.DAY)

    assert written is not None
    assert written.folder == "2026-01-10"
    assert [*log.files("2026-01-10")] == [written.name]


def put_files(index: Index, count: int, folder: str = "", *, first: int = 0, gone: int = 0) -> None:
    """Let an index hold single files, the newest in a folder, without the oldest ones."""
    names = [f"2026-01-10T{number:08}.md" for number in range(first, first + count)]
    mark = FileMark(1, 1, 1)
    found = [EventFile("" if one != names[-1] else folder, one, mark, (), 0) for one in names]
    old = [("", f"2026-01-10T{number:08}.md") for number in range(gone)]
    with index.changing():
        index.apply(LogChange({}, old, found))


@pytest.fixture(params=["memory", "sqlite"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Index]:
    made: Index = MemoryIndex() if request.param == "memory" else open_index(str(tmp_path / "cache"))
    yield made
    made.close()


@pytest.mark.requirement("C130")
@pytest.mark.parametrize(
    ("count", "newest_in", "expected"),
    [
        (0, "", False),
        (999, "", False),
        (1_000, "", True),
        (1_000, "2026-01-10", True),
        (999, "2026-01-10", True),
        (500, "2026-01-10", True),
        (499, "2026-01-10", False),
        (499, "", False),
    ],
)
def test_events_go_to_their_day_from_1000_files_until_fewer_than_500(
    index: Index, count: int, newest_in: str, *, expected: bool
) -> None:
    if count:
        put_files(index, count, newest_in)

    assert stores_by_day(index, EventLayout.AUTO) is expected
    assert not stores_by_day(index, EventLayout.FLAT)
    assert stores_by_day(index, EventLayout.DAY)


@pytest.mark.requirement("C130")
def test_rollups_and_files_without_a_time_do_not_count_as_live(index: Index) -> None:
    mark = FileMark(1, 1, 1)
    names = [f"rollup-{number:016x}.jsonl" for number in range(1_200)]
    found = [EventFile("2026-01-10", one, mark, (), 0) for one in (*names, "notes.md")]
    with index.changing():
        index.apply(LogChange({}, (), found))
    put_files(index, 3)

    assert index.live(1_000) == LiveEvents(3, "")
    assert not stores_by_day(index, EventLayout.AUTO)


@pytest.mark.requirement("C130")
def test_files_that_were_not_read_yet_count(index: Index) -> None:
    with index.changing():
        index.apply(LogChange({}, (), (), unread=1_000))

    assert stores_by_day(index, EventLayout.AUTO)


@pytest.mark.requirement("C130")
def test_the_layout_changes_with_what_is_written_and_put_away(tmp_path: Path) -> None:
    log = FileEventLog(str(tmp_path / "events"), str(tmp_path / "archive"), SystemClock())
    index, clock = MemoryIndex(), MovedClock(START)
    for number in range(999):
        assert log.create("", f"2026-01-09T00-00-00.{number:03}Z_a.md", make_text(now=f"{number}").encode())

    def write(now: str) -> str:
        written = write_event(log, index, clock, replace(EVENT, now=now))
        assert written is not None
        return written.folder

    def remove(first: int, last: int) -> None:
        for number in range(first, last):
            (tmp_path / "events" / f"2026-01-09T00-00-00.{number:03}Z_a.md").unlink()

    grown = [write("a"), write("b"), write("c")]
    remove(0, 500)
    fewer = write("d")
    remove(500, 999)
    few = write("e")

    assert (grown, fewer, few) == (["", "2026-01-10", "2026-01-10"], "2026-01-10", "")
    assert len(log.files("")) == 2  # nothing that was there before has moved


def test_the_id_is_made_of_what_an_event_says() -> None:
    event = replace(EVENT, ts=START)

    assert name_event(event) == name_event(replace(event, id="other")) == name_event(name_event(event))
    assert name_event(event).id != name_event(replace(event, now="y")).id
    assert name_event(replace(event, source="read from here")) == name_event(event)


@pytest.mark.requirement("R97", "R100")
def test_names_that_collide_in_one_millisecond_get_different_times() -> None:
    log, index = MemoryEventLog(), MemoryIndex()
    name = "2026-01-10T12-00-00.000Z_toast-0000aaaa.md"
    log.create("", name, b"not an event")

    written = [write_event(log, index, MovedClock(START), EVENT) for _ in range(3)]

    assert [one and one.name[:24] for one in written] == [f"2026-01-10T12-00-00.00{n}Z" for n in (1, 2, 3)]
    assert log.read("", name) == b"not an event"


@pytest.mark.requirement("R97")
def test_writers_who_do_not_see_each_other_write_different_files() -> None:
    log = MemoryEventLog()

    for agent in ("toast-0000aaaa", "waffle-0000bbbb", "Toast-0000aaaa"):
        write_event(log, MemoryIndex(), MovedClock(START), replace(EVENT, agent=agent))

    assert len(log.files("")) == 3


def test_the_second_publisher_of_the_same_lines_writes_nothing() -> None:
    log, index = MemoryEventLog(), MemoryIndex()
    event = replace(EVENT, session="s-1", covers="1-7")
    assert write_event(log, index, MovedClock(START), event)

    again = [
        write_event(log, index, MovedClock(START), replace(event, covers=covers))
        for covers in ("1-7", "3-7", "5-5")
    ]

    assert again == [None, None, None]
    assert len(log.files("")) == 1
    assert write_event(log, index, MovedClock(START), replace(event, covers="8-9"))
    assert write_event(log, index, MovedClock(START), replace(event, session="s-2"))
    assert write_event(log, index, MovedClock(START), replace(event, covers=None))
    assert write_event(log, index, MovedClock(START), replace(event, session=None))


def test_a_publisher_sees_what_another_wrote_since_it_last_looked() -> None:
    log, one, two = MemoryEventLog(), MemoryIndex(), MemoryIndex()
    event = replace(EVENT, session="s-1", covers="1-7")
    update_index(log, two)
    write_event(log, one, MovedClock(START), event)

    assert write_event(log, two, MovedClock(START), event) is None


HOURS = (-24, 0, 24)


@pytest.mark.requirement("R112")
@pytest.mark.parametrize(
    ("first", "second"), [pair for pair in product(HOURS, HOURS) if abs(pair[1] - pair[0]) <= 24]
)
def test_an_event_written_after_reading_another_orders_after_it(first: int, second: int) -> None:
    """Whatever the two clocks say, as long as they are at most 24 hours apart (C26)."""
    log, millisecond = MemoryEventLog(), timedelta(milliseconds=1)
    clocks = [MovedClock(START + timedelta(hours=hours), millisecond) for hours in (first, second)]
    ranks = list[EventRank]()
    for turn in (0, 1, 1, 0, 1, 0, 0, 1):
        # Small agents write last: a tie of times would put them first.
        event = replace(EVENT, agent=f"{'zy'[turn]}-{9 - len(ranks)}", now=str(len(ranks)))
        clocks[1 - turn].now()
        written = write_event(log, MemoryIndex(), clocks[turn], event)
        assert written is not None
        data = log.read("", written.name)
        source = parse_event_facts(data or b"", written.name)
        assert source is not None
        ranks.append(source.rank)

    assert ranks == sorted(ranks)
    assert len({rank.at for rank in ranks}) == len(ranks)


@pytest.mark.requirement("R112", "C26")
@pytest.mark.parametrize("order", [*permutations((-12, 0, 12))])
def test_three_clocks_within_a_day_keep_the_order_in_which_events_were_read(order: tuple[int, ...]) -> None:
    log = MemoryEventLog()

    for hours in (*order, *order):
        clock = MovedClock(START + timedelta(hours=hours))
        write_event(log, MemoryIndex(), clock, replace(EVENT, now=f"{hours}"))

    index = MemoryIndex()
    update_index(log, index)
    assert newest(index.digest(1), NOW).facts[0].text == str(order[-1])
    assert index.digest(1).event_count == 6


@pytest.mark.requirement("R112")
def test_a_clock_two_days_ahead_is_not_followed_but_its_own_writer_follows() -> None:
    log, index = MemoryEventLog(), MemoryIndex()
    fast, slow = (MovedClock(START + timedelta(hours=hours)) for hours in (24, -24))
    ahead = write_event(log, index, fast, EVENT)

    behind = write_event(log, index, slow, EVENT)
    again = write_event(log, index, fast, EVENT)

    assert ahead
    assert behind
    assert again
    assert behind.event.ts == slow.at
    assert again.event.ts == fast.at + timedelta(milliseconds=1)


def test_an_event_dated_9999_does_not_drag_later_events_along() -> None:
    log, index = MemoryEventLog(), MemoryIndex()
    put(log, make_text("9999-12-31T23:59:59Z", id="far", now="far"))
    put(log, make_text((START + FOLLOW_LIMIT + timedelta(milliseconds=1)).isoformat(), now="too far"))

    written = write_event(log, index, MovedClock(START), EVENT)
    assert written is not None
    assert written.event.ts == START
    assert len(written.event.ahead) == 2
    assert newest(index.digest(1), NOW).facts[0].text == EVENT.now
    assert [place.ranked_at for place in index.places()] == [START, *[START - timedelta(milliseconds=1)] * 2]


def test_an_event_exactly_a_day_ahead_is_followed_however_often_one_writes() -> None:
    log, index = MemoryEventLog(), MemoryIndex()
    ahead = START + FOLLOW_LIMIT
    put(log, make_text(ahead.isoformat(), now="ahead"))

    written = [write_event(log, index, MovedClock(START), EVENT) for _ in range(3)]

    times = [one.event.ts for one in written if one and one.event.ts]
    assert times == [ahead + timedelta(milliseconds=number) for number in (1, 2, 3)]


def test_at_the_end_of_time_events_are_written_until_no_name_is_left() -> None:
    end = datetime(9999, 12, 31, 23, 59, 59, 998_000, tzinfo=UTC)
    log, index = MemoryEventLog(), MemoryIndex()
    for _ in range(2):
        assert write_event(log, index, MovedClock(end), EVENT)

    with pytest.raises(StorageError, match="no event can be later") as refused:
        write_event(log, index, MovedClock(end), EVENT)

    assert refused.value.hint


class FullLog(MemoryEventLog):
    """A log on a disk without space."""

    def create(self, folder: str, name: str, data: bytes) -> bool:
        """Refuse."""
        del folder, data
        raise StorageError(f"could not write {name}", hint="free some space")


def test_an_event_that_cannot_be_written_is_no_part_of_the_index(tmp_path: Path) -> None:
    index = open_index(str(tmp_path / "index.db"), shared_memory=True)

    with pytest.raises(StorageError, match="could not write"):
        write_event(FullLog(), index, MovedClock(START), EVENT)

    assert index.digest(1).event_count == 0
    index.close()


@pytest.mark.requirement("R100", "R104")
def test_an_event_on_disk_is_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    log = FileEventLog(str(tmp_path / "events"), str(tmp_path / "archive"), SystemClock())
    index = open_index(str(tmp_path / "index.db"), shared_memory=True)

    first = write_event(log, index, SystemClock(), EVENT)
    second = write_event(log, index, SystemClock(), EVENT, layout=EventLayout.DAY)

    assert first
    assert second
    there = {
        str(one.relative_to(tmp_path / "events")) for one in tmp_path.glob("events/**/*") if one.is_file()
    }
    assert there == {first.name, f"{second.folder}/{second.name}"}
    assert index.digest(1).event_count == 2
    index.close()


@pytest.mark.requirement("C115")
def test_an_event_names_the_last_events_that_its_writer_had_read() -> None:
    log, index = MemoryEventLog(), MemoryIndex()
    clock = MovedClock(START, timedelta(seconds=1))
    first = write_event(log, index, clock, EVENT)
    put(log, make_text("2026-01-09T00:00:00Z", id="beside", now="x"))
    second = write_event(log, index, clock, replace(EVENT, now="b"))
    third = write_event(log, index, clock, replace(EVENT, now="c"))

    assert first
    assert second
    assert third
    assert first.event.after == ()
    assert second.event.after == (_hash(index, first.event.id), _hash(index, "beside"))
    assert third.event.after == (_hash(index, second.event.id),)


def _hash(index: MemoryIndex, name: str | None) -> str:
    (place,) = index.places(name or "")
    return place.rank.hash[:16]
