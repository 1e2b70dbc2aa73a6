"""The event: an immutable batch of facts that one session publishes (S2, R96 to R118, C55 to C57, C63).

Front matter and body are entries of our YAML subset. A key is read from either part; an event with only the
seed's keys is complete. Nothing in an event prevents it from being read: a value that is invalid for its key
stays in `unknown`, with a problem that names its line.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Final, cast

from passdown.core.documents.conflicts import conflict_problems
from passdown.core.documents.documents import front_problems, refuse_unreadable
from passdown.core.documents.fields import read_choice, read_count, read_instant, write_on_line
from passdown.core.documents.frontmatter import (
    FrontMatterEntry,
    LineCounter,
    line_at,
    make_entry,
    plain_parts,
    raw_entry,
    read_pairs,
    read_plain_texts,
    read_records,
    read_text,
    read_texts,
    split_entries,
    split_front_matter,
    write_map,
    write_records,
    write_text,
    write_texts,
)
from passdown.core.documents.key_value import Pair
from passdown.core.documents.scalars import NULLS, OPENING, read_scalar, refuse_unclosed, write_scalar
from passdown.core.facts import GateStatus
from passdown.core.kinds import FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.phases import PhaseState, read_state
from passdown.core.problems import Malformed, Problem, Unknown, error, warning
from passdown.core.times import render_millis
from passdown.records import field, record

VERSION: Final = 1
MAX_CHARS: Final = 65_536
EntryReader = Callable[[FrontMatterEntry], object]
FRONT: Final = "front matter"
BODY: Final = "body"


@record
class EventCheckpoint:
    """A point of progress from which work can resume."""

    phase: Annotated[int | None, "The phase's number."] = None
    status: Annotated[PhaseState | None, "Its progress."] = None
    updated: Annotated[datetime | None, "When it reached that state."] = None
    name: Annotated[str | None, "The phase's name."] = None
    agent: Annotated[str | None, "The agent that works on it."] = None
    task: Annotated[str | None, "The task it belongs to."] = None
    others: Annotated[tuple[Pair, ...], "Further keys, and keys with invalid values."] = ()


@record
class EventGate:
    """The result of a validation gate."""

    gate: Annotated[str | None, "The gate's name."] = None
    status: Annotated[GateStatus | None, "How it ended."] = None
    track: Annotated[str | None, "The track that it belongs to."] = None
    at: Annotated[datetime | None, "When it ended."] = None
    notes: Annotated[str | None, "What was found."] = None
    others: Annotated[tuple[Pair, ...], "Further keys, and keys with invalid values."] = ()


@record
class Event:
    """One immutable batch of facts that a session published."""

    ts: Annotated[datetime | None, "When it was written, by the hybrid clock; events are ordered by it."] = (
        None
    )
    agent: Annotated[str | None, "The agent that wrote it; breaks ties of `ts`."] = None
    branch: Annotated[str | None, "The git branch; `unknown` if detached."] = None
    type: Annotated[str | None, "What caused it: session_end, checkpoint, handoff, …"] = None
    reason: Annotated[str | None, "Why: clear, compact, recovered, …"] = None
    id: Annotated[str | None, "The event's id."] = None
    session: Annotated[str | None, "The session that wrote it."] = None
    track: Annotated[str | None, "The track it belongs to."] = None
    stream: Annotated[str | None, "The stream it belongs to."] = None
    covers: Annotated[str | None, "The journal lines that it publishes, as `first-last`."] = None
    goal: Annotated[str | None, "What the session should achieve; the newest wins."] = None
    now: Annotated[str | None, "The current step; the newest wins."] = None
    next: Annotated[tuple[str, ...] | None, "The next steps; the newest list wins."] = None
    this_session: Annotated[tuple[str, ...], "Finished work; the union over all events."] = ()
    decisions: Annotated[tuple[Pair, ...], "Decisions by key; the newest of each key wins."] = ()
    checkpoints: Annotated[tuple[EventCheckpoint, ...], "Points of progress, by time."] = ()
    gates: Annotated[tuple[EventGate, ...], "Results of gates; the last of each gate and track counts."] = ()
    open_questions: Annotated[tuple[str, ...], "Open questions; the union over all events."] = ()
    answers: Annotated[tuple[Pair, ...], "Answers by question or feedback; the newest of each wins."] = ()
    constraints: Annotated[tuple[str, ...], "What is ruled out or must hold."] = ()
    receipts: Annotated[
        tuple[str, ...], "What was done once and must not be repeated, test results, and commits."
    ] = ()
    feedback: Annotated[tuple[str, ...], "What the user said."] = ()
    files_modified: Annotated[tuple[str, ...], "Changed files, relative to the project."] = ()
    provenance: Annotated[tuple[Pair, ...], "Fact id to observed or verified; older than `origins`."] = ()
    resolved_questions: Annotated[tuple[str, ...], "Questions that are answered."] = ()
    answered_feedback: Annotated[tuple[str, ...], "Feedback that is answered or retracted."] = ()
    retracted_now: Annotated[tuple[str, ...], "Steps that are no longer the current one."] = ()
    retracted_done: Annotated[tuple[str, ...], "Work that turned out not to be done."] = ()
    retracted_decisions: Annotated[tuple[str, ...], "Keys of retracted decisions."] = ()
    retracted_constraints: Annotated[tuple[str, ...], "Constraints that no longer hold."] = ()
    retracted_receipts: Annotated[tuple[str, ...], "Receipts and test results that no longer count."] = ()
    retracted_events: Annotated[tuple[str, ...], "Ids of events to ignore, whatever their `ts`."] = ()
    origins: Annotated[tuple[Pair, ...], "The origin of each fact, by the key that holds it."] = ()
    after: Annotated[tuple[str, ...], "The last events that the author had read."] = ()
    ahead: Annotated[tuple[str, ...], "Those of `after` that are dated too far ahead to follow."] = ()
    more: Annotated[tuple[tuple[str, tuple[str, ...]], ...], "Facts of further kinds, by their keys."] = ()
    unknown: Annotated[tuple[Unknown, ...], "Text that no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


_make_event: Final = cast("Callable[..., Event]", Event)


def _read_instant(entry: FrontMatterEntry) -> datetime | None:
    text = read_text(entry)
    return None if text is None else read_instant(text)


def _read_register(entry: FrontMatterEntry) -> str | None:
    """Read a goal or now; an unreadable one must not replace a readable one (C63)."""
    refuse_unclosed(f"{entry.head}\n{entry.rest}".strip())
    return read_text(entry)


def _read_steps(entry: FrontMatterEntry) -> tuple[str, ...]:
    """Read next steps; a list with an unreadable step must not replace a readable list (C63)."""
    first, *items = _STEP.split(f"\n{entry.rest}")
    for text in (f"{entry.head}{first}", *items):
        refuse_unclosed(text.strip())
    return read_texts(entry)


_STEP: Final = pattern(r"\n[ \t]*- ")


def _read_pairs(entry: FrontMatterEntry) -> tuple[Pair, ...]:
    return tuple([Pair(key=key, value=value) for key, value in read_pairs(entry)])


_make_checkpoint: Final = cast("Callable[..., EventCheckpoint]", EventCheckpoint)
_CHECKPOINT_READERS: Final[Mapping[str, Callable[[str], object]]] = MappingProxyType(
    {
        "phase": read_count,
        "status": read_state,
        "updated": read_instant,
        "name": str,
        "agent": str,
        "task": str,
    }
)


def _read_checkpoints(entry: FrontMatterEntry) -> tuple[EventCheckpoint, ...]:
    records = read_records(entry)
    return tuple([_make_checkpoint(**_read_record(one, _CHECKPOINT_READERS)) for one in records])


_make_gate: Final = cast("Callable[..., EventGate]", EventGate)


def read_gate_status(text: str) -> GateStatus:
    """Read the result of a gate, in any case, with or without its icon."""
    return read_choice(text.rsplit(maxsplit=1)[-1] if text.split() else "", GateStatus)


_GATE_READERS: Final[Mapping[str, Callable[[str], object]]] = MappingProxyType(
    {"gate": str, "status": read_gate_status, "track": str, "at": read_instant, "notes": str}
)


def _read_gates(entry: FrontMatterEntry) -> tuple[EventGate, ...]:
    return tuple([_make_gate(**_read_record(one, _GATE_READERS)) for one in read_records(entry)])


def _read_record(
    record: tuple[tuple[str, str], ...], readers: Mapping[str, Callable[[str], object]]
) -> dict[str, object]:
    """Read the keys of a record; `others` are unknown keys, and keys with invalid values."""
    values, others = dict[str, object](), list[Pair]()
    for key, text in record:
        reader = readers.get(key)
        if reader is None or key in values:
            others.append(Pair(key=key, value=text))
            continue
        try:
            values[key] = reader(text)
        except Malformed:
            others.append(Pair(key=key, value=text))
    return {**values, "others": tuple(others)} if others else values


_BY_TYPE: Final[Mapping[object, EntryReader]] = MappingProxyType(
    {
        datetime | None: _read_instant,
        str | None: read_text,
        tuple[str, ...]: read_texts,
        tuple[str, ...] | None: read_texts,
        tuple[Pair, ...]: _read_pairs,
        tuple[EventCheckpoint, ...]: _read_checkpoints,
        tuple[EventGate, ...]: _read_gates,
    }
)
_BY_NAME: Final[Mapping[str, EntryReader]] = MappingProxyType(
    {"goal": _read_register, "now": _read_register, "next": _read_steps}
)
_PLAIN: Final[Mapping[EntryReader, EntryReader]] = MappingProxyType(
    {_read_register: read_text, _read_steps: read_texts}
)
"""The reader of such a key if nothing in it has to be closed, as in nearly all events."""
_KEYS: Final[Mapping[str, EntryReader]] = MappingProxyType(
    {
        name: _BY_NAME.get(name) or _BY_TYPE[hint.__origin__]
        for name, hint in Event.__annotations__.items()
        if name not in {"more", "unknown", "problems", "source"}
    }
)
"""The fields of an event that are keys, each with its reader, chosen by its name or type."""
_FURTHER: Final = tuple(
    key
    for kind in FactKind
    for key in (kind.row.event_key, kind.row.retraction_key)
    if key not in {"", *_KEYS}
)
"""Keys of kinds without a field of their own."""
_READERS: Final = MappingProxyType({**_KEYS, **dict.fromkeys(_FURTHER, read_texts)})
_SHAPES: Final[Mapping[str, EntryReader]] = MappingProxyType(
    {
        **_READERS,
        "ts": read_text,
        "decisions": read_pairs,
        "answers": read_pairs,
        "provenance": read_pairs,
        "origins": read_pairs,
        "checkpoints": read_records,
        "gates": read_records,
    }
)


_COMPLETE: Final = frozenset({"ts", "agent", "branch", "type", "reason"})


def read_event(text: str) -> dict[str, object]:
    """Read an event's keys without checking them: texts, lists of texts, pairs and records.

    This is the fast path for callers that fold many events. Unknown keys are skipped, and values that cannot
    be read raise `Malformed`. `parse_event` keeps everything.
    """
    refuse_unreadable(text, None, 0, "event")
    split = split_front_matter(text)
    values: dict[str, object] = {}
    for part in (split.matter, split.body):
        _fill(values, part, _SHAPES)
    return values


def _fill(values: dict[str, object], part: str, readers: Mapping[str, EntryReader]) -> bool:
    """Read the entries of a part; return whether it holds nothing else and each key is known and unique."""
    parts = plain_parts(part)
    for key, head, below in _careful_parts(part) if parts is None else parts:
        reader = readers.get(key)
        if reader is None or key in values:
            parts = None
            continue
        bare = head.strip()
        if reader in _PLAIN:
            reader = _choose_reader(reader, bare, below)
        if reader is read_text and not any(below):
            values[key] = bare if bare[:1].isalpha() and bare not in NULLS else read_scalar(bare)
            continue
        texts = read_plain_texts(below) if reader is read_texts and not bare else None
        values[key] = reader(make_entry((key, bare, "\n".join(below), 0, 0))) if texts is None else texts
    return parts is not None


def _careful_parts(part: str) -> Iterator[tuple[str, str, list[str]]]:
    return ((entry.key, entry.head, entry.rest.split("\n")) for entry in split_entries(part)[0])


def _choose_reader(reader: EntryReader, head: str, below: Iterable[str]) -> EntryReader:
    """Return the faster reader of a register if nothing in it opens with something that it must close."""
    opens = head[:1] in OPENING or any(line.lstrip("- \t")[:1] in OPENING for line in below)
    return reader if opens else _PLAIN[reader]


def parse_event(text: str) -> Event:
    """Read an event without losing anything; `problems` lists what is wrong.

    Raises `FormatError` if the text is too large or newer than this reader.
    """
    refuse_unreadable(text, None, 0, "event")
    return _parse_plain(text) or _parse_with_care(text)


def _parse_plain(text: str) -> Event | None:
    """Read an event in which every line belongs to a known key, as in nearly all; otherwise return None."""
    split = split_front_matter(text)
    if len(text) > MAX_CHARS or split.opening != "---\n" or not split.closing:
        return None
    values: dict[str, object] = {}
    try:
        whole = _fill(values, split.matter, _READERS) and _fill(values, split.body, _READERS)
    except Malformed:
        return None
    if not whole or not values.keys() >= _COMPLETE or None in (values["ts"], values["agent"]):
        return None
    event = _make_event(**_gather(values), source=text)
    is_odd = any(one.others for one in event.checkpoints) or any(one.others for one in event.gates)
    return None if is_odd else event


def _gather(values: dict[str, object]) -> dict[str, object]:
    """Move the keys of further kinds into one field."""
    more = tuple((name, values.pop(name)) for name in _FURTHER if name in values)
    return {**values, "more": more} if more else values


def _parse_with_care(text: str) -> Event:
    split = split_front_matter(text)
    lines = LineCounter(text)
    values: dict[str, object] = {}
    unknown: list[Unknown] = []
    problems: list[Problem] = []
    parts = ((split.matter, len(split.opening), FRONT), (split.body, len(text) - len(split.body), BODY))
    for part, offset, place in parts:
        entries, strays = split_entries(part)
        kept = [(stray.start, stray.text) for stray in strays]
        for entry in entries:
            try:
                _take(entry, values)
            except Malformed as found:
                kept.append((entry.start, raw_entry(part, entry).rstrip()))
                if found.problem:
                    line = lines.at(offset + entry.start)
                    problems.append(error(line, entry.key, found.problem, found.hint))
        for stray in strays:
            if not stray.text.startswith("#"):
                first, *more = stray.text.strip().split("\n")
                rest = f" and {len(more)} more" if more else ""
                shown = f"has a line that is not `key: value`: {first[:60]}{rest}"
                problems.append(warning(lines.at(offset + stray.start), place, shown))
        unknown += [Unknown(place=place, text=kept_text) for _, kept_text in sorted(kept)]
    problems += _judge(text, values, {one.field for one in problems})
    problems = [*conflict_problems(text), *problems]
    if not (split.closing and split.opening == "---\n"):
        problems += front_problems(text, split.opening, split.closing)
    problems.sort(key=lambda problem: problem.line)
    return _make_event(**_gather(values), unknown=tuple(unknown), problems=tuple(problems), source=text)


def _take(entry: FrontMatterEntry, values: dict[str, object]) -> None:
    """Read a known key; raise `Malformed` for anything else, with an empty problem if it is only unknown."""
    reader = _READERS.get(entry.key)
    if reader is None:
        if entry.key == "format" and entry.head.isascii() and entry.head.isdigit():
            refuse_unreadable("", int(entry.head[:9]), VERSION, "event")
        raise Malformed("")
    if entry.key in values:
        raise Malformed("appears twice; the first one counts", "keep one")
    values[entry.key] = reader(entry)


def _judge(text: str, values: Mapping[str, object], malformed: set[str]) -> Iterator[Problem]:
    """Find missing keys, invalid records, and events that are too large."""
    for name in ("ts", "agent"):
        if values.get(name) is None and name not in malformed:
            yield error(1, name, "is missing", "the file name may still contain it")
    for name in ("branch", "type", "reason"):
        if name not in values:
            yield warning(1, name, "is missing")
    yield from _judge_records(text, "checkpoints", values, _CHECKPOINT_READERS)
    yield from _judge_records(text, "gates", values, _GATE_READERS)
    if len(text) > MAX_CHARS and values.get("type") != "rollup":
        yield error(1, "event", f"is over {MAX_CHARS} characters", "publish it in smaller parts")


def _judge_records(
    text: str, name: str, values: Mapping[str, object], readers: Mapping[str, Callable[[str], object]]
) -> Iterator[Problem]:
    """Find invalid values in records."""
    for one in cast("tuple[EventCheckpoint | EventGate, ...]", values.get(name, ())):
        for pair in one.others:
            if pair.key in readers:
                line = line_at(text, text.find(f"\n{name}:") + 1)
                yield warning(line, f"{name}/{pair.key}", f"is not a valid value: {pair.value[:40]}")


def render_event(event: Event) -> str:
    """Write an event; one that was read is returned unchanged, because events never change."""
    if event.source is not None:
        return event.source
    front = "".join(_write_front(event)) + _kept(event, FRONT)
    body = "\n".join([*_write_body(event), *([_kept(event, BODY)] if _kept(event, BODY) else [])])
    return f"---\n{front}---\n\n{body}" if body else f"---\n{front}---\n"


def _kept(event: Event, place: str) -> str:
    return "".join(f"{one.text}\n" for one in event.unknown if one.place == place)


def _write_front(event: Event) -> Iterator[str]:
    yield f"ts: {render_millis(event.ts)}\n" if event.ts else ""
    for name in ("agent", "branch", "type", "reason", "id", "session", "track", "stream", "covers"):
        text = cast("str | None", getattr(event, name))
        yield write_text(name, text) if text is not None else ""


def _write_body(event: Event) -> Iterator[str]:
    for name in ("goal", "now"):
        text = cast("str | None", getattr(event, name))
        if text is not None:
            yield write_text(name, text)
    if event.next is not None:
        yield write_texts("next", event.next)
    for name, texts in event.more:
        yield write_texts(name, texts)
    records = {
        "checkpoints": [_write_record(one, _CHECKPOINT_READERS) for one in event.checkpoints],
        "gates": [_write_record(one, _GATE_READERS) for one in event.gates],
    }
    for name, reader in _KEYS.items():
        value = cast("tuple[object, ...] | str | None", getattr(event, name))
        if records.get(name):
            yield write_records(name, records[name])
        elif reader is _read_pairs and value:
            yield write_map(name, ((one.key, one.value) for one in cast("tuple[Pair, ...]", value)))
        elif reader is read_texts and name != "next" and value:
            yield write_texts(name, cast("tuple[str, ...]", value))


def _write_record(one: EventCheckpoint | EventGate, names: Iterable[str]) -> list[tuple[str, str]]:
    known = [(name, cast("object", getattr(one, name))) for name in names]
    written = [(name, write_on_line(value)) for name, value in known if value is not None]
    return [*written, *((write_scalar(pair.key), write_scalar(pair.value)) for pair in one.others)]
