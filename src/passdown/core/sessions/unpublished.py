"""Find unpublished facts: journal lines that may be shared and that no event covers (C57, C61)."""

from collections.abc import Container, Iterable, Sequence
from typing import Final

from passdown.core.facts import UNPUBLISHED, Fact, Provenance, has_result, may_leave
from passdown.core.formats.journal import JournalLine
from passdown.core.kinds import AIMS, INHERITED, FactKind, Merging
from passdown.core.sessions.session_facts import Account

TAKEN_BACK: Final = frozenset(
    kind for kind in FactKind if kind.row.retraction_key or kind.row.merging is Merging.STEPS
)
"""The kinds that an event can retract; the others are retracted only on this machine."""


def open_lines(lines: Iterable[JournalLine], covered: int) -> Sequence[JournalLine]:
    """Return the lines that no event covers and that may be shared (4).

    A retraction of the current step contains its text; if that is a prompt, nobody else knows it, and it
    stays.
    """
    known = [*lines]
    steps = {line.fact.text for line in known if line.fact.kind == FactKind.NOW and may_leave(line.fact)}
    return [line for line in known if line.seq > covered and _is_public(line.fact, steps)]


def _is_public(fact: Fact, steps: Container[str]) -> bool:
    if fact.kind != FactKind.RETRACTION:
        return may_leave(fact) and has_result(fact)
    return fact.text in steps if fact.key == FactKind.NOW else fact.key in TAKEN_BACK


def own_lines(session: str, lines: Iterable[JournalLine]) -> Sequence[JournalLine]:
    """Return a session's own lines that it may share (C163).

    Goal, now and next steps that it carried on belong to another session.
    """
    return [
        line
        for line in open_lines(lines, 0)
        if line.fact.session in {"", session} or line.fact.kind not in AIMS
    ]


def list_unpublished(account: Account, covered: int) -> Sequence[Fact]:
    """Return a session's own rules, decisions and questions that no event covers, marked as unpublished.

    Facts that it carried on belong to another session; facts that it retracted or settled no longer hold.
    """
    return [
        fact._replace(others=(*fact.others, (UNPUBLISHED, "true")))
        for kind in INHERITED
        for fact in account.of(kind)
        if fact.seq > covered
        and fact.session == account.session
        and fact.provenance is Provenance.STATED
        and may_leave(fact)
    ]


def has_stated(lines: Iterable[JournalLine]) -> bool:
    """Return whether anything was stated; observations such as commits or tests can wait."""
    return any(line.fact.provenance is Provenance.STATED for line in lines)
