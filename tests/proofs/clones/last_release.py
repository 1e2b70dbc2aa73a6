"""What sessions of the last release did with old events, with plain file operations.

At the end of a session each event older than 7 days went into a rollup of its day, and its file to the
archive; `archive clean` removed those copies after 30 days, once a rollup held them. Both are written down
here as they were, because the release is not there when these proofs run.
"""

import hashlib
import json
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

from tests.proofs.clones.trees import digest, read_texts
from tests.support.projects import ARCHIVE, EVENTS

DAYS = timedelta(days=7)
COPIES = timedelta(days=30)


def move_old(root: Path, now: datetime) -> int:
    """Move events older than 7 days as a session did; return how many were moved."""
    last = (now - DAYS).date().isoformat()
    due: dict[str, list[Path]] = {}
    for path in _singles(root):
        if path.name[:10] < last:
            due.setdefault(path.name[:10], []).append(path)
    for day, paths in sorted(due.items()):
        known = _held(root / EVENTS / day)
        new = [path for path in paths if digest(path.read_bytes()) not in known]
        if new:
            _write_rollup(root / EVENTS / day, date.fromisoformat(day), new)
        for path in paths:
            target = root / ARCHIVE / day / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            path.replace(target)
    return sum(map(len, due.values()))


def clean_old(root: Path, now: datetime) -> int:
    """Remove copies older than 30 days that a rollup holds, as `archive clean` did; return how many."""
    before = (now - COPIES).date().isoformat()
    removed = 0
    for path in sorted((root / ARCHIVE).glob("*/*.md")):
        if path.name[:10] < before and digest(path.read_bytes()) in _held(root / EVENTS / path.parent.name):
            path.unlink()
            removed += 1
    return removed


def _singles(root: Path) -> Iterator[Path]:
    events = root / EVENTS
    yield from sorted(path for path in events.glob("*.md") if path.is_file())
    yield from sorted(events.glob("????-??-??/*.md"))


def _held(folder: Path) -> frozenset[str]:
    files = sorted(folder.glob("rollup-*.jsonl"))
    return frozenset[str]().union(*(read_texts(path.name.encode(), path.read_bytes()) for path in files))


def _write_rollup(folder: Path, day: date, paths: list[Path]) -> None:
    head: dict[str, object] = {"type": "rollup", "v": 1, "day": day.isoformat(), "events": len(paths)}
    members: list[dict[str, object]] = [
        {"id": _id_of(text), "sha256": digest(text.encode()), "name": path.name, "text": text}
        for path in sorted(paths, key=lambda path: path.name)
        for text in [path.read_text(encoding="utf-8")]
    ]
    text = "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in (head, *members))
    folder.mkdir(parents=True, exist_ok=True)
    name = f"rollup-{hashlib.sha256(text.encode()).hexdigest()[:16]}.jsonl"
    (folder / name).write_text(text, encoding="utf-8")


def _id_of(text: str) -> str:
    found = next(line for line in text.splitlines() if line.startswith("id: "))
    return found.removeprefix("id: ").strip('"')
