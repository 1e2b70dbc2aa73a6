"""Which decisions under one key are in force: those that nothing replaces (C162).

A decision, and a retraction of one, names the statements that were in force for its writer when it spoke.
What two writers decided without knowing of each other therefore stays side by side, and is shown.

1. A statement is named by its session and its number there, or by its event if that tells no number.
2. Facts are taken in their order, the oldest first, so each replaces only what ranks before it. One that
   does not tell what it replaces, as older versions write it, replaces all of that. What a session decides
   replaces what it decided before, since it knows its own journal.
3. A statement that is carried on is the statement it repeats; the newest copy stands for both. In the journal
   of a session it does not overrule what the session itself stated.
4. The newest statement in force wins. The others are shown beside it, each wording once.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, cast

from passdown.core.facts import Fact, make_key
from passdown.core.json_text import dump
from passdown.core.lazy_regex import pattern

REPLACES: Final = "replaces"
"""The further member of a decision, or of a retraction of one: the names of the statements it replaces."""

CARRIED: Final = "of"
"""The further member of a decision that is carried on: the name of the statement that it repeats."""

UNSEEN: Final = "; also decided, unseen by the other: "
"""What stands between decisions of one key whose writers did not know of each other."""

CONTRADICTION: Final = "Contradiction: "
"""How a line begins that shows such decisions, where nothing else tells what it is."""

EVENT_NAME: Final = 16
"""How many characters of an event's hash name it."""

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
    """Return the name of a statement (1); empty if nothing tells where it comes from."""
    if fact.others and (carried := read_carried(fact)):
        return carried
    if fact.seq and _SESSION.fullmatch(fact.session):
        return f"{fact.session}:{fact.seq}"
    return fact.event[:EVENT_NAME]


def read_carried(fact: Fact) -> str:
    """Return the name of the statement that a fact repeats; empty if it is the statement itself."""
    found = _read(fact, CARRIED)
    return found if isinstance(found, str) and is_name(found) else ""


def list_replaced(fact: Fact) -> tuple[str, ...] | None:
    """Return the names of what a statement or retraction replaces; None if it does not tell."""
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
    """Return the further member that names what is replaced; none if nobody knows."""
    return () if names is None else ((REPLACES, dump(sorted(set(names)))),)


def write_carried(name: str) -> tuple[tuple[str, str], ...]:
    """Return the further member that names the statement that is repeated."""
    return ((CARRIED, dump(name)),) if name else ()


def carry(fact: Fact) -> tuple[tuple[str, str], ...]:
    """Return the further members of a statement that repeats a fact (3)."""
    return (*write_carried(name_statement(fact)), *write_replaced(list_replaced(fact)))


def with_replaced(fact: Fact, names: Iterable[str] | None) -> Fact:
    """Return a fact that names these statements as replaced, in place of those that it names."""
    kept = tuple(pair for pair in fact.others if pair[0] != REPLACES)
    return fact._replace(others=(*kept, *write_replaced(names)))


def list_other_words(in_force: Sequence[Fact]) -> tuple[Fact, ...]:
    """Return the statements in force that are shown, the newest first: each wording once (4)."""
    shown: dict[str, Fact] = {}
    for fact in reversed(in_force):
        shown.setdefault(make_key(fact.text), fact)
    return tuple(shown.values())
