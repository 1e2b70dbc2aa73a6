"""Decides which decisions under one key are in force: those that no other replaces (C162).

A decision, or a retraction of one, names the statements that were in force for its writer at that time. So
what two writers decided without knowing of each other stays side by side, and both are shown.

1. A statement is named by its session and its number there, or by its event if the number is unknown.
2. Facts are taken in order, oldest first, so a statement replaces only what ranks before it. A statement
   that does not say what it replaces, as older versions write it, replaces everything before it. A session
   knows its own journal, so its decision replaces its own earlier ones.
3. A statement that is carried on repeats another; the two count as one. In a session's journal it does not
   overrule what the session itself stated.
4. The newest statement in force wins. The others are shown beside it, each wording once.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, cast

from passdown.core.facts import Fact, make_key
from passdown.core.json_text import dump
from passdown.core.lazy_regex import pattern

REPLACES: Final = "replaces"
"""The further member of a decision or its retraction: the names of the statements it replaces."""

CARRIED: Final = "of"
"""The further member of a decision that is carried on: the name of the statement it repeats."""

UNSEEN: Final = "; also decided, unseen by the other: "
"""Separates decisions under one key whose writers did not know of each other."""

CONTRADICTION: Final = "Contradiction: "
"""How a line with such decisions starts, where nothing else marks it."""

EVENT_NAME: Final = 16
"""How many characters of an event's hash make up its name."""

_SESSION: Final = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_NAME: Final = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}:[0-9]{1,15}|[0-9a-f]{16}")


def is_name(text: str) -> bool:
    """Return whether a text can name a statement."""
    return _NAME.fullmatch(text) is not None


class StatementOrigin(NamedTuple):
    """The session that made a statement, and its number there."""

    session: str
    number: int


def read_name(name: str) -> StatementOrigin | None:
    """Read the session and number of a name; None if it names an event."""
    session, _, number = name.rpartition(":")
    return StatementOrigin(session, int(number)) if session else None


def name_statement(fact: Fact) -> str:
    """Return the name of a statement (1); empty if its origin is unknown."""
    if fact.others and (carried := read_carried(fact)):
        return carried
    if fact.seq and _SESSION.fullmatch(fact.session):
        return f"{fact.session}:{fact.seq}"
    return fact.event[:EVENT_NAME]


def read_carried(fact: Fact) -> str:
    """Return the name of the statement that a fact repeats; empty if it repeats none."""
    found = _read(fact, CARRIED)
    return found if isinstance(found, str) and is_name(found) else ""


def list_replaced(fact: Fact) -> tuple[str, ...] | None:
    """Return the names of what a statement or retraction replaces; None if it does not say."""
    found = _read(fact, REPLACES) if fact.others else None
    return tuple(map(str, cast("list[object]", found))) if isinstance(found, list) else None


def _read(fact: Fact, name: str) -> object:
    for member, text in fact.others:
        if member == name:
            try:
                return json.loads(text)
            except (ValueError, RecursionError):
                return None
    return None


def write_replaced(names: Iterable[str] | None) -> tuple[tuple[str, str], ...]:
    """Return the further member that names what is replaced; none if that is unknown."""
    return () if names is None else ((REPLACES, dump(sorted(set(names)))),)


def write_carried(name: str) -> tuple[tuple[str, str], ...]:
    """Return the further member that names the statement that is repeated."""
    return ((CARRIED, dump(name)),) if name else ()


def carry(fact: Fact) -> tuple[tuple[str, str], ...]:
    """Return the further members of a statement that repeats a fact (3)."""
    return (*write_carried(name_statement(fact)), *write_replaced(list_replaced(fact)))


def with_replaced(fact: Fact, names: Iterable[str] | None) -> Fact:
    """Return a fact that names these statements as replaced, instead of its own."""
    kept = tuple(pair for pair in fact.others if pair[0] != REPLACES)
    return fact._replace(others=(*kept, *write_replaced(names)))


def list_other_words(in_force: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the statements in force to show, newest first, each wording once (4)."""
    shown: dict[str, Fact] = {}
    for fact in reversed(in_force):
        shown.setdefault(make_key(fact.text), fact)
    return tuple(shown.values())
