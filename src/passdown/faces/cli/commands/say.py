"""The everyday verbs: each writes one fact down for good, then brings the ledger up to date."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, TypeVar

import click

from passdown.core.accounts import ADD, Account
from passdown.core.bookkeeping import Said
from passdown.core.facts import FactKind
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.sessions import need_session, note_kept, open_sessions
from passdown.services.journals import Project
from passdown.services.ledgers import keep_ledger

F = TypeVar("F", bound=Callable[..., object])

_RETRACTABLE: Final = (
    FactKind.DONE,
    FactKind.DECISION,
    FactKind.CONSTRAINT,
    FactKind.QUESTION,
    FactKind.NEXT,
    FactKind.NOTE,
    FactKind.FEEDBACK,
    FactKind.RECEIPT,
)


def _options(function: F) -> F:
    """Give a verb the options that all have."""
    session = click.option("--session", default="", metavar="ID", help="The session that says it.")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    return session(as_json(function))


def _say(session: str, said: Said, *, as_json: bool) -> int:
    said = _clean(said)
    project = open_sessions()
    return _report(project, need_session(project, session), said, as_json=as_json)


def _report(project: Project, account: Account, said: Said, *, as_json: bool) -> int:
    said = _clean(said)
    kept = keep_ledger(project, account, [said])
    note_kept(kept)
    if as_json:
        output.say_json(
            {
                "session": kept.account.session,
                "agent": kept.account.agent,
                "line": kept.account.last_seq,
                "kind": said.kind.value,
                "text": said.text,
                "ledger": kept.account.start.ledger,
                "is_ledger_written": not kept.problems and not kept.is_elsewhere,
            }
        )
    else:
        output.say(f"{said.kind.value}: {said.text}")
    return 0


def _clean(said: Said) -> Said:
    """Refuse a fact that says nothing."""
    text = said.text.strip()
    if not text:
        raise UsageError(f"{said.kind.value} needs a text", hint="say it in a few words, in quotes")
    return said._replace(text=text, because=said.because.strip())


@click.command()
@click.argument("text")
@_options
def goal(text: str, session: str, *, as_json: bool) -> int:
    """Say what the session is to achieve, in one or two sentences."""
    return _say(session, Said(FactKind.GOAL, text), as_json=as_json)


@click.command()
@click.argument("text")
@_options
def now(text: str, session: str, *, as_json: bool) -> int:
    """Say what you are doing; one thing at a time."""
    return _say(session, Said(FactKind.NOW, text), as_json=as_json)


@click.command()
@click.argument("text", required=False, default="")
@_options
def done(text: str, session: str, *, as_json: bool) -> int:
    """Say what is finished; without a text, what you were doing is."""
    project = open_sessions()
    account = need_session(project, session)
    if not text and account.now is None:
        raise UsageError("nothing is being done that could be finished", hint='say what: done "TEXT"')
    said = Said(FactKind.DONE, text or (account.now.text if account.now else ""))
    return _report(project, account, said, as_json=as_json)


@click.command(name="next")
@click.argument("texts", nargs=-1, required=True)
@click.option("--add", is_flag=True, help="Add to the list instead of replacing it.")
@_options
def next_(texts: tuple[str, ...], session: str, *, add: bool, as_json: bool) -> int:
    """Say what comes after, one argument for each step, in order."""
    lines = "\n".join(" ".join(text.split()) for text in texts if text.strip())
    return _say(session, Said(FactKind.NEXT, lines, ADD if add else ""), as_json=as_json)


@click.command()
@click.argument("key")
@click.argument("text")
@click.option("--because", default="", metavar="REASON", help="Why.")
@_options
def decide(key: str, text: str, because: str, session: str, *, as_json: bool) -> int:
    """Record a choice under a key; a later one of the same key takes its place."""
    return _say(session, Said(FactKind.DECISION, text, key, because), as_json=as_json)


@click.command(name="rule-out")
@click.argument("text")
@click.option("--because", default="", metavar="REASON", help="Why.")
@_options
def rule_out(text: str, because: str, session: str, *, as_json: bool) -> int:
    """Say what must not be done, or must hold, so that nobody tries it again."""
    return _say(session, Said(FactKind.CONSTRAINT, text, because=because), as_json=as_json)


@click.command()
@click.argument("text")
@_options
def ask(text: str, session: str, *, as_json: bool) -> int:
    """Write down a question that somebody must answer."""
    return _say(session, Said(FactKind.QUESTION, text), as_json=as_json)


@click.command()
@click.argument("question")
@click.argument("text")
@_options
def answer(question: str, text: str, session: str, *, as_json: bool) -> int:
    """Answer a question; QUESTION is its text, or the start of it."""
    project = open_sessions()
    account = need_session(project, session)
    found = _find(account, FactKind.QUESTION, question)
    return _report(project, account, Said(FactKind.ANSWER, text, found or question), as_json=as_json)


@click.command()
@click.argument("text")
@_options
def note(text: str, session: str, *, as_json: bool) -> int:
    """Write a note to yourself; it stays on this machine."""
    return _say(session, Said(FactKind.NOTE, text), as_json=as_json)


@click.command()
@click.argument("text")
@click.option("--kind", type=click.Choice([kind.value for kind in _RETRACTABLE]), help="Which kind of fact.")
@_options
def retract(text: str, kind: str | None, session: str, *, as_json: bool) -> int:
    """Take back what was said; TEXT is its text, the start of it, or a decision's key."""
    project = open_sessions()
    account = need_session(project, session)
    kinds = [FactKind(kind)] if kind else list(_RETRACTABLE)
    for one in kinds:
        found = _find(account, one, text)
        if found is not None:
            return _report(project, account, Said(FactKind.RETRACTION, found, one.value), as_json=as_json)
    if kind:  # said by somebody else, or before this session
        return _report(project, account, Said(FactKind.RETRACTION, text, kind), as_json=as_json)
    hint = "give the whole text and its --kind for a fact of another session"
    raise UsageError(f"this session has said nothing that begins with {text[:60]!r}", hint=hint)


def _find(account: Account, kind: FactKind, text: str) -> str | None:
    """Find a fact by its text, the start of it, or a decision's key; None when there is none, or several."""
    entries = account.of(kind)
    names = [(entry.key if kind is FactKind.DECISION else entry.text, entry.text) for entry in entries]
    exact = [name for name, shown in names if text in {name, shown}]
    begun = [name for name, shown in names if shown.startswith(text) or name.startswith(text)]
    found = exact or begun
    if len(found) > 1:
        raise UsageError(f"several facts begin with {text[:60]!r}", hint="give more of the text")
    return found[0] if found else None


VERBS: Final = MappingProxyType(
    {
        "goal": goal,
        "now": now,
        "done": done,
        "next": next_,
        "decide": decide,
        "rule-out": rule_out,
        "ask": ask,
        "answer": answer,
        "note": note,
        "retract": retract,
    }
)
