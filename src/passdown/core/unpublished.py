"""What waits to be published: the lines of a journal that others may know and no event covers (C57, C61)."""

from collections.abc import Iterable, Sequence
from typing import Final

from passdown.core.accounts import may_leave
from passdown.core.facts import Fact, FactKind, Provenance
from passdown.core.journal import JournalLine

RECEIPTS: Final = (FactKind.RECEIPT, FactKind.COMMIT, FactKind.TEST)
PUBLIC: Final = frozenset(
    {
        FactKind.GOAL,
        FactKind.NOW,
        FactKind.NEXT,
        FactKind.DONE,
        FactKind.DECISION,
        FactKind.CONSTRAINT,
        FactKind.QUESTION,
        FactKind.ANSWER,
        FactKind.FEEDBACK,
        FactKind.FILE,
        FactKind.CHECKPOINT,
        *RECEIPTS,
    }
)
_TAKEN_BACK: Final = frozenset(
    {FactKind.NEXT, FactKind.DONE, FactKind.DECISION, FactKind.CONSTRAINT, FactKind.QUESTION}
)
"""What an event can take back; the rest is taken back on this machine only."""


def open_lines(lines: Iterable[JournalLine], covered: int) -> Sequence[JournalLine]:
    """Give the lines that no event covers and that say something others may know (4)."""
    return [line for line in lines if line.seq > covered and _is_public(line.fact)]


def _is_public(fact: Fact) -> bool:
    if fact.kind == FactKind.RETRACTION:
        return fact.key in _TAKEN_BACK
    return fact.kind in PUBLIC and may_leave(fact.kind, fact)


def has_stated(lines: Iterable[JournalLine]) -> bool:
    """Say whether anything was stated; what was seen, as a commit or a test, can wait."""
    return any(line.fact.provenance is Provenance.STATED for line in lines)
