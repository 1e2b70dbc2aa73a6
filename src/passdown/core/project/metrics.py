"""Metrics about how agents work: one JSON line for each event.

A line is ``{"event": "pending_recovery", "timestamp": "2026-01-11T12:00:00Z", "updates": 1, "closes": 2}``.
Lines of other tools with these events count too. A line without an ``event`` is a measurement (`costs`); an
unreadable line is skipped and counted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, cast

from passdown.core.json_text import dump
from passdown.core.project.costs import is_amount, load_line
from passdown.core.safe_text import one_line
from passdown.core.times import parse_instant, render_seconds
from passdown.records import record

TOP: Final = 5
_LONGEST: Final = 200
_MA_ATTEMPT: Final = "ma_attempt"
"""The event that other tools record when they start several agents."""


class MetricKind(StrEnum):
    """The events that Passdown records; others are counted under their own names."""

    PENDING_RECOVERY = "pending_recovery"
    TDD_CYCLE = "tdd_cycle"
    MANUAL_BD = "manual_bd"
    HANDOFF_EXPIRED = "handoff_expired"
    SESSION_CONFLICT = "session_conflict"


class Metric(NamedTuple):
    """One recorded event."""

    event: str
    at: datetime
    values: Mapping[str, object]


@record
class AttemptCounts:
    """How often a tool tried to work with several agents."""

    succeeded: Annotated[int, "How often it started several agents."]
    fell_back: Annotated[int, "How often it fell back to one agent."]


@record
class CommandCount:
    """How often an agent ran one of the tracker's own commands directly."""

    command: Annotated[str, "The command."]
    count: Annotated[int, "How often it was run."]


@record
class MetricsSummary:
    """The metrics since an instant."""

    counts: Annotated[Mapping[str, int], "How often each event happened, by its name."]
    multi_agent: Annotated[AttemptCounts, "Work with several agents."]
    tdd_mean_durations: Annotated[Mapping[str, float], "The mean of each phase of the test-first cycle."]
    manual_commands: Annotated[
        tuple[CommandCount, ...], "The tracker commands that agents ran directly most often."
    ]
    expired_handoffs: Annotated[tuple[str, ...], "The handoffs that expired before anyone resumed them."]
    skipped: Annotated[int, "How many lines could not be read."]


def render_metric(metric: Metric) -> str:
    """Write one event as a line."""
    return dump({"event": str(metric.event), "timestamp": render_seconds(metric.at), **metric.values})


def parse_metrics(text: str) -> tuple[Sequence[Metric], int]:
    """Read all lines; return the events, and the number of lines that could not be read."""
    found: list[Metric] = []
    skipped = 0
    for line in filter(str.strip, text.split("\n")):
        values = load_line(line)
        if values is None:
            skipped += 1
        elif "event" in values:
            metric = _parse(values)
            found += [metric] if metric else []
            skipped += metric is None
    return found, skipped


def _parse(values: Mapping[str, object]) -> Metric | None:
    event, at = values["event"], values.get("timestamp")
    instant = parse_instant(at) if isinstance(at, str) else None
    if not isinstance(event, str) or not event or instant is None:
        return None
    return Metric(_short(event), instant, values)


def _short(text: str) -> str:
    return one_line(text)[:_LONGEST]


def sum_up_metrics(metrics: Iterable[Metric], since: datetime, skipped: int = 0) -> MetricsSummary:
    """Return the metrics since an instant."""
    kept = [one for one in metrics if one.at >= since]
    durations: dict[str, list[float]] = {}
    for one in kept:
        phase, duration = one.values.get("phase"), one.values.get("duration")
        if one.event == MetricKind.TDD_CYCLE and isinstance(phase, str) and is_amount(duration):
            durations.setdefault(_short(phase), []).append(float(cast("float", duration)))
    modes = [one.values.get("mode") == "MA" for one in kept if one.event == _MA_ATTEMPT]
    manual = Counter(_texts(kept, MetricKind.MANUAL_BD, "command"))
    ranked = sorted(manual.items(), key=lambda pair: (-pair[1], pair[0]))
    return MetricsSummary(
        counts=dict(sorted(Counter(one.event for one in kept).items())),
        multi_agent=AttemptCounts(succeeded=sum(modes), fell_back=len(modes) - sum(modes)),
        tdd_mean_durations={phase: sum(some) / len(some) for phase, some in sorted(durations.items())},
        manual_commands=tuple(CommandCount(command=name, count=count) for name, count in ranked[:TOP]),
        expired_handoffs=tuple(dict.fromkeys(_texts(kept, MetricKind.HANDOFF_EXPIRED, "file"))),
        skipped=skipped,
    )


def _texts(metrics: Sequence[Metric], kind: MetricKind, name: str) -> Sequence[str]:
    values = [one.values.get(name) for one in metrics if one.event == kind]
    return [_short(value) for value in values if isinstance(value, str) and value]
