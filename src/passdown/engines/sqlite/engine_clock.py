"""The time of a database that has no clock of its own (C81)."""

from typing import NamedTuple

from passdown.core.coordination.members import EngineTime
from passdown.ports.clock import BootTime


class ClockRow(NamedTuple):
    """What is stored about time: all that must be known to go on."""

    boot: str = ""
    """The id of the boot in which somebody last wrote; empty if nobody could tell it yet."""
    number: int = 0
    """How many boots there were before it."""
    offset: float = 0.0
    """What to add to the seconds of this boot."""
    newest: float = 0.0
    """The newest instant that is stored."""

    @property
    def time(self) -> EngineTime:
        """The newest instant, as callers get it."""
        return EngineTime(self.newest, self.number)


def tell_time(stored: ClockRow, read: BootTime, wall: float) -> ClockRow:
    """Return what to store now; its newest instant is the time. It never steps back.

    1. If nobody can tell the boot, the seconds are the wall clock's; the boot that is stored stays.
    2. In the boot that is stored, only the clock that all its processes share counts. If somebody stored a
       later instant, who could not tell the boot, time goes on from there.
    3. In another boot, and in a new file, time goes on from the wall clock. Whatever ran in the boot that is
       stored has ended, so the number grows; if none is stored, nobody can tell.
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
