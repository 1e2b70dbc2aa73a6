"""The time of a database that has no clock of its own (C81)."""

from typing import NamedTuple

from passdown.core.coordination.members import EngineTime
from passdown.ports.clock import BootTime


class ClockRow(NamedTuple):
    """What is stored about time, so that the clock can continue from it."""

    boot: str = ""
    """The id of the boot in which the file was last written; empty if it was never known."""
    number: int = 0
    """How many boots there were before it."""
    offset: float = 0.0
    """What to add to the seconds of this boot."""
    newest: float = 0.0
    """The newest instant that is stored."""

    @property
    def time(self) -> EngineTime:
        """The newest instant, for callers."""
        return EngineTime(self.newest, self.number)


def tell_time(stored: ClockRow, read: BootTime, wall: float) -> ClockRow:
    """Return what to store now; its newest instant is the time, which never goes back.

    1. If the boot is unknown, the seconds are the wall clock's, and the stored boot stays.
    2. In the stored boot, only the clock that all its processes share counts. If a process that did not know
       the boot stored a later instant, time continues from there.
    3. In another boot, and in a new file, time continues from the wall clock. Whatever ran in the stored boot
       has ended, so the number grows; if no boot is stored, that is unknown.
    """
    if not read.boot:  # 1
        return stored._replace(newest=max(stored.newest, read.seconds))
    if read.boot == stored.boot:  # 2
        now = stored.offset + read.seconds
        if now >= stored.newest:
            return ClockRow(stored.boot, stored.number, stored.offset, now)
        return stored._replace(offset=stored.newest - read.seconds)
    newest = max(stored.newest, wall)  # 3
    number = stored.number + (1 if stored.boot else 0)
    return ClockRow(read.boot, number, newest - read.seconds, newest)
