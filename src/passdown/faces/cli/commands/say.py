"""The everyday verbs: each writes one fact down for good, then brings the ledger up to date."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Final, TypeVar

import click

from passdown.core.bookkeeping import Said
from passdown.core.facts import FactKind
from passdown.faces.cli.saying import (
    RETRACTABLE,
    Way,
    say,
    say_answer,
    say_done,
    say_next,
    say_retraction,
    say_rule,
)

F = TypeVar("F", bound=Callable[..., object])


def _options(function: F) -> F:
    """Give a verb the options that all have."""
    session = click.option("--session", default="", metavar="ID", help="The session that says it.")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
    return session(as_json(function))


@click.command()
@click.argument("text")
@_options
def goal(text: str, session: str, *, as_json: bool) -> int:
    """Say what the session is to achieve, in one or two sentences."""
    return say(Said(FactKind.GOAL, text), Way(session, as_json))


@click.command()
@click.argument("text")
@_options
def now(text: str, session: str, *, as_json: bool) -> int:
    """Say what you are doing; one thing at a time."""
    return say(Said(FactKind.NOW, text), Way(session, as_json))


@click.command()
@click.argument("text", required=False, default="")
@_options
def done(text: str, session: str, *, as_json: bool) -> int:
    """Say what is finished; without a text, what you were doing is."""
    return say_done(text, Way(session, as_json))


@click.command(name="next")
@click.argument("texts", nargs=-1, required=True)
@click.option("--add", is_flag=True, help="Add to the list instead of replacing it.")
@_options
def next_(texts: tuple[str, ...], session: str, *, add: bool, as_json: bool) -> int:
    """Say what comes after, one argument for each step, in order."""
    return say_next(texts, Way(session, as_json), add=add)


@click.command()
@click.argument("key")
@click.argument("text")
@click.option("--because", default="", metavar="REASON", help="Why.")
@_options
def decide(key: str, text: str, because: str, session: str, *, as_json: bool) -> int:
    """Record a choice under a key; a later one of the same key takes its place."""
    return say(Said(FactKind.DECISION, text, key, because), Way(session, as_json))


@click.command(name="rule-out")
@click.argument("text")
@click.option("--because", default="", metavar="REASON", help="Why.")
@_options
def rule_out(text: str, because: str, session: str, *, as_json: bool) -> int:
    """Say what must not be done, and why, so that nobody tries it again."""
    return say_rule(text, because, Way(session, as_json))


@click.command()
@click.argument("text")
@_options
def ask(text: str, session: str, *, as_json: bool) -> int:
    """Write down a question that somebody must answer."""
    return say(Said(FactKind.QUESTION, text), Way(session, as_json))


@click.command()
@click.argument("question")
@click.argument("text")
@_options
def answer(question: str, text: str, session: str, *, as_json: bool) -> int:
    """Answer a question; QUESTION is its text, or the start of it."""
    return say_answer(question, text, Way(session, as_json))


@click.command()
@click.argument("text")
@_options
def note(text: str, session: str, *, as_json: bool) -> int:
    """Write a note to yourself; it stays on this machine."""
    return say(Said(FactKind.NOTE, text), Way(session, as_json))


@click.command()
@click.argument("text")
@click.option("--kind", type=click.Choice([kind.value for kind in RETRACTABLE]), help="Which kind of fact.")
@_options
def retract(text: str, kind: str | None, session: str, *, as_json: bool) -> int:
    """Take back what was said; TEXT is its text, the start of it, or a decision's key."""
    return say_retraction(text, Way(session, as_json), kind)


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
