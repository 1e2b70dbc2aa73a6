"""Logs of many events, quickly made."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from passdown.core.ids import event_file_name
from tests.support.projects import EVENTS

FIRST: Final = datetime(2026, 1, 9, tzinfo=UTC)
LAST: Final = datetime(2026, 1, 11, tzinfo=UTC)
"""When the first and the last event of a log were written; the others lie between them, equally far apart."""
AGENT: Final = "amber-0000beef"


def put_log(folder: Path, count: int, *, by_day: bool = False) -> None:
    """Write events that each say one thing, and every tenth a decision that stays; then let them rest."""
    events = folder / EVENTS
    places = {events}
    events.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        at = FIRST + (LAST - FIRST) * number / count
        at -= timedelta(microseconds=at.microsecond % 1_000)
        place = events / at.date().isoformat() if by_day else events
        if place not in places:
            place.mkdir()
            places.add(place)
        decided = f"decisions:\n  key_{number}: choice {number}\n" if number % 10 == 0 else ""
        text = f"---\nts: {at.isoformat()}\nagent: {AGENT}\nsession: s-{number:012x}\n---\n\n"
        said = f"{text}this_session:\n- did {number}\n{decided}"
        (place / event_file_name(at, AGENT)).write_text(said, encoding="utf-8")
    for place in places:  # what changed a moment ago is listed again and again
        os.utime(place, (LAST.timestamp(), LAST.timestamp()))
