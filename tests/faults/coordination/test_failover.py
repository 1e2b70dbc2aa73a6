"""The primary of a cluster loses its power while sessions claim: a standby takes over, nothing is lost."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.commands import environment

pytestmark = [pytest.mark.proof, pytest.mark.server, pytest.mark.timeout(0)]

ROOT: Final = Path(__file__).resolve().parents[3]


@pytest.mark.requirement("C78", "C79")
@pytest.mark.skipif(not shutil.which("patroni") or not shutil.which("etcd"), reason="not installed")
def test_when_the_primary_loses_its_power_nothing_is_lost_or_given_twice(tmp_path: Path) -> None:
    """A process of its own, which may fork; `.ci/nightly` makes more rounds, and of other faults, too."""
    told = tmp_path / "rounds.json"

    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.clusters.prove_failover"),
            *("--rounds", "1", "--fault", "power", "--json", str(told)),
        ],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    found: list[dict[str, Any]] = json.loads(told.read_text(encoding="utf-8"))
    assert [one["wrong"] for one in found] == [[]]
    assert found[0]["granted"] == 200
    assert found[0]["quiet"] > 5.0  # there was a failover
