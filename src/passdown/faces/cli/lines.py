"""Render events, and decisions that contradict each other, on lines that fit the terminal."""

import shlex
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from passdown.core.facts import Fact
from passdown.core.safe_text import one_line
from passdown.core.statements import CONTRADICTION
from passdown.core.times import age_words, render_millis
from passdown.faces.cli import output
from passdown.ports.index import EventLocation

if TYPE_CHECKING:  # few commands list handoffs
    from passdown.services.handover.handoffs import ListedHandoff

_WIDEST: Final = 100
_NARROWEST: Final = 40
_SHORT: Final = 8
_OURS: Final = "ev-"
_WHOLE: Final = 1_000
_FIRST: Final = 10


def width() -> int:
    """Return the number of columns for a line."""
    return max(min(output.columns(), _WIDEST), _NARROWEST)


def minute(at: datetime) -> str:
    """Render an instant to the minute."""
    return f"{render_millis(at)[:16].replace('T', ' ')}Z"


def short_id(place: EventLocation) -> str:
    """Shorten an event's id; the short id is nearly always unique."""
    name = place.rank.id
    return one_line(name[: len(_OURS) + _SHORT] if name.startswith(_OURS) else name[:_SHORT])


def cut(text: str, columns: int) -> str:
    """Cut a text to a number of columns, on one line."""
    line = one_line(text)
    if len(line) <= columns // 2 or _columns_of(line) <= columns:
        return line
    taken, room = 0, columns - 1
    while room >= (size := _columns_of(line[taken])):
        room -= size
        taken += 1
    return f"{line[:taken].rstrip()}…"


def list_records(found: "Sequence[ListedHandoff]", now: datetime, *, has_kinds: bool = True) -> Iterator[str]:
    """Yield the lines of handoffs or of sessions that ended: name, status and age, and what it is about."""
    for one in found:
        age = f"{age_words(now - one.at)} ago" if one.at else "no date"
        about = ", ".join([*([one.kind] if has_kinds else []), one.status or "no status", age])
        yield cut(f"{one.name}  {about}", width())
        if one.goal:
            yield f"    {cut(one.goal, width() - 4)}"


def say_difference(text: str) -> None:
    """Print a diff, each line whole: what is agreed to must have been seen."""
    for line in text.splitlines():
        output.say(one_line(line.replace("\t", "    ")))


def _columns_of(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def event_lines(place: EventLocation, label: str, mark: str = "") -> str:
    """Render an event on one or two lines: time, id, agent, branch, type; then what it is about."""
    marks = [
        *(["retracted"] if place.is_retracted else []),
        *([f"ranks {minute(place.ranked_at)}"] if minute(place.ranked_at) != minute(place.rank.at) else []),
        *([f"in {mark}"] if mark else []),
    ]
    behind = f" ({', '.join(marks)})" if marks else ""
    first = f"{minute(place.rank.at)}  {short_id(place)}  "
    rest = f"{place.rank.agent}  {place.branch}  {place.type}"
    behind = cut(behind, width() // 3)
    line = first + cut(rest, width() - len(first) - _columns_of(behind)) + behind
    return f"{line}\n    {cut(label, width() - 4)}" if label else line


# --- decisions that contradict each other (C162) --------------------------------------------------


def contested_lines(contested: Sequence[Sequence[Fact]], now: datetime) -> Sequence[str]:
    """Return a line for each key, newest first; the keys left out are counted."""
    from passdown.core.briefs.contested_lines import (
        render_contested_for_person,  # few decisions contradict each other
    )

    shown = [
        f"{CONTRADICTION}{render_contested_for_person(facts, lambda at: age_words(now - at), _WHOLE)}"
        for facts in contested[:_FIRST]
    ]
    left = len(contested) - len(shown)
    return [*shown, f"and {left} more: `passdown view list decisions`"] if left else shown


def settling_hint(contested: Sequence[Sequence[Fact]]) -> str:
    """Return the command that settles the first of them."""
    return f'to settle it: `passdown decide {shlex.quote(contested[0][0].key)} "TEXT" --replace`'
