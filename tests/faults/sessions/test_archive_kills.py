"""An archive run that is killed at any of its writes loses nothing, and the next one finishes (C127)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from passdown.core.merge.rollups import is_rollup
from passdown.services.log.events import parse_events, read_sources
from passdown.settings import Settings
from tests.faults.sessions.test_commit_kills import PYTHON_CALLS
from tests.faults.sessions.test_write_faults import strace
from tests.proof import LEVEL, Level
from tests.support.clones.archivers import Archiver, call_process, make_clones
from tests.support.projects import open_checkout

__all__ = ["strace"]

STEP: Final = {Level.FAST: 11, Level.CI: 4, Level.LONG: 1}[LEVEL]
EVENTS: Final = "thoughts/shared/handoffs/events"


def on_disk(clone: Archiver) -> set[str]:
    """Give the hashes of all events that a reader finds."""
    return {source.rank.hash for source in read_sources(open_checkout(clone.root, Settings()).log)}


def in_head(clone: Archiver) -> set[str]:
    """Give the hashes of all events in the last commit."""
    found: set[str] = set()
    for path in clone.git("ls-tree", "-r", "--name-only", "HEAD", "--", f"{EVENTS}/").stdout.split():
        data = clone.git("show", f"HEAD:{path}").stdout.encode()
        found |= {source.rank.hash for _, source in parse_events(path.rpartition("/")[2], data).members}
    return found


def run_traced(strace: str, clone: Archiver, *rules: str) -> list[str]:
    """Run under the tracer; give the calls that change something."""
    trace = clone.root.parent / "trace"
    rule = [part for rule in rules for part in ("-e", rule)]
    command = [strace, "-qq", "-o", str(trace), "-e", f"trace={','.join(PYTHON_CALLS)}", *rule]
    subprocess.run(
        [*command, sys.executable, "-m", "passdown", "archive", "run"],
        cwd=clone.root,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line for line in lines if line.partition("(")[0] in PYTHON_CALLS]


@pytest.mark.proof
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this tracer")
@pytest.mark.requirement("C127")
def test_a_run_killed_at_any_write_loses_nothing_and_the_next_one_finishes(
    tmp_path: Path, strace: str
) -> None:
    (template,) = make_clones(tmp_path, 1, '[events]\narchiver = "job"\n', calling=call_process)
    template.write(3, 60)
    template.commit()
    template.call("archive", "run")
    template.write(3, 12)
    template.commit()
    everything = in_head(template)
    assert len(everything) == 6
    work = Archiver(tmp_path / "work", "agent", call_process)
    shutil.copytree(template.root, work.root)
    calls = len(run_traced(strace, work))
    final = sorted(work.single()), sorted(work.rollups())
    assert calls > 40
    names = ",".join(PYTHON_CALLS)
    for number in range(1, calls + 1, STEP):
        shutil.rmtree(work.root)
        shutil.copytree(template.root, work.root)

        run_traced(strace, work, f"inject={names}:signal=KILL:when={number}")

        assert (on_disk(work), in_head(work)) == (everything, everything), number
        finished = work.call("archive", "run")
        assert work.git("status", "--porcelain", "--", "thoughts").stdout == "", (number, finished)
        assert (sorted(work.single()), sorted(work.rollups())) == final, number
        assert on_disk(work) == everything, number
    assert work.call("archive", "verify").code == 0
    assert any(is_rollup(path.rpartition("/")[2]) for path in final[1])
