"""One event as merging sees it: its rank among all events, and the facts it states or retracts.

It does not matter where an event comes from: a file, a rollup, another clone. It is identified by the hash of
its text, so the same event found twice is one event.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from passdown.core.digests import sha256
from passdown.core.documents.frontmatter import split_front_matter
from passdown.core.facts import STREAM, TASK, TRACK, Fact, Provenance, command_of
from passdown.core.formats.events import (
    Event,
    EventCheckpoint,
    EventGate,
    parse_event,
    read_event,
    read_gate_status,
)
from passdown.core.formats.origins import Origin, parse_origins
from passdown.core.ids import fact_id, kebab, parse_event_file_name
from passdown.core.json_text import dump
from passdown.core.kinds import MERGED, FactKind, Merging
from passdown.core.phases import read_state
from passdown.core.problems import Malformed, Severity
from passdown.core.times import parse_instant, too_far_ahead
from passdown.errors import FormatError

ID_SIZE: Final = 16

_LINE_DIGITS: Final = 15

Texts = tuple[str, ...]


class EventRank(NamedTuple):
    """The stamp of an event: time, agent, id, then hash. If clocks are plausible, it decides the order."""

    at: datetime
    agent: str
    id: str
    hash: str


class EventFacts(NamedTuple):
    """An event that takes part in merging; its facts are in the order in which they were said."""

    rank: EventRank
    facts: tuple[Fact, ...]
    retracted: Texts
    branch: str
    type: str
    session: str
    covered: int
    after: Texts
    ahead: Texts = ()
    track: str = ""
    """The track or stream it belongs to, in the form of a stream name; empty for none."""


_STATED: Final[Mapping[str, str]] = MappingProxyType(
    {kind.row.event_key or kind.value: kind.value for kind in MERGED}
)
_RETRACTED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        **{kind.row.retraction_key: (kind.value,) for kind in MERGED if kind.row.retraction_key},
        # An answer names either a question or a feedback.
        FactKind.QUESTION.row.retraction_key: (FactKind.QUESTION.value, FactKind.FEEDBACK.value),
    }
)


def parse_event_facts(data: bytes, name: str) -> EventFacts | None:
    """Read an event for merging; return None if it cannot be merged.

    It cannot if its time or its agent is unknown, or if it is empty (C160).

    1. Time and agent come from the front matter, else from the file's name (C63).
    2. A value that does not fit its key is malformed and ignored; the rest takes part.
    3. Line endings do not matter: a text and its CRLF form are the same event (C66).
    """
    if b"\r" in data:  # 3
        data = data.replace(b"\r\n", b"\n")
    try:
        text = data.decode("utf-8")
        values = _read_values(text)
    except (UnicodeDecodeError, FormatError):
        return None
    stated = cast("str | None", values.get("ts"))
    at = parse_instant(stated) if stated else None
    agent = cast("str | None", values.get("agent"))
    digest = sha256(data).hexdigest()
    if at is None or not agent:
        named = parse_event_file_name(name)
        if named is None:
            return None
        at, agent = at or named.at, agent or named.agent
        # Under another name it would be another event, so the name is part of its identity.
        digest = sha256(f"{digest}\n{at.isoformat()}\n{agent}".encode()).hexdigest()
    rank = EventRank(at, agent, cast("str | None", values.get("id")) or digest[:ID_SIZE], digest)
    source = _make_source(rank, values)
    return None if not (source.facts or source.retracted) and is_blank(text) else source


def is_blank(text: str) -> bool:
    """Return whether a text has no front matter; it is then an event only if it has a fact (C160)."""
    return not split_front_matter(text).matter.strip()


def _read_values(text: str) -> Mapping[str, object]:
    """Read the keys of an event: quickly if possible, fully if it has a version or a malformed value."""
    if "\nformat:" in text:
        return _values_of(parse_event(text))
    try:
        return read_event(text)
    except Malformed:
        return _values_of(parse_event(text))


def source_of(event: Event, rank: EventRank) -> EventFacts:
    """Return an event that was already parsed as merging sees it."""
    return _make_source(rank, _values_of(event))


def _values_of(event: Event) -> Mapping[str, object]:
    """Return the keys of an event as `read_event` would."""
    values: dict[str, object] = {
        name: getattr(event, name, None)
        for name in (*_STATED, *_RETRACTED, "retracted_events", "after", "ahead")
    }
    values |= dict(event.more)
    values["ts"] = event.ts.isoformat() if event.ts else None
    values |= {name: getattr(event, name) for name in _FRAME}
    for name in ("decisions", "answers", "provenance", "origins"):
        values[name] = tuple((pair.key, pair.value) for pair in getattr(event, name))
    values["checkpoints"] = tuple(_record_of(one) for one in event.checkpoints)
    values["gates"] = tuple(_gate_record_of(one) for one in event.gates)
    values[FactKind.MALFORMED.value] = tuple(_malformed(event))
    return values


_FRAME: Final = ("agent", "id", "branch", "type", "session", "covers", "track", "stream")


def _malformed(event: Event) -> Iterator[str]:
    """Yield the unreadable entries that state or retract facts, unchanged."""
    names = {one.field for one in event.problems if one.severity is Severity.ERROR}
    names &= {*_STATED, *_RETRACTED}
    return (one.text for one in event.unknown if one.text.partition(":")[0] in names)


def _record_of(one: EventCheckpoint) -> tuple[tuple[str, str], ...]:
    stated = {
        "phase": None if one.phase is None else str(one.phase),
        "status": one.status.value if one.status else None,
        "updated": one.updated.isoformat() if one.updated else None,
        "name": one.name,
        "agent": one.agent,
        "task": one.task,
    }
    return (*((pair.key, pair.value) for pair in one.others), *_present(stated))


def _gate_record_of(one: EventGate) -> tuple[tuple[str, str], ...]:
    stated = {
        "gate": one.gate,
        "status": one.status.value if one.status else None,
        "track": one.track,
        "at": one.at.isoformat() if one.at else None,
        "notes": one.notes,
    }
    return (*((pair.key, pair.value) for pair in one.others), *_present(stated))


def _present(values: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    return ((key, text) for key, text in values.items() if text is not None)


def _make_source(rank: EventRank, values: Mapping[str, object]) -> EventFacts:
    session = cast("str | None", values.get("session")) or ""
    return EventFacts(
        rank,
        _read_facts(rank, session, values),
        cast("Texts", values.get("retracted_events") or ()),
        cast("str | None", values.get("branch")) or "unknown",
        cast("str | None", values.get("type")) or "unknown",
        session,
        read_covered(cast("str | None", values.get("covers")) or ""),
        cast("Texts", values.get("after") or ()),
        cast("Texts", values.get("ahead") or ()),
        _track_of(values),
    )


def _track_of(values: Mapping[str, object]) -> str:
    name = cast("str | None", values.get("track") or values.get("stream"))
    return kebab(name) if name else ""


# --- facts ----------------------------------------------------------------------------------------


class _Frame(NamedTuple):
    """What the facts of an event have in common; a fact without an origin is as old as the event."""

    at: datetime
    agent: str
    session: str
    hash: str
    id: str


Origins = Sequence[Origin | None]
_new: Final = cast(
    "Callable[[type[Fact], tuple[object, ...]], Fact]", cast("type[object]", tuple).__new__
)  # many are made


def _read_facts(rank: EventRank, session: str, values: Mapping[str, object]) -> tuple[Fact, ...]:
    """Return the facts that an event states and retracts, in the order in which they were said.

    If that order is unknown, statements come before retractions, and what was done before the current step.
    """
    facts: list[Fact] = []
    void: list[Fact] = []
    frame = _Frame(rank.at, rank.agent, session, rank.hash, rank.id)
    told = values.get("origins")
    origins = parse_origins(cast("tuple[tuple[str, str], ...]", told)) if told else _NO_ORIGINS
    for name, value in values.items():
        reader = _READERS.get(name)
        if reader is not None and (value or value == ()):
            found = void if reader is _read_retractions else facts
            start = len(found)
            reader(found, name, value, frame)
            if told and name in origins:
                _date(found, start, origins[name], name, frame.at)
    if _is_done_first(values):
        facts.sort(key=_is_done)
    known = values.get("provenance")
    if known:
        facts = _mark(facts, dict(cast("tuple[tuple[str, str], ...]", known)))
    facts += void
    if told:
        facts.sort(key=_said_order)
    return tuple(facts)


_NO_ORIGINS: Final[Mapping[str, Origins]] = MappingProxyType({})


def _is_done_first(values: Mapping[str, object]) -> bool:
    """Return whether an event lists what is done before its current step."""
    return next((name == _DONE for name in values if name in {_NOW, _DONE}), False) and _NOW in values


def _is_done(fact: Fact) -> bool:
    return fact.kind == FactKind.DONE


def _said_order(fact: Fact) -> tuple[datetime, int]:
    return fact.at, fact.seq


def _date(found: list[Fact], start: int, origins: Origins, name: str, latest: datetime) -> None:
    """Set the origins of facts if the event has one for each of them; none is later than the event.

    A list of next steps is as old as its last change.
    """
    facts = found[start:]
    if facts and facts[0].kind == FactKind.NEXT:
        origins = [max(filter(None, origins), key=lambda origin: (origin.at, origin.seq), default=None)]
    copies = len(_RETRACTED.get(name, ("",)))  # an answer has one origin and retracts two kinds
    if copies * len(origins) != len(facts):
        return
    for number, fact in enumerate(facts):
        origin = origins[number // copies]
        if origin is not None:
            found[start + number] = fact._replace(
                at=min(origin.at, latest) if fact.kind != FactKind.CHECKPOINT else fact.at,
                agent=origin.agent or fact.agent,
                provenance=origin.provenance,
                commit=origin.commit,
                seq=origin.seq,
                others=origin.members if _has_members(fact) else fact.others,
            )


def _has_members(fact: Fact) -> bool:
    """Return whether a fact states or retracts a decision (C162), or is feedback, which names its readers."""
    return _DECISION in (fact.kind, fact.key) or fact.kind == FactKind.FEEDBACK


def _read_set(facts: list[Fact], name: str, value: object, frame: _Frame) -> None:
    kind, new, cls, stated = _STATED[name], _new, Fact, Provenance.STATED
    at, agent, session, digest, event = frame
    facts.extend(
        [
            new(cls, (kind, text, at, agent, "", "", stated, "", (), session, 0, digest, event, ""))
            for text in cast("Texts", value)
        ]
    )


def _read_register(facts: list[Fact], name: str, value: object, frame: _Frame) -> None:
    _read_set(facts, name, (value,), frame)


def _read_steps(facts: list[Fact], name: str, value: object, frame: _Frame) -> None:
    """Read a list of next steps as one fact, a line for each."""
    steps = (value,) if isinstance(value, str) else cast("Texts", value)
    _read_set(facts, name, ("\n".join(" ".join(step.split("\n")) for step in steps),), frame)


def _read_map(facts: list[Fact], name: str, value: object, frame: _Frame) -> None:
    kind, new, cls, stated = _STATED[name], _new, Fact, Provenance.STATED
    at, agent, session, digest, event = frame
    facts.extend(
        [
            new(cls, (kind, text, at, agent, key, "", stated, "", (), session, 0, digest, event, ""))
            for key, text in cast("tuple[tuple[str, str], ...]", value)
        ]
    )


def _read_checkpoints(facts: list[Fact], _name: str, value: object, frame: _Frame) -> None:
    records = cast("tuple[tuple[tuple[str, str], ...], ...]", value)
    facts.extend([_read_checkpoint(dict(record), frame) for record in records])


def _read_checkpoint(record: Mapping[str, str], frame: _Frame) -> Fact:
    """Read a checkpoint; without a time, or with one far ahead of its event's, it has the event's time.

    Without an agent, it belongs to the event's writer.
    """
    stated = record.get("updated")
    at = parse_instant(stated) if stated else None
    others = ((name, record.get(name, "")) for name in (TASK, STREAM))
    return Fact(
        _CHECKPOINT,
        _state_of(record.get("status", "")),
        frame.at if at is None or too_far_ahead(frame.at, at) else at,
        record.get("agent") or frame.agent,
        record.get("phase", ""),
        record.get("name", ""),
        others=tuple((name, dump(text)) for name, text in others if text),
        session=frame.session,
        event=frame.hash,
        event_id=frame.id,
    )


def _read_gates(facts: list[Fact], _name: str, value: object, frame: _Frame) -> None:
    records = cast("tuple[tuple[tuple[str, str], ...], ...]", value)
    facts.extend([_read_gate(dict(record), frame) for record in records])


def _read_gate(record: Mapping[str, str], frame: _Frame) -> Fact:
    """Read the result of a gate; without a time, or with a later one, it has the event's time."""
    stated, track = record.get("at"), record.get("track", "")
    at = parse_instant(stated) if stated else None
    return Fact(
        FactKind.GATE.value,
        _status_of(record.get("status", "")),
        frame.at if at is None else min(at, frame.at),
        frame.agent,
        record.get("gate", ""),
        record.get("notes", ""),
        others=((TRACK, dump(track)),) if track else (),
        session=frame.session,
        event=frame.hash,
        event_id=frame.id,
    )


def _status_of(text: str) -> str:
    try:
        return read_gate_status(text).value
    except Malformed:
        return text


def _state_of(text: str) -> str:
    try:
        return read_state(text).value
    except Malformed:
        return text


def _read_retractions(facts: list[Fact], name: str, value: object, frame: _Frame) -> None:
    at, agent = frame.at, frame.agent
    rest = ("", Provenance.STATED, "", (), frame.session, 0, frame.hash, frame.id, "")
    facts.extend(
        [
            _new(Fact, (_RETRACTION, text, at, agent, kind, *rest))
            for text in cast("Texts", value)
            for kind in _RETRACTED[name]
        ]
    )


_NOW: Final = FactKind.NOW.row.event_key
_DONE: Final = FactKind.DONE.row.event_key
_RETRACTION: Final = FactKind.RETRACTION.value
_DECISION: Final = FactKind.DECISION.value
_CHECKPOINT: Final = FactKind.CHECKPOINT.value
_BY_MERGING: Final[Mapping[Merging, Callable[[list[Fact], str, object, _Frame], None]]] = MappingProxyType(
    {
        Merging.REGISTER: _read_register,
        Merging.STEPS: _read_steps,
        Merging.SET: _read_set,
        Merging.MAP: _read_map,
        Merging.PHASES: _read_checkpoints,
    }
)
_READERS: Final = MappingProxyType(
    {
        **{name: _BY_MERGING[FactKind(kind).row.merging] for name, kind in _STATED.items()},
        FactKind.GATE.row.event_key: _read_gates,
        **dict.fromkeys(_RETRACTED, _read_retractions),
    }
)


def _mark(facts: Iterable[Fact], known: Mapping[str, str]) -> list[Fact]:
    """Set the provenance of facts from the older key `provenance`, by the ids of the facts."""
    marked: list[Fact] = []
    for fact in facts:
        kinds = [kind for kind in FactKind if kind.told == fact.kind]
        # The fact of a test is its command alone; an event also has its exit code.
        texts = dict.fromkeys((fact.text, command_of(fact.text)))
        names = [fact_id(kind, text) for kind in kinds for text in texts]
        value = next((known[name] for name in names if name in known), "")
        marked.append(fact._replace(provenance=Provenance(value)) if value in _PROVENANCES else fact)
    return marked


_PROVENANCES: Final = frozenset(Provenance)


def read_covered(covers: str) -> int:
    """Return the last journal line that an event publishes, from `first-last`; 0 if it names none."""
    last = covers.rpartition("-")[2]
    return int(last) if len(last) <= _LINE_DIGITS and last.isascii() and last.isdigit() else 0


def all_retracted(sources: Iterable[EventFacts]) -> frozenset[str]:
    """Return the names of the events that any event retracts, at any time, even if it is retracted itself."""
    return frozenset(name for source in sources for name in source.retracted)


def is_retracted(rank: EventRank, retracted: frozenset[str] | set[str]) -> bool:
    """Return whether an event was retracted, by its id or by the start of its hash."""
    return rank.id in retracted or rank.hash[:ID_SIZE] in retracted
