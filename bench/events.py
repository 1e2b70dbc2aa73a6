"""How fast events are read, against PyYAML's C parser on the same texts in the same run."""

import gc
import time
from collections.abc import Callable, Sequence
from typing import Final

import yaml

from bench.budgets import BUDGETS
from bench.corpus import make_events
from bench.rows import Row
from passdown.core.formats.events import parse_event, read_event

COUNT: Final = 10_000
ROUNDS: Final = 9
SLICE: Final = 500

Reader = Callable[[int, int], None]


def measure_events(count: int = COUNT, rounds: int = ROUNDS) -> list[Row]:
    """Read all events with each reader, a slice at a time in turn; the best of each slice counts."""
    texts = make_events(count)
    parts = [_cut(text) for text in texts]
    _agree(texts, parts)
    readers = _readers(texts, parts)
    best = _best_seconds(list(readers.values()), count, rounds)
    floor, fast, typed = (seconds / count * 1e6 for seconds in best)
    return [
        Row(part="events", name="PyYAML CSafeLoader", value=floor, unit="µs", ratio=1.0),
        Row(
            part="events",
            name="read_event",
            value=fast,
            unit="µs",
            ratio=floor / fast,
            budget=BUDGETS["events"]["read_event"],
        ),
        Row(
            part="events",
            name="parse_event",
            value=typed,
            unit="µs",
            ratio=floor / typed,
            budget=BUDGETS["events"]["parse_event"],
        ),
    ]


def _cut(text: str) -> tuple[str, str]:
    """Front matter and body; cut beforehand, so that the floor is parsing alone."""
    _, front, body = text.split("---\n", 2)
    return front, body


def _agree(texts: Sequence[str], parts: Sequence[tuple[str, str]]) -> None:
    """All readers read the same, or the comparison means nothing."""
    for text, (front, body) in zip(texts[::10], parts[::10], strict=True):
        loaded = {**_load(front), **_load(body)}
        fast, typed = read_event(text), parse_event(text)
        assert fast.keys() == loaded.keys(), (fast.keys(), loaded.keys())
        assert fast["now"] == loaded["now"] == typed.now
        assert fast["this_session"] == typed.this_session == tuple(loaded["this_session"])  # type: ignore[arg-type]
        assert dict(fast["decisions"]) == loaded["decisions"]  # type: ignore[call-overload]
        assert not typed.problems, typed.problems


def _load(text: str) -> dict[str, object]:
    loaded = yaml.load(text, Loader=yaml.CSafeLoader)
    assert isinstance(loaded, dict)
    return loaded


def _readers(texts: Sequence[str], parts: Sequence[tuple[str, str]]) -> dict[str, Reader]:
    """The contenders; each reads the events from one number to another and keeps nothing."""

    def scope(start: int, end: int) -> None:
        for front, body in parts[start:end]:
            yaml.load(front, Loader=yaml.CSafeLoader)
            yaml.load(body, Loader=yaml.CSafeLoader)

    def fast(start: int, end: int) -> None:
        for text in texts[start:end]:
            read_event(text)

    def typed(start: int, end: int) -> None:
        for text in texts[start:end]:
            parse_event(text)

    return {"library": scope, "fast": fast, "typed": typed}


def _best_seconds(readers: Sequence[Reader], count: int, rounds: int) -> list[float]:
    """For each reader the sum of the best times of the slices; no collector runs in between for anyone."""
    starts = range(0, count, SLICE)
    best = [[float("inf")] * len(starts) for _ in readers]
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for index, start in enumerate(starts):
                for reader, times in zip(readers, best, strict=True):
                    times[index] = min(times[index], _seconds(reader, start, start + SLICE))
    finally:
        gc.enable()
    return [sum(times) for times in best]


def _seconds(reader: Reader, start: int, end: int) -> float:
    begun = time.perf_counter()
    reader(start, end)
    return time.perf_counter() - begun
