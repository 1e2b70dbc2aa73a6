"""The key `origins` of an event: where each of its facts comes from (C120).

The key `origins` maps the name of another key to one entry for each of its values, in the same order:

    origins:
      this_session: 12 2026-01-10T13:03:52.123Z, 14 2026-01-10T13:05:00.000Z by amber-1f observed at 1a2b3c

An entry holds the sequence number of the fact in its session, and its time. The author, the provenance, and
the last commit at that time follow if they differ from what the event implies. Readers of other keys skip
`origins`; invalid entries and unknown words are ignored.

An entry of feedback for certain agents names them:

    origins:
      feedback: 3 2026-01-10T13:03:52.123Z to amber-1f2e3d4c;birch-5a6b7c8d

An entry of a decision, or of its retraction, also says what it replaces (`-` for nothing). A decision that is
carried on also names the statement it repeats (C162):

    origins:
      decisions: 9 2026-01-10T13:03:52.123Z by amber-1f of s-1f:4 replaces s-7c:12;0123456789abcdef
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from passdown.core.facts import TO, Fact, Provenance
from passdown.core.ids import fold_id, is_agent
from passdown.core.json_text import dump
from passdown.core.lazy_regex import pattern
from passdown.core.statements import (
    CARRIED,
    REPLACES,
    is_name,
    list_replaced,
    read_carried,
    write_carried,
    write_replaced,
)
from passdown.core.times import parse_instant, render_millis

COMMIT_SIZE: Final = 12
"""How many characters of a commit's id are written."""

_COMMIT: Final = pattern(r"[0-9a-f]{4,64}")
_DIGITS: Final = 15
_HEAD: Final = 2
_NOTHING: Final = "-"
_BETWEEN: Final = ";"
_PROVENANCES: Final = frozenset(Provenance)


class Origin(NamedTuple):
    """Where one fact of an event comes from."""

    seq: int
    at: datetime
    agent: str = ""
    provenance: Provenance = Provenance.STATED
    commit: str = ""
    carried: str = ""
    replaces: tuple[str, ...] | None = None
    to: tuple[str, ...] = ()

    @property
    def members(self) -> tuple[tuple[str, str], ...]:
        """The further members for the fact."""
        told = ((TO, dump(" ".join(self.to))),) if self.to else ()
        return (*write_carried(self.carried), *write_replaced(self.replaces), *told)


def render_origins(told: Iterable[tuple[str, Sequence[Fact]]], agent: str) -> tuple[tuple[str, str], ...]:
    """Write where the facts under each key of an event come from."""
    return tuple((key, ", ".join(_render(fact, agent) for fact in facts)) for key, facts in told if facts)


def _render(fact: Fact, agent: str) -> str:
    words = [str(fact.seq), render_millis(fact.at)]
    if fact.agent != agent:
        words += ["by", fold_id(fact.agent)]
    if fact.provenance is not Provenance.STATED:
        words.append(fact.provenance.value)
    if fact.commit:
        words += ["at", fact.commit[:COMMIT_SIZE]]
    if fact.others:
        carried, replaced = read_carried(fact), list_replaced(fact)
        words += [CARRIED, carried] if carried else []
        if replaced is not None:
            words += [REPLACES, _BETWEEN.join(filter(is_name, replaced)) or _NOTHING]
        words += [TO, _BETWEEN.join(fact.to)] if fact.to else []
    return " ".join(words)


def parse_origins(pairs: Iterable[tuple[str, str]]) -> Mapping[str, Sequence[Origin | None]]:
    """Read where the facts under each key come from; None for an invalid entry."""
    return {key: [_parse(entry) for entry in text.split(", ")] for key, text in pairs}


def _parse(entry: str) -> Origin | None:
    words = entry.split(" ")
    if len(words) < _HEAD or not (words[0].isascii() and words[0].isdigit() and len(words[0]) <= _DIGITS):
        return None
    at = parse_instant(words[1])
    if at is None:
        return None
    origin = Origin(int(words[0]), at)
    return origin if len(words) == _HEAD else _read_rest(origin, words[_HEAD:])


def _read_rest(origin: Origin, words: Sequence[str]) -> Origin:
    """Read the part after the instant; unknown words are skipped."""
    rest = iter(words)
    for word in rest:
        if word == "by":
            origin = origin._replace(agent=next(rest, ""))
        elif word == "at":
            commit = next(rest, "")
            origin = origin._replace(commit=commit if _COMMIT.fullmatch(commit) else "")
        elif word == CARRIED:
            name = next(rest, "")
            origin = origin._replace(carried=name if is_name(name) else "")
        elif word == REPLACES:
            said = next(rest, "")
            names = () if said == _NOTHING else tuple(said.split(_BETWEEN))
            origin = origin._replace(replaces=names if all(map(is_name, names)) else None)
        elif word == TO:
            origin = origin._replace(to=tuple(filter(is_agent, next(rest, "").split(_BETWEEN))))
        elif word in _PROVENANCES:
            origin = origin._replace(provenance=Provenance(word))
    return origin
