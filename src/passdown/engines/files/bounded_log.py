"""An `EventLog` for hooks: each reads a portion of what is new, and the next hook goes on (C131)."""

from collections.abc import Mapping, Sequence
from typing import Final

from passdown.ports.clock import Clock
from passdown.ports.event_log import EventLog, FileMark

SECONDS: Final = 1.0
"""How long to read. Loading what was read into the cache takes about three times as long."""
LEAST: Final = 100
"""How many events to read however long that takes, so that every hook makes progress."""


class BoundedLog:
    """A log from which indexes may read a limited number of events, for a limited time."""

    def __init__(self, log: EventLog, most: int, clock: Clock) -> None:
        """Store the log and the limit on the number of events; the time starts with the first event."""
        self._log = log
        self._most = most
        self._clock = clock
        self._count = 0
        self._began: float | None = None

    def folders(self, known: Mapping[str, int]) -> Mapping[str, int]:
        return self._log.folders(known)

    def files(self, folder: str) -> Mapping[str, FileMark]:
        return self._log.files(folder)

    def read(self, folder: str, name: str) -> bytes | None:
        return self._log.read(folder, name)

    def may_read(self, events: int = 0) -> bool:
        """Return whether more may be read; a rollup of many events may exceed the limit."""
        now = self._clock.monotonic()
        if self._began is None:
            self._began = now
        self._count += events
        return self._count < self._most and (self._count < LEAST or now - self._began < SECONDS)

    def create(self, folder: str, name: str, data: bytes) -> bool:
        return self._log.create(folder, name, data)

    def archive(self, folder: str, names: Sequence[str], day: str) -> int:
        return self._log.archive(folder, names, day)

    def discard(self, folder: str, files: Mapping[str, bytes], *, is_archived: bool = False) -> Sequence[str]:
        return self._log.discard(folder, files, is_archived=is_archived)
