"""Select the journal lines that belong to one track: a session may have worked on others before.

Lines that were written while no track was bound belong to the next one, as they do in events.
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
    """Return the track of a session, or its last one if it ended; empty if it had none."""
    bound = [line.fact.text for line in lines if binds_track(line.fact) and line.fact.text]
    return bound[-1] if bound else ""


def select_track_lines(lines: Sequence[JournalLine], track: str) -> Sequence[JournalLine]:
    """Return the lines about a track and about the session itself, without those about other tracks.

    The retraction of another track's goal or now, made when the session leaves that track, is left out too.
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
    """Return the last line at which a session worked on another track; 0 if it never did."""
    last, bound = 0, ""
    for line in put_in_order([*lines]):
        last = last if bound in {"", track} else line.seq
        bound = line.fact.text if binds_track(line.fact) else bound
    return last


def _find_owners(lines: Sequence[JournalLine]) -> Sequence[str]:
    """Return the track of each line."""
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
    """Return whether a line states, answers or retracts something about the work."""
    kind = kind_of(fact.kind)
    if kind is FactKind.CLAIM:
        return fact.text == CLOSED_BLOCKED
    return kind is FactKind.RETRACTION or kind in STATING
