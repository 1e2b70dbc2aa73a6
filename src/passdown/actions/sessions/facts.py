"""Record a fact, answer a question, retract a fact."""

from collections.abc import Callable, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final

from passdown.actions.answers import HIDDEN, INLINE, MILLIS, describe
from passdown.actions.callers import (
    Caller,
    find_person,
    find_speaker,
    is_person,
    need_author,
    need_person,
    note_ledger_update,
)
from passdown.core.facts import FAILED, Fact, address, command_of, find_named, is_escalation, make_key
from passdown.core.ids import is_agent
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import RULED_OUT, UNCONFIRMED, NewFact
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.sessions.ledgers import LedgerUpdate, update_ledger

if TYPE_CHECKING:
    from passdown.core.sessions.decisions import KeyHistory

RETRACTABLE: Final = tuple(kind for kind in FactKind if kind.row.can_retract)


@record
class FactResult:
    """A fact that was recorded."""

    session: Annotated[str, "The session that states it."]
    agent: Annotated[str, "The name of its agent."]
    line: Annotated[int, "The number of its line in the journal."]
    kind: Annotated[str, "The kind of fact."]
    text: Annotated[str, "What it says."]
    ledger: Annotated[str, "The path of the ledger."]
    is_ledger_written: Annotated[bool, "Whether it is written to the ledger."]
    said: Annotated[NewFact, "The fact as it was recorded.", HIDDEN]


@record
class OldDecision:
    """An earlier decision."""

    text: Annotated[str, "What was decided."]
    agent: Annotated[str, "Who decided it."]
    session: Annotated[str | None, "The session that decided it, if known."]
    at: Annotated[datetime, "When.", MILLIS]


@record
class DecisionResult:
    """A decision that was recorded."""

    fact: Annotated[FactResult, "The decision.", INLINE]
    key: Annotated[str, "Its key."]
    replaces: Annotated[OldDecision | None, "What it replaces; null if nothing."]
    also_replaces: Annotated[tuple[OldDecision, ...], "The decisions that contradicted that one."]
    now: Annotated[datetime, "When it was recorded.", HIDDEN]


@record
class KeptComment:
    """An agent's answer to an escalated gate, kept as a comment: only a person can lift the gate (C154)."""

    fact: Annotated[FactResult, "The comment.", INLINE]
    question: Annotated[str, "The question of the gate."]
    is_answered: Annotated[bool, "Whether it is answered: never."]
    because: Annotated[str, "Why the caller does not count as a person."]


@record
class RetractedDecision:
    """A decision that was retracted."""

    fact: Annotated[FactResult, "The retraction.", INLINE]
    replaced: Annotated[OldDecision | None, "The decision that it had replaced, if no other is in force now."]
    still_decided: Annotated[tuple[OldDecision, ...], "The decisions still in force under the same key."]
    gone: Annotated[tuple[OldDecision, ...], "The retracted decisions that are worth showing.", HIDDEN]
    now: Annotated[datetime, "When it was retracted.", HIDDEN]


@record
class DecisionRequest:
    """A decision to record."""

    text: Annotated[str, "What is decided."]
    key: Annotated[str, "Its key; empty for one that replaces nothing."] = ""
    because: Annotated[str, "The reason."] = ""
    is_replacing: Annotated[bool, "Whether it may replace another session's decision."] = False


@record
class TellRequest:
    """Feedback to leave."""

    text: Annotated[str, "What is said."]
    to: Annotated[str, "The agent that it is for; empty for all."] = ""


@record
class DoneRequest:
    """Work that is done."""

    text: Annotated[str, "What is done; empty for the current work."] = ""
    is_once: Annotated[bool, "Whether it must never be repeated."] = False


@record
class AnswerRequest:
    """An answer to a question or to feedback."""

    question: Annotated[str, "The question, or the start of it."]
    text: Annotated[str, "The answer."]


@record
class RetractRequest:
    """A fact to retract."""

    text: Annotated[str, "The fact, the start of it, a decision's key, or a failed test."]
    of_kind: Annotated[str, "The kind of fact; empty for any."] = ""


# --- state --------------------------------------------------------------------------------------------


def state(caller: Caller, request: NewFact) -> FactResult:
    """Record one fact."""
    said = _clean(request)
    return _record(caller, need_author(caller), [said])


def tell(caller: Caller, request: TellRequest) -> FactResult:
    """Record feedback for every agent, or only for one and those that continue its session (C122)."""
    said = _clean(NewFact(FactKind.FEEDBACK, request.text))
    reader = _find_reader(caller, request.to) if request.to else ""
    account = need_author(caller)
    if reader:
        known = _read_told(caller, account, with_unpublished=True)(FactKind.FEEDBACK)
        open_ones = [one.to for one in known if make_key(one.text) == make_key(said.text)]
        said = said._replace(others=address(reader, open_ones))
    return _record(caller, account, [said])


def _find_reader(caller: Caller, name: str) -> str:
    """Return the agent that a name means; a whole name may be that of an agent in another clone."""
    if is_agent(name):
        return name
    from passdown.services.sessions.session_names import find_by_name  # most feedback is for all

    return find_by_name(caller.workspace, name, may_have_ended=True).agent


def decide(caller: Caller, request: DecisionRequest) -> DecisionResult:
    """Record a decision; another session's is replaced only on request."""
    from passdown.services.sessions.decisions import need_replaceable, plan_decision  # only decisions need it

    said = _clean(NewFact(FactKind.DECISION, request.text, request.key.strip(), request.because))
    planned = plan_decision(caller.workspace, need_author(caller), said)
    if not request.is_replacing:
        need_replaceable(caller.workspace, planned)
    replaces = [_old(one) for one in planned.replaces]
    return DecisionResult(
        fact=_record(caller, planned.speaker, [planned.fact]),
        key=planned.fact.key,
        replaces=replaces[0] if replaces else None,
        also_replaces=tuple(replaces[1:]),
        now=caller.workspace.now(),
    )


def finish_work(caller: Caller, request: DoneRequest) -> FactResult:
    """Record what is done, and whether it must never be repeated; without a text, it is the current work."""
    account = find_speaker(caller) or Account()
    if not request.text and account.now is None:
        hint = 'say what is done: `passdown done "TEXT"`'
        raise UsageError("there is no current work to mark as done", hint=hint)
    text = request.text.strip() or (account.now.text if account.now else "")
    once = [NewFact(FactKind.RECEIPT, text)] if request.is_once else []
    return _record(caller, need_author(caller), [NewFact(FactKind.DONE, text), *once])


def clear_now(caller: Caller, _request: None = None) -> FactResult:
    """Record that there is no current work; the text is that of the former."""
    account = need_author(caller)
    was = account.now.text if account.now else ""
    kept = update_ledger(
        caller.workspace, account, [NewFact(FactKind.RETRACTION, was, FactKind.NOW.value)] if was else []
    )
    note_ledger_update(caller, kept)
    return _stated(kept, NewFact(FactKind.NOW, was), "")


# --- answer -------------------------------------------------------------------------------------------


def answer(caller: Caller, request: AnswerRequest) -> FactResult | KeptComment:
    """Answer the question or feedback that begins with a text, of this session or open in the project."""
    account = find_speaker(caller) or Account()  # a refused answer starts no session
    waiting = _list_waiting(account.of)
    found = _choose(request.question, _names(waiting))
    if found is None:
        waiting = _list_waiting(_read_told(caller, account, with_unpublished=True))
        found = _choose(request.question, _names(waiting))
    if found is None:  # a new answer replaces the session's earlier one
        answered = [(one.key, (one.key,)) for one in account.of(FactKind.ANSWER)]
        found = _choose(request.question, answered)
    if found is None:
        hint = "`passdown brief` lists the open questions and the unanswered feedback"
        raise UsageError(f"no open question or feedback begins with {request.question[:60]!r}", hint=hint)
    said = _clean(NewFact(FactKind.ANSWER, request.text, found))
    account = need_author(caller)
    if is_escalation(found):
        return _answer_gate(caller, account, said)
    is_feedback = any(one.kind == FactKind.FEEDBACK and one.text == found for one in waiting)
    over = [NewFact(FactKind.RETRACTION, found, FactKind.FEEDBACK.value)] if is_feedback else []
    return _record(caller, account, [said, *over])


def _answer_gate(caller: Caller, account: Account, said: NewFact) -> FactResult | KeptComment:
    """Let a person lift the escalation of a gate; keep an agent's answer as a comment (C154)."""
    from passdown.core.work.gates import answer_escalation  # few questions are those of gates

    person = find_person(caller)
    _clean(said)
    known = _read_told(caller, account, with_unpublished=True)(FactKind.COMMENT)
    comments = dict.fromkeys(one.text for one in (*account.of(FactKind.COMMENT), *known))
    facts = answer_escalation(said.key, said.text, comments, is_person=person.is_person)
    stated = _record(caller, account, facts)
    if person.is_person:
        return stated
    return KeptComment(fact=stated, question=said.key, is_answered=False, because=person.because)


def _list_waiting(facts_of: Callable[[FactKind], Sequence[Fact]]) -> Sequence[Fact]:
    """List the open questions and the unanswered feedback."""
    return [one for kind in (FactKind.QUESTION, FactKind.FEEDBACK) for one in facts_of(kind)]


def _read_told(
    caller: Caller, account: Account, *, with_unpublished: bool = False
) -> Callable[[FactKind], Sequence[Fact]]:
    """Return the facts that a brief would show, by kind."""
    from passdown.services.handover.briefs import read_brief_input  # most facts are the session's own

    reader = account if account.session else None
    return read_brief_input(caller.workspace, reader, with_unpublished=with_unpublished).of


# --- retract ------------------------------------------------------------------------------------------


def retract(caller: Caller, request: RetractRequest) -> FactResult | RetractedDecision:
    """Retract the fact that begins with a text."""
    account = find_speaker(caller) or Account()  # a refused retraction starts no session
    of, name = _find_retracted(caller, account, request)
    if of is FactKind.QUESTION and is_escalation(name):
        need_person(caller, "retract the question of an escalated gate", hint="a person answers it")
    account = need_author(caller)
    said = NewFact(FactKind.RETRACTION, name, of.value)
    if of is FactKind.DECISION:
        return _retract_decision(caller, account, said, request.text)
    is_once = of is FactKind.DONE and any(one.text == name for one in account.of(FactKind.RECEIPT))
    also = [said._replace(key=FactKind.RECEIPT.value)] if is_once else []
    return _record(caller, account, [said, *also])


def _find_retracted(caller: Caller, account: Account, request: RetractRequest) -> tuple[FactKind, str]:
    """Return the kind of the fact to retract, and its name.

    1. A fact of the session itself.
    2. Another session's decision that contradicts a decision.
    3. With a kind, or for a person, a fact of another or earlier session.
    4. The result of a test that a brief shows.
    """
    text, kind = request.text, FactKind(request.of_kind) if request.of_kind else None
    own = [fact for one in ([kind] if kind else RETRACTABLE) for fact in account.of(one)]
    if found := _find(own, text):  # 1
        return found
    if kind in {None, FactKind.DECISION} and (key := _find_contested(caller, text)):  # 2
        return FactKind.DECISION, key
    if kind:  # 3
        told = _find(_read_told(caller, account)(kind), text)
        return kind, told[1] if told else text
    if is_person(caller):
        told_of = _read_told(caller, account, with_unpublished=True)
        if found := _find([fact for one in RETRACTABLE for fact in told_of(one)], text):
            return found
    if (result := _find_result(caller, account, text)) is not None:  # 4
        return FactKind.RECEIPT, result
    hint = "to retract another session's fact, give its text and --kind"
    raise UsageError(f"this session has no fact that begins with {text[:60]!r}", hint=hint)


def _retract_decision(caller: Caller, account: Account, said: NewFact, text: str) -> RetractedDecision:
    """Retract a decision; of decisions that contradict each other, the text of one retracts only that one."""
    from passdown.services.sessions.decisions import find_history, retract_only

    history = find_history(caller.workspace, account, said.text)
    gone = history.choose(text) if history.contested and text != said.text else history.in_force
    if gone:  # what is named was shown
        said = retract_only(said, gone)
    kept = [one for one in history.shown if one not in gone]
    old = history.replaced if history.held in gone and not kept else None
    return RetractedDecision(
        fact=_record(caller, account, [said]),
        replaced=_old(old) if old else None,
        still_decided=tuple(map(_old, kept)),
        gone=tuple(map(_old, _list_gone(account, history, gone))),
        now=caller.workspace.now(),
    )


def _list_gone(account: Account, history: "KeyHistory", gone: Sequence[Fact]) -> Sequence[Fact]:
    """Return the retracted decisions, unless they are only the session's own."""
    return [
        one for one in history.shown if one in gone and (history.contested or one.session != account.session)
    ]


def _find_contested(caller: Caller, text: str) -> str:
    from passdown.services.sessions.decisions import find_contested_key  # few facts are decisions

    return find_contested_key(caller.workspace, text)


def _find_result(caller: Caller, account: Account, text: str) -> str | None:
    """Find the command of a test in the brief, by its text or another spelling (C121)."""
    from passdown.core.test_names import name_of

    wanted = text.removeprefix(FAILED)
    commands = {command_of(one.text): one.text for one in _read_told(caller, account)(FactKind.RECEIPT)}
    same = next((one for one in commands if name_of(one) == name_of(command_of(wanted))), None)
    return same or _choose(wanted, [(name, (name, shown)) for name, shown in commands.items()])


# --- common -------------------------------------------------------------------------------------------


def _record(caller: Caller, account: Account, facts: Sequence[NewFact]) -> FactResult:
    """Record facts; the first one is the result."""
    said = _clean(facts[0])
    kept = update_ledger(caller.workspace, account, [said, *facts[1:]])
    note_ledger_update(caller, kept)
    if said.kind is FactKind.DECISION and account.track:
        from passdown.services.handover.streams import refresh_stream  # few sessions have a track

        refresh_stream(caller.workspace, kept.account)
    return _stated(kept, said, said.text)


def _stated(kept: LedgerUpdate, said: NewFact, text: str) -> FactResult:
    account = kept.account
    return FactResult(
        session=account.session,
        agent=account.agent,
        line=account.last_seq,
        kind=said.kind.value,
        text=text,
        ledger=account.start.ledger,
        is_ledger_written=not kept.problems and not kept.is_elsewhere,
        said=said,
    )


def _clean(new_fact: NewFact) -> NewFact:
    """Strip a fact; raise `UsageError` if its text is empty."""
    text = new_fact.text.strip()
    if not text:
        raise UsageError(f"{new_fact.kind.value} needs a text", hint="write a short sentence in quotes")
    return new_fact._replace(text=text, because=new_fact.because.strip())


def _old(fact: Fact) -> OldDecision:
    return describe(OldDecision, fact)


def _find(facts: Sequence[Fact], text: str) -> tuple[FactKind, str] | None:
    """Find a fact by its text, the start of it, or a decision's key; return its kind and its name.

    If two kinds have the same text, as after `done --once`, the first one counts.
    """
    called: dict[str, tuple[FactKind, Sequence[str]]] = {}
    for kind in RETRACTABLE:
        own = [one for one in facts if one.kind == kind]
        is_decision = kind is FactKind.DECISION
        for name, names in [(one.key, (one.key, one.text)) for one in own] if is_decision else _names(own):
            called.setdefault(name, (kind, names))
    chosen = _choose(text, [(name, names) for name, (_, names) in called.items()])
    return None if chosen is None else (called[chosen][0], chosen)


def _names(facts: Sequence[Fact]) -> Sequence[tuple[str, Sequence[str]]]:
    """Return each text with its names: the prefixes that we add may be left out."""
    return [(one.text, (one.text, one.text.removeprefix(_PREFIXES.get(one.kind, "")))) for one in facts]


_PREFIXES: Final = MappingProxyType(
    {FactKind.CONSTRAINT.value: RULED_OUT, FactKind.QUESTION.value: UNCONFIRMED}
)


def _choose(text: str, entries: Sequence[tuple[str, Sequence[str]]]) -> str | None:
    """Return the entry with a name that begins with a text; raise `UsageError` if there are several."""
    found = find_named(text, entries)
    if len(found) > 1:
        raise UsageError(f"several facts begin with {text[:60]!r}", hint="give more of the text")
    return found[0] if found else None
