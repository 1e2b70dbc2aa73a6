"""Reads the events of the last commit from git."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from passdown.ports.event_log import EventLog
    from passdown.services.workspace.workspaces import Workspace


def open_committed_log(workspace: "Workspace") -> "EventLog":
    """Return the event log as it is in the last commit; without git it is empty."""
    from passdown.engines.memory.event_log import MemoryEventLog  # loaded on demand

    log = MemoryEventLog()
    folder = f"{workspace.settings.paths.events}/"
    listed = workspace.repository.listing(folder)
    contents = workspace.history.contents(sorted(set(listed.values())))
    for path, name in listed.items():
        if name in contents:
            day, _, file = path.removeprefix(folder).rpartition("/")
            log.create(day, file, contents[name])
    return log
