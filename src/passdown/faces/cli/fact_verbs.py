"""The verbs that state a fact: each writes one fact to the journal, then updates the ledger."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from passdown.actions.answers import Answered
from passdown.actions.sessions import facts
from passdown.core.facts import ADD, read_readers
from passdown.core.kinds import FactKind
from passdown.core.safe_text import one_line
from passdown.core.sessions.ledger_sync import NewFact, make_rule, mark_unconfirmed
from passdown.core.times import age_words
from passdown.errors import PassdownError, UsageError
from passdown.faces.cli import output
from passdown.faces.cli.calls import call, show

if TYPE_CHECKING:  # few facts are feedback
    from passdown.actions.work.feedback import FeedbackResult

_ONCE: Final = "done, never to be repeated"


def state_fact(
    kind: FactKind, /, *, text: str, session: str, as_json: bool, key: str = "", because: str = ""
) -> int:
    """Record one fact of the chosen session."""
    answer = call(facts.state, NewFact(kind, text, key, because), session)
    return _report(answer, _echo(answer.result.said), as_json=as_json)


def state_decision(
    kind: FactKind, /, *, key: str, replace: bool, session: str, as_json: bool, **said_as: str
) -> int:
    """Record a decision, and show what it replaces."""
    del kind
    request = facts.DecisionRequest(
        text=said_as["text"], key=key, because=said_as["because"], is_replacing=replace
    )
    answer = call(facts.decide, request, session)
    found = answer.result
    replaced = [found.replaces, *found.also_replaces] if found.replaces else []
    lines = [f"replaces: {_show_old(one, found.now)}" for one in replaced]
    return _report(answer, _echo(found.fact.said), *lines, as_json=as_json)


def _show_old(old: facts.OldDecision, now: datetime) -> str:
    """Render a decision with its author and its age."""
    return f"{old.text} ({old.agent}, {age_words(now - old.at)} ago)"


def state_done(kind: FactKind, /, *, text: str, once: bool, session: str, as_json: bool) -> int:
    """Record what is done, and whether it must never be repeated; without a text, it is the current work."""
    del kind
    answer = call(facts.finish_work, facts.DoneRequest(text=text, is_once=once), session)
    said = answer.result.said
    return _report(answer, f"{_ONCE}: {said.text}" if once else _echo(said), as_json=as_json)


def state_now(kind: FactKind, /, *, text: str, clear: bool, session: str, as_json: bool) -> int:
    """Record the current work, or clear it."""
    if not clear:
        return state_fact(kind, text=text, session=session, as_json=as_json)
    if text:
        raise UsageError(
            "give either a text or --clear", hint='run `passdown now "TEXT"` or `passdown now --clear`'
        )
    answer = call(facts.clear_now, None, session)
    was = answer.result.said.text
    return _report(answer, f"now cleared; it was: {was}" if was else "now is already empty", as_json=as_json)


def state_next(kind: FactKind, /, *, texts: Sequence[str], session: str, as_json: bool, add: bool) -> int:
    """Record the next steps, one line for each."""
    lines = "\n".join(" ".join(text.split()) for text in texts if text.strip())
    return state_fact(kind, text=lines, key=ADD if add else "", session=session, as_json=as_json)


def rule_out(kind: FactKind, /, *, text: str, because: str, session: str, as_json: bool) -> int:
    """Record something that is ruled out."""
    rule = make_rule(text.strip(), because.strip()) if text.strip() else ""
    return state_fact(kind, text=rule, session=session, as_json=as_json)


def ask_question(kind: FactKind, /, *, text: str, unconfirmed: bool, session: str, as_json: bool) -> int:
    """Record a question, or an assumption that nobody has verified (R77)."""
    said = mark_unconfirmed(text.strip()) if unconfirmed and text.strip() else text.strip()
    return state_fact(kind, text=said, session=session, as_json=as_json)


def tell_feedback(kind: FactKind, /, *, text: str, to: str, lists: bool, session: str, as_json: bool) -> int:
    """Record feedback, or list what nobody has answered."""
    del kind
    if not lists:
        answer = call(facts.tell, facts.TellRequest(text=text, to=to), session)
        return _report(answer, _echo(answer.result.said), as_json=as_json)
    if text or to:
        given = "a text" if text else "--to"
        raise UsageError(f"give either {given} or --list", hint='say it like `passdown tell "TEXT"`')
    list_feedback(session, as_json=as_json)
    return 0


def list_feedback(session: str, *, as_json: bool) -> None:
    """List the feedback that nobody has answered."""
    from passdown.actions.work.feedback import list_all  # few facts are feedback

    show(call(list_all, None, session), _say_feedback, as_json=as_json)


def _say_feedback(found: "FeedbackResult") -> None:
    if not found.feedback:
        output.say("No open feedback.")
        return
    for one in found.feedback:
        told = f"shown to {', '.join(one.told)}" if one.told else "not shown to an agent yet"
        readers = f"for {', '.join(one.to)}, " if one.to else ""
        said = f"{one.id}  by {one.agent}, {age_words(found.now - one.at)} ago, {readers}{told}"
        output.say(output.wrapped(said, "", "  "))
        output.say(output.wrapped(one_line(" ".join(one.text.split())), "  ", "  "))
        if one.ledger:
            output.say(f"  in {one.ledger}")
    by_turn = ", or with a turn of its loop" if any(one.ledger for one in found.feedback) else ""
    output.say(f'Answer it: `passdown answer "START OF IT" "TEXT"`{by_turn}.')


def dismiss_feedback(text: str, session: str, *, as_json: bool) -> None:
    """Dismiss feedback, by its id or how it begins."""
    from passdown.actions.work.feedback import dismiss  # few facts are feedback

    answer = call(dismiss, text, session)
    show(answer, lambda found: output.say(f"dismissed: {one_line(found.text)}"), as_json=as_json)


def answer_question(
    kind: FactKind, /, *, question: str, text: str, dismiss: bool, session: str, as_json: bool
) -> int:
    """Answer a question or feedback, or dismiss feedback; say so if the answer was kept as a comment."""
    del kind
    if dismiss:
        if text:
            raise UsageError("--dismiss takes no TEXT", hint="leave out the text, or leave out --dismiss")
        dismiss_feedback(question, session, as_json=as_json)
        return 0
    if not text.strip():
        raise UsageError("answer needs a text", hint="write a short sentence in quotes")
    answer = call(facts.answer, facts.AnswerRequest(question=question, text=text), session)
    found = answer.result
    if not isinstance(found, facts.KeptComment):
        return _report(answer, _echo(found.said), as_json=as_json)
    kept = f"kept as a comment: only a person can lift an escalated gate, not an agent ({found.because})"
    _report(answer, _echo(found.fact.said), output.wrapped(kept, "", "  "), as_json=as_json)
    output.note_hint(
        f'a person decides, in their own terminal: `passdown answer "{found.question[:40]}" TEXT`'
    )
    return PassdownError.exit_code


def retract_fact(kind: FactKind, /, *, text: str, of_kind: str | None, session: str, as_json: bool) -> int:
    """Retract a fact; for a decision, name the one that it had replaced, and how to restore that."""
    del kind
    answer = call(facts.retract, facts.RetractRequest(text=text, of_kind=of_kind or ""), session)
    found = answer.result
    if not isinstance(found, facts.RetractedDecision):
        return _report(answer, _echo(found.said), as_json=as_json)
    lines = [
        *(f"it was: {_show_old(one, found.now)}" for one in found.gone),
        *(f"still in force: {_show_old(one, found.now)}" for one in found.still_decided),
        *([f"it had replaced: {_show_old(found.replaced, found.now)}"] if found.replaced else []),
    ]
    _report(answer, _echo(found.fact.said), *lines, as_json=as_json)
    if found.replaced:
        import shlex  # few facts that are retracted are decisions

        command = shlex.join(["passdown", "decide", found.fact.text, found.replaced.text])
        output.note_hint(f"to restore that: `{command}`")
    return 0


def _report(answer: Answered[object], *lines: str, as_json: bool) -> int:
    """Print what was recorded."""
    show(answer, lambda _: output.say("\n".join(lines)), as_json=as_json)
    return 0


def _echo(new_fact: NewFact) -> str:
    """Return what was recorded, in one line."""
    if new_fact.kind is FactKind.CONSTRAINT:
        return new_fact.text
    reason = f" ({new_fact.because})" if new_fact.because else ""
    key = f" {new_fact.key}" if new_fact.kind is FactKind.DECISION else ""
    readers = f" to {', '.join(found)}" if (found := read_readers(new_fact.others)) else ""
    return f"{new_fact.kind.value}{key}{readers}: {new_fact.text.replace(chr(10), '; ')}{reason}"
