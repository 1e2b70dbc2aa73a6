"""Proofs tell how much they did; a run of this folder ends with the sums."""

import time
from collections.abc import Callable
from itertools import groupby

import pytest

Tell = Callable[[int], None]


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Tell:
    """Note how many cases a proof went through, and how long that took."""
    start = time.monotonic()

    def note(count: int) -> None:
        record_property("proof", (count, time.monotonic() - start))

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what each proof did in all of its parts."""
    reports = [
        report for report in terminalreporter.getreports("passed") if hasattr(report, "user_properties")
    ]
    noted = sorted(
        (report.nodeid.partition("[")[0], *told)
        for report in reports
        if report.when == "call"
        for name, told in report.user_properties
        if name == "proof"
    )
    for test, parts in groupby(noted, key=lambda one: one[0]):
        _, counts, seconds = zip(*parts, strict=True)
        terminalreporter.write_line(f"{test}: {sum(counts):,} cases in {sum(seconds):.0f} s of one core")
