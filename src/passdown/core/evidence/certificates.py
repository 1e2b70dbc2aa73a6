"""Certificates: every fact that was ever stated, and its outcome, to show whether anything was lost.

1. Each journal and the event log are traced on their own, line by line and event by event: a fact holds until
   a named line or event replaces, answers or retracts it (`core.fold`).
2. A fact that holds must be in the brief, or be shown by a named command.
3. Losses are: a gap in the line numbers of a journal; a fact that an event covers but no event contains; an
   expected text that is found nowhere; and a fact that an event hides only because of its date.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from passdown.core.digests import sha256
from passdown.core.facts import ADD, Fact, has_result, identify, make_key, may_leave, show_fact, tell
from passdown.core.fold import fold
from passdown.core.formats.journal import JournalLine, facts_of, put_in_order
from passdown.core.ids import FactId
from passdown.core.kinds import STATING, FactKind, Merging, kind_of
from passdown.core.merge.event_facts import ID_SIZE, EventFacts, all_retracted, is_retracted
from passdown.core.merge.merge import in_said_order, order_events
from passdown.core.times import render_seconds
from passdown.records import record

_PUBLISHED: Final = frozenset(
    kind for kind in FactKind if kind.told.row.brief_class and kind.row.merging is not Merging.STEPS
)


class FactStatus(StrEnum):
    """The outcome of a fact."""

    IN_BRIEF = "in-brief"
    BY_COMMAND = "by-command"
    RETIRED = "retired"
    HIDDEN = "hidden"
    UNACCOUNTED = "unaccounted"


class StatedFact(NamedTuple):
    """One statement of a fact."""

    fact: Fact
    where: str
    """The line or event that states it."""
    journal: str = ""
    """The session whose journal has it; empty for an event."""
    retired_by: str = ""
    """The line or event that replaced or retracted it."""
    taker: Fact | None = None
    """The fact in that line or event."""
    document: str = ""
    """The author or name of the document that has it; empty for a line or an event."""


class CertifiedFact(NamedTuple):
    """A fact, its outcome, and where that can be seen."""

    id: FactId | str
    kind: str
    text: str
    how: FactStatus
    where: str


@record
class Certificate:
    """The outcome of every fact."""

    facts: Annotated[tuple[CertifiedFact, ...], "Every fact, ordered by id."]
    losses: Annotated[
        tuple[CertifiedFact, ...], "Facts that are unaccounted for, or hidden by an event."
    ] = ()
    replaced: Annotated[tuple[CertifiedFact, ...], "Facts of the session that others replaced."] = ()
    contested: Annotated[
        tuple[tuple[Fact, ...], ...], "Decisions of one key that were made without knowing of each other."
    ] = ()

    @property
    def root(self) -> str:
        """The hash of all sorted ids: two machines that know the same facts have the same root."""
        return sha256("\n".join(str(one.id) for one in self.facts).encode()).hexdigest()

    def count(self, how: FactStatus) -> int:
        """Count the facts with an outcome."""
        return sum(one.how is how for one in self.facts)


# --- journals and events --------------------------------------------------------------------------


def trace_journal(session: str, lines: Sequence[JournalLine]) -> Sequence[StatedFact]:
    """Trace a journal (1); a duplicate line counts once."""
    facts = facts_of(session, put_in_order([*lines]))
    stated = _trace(facts, lambda fact: f"{session} line {fact.seq}", session)
    return [one._replace(journal=session) for one in stated]


def trace_events(sources: Iterable[EventFacts]) -> Sequence[StatedFact]:
    """Trace events in the order of their ranks (1); a duplicate event counts once."""
    unique = {source.rank.hash: source for source in sources}
    names = {digest: f"event {source.rank.id}" for digest, source in unique.items()}
    retracted = all_retracted(unique.values())
    by = {name: source.rank.id for source in unique.values() for name in source.retracted}
    stated: list[StatedFact] = []
    for source in sorted(unique.values(), key=lambda one: one.rank):
        if is_retracted(source.rank, retracted):
            name = by.get(source.rank.id) or by[source.rank.hash[:ID_SIZE]]
            own = _trace(source.facts, lambda fact: names[fact.event])
            stated += [one._replace(retired_by=f"event {name}", taker=None) for one in own]
    heard = order_events(unique.values()).heard
    return [*stated, *_trace(in_said_order(heard), lambda fact: names[fact.event])]


def trace_documents(facts: Iterable[Fact]) -> Sequence[StatedFact]:
    """Trace documents of other tools that the brief used and no event contains (1)."""
    kept = [step for fact in facts for step in _single(fact) if fact.kind in STATING]
    return [StatedFact(fact, fact.agent, document=fact.agent) for fact in kept]


def _trace(facts: Iterable[Fact], name: Callable[[Fact], str], own: str = "") -> Sequence[StatedFact]:
    """Fold facts, and name what replaced or retracted each of them."""
    single = [step for fact in facts for step in _single(fact)]
    ended: dict[Fact, Fact] = {}
    folded = fold(single, ended.__setitem__, own)
    holding = {fact for table in folded.tables.values() for fact in table.values()}
    holding |= {one.fact for statements in folded.statements.values() for one in statements}
    return [
        StatedFact(fact, name(fact))
        if fact in holding
        else StatedFact(fact, name(fact), retired_by=name(ended.get(fact, fact)), taker=ended.get(fact, fact))
        for fact in dict.fromkeys(single)
        if fact.kind in STATING and (fact.steps or fact.kind != FactKind.NEXT)
    ]


def _single(fact: Fact) -> Iterator[Fact]:
    """Split a list of next steps: each step is a fact."""
    if fact.kind != FactKind.NEXT:
        yield fact
        return
    if not fact.steps:  # an empty list clears the one before
        yield fact
    for number, step in enumerate(fact.steps):
        yield fact._replace(text=step, key=ADD if number else fact.key)


# --- the outcome of each fact ----------------------------------------------------------------------


class VisibleFacts(NamedTuple):
    """The facts that can be seen: in the brief, in the account of each session, and in the view's lists."""

    brief: frozenset[str]
    accounts: Mapping[str, frozenset[str]]
    listed: frozenset[str]


_ORDER: Final = (FactStatus.IN_BRIEF, FactStatus.BY_COMMAND, FactStatus.UNACCOUNTED, FactStatus.RETIRED)


def judge(
    stated: Iterable[StatedFact], reach: VisibleFacts, losses: Iterable[CertifiedFact] = ()
) -> Certificate:
    """Determine the outcome of every fact (2); if one was stated several times, the best outcome counts."""
    found: dict[str, CertifiedFact] = {}
    for one in stated:
        answer = _judge(one, reach)
        known = found.get(answer.id)
        if known is None or _ORDER.index(answer.how) < _ORDER.index(known.how):
            found[answer.id] = answer
    facts = tuple(found[name] for name in sorted(found))
    lost = tuple(one for one in facts if one.how is FactStatus.UNACCOUNTED)
    return Certificate(facts=facts, losses=(*lost, *losses))


def _judge(one: StatedFact, reach: VisibleFacts) -> CertifiedFact:
    fact, name = one.fact, one.fact.id
    kind = kind_of(fact.kind)
    if one.retired_by:
        how, where = FactStatus.RETIRED, one.retired_by
    elif name in reach.brief:
        how, where = FactStatus.IN_BRIEF, "passdown brief"
    elif one.document:
        how, where = FactStatus.BY_COMMAND, f"the document of {one.document}; `passdown brief --json`"
    elif one.journal and name in reach.accounts.get(one.journal, frozenset()):
        how, where = FactStatus.BY_COMMAND, f"passdown brief --session {one.journal} --json"
    elif not one.journal and name in reach.listed:
        how, where = FactStatus.BY_COMMAND, f"passdown view list {kind.row.plural if kind else fact.kind}"
    else:
        how, where = FactStatus.UNACCOUNTED, one.where
    return CertifiedFact(name, fact.kind, show_fact(fact), how, where)


def find_gaps(session: str, lines: Iterable[JournalLine]) -> Iterator[CertifiedFact]:
    """Yield the missing lines of a journal (3)."""
    numbers = {line.seq for line in lines}
    for number in range(1, max(numbers, default=0)):
        if number not in numbers:
            yield CertifiedFact(
                "", "line", f"line {number} of {session} is missing", FactStatus.UNACCOUNTED, session
            )


def find_unpublished(
    stated: Iterable[StatedFact], covered: Mapping[str, int], events: Iterable[StatedFact]
) -> Iterator[CertifiedFact]:
    """Yield facts that hold in a journal and are covered by an event, but that no event contains (3)."""
    published = {_public_name(one.fact) for one in events}
    for one in stated:
        fact = one.fact
        is_covered = fact.seq <= covered.get(one.journal, 0) and not one.retired_by
        if (
            is_covered
            and fact.kind in _PUBLISHED
            and may_leave(fact)
            and has_result(fact)
            and _public_name(tell(fact)) not in published
        ):
            what = f"{fact.text} (an event covers it, no event contains it)"
            yield CertifiedFact(fact.id, fact.kind, what, FactStatus.UNACCOUNTED, one.where)


def _public_name(fact: Fact) -> tuple[str, str]:
    return fact.kind, identify(fact) or make_key(fact.text)


def find_hidden(
    events: Iterable[StatedFact], until: datetime, dates: Mapping[str, datetime]
) -> Iterator[CertifiedFact]:
    """Yield facts that an event hides only because it is dated ahead (3); `dates` has the events' stamps."""
    for one in events:
        if one.taker is not None and one.fact.at <= until < one.taker.at:
            yield _replaced(one, one.taker, dates, FactStatus.HIDDEN)


def find_replaced(
    journal: Iterable[StatedFact], events: Iterable[StatedFact], session: str, dates: Mapping[str, datetime]
) -> Iterator[CertifiedFact]:
    """Yield facts that hold in a session's journal, but that another session's event replaced."""
    told = [tell(one.fact) for one in journal if not one.retired_by]
    held = {(*_public_name(fact), fact.text) for fact in told}
    for one in events:
        taker = one.taker
        if taker is None or one.fact.session != session or taker.session == session:
            continue
        if one.fact.kind in _PUBLISHED and (*_public_name(one.fact), one.fact.text) in held:
            yield _replaced(one, taker, dates, FactStatus.RETIRED)


def _replaced(one: StatedFact, taker: Fact, dates: Mapping[str, datetime], how: FactStatus) -> CertifiedFact:
    name, at = taker.event_id, render_seconds(dates[taker.event])
    where = f"event {name} of {taker.agent}, dated {at}; `passdown log retract {name}` undoes it"
    return CertifiedFact(one.fact.id, one.fact.kind, show_fact(one.fact), how, where)


def find_missing(stated: Iterable[StatedFact], expected: Iterable[str]) -> Iterator[CertifiedFact]:
    """Yield the expected texts that no line and no event contains (3)."""
    facts = [one.fact for one in stated]
    known = {name for one in facts for name in (_words(one.text), _words(f"{one.key}: {one.text}"))}
    for text in dict.fromkeys(map(_words, expected)):
        if text and text not in known and not any(one.startswith(f"{text} (") for one in known):
            yield CertifiedFact("", "expected", text, FactStatus.UNACCOUNTED, "nowhere")


def _words(text: str) -> str:
    return " ".join(text.split())
