"""The banner: lists the events that were combined into a brief (R120, R121)."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from passdown.core.briefs.brief_lines import MAX_TEXT
from passdown.core.briefs.briefs import NO_NOW
from passdown.core.safe_text import one_line
from passdown.core.times import render_millis

_NAME: Final = 40
_LABEL: Final = 60


class CombinedEvent(NamedTuple):
    """An event that was combined into the brief."""

    at: datetime
    agent: str
    label: str


def render_banner(
    combined: Iterable[CombinedEvent], total: int, goal: str, now: str, title: str = "Now", unread: int = 0
) -> str:
    """Render the combined events, newest first, then the goal and current or last work (R121).

    `unread` is how many files of events were not read yet.
    """
    shown = [
        f"  {_plain(one.agent, _NAME)}  {_minute(one.at)}  {_plain(one.label, _LABEL)}" for one in combined
    ]
    count = f"{total} event" + ("" if total == 1 else "s")
    rest = [f"  and {total - len(shown)} earlier: `passdown log --all`"] if total > len(shown) else []
    files = "1 file" if unread == 1 else f"{unread:,} files"
    left = f"; not read yet: {files} of events (`passdown brief` reads all)" if unread else ""
    lines = [f"Passdown: {count} combined{left}", *shown, *rest]
    lines += [f"Goal: {_plain(goal, MAX_TEXT) or NO_NOW}", f"{title}: {_plain(now, MAX_TEXT) or NO_NOW}"]
    return "\n".join(lines)


def _minute(at: datetime) -> str:
    return f"{render_millis(at)[:16].replace('T', ' ')}Z"


def _plain(text: str, limit: int) -> str:
    line = one_line(" ".join(text.split()))
    return line if len(line) <= limit else f"{line[:limit].rstrip()}…"
