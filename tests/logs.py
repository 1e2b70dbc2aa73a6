"""Logs of many events, quickly made."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from passdown.core.ids import event_file_name
from tests.projects import EVENTS

FIRST: Final = datetime(2026, 1, 10, 6, tzinfo=UTC)
"""When the first event of a log was written; the others follow, one a second."""
AGENT: Final = "amber-0000beef"


def put_log(folder: Path, count: int, *, by_day: bool = False) -> None:
    """Write events that each say one thing, and every tenth a decision that stays."""
    events = folder / EVENTS
    events.mkdir(parents=True, exist_ok=True)
    days: set[Path] = set()
    for number in range(count):
        at = FIRST + timedelta(seconds=number)
        decided = f"decisions:\n  key_{number}: choice {number}\n" if number % 10 == 0 else ""
        text = f"---\nts: {at.isoformat()}\nagent: {AGENT}\nsession: s-{number:012x}\n---\n\n"
        place = events / at.date().isoformat() if by_day else events
        if by_day and place not in days:
            place.mkdir(exist_ok=True)
            days.add(place)
        said = f"{text}this_session:\n- did {number}\n{decided}"
        (place / event_file_name(at, AGENT)).write_text(said, encoding="utf-8")
