"""Operations: the changes a session makes to shared state, their outcomes, and what is left (C99, C142).

The session's journal is authoritative. Before the first attempt it gets a line of kind `operation` with the
id and everything needed to repeat the operation; after each attempt a line with the outcome, written together
with the facts that it states and after them. An operation is open until a line settles it, so it is found
again after a crash. Changes that the tracker did not answer wait there: that is the outbox.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, cast

from passdown.core.coordination.messages import EXPIRY, NORMAL_MESSAGE, NewMessage
from passdown.core.coordination.offers import OFFER_SECONDS, NewOffer
from passdown.core.coordination.operations import (
    NO_CALL,
    RANDOM_BYTES,
    REPEATED,
    Operation,
    VerbCall,
    make_operation,
)
from passdown.core.facts import Fact, Provenance
from passdown.core.formats.journal import JournalLine
from passdown.core.holds import ACTION, OUTCOME, VERB
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.times import render_millis
from passdown.records import record, replace

WAITS: Final = (0.0, 1.0, 2.0)
"""Seconds to wait before each attempt (R189, C15)."""

_PART: Final = 32_768
"""The most characters of a note in one journal line; they fit even if escaped."""


class OperationAction(StrEnum):
    """The kind of change; for the tracker, the values are the words of the seed's records."""

    CLAIM = "claim"
    CREATE = "create"
    UPDATE = "update"
    CLOSE = "close"
    SYNC = "sync"
    GIVE_BACK = "give-back"
    MOVE = "move"
    """Tell the tracker that another agent's task now belongs to this session."""
    ADD = "add"
    CHANGE = "change"
    BLOCK = "block"
    RESERVE = "reserve"
    RELEASE = "release"
    TAKE_OVER = "takeover"
    INHERIT = "inherit"
    MESSAGE = "message"
    OFFER = "offer"
    ACCEPT = "accept"
    DECLINE = "decline"
    WITHDRAW = "withdraw"


class Outcome(StrEnum):
    """The outcome of an attempt."""

    DONE = "done"
    """The change was made."""
    FAILED = "failed"
    """The tracker did not answer, or it is unknown whether it acted; to be tried again."""
    REFUSED = "refused"
    """The tracker refused; trying again would not help."""
    ABANDONED = "abandoned"
    """It is not tried again, because that would not be safe (C16, R197)."""
    NOT_MADE = "not made"
    """It never happened and never will: the engine did not answer, or a later command dropped it."""


REPLAYED: Final = (
    OperationAction.UPDATE,
    OperationAction.CLOSE,
    OperationAction.GIVE_BACK,
    OperationAction.MOVE,
    OperationAction.SYNC,
)
"""The changes that are tried again later, in this order; claims and new tasks are not."""

OF_TRACKER: Final = frozenset({*REPLAYED, OperationAction.CLAIM, OperationAction.CREATE})
"""The changes that go through the tracker, even if that is the board; others go to the engine."""

GRANTS: Final = frozenset(
    {
        OperationAction.CLAIM,
        OperationAction.RESERVE,
        OperationAction.TAKE_OVER,
        OperationAction.INHERIT,
        OperationAction.ACCEPT,
    }
)
"""The changes that grant something; they are never made later, when the session may not want it."""

_SETTLED: Final = frozenset(one.value for one in Outcome if one is not Outcome.FAILED)
_DROPPED: Final = frozenset({Outcome.ABANDONED.value, Outcome.NOT_MADE.value})
_ACTIONS: Final = frozenset(action.value for action in OperationAction)
_OUTCOMES: Final = frozenset(outcome.value for outcome in Outcome)
_ANSWERED_TEXT: Final = "answered"
_PART_TEXT: Final = "part"
_BEFORE_TEXT: Final = "before"
_OLD: Final = timedelta(days=1)
_TIME: Final = 13
"""How many characters of an id encode its time."""


@record
class SharedOperation:
    """One change to shared state that a session wants."""

    id: Annotated[str, "Its id, made before the first attempt."]
    action: Annotated[OperationAction, "The kind of change."]
    at: Annotated[datetime, "When it was requested."]
    agent: Annotated[str, "The agent that requested it."] = ""
    session: Annotated[str, "The session whose journal has it."] = ""
    task: Annotated[str, "The id of the task."] = ""
    reason: Annotated[str, "Why the task is closed."] = ""
    note: Annotated[str, "The text that is added to the task's notes."] = ""
    before: Annotated[str, "The hash of the earlier notes, for a tracker without marks."] = ""
    record: Annotated[str, "The key of another tool's record that it was imported from."] = ""
    fence: Annotated[int, "The fence under which the session holds the task; 0 if none."] = 0
    values: Annotated[str, "What else is needed to repeat it, as a JSON object."] = ""
    after: Annotated[str, "The operation that must succeed before it."] = ""
    verb: Annotated[str, "The id of the command that requested it."] = ""
    call: Annotated[VerbCall, "That command, as it was typed."] = NO_CALL
    tries: Annotated[int, "How often it was tried."] = 0
    outcome: Annotated[str, "The outcome of the last attempt; empty before the first."] = ""
    error: Annotated[str, "Why the last attempt failed."] = ""
    result: Annotated[str, "The id of the new task, if the tracker returned it."] = ""
    position: Annotated[int, "The engine's position of the change; 0 if unknown."] = 0
    is_answered: Annotated[bool, "Whether the command printed the outcome."] = False

    @property
    def is_dropped(self) -> bool:
        """Whether it did not happen and never will."""
        return self.outcome in _DROPPED

    @property
    def is_open(self) -> bool:
        """Whether it is not settled yet."""
        return self.outcome not in _SETTLED

    @property
    def is_waiting(self) -> bool:
        """Whether the next command that calls the tracker tries it again."""
        return self.is_open and self.action in REPLAYED

    @property
    def said(self) -> str:
        """The kind of change and the task, in words."""
        return f"{self.action} {self.task}".rstrip()

    @property
    def title(self) -> str:
        """The operation in a few words: the command as typed, or the kind of change and the task."""
        return " ".join(self.call.words) or self.said

    @property
    def key(self) -> str:
        """The key of its record in the form of the seed (R201)."""
        return self.record or f"{self.agent}_{int(self.at.timestamp())}_{self.action}_{self.task}"


# --- as lines of a journal --------------------------------------------------------------------------


def make_intent(operation: SharedOperation) -> Sequence[Fact]:
    """Return the facts that record a request; they go into the journal before the first attempt.

    A long note comes first, in parts: without the last fact the request does not count.
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
    others += [(ACTION, dump(operation.action.value))]
    others += [("values", operation.values)] if operation.values else []
    others += [(name, dump(value)) for name, value in _origin_of(operation) if value]
    return [*facts, _fact(operation, operation.action.value, tuple(others))]


def _origin_of(operation: SharedOperation) -> Sequence[tuple[str, object]]:
    """Return the members that tell which command requested an operation."""
    call = operation.call
    return (
        ("after", operation.after),
        (VERB, operation.verb),
        ("words", list(call.words)),
        ("folder", call.folder),
        ("input", call.input),
    )


def make_answered(operation: SharedOperation, at: datetime, agent: str) -> Fact:
    """Return the fact that a command printed the outcome of its operations."""
    others = ((VERB, dump(operation.verb)),)
    return _fact(operation, _ANSWERED_TEXT, others)._replace(at=at, agent=agent)


def make_before(operation: SharedOperation, at: datetime, agent: str) -> Fact:
    """Return the fact about the task's earlier note, for an operation recorded without it."""
    others = (("before", dump(operation.before)),)
    return _fact(operation, _BEFORE_TEXT, others)._replace(at=at, agent=agent)


def make_outcome(
    operation: SharedOperation, outcome: Outcome, at: datetime, agent: str, error: str = ""
) -> Fact:
    """Return the fact about the outcome of an attempt by `agent`."""
    others = [(OUTCOME, dump(outcome.value))]
    others += [("position", dump(operation.position))] if operation.position else []
    others += [("result", dump(operation.result))] if operation.result else []
    return _fact(operation, outcome.value, tuple(others))._replace(at=at, agent=agent, because=error)


def _fact(operation: SharedOperation, text: str, others: tuple[tuple[str, str], ...]) -> Fact:
    return Fact(
        kind=FactKind.OPERATION.value,
        text=text,
        at=operation.at,
        agent=operation.agent,
        key=operation.id,
        provenance=Provenance.OBSERVED,
        others=others,
    )


def read_operations(session: str, lines: Iterable[JournalLine]) -> Sequence[SharedOperation]:
    """Return the operations of a journal, the oldest first.

    `core.fold` tells which operations are open. It keeps one fact of each identity, but an operation consists
    of all its lines: the request, the parts of its note, each attempt, the answer.

    1. The members of a line tell the request or the outcome; in older versions, only the text does.
    2. A request that is recorded twice counts once; a long note needs all its parts.
    3. An outcome belongs to the request with its id. After one that settles it, no other counts.
    4. The earlier note may be recorded after the request.
    5. A command that printed its answer has answered all its operations.
    6. Any other line is from a newer version and is ignored.
    """
    found: dict[str, SharedOperation] = {}
    answered: set[str] = set()
    parts: dict[tuple[str, object], str] = {}
    kind = FactKind.OPERATION.value
    for fact in (line.fact for line in lines if line.fact.kind == kind):
        members = _members(fact)
        word = _text(members, ACTION) or _text(members, OUTCOME) or fact.text  # 1
        if word == _PART_TEXT:
            parts[fact.key, members.get("number")] = _text(members, "note")
        elif word in _ACTIONS:  # 2
            wish = _read_intent(session, fact._replace(text=word), members, parts)
            if wish is not None:
                found.setdefault(fact.key, wish)
        elif word == _ANSWERED_TEXT:  # 5
            answered.add(_text(members, VERB))
        elif fact.key in found and found[fact.key].is_open:
            found[fact.key] = _take(found[fact.key], fact._replace(text=word), members)
    return [
        replace(one, is_answered=True) if one.verb and one.verb in answered else one for one in found.values()
    ]


def _take(operation: SharedOperation, fact: Fact, members: Mapping[str, object]) -> SharedOperation:
    if fact.text in _OUTCOMES:  # 3
        return replace(
            operation,
            tries=operation.tries + 1,
            outcome=fact.text,
            error=fact.because,
            position=_count(members, "position"),
            result=_text(members, "result"),
        )
    if fact.text == _BEFORE_TEXT and not operation.before:  # 4
        return replace(operation, before=_text(members, "before"))
    return operation  # 6


def _read_intent(
    session: str, fact: Fact, members: Mapping[str, object], parts: Mapping[tuple[str, object], str]
) -> SharedOperation | None:
    count, fence = (_count(members, name) for name in ("parts", "fence"))
    texts = [parts.get((fact.key, number)) for number in range(1, count + 1)]
    if any(text is None for text in texts):
        return None
    return SharedOperation(
        id=fact.key,
        action=OperationAction(fact.text),
        at=fact.at,
        agent=fact.agent,
        session=session,
        task=_text(members, "task"),
        reason=_text(members, "reason"),
        note="".join(text or "" for text in texts) or _text(members, "note"),
        before=_text(members, "before"),
        record=_text(members, "record"),
        fence=fence,
        values=dump(members["values"]) if "values" in members else "",
        after=_text(members, "after"),
        verb=_text(members, VERB),
        call=_read_call(members),
    )


def _read_call(members: Mapping[str, object]) -> VerbCall:
    words = members.get("words")
    typed = [str(one) for one in cast("list[object]", words)] if isinstance(words, list) else []
    return VerbCall(tuple(typed), _text(members, "folder"), _text(members, "input"))


def read_message(operation: SharedOperation) -> NewMessage:
    """Return the message that an operation sends."""
    values = read_values(operation)
    return NewMessage(
        operation.session,
        operation.task,
        operation.note,
        _text(values, "context"),
        _text(values, "priority") or NORMAL_MESSAGE,
        _text(values, "kind"),
        _seconds(values, EXPIRY),
    )


def read_offer(operation: SharedOperation) -> NewOffer:
    """Return the offer that an operation makes."""
    values = read_values(operation)
    seconds = _seconds(values, OFFER_SECONDS)
    return NewOffer(operation.session, _text(values, "taker"), operation.task, operation.note, seconds)


def _seconds(members: Mapping[str, object], default: float) -> float:
    value = members.get("seconds")
    return float(value) if isinstance(value, int | float) else default


def read_values(operation: SharedOperation) -> Mapping[str, object]:
    """Return the further values that are needed to repeat an operation."""
    found: object = json.loads(operation.values or "{}")
    return cast("dict[str, object]", found) if isinstance(found, dict) else {}


def _members(fact: Fact) -> Mapping[str, object]:
    return {name: json.loads(text) for name, text in fact.others}


def _text(members: Mapping[str, object], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""


def _count(members: Mapping[str, object], name: str) -> int:
    value = members.get(name)
    return value if isinstance(value, int) else 0


# --- trying again -----------------------------------------------------------------------------------


def find_repeated(
    operations: Iterable[SharedOperation], call: VerbCall, now: datetime
) -> Sequence[SharedOperation]:
    """Return the operations of an interrupted command that is typed again.

    1. Only the last ten minutes count: after that, the same words are a new command.
    2. The newest such command counts, unless it printed its answer or something of it was dropped.
    """
    same = [one for one in operations if call.words and one.call == call and now - one.at <= REPEATED]  # 1
    if not same:
        return ()
    verb = max(same, key=lambda one: (one.at, one.verb)).verb
    found = [one for one in same if one.verb == verb]
    return () if any(one.is_answered or one.is_dropped for one in found) else found  # 2


def plan_replay(operations: Iterable[SharedOperation]) -> Sequence[SharedOperation]:
    """Return the operations to try again: updates, then closes, then a sync, each by age.

    Operations of the same age keep their order.
    """
    waiting = [one for one in operations if one.is_waiting]
    return sorted(waiting, key=lambda one: (REPLAYED.index(one.action), one.at))


def as_repeat(operation: SharedOperation, now: datetime) -> Operation:
    """Return an operation in the form in which the tracker is asked again.

    The engine refuses ids that are older than its memory, so an old id gets a new time; the part that the
    tracker stores stays the same.
    """
    name = operation.id
    if now - operation.at > _OLD:
        name = make_operation(now, bytes(RANDOM_BYTES))[:_TIME] + name[_TIME:]
    return Operation(name, operation.before, is_repeat=True)


def list_unsynced(operations: Iterable[SharedOperation]) -> Sequence[str]:
    """Return the tasks that were changed since the last sync, sorted."""
    ordered = sorted(operations, key=lambda one: one.at)
    tasks: set[str] = set()
    for one in ordered:
        if one.action is OperationAction.SYNC and one.outcome == Outcome.DONE:
            tasks.clear()
        elif one.task:
            tasks.add(one.task)
    return sorted(tasks)


def make_text_safe(text: str) -> str:
    """Return a text that can be passed to a program: invalid bytes and NUL are escaped."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def describe_operation(operation: SharedOperation, now: datetime) -> Mapping[str, object]:
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
