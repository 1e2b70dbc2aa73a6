"""The tests that CI may skip: those listed in `skips.toml`, each with a reason, and those it has no time for.

PASSDOWN_UNTIL is the time after which no further test begins, in seconds since 1970. `.ci/run` sets it for
the tests of the wheel, which the nightly run has too. On a slow machine each run begins with another file.
"""

import os
import time
import tomllib
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from passdown.records import record

LISTED: Final = Path(__file__).with_name("skips.toml")
IS_CI: Final = bool(os.environ.get("PASSDOWN_CI"))
"""Read before the guards of `conftest.py` remove our variables."""
UNTIL: Final = int(os.environ.get("PASSDOWN_UNTIL") or 0)
NO_TIME: Final = "no time is left for it: the nightly run has it too"


@record
class Skip:
    """Tests that may be skipped, and why."""

    tests: str
    reason: str


@cache
def read_skips(path: Path = LISTED) -> tuple[Skip, ...]:
    """Read the list; an entry without a reason is refused."""
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("skip", [])
    skips = tuple(Skip(tests=entry["tests"], reason=entry["reason"].strip()) for entry in entries)
    if empty := [skip.tests for skip in skips if not skip.reason]:
        raise ValueError(f"{path.name} gives no reason for: {', '.join(empty)}")
    return skips


def refuse_unlisted(report: pytest.TestReport | pytest.CollectReport, skips: tuple[Skip, ...]) -> None:
    """Turn a skip that is not listed into a failure; an expected failure is not a skip."""
    if report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return
    if _reason(report).endswith(NO_TIME) or any(fnmatchcase(report.nodeid, skip.tests) for skip in skips):
        return
    report.outcome = "failed"
    report.longrepr = f"skipped in CI and not listed in tests/skips.toml: {_reason(report)}"


def skip_if_late() -> None:
    """Skip the test that is about to begin if the time of this run is over."""
    if UNTIL and time.time() > UNTIL:
        pytest.skip(NO_TIME)


def begin_elsewhere(items: list[pytest.Item], until: int) -> None:
    """Put another file first in each run, the same in all of its processes: so no test is always late."""
    files = list(dict.fromkeys(str(item.path) for item in items))
    if files:
        first = until % len(files)
        last = {*files[:first]}
        items.sort(key=lambda item: str(item.path) in last)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    told = report.longrepr
    return str(told[2]) if isinstance(told, tuple) else str(told)
