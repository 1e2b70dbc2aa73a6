"""Decisions that did not know of each other, as answers tell them (C162)."""

from collections.abc import Sequence
from typing import Final

from passdown.actions.answers import Form
from passdown.core.facts import Fact
from passdown.core.times import render_millis


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


CONTESTED: Final = Form(describe_contested)
