"""The verbs that state a fact: each writes one fact to the journal, then updates the ledger."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from passdown.core.facts import ADD, FAILED, Fact, find_named, is_escalation
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import RULED_OUT, UNCONFIRMED, NewFact, make_rule, mark_unconfirmed
from passdown.core.sessions.session_facts import Account
from passdown.core.statements import UNSEEN
from passdown.core.times import age_words, render_millis
from passdown.errors import HeldError, PassdownError, SeveralSessionsError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.sessions import (
    find_caller,
    need_person,
    need_session,
    note_ledger_update,
    open_sessions,
)
from passdown.services.sessions.ledgers import LedgerUpdate, update_ledger
from passdown.services.sessions.liveness import list_here
from passdown.services.workspace.workspaces import Workspace

if TYPE_CHECKING:
    from passdown.core.sessions.decisions import KeyHistory


class _Told(TypedDict, total=False):
    """What is told of a fact besides itself."""

    echo: str
    lines: Sequence[str]
    more: Mapping[str, object]
    hint: str


RETRACTABLE: Final = tuple(kind for kind in FactKind if kind.row.can_retract)


def state_fact(
    kind: FactKind, /, *, text: str, session: str, as_json: bool, key: str = "", because: str = ""
) -> int:
    """Record one fact of the chosen session."""
    new_facts = _clean(NewFact(kind, text, key, because))
    workspace = open_sessions()
    return _report(workspace, need_session(workspace, session), [new_facts], as_json=as_json)


def state_decision(
    kind: FactKind, /, *, key: str, replace: bool, session: str, as_json: bool, **said_as: str
) -> int:
    """Record a decision; another session's is replaced only on request, and what is replaced is shown."""
    from passdown.faces.cli.project import open_here  # only decisions look at what others decided
    from passdown.services.sessions.decisions import plan_decision

    said = _clean(NewFact(kind, said_as["text"], key.strip(), said_as["because"]))
    project = open_here()
    account = need_session(project.workspace, session)
    planned = project.call(lambda workspace: plan_decision(workspace, account, said))
    shown = [_show_old(project.workspace, old) for old in planned.replaces]
    if shown and planned.free_key and not replace:
        what = "it" if len(shown) == 1 else "them"
        raise HeldError(
            f"{planned.fact.key} is decided already: {UNSEEN.join(shown)}",
            hint=f"add --replace to replace {what}, or use another key, such as {planned.free_key}",
        )
    old = planned.replaces[0] if planned.replaces else None
    more = {
        "key": planned.fact.key,
        "replaces": _describe_old(old),
        "also_replaces": [_describe_old(one) for one in planned.replaces[1:]],
    }
    lines = [f"replaces: {text}" for text in shown]
    return _report(
        project.workspace, planned.speaker, [planned.fact], as_json=as_json, lines=lines, more=more
    )


def _show_old(workspace: Workspace, old: Fact) -> str:
    """Say what a decision is, whose, and how old."""
    return f"{old.text} ({old.agent}, {age_words(workspace.now() - old.at)} ago)"


def _describe_old(old: Fact | None) -> dict[str, object] | None:
    if old is None:
        return None
    return {"text": old.text, "agent": old.agent, "session": old.session or None, "at": render_millis(old.at)}


def state_done(kind: FactKind, /, *, text: str, once: bool, session: str, as_json: bool) -> int:
    """Record what is done, and that it must not be done again; without a text, the current work is done."""
    workspace = open_sessions()
    account = need_session(workspace, session)
    if not text and account.now is None:
        raise UsageError(
            "there is no current work to mark as done", hint='say what is done: `passdown done "TEXT"`'
        )
    text = text.strip() or (account.now.text if account.now else "")
    said = NewFact(kind, text)
    if not once:
        return _report(workspace, account, [said], as_json=as_json)
    facts = [said, NewFact(FactKind.RECEIPT, text)]
    return _report(workspace, account, facts, as_json=as_json, echo=f"{_ONCE}: {text}")


_ONCE: Final = "done, not to be done again"


def state_now(kind: FactKind, /, *, text: str, clear: bool, session: str, as_json: bool) -> int:
    """Record what is being done now, or that nothing is."""
    if not clear:
        return state_fact(kind, text=text, session=session, as_json=as_json)
    if text:
        raise UsageError("give either a text or --clear", hint='say it like `passdown now "TEXT"`')
    workspace = open_sessions()
    account = need_session(workspace, session)
    cleared = [NewFact(FactKind.RETRACTION, account.now.text, kind.value)] if account.now else []
    kept = update_ledger(workspace, account, cleared)
    note_ledger_update(kept)
    if as_json:
        output.say_json(_describe(kept, kind, ""))
    else:
        output.say(f"no longer now: {account.now.text}" if account.now else "there was no current work")
    return 0


def state_next(kind: FactKind, /, *, texts: Sequence[str], session: str, as_json: bool, add: bool) -> int:
    """Record the next steps, one line for each."""
    lines = "\n".join(" ".join(text.split()) for text in texts if text.strip())
    return state_fact(kind, text=lines, key=ADD if add else "", session=session, as_json=as_json)


def rule_out(kind: FactKind, /, *, text: str, because: str, session: str, as_json: bool) -> int:
    """Record what is ruled out."""
    rule = make_rule(text.strip(), because.strip()) if text.strip() else ""
    return state_fact(kind, text=rule, session=session, as_json=as_json)


def ask_question(kind: FactKind, /, *, text: str, unconfirmed: bool, session: str, as_json: bool) -> int:
    """Record a question, or an assumption that nobody has verified (R77)."""
    said = mark_unconfirmed(text.strip()) if unconfirmed and text.strip() else text.strip()
    return state_fact(kind, text=said, session=session, as_json=as_json)


def answer_question(kind: FactKind, /, *, question: str, text: str, session: str, as_json: bool) -> int:
    """Answer the question or feedback that starts with a text: of this session, or open in the project."""
    workspace = open_sessions()
    account = _need_answering(workspace, session, question)
    answered = [(one.key, (one.key,)) for one in account.of(kind)]  # a new answer replaces it
    waiting = _list_waiting(account.of)
    found = _choose(question, _names(waiting)) or _choose(question, answered)
    if found is None:
        waiting = _list_open(workspace, account)
        found = _choose(question, _names(waiting))
    if found is None:
        hint = "`passdown brief` lists the open questions and the unanswered feedback"
        raise UsageError(f"no open question or feedback begins with {question[:60]!r}", hint=hint)
    if is_escalation(found):
        return _answer_gate(workspace, account, NewFact(kind, text, found), session, as_json=as_json)
    is_feedback = any(one.kind == FactKind.FEEDBACK and one.text == found for one in waiting)
    over = [NewFact(FactKind.RETRACTION, found, FactKind.FEEDBACK.value)] if is_feedback else []
    return _report(workspace, account, [NewFact(kind, text, found), *over], as_json=as_json)


def _need_answering(workspace: Workspace, session: str, question: str) -> Account:
    """Find the session that keeps an answer; if several run, a person's answer goes to the one that asked."""
    try:
        return need_session(workspace, session)
    except SeveralSessionsError:
        if not find_caller(session).is_person:
            raise
        running = list_here(workspace)
        asking = (one for one in running if _choose(question, _names(_list_waiting(one.of))))
        return next(asking, running[0])


def _answer_gate(
    workspace: Workspace, account: Account, said: NewFact, session: str, *, as_json: bool
) -> int:
    """Let a person lift the escalation of a gate; keep what an agent answers as a comment (C154)."""
    from passdown.core.work.gates import answer_escalation  # few questions are those of gates
    from passdown.services.handover.briefs import read_brief_input

    caller = find_caller(session)
    _clean(said)
    known = read_brief_input(workspace, account, tells_peers=True).of(FactKind.COMMENT)
    comments = dict.fromkeys(one.text for one in (*account.of(FactKind.COMMENT), *known))
    facts = answer_escalation(said.key, said.text, comments, is_person=caller.is_person)
    if caller.is_person:
        return _report(workspace, account, facts, as_json=as_json)
    kept = f"kept as a comment: only a person can lift an escalated gate, not an agent ({caller.because})"
    more = {"question": said.key, "is_answered": False, "because": caller.because}
    hint = f'a person decides, at a terminal of their own: `passdown answer "{said.key[:40]}" TEXT`'
    lines = [output.wrapped(kept, "", "  ")]
    _report(workspace, account, facts, as_json=as_json, lines=lines, more=more, hint=hint)
    return PassdownError.exit_code


def _list_waiting(facts_of: Callable[[FactKind], Sequence[Fact]]) -> Sequence[Fact]:
    """List the questions and the feedback that wait for an answer."""
    return [one for kind in (FactKind.QUESTION, FactKind.FEEDBACK) for one in facts_of(kind)]


def _list_open(workspace: Workspace, account: Account) -> Sequence[Fact]:
    """List what other or earlier sessions asked."""
    from passdown.services.handover.briefs import read_brief_input  # most sessions answer their own questions

    return _list_waiting(read_brief_input(workspace, account, tells_peers=True).of)


def _names(facts: Sequence[Fact]) -> Sequence[tuple[str, Sequence[str]]]:
    """Return each text, and what it may be called: the prefixes that we add may be left out."""
    return [(one.text, (one.text, one.text.removeprefix(_PREFIXES.get(one.kind, "")))) for one in facts]


_PREFIXES: Final = MappingProxyType(
    {FactKind.CONSTRAINT.value: RULED_OUT, FactKind.QUESTION.value: UNCONFIRMED}
)


def retract_fact(kind: FactKind, /, *, text: str, of_kind: str | None, session: str, as_json: bool) -> int:
    """Retract the fact that starts with a text."""
    workspace = open_sessions()
    account = need_session(workspace, session)
    own = [fact for one in ([FactKind(of_kind)] if of_kind else RETRACTABLE) for fact in account.of(one)]
    if found := _find(own, text):
        of, name = found
        _need_allowed(of, name, session)
        return _retract(workspace, account, NewFact(kind, name, of.value), text, as_json=as_json)
    decision = FactKind.DECISION.value
    if (not of_kind or of_kind == decision) and (key := _find_contested(workspace, text)):
        return _retract(workspace, account, NewFact(kind, key, decision), text, as_json=as_json)
    if of_kind:  # stated by another session, or before this one
        name = _find_told(workspace, account, FactKind(of_kind), text)
        _need_allowed(FactKind(of_kind), name, session)
        return _retract(workspace, account, NewFact(kind, name, of_kind), text, as_json=as_json)
    result = _find_result(workspace, account, text)
    if result is not None:
        return _retract(
            workspace, account, NewFact(kind, result, FactKind.RECEIPT.value), text, as_json=as_json
        )
    hint = "to retract another session's fact, give its text and --kind"
    raise UsageError(f"this session has no fact that begins with {text[:60]!r}", hint=hint)


def _need_allowed(kind: FactKind, text: str, session: str) -> None:
    """Raise a UsageError if only a person may take a fact back, and no person does (C154)."""
    if kind is FactKind.QUESTION and is_escalation(text):
        need_person("take back the question of an escalated gate", session, hint="a person answers it")


def _find_result(workspace: Workspace, account: Account, text: str) -> str | None:
    """Find the command of a test in the brief, by its text or by another way to spell it (C121)."""
    from passdown.core.facts import command_of
    from passdown.core.test_names import name_of
    from passdown.services.handover.briefs import read_brief_input  # few facts that are retracted are tests

    wanted = text.removeprefix(FAILED)
    found = [one.text for one in read_brief_input(workspace, account).of(FactKind.RECEIPT)]
    commands = {command_of(one): one for one in found}
    same = next((one for one in commands if name_of(one) == name_of(command_of(wanted))), None)
    return same or _choose(wanted, [(name, (name, shown)) for name, shown in commands.items()])


def _find_told(workspace: Workspace, account: Account, kind: FactKind, text: str) -> str:
    """Return what names a fact of another session that a brief tells, or the text itself."""
    from passdown.services.handover.briefs import read_brief_input  # most sessions retract their own facts

    found = _find(read_brief_input(workspace, account).of(kind), text)
    return found[1] if found else text


def _find_contested(workspace: Workspace, text: str) -> str:
    from passdown.services.sessions.decisions import find_contested_key  # few facts are decisions

    return find_contested_key(workspace, text)


def _retract(workspace: Workspace, account: Account, said: NewFact, text: str, *, as_json: bool) -> int:
    """Retract a fact; for a decision, name the one that it had replaced, and how to bring that back.

    Of decisions that contradict each other, a text that is the words of one takes out that one (C162).
    """
    if said.key != FactKind.DECISION:
        is_once = said.key == FactKind.DONE and any(
            one.text == said.text for one in account.of(FactKind.RECEIPT)
        )
        also = [said._replace(key=FactKind.RECEIPT.value)] if is_once else []
        return _report(workspace, account, [said, *also], as_json=as_json)
    import shlex  # few facts that are retracted are decisions

    from passdown.services.sessions.decisions import find_history, retract_only

    history = find_history(workspace, account, said.text)
    gone = history.choose(text) if history.contested and text != said.text else history.in_force
    if gone:  # what is named was shown
        said = retract_only(said, gone)
    kept = [one for one in history.shown if one not in gone]
    old = history.replaced if history.held in gone and not kept else None
    lines = [
        *_show_retracted(workspace, account, history, gone),
        *(f"still decided: {_show_old(workspace, one)}" for one in kept),
        *([f"it had replaced: {_show_old(workspace, old)}"] if old else []),
    ]
    command = shlex.join(["passdown", "decide", said.text, old.text]) if old else ""
    hint = f"to bring that back: `{command}`" if old else ""
    more = {"replaced": _describe_old(old), "still_decided": [_describe_old(one) for one in kept]}
    return _report(workspace, account, [said], as_json=as_json, lines=lines, more=more, hint=hint)


def _show_retracted(
    workspace: Workspace, account: Account, history: "KeyHistory", gone: Sequence[Fact]
) -> Iterator[str]:
    """Yield what is taken out, unless it is only what the session itself decided."""
    for one in history.shown:
        if one in gone and (history.contested or one.session != account.session):
            yield f"it was: {_show_old(workspace, one)}"


def _report(
    workspace: Workspace,
    account: Account,
    facts: Sequence[NewFact],
    *,
    as_json: bool,
    **told: Unpack["_Told"],
) -> int:
    """Record facts, and print the first one, and what is told with it."""
    said = _clean(facts[0])
    kept = update_ledger(workspace, account, [said, *facts[1:]])
    note_ledger_update(kept)
    if said.kind is FactKind.DECISION and account.track:
        from passdown.services.handover.streams import refresh_stream  # few sessions have a track

        refresh_stream(workspace, kept.account)
    if as_json:
        output.say_json({**_describe(kept, said.kind, said.text), **told.get("more", {})})
    else:
        output.say("\n".join((told.get("echo") or _echo(said), *told.get("lines", ()))))
    if hint := told.get("hint"):
        output.note_hint(hint)
    return 0


def _describe(kept: LedgerUpdate, kind: FactKind, text: str) -> dict[str, object]:
    return {
        "session": kept.account.session,
        "agent": kept.account.agent,
        "line": kept.account.last_seq,
        "kind": kind.value,
        "text": text,
        "ledger": kept.account.start.ledger,
        "is_ledger_written": not kept.problems and not kept.is_elsewhere,
    }


def _echo(new_fact: NewFact) -> str:
    """Return what was recorded, in one line."""
    if new_fact.kind is FactKind.CONSTRAINT:
        return new_fact.text
    reason = f" ({new_fact.because})" if new_fact.because else ""
    key = f" {new_fact.key}" if new_fact.kind is FactKind.DECISION else ""
    return f"{new_fact.kind.value}{key}: {new_fact.text.replace(chr(10), '; ')}{reason}"


def _clean(new_fact: NewFact) -> NewFact:
    """Strip a fact; raise `UsageError` if its text is empty."""
    text = new_fact.text.strip()
    if not text:
        raise UsageError(f"{new_fact.kind.value} needs a text", hint="write a short sentence in quotes")
    return new_fact._replace(text=text, because=new_fact.because.strip())


def _find(facts: Sequence[Fact], text: str) -> tuple[FactKind, str] | None:
    """Find a fact by its text, the start of it, or a decision's key: its kind, and what names it there.

    A text that two kinds have is the first one's, as that of `done --once`.
    """
    called: dict[str, tuple[FactKind, Sequence[str]]] = {}
    for kind in RETRACTABLE:
        for name, names in _names_of_kind(kind, facts):
            called.setdefault(name, (kind, names))
    chosen = _choose(text, [(name, names) for name, (_, names) in called.items()])
    return None if chosen is None else (called[chosen][0], chosen)


def _names_of_kind(kind: FactKind, facts: Sequence[Fact]) -> Sequence[tuple[str, Sequence[str]]]:
    own = [one for one in facts if one.kind == kind]
    return [(one.key, (one.key, one.text)) for one in own] if kind is FactKind.DECISION else _names(own)


def _choose(text: str, entries: Sequence[tuple[str, Sequence[str]]]) -> str | None:
    """Return what a text names, by one of its names or the start of one; raise `UsageError` if many do."""
    found = find_named(text, entries)
    if len(found) > 1:
        raise UsageError(f"several facts begin with {text[:60]!r}", hint="give more of the text")
    return found[0] if found else None
