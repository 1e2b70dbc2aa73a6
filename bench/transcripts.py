"""How fast a host's transcript is read, against the JSON parser of Python on every line, in the same run.

The recorded transcripts are repeated to about 10 MB. They are the hard case: their commands print next to
nothing, so that there is much to tell in few bytes. The aim is 1 ms for each 100 KB.
"""

import gc
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.budgets import BUDGETS
from bench.rows import Row
from passdown.core.hosts.transcripts import TranscriptReader, read_piece
from passdown.hosts.claude.transcripts import READER as CLAUDE_CODE
from passdown.hosts.codex.transcripts import READER as CODEX

RECORDINGS: Final = Path(__file__).resolve().parent.parent / "tests" / "hosts" / "recordings"
SIZE: Final = 10_000_000
ROUNDS: Final = 5
PORTION: Final = 100_000


def measure_transcripts(size: int = SIZE, rounds: int = ROUNDS) -> list[Row]:
    """Read the recorded transcript of each host, repeated, and every line of it with `json.loads`."""
    rows: list[Row] = []
    for reader in (CLAUDE_CODE, CODEX):
        once = next((RECORDINGS / f"{reader.name}-work").glob("*.jsonl")).read_bytes()
        data = once * max(1, size // len(once))
        floor, ours = _best_seconds([_parser(data), _reader(reader, data)], rounds)
        portions = len(data) / PORTION
        rows += (
            Row(
                part="transcripts",
                name=f"{reader.name} json.loads",
                value=floor / portions,
                unit="ms",
                ratio=1.0,
            ),
            Row(
                part="transcripts",
                name=f"{reader.name} per 100 KB",
                value=ours / portions,
                unit="ms",
                ratio=ours / floor,
                budget=BUDGETS["transcripts"]["per 100 KB"],
            ),
        )
    return rows


def _parser(data: bytes) -> Callable[[], None]:
    def parse() -> None:
        for line in data.decode().split("\n"):
            if line:
                json.loads(line)

    return parse


def _reader(reader: TranscriptReader, data: bytes) -> Callable[[], None]:
    def read() -> None:
        assert read_piece(reader, data).mark.offset == len(data)

    return read


def _best_seconds(acts: list[Callable[[], None]], rounds: int) -> list[float]:
    """Give the best time of each, in milliseconds, taken in turn."""
    best = [float("inf")] * len(acts)
    gc.collect()
    gc.disable()
    for _ in range(rounds):
        for at, act in enumerate(acts):
            start = time.perf_counter()
            act()
            best[at] = min(best[at], (time.perf_counter() - start) * 1000)
    gc.enable()
    return best
