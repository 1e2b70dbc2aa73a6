"""Turned off for a while: by a mark of the project, or by a variable of the environment (C70).

Then whatever would run by itself does nothing. What a person or agent calls by hand works as ever.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from passdown.core.times import parse_instant, render_seconds

OFF: Final = "PASSDOWN_OFF"
"""The variable that turns Passdown off for one process and all that it starts."""

MARK: Final = "paused"
"""The file that is there while a project is paused, below the folder of local state."""

GIT_MARK: Final = f"passdown/{MARK}"
"""The same for all checkouts of a project, below git's own folder."""

_NO: Final = frozenset({"", "0", "false", "no", "off"})


def is_off(variables: Mapping[str, str]) -> bool:
    """Say whether the environment turns Passdown off."""
    return variables.get(OFF, "").strip().lower() not in _NO


def render_mark(at: datetime) -> str:
    """Write the mark: since when."""
    return f"{render_seconds(at)}\n"


def parse_mark(text: str) -> datetime | None:
    """Read since when; None when the mark does not tell, which makes it no less a mark."""
    return parse_instant(text.strip())
