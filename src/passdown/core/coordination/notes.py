"""The notes that are kept with a closed task: what was said, and what was stated while it was held (C149)."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

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
"""The line that what the closer said belongs to, if it does not say so."""


class ClosedTask(NamedTuple):
    """What is known about a task when it is closed."""

    title: str
    waits_for: Sequence[str] = ()
    stated: Sequence[Fact] = ()
    """The facts that its session stated while it held the task."""


def make_note(reason: str, text: str, task: ClosedTask) -> str:
    """Return the lines for the reason; one without content is left out.

    What the closer said comes first: it may have the form of the note itself.
    """
    said = _read_text(reason, text)
    found = {label: said.get(label) or _find(label, task) for label in _LABELS[reason]}
    if reason == COMPLETED:
        found["COMPLETED"] = found["COMPLETED"] or task.title
    return "\n".join(f"{label}: {found[label]}" for label in _LABELS[reason] if found[label])


def needs_task(reason: str, text: str) -> bool:
    """Return whether the note for a reason contains something that the tracker tells."""
    return reason != COMPLETED or not text.strip()


def find_stated(task: str, lines: Iterable[JournalLine], account: Account) -> Sequence[Fact]:
    """Return the facts of a session that still hold and were stated while it held a task, the last time."""
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


def _find(label: str, task: ClosedTask) -> str:
    """Return what is known for a line that the closer did not give."""
    of_kind = {kind: [one for one in task.stated if one.kind == kind] for kind in FactKind}
    decisions = [f"{one.key}: {one.text}" if one.key else one.text for one in of_kind[FactKind.DECISION]]
    ruled_out = [one.text for one in of_kind[FactKind.CONSTRAINT]]
    values: Mapping[str, Iterable[str]] = {
        "KEY DECISION": decisions,
        "NEXT": [one.text for one in of_kind[FactKind.NEXT]][:1],
        "TRIED": [text.removeprefix(RULED_OUT) for text in ruled_out if text.startswith(RULED_OUT)],
        "WAITING ON": task.waits_for,
        "SKIPPED": [task.title],
    }
    return "; ".join(" ".join(one.split()) for one in values.get(label, ()))


def _read_text(reason: str, text: str) -> Mapping[str, str]:
    """Return what the closer said, by line of the note: a line may begin with its label."""
    found: dict[str, list[str]] = {}
    label = _SPOKEN[reason]
    for line in text.splitlines():
        start, colon, rest = line.strip().partition(":")
        is_labelled = bool(colon) and start.upper() in _LABELS[reason]
        label = start.upper() if is_labelled else label
        found.setdefault(label, []).extend((rest if is_labelled else line).split())
    return {label: _without_label(label, words) for label, words in found.items() if words}


def _without_label(label: str, words: Sequence[str]) -> str:
    """Return words without the label, if they begin with it: it stands before them already."""
    return " ".join(words[words[0].strip(":").upper() == label :]) or words[0]
