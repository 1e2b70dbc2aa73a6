"""Whether anything was lost: every fact that was ever stated, and what became of it.

1. Each journal and the event log are gone through line by line and event by event, on their own: what they
   state holds until a named line or event takes its place, answers it or takes it back.
2. What holds must be in the brief, or be shown by a named command.
3. A line that a journal counts and does not have is a loss, and so is one that an event covers and no event
   says, and what somebody expects and nobody knows.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from passdown.core.accounts import ADD, entry_key, may_leave
from passdown.core.facts import Fact, FactKind, Provenance, make_key
from passdown.core.ids import FactId, fact_id
from passdown.core.journal import JournalLine
from passdown.core.sources import (
    CHECKPOINTS,
    DECISIONS,
    GOAL,
    ID_SIZE,
    NEXT,
    NOW,
    Checkpoint,
    Section,
    Source,
    Value,
    all_retracted,
    is_retracted,
)
from passdown.core.standings import KINDS, TOLD_AS, checkpoint_text
from passdown.records import field, record, replace

_SILENT: Final = frozenset(
    {
        FactKind.RETRACTION,
        FactKind.START,
        FactKind.HOST,
        FactKind.HEARTBEAT,
        FactKind.BINDING,
        FactKind.END,
        FactKind.CLAIM,
        FactKind.RESERVATION,
        FactKind.BOOKMARK,
        FactKind.DELIVERY,
    }
)
_FACTS: Final = frozenset(FactKind) - _SILENT
"""What lines of a journal say, but for the session itself, its leases, and other lines."""
_REGISTERS: Final[Mapping[Section, FactKind]] = MappingProxyType(
    {GOAL: FactKind.GOAL, NOW: FactKind.NOW, NEXT: FactKind.NEXT}
)
_PUBLISHED: Final = frozenset({FactKind.GOAL, FactKind.NOW, *TOLD_AS})


class How(StrEnum):
    """What became of a fact."""

    IN_BRIEF = "in-brief"
    BY_COMMAND = "by-command"
    RETIRED = "retired"
    UNACCOUNTED = "unaccounted"


@record(frozen=False)
class Stated:
    """One time that a fact was stated."""

    kind: Annotated[str, "Its kind."]
    text: Annotated[str, "What it says."]
    where: Annotated[str, "The line or event that states it."]
    key: Annotated[str, "What facts of its kind that are one share."]
    session: Annotated[str, "The session whose journal has it; empty for an event."] = ""
    seq: Annotated[int, "The line's number."] = 0
    is_seen: Annotated[bool, "Whether it was only observed."] = False
    stays: Annotated[bool, "Whether it does not leave the machine."] = False
    retired_by: Annotated[str, "The line or event that took its place, or took it back."] = ""

    @property
    def id(self) -> FactId:
        """The fact's id."""
        return fact_id(self.kind, self.text)


class Accounted(NamedTuple):
    """A fact, what became of it, and where that can be seen."""

    id: FactId | str
    kind: str
    text: str
    how: How
    where: str


@record
class Certificate:
    """What became of every fact."""

    facts: Annotated[tuple[Accounted, ...], "Every fact, in the order of ids."]
    losses: Annotated[tuple[Accounted, ...], "What nothing accounts for."] = field(default=())

    @property
    def root(self) -> str:
        """The hash of all ids, sorted: two machines that know the same facts have the same root."""
        return hashlib.sha256("\n".join(str(one.id) for one in self.facts).encode()).hexdigest()

    def count(self, how: How) -> int:
        """Count the facts of which that became."""
        return sum(one.how is how for one in self.facts)


# --- journals -------------------------------------------------------------------------------------


def trace_journal(session: str, lines: Sequence[JournalLine]) -> Sequence[Stated]:
    """Go through a journal (1); a line that stands there twice counts once."""
    trace = _Trace()
    for line in sorted(dict.fromkeys(lines), key=_place):
        _take_line(trace, session, line)
    return trace.stated


def _place(line: JournalLine) -> tuple[object, ...]:
    return line.seq, line.fact.at, line.fact.agent, line.fact.kind, line.fact.text


class _Trace:
    """What was stated, and which of it holds."""

    def __init__(self) -> None:
        self.stated: list[Stated] = []
        self.holding: dict[tuple[str, str], Stated] = {}

    def state(self, one: Stated) -> None:
        """Let a fact hold, in place of the one it replaces."""
        self.retire(one.kind, one.key, one.where)
        self.stated.append(one)
        self.holding[one.kind, one.key] = one

    def retire(self, kind: str, key: str, by: str) -> None:
        """Let a fact hold no longer."""
        old = self.holding.pop((kind, key), None)
        if old is not None:
            old.retired_by = by

    def retire_all(self, kind: str, by: str) -> None:
        """Let no fact of a kind hold any longer."""
        for one in [key for key in self.holding if key[0] == kind]:
            self.retire(*one, by)


def _take_line(trace: _Trace, session: str, line: JournalLine) -> None:
    fact = line.fact
    one = Stated(
        kind=fact.kind,
        text=fact.text,
        where=f"{session} line {line.seq}",
        key=_key(fact),
        session=session,
        seq=line.seq,
        is_seen=fact.provenance is Provenance.OBSERVED,
        stays=not may_leave(fact.kind, fact),
    )
    if fact.kind == FactKind.RETRACTION:
        trace.retire(fact.key or "", one.key, one.where)
    elif fact.kind == FactKind.NEXT:
        if fact.key != ADD:
            trace.retire_all(FactKind.NEXT, one.where)
        for text in filter(None, fact.text.split("\n")):
            trace.state(replace(one, text=text, key=make_key(text)))
    elif fact.kind in _FACTS:
        if fact.kind == FactKind.ANSWER:
            trace.retire(FactKind.QUESTION, one.key, one.where)
        _state_line(trace, one)


def _state_line(trace: _Trace, one: Stated) -> None:
    """State a fact; a goal or now that was only seen does not oust one that was said."""
    said = trace.holding.get((one.kind, one.key)) if _is_register(one.kind) and one.is_seen else None
    if said is not None and not said.is_seen:
        trace.stated.append(replace(one, retired_by=said.where))
    else:
        trace.state(one)


def _is_register(kind: str | None) -> bool:
    return kind in {FactKind.GOAL, FactKind.NOW}


def _key(fact: Fact) -> str:
    if _is_register(fact.key if fact.kind == FactKind.RETRACTION else fact.kind):
        return ""
    return make_key(fact.key or fact.text) if fact.kind == FactKind.ANSWER else entry_key(fact.kind, fact)


# --- events ---------------------------------------------------------------------------------------


def trace_events(sources: Iterable[Source]) -> Sequence[Stated]:
    """Go through the events in their order (1); the same event found twice is one."""
    unique = {source.rank.hash: source for source in sources}
    retracted = all_retracted(unique.values())
    by = {name: source.rank.id for source in unique.values() for name in source.retracted}
    trace = _Trace()
    times: dict[str, datetime] = {}
    for source in sorted(unique.values(), key=lambda one: one.rank):
        if is_retracted(source.rank, retracted):
            name = by.get(source.rank.id) or by[source.rank.hash[:ID_SIZE]]
            trace.stated += [
                replace(one, retired_by=f"event {name}")
                for section, key, value, _ in source.facts
                for one in _statements(source, section, key, value)
            ]
            continue
        for section, key, value, at in source.facts:
            _take_fact(trace, times, list(_statements(source, section, key, value)), (section, key, at))
            if value is None:
                trace.retire(_kind(section), key, f"event {source.rank.id}")
            elif section == NEXT and not value:
                trace.retire_all(FactKind.NEXT, f"event {source.rank.id}")
    return trace.stated


def _take_fact(
    trace: _Trace,
    times: dict[str, datetime],
    stated: Sequence[Stated],
    what: tuple[Section, str, datetime],
) -> None:
    """State what an event says in one section; of a checkpoint the latest counts, by its own time."""
    section, key, at = what
    if section == NEXT and stated:
        trace.retire_all(FactKind.NEXT, stated[0].where)
    for one in stated:
        known = trace.holding.get((one.kind, one.key))
        if section == CHECKPOINTS and known is not None and times[key] > at:
            trace.stated.append(replace(one, retired_by=known.where))
            continue
        times[key] = at
        trace.state(one)


def _kind(section: Section) -> FactKind:
    return _REGISTERS.get(section) or KINDS[section]


def _statements(source: Source, section: Section, key: str, value: Value | None) -> Iterator[Stated]:
    where, kind = f"event {source.rank.id}", _kind(section)
    if section == NEXT:
        for text in (value,) if isinstance(value, str) else value or ():
            yield Stated(kind=kind, text=text, where=where, key=make_key(text))
    elif value is not None:
        text = str(value)
        if section == DECISIONS:
            text = value[1]
        elif section == CHECKPOINTS:
            text = checkpoint_text(Checkpoint._make(value))
        yield Stated(kind=kind, text=text, where=where, key=key)


# --- the judgement --------------------------------------------------------------------------------


class Reach(NamedTuple):
    """What can be seen: in the brief, in the account of each session, and in the view's lists."""

    brief: frozenset[str]
    accounts: Mapping[str, frozenset[str]]
    listed: frozenset[str]


_ORDER: Final = (How.IN_BRIEF, How.BY_COMMAND, How.UNACCOUNTED, How.RETIRED)


def judge(stated: Iterable[Stated], reach: Reach, losses: Iterable[Accounted] = ()) -> Certificate:
    """Say of every fact what became of it (2); of one that was stated often, the best answer counts."""
    found: dict[str, Accounted] = {}
    for one in stated:
        answer = _judge(one, reach)
        known = found.get(answer.id)
        if known is None or _ORDER.index(answer.how) < _ORDER.index(known.how):
            found[answer.id] = answer
    facts = tuple(found[name] for name in sorted(found))
    lost = tuple(one for one in facts if one.how is How.UNACCOUNTED)
    return Certificate(facts=facts, losses=(*lost, *losses))


def _judge(one: Stated, reach: Reach) -> Accounted:
    if one.retired_by:
        return Accounted(one.id, one.kind, one.text, How.RETIRED, one.retired_by)
    if one.id in reach.brief:
        return Accounted(one.id, one.kind, one.text, How.IN_BRIEF, "passdown brief")
    if one.session and one.id in reach.accounts.get(one.session, frozenset()):
        command = f"passdown brief --session {one.session} --json"
        return Accounted(one.id, one.kind, one.text, How.BY_COMMAND, command)
    if not one.session and one.id in reach.listed:
        command = f"passdown view list {_LISTS.get(one.kind, one.kind)}"
        return Accounted(one.id, one.kind, one.text, How.BY_COMMAND, command)
    return Accounted(one.id, one.kind, one.text, How.UNACCOUNTED, one.where)


_LISTS: Final = MappingProxyType(
    {
        kind.value: f"{kind.value}s"
        for kind in KINDS.values()
        if kind not in {FactKind.DONE, FactKind.FEEDBACK}
    }
)


def find_gaps(session: str, lines: Iterable[JournalLine]) -> Iterator[Accounted]:
    """Name the lines that a journal counts and does not have (3)."""
    numbers = {line.seq for line in lines}
    for number in range(1, max(numbers, default=0)):
        if number not in numbers:
            yield Accounted("", "line", f"{session} has no line {number}", How.UNACCOUNTED, session)


def find_unpublished(
    stated: Iterable[Stated], covered: Mapping[str, int], events: Iterable[Stated]
) -> Iterator[Accounted]:
    """Name what holds in a journal, is covered by an event, and is in none (3)."""
    published = {_public_name(one) for one in events}
    for one in stated:
        is_covered = one.seq <= covered.get(one.session, 0)
        if (
            is_covered
            and one.kind in _PUBLISHED
            and not one.retired_by
            and not one.stays
            and _public_name(one) not in published
        ):
            what = f"{one.text} (covered by an event, in none)"
            yield Accounted(one.id, one.kind, what, How.UNACCOUNTED, one.where)


def _public_name(one: Stated) -> tuple[str, str]:
    return TOLD_AS.get(one.kind, one.kind), one.key or make_key(one.text)


def find_missing(stated: Iterable[Stated], expected: Iterable[str]) -> Iterator[Accounted]:
    """Name the expected texts that no line and no event has (3)."""
    known = {name for one in stated for name in (_words(one.text), _words(f"{one.key}: {one.text}"))}
    for text in dict.fromkeys(map(_words, expected)):
        if text and text not in known and not any(one.startswith(f"{text} (") for one in known):
            yield Accounted("", "expected", text, How.UNACCOUNTED, "nowhere")


def _words(text: str) -> str:
    return " ".join(text.split())
