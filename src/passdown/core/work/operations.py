"""Operations: what a session wants of what others share, what came of it, and what is left to do (C99, C142).

A session's journal is the truth. Before the first attempt it has a line of kind `operation` with the id of
the operation and all that is needed to repeat it; after each attempt a line with the outcome, in one write
with the facts that it states and behind them. An operation is open as long as no line settles it, so whoever
reads the journal after a crash finds it. What the tracker does not answer waits there: that is the outbox.
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
"""How many characters of a note are in one line of the journal; even escaped, they fit."""


class OperationAction(StrEnum):
    """What is done; for the tracker, the values are the words of the seed's records."""

    CLAIM = "claim"
    CREATE = "create"
    UPDATE = "update"
    CLOSE = "close"
    SYNC = "sync"
    GIVE_BACK = "give-back"
    MOVE = "move"
    """Tell the tracker that the task of another agent is this session's."""
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
    """What came of an attempt."""

    DONE = "done"
    """The effect was seen in the tracker."""
    FAILED = "failed"
    """The tracker did not answer, or nobody knows whether it acted; to be tried again."""
    REFUSED = "refused"
    """The tracker answered, and its answer will not change."""
    ABANDONED = "abandoned"
    """Nobody tries it again: it is not safe to repeat (C16, R197)."""
    NOT_MADE = "not made"
    """It never happened, and never will: the engine could not be asked, or a later command dropped it."""


REPLAYED: Final = (
    OperationAction.UPDATE,
    OperationAction.CLOSE,
    OperationAction.GIVE_BACK,
    OperationAction.MOVE,
    OperationAction.SYNC,
)
"""What the tracker is asked again later, in this order; claims and new tasks are not."""

OF_TRACKER: Final = frozenset({*REPLAYED, OperationAction.CLAIM, OperationAction.CREATE})
"""What is done through the tracker, be it the board; anything else is done in the engine."""

GRANTS: Final = frozenset(
    {
        OperationAction.CLAIM,
        OperationAction.RESERVE,
        OperationAction.TAKE_OVER,
        OperationAction.INHERIT,
        OperationAction.ACCEPT,
    }
)
"""What gives a session something; nobody makes such a thing later, when the session may not want it."""

_SETTLED: Final = frozenset(one.value for one in Outcome if one is not Outcome.FAILED)
_DROPPED: Final = frozenset({Outcome.ABANDONED.value, Outcome.NOT_MADE.value})
_ACTIONS: Final = frozenset(action.value for action in OperationAction)
_OUTCOMES: Final = frozenset(outcome.value for outcome in Outcome)
_ANSWERED_TEXT: Final = "answered"
_PART_TEXT: Final = "part"
_BEFORE_TEXT: Final = "before"
_OLD: Final = timedelta(days=1)
_TIME: Final = 13
"""How many characters of an id tell its time."""


@record
class SharedOperation:
    """One change that a session wants of what others share."""

    id: Annotated[str, "Its id, made before the first attempt."]
    action: Annotated[OperationAction, "What is done."]
    at: Annotated[datetime, "When it was wanted."]
    agent: Annotated[str, "Who wants it."] = ""
    session: Annotated[str, "The session in whose journal it is."] = ""
    task: Annotated[str, "The id of the task."] = ""
    reason: Annotated[str, "Why the task is closed."] = ""
    note: Annotated[str, "The text that is added to the task's notes."] = ""
    before: Annotated[str, "The hash of the notes that were there, for a tracker without marks."] = ""
    record: Annotated[str, "The key of the record of another tool that it was taken from."] = ""
    fence: Annotated[int, "The fence under which the session holds the task; 0 without one."] = 0
    values: Annotated[str, "What else it takes to repeat it, as a JSON object."] = ""
    after: Annotated[str, "The operation that must be done before it."] = ""
    verb: Annotated[str, "The id of the command that wants it."] = ""
    call: Annotated[VerbCall, "That command as it was typed."] = NO_CALL
    tries: Annotated[int, "How often it was tried."] = 0
    outcome: Annotated[str, "What came of the last attempt; empty before the first."] = ""
    error: Annotated[str, "Why the last attempt failed."] = ""
    result: Annotated[str, "The id of what was made, if the tracker named it."] = ""
    position: Annotated[int, "The engine's position at which it was made; 0 if nobody knows."] = 0
    is_answered: Annotated[bool, "Whether the command printed what came of it."] = False

    @property
    def is_dropped(self) -> bool:
        """Whether it did not happen, and never will."""
        return self.outcome in _DROPPED

    @property
    def is_open(self) -> bool:
        """Whether nothing settled it yet."""
        return self.outcome not in _SETTLED

    @property
    def is_waiting(self) -> bool:
        """Whether it is to be tried again by the next verb that calls the tracker."""
        return self.is_open and self.action in REPLAYED

    @property
    def said(self) -> str:
        """What is done and to which task, in words."""
        return f"{self.action} {self.task}".rstrip()

    @property
    def title(self) -> str:
        """The operation in a few words: the command as it was typed, or what is done to which task."""
        return " ".join(self.call.words) or self.said

    @property
    def key(self) -> str:
        """The key of its record in the form of the seed (R201)."""
        return self.record or f"{self.agent}_{int(self.at.timestamp())}_{self.action}_{self.task}"


# --- as lines of a journal --------------------------------------------------------------------------


def make_wish(operation: SharedOperation) -> Sequence[Fact]:
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
    others += [(ACTION, dump(operation.action.value))]
    others += [("values", operation.values)] if operation.values else []
    others += [(name, dump(value)) for name, value in _origin_of(operation) if value]
    return [*facts, _fact(operation, operation.action.value, tuple(others))]


def _origin_of(operation: SharedOperation) -> Sequence[tuple[str, object]]:
    """Return the members that say which command wants an operation."""
    call = operation.call
    return (
        ("after", operation.after),
        (VERB, operation.verb),
        ("words", list(call.words)),
        ("folder", call.folder),
        ("input", call.input),
    )


def make_answered(operation: SharedOperation, at: datetime, agent: str) -> Fact:
    """Return the fact that says that a command printed what came of its operations."""
    others = ((VERB, dump(operation.verb)),)
    return _fact(operation, _ANSWERED_TEXT, others)._replace(at=at, agent=agent)


def make_before(operation: SharedOperation, at: datetime, agent: str) -> Fact:
    """Return the fact that says how the task's note began, for what was wanted without knowing that."""
    others = (("before", dump(operation.before)),)
    return _fact(operation, _BEFORE_TEXT, others)._replace(at=at, agent=agent)


def make_outcome(
    operation: SharedOperation, outcome: Outcome, at: datetime, agent: str, error: str = ""
) -> Fact:
    """Return the fact that says what came of an attempt; `agent` is whoever tried."""
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

    `core.fold` says which are begun and not over. It lets one fact of each identity hold, and an operation is
    what all its lines say together: the wish, the parts of its note, each attempt, the answer.

    1. The members of a line say what is wanted or what came of it; in older versions, the text alone.
    2. A wish that is there twice is one; of a long note all parts must be there.
    3. An outcome counts for the wish with its id. Nothing comes after one that settles it.
    4. How the note began may be found out after the wish.
    5. A command that printed its answer has answered all its operations.
    6. What is none of these is of a newer version, and changes nothing.
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
            wish = _read_wish(session, fact._replace(text=word), members, parts)
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


def _read_wish(
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
    """Return what else it takes to repeat an operation."""
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


# --- what is to be tried again ----------------------------------------------------------------------


def find_repeated(
    operations: Iterable[SharedOperation], call: VerbCall, now: datetime
) -> Sequence[SharedOperation]:
    """Return the operations of the command that the same words repeat: nobody has seen its answer yet.

    1. Only what was typed in the last ten minutes: later, the same words are meant anew.
    2. The newest such command counts. One that printed its answer, or of which something was dropped, is
       over.
    """
    same = [one for one in operations if call.words and one.call == call and now - one.at <= REPEATED]  # 1
    if not same:
        return ()
    verb = max(same, key=lambda one: (one.at, one.verb)).verb
    found = [one for one in same if one.verb == verb]
    return () if any(one.is_answered or one.is_dropped for one in found) else found  # 2


def plan_replay(operations: Iterable[SharedOperation]) -> Sequence[SharedOperation]:
    """Return what is to be tried again: updates, then closes, then a sync, each by age.

    What is equally old stays in the order in which it is given.
    """
    waiting = [one for one in operations if one.is_waiting]
    return sorted(waiting, key=lambda one: (REPLAYED.index(one.action), one.at))


def as_repeat(operation: SharedOperation, now: datetime) -> Operation:
    """Return an operation as the tracker is given it again.

    The engine that sessions share refuses ids that are older than its memory, so an old one is given a new
    time; what the tracker stores of it stays the same.
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
    """Return a text as a program can be given it: bytes that were no text, and NUL, as escapes."""
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
