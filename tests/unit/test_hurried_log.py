"""A large log that was never read does not hold up somebody who is in a hurry."""

import pytest

from passdown.engines.files.hurried import HurriedLog
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
    log = HurriedLog(make_log(), 15, is_cached=True)

    with pytest.raises(UnreadError, match="more than 15 events were never read here") as found:
        log.folders({})

    assert found.value.hint == "`passdown brief` reads all of them, once"


def test_a_cache_that_knows_the_log_or_a_log_that_is_not_large_is_no_matter() -> None:
    whole = make_log()

    assert HurriedLog(whole, 15, is_cached=True).folders({"": 1}) == whole.folders({})
    assert HurriedLog(whole, 16, is_cached=True).folders({}) == whole.folders({})
    assert len(HurriedLog(whole, 1, is_cached=True).files("")) == 4


@pytest.mark.parametrize(
    ("most", "folders"), [(3, DAYS[2:]), (4, DAYS[1:]), (7, DAYS[1:]), (8, DAYS), (12, ("", *DAYS))]
)
def test_without_a_cache_the_newest_days_are_there(most: int, folders: tuple[str, ...]) -> None:
    log = HurriedLog(make_log(), most, is_cached=False)

    assert sorted(log.folders({})) == list(folders)
    assert sorted(log.folders(log.folders({}))) == list(folders)


def test_without_a_cache_the_newest_files_of_a_folder_are_there() -> None:
    log = HurriedLog(make_log(), 2, is_cached=False)

    assert sorted(log.files("")) == ["2026-01-08T02-00-00Z_toast.md", "2026-01-08T03-00-00Z_toast.md"]
