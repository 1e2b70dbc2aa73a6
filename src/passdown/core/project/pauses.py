"""Pausing Passdown, by a mark in the project or by an environment variable (C70).

While paused, nothing runs automatically; commands that a user or agent runs still work.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from passdown.core.times import parse_instant, render_seconds

OFF: Final = "PASSDOWN_OFF"
"""The variable that turns Passdown off for one process and its children."""

_NO: Final = frozenset({"", "0", "false", "no", "off"})


def is_off(variables: Mapping[str, str]) -> bool:
    """Return whether the environment turns Passdown off."""
    return variables.get(OFF, "").strip().lower() not in _NO


def render_mark(at: datetime) -> str:
    """Write the mark, which holds the start of the pause."""
    return f"{render_seconds(at)}\n"


def parse_mark(text: str) -> datetime | None:
    """Read the start of the pause; None if the mark has no time, which is still a valid mark."""
    return parse_instant(text.strip())
