"""The fact: one thing a session must not lose (C56)."""

import unicodedata
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from passdown.core.fields import read_choice, read_instant
from passdown.core.ids import FactId, fact_id
from passdown.core.jsontext import dump, text_of
from passdown.core.problems import Malformed
from passdown.core.times import Stamp, render_millis
from passdown.records import record


class FactKind(StrEnum):
    """What a line of a journal is about; a kind from a newer version is kept as it is."""

    GOAL = "goal"
    NOW = "now"
    NEXT = "next"
    DONE = "done"
    DECISION = "decision"
    CONSTRAINT = "constraint"
    QUESTION = "question"
    ANSWER = "answer"
    FEEDBACK = "feedback"
    NOTE = "note"
    CLAIM = "claim"
    RESERVATION = "reservation"
    CHECKPOINT = "checkpoint"
    RECEIPT = "receipt"
    RETRACTION = "retraction"
    START = "start"
    HOST = "host"
    HEARTBEAT = "heartbeat"
    BINDING = "binding"
    END = "end"
    PROMPT = "prompt"
    FILE = "file"
    READ = "read"
    COMMIT = "commit"
    TEST = "test"
    COMMAND = "command"
    PLAN = "plan"
    BOOKMARK = "bookmark"
    DELIVERY = "delivery"


class Provenance(StrEnum):
    """How we know: an agent said so, we saw it, or a command confirmed it."""

    STATED = "stated"
    OBSERVED = "observed"
    VERIFIED = "verified"


@record
class Fact:
    """One thing a session must not lose, with its author and its time."""

    kind: Annotated[str, "What it is: goal, now, done, decision, …"]
    text: Annotated[str, "What is the case."]
    at: Annotated[datetime, "When, by the hybrid clock."]
    agent: Annotated[str, "Who said or saw it."]
    key: Annotated[str | None, "A decision's key, or the id of the fact that is retracted or answered."] = (
        None
    )
    because: Annotated[str | None, "The reason."] = None
    provenance: Annotated[Provenance, "How we know."] = Provenance.STATED
    others: Annotated[tuple[tuple[str, str], ...], "Further members: name and JSON value."] = ()

    @property
    def id(self) -> FactId:
        """The fact's id: a function of its kind and text."""
        return fact_id(self.kind, self.text)

    @property
    def stamp(self) -> Stamp:
        """Where it stands in the order of facts."""
        return Stamp(at=self.at, agent=self.agent, id=self.id)


_MEMBERS: Final = ("kind", "text", "at", "agent", "key", "because", "provenance")


def parse_fact(members: Mapping[str, object]) -> Fact:
    """Read a fact from a JSON object; raise `Malformed` when a member is missing or does not fit."""
    kind, text = _needed(members, "kind"), _needed(members, "text")
    provenance = text_of(members.get("provenance"), "provenance")
    return Fact(
        kind=kind,
        text=text,
        at=read_instant(_needed(members, "at")),
        agent=_needed(members, "agent"),
        key=text_of(members.get("key"), "key"),
        because=text_of(members.get("because"), "because"),
        provenance=read_choice(provenance, Provenance) if provenance else Provenance.STATED,
        others=tuple((name, dump(value)) for name, value in members.items() if name not in _MEMBERS),
    )


def _needed(members: Mapping[str, object], name: str) -> str:
    text = text_of(members.get(name), name)
    if text is None:
        raise Malformed(f"`{name}` is missing")
    return text


def render_fact(fact: Fact) -> str:
    """Write a fact as a JSON object on one line; what is absent or the default is left out."""
    provenance = fact.provenance.value if fact.provenance is not Provenance.STATED else None
    values = (fact.kind, fact.text, render_millis(fact.at), fact.agent, fact.key, fact.because, provenance)
    pairs = zip(_MEMBERS, values, strict=True)
    members = [f"{dump(name)}:{dump(value)}" for name, value in pairs if value is not None]
    members += [f"{dump(name)}:{text}" for name, text in fact.others]
    return "{" + ",".join(members) + "}"


def make_key(text: str) -> str:
    """Give what texts of one fact share: the text itself, in one form of Unicode and line ends."""
    if text.isascii() and "\r" not in text:
        return text
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
