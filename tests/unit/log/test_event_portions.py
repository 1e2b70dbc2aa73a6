"""An index that reads its log in portions is incomplete until the last one, and then as good as any."""

import contextlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.engines.files.bounded_log import BoundedLog
from passdown.engines.files.event_log import FileEventLog
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.memory.index import MemoryIndex
from passdown.engines.sqlite.event_index import open_index
from passdown.engines.system import SystemClock
from passdown.errors import UnreadError
from passdown.ports.event_log import EventLog
from passdown.ports.index import LogChange
from passdown.services.log.events import catch_up_session, update_index, update_portion, write_event
from passdown.services.log.views import make_text
from tests.support.events import MovedClock, Value, make_text_of
from tests.support.projects import make_event

AGENTS = ("amber-0000beef", "birch-0000cafe")


def make_log(count: int, *, folder: str = "") -> MemoryEventLog:
    log = MemoryEventLog()
    for number in range(count):
        put(log, number, folder=folder)
    return log


def put(log: MemoryEventLog, number: int, *, folder: str = "", key: str = "key", said: str = "") -> None:
    agent = AGENTS[number % 2]
    keys: dict[str, Value] = {"session": f"s-{agent}", "decisions": {key: said or f"choice {number}"}}
    text = make_text_of(keys, f"2026-01-10T10:00:{number:02}Z", agent)
    log.create(folder, f"2026-01-10T10-00-{number:02}Z_{agent}.md", text.encode())


def bound(log: EventLog, most: int) -> BoundedLog:
    """Open a log as a hook does."""
    return BoundedLog(log, most, MovedClock())


def test_the_newest_events_are_read_first_and_the_rest_is_counted() -> None:
    log, index = make_log(10), MemoryIndex()

    assert update_portion(bound(log, 4), index) == 6

    assert [place.name[17:19] for place in index.places()] == ["09", "08", "07", "06"]
    with pytest.raises(UnreadError, match=r"^2 event files have not been read yet$"):
        update_index(bound(log, 4), index)
    update_index(bound(log, 4), index)
    assert index.digest(1).event_count == 10


def test_one_hook_reads_one_portion_however_often_it_asks() -> None:
    index, log = MemoryIndex(), bound(make_log(10), 4)

    assert [update_portion(log, index) for _ in range(3)] == [6, 6, 6]


def test_no_view_is_made_from_a_part_of_the_events() -> None:
    log, index = make_log(3), MemoryIndex()
    update_portion(bound(log, 2), index)

    with pytest.raises(UnreadError, match=r"^1 event file has not been read yet$") as found:
        make_text(index)

    assert found.value.hint == "run `passdown brief` to read them all"
    update_portion(log, index)
    assert "event_count: 3" in make_text(index)


def test_no_event_is_written_for_whom_not_all_was_read() -> None:
    log, index = make_log(3), MemoryIndex()

    with pytest.raises(UnreadError):
        write_event(bound(log, 1), index, MovedClock(), make_event("2026-01-10T12:00:00Z"))

    assert len(log.files("")) == 3


def test_an_index_whose_unread_files_are_gone_is_complete() -> None:
    log, index = make_log(3, folder="2026-01-10"), MemoryIndex()
    update_portion(bound(log, 1), index)
    first, second, _ = sorted(log.files("2026-01-10"))
    log.archive("2026-01-10", [first, second], "2026-01-10")
    with index.changing():  # another process has listed the folder since, and was cut off
        index.apply(LogChange(log.folders({}), (), (), unread=2))

    assert update_portion(log, index) == 0
    assert index.digest(1).event_count == 1


@pytest.mark.parametrize("is_lost", [False, True])
def test_all_events_of_a_session_are_read_whatever_the_portion(*, is_lost: bool) -> None:
    log, index = make_log(10), MemoryIndex()
    hurried = _Lossy(log, 2) if is_lost else bound(log, 2)
    began = datetime(2026, 1, 10, tzinfo=UTC)
    update_portion(hurried, index)

    expected = pytest.raises(UnreadError) if is_lost else contextlib.nullcontext()
    with expected, index.changing():
        catch_up_session(hurried, index, AGENTS[0], began)

    own = [place for place in index.places() if place.rank.agent == AGENTS[0]]
    assert len(own) == (1 if is_lost else 5)
    assert index.unread() == (8 if is_lost else 4)


class _Lossy(BoundedLog):
    """A log whose first event cannot be read."""

    def __init__(self, log: EventLog, most: int) -> None:
        super().__init__(log, most, MovedClock())

    def read(self, folder: str, name: str) -> bytes | None:
        return None if "10-00-00Z" in name else super().read(folder, name)


@pytest.mark.parametrize("by_day", [False, True])
def test_folders_that_did_not_change_are_read_to_the_end(tmp_path: Path, *, by_day: bool) -> None:
    for day in ("2026-01-08", "2026-01-09", "2026-01-10"):
        for number in range(4):
            place = tmp_path / "events" / (day if by_day else "")
            place.mkdir(parents=True, exist_ok=True)
            name = f"{day}T10-00-{number:02}Z_{AGENTS[0]}.md"
            (place / name).write_text(make_text_of({"now": "Lexer"}, f"{day}T10:00:{number:02}Z", AGENTS[0]))
    for place in (tmp_path / "events", *(tmp_path / "events").iterdir()):
        os.utime(place, (1_700_000_000, 1_700_000_000))  # long ago
    files = FileEventLog(str(tmp_path / "events"), str(tmp_path / "archive"), SystemClock())
    index = MemoryIndex()

    left = [update_portion(bound(files, 5), index) for _ in range(4)]

    assert left == [7, 2, 0, 0]
    assert index.digest(1).event_count == 12


@given(
    said=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), min_size=1, max_size=20),
    portions=st.lists(st.integers(1, 7), min_size=1, max_size=4),
)
def test_an_index_that_was_read_in_portions_says_the_same_as_one_that_read_all(
    said: Sequence[tuple[str, str]], portions: Sequence[int]
) -> None:
    log = MemoryEventLog()
    for number, (key, text) in enumerate(said):
        put(log, number, folder="2026-01-10" if number % 3 else "", key=key, said=text)
    whole = MemoryIndex()
    update_index(log, whole)

    with tempfile.TemporaryDirectory() as folder, closing(open_index(f"{folder}/cache")) as index:
        for most in [*portions] * len(said):
            before = index.unread()
            left = update_portion(bound(log, most), index)
            assert left == len(said) - index.digest(1).event_count
            assert before == 0 or left < before

        assert index.unread() == 0
        assert index.digest(100) == whole.digest(100)
