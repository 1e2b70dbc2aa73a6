"""Every engine keeps the promises of `EventLog`."""

from collections.abc import Mapping
from pathlib import Path

from passdown.engines.files import write
from passdown.engines.files.bounded_log import BoundedLog
from passdown.engines.files.event_log import FileEventLog
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.system import SystemClock
from passdown.ports.event_log import EventLog
from passdown.records import replace
from passdown.testing.conformance.event_log import EventLogConformance


class TestFileEventLog(EventLogConformance):
    """Files of this machine."""

    def make(self, folder: Path) -> EventLog:
        """Make a log whose folder is not there yet."""
        return FileEventLog(str(folder / "events"), str(folder / "archive"), SystemClock())

    def archived(self, folder: Path, log: EventLog, day: str) -> Mapping[str, bytes]:
        """Read the archive."""
        del log
        return {one.name: one.read_bytes() for one in (folder / "archive" / day).iterdir()}


class TestFileEventLogWithoutHandles(TestFileEventLog):
    """Files of a system without folder handles, below the root of a checkout."""

    def make(self, folder: Path) -> EventLog:
        """Make a log whose folder is not there yet."""
        folder.mkdir(exist_ok=True)
        operations = replace(write.HERE, folder_handles=False)
        names = str(folder / "events"), str(folder / "archive")
        return FileEventLog(*names, SystemClock(), root=str(folder), operations=operations)


class TestHurriedLog(TestFileEventLog):
    """A log of which hooks read a portion."""

    def make(self, folder: Path) -> EventLog:
        """Make a log whose folder is not there yet."""
        return BoundedLog(super().make(folder), 1_000, SystemClock())


class TestMemoryEventLog(EventLogConformance):
    """The fake that other tests use."""

    def make(self, folder: Path) -> EventLog:
        """Make a log that lies nowhere."""
        del folder
        return MemoryEventLog()

    def archived(self, folder: Path, log: EventLog, day: str) -> Mapping[str, bytes]:
        """Look into the fake's archive."""
        del folder
        assert isinstance(log, MemoryEventLog)
        return log.archived[day]
