"""The note on a closed task: the closing text, and the facts stated while the task was held (C149)."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from passdown.core.coordination.tasks import BLOCKED, COMPLETED, SKIPPED
from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine, put_in_order
from passdown.core.holds import read_fence
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import RULED_OUT
from passdown.core.sessions.session_facts import Account

_LABELS: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        COMPLETED: ("COMPLETED", "KEY DECISION", "NEXT"),
        SKIPPED: ("SKIPPED", "REASON"),
        BLOCKED: ("BLOCKED", "WAITING ON", "TRIED"),
    }
)
"""The lines of a note for each reason."""
_SPOKEN: Final[Mapping[str, str]] = MappingProxyType(
    {COMPLETED: "COMPLETED", SKIPPED: "REASON", BLOCKED: "BLOCKED"}
)
"""The line for a closing text without a label."""


def make_note(
    reason: str, text: str, title: str, waits_for: Iterable[str] = (), stated: Iterable[Fact] = ()
) -> str:
    """Return the note for a closing reason; lines without content are omitted.

    The closing text comes first; its lines may already have the labels of the note. Labels that it does not
    use are filled from the task's title, what the task waits for, and what its session stated meanwhile.
    """
    facts = [*stated]
    decided = [one for one in facts if one.kind == FactKind.DECISION]
    ruled_out = [one.text for one in facts if one.kind == FactKind.CONSTRAINT]
    known: Mapping[str, Iterable[str]] = {
        "KEY DECISION": [f"{one.key}: {one.text}" if one.key else one.text for one in decided],
        "NEXT": [one.text for one in facts if one.kind == FactKind.NEXT][:1],
        "TRIED": [text.removeprefix(RULED_OUT) for text in ruled_out if text.startswith(RULED_OUT)],
        "WAITING ON": waits_for,
        "SKIPPED": [title],
    }
    said = _read_text(reason, text)
    found = {
        label: said.get(label) or "; ".join(" ".join(one.split()) for one in known.get(label, ()))
        for label in _LABELS[reason]
    }
    if reason == COMPLETED:
        found["COMPLETED"] = found["COMPLETED"] or title
    return "\n".join(f"{label}: {words}" for label, words in found.items() if words)


def needs_task(reason: str, text: str) -> bool:
    """Return whether the note for a reason needs details from the tracker."""
    return reason != COMPLETED or not text.strip()


def find_stated(task: str, lines: Iterable[JournalLine], account: Account) -> Sequence[Fact]:
    """Return the facts that still hold and were stated while the session last held a task."""
    stated: set[tuple[str, str, str]] = set()
    is_held = False
    for fact in (line.fact for line in put_in_order([*lines])):
        if fact.kind == FactKind.CLAIM and fact.key == task:
            is_granted = read_fence(fact) is not None
            if is_granted and not is_held:
                stated.clear()
            is_held = is_granted
        elif is_held:
            stated.add(_name(fact))
    kinds = (FactKind.DECISION, FactKind.CONSTRAINT, FactKind.NEXT)
    return [fact for kind in kinds for fact in account.of(kind) if _name(fact) in stated]


def _name(fact: Fact) -> tuple[str, str, str]:
    return fact.kind, fact.key, fact.text


def _read_text(reason: str, text: str) -> Mapping[str, str]:
    """Return the closing text by label of the note; a line may begin with its label."""
    found: dict[str, list[str]] = {}
    label = _SPOKEN[reason]
    for line in text.splitlines():
        start, colon, rest = line.strip().partition(":")
        is_labelled = bool(colon) and start.upper() in _LABELS[reason]
        label = start.upper() if is_labelled else label
        found.setdefault(label, []).extend((rest if is_labelled else line).split())
    return {label: _without_label(label, words) for label, words in found.items() if words}


def _without_label(label: str, words: Sequence[str]) -> str:
    """Return the words without a label at their start; the note adds it."""
    return " ".join(words[words[0].strip(":").upper() == label :]) or words[0]
