"""Contradicting decisions in answers (C162)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Final

from passdown.actions.answers import MILLIS, Form, describe
from passdown.core.facts import Fact
from passdown.records import record


@record
class ContestedDecision:
    """One of several decisions of a key."""

    text: Annotated[str, "What was decided."]
    agent: Annotated[str, "Who decided it."]
    session: Annotated[str | None, "The session that decided it, if known."]
    at: Annotated[datetime, "When.", MILLIS]
    event: Annotated[str | None, "The hash of its event."]
    branch: Annotated[str | None, "The branch of the other checkout that has it."]


@record
class ContestedKey:
    """A key under which several decisions are in force."""

    key: Annotated[str, "The key."]
    decisions: Annotated[tuple[ContestedDecision, ...], "The decisions; the one in force comes first."]


def describe_contested(contested: Sequence[Sequence[Fact]]) -> tuple[ContestedKey, ...]:
    """Return the contradictions, each with its key."""
    return tuple(
        ContestedKey(key=facts[0].key, decisions=tuple(describe(ContestedDecision, one) for one in facts))
        for facts in contested
    )


CONTESTED: Final = Form(describe_contested)
