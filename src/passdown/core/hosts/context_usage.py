"""How full a session's context is, as its host reports it, and the advice that follows (C38)."""

from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.safe_text import one_line
from passdown.core.times import parse_instant, render_seconds

WIDEST: Final = 100
_FULL: Final = 100
_FIELDS: Final = 3


class ContextLevel(StrEnum):
    """What a session should do about its context."""

    LOW = "low"
    SUGGEST = "suggest"
    SAVE = "save"
    FORCE = "force"


class ContextThresholds(NamedTuple):
    """The percentages at which the levels begin."""

    suggest: int = 70
    save: int = 85
    force: int = 90


LADDER: Final = ContextThresholds()


class ContextReading(NamedTuple):
    """How full a context was at an instant."""

    percent: int
    level: ContextLevel
    at: datetime


def level_of(percent: float, thresholds: ContextThresholds = LADDER) -> ContextLevel:
    """Return the level for a percentage."""
    if percent >= thresholds.force:
        return ContextLevel.FORCE
    if percent >= thresholds.save:
        return ContextLevel.SAVE
    return ContextLevel.SUGGEST if percent >= thresholds.suggest else ContextLevel.LOW


def read_percent(value: object) -> int | None:
    """Return the percentage that a host reports, or None if it is not a valid one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value <= _FULL else None


def render_reading(reading: ContextReading) -> str:
    """Write a reading as one line: percent, level, instant."""
    return f"{reading.percent} {reading.level.value} {render_seconds(reading.at)}\n"


def parse_reading(text: str) -> ContextReading | None:
    """Read a line of `render_reading`; return None if it is not one."""
    words = text.split()
    if len(words) != _FIELDS or not words[0].isdecimal() or words[1] not in set(ContextLevel):
        return None
    at = parse_instant(words[2])
    return ContextReading(int(words[0]), ContextLevel(words[1]), at) if at else None


_ADVICE: Final = MappingProxyType(
    {
        ContextLevel.LOW: "",
        ContextLevel.SUGGEST: ": hand off soon",
        ContextLevel.SAVE: ": hand off now",
        ContextLevel.FORCE: ": hand off, then clear",
    }
)


def render_status(doing: str, percent: int | None, level: ContextLevel) -> str:
    """Return one short line with the current step and the context level; empty if neither is known."""
    full = "" if percent is None else f"context {percent} %{_ADVICE[level]}"
    head = "passdown: "
    between = " | " if full else ""
    room = WIDEST - len(head) - len(between) - len(full)
    text = one_line(doing)
    text = text if len(text) <= room else f"{text[: room - 1].rstrip()}…"
    parts = [part for part in (text, full) if part]
    return head + " | ".join(parts) if parts else ""
