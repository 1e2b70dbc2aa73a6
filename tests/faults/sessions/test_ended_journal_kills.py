"""Processes that end sessions and put their journals away are killed at any call: nothing is lost (C129)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proof import proof_count
from tests.support.commands import environment

ROOT = Path(__file__).resolve().parents[3]
ROUNDS = proof_count(fast=5, ci=100, long=1_000)


@pytest.mark.requirement("C129")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_no_line_is_lost_or_found_by_nobody_when_processes_that_put_journals_away_are_killed(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.sessions.ending", str(tmp_path), str(ROUNDS), "7"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stdout.decode()) == (0, ""), done.stderr.decode()
    lines, ended = (int(word) for word in done.stderr.decode().split() if word.isdigit())
    assert lines > ROUNDS
    assert ended > 0
