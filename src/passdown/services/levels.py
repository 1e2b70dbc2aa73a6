"""Write down how full a session's context is, where hooks find it."""

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Final

from passdown.core.levels import FOLDER, Ladder, Reading, level_of, parse_reading, render_reading
from passdown.errors import StorageError
from passdown.services.checkouts import Site
from passdown.services.local_files import list_places, write_local
from passdown.settings import ContextSettings

if TYPE_CHECKING:  # only a turn's end has a transcript
    from passdown.services.observations import Source

_TAIL: Final = 262_144
"""How much of a transcript's end is looked at."""


def ladder_of(context: ContextSettings) -> Ladder:
    """Give the ladder that the settings say."""
    return Ladder(context.suggest, context.save, context.force)


def note_level(site: Site, name: str, reading: Reading) -> bool:
    """Write a session's level down; False when nothing has changed since the last time."""
    old = read_level(site, name)
    if old is not None and (old.percent, old.level) == (reading.percent, reading.level):
        return False
    write_local(site, f"{FOLDER}/{name}", render_reading(reading).encode())
    return True


def read_level(site: Site, name: str) -> Reading | None:
    """Give the level that was written down last; None if there is none that can be read."""
    for place in list_places(site, f"{FOLDER}/{name}"):
        # What cannot be read is written again.
        with suppress(StorageError):
            if reading := parse_reading(place.documents.read(place.path).decode("ascii", "replace")):
                return reading
    return None


def find_told(source: "Source", ladder: Ladder, now: datetime) -> Reading | None:
    """Give the level that the end of a transcript tells; None where the host does not write it down."""
    fullness = source.tongue.fullness
    if fullness is None:
        return None
    start = max(source.transcripts.size(source.path) - _TAIL, 0)
    lines = reversed(source.transcripts.read(source.path, start).split(b"\n"))
    percent = next((found for line in lines if (found := fullness(line)) is not None), None)
    return None if percent is None else Reading(percent, level_of(percent, ladder), now)


def forget_level(site: Site, name: str) -> None:
    """Take away what was written down for a session that is over, as far as that is possible."""
    for place in list_places(site, f"{FOLDER}/{name}"):
        # What stays is small, and nobody reads it.
        with suppress(StorageError):
            if place.documents.exists(place.path):
                place.documents.remove(place.path, place.documents.read(place.path))
