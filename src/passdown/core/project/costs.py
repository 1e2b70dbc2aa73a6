"""What Passdown costs, by its own measurements: one JSON line for each thing that ran.

A line is ``{"at": "2026-01-11T12:00:00Z", "what": "start", "ms": 31.5, "chars": 1200}``: when, what ran, how
long it took, and how many characters it sent to an agent. A line with an ``event`` is a metric (`metrics`)
and is skipped; an unreadable line is skipped and counted.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, cast

from passdown.core.safe_text import one_line
from passdown.core.times import render_seconds
from passdown.records import record


class Measurement(NamedTuple):
    """One measured run."""

    what: str
    ms: float
    chars: int


@record
class Cost:
    """The cost of one kind of run: half of the runs cost at most p50, 95 of 100 at most p95."""

    what: str
    count: int
    p50_ms: float
    p95_ms: float
    p50_chars: int
    p95_chars: int


def render_measure(at: datetime, what: str, ms: float, chars: int) -> str:
    """Write one measurement as a line."""
    return json.dumps({"at": render_seconds(at), "what": what, "ms": round(ms, 1), "chars": chars})


def parse_measures(text: str) -> tuple[list[Measurement], int]:
    """Read all lines; return the measurements, and the number of lines that could not be read."""
    lines = [load_line(line) for line in text.split("\n") if line.strip()]
    ours = [values for values in lines if values is None or "event" not in values]
    found = [one for values in ours if values is not None and (one := _parse(values)) is not None]
    return found, len(ours) - len(found)


def load_line(line: str) -> Mapping[str, object] | None:
    """Return the members of a line of `metrics.jsonl`; None if it is not an object."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, object]", data) if isinstance(data, dict) else None


def _parse(values: Mapping[str, object]) -> Measurement | None:
    what, ms, chars = values.get("what"), values.get("ms"), values.get("chars", 0)
    if not isinstance(what, str) or not what or not is_amount(ms) or not is_amount(chars):
        return None
    return Measurement(one_line(what), float(cast("float", ms)), int(cast("float", chars)))


def is_amount(value: object) -> bool:
    """Return whether a value is a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value < math.inf


def sum_up(measures: Iterable[Measurement]) -> list[Cost]:
    """Return the cost of each kind of run, sorted by name."""
    kinds: dict[str, list[Measurement]] = {}
    for one in measures:
        kinds.setdefault(one.what, []).append(one)
    return [_sum_up(what, kinds[what]) for what in sorted(kinds)]


def _sum_up(what: str, measures: Sequence[Measurement]) -> Cost:
    times, chars = sorted(one.ms for one in measures), sorted(one.chars for one in measures)
    count = len(measures)
    half, most = math.ceil(count * 0.50) - 1, math.ceil(count * 0.95) - 1
    return Cost(
        what=what,
        count=count,
        p50_ms=times[half],
        p95_ms=times[most],
        p50_chars=chars[half],
        p95_chars=chars[most],
    )
