"""A hook reads a portion of a log: so many events, and none after a time."""

from datetime import timedelta

from passdown.engines.files.bounded_log import LEAST, SECONDS, BoundedLog
from passdown.engines.memory.event_log import MemoryEventLog
from tests.support.events import MovedClock


def test_no_more_events_are_read_than_allowed_however_often_somebody_asks() -> None:
    log = BoundedLog(MemoryEventLog(), 5, MovedClock())

    assert [log.may_read(1) for _ in range(5)] == [True, True, True, True, False]
    assert not log.may_read()


def test_a_file_of_many_events_counts_as_many() -> None:
    log = BoundedLog(MemoryEventLog(), 1_000, MovedClock())

    assert log.may_read(999)
    assert not log.may_read(274)


def test_no_events_are_read_after_a_while_but_always_some() -> None:
    clock = MovedClock()
    log = BoundedLog(MemoryEventLog(), 10 * LEAST, clock)
    assert log.may_read()
    clock.at += timedelta(seconds=SECONDS)

    assert log.may_read(LEAST - 1)
    assert not log.may_read(1)


def test_the_time_begins_with_the_first_event() -> None:
    clock = MovedClock()
    log = BoundedLog(MemoryEventLog(), 10 * LEAST, clock)
    clock.at += timedelta(hours=1)

    assert log.may_read(LEAST)
    clock.at += timedelta(seconds=SECONDS / 2)
    assert log.may_read()
