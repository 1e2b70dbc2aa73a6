"""Say which decisions did not know of each other (C162)."""

import shlex
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from passdown.core.briefs.contested_lines import say_contested
from passdown.core.facts import Fact
from passdown.core.formats.views import CONTRADICTION
from passdown.core.times import age_words, render_millis
from passdown.faces.cli import output

_LIMIT: Final = 1_000
_FIRST: Final = 10


def list_lines(contested: Sequence[Sequence[Fact]], now: datetime) -> Sequence[str]:
    """Return a line for each key, the newest first; what is not listed is counted."""
    shown = [
        f"{CONTRADICTION}{say_contested(facts, lambda at: age_words(now - at), _LIMIT)}"
        for facts in contested[:_FIRST]
    ]
    left = len(contested) - len(shown)
    more = f"and {left} more: `passdown view list decisions`"
    return [*shown, more] if left else shown


def make_hint(contested: Sequence[Sequence[Fact]]) -> str:
    """Return how to settle the first of them."""
    key = shlex.quote(contested[0][0].key)
    return f'to settle it: `passdown decide {key} "TEXT" --replace`'


def note_contested(contested: Sequence[Sequence[Fact]], now: datetime) -> None:
    """Note the contradictions, and how to settle them."""
    for line in list_lines(contested, now):
        output.note(line)
    if contested:
        output.note_hint(make_hint(contested))


def describe_contested(contested: Sequence[Sequence[Fact]]) -> list[object]:
    """Return the contradictions as JSON data: the decision that holds comes first."""
    return [{"key": facts[0].key, "decisions": [_describe(fact) for fact in facts]} for facts in contested]


def _describe(fact: Fact) -> dict[str, object]:
    return {
        "text": fact.text,
        "agent": fact.agent,
        "session": fact.session or None,
        "at": render_millis(fact.at),
        "event": fact.event or None,
        "branch": fact.branch or None,
    }
