"""The outbox: what a session wants of the tracker, what came of it, and what is to be tried again (C99).

A session's journal is the truth. Before the first attempt it has a line of kind `operation` with the id of
the operation and all that is needed to repeat it; after each attempt a line with the outcome. An operation is
open as long as no line settles it, so whoever reads the journal after a crash finds it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final

from passdown.core.coordination.operations import RANDOM_BYTES, Operation, make_operation
from passdown.core.facts import Fact, Provenance
from passdown.core.formats.journal import JournalLine
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.times import render_millis
from passdown.records import record, replace

WAITS: Final = (0.0, 1.0, 2.0)
"""Seconds to wait before each attempt (R189, C15)."""

_PART: Final = 32_768
"""How many characters of a note are in one line of the journal; even escaped, they fit."""


class TrackerAction(StrEnum):
    """What is done to the tracker; the values are the words of the seed's records."""

    CLAIM = "claim"
    CREATE = "create"
    UPDATE = "update"
    CLOSE = "close"
    SYNC = "sync"


class Outcome(StrEnum):
    """What came of an attempt."""

    DONE = "done"
    """The effect was seen in the tracker."""
    FAILED = "failed"
    """The tracker did not answer, or nobody knows whether it acted; to be tried again."""
    REFUSED = "refused"
    """The tracker answered, and its answer will not change."""
    ABANDONED = "abandoned"
    """Nobody tries it again: it is not safe to repeat (C16, R197)."""


REPLAYED: Final = (TrackerAction.UPDATE, TrackerAction.CLOSE, TrackerAction.SYNC)
"""What is tried again later, in this order; claims and new tasks are not."""

_SETTLED: Final = frozenset({Outcome.DONE.value, Outcome.REFUSED.value, Outcome.ABANDONED.value})
_ACTIONS: Final = frozenset(action.value for action in TrackerAction)
_OUTCOMES: Final = frozenset(outcome.value for outcome in Outcome)
_PART_TEXT: Final = "part"
_BEFORE_TEXT: Final = "before"
_OLD: Final = timedelta(days=1)
_TIME: Final = 13
"""How many characters of an id tell its time."""


@record
class TrackerOperation:
    """One change of the tracker that a session wants."""

    id: Annotated[str, "Its id, made before the first attempt."]
    action: Annotated[TrackerAction, "What is done."]
    at: Annotated[datetime, "When it was wanted."]
    agent: Annotated[str, "Who wants it."] = ""
    session: Annotated[str, "The session in whose journal it is."] = ""
    task: Annotated[str, "The id of the task."] = ""
    reason: Annotated[str, "Why the task is closed."] = ""
    note: Annotated[str, "The text that is added to the task's notes."] = ""
    before: Annotated[str, "The hash of the notes that were there, for a tracker without marks."] = ""
    record: Annotated[str, "The key of the record of another tool that it was taken from."] = ""
    fence: Annotated[int, "The fence under which the session holds the task; 0 without one."] = 0
    tries: Annotated[int, "How often it was tried."] = 0
    outcome: Annotated[str, "What came of the last attempt; empty before the first."] = ""
    error: Annotated[str, "Why the last attempt failed."] = ""

    @property
    def is_open(self) -> bool:
        """Whether nothing settled it yet."""
        return self.outcome not in _SETTLED

    @property
    def is_waiting(self) -> bool:
        """Whether it is to be tried again by the next verb that calls the tracker."""
        return self.is_open and self.action in REPLAYED

    @property
    def key(self) -> str:
        """The key of its record in the form of the seed (R201)."""
        return self.record or f"{self.agent}_{int(self.at.timestamp())}_{self.action}_{self.task}"


# --- as lines of a journal --------------------------------------------------------------------------


def make_wish(operation: TrackerOperation) -> Sequence[Fact]:
    """Return the facts that say what is wanted; they belong into the journal before the first attempt.

    A long note comes first, in parts: without the last fact nothing is wanted.
    """
    parts = [operation.note[at : at + _PART] for at in range(0, len(operation.note), _PART)]
    is_long = len(parts) > 1
    facts = [
        _fact(operation, _PART_TEXT, (("number", dump(number)), ("note", dump(part))))
        for number, part in enumerate(parts if is_long else (), 1)
    ]
    values = {
        "task": operation.task,
        "reason": operation.reason,
        "note": "" if is_long else operation.note,
        "before": operation.before,
        "record": operation.record,
    }
    others = [(name, dump(value)) for name, value in values.items() if value]
    others += [("fence", dump(operation.fence))] if operation.fence else []
    others += [("parts", dump(len(parts)))] if is_long else []
    return [*facts, _fact(operation, operation.action.value, tuple(others))]


def make_before(operation: TrackerOperation, at: datetime, agent: str) -> Fact:
    """Return the fact that says how the task's note began, for what was wanted without knowing that."""
    others = (("before", dump(operation.before)),)
    return _fact(operation, _BEFORE_TEXT, others)._replace(at=at, agent=agent)


def make_outcome(
    operation: TrackerOperation, outcome: Outcome, at: datetime, agent: str, error: str = ""
) -> Fact:
    """Return the fact that says what came of an attempt; `agent` is whoever tried."""
    return _fact(operation, outcome.value, ())._replace(at=at, agent=agent, because=error)


def _fact(operation: TrackerOperation, text: str, others: tuple[tuple[str, str], ...]) -> Fact:
    return Fact(
        kind=FactKind.OPERATION.value,
        text=text,
        at=operation.at,
        agent=operation.agent,
        key=operation.id,
        provenance=Provenance.OBSERVED,
        others=others,
    )


def read_operations(session: str, lines: Iterable[JournalLine]) -> Sequence[TrackerOperation]:
    """Return the operations of a journal, the oldest first.

    1. A wish that is there twice is one; of a long note all parts must be there.
    2. An outcome counts for the wish with its id. Nothing comes after one that settles it.
    3. How the note began may be found out after the wish.
    4. Texts that are none of these are of a newer version, and change nothing.
    """
    found: dict[str, TrackerOperation] = {}
    parts: dict[tuple[str, object], str] = {}
    kind = FactKind.OPERATION.value
    for fact in (line.fact for line in lines if line.fact.kind == kind):
        members = _members(fact)
        if fact.text == _PART_TEXT:
            parts[fact.key, members.get("number")] = _text(members, "note")
        elif fact.text in _ACTIONS:  # 1
            wish = _read_wish(session, fact, members, parts)
            if wish is not None:
                found.setdefault(fact.key, wish)
        elif fact.key in found and found[fact.key].is_open:
            found[fact.key] = _take(found[fact.key], fact, members)
    return list(found.values())


def _take(operation: TrackerOperation, fact: Fact, members: Mapping[str, object]) -> TrackerOperation:
    if fact.text in _OUTCOMES:  # 2
        return replace(operation, tries=operation.tries + 1, outcome=fact.text, error=fact.because)
    if fact.text == _BEFORE_TEXT and not operation.before:  # 3
        return replace(operation, before=_text(members, "before"))
    return operation  # 4


def _read_wish(
    session: str, fact: Fact, members: Mapping[str, object], parts: Mapping[tuple[str, object], str]
) -> TrackerOperation | None:
    count, fence = (_count(members, name) for name in ("parts", "fence"))
    texts = [parts.get((fact.key, number)) for number in range(1, count + 1)]
    if any(text is None for text in texts):
        return None
    return TrackerOperation(
        id=fact.key,
        action=TrackerAction(fact.text),
        at=fact.at,
        agent=fact.agent,
        session=session,
        task=_text(members, "task"),
        reason=_text(members, "reason"),
        note="".join(text or "" for text in texts) or _text(members, "note"),
        before=_text(members, "before"),
        record=_text(members, "record"),
        fence=fence,
    )


def _members(fact: Fact) -> Mapping[str, object]:
    return {name: json.loads(text) for name, text in fact.others}


def _text(members: Mapping[str, object], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""


def _count(members: Mapping[str, object], name: str) -> int:
    value = members.get(name)
    return value if isinstance(value, int) else 0


# --- what is to be tried again ----------------------------------------------------------------------


def plan_replay(operations: Iterable[TrackerOperation]) -> Sequence[TrackerOperation]:
    """Return what is to be tried again: updates, then closes, then a sync, each by age.

    What is equally old stays in the order in which it is given.
    """
    waiting = [one for one in operations if one.is_waiting]
    return sorted(waiting, key=lambda one: (REPLAYED.index(one.action), one.at))


def as_repeat(operation: TrackerOperation, now: datetime) -> Operation:
    """Return an operation as the tracker is given it again.

    The engine that sessions share refuses ids that are older than its memory, so an old one is given a new
    time; what the tracker stores of it stays the same.
    """
    name = operation.id
    if now - operation.at > _OLD:
        name = make_operation(now, bytes(RANDOM_BYTES))[:_TIME] + name[_TIME:]
    return Operation(name, operation.before, is_repeat=True)


def list_unsynced(operations: Iterable[TrackerOperation]) -> Sequence[str]:
    """Return the tasks that were changed since the last sync, sorted (R191)."""
    ordered = sorted(operations, key=lambda one: one.at)
    tasks: set[str] = set()
    for one in ordered:
        if one.action is TrackerAction.SYNC and one.outcome == Outcome.DONE:
            tasks.clear()
        elif one.task:
            tasks.add(one.task)
    return sorted(tasks)


def make_text_safe(text: str) -> str:
    """Return a text as a program can be given it: bytes that were no text, and NUL, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def describe_operation(operation: TrackerOperation, now: datetime) -> Mapping[str, object]:
    """Return an operation as data for JSON."""
    return {
        "id": operation.id,
        "op": operation.action.value,
        "task": operation.task or None,
        "agent": operation.agent,
        "at": render_millis(operation.at),
        "age_seconds": int((now - operation.at).total_seconds()),
        "tries": operation.tries,
        "error": operation.error or None,
    }
