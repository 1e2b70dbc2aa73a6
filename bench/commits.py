"""One event into git: our commit beside `git add` and `git commit --only`, and the objects it makes."""

import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Final

from bench.budgets import BUDGETS
from bench.corpus import make_log
from bench.logs import Log, make_log_files, write_event_file
from bench.rows import Row
from passdown.engines.git.repository import GitRepository
from passdown.ports.repository import Committed

CASES: Final = (("flat", 1_000), ("day", 100_000))
CI_CASES: Final = (("flat", 1_000), ("day", 10_000))
MOST_BYTES: Final = 65_536
ROUNDS: Final = 9


def measure_commits(*, is_ci: bool = False) -> list[Row]:
    """Commit one new event after the other, in turn by git's own commands and by ours."""
    rows: list[Row] = []
    for layout, count in CI_CASES if is_ci else CASES:
        with make_log_files(layout, count) as log:
            rows += _measure(log)
    return rows


def _measure(log: Log) -> list[Row]:
    _git(log.root, "init", "-q", "-b", "main")
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.invalid"), ("gc.auto", "0")):
        _git(log.root, "config", key, value)
    _git(log.root, "add", "events")
    _git(log.root, "commit", "-qm", "Begin")
    repository = GitRepository(log.root)
    later = iter(list(make_log(log.count + 2 * ROUNDS + 2))[log.count :])
    floor: list[float] = []
    ours: list[float] = []
    sizes: list[int] = []
    for _ in range(ROUNDS):
        floor.append(_by_git(log, _add(log, *next(later))))
        before = _object_bytes(log.root)
        path = _add(log, *next(later))
        start = time.perf_counter()
        outcome = repository.commit([path], "passdown: 1 event")
        ours.append(time.perf_counter() - start)
        assert isinstance(outcome, Committed), outcome
        sizes.append(_object_bytes(log.root) - before)
    base, own, size = statistics.median(floor), statistics.median(ours), max(sizes)
    return [
        _row(log, "git commit --only", base * 1000, "ms", 1.0),
        _row(log, "our commit", own * 1000, "ms", own / base),
        _row(log, "objects", float(size), "bytes", size / MOST_BYTES),
    ]


def _row(log: Log, what: str, value: float, unit: str, ratio: float) -> Row:
    budget = BUDGETS["commits"].get(what)
    return Row(part="commits", name=f"{log.name}: {what}", value=value, unit=unit, ratio=ratio, budget=budget)


def _add(log: Log, day: str, name: str, text: str) -> str:
    write_event_file(log, day, name, text)
    return "/".join(part for part in ("events", day if log.layout == "day" else "", name) if part)


def _by_git(log: Log, path: str) -> float:
    start = time.perf_counter()
    _git(log.root, "add", "--", path)
    _git(log.root, "commit", "-q", "--only", "-m", "One event", "--", path)
    return time.perf_counter() - start


def _git(root: Path, *arguments: str) -> None:
    environment = {**os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", *arguments], cwd=root, check=True, env=environment)


def _object_bytes(root: Path) -> int:
    return sum(path.stat().st_size for path in (root / ".git" / "objects").rglob("*") if path.is_file())
