"""A thousand updates of single fields: the document stays as small as its values, all else to the byte."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.facts import GateStatus
from passdown.core.formats.checkpoints import Phase, ValidationState
from passdown.core.formats.ledgers import (
    GateResult,
    LedgerDecision,
    Mode,
    ReadFile,
    TddPhase,
    Validation,
    parse_ledger,
    render_ledger,
)
from passdown.core.formats.streams import (
    Checkpoint,
    Question,
    QuestionKind,
    Workflow,
    parse_stream,
    render_stream,
)
from passdown.core.phases import PhaseState
from passdown.records import replace
from tests.formats.strategies import NASTY_LINES
from tests.proof import proof_count

UPDATES = proof_count(fast=100, ci=300, long=20_000)
STREAM_UPDATES = proof_count(fast=50, ci=300, long=20_000)


def each_line_end(updates: int) -> pytest.MarkDecorator:
    """Run a test with either line end."""
    cases = [("\n", updates), ("\r\n", updates // 10)]
    return pytest.mark.parametrize(("eol", "updates"), cases, ids=["lf", "crlf"])


LEDGER = """\
---
# who wrote this
updated: 2025-12-27T10:30:00Z
session_id: T-abc123
x-owner:   someone   # kept as it is
platform: claude
bound_track: feature-name_20251227
bound_bead: my-workflow:3-xyz
mode: SA
nested:
    deep: [1, 2]
tdd_phase: null
heartbeat: 2025-12-27T10:25:00Z
validation:
  gates_passed: []
  current_gate: null
  retries: 0
  last_failure: null
---

Some words before the title.

# Session Ledger

<!-- a comment under the title -->

## Active Task

bead: my-workflow:3-xyz
track: feature-name_20251227

## Goal

What we are trying to do.

## Scratch   pad

*  odd   spacing, kept
```sh
## Goal
---
```

## State

### Done
- One

### Now
- Two

### Next
- Three

### Blocked
- nothing of ours

## Key Decisions

| Decision | Reasoning | When |
|----------|-----------|------|
| X | Y | 10:15 |

## Working Set

**Branch:** main

**Modified:**
- `a.py`

**Read:**
- `b.md` - why

## Open Questions

- Four?

## Validation History

| Gate | Status | Time | Notes |
|------|--------|------|-------|
| design | ✅ PASS | 10:15 | fine |

## Appendix

\ttabs\tand trailing blanks   \n
"""

STREAM = (Path(__file__).parent / "golden" / "stream-example.md").read_text("utf-8")

_START = datetime(2026, 1, 1, tzinfo=UTC)


def _say(number: int) -> str:
    return f"v{number} {NASTY_LINES[number % len(NASTY_LINES)]}"


def _several(number: int) -> tuple[str, ...]:
    return tuple(_say(number + extra) for extra in range(number % 4))


def _at(number: int) -> datetime:
    return _START + timedelta(minutes=number)


Fields = Mapping[str, Callable[[int], object]]

LEDGER_FIELDS: Fields = {
    "updated": _at,
    "heartbeat": _at,
    "session_id": _say,
    "platform": _say,
    "bound_track": lambda n: _say(n) if n % 3 else None,
    "bound_bead": lambda n: _say(n) if n % 3 else None,
    "mode": lambda n: [*Mode, None][n % 3],
    "tdd_phase": lambda n: [*TddPhase, None][n % 4],
    "validation": lambda n: (
        Validation(gates_passed=_several(n), retries=n, last_failure=_say(n)) if n % 5 else None
    ),
    "task_bead": lambda n: _say(n) if n % 3 else None,
    "task_track": lambda n: _say(n) if n % 3 else None,
    "goal": lambda n: _say(n) if n % 7 else "",
    "done": _several,
    "now": lambda n: _say(n) if n % 7 else "",
    "next": _several,
    "decisions": lambda n: tuple(
        LedgerDecision(decision=one, reasoning=one, when="09:05") for one in _several(n)
    ),
    "branch": lambda n: _say(n) if n % 7 else "",
    "modified": _several,
    "read": lambda n: tuple(ReadFile(path=one, reason=_say(n)) for one in _several(n)),
    "questions": _several,
    "gate_history": lambda n: tuple(
        GateResult(gate=one, status=GateStatus.WARN, notes=one) for one in _several(n)
    ),
}
LEDGER_CHUNKS: Mapping[str, str] = {
    **{name: f"{name}:" for name in list(LEDGER_FIELDS)[:9]},
    "task_bead": "bead:",
    "task_track": "track:",
    "goal": "## Goal",
    "done": "### Done",
    "now": "### Now",
    "next": "### Next",
    "decisions": "## Key Decisions",
    "branch": "**Branch:**",
    "modified": "**Modified:**",
    "read": "**Read:**",
    "questions": "## Open Questions",
    "gate_history": "## Validation History",
}

STREAM_FIELDS: Fields = {
    "updated": _at,
    "goal": lambda n: _say(n) if n % 7 else "",
    "ledger_branch": lambda n: _say(n) if n % 7 else "",
    "test": lambda n: _say(n) if n % 7 else "",
    "now": lambda n: _say(n) if n % 7 else "",
    "this_session": _several,
    "next": _several,
    "decisions": lambda n: tuple(Pair(key=f"k{n}", value=one) for one in _several(n)),
    "questions": lambda n: tuple(Question(text=one, kind=QuestionKind.UNCONFIRMED) for one in _several(n)),
    "workflow": lambda n: Workflow(pattern=_say(n), phase=n, total_phases=n, retries=0, max_retries=3),
    "resolved": lambda n: tuple(Pair(key=f"k{n}", value=one) for one in _several(n)),
    "unknowns": _several,
    "last_failure": lambda n: _say(n) if n % 7 else "",
    "checkpoint": lambda n: Checkpoint(
        agent=_say(n),
        phases=tuple(Phase(phase=n, state=PhaseState.FAILED, detail=one) for one in _several(n)),
        validation=ValidationState(test_count=n, last_test_command=_say(n)) if n % 5 else None,
        resume=(Pair(key="Blockers", value=_say(n)),) if n % 3 else (),
    ),
}


def _chunks(text: str) -> dict[str, list[str]]:
    """A document cut naively at whatever looks like a heading, label or key."""
    pattern = r"(?m)^(?=#{1,4} |\*\*[A-Z][a-z]+:\*\*|[a-z_-]+:|---)"
    chunks: dict[str, list[str]] = {}
    for chunk in re.split(pattern, text):
        key = re.match(r"#+ [^\r\n]*|\*\*\w+:\*\*|[a-z_-]+:|---|", chunk)
        assert key
        chunks.setdefault(key[0], []).append(chunk)
    return chunks


def _with(document: Any, values: Mapping[str, object]) -> Any:  # any document
    return replace(document, **values)


def _length(value: object) -> int:
    return len(repr(value))


@each_line_end(UPDATES)
def test_a_thousand_updates_of_a_ledger_change_only_what_they_say(eol: str, updates: int) -> None:
    original = LEDGER.replace("\n", eol)
    text, ledger, chunks = original, parse_ledger(original), _chunks(original)
    names = list(LEDGER_FIELDS)

    for number in range(updates):
        name = names[number * 5 % len(names)]
        changed = _with(ledger, {name: LEDGER_FIELDS[name](number)})
        text, old = render_ledger(changed), chunks
        ledger, chunks = parse_ledger(text), _chunks(text)

        assert ledger == changed, name
        differing = {key for key in {*old, *chunks} if old.get(key) != chunks.get(key)}
        assert differing <= {LEDGER_CHUNKS[name]}, name

    said = sum(_length(getattr(ledger, name)) for name in names)
    assert len(text) <= len(original) + 2 * said
    restored = _with(ledger, {name: getattr(parse_ledger(original), name) for name in names})
    assert render_ledger(restored) == original


@pytest.mark.requirement("R74")
@each_line_end(STREAM_UPDATES)
def test_a_thousand_updates_of_a_stream_touch_only_its_ledger_section(eol: str, updates: int) -> None:
    original = STREAM.replace("\n", eol).replace(
        "status: active", "status: active\nx-owner:  me".replace("\n", eol)
    )
    head, _, rest = original.partition(f"{eol}## Ledger{eol}")
    tail = rest[rest.index(f"{eol}---{eol}") :]
    text, stream = original, parse_stream(original)
    names = list(STREAM_FIELDS)

    for number in range(updates):
        name = names[number * 5 % len(names)]
        changed = _with(stream, {name: STREAM_FIELDS[name](number)})
        text = render_stream(changed)
        stream = parse_stream(text)

        assert stream == changed, name
        assert text.startswith(f"{head}{eol}## Ledger{eol}")
        assert text.endswith(tail)

    assert len(text) <= len(original) + 2 * sum(_length(getattr(stream, name)) for name in names)
    restored = _with(stream, {name: getattr(parse_stream(original), name) for name in names})
    assert render_stream(restored) == original
