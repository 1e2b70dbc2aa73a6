"""Eight processes make the same view at the same moment, round after round: no write fails, none is torn."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.proof import proof_count
from tests.support.commands import environment
from tests.support.machines import Machine, git

PROCESSES = 8
WORKER = """
import sys
from pathlib import Path
from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.services.log.commits import CommitTrigger
from passdown.services.log.synthesis import synthesize
from tests.support.machines import Machine

machine = Machine(Path(sys.argv[1]), "worker", policy="always", layout="flat", retention=3000)
for line in sys.stdin:
    outcome = synthesize(machine.open(), trigger=CommitTrigger.ASKED)
    seen = (machine.root / outcome.place.path).read_bytes()
    print("ok" if find_view_owner(seen) is ViewOwner.OURS else "torn", outcome.event_count, flush=True)
"""


@contextmanager
def workers(root: Path) -> "Iterator[list[subprocess.Popen[str]]]":
    """Start the processes; they end when nobody writes to them any more."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(root)],
            cwd=Path(__file__).resolve().parents[3],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    try:
        yield started
    finally:
        for process in started:
            process.communicate()


def answer(process: "subprocess.Popen[str]") -> str:
    """Read what a process says about its round."""
    assert process.stdout is not None
    return process.stdout.readline()


def ask(process: "subprocess.Popen[str]") -> None:
    """Let a process begin a round."""
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("R117")
def test_eight_synthesisers_never_fail_and_never_tear_a_view(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    machine = Machine(tmp_path, "ada-00000001", policy="always", layout="flat", retention=3000)
    rounds = proof_count(fast=3, ci=10, long=2_000)

    with workers(tmp_path) as started:
        for number in range(1, rounds + 1):
            machine.write(f"round {number}")
            for process in started:
                ask(process)
            assert [answer(process) for process in started] == [f"ok {number}\n"] * PROCESSES

    view = (tmp_path / "thoughts/shared/handoffs/current.md").read_text(encoding="utf-8")
    assert view == machine.view()
    assert not list(tmp_path.rglob("*.tmp"))
