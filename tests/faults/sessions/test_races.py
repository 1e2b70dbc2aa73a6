"""Processes that publish at once, and people who edit while verbs run: nothing twice, nothing lost.

Each proof catches the fault that is planted in it: locks that lock nothing, a ledger that is overwritten.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.proof import proof_count
from tests.support.commands import environment

ROOT: Final = Path(__file__).resolve().parents[3]
SEED: Final = "20260112"

pytestmark = [
    pytest.mark.proof,
    pytest.mark.timeout(0),
    pytest.mark.skipif(not hasattr(os, "fork") or sys.platform != "linux", reason="needs fork"),
]


def run(module: str, folder: Path, count: int, fault: str = "") -> dict[str, object]:
    """Run a race in a process of its own, which may fork, and read what it found."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.faults.sessions.{module}", str(folder), str(count), SEED, fault],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, object] = json.loads(done.stdout)
    print(module, fault, {name: value for name, value in found.items() if name != "wrong"})
    return found


@pytest.mark.requirement("G15", "C57")
def test_of_eight_publishers_at_the_same_moment_each_fact_is_published_once(tmp_path: Path) -> None:
    found = run("publishing", tmp_path, proof_count(fast=3, ci=15, long=2_000))

    assert found["wrong"] == []


@pytest.mark.requirement("G15", "C57")
def test_the_proof_of_publishing_once_finds_a_lock_that_locks_nothing(tmp_path: Path) -> None:
    found = run("publishing", tmp_path, proof_count(fast=6, ci=12, long=12), "unlocked")

    assert [one for one in found["wrong"] if "overlap" in one or "twice" in one]  # type: ignore[attr-defined]


@pytest.mark.requirement("R1", "C58")
@pytest.mark.parametrize("missing", ["", "no-exchange", "no-leases"])
def test_no_edit_by_hand_is_lost_while_verbs_run(tmp_path: Path, missing: str) -> None:
    found = run("editing", tmp_path, proof_count(fast=12, ci=15, long=2_000), missing)

    assert found["wrong"] == []


@pytest.mark.requirement("R1", "C58")
@pytest.mark.slow
def test_the_proof_of_edits_finds_a_ledger_that_is_overwritten(tmp_path: Path) -> None:
    # An edit is lost only if it falls into a moment, so that a machine may be too slow or too fast for 200.
    tries = (run("editing", tmp_path / str(number), 200, "plain-replace") for number in range(10))

    assert any("lost" in one for found in tries for one in found["wrong"])  # type: ignore[attr-defined]
