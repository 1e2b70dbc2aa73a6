"""Proofs tell how much they did; a run of this folder ends with the sums."""

import time
from collections.abc import Callable, Mapping
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


Figures = Callable[[str, Mapping[str, object]], None]


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Figures:
    """Note what a proof measured, to be printed at the end of the run."""

    def note(about: str, values: Mapping[str, object]) -> None:
        record_property("figures", f"{about}: " + ", ".join(f"{name} {one}" for name, one in values.items()))

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what each proof did in all of its parts."""
    reports = [
        report for report in terminalreporter.getreports("passed") if hasattr(report, "user_properties")
    ]
    told = sorted(str(one) for report in reports for name, one in report.user_properties if name == "figures")
    for line in dict.fromkeys(told):
        terminalreporter.write_line(line)
    noted = sorted(
        (report.nodeid.partition("[")[0], *values)
        for report in reports
        if report.when == "call"
        for name, values in report.user_properties
        if name == "proof"
    )
    for test, parts in groupby(noted, key=lambda one: one[0]):
        _, counts, seconds = zip(*parts, strict=True)
        terminalreporter.write_line(f"{test}: {sum(counts):,} cases in {sum(seconds):.0f} s of one core")
