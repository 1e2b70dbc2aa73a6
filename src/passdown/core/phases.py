"""The states of a phase of work, as documents and facts write them."""

from enum import StrEnum
from types import MappingProxyType
from typing import Final

from passdown.core.documents.fields import read_choice


class PhaseState(StrEnum):
    """The state of a phase; upper case in documents, lower case in data."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    VALIDATED = "validated"
    FAILED = "failed"
    SKIPPED = "skipped"


_STATES: Final = MappingProxyType({state.value: state for state in PhaseState})


def read_state(text: str) -> PhaseState:
    """Read a phase's state in any case, with or without its symbol."""
    known = _STATES.get(text)
    if known is not None:
        return known
    word = text.strip().lstrip("○→✓✗⊘->").strip().replace(" ", "_").replace("-", "_")
    return read_choice(word, PhaseState)
