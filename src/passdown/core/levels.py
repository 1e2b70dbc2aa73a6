"""How full a session's context is, by a number that its host tells, and what follows from it (C38)."""

from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.texts import one_line
from passdown.core.times import parse_instant, render_seconds

FOLDER: Final = "levels"
"""The folder of local state with a file for each session whose host tells how full its context is."""

WIDEST: Final = 100
_FULL: Final = 100
_FIELDS: Final = 3


class Level(StrEnum):
    """What a session should do about its context."""

    LOW = "low"
    SUGGEST = "suggest"
    SAVE = "save"
    FORCE = "force"


class Ladder(NamedTuple):
    """From how many percent on each level holds."""

    suggest: int = 70
    save: int = 85
    force: int = 90


LADDER: Final = Ladder()


class Reading(NamedTuple):
    """How full a context was at an instant."""

    percent: int
    level: Level
    at: datetime


def level_of(percent: float, ladder: Ladder = LADDER) -> Level:
    """Say which level holds."""
    if percent >= ladder.force:
        return Level.FORCE
    if percent >= ladder.save:
        return Level.SAVE
    return Level.SUGGEST if percent >= ladder.suggest else Level.LOW


def read_percent(value: object) -> int | None:
    """Take the number that a host tells; None for what is none, or cannot be."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= _FULL else None


def render_reading(reading: Reading) -> str:
    """Write a reading as one line: percent, level, instant."""
    return f"{reading.percent} {reading.level.value} {render_seconds(reading.at)}\n"


def parse_reading(text: str) -> Reading | None:
    """Read it again; None for what is none."""
    words = text.split()
    if len(words) != _FIELDS or not words[0].isdecimal() or words[1] not in set(Level):
        return None
    at = parse_instant(words[2])
    return Reading(int(words[0]), Level(words[1]), at) if at else None


_ADVICE: Final = MappingProxyType(
    {
        Level.LOW: "",
        Level.SUGGEST: ": a handoff soon",
        Level.SAVE: ": hand over now",
        Level.FORCE: ": hand over, then clear",
    }
)


def render_status(doing: str, percent: int | None, level: Level) -> str:
    """Say in one short line what a session does and how full its context is; empty if neither is known."""
    full = "" if percent is None else f"context {percent} %{_ADVICE[level]}"
    head = "passdown: "
    between = " | " if full else ""
    room = WIDEST - len(head) - len(between) - len(full)
    text = one_line(doing)
    text = text if len(text) <= room else f"{text[: room - 1].rstrip()}…"
    parts = [part for part in (text, full) if part]
    return head + " | ".join(parts) if parts else ""
