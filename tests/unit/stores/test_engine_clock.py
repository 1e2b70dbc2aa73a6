"""The time of a database without a clock never steps back, whatever happens to clocks and boots (C81)."""

from hypothesis import given
from hypothesis import strategies as st

from passdown.engines.sqlite.engine_clock import ClockRow, tell_time
from passdown.ports.clock import BootTime

SECONDS = st.floats(0, 1e6)
WALL = st.floats(0, 4e9)
BOOTS = st.sampled_from(["", "boot-a", "boot-b", "boot-c"])
READS = st.tuples(BOOTS, SECONDS, WALL)


def tell(stored: ClockRow, boot: str, seconds: float, wall: float) -> ClockRow:
    """Read the clocks; without a boot, its seconds are the wall clock's."""
    return tell_time(stored, BootTime(boot, seconds if boot else wall), wall)


@given(st.lists(READS, min_size=1))
def test_time_never_steps_back_and_boots_are_counted(reads: list[tuple[str, float, float]]) -> None:
    row = ClockRow()
    for read in reads:
        later = tell(row, *read)

        assert later.time >= row.time
        is_other = bool(row.boot and read[0] and row.boot != read[0])
        assert later.number == row.number + is_other
        assert later.boot == (read[0] or row.boot)
        row = later


@given(READS, st.floats(0, 1e6), WALL)
def test_within_a_boot_time_goes_on_as_its_clock_does(
    first: tuple[str, float, float], passed: float, wall: float
) -> None:
    _, seconds, _ = first
    row = tell(ClockRow(), "boot-a", *first[1:])

    later = tell(row, "boot-a", seconds + passed, wall)

    assert abs(later.newest - row.newest - passed) < 1e-5
    assert later.number == row.number


@given(st.lists(READS), st.floats(0, 1e6), WALL)
def test_whatever_was_stored_time_goes_on_from_there(
    reads: list[tuple[str, float, float]], passed: float, wall: float
) -> None:
    row = ClockRow()
    for read in reads:
        row = tell(row, *read)
    first = tell(row, "boot-a", 50.0, wall)

    later = tell(first, "boot-a", 50.0 + passed, wall)

    assert abs(later.newest - first.newest - passed) < 1e-5
