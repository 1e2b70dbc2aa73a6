"""Make the event that publishes the journal lines of a session that no event covers yet (C57, C61).

1. The event contains the last goal, now and list of next steps of those lines.
2. It contains what they state and do not retract again.
3. It contains what they retract or answer, even if that was stated before them. A decision, or its
   retraction, also replaces what earlier lines under its key replaced: of several statements, an event
   contains only the last (C162).
4. Prompts, private notes, plans, read files and commands stay on the machine, and so does a goal or now that
   is a prompt. The only commands that are published are tests, with their exit codes.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from passdown.core.documents.fields import read_count
from passdown.core.documents.key_value import Pair
from passdown.core.facts import (
    FAILURE,
    PASSING,
    RETRIES,
    STREAM,
    TESTED,
    TESTS,
    Fact,
    GateStatus,
    command_of,
    has_result,
    identify,
    identify_retracted,
    is_about,
    make_key,
    read_phase,
    share,
    tell,
)
from passdown.core.fold import ANSWERED
from passdown.core.formats.events import Event, EventCheckpoint, EventGate
from passdown.core.formats.journal import SESSION_END, JournalLine, PublishedExtent, facts_of
from passdown.core.formats.origins import render_origins
from passdown.core.kinds import FactKind, Merging
from passdown.core.phases import read_state
from passdown.core.problems import Malformed
from passdown.core.sessions.session_facts import Account, fold_journal, only_shared, read_ahead
from passdown.core.sessions.unpublished import TAKEN_BACK, open_lines, own_lines
from passdown.core.statements import list_replaced, read_carried, with_replaced
from passdown.records import names_of, replace

Told = Mapping[str, Sequence[Fact]]
"""The facts of an event, by its keys."""

_DECISIONS: Final = FactKind.DECISION.row
_FIELDS: Final = frozenset(names_of(Event))


def make_event(
    account: Account, lines: Sequence[JournalLine], published: PublishedExtent, *, kind: str, reason: str
) -> Event | None:
    """Make the event that publishes the open lines; return None if there are none.

    The account only identifies the session. Facts come from the lines alone: a line that was written after
    the account was read is covered, so it must be in the event. What the session says now comes after its
    last event, whatever its clock says.

    The end of a session is an event even if nothing is open, unless its last event was its end (R105). A
    session without facts of its own has no event (C163).
    """
    covered, wanted = published.line, open_lines(lines, published.line)
    if kind == SESSION_END and not published.last and not own_lines(account.session, lines):
        return None
    if not wanted and (kind != SESSION_END or published.last in {"", SESSION_END}):
        return None
    # Published lines are folded too: an observation does not replace what was stated before.
    whole = only_shared(fold_journal(account.session, lines))
    told = _in_own_order(_join_replaced(_tell(whole, wanted, covered), wanted), whole.session, published.at)
    values = {key: _write(key, facts, whole.task) for key, facts in told.items()}
    newest = max(line.seq for line in lines)
    # The events dated ahead that the session knew of when it wrote the last open line.
    last = max((line.seq for line in wanted), default=newest)
    told_of = (line.fact for line in lines if covered < line.seq < last)
    signs = (fact for fact in told_of if fact.kind == FactKind.HEARTBEAT)
    event = Event(
        agent=account.agent,
        branch=account.branch,
        type=kind,
        reason=reason,
        session=account.session,
        track=whole.track or None,
        covers=f"{covered + 1}-{newest}" if newest > covered else None,
        ahead=tuple(dict.fromkeys(name for fact in signs for name in read_ahead(fact))),
        origins=tuple(Pair(key=key, value=text) for key, text in render_origins(told.items(), account.agent)),
        more=tuple((key, _texts(facts)) for key, facts in told.items() if key not in _FIELDS),
    )
    return replace(event, **{key: value for key, value in values.items() if key in _FIELDS})


def _tell(whole: Account, wanted: Sequence[JournalLine], covered: int) -> Told:
    """Return the facts under each key, in the order in which they were said."""
    told: dict[str, list[Fact]] = {}
    for kind in FactKind:
        if not kind.row.event_key:
            continue
        if kind.row.merging is Merging.STEPS:
            found = _steps(kind, whole, wanted)
        else:
            found = tuple(fact for fact in _told_of(kind, whole) if fact.seq > covered)
        told.setdefault(kind.row.event_key, []).extend(map(tell, found))
    told |= _take_back(whole, wanted)
    return {key: sorted(facts, key=lambda fact: fact.seq) for key, facts in told.items() if facts}


def _join_replaced(told: Told, wanted: Iterable[JournalLine]) -> Told:
    """Add to each decision, and each retraction of one, what earlier lines under its key replaced (3)."""
    keys = (_DECISIONS.event_key, _DECISIONS.retraction_key)
    if not any(key in told for key in keys):
        return told
    said = [*facts_of("", wanted)]
    joined = {key: [_with_replaced(fact, said) for fact in told[key]] for key in keys if key in told}
    return {**told, **joined}


def _with_replaced(fact: Fact, said: Iterable[Fact]) -> Fact:
    if read_carried(fact):
        return fact
    name = identify_retracted(fact) if fact.kind == FactKind.RETRACTION else identify(fact)
    lines = [one for one in said if one.seq <= fact.seq and is_about(one, FactKind.DECISION, name)]
    replaced = [list_replaced(one) for one in lines if not read_carried(one)]
    names = None if None in replaced else [one for some in replaced for one in some or ()]
    return with_replaced(fact, names)


def _told_of(kind: FactKind, whole: Account) -> tuple[Fact, ...]:
    """Return the facts of a kind that are published."""
    found = tuple(filter(has_result, whole.of(kind)))
    if kind is not FactKind.GATE or not found:
        return found
    from passdown.core.sessions.track_gates import without_corrected  # few sessions have gates

    return without_corrected(whole)


def _steps(kind: FactKind, whole: Account, wanted: Iterable[JournalLine]) -> tuple[Fact, ...]:
    """Return the current list of next steps if a line changed it; only the newest list counts.

    If steps were removed last, the list ends with a fact without text that has the time of the removal.
    """
    changes = [
        fact
        for fact in facts_of(whole.session, wanted)
        if kind in {fact.kind, fact.key if fact.kind == FactKind.RETRACTION else ""}
    ]
    if not changes:
        return ()
    steps, last = whole.of(kind), changes[-1]
    is_told = any(fact.seq == last.seq for fact in steps)
    return steps if is_told else (*steps, last._replace(kind=kind.value, text="", key=""))


def _take_back(whole: Account, wanted: Sequence[JournalLine]) -> dict[str, list[Fact]]:
    """Return what was retracted or answered and not stated again (3)."""
    told: dict[str, dict[str, Fact]] = {}
    for line in facts_of(whole.session, wanted):
        # An event names the question that an answer answers.
        fact = line._replace(text=line.key) if line.kind == FactKind.ANSWER else line
        kind = _taken_back(fact)
        if kind is None or not kind.row.retraction_key or _holds(whole, fact, kind):
            continue
        shared = fact
        if kind is FactKind.RECEIPT and identify_retracted(fact) != make_key(fact.text):
            # Only the words of a test that may leave the machine are published (4).
            shared = share(fact._replace(kind=FactKind.TEST.value, text=command_of(fact.text)))
        told.setdefault(kind.row.retraction_key, {})[fact.text] = shared
    return {key: list(facts.values()) for key, facts in told.items()}


def _taken_back(fact: Fact) -> FactKind | None:
    """Return the kind of fact that a line retracts, if an event can retract that kind."""
    if fact.kind == FactKind.ANSWER:
        return FactKind.QUESTION if fact.text else None
    return FactKind(fact.key) if fact.kind == FactKind.RETRACTION and fact.key in TAKEN_BACK else None


def _holds(whole: Account, fact: Fact, kind: FactKind) -> bool:
    """Return whether a retracted fact was stated again afterwards."""
    if fact.kind == FactKind.ANSWER:
        asked = (one for kind in ANSWERED for one in whole.of(FactKind(kind)))
        return make_key(fact.text) in {make_key(one.text) for one in asked}
    if kind is FactKind.DECISION:
        return any(
            identify(one) == identify_retracted(fact) and one.seq > fact.seq and not read_carried(one)
            for one in whole.of(kind)
        )
    stated = (one for same in FactKind if same.told is kind for one in whole.of(same))
    return identify_retracted(fact) in {identify(one) for one in stated}


def _in_own_order(told: Told, session: str, since: datetime | None) -> Told:
    """Make the session's own facts never older than its earlier ones, whatever its clock did."""
    own = sorted(
        {fact.seq: fact.at for facts in told.values() for fact in facts if fact.session == session}.items()
    )
    times: dict[int, datetime] = {}
    for seq, at in own:
        since = times[seq] = at if since is None else max(at, since)
    return {
        key: [fact._replace(at=times[fact.seq]) if fact.session == session else fact for fact in facts]
        for key, facts in told.items()
    }


def _write(key: str, facts: Sequence[Fact], task: str) -> object:
    """Render the facts under a key in the form of its field."""
    if key in _REGISTERS:
        return facts[0].text
    if key == FactKind.NEXT.row.event_key:
        return tuple(fact.text for fact in facts if fact.text)
    if key in _MAPS:
        return tuple(Pair(key=fact.key, value=fact.text) for fact in facts)
    if key == FactKind.CHECKPOINT.row.event_key:
        return tuple(_checkpoint(fact, task) for fact in facts)
    if key == FactKind.GATE.row.event_key:
        return tuple(
            EventGate(
                gate=fact.key,
                status=GateStatus(fact.text),
                track=fact.track or None,
                at=fact.at,
                notes=fact.because or None,
            )
            for fact in facts
        )
    return _texts(facts)


def _texts(facts: Iterable[Fact]) -> tuple[str, ...]:
    return tuple(fact.text for fact in facts)


def _keys_of(merging: Merging) -> frozenset[str]:
    return frozenset(kind.row.event_key for kind in FactKind if kind.row.merging is merging)


_REGISTERS: Final = _keys_of(Merging.REGISTER)
_MAPS: Final = _keys_of(Merging.MAP)


_MORE: Final = frozenset({FAILURE, TESTED, TESTS, PASSING, RETRIES, STREAM})
"""The members of a checkpoint that an event keeps besides its phase."""


def _checkpoint(fact: Fact, task: str) -> EventCheckpoint:
    """Render a checkpoint; a phase that is not a number is left out."""
    phase, status, name = read_phase(fact)
    try:
        number: int | None = read_count(phase)
    except Malformed:
        number = None
    return EventCheckpoint(
        phase=number,
        status=read_state(status) if status else None,
        updated=fact.at,
        name=name or None,
        task=task or None,
        others=tuple(
            Pair(key=name, value=str(json.loads(value))) for name, value in fact.others if name in _MORE
        ),
    )
