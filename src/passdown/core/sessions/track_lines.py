"""Which lines of a journal belong to the track that a session works on: it may have worked on others before.

What is said while no track is bound belongs to the next one that is bound: an event says so, too.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from passdown.core.facts import TRACK, Fact
from passdown.core.formats.journal import JournalLine, put_in_order
from passdown.core.holds import CLOSED_BLOCKED
from passdown.core.kinds import STATING, FactKind, kind_of

_REGISTERS: Final = frozenset({FactKind.GOAL.value, FactKind.NOW.value})


def binds_track(fact: Fact) -> bool:
    """Return whether a fact binds a session to a track, or unbinds it."""
    return fact.kind == FactKind.BINDING and fact.key == TRACK


def find_last_track(lines: Iterable[JournalLine]) -> str:
    """Return the track that a session works on, or worked on until it ended; empty without one."""
    bound = [line.fact.text for line in lines if binds_track(line.fact) and line.fact.text]
    return bound[-1] if bound else ""


def select_track_lines(lines: Sequence[JournalLine], track: str) -> Sequence[JournalLine]:
    """Leave out what was said of other tracks; what is said of the session itself stays.

    A goal or now of another track is taken back when the session leaves it; that is left out, too.
    """
    in_order = put_in_order([*lines])
    said: set[tuple[str, str]] = set()
    kept: list[JournalLine] = []
    for line, owner in zip(in_order, _find_owners(in_order), strict=True):
        fact = line.fact
        is_foreign = fact.kind == FactKind.RETRACTION and fact.key in _REGISTERS
        is_foreign = is_foreign and (fact.key, fact.text) not in said
        if (owner == track and not is_foreign) or not _is_said(fact):
            kept.append(line)
            said.add((fact.kind, fact.text))
    return kept


def find_end_of_others(lines: Sequence[JournalLine], track: str) -> int:
    """Return the number of the last line until which a session worked on another track; 0 if it never did."""
    last, bound = 0, ""
    for line in put_in_order([*lines]):
        last = last if bound in {"", track} else line.seq
        bound = line.fact.text if binds_track(line.fact) else bound
    return last


def _find_owners(lines: Sequence[JournalLine]) -> Sequence[str]:
    """Return the track to which each line belongs."""
    bound: list[str] = []
    now = ""
    for line in lines:
        if binds_track(line.fact):
            now = line.fact.text
        bound.append(now)
    owners: list[str] = []
    later = now
    for one in reversed(bound):
        later = one or later
        owners.append(later)
    return owners[::-1]


def _is_said(fact: Fact) -> bool:
    """Return whether a line states, answers or takes back something about the work."""
    kind = kind_of(fact.kind)
    if kind is FactKind.CLAIM:
        return fact.text == CLOSED_BLOCKED
    return kind is FactKind.RETRACTION or kind in STATING
