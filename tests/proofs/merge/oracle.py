"""What merging must give, written down once more: slowly, from the table of the seed and from C25 and C56.

Nothing here uses the code that merges. A stamp is (time, agent, id, hash); of two stamps the larger is later.
A fact is as old as its event says, or as the event itself (C120).
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import datetime

from passdown.records import field, record

Stamp = tuple[datetime, str, str, str]
Entry = tuple[datetime, Stamp, object]
Order = tuple[datetime, Stamp, int, bool, int]

SETS = {
    "this_session": ("retracted_done",),
    "open_questions": ("resolved_questions",),
    "constraints": ("retracted_constraints",),
    "receipts": ("retracted_receipts",),
    "feedback": ("resolved_questions", "answered_feedback"),
}
MAPS = ("decisions", "answers")
REGISTERS = ("goal", "now", "next")
OVER = {"now": (("retracted_now", True), ("this_session", False))}
"""What says that a register's text no longer holds, and whether that is a retraction."""


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
    maps: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    checkpoints: tuple[Fact, ...] = ()
    retracted_events: tuple[str, ...] = ()
    origins: Mapping[str, tuple[tuple[int, datetime], ...]] = field(default_factory=dict)

    def order(self, key: str, place: int, *, void: bool = False) -> Order:
        """Give the place of one thing it says: when that was said, by which event, and in which order."""
        told = self.origins.get(key, ())
        if key == "next" and told:
            told = (max((at, seq) for seq, at in told)[::-1],)
        seq, at = told[place] if told else (0, self.at)
        return (min(at, self.at), self.stamp, seq, void, place)

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
    sections = {name: _set(heard, name, voids) for name, voids in SETS.items()}
    sections |= {name: _map(heard, name) for name in MAPS}
    sections["checkpoints"] = _phases(heard)
    return Answer(
        registers={name: value for name in REGISTERS for value in _last(heard, name)},
        sections=sections,
        events=len(unique),
        latest=max((event.at for event in heard), default=None),
    )


def _last(heard: list[Said], name: str) -> list[Entry]:
    """Now, goal, next: the entry that was said last."""
    stated = [event for event in heard if name in event.registers]
    if not stated:
        return []
    last = max(stated, key=lambda event: event.order(name, 0))
    ends = [
        event.order(key, place, void=void)
        for key, void in OVER.get(name, ())
        for event in heard
        for place, text in enumerate(event.lists.get(key, ()))
        if _nfc(text) == _nfc(str(last.registers[name]))
    ]
    # In one event what is done or taken back comes after what it says is done now.
    if any(end[:3] >= last.order(name, 0)[:3] for end in ends):
        return []
    return [(last.order(name, 0)[0], last.stamp, _steps(last.registers[name]))]


def _steps(value: str | tuple[str, ...]) -> object:
    """Steps are lines, each once, where it stands last."""
    if isinstance(value, str):
        return value
    lines = [step.replace("\n", " ") for step in value]
    return tuple(line for place, line in enumerate(lines) if _nfc(line) not in map(_nfc, lines[place + 1 :]))


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _set(heard: list[Said], name: str, voids: tuple[str, ...]) -> list[Entry]:
    """Sets: the union; between adding and taking back the later counts, on a tie taking back."""
    found: list[tuple[Order, str]] = []
    for key in {_nfc(text) for event in heard for text in event.lists.get(name, ())}:
        added = [
            (event.order(name, place), text)
            for event in heard
            for place, text in enumerate(event.lists.get(name, ()))
            if _nfc(text) == key
        ]
        removed = [
            event.order(void, place, void=True)
            for event in heard
            for void in voids
            for place, text in enumerate(event.lists.get(void, ()))
            if _nfc(text) == key
        ]
        last = max(added)
        if not removed or last[0] > max(removed):
            found.append(last)
    return [(order[0], order[1], text) for order, text in sorted(found, reverse=True)]


def _map(heard: list[Said], name: str) -> list[Entry]:
    """Decisions and answers: by key, the newest wins; for decisions the same rule for taking back."""
    found: list[tuple[Order, tuple[str, str]]] = []
    void = f"retracted_{name}"
    for key in {_nfc(pair[0]) for event in heard for pair in event.maps.get(name, ())}:
        made = [
            (event.order(name, place), pair)
            for event in heard
            for place, pair in enumerate(event.maps.get(name, ()))
            if _nfc(pair[0]) == key
        ]
        removed = [
            event.order(void, place, void=True)
            for event in heard
            for place, text in enumerate(event.lists.get(void, ()))
            if _nfc(text) == key
        ]
        last = max(made)
        if not removed or last[0] > max(removed):
            found.append(last)
    return [(order[0], order[1], pair) for order, pair in sorted(found, reverse=True)]


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
