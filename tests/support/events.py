"""Texts of events to merge, and what becomes of them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from passdown.core.documents.scalars import quote
from passdown.core.facts import Fact, read_phase
from passdown.core.kinds import MERGED
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.merge import Digest, Merged, NewestFacts, merge_events

Value = str | Sequence[str] | Mapping[str, str] | Sequence[Mapping[str, str]]

SEED_EXAMPLE = """---
ts: 2026-01-10T13:03:52Z
agent: toast
branch: feat/fix-hooks-path-spaces
type: session_end
reason: clear
---

now: Create PR from carmandale:fix/hooks-path-spaces to parcadei:main

this_session:
- Forked parcadei/Continuous-Claude-v3
- Wrapped 25 hooks in bash -c for spaced path support
- Compiled TypeScript hooks

decisions:
  bash_c_wrapper: "Use bash -c '...' for shell quoting"
  single_quotes_outer: "Single quotes outside, double inside"

checkpoints:
- phase: 5
  status: validated
  updated: 2026-01-10T13:00:00Z
"""

GOAL, NOW, NEXT, DONE = "goal", "now", "next", "this_session"
DECISIONS, CONSTRAINTS, QUESTIONS, ANSWERS = "decisions", "constraints", "open_questions", "answers"
CHECKPOINTS, RECEIPTS, FEEDBACK = "checkpoints", "receipts", "feedback"
KINDS = {kind.row.event_key or kind.value: kind for kind in MERGED}
"""The kind of fact that a key of events states."""
SECTIONS = tuple(KINDS)

START = datetime(2026, 1, 10, 12, tzinfo=UTC)


class MovedClock:
    """A clock that stands where it is put, and goes on by a step whenever it is read."""

    def __init__(self, at: datetime = START, step: timedelta = timedelta()) -> None:
        """Start at an instant."""
        self.at = at
        self.step = step

    def now(self) -> datetime:
        """Give the present, then go on."""
        now = self.at
        self.at += self.step
        return now

    def monotonic(self) -> float:
        """Give the seconds since 1970."""
        return self.at.timestamp()


def make_text(ts: str | None = "2026-01-10T13:00:00Z", agent: str | None = "toast", **keys: Value) -> str:
    """Write an event; a text, a list of texts, a map, or a list of maps for each key."""
    return make_text_of(keys, ts, agent)


def make_text_of(
    keys: Mapping[str, Value], ts: str | None = "2026-01-10T13:00:00Z", agent: str | None = "toast"
) -> str:
    """Write an event with these keys."""
    known = [f"{name}: {value}\n" for name, value in (("ts", ts), ("agent", agent)) if value is not None]
    front = [f"{name}: {keys[name]}\n" for name in _FRONT if name in keys]
    body = [_write(name, value) for name, value in keys.items() if name not in _FRONT]
    return f"---\n{''.join(known + front)}---\n\n{''.join(body)}"


_FRONT = ("branch", "type", "reason", "id", "session", "covers")


def _write(name: str, value: Value) -> str:
    if isinstance(value, str):
        return f"{name}: {quote(value)}\n"
    if isinstance(value, Mapping):
        return f"{name}:\n" + "".join(f"  {key}: {quote(text)}\n" for key, text in value.items())
    return f"{name}:\n" + "".join(f"- {_item(one)}\n" for one in value)


def _item(one: str | Mapping[str, str]) -> str:
    if isinstance(one, str):
        return quote(one)
    return "\n  ".join(f"{key}: {text}" for key, text in one.items())


def read(text: str, name: str = "event.md") -> EventFacts:
    """Read an event that can be merged."""
    source = parse_event_facts(text.encode(), name)
    assert source is not None
    return source


def merge_texts(*texts: str) -> Merged:
    """Merge events given as texts."""
    return merge_events(map(read, texts))


def values(merged: Merged, section: str) -> list[object]:
    """Give what holds under a key of events, the oldest first."""
    return [value_of(fact) for fact in merged.tables[KINDS[section]].values()]


def value_of(fact: Fact) -> object:
    """Give what an event says of a fact."""
    if fact.kind in {"decision", "answer"}:
        return (fact.key, fact.text)
    if fact.kind == "checkpoint":
        phase = read_phase(fact)
        return (fact.agent, fact.task, phase.phase, phase.status, phase.name)
    return fact.text


def newest(digest: Digest, section: str) -> NewestFacts:
    """Give the newest facts under a key of events."""
    return digest.kinds[KINDS[section]]


def merge_both_ways(texts: Iterable[str]) -> Merged:
    """Merge events in this order and the other, which must not matter."""
    sources = [read(text) for text in texts]
    merged = merge_events(sources)
    assert merge_events(reversed(sources)) == merged
    return merged
