"""A large log that was never read does not hold up somebody who is in a hurry."""

import pytest

from passdown.engines.files.bounded_log import BoundedLog
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.errors import UnreadError

DAYS = ("2026-01-09", "2026-01-10", "2026-01-11")


def make_log() -> MemoryEventLog:
    log = MemoryEventLog()
    for folder in ("", *DAYS):
        for hour in range(4):
            log.create(folder, f"{folder or '2026-01-08'}T0{hour}-00-00Z_toast.md", b"")
    return log


def test_a_cache_that_does_not_know_a_large_log_is_refused() -> None:
    log = BoundedLog(make_log(), 15, is_cached=True)

    with pytest.raises(UnreadError, match="more than 15 events have not been read here yet") as found:
        log.folders({})

    assert found.value.hint == "run `passdown brief` to read them"


def test_a_cache_that_knows_the_log_or_a_log_that_is_not_large_is_no_matter() -> None:
    whole = make_log()

    assert BoundedLog(whole, 15, is_cached=True).folders({"": 1}) == whole.folders({})
    assert BoundedLog(whole, 16, is_cached=True).folders({}) == whole.folders({})
    assert len(BoundedLog(whole, 1, is_cached=True).files("")) == 4


@pytest.mark.parametrize(
    ("most", "folders"), [(3, DAYS[2:]), (4, DAYS[1:]), (7, DAYS[1:]), (8, DAYS), (12, ("", *DAYS))]
)
def test_without_a_cache_the_newest_days_are_there(most: int, folders: tuple[str, ...]) -> None:
    log = BoundedLog(make_log(), most, is_cached=False)

    assert sorted(log.folders({})) == list(folders)
    assert sorted(log.folders(log.folders({}))) == list(folders)


def test_without_a_cache_the_newest_files_of_a_folder_are_there() -> None:
    log = BoundedLog(make_log(), 2, is_cached=False)

    assert sorted(log.files("")) == ["2026-01-08T02-00-00Z_toast.md", "2026-01-08T03-00-00Z_toast.md"]


def test_nothing_is_created_where_not_all_events_are_seen() -> None:
    whole = make_log()
    cut, cut_in_one = (BoundedLog(whole, most, is_cached=False) for most in (4, 2))
    enough = BoundedLog(whole, 16, is_cached=False)
    cut.folders({})
    cut_in_one.files("")
    enough.folders({})
    enough.files("")

    for log in (cut, cut_in_one):
        with pytest.raises(UnreadError):
            log.create("", "new.md", b"")
    assert enough.create("", "new.md", b"")
