"""One event as merging sees it: its place in the order of all events, and the facts it states or takes back.

Where an event came from does not matter: a file, a rollup, another clone. Its identity is the hash of its
text, so the same event found twice is one event.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, cast, get_args

from passdown.core.checkpoints import read_state
from passdown.core.events import Event, EventCheckpoint, parse_event, read_event
from passdown.core.facts import make_key
from passdown.core.ids import parse_event_file_name
from passdown.core.problems import Malformed
from passdown.core.times import parse_instant
from passdown.errors import FormatError

ID_SIZE: Final = 16

_LINE_DIGITS: Final = 15

Value = str | tuple[str, ...]
Texts = tuple[str, ...]


Section = Literal[
    "goal",
    "now",
    "next",
    "this_session",
    "decisions",
    "constraints",
    "open_questions",
    "checkpoints",
    "receipts",
    "feedback",
]
"""What facts are merged into, named by the event key that states them; looked up often, so no enumeration."""

GOAL: Final = "goal"
NOW: Final = "now"
NEXT: Final = "next"
DONE: Final = "this_session"
DECISIONS: Final = "decisions"
CONSTRAINTS: Final = "constraints"
QUESTIONS: Final = "open_questions"
CHECKPOINTS: Final = "checkpoints"
RECEIPTS: Final = "receipts"
FEEDBACK: Final = "feedback"
SECTIONS: Final[tuple[Section, ...]] = get_args(Section)


class Rank(NamedTuple):
    """The place of an event in the order of all events: time, agent, id, then its hash."""

    at: datetime
    agent: str
    id: str
    hash: str


Fact = tuple[Section, str, Value | None, datetime]
"""What an event says in one section: a value under a key at a time; without a value, that the key is void."""


class Source(NamedTuple):
    """An event that takes part in merging."""

    rank: Rank
    facts: tuple[Fact, ...]
    retracted: Texts
    branch: str
    type: str
    session: str
    covered: int


_EXIT: Final = ": exit "
_SETS: Final = frozenset({DONE, QUESTIONS, CONSTRAINTS, RECEIPTS, FEEDBACK})
_REGISTERS: Final = frozenset({GOAL, NOW, NEXT})
_RETRACTIONS: Final[Mapping[str, Section]] = MappingProxyType(
    {
        "retracted_done": DONE,
        "resolved_questions": QUESTIONS,
        "retracted_constraints": CONSTRAINTS,
        "retracted_decisions": DECISIONS,
    }
)


def parse_source(data: bytes, name: str) -> Source | None:
    """Read an event for merging; None when it cannot be merged, for its time or its agent is not known.

    1. Time and agent come from the front matter, else from the file's name (C63).
    2. What does not fit its key is left out; the rest takes part.
    3. Line ends do not matter: a text and its CRLF form are the same event (C66).
    """
    if b"\r" in data:  # 3
        data = data.replace(b"\r\n", b"\n")
    try:
        values = _read_values(data.decode("utf-8"))
    except (UnicodeDecodeError, FormatError):
        return None
    stated = cast("str | None", values.get("ts"))
    at = parse_instant(stated) if stated else None
    agent = cast("str | None", values.get("agent"))
    digest = hashlib.sha256(data).hexdigest()
    if at is None or not agent:
        named = parse_event_file_name(name)
        if named is None:
            return None
        at, agent = at or named.at, agent or named.agent
        # Without its name it would be another event, so the name is a part of what it is.
        digest = hashlib.sha256(f"{digest}\n{at.isoformat()}\n{agent}".encode()).hexdigest()
    rank = Rank(at, agent, cast("str | None", values.get("id")) or digest[:ID_SIZE], digest)
    return _make_source(rank, values)


def _read_values(text: str) -> Mapping[str, object]:
    """Read the keys of an event; one that states a version, or in which something does not fit, with care."""
    if "\nformat:" in text:
        return _values_of(parse_event(text))
    try:
        return read_event(text)
    except Malformed:
        return _values_of(parse_event(text))


def _values_of(event: Event) -> Mapping[str, object]:
    """Give the keys of an event as `read_event` would."""
    values: dict[str, object] = {
        name: getattr(event, name)
        for name in (*sorted(_REGISTERS | _SETS), *_RETRACTIONS, "retracted_events")
    }
    values["ts"] = event.ts.isoformat() if event.ts else None
    values |= {name: getattr(event, name) for name in ("agent", "id", "branch", "type", "session", "covers")}
    values["decisions"] = tuple((pair.key, pair.value) for pair in event.decisions)
    values["checkpoints"] = tuple(_record_of(one) for one in event.checkpoints)
    return values


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


def _present(values: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    return ((key, text) for key, text in values.items() if text is not None)


def _make_source(rank: Rank, values: Mapping[str, object]) -> Source:
    return Source(
        rank,
        _read_facts(rank, values),
        cast("Texts", values.get("retracted_events") or ()),
        cast("str | None", values.get("branch")) or "unknown",
        cast("str | None", values.get("type")) or "unknown",
        cast("str | None", values.get("session")) or "",
        read_covered(cast("str | None", values.get("covers")) or ""),
    )


def _read_facts(rank: Rank, values: Mapping[str, object]) -> tuple[Fact, ...]:
    """List what an event states, then what it takes back: a fact in both is taken back."""
    facts: list[Fact] = []
    void: list[Fact] = []
    for name, value in values.items():
        reader = _READERS.get(name)
        if reader is not None and (value or value == ()):
            reader(void if name in _RETRACTIONS else facts, name, value, rank)
    return tuple(facts + void)


def _read_set(facts: list[Fact], name: str, value: object, rank: Rank) -> None:
    section, at = cast("Section", name), rank.at
    facts.extend([(section, make_key(text), text, at) for text in cast("Texts", value)])


def _read_receipts(facts: list[Fact], name: str, value: object, rank: Rank) -> None:
    """Read what was done; of one test only the last exit code counts."""
    section, at = cast("Section", name), rank.at
    facts.extend([(section, make_key(command_of(text)), text, at) for text in cast("Texts", value)])


def _read_register(facts: list[Fact], name: str, value: object, rank: Rank) -> None:
    facts.append((cast("Section", name), "", cast("Value", value), rank.at))


def _read_decisions(facts: list[Fact], _name: str, value: object, rank: Rank) -> None:
    at = rank.at
    pairs = cast("tuple[tuple[str, str], ...]", value)
    facts.extend([(DECISIONS, make_key(pair[0]), pair, at) for pair in pairs])


def _read_checkpoints(facts: list[Fact], _name: str, value: object, rank: Rank) -> None:
    records = cast("tuple[tuple[tuple[str, str], ...], ...]", value)
    facts.extend([_read_checkpoint(dict(record), rank) for record in records])


def _read_retractions(facts: list[Fact], name: str, value: object, rank: Rank) -> None:
    section, at = _RETRACTIONS[name], rank.at
    facts.extend([(section, make_key(text), None, at) for text in cast("Texts", value)])


_READERS: Final[Mapping[str, Callable[[list[Fact], str, object, Rank], None]]] = MappingProxyType(
    {
        **dict.fromkeys(_SETS, _read_set),
        RECEIPTS: _read_receipts,
        **dict.fromkeys(_REGISTERS, _read_register),
        **dict.fromkeys(_RETRACTIONS, _read_retractions),
        DECISIONS: _read_decisions,
        CHECKPOINTS: _read_checkpoints,
    }
)


def read_covered(covers: str) -> int:
    """Give the last line of the journal that an event publishes, from `first-last`; 0 when it tells none."""
    last = covers.rpartition("-")[2]
    return int(last) if len(last) <= _LINE_DIGITS and last.isascii() and last.isdigit() else 0


def show_test(command: str, code: str) -> str:
    """Show a test that was run, with its exit code if that is known."""
    return f"{command}{_EXIT}{code}" if code.isdigit() else command


def command_of(receipt: str) -> str:
    """Give the command of a test that `show_test` shows; any other receipt is all of it."""
    command, sign, code = receipt.rpartition(_EXIT)
    return command if sign and command and code.isascii() and code.isdigit() else receipt


def has_failed(receipt: str) -> bool:
    """Say whether a receipt is of a test that ended with anything but 0."""
    code = receipt[len(command_of(receipt)) :].removeprefix(_EXIT)
    return bool(code.strip("0"))


class Checkpoint(NamedTuple):
    """A checkpoint in one form; together with its time, equal ones are the same checkpoint (C12)."""

    agent: str
    task: str
    phase: str
    status: str
    name: str


def _read_checkpoint(record: Mapping[str, str], rank: Rank) -> Fact:
    """Read a checkpoint; one without a time is as old as its event, one without an agent is its writer's."""
    stated = record.get("updated")
    agent, task = record.get("agent") or rank.agent, record.get("task", "")
    phase, name = record.get("phase", ""), record.get("name", "")
    # A task's phases are its own, whoever works on it; without a task they are the agent's.
    key = f"task {task}\n{phase or name}" if task else f"agent {agent}\n{phase or name}"
    value = Checkpoint(agent, task, phase, _state_of(record.get("status", "")), name)
    return (CHECKPOINTS, key, value, (parse_instant(stated) if stated else None) or rank.at)


def _state_of(text: str) -> str:
    try:
        return read_state(text).value
    except Malformed:
        return text


def all_retracted(sources: Iterable[Source]) -> frozenset[str]:
    """Name the events that any event takes back, whatever its time and even if it is taken back itself."""
    return frozenset(name for source in sources for name in source.retracted)


def is_retracted(rank: Rank, retracted: frozenset[str] | set[str]) -> bool:
    """Say whether an event was taken back, by its id or by the start of its hash."""
    return rank.id in retracted or rank.hash[:ID_SIZE] in retracted
