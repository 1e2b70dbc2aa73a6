"""Every engine keeps the promises of `EventLog`."""

from collections.abc import Mapping
from pathlib import Path

from passdown.engines.files.event_log import FileEventLog
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.system import SystemClock
from passdown.ports.event_log import EventLog
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
