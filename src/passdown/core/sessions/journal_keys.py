"""By what an ended session's journal is found without reading it (C129)."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Final

from passdown.core.facts import Fact, identify, identify_retracted, make_key
from passdown.core.formats.journal import JournalLine, facts_of
from passdown.core.ids import fold_nickname
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import read_start

OPERATIONS: Final = "with operations"
"""The key of all journals with operations."""

_DIGITS: Final = 16


def keys_of(session: str, lines: Iterable[JournalLine]) -> frozenset[str]:
    """Return everything under which a session may be looked up.

    1. Its id, its agents and their nicknames, the ids of its host, and the name that the user gave it.
    2. The ids of its operations, and of the results of its subagents.
    3. The facts that it retracted or answered.
    4. The facts that a document may spell differently.
    """
    known = [*lines]
    agents = {agent for line in known for agent in (line.fact.agent, line.agent) if agent}
    keys = {session, *agents, *(nickname_key(agent.rpartition("-")[0]) for agent in agents)}  # 1
    for fact in facts_of(session, known):
        keys.update(_keys_of_fact(fact))
    return frozenset(keys - {""})


def _keys_of_fact(fact: Fact) -> Iterator[str]:
    match fact.kind:
        case FactKind.START:  # 1
            start = read_start(fact)
            yield from (start.host_session, start.name, nickname_key(start.name) if start.name else "")
        case FactKind.HOST:  # 1
            yield fact.text
        case FactKind.OPERATION:  # 2
            yield from (fact.key, OPERATIONS)
        case FactKind.RESULT:  # 2
            yield fact.key
        case FactKind.RETRACTION:  # 3
            yield settled_key(identify_retracted(fact))
        case FactKind.ANSWER:  # 3
            yield settled_key(make_key(fact.key))
        case _:
            pass
    if fact.kind == FactKind.NEXT or fold_space(fact.text) != fact.text:  # 4
        yield from map(told_key, told_names(fact))


def nickname_key(nickname: str) -> str:
    """Return the key of the sessions of agents with a nickname."""
    return f"nickname {fold_nickname(nickname)}"


def settled_key(name: str) -> str:
    """Return the key of the sessions that retracted or answered a fact, named by `core.facts.identify`."""
    return f"settled {_digest(name)}"


def told_key(name: "ToldName") -> str:
    """Return the key of the sessions that recorded a fact with this content."""
    return f"told {_digest(*name)}"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


ToldName = tuple[str, str, str]
"""The content of a fact: its kind, the key of a decision or phase, and the text on one line."""


def told_names(fact: Fact) -> Iterator[ToldName]:
    """Yield the content of a fact as a document may spell it; each next step is a fact."""
    if fact.kind == FactKind.NEXT:
        yield from ((fact.kind, "", fold_space(step)) for step in fact.steps)
    else:
        key = "" if fact.kind == FactKind.CHECKPOINT else fold_space(identify(fact))
        yield fact.kind, key, fold_space(fact.text)


def fold_space(text: str) -> str:
    """Return a text on one line, with single spaces."""
    return " ".join(text.split())
