"""A month of work leaves few lines of ours in pull requests, and no view that git merged (C116, C156)."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.proof import proof_count
from tests.proofs.clones.month import Month
from tests.proofs.conftest import Figures, Tell


class Case(NamedTuple):
    """What sessions are like, which of them leave a record, and how many lines each may leave."""

    sessions: str
    has_turns: bool
    most: float

    def __str__(self) -> str:
        """Name the case."""
        kind = "with turns of 20 minutes" if self.has_turns else "of one turn"
        return f"sessions {kind}, records of {self.sessions}"


CASES = (Case("all", False, 60), Case("handoff", False, 35), Case("all", True, 140))
DAYS = proof_count(fast=2, ci=3, long=22)


@pytest.fixture
def make_month(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[Case], Month]:
    """Give a way to make a month."""
    return lambda case: Month(tmp_path, monkeypatch, capsys, sessions=case.sessions, has_turns=case.has_turns)


@pytest.mark.proof
@pytest.mark.timeout(1200)  # each day has some twenty calls of git and of the command
@pytest.mark.requirement("C156", "C116")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_month_leaves_few_lines_and_no_doubled_view(
    make_month: Callable[[Case], Month], case: Case, tell: Tell, figures: Figures
) -> None:
    month = make_month(case)

    month.play(DAYS)

    for desk in month.desks:
        assert [one for one in desk.list_own() if desk.has_doubled_view(one)] == []
    found = month.found
    lines, files = (found[what] / found["sessions"] for what in ("lines", "files"))
    shown = {"lines a session": f"{lines:.1f}", "files a session": f"{files:.1f}", **found}
    figures(f"{case}, {DAYS} days", shown)
    tell(found["sessions"])
    assert found["own commits"] > 0
    assert lines <= case.most
