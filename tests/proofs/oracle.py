"""What merging must give, written down once more: slowly, from the table of the seed and from C25 and C56.

Nothing here uses the code that merges. A stamp is (time, agent, id, hash); of two stamps the larger is later.
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime

from passdown.records import field, record

Stamp = tuple[datetime, str, str, str]
Entry = tuple[datetime, Stamp, object]

SETS = {
    "this_session": "retracted_done",
    "open_questions": "resolved_questions",
    "constraints": "retracted_constraints",
    "receipts": "",
    "feedback": "",
}
REGISTERS = ("goal", "now", "next")


@record
class Fact:
    """A checkpoint as it was stated."""

    agent: str
    task: str
    phase: str
    status: str
    name: str
    updated: datetime | None


@record
class Said:
    """What an event says, as its writer meant it."""

    text: str
    stamp: Stamp
    registers: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    decisions: tuple[tuple[str, str], ...] = ()
    checkpoints: tuple[Fact, ...] = ()
    retracted_events: tuple[str, ...] = ()

    @property
    def at(self) -> datetime:
        """Give its time."""
        return self.stamp[0]

    @property
    def hash(self) -> str:
        """Give the hash of its text."""
        return self.stamp[3]


def make_stamp(text: str, at: datetime, agent: str, name: str) -> Stamp:
    """Give the place of an event: its text, hashed in LF form, names it if nothing else does."""
    digest = hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()
    return (at, agent, name or digest[:16], digest)


@record
class Answer:
    """What holds: registers, and the entries of each list, the newest first."""

    registers: Mapping[str, Entry]
    sections: Mapping[str, list[Entry]]
    events: int
    latest: datetime | None


def merge_slowly(events: Iterable[Said]) -> Answer:
    """Merge by the rules."""
    unique = list({event.hash: event for event in events}.values())
    named = {name for event in unique for name in event.retracted_events}
    heard = [event for event in unique if event.stamp[2] not in named and event.hash[:16] not in named]
    sections = {name: _set(heard, name, void) for name, void in SETS.items()}
    sections["decisions"] = _map(heard)
    sections["checkpoints"] = _phases(heard)
    return Answer(
        registers={name: value for name in REGISTERS for value in _last(heard, name)},
        sections=sections,
        events=len(unique),
        latest=max((event.at for event in heard), default=None),
    )


def _last(heard: list[Said], name: str) -> list[Entry]:
    """Now, goal, next: the entry with the maximum stamp."""
    stated = [event for event in heard if name in event.registers]
    if not stated:
        return []
    last = max(stated, key=lambda event: event.stamp)
    return [(last.at, last.stamp, last.registers[name])]


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _set(heard: list[Said], name: str, void: str) -> list[Entry]:
    """Sets: the union; between adding and taking back the later stamp wins, on a tie taking back."""
    found: list[tuple[Stamp, int, str]] = []
    for key in {_nfc(text) for event in heard for text in event.lists.get(name, ())}:
        added = [
            (event.stamp, place, text)
            for event in heard
            for place, text in enumerate(event.lists.get(name, ()))
            if _nfc(text) == key
        ]
        removed = [event.stamp for event in heard for text in event.lists.get(void, ()) if _nfc(text) == key]
        last = max(added)
        if not removed or last[0] > max(removed):
            found.append(last)
    return [(stamp[0], stamp, text) for stamp, _, text in sorted(found, reverse=True)]


def _map(heard: list[Said]) -> list[Entry]:
    """Decisions: by key, the newest wins; the same rule for taking back."""
    found: list[tuple[Stamp, int, tuple[str, str]]] = []
    for key in {_nfc(pair[0]) for event in heard for pair in event.decisions}:
        made = [
            (event.stamp, place, pair)
            for event in heard
            for place, pair in enumerate(event.decisions)
            if _nfc(pair[0]) == key
        ]
        removed = [
            event.stamp
            for event in heard
            for name in event.lists.get("retracted_decisions", ())
            if _nfc(name) == key
        ]
        last = max(made)
        if not removed or last[0] > max(removed):
            found.append(last)
    return [(stamp[0], stamp, pair) for stamp, _, pair in sorted(found, reverse=True)]


def _phases(heard: list[Said]) -> list[Entry]:
    """Checkpoints: by their own time; the last of each phase of a task, else of an agent, is shown."""
    last: dict[tuple[str, ...], tuple[datetime, Stamp, int, object]] = {}
    for event in heard:
        for place, one in enumerate(event.checkpoints):
            agent = one.agent or event.stamp[1]
            owner = ("task", one.task) if one.task else ("agent", agent)
            value = (agent, one.task, one.phase, one.status, one.name)
            new = (one.updated or event.at, event.stamp, place, value)
            key = (*owner, one.phase or one.name)
            if key not in last or new > last[key]:
                last[key] = new
    return [(at, stamp, value) for at, stamp, _, value in sorted(last.values(), reverse=True)]
