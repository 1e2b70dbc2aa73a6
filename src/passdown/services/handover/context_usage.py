"""Store how full a session's context window is, where hooks find it."""

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Final

from passdown import layout
from passdown.core.hosts.context_usage import (
    ContextReading,
    ContextThresholds,
    level_of,
    parse_reading,
    render_reading,
)
from passdown.errors import StorageError
from passdown.services.workspace.local_files import list_places, remove_local, write_local
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import ContextSettings

if TYPE_CHECKING:  # only the end of a turn has a transcript
    from passdown.services.sessions.observations import TranscriptSource

_TAIL: Final = 262_144
"""How many bytes at the end of a transcript are read."""


def thresholds_of(context: ContextSettings) -> ContextThresholds:
    """Return the thresholds in the settings."""
    return ContextThresholds(context.suggest, context.save, context.force)


def note_level(workspace: Workspace, name: str, reading: ContextReading) -> bool:
    """Store a session's level; return False if it has not changed."""
    old = read_level(workspace, name)
    if old is not None and (old.percent, old.level) == (reading.percent, reading.level):
        return False
    write_local(workspace, f"{layout.CONTEXT_LEVELS}/{name}", render_reading(reading).encode())
    return True


def read_level(workspace: Workspace, name: str) -> ContextReading | None:
    """Return the last stored level, or None if there is none that can be read."""
    for place in list_places(workspace, f"{layout.CONTEXT_LEVELS}/{name}"):
        # An unreadable level is simply written again.
        with suppress(StorageError):
            if reading := parse_reading(place.documents.read(place.path).decode("ascii", "replace")):
                return reading
    return None


def find_level_in_transcript(
    source: "TranscriptSource", thresholds: ContextThresholds, now: datetime
) -> ContextReading | None:
    """Return the level from the end of a transcript, or None if the host does not record it."""
    fullness = source.reader.fullness
    if fullness is None:
        return None
    start = max(source.transcripts.size(source.path) - _TAIL, 0)
    lines = reversed(source.transcripts.read(source.path, start).split(b"\n"))
    percent = next((found for line in lines if (found := fullness(line)) is not None), None)
    return None if percent is None else ContextReading(percent, level_of(percent, thresholds), now)


def forget_level(workspace: Workspace, name: str) -> None:
    """Remove the stored level of an ended session, if possible."""
    remove_local(workspace, f"{layout.CONTEXT_LEVELS}/{name}")
