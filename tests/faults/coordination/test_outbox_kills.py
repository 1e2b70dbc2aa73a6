"""A tracker that dies before, during and after its effect, and a kill -9 of ours at each step: one effect."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.proof import proof_count
from tests.trackers.beads import BUILDS, find_bd

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no kill -9, and no way to fork")


def run_kills(folder: Path, count: int, *more: str) -> dict[str, Any]:
    """Run them in a process of its own; give what it found."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.faults.coordination.outbox_killing",
            str(folder),
            str(count),
            "20260111",
            *more,
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.proof
@pytest.mark.timeout(1800)
def test_a_change_that_was_written_down_happens_once_whatever_dies(tmp_path: Path) -> None:
    count = proof_count(fast=8, ci=12, long=1000)

    found = run_kills(tmp_path, count)

    assert found["wrong"] == []
    assert found["hits"]["killed"] >= count // 3
    assert found["hits"]["repeated"] >= count // 8


@pytest.mark.beads
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", BUILDS)
def test_the_same_holds_with_a_real_one(tmp_path: Path, version: str) -> None:
    count = proof_count(fast=4, ci=4, long=160)

    found = run_kills(tmp_path, count, str(find_bd(version)))

    assert found["wrong"] == []
    assert found["hits"]["killed"] >= count // 3
