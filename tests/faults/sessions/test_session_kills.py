"""Sessions killed at any moment: nothing acknowledged is lost, no file is torn, nothing is left over."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import passdown
from tests.faults.sessions.lives import KINDS, VERBS, find_torn, leftovers, said, unpublished
from tests.faults.sessions.test_write_faults import strace
from tests.proof import LEVEL, Level, proof_count
from tests.support.commands import environment

__all__ = ["strace"]

ROOT = Path(__file__).resolve().parents[3]
SOURCE = str(Path(passdown.__file__).parents[1])
CALLS = ("write", "fsync", "fdatasync", "linkat", "renameat", "renameat2", "rename", "pwrite64")
TRACED = tuple(VERBS) if LEVEL is not Level.FAST else ("done",)
STEP = 1 if LEVEL is Level.LONG else 8
"""Every how many calls a verb is killed; each verb begins elsewhere, since they make most calls alike."""
# `chdir` marks where the verb begins and ends; the session is one whose host is gone.
CHILD = """
import os, sys
from tests.faults.sessions.lives import VERBS, call
from passdown.core.sessions.session_facts import HostProcess
from passdown.engines.process import SystemProcesses
SystemProcesses.find_host = lambda self: HostProcess(1, "0", self._boot())
import passdown.faces.cli.fact_verbs, passdown.faces.cli.lifecycle
import passdown.wiring, sqlite3, passdown.engines.sqlite.event_index, passdown.engines.process
root, verb, text = sys.argv[1:]
os.chdir(root)
code = call(*VERBS[verb](text))
os.chdir(root)
sys.exit(code)
"""


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("R1", through="command")
@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform != "linux", reason="needs fork and /proc")
def test_a_kill_at_a_random_moment_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    count = proof_count(fast=20, ci=120, long=2_000)

    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.sessions.killing", str(tmp_path), str(count), "20260111"],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr[-3000:]
    answer = json.loads(done.stdout)
    print("hits:", ", ".join(f"{verb} {hits}" for verb, hits in answer["hits"].items()))
    assert answer["wrong"] == []
    assert LEVEL is Level.FAST or min(answer["hits"].values()) >= count // 30


def run(root: Path, verb: str, text: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a verb unharmed."""
    child = [sys.executable, "-c", CHILD, str(root), verb, text]
    return subprocess.run(
        child, cwd=ROOT, env=environment(**more), capture_output=True, text=True, check=False
    )


def run_traced(tracer: str, root: Path, verb: str, session: str, *rules: str) -> tuple[int, list[str]]:
    """Run a verb under the tracer; give how it ended, and all calls from the first."""
    log = root.parent / f"{root.name}.trace"
    words = ["-e", "trace=chdir," + ",".join(CALLS)] + [word for rule in rules for word in ("-e", rule)]
    child = [sys.executable, "-c", CHILD, str(root), verb, f"traced {verb}"]
    ended = subprocess.run(
        [tracer, "-qq", "-o", str(log), *words, *child],
        cwd=ROOT,
        env=environment(PASSDOWN_SESSION=session, PYTHONDONTWRITEBYTECODE="1"),
        capture_output=True,
        check=False,
    )
    return ended.returncode, log.read_text(encoding="utf-8", errors="replace").splitlines()


def points(trace: list[str]) -> Iterator[tuple[str, int]]:
    """Name every call between the marks, each with its number among all of that name."""
    counts = dict.fromkeys(CALLS, 0)
    marks = 0
    for line in trace:
        found = re.match(r"([a-z0-9]+)\(", line)
        name = found[1] if found else ""
        marks += name == "chdir" and f'"{ROOT}"' not in line
        if name in counts:
            counts[name] += 1
            if marks == 1:
                yield name, counts[name]


def check_verb(tracer: str, folder: Path, verb: str) -> int:
    """Kill a verb at each of its calls; say how many there are."""
    root, kept = folder / "project", folder / "kept"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    for name, text in (("start", ""), ("done", "before"), ("ask", "why?"), ("now", "working")):
        assert run(root, name, text, PASSDOWN_SESSION=find_session(root)).returncode == 0
    session = find_session(root)
    shutil.copytree(root, kept)
    code, trace = run_traced(tracer, root, verb, session)
    assert code == 0, trace[-5:]
    found = list(points(trace))[TRACED.index(verb) % STEP :: STEP]
    for call, number in found:
        shutil.rmtree(root)
        shutil.copytree(kept, root)
        code, _ = run_traced(tracer, root, verb, session, f"inject={call}:signal=SIGKILL:when={number}")
        where = f"{verb}: {call} {number}"
        assert code in {-signal.SIGKILL, 128 + signal.SIGKILL}, (where, code)
        check_after(root, verb, where)
    return len(found)


def find_session(root: Path) -> str:
    """Name the only session, if there is one."""
    return next((path.stem for path in (root / ".git/passdown/journal").glob("*.jsonl")), "")


def check_after(root: Path, verb: str, where: str) -> None:
    """What was acknowledged before is there; the verb can be repeated; the next start leaves nothing over."""
    before = {("done", "before"), ("question", "why?"), ("now", "working")}
    assert list(find_torn(root)) == [], where
    assert said(root) >= before, where
    if verb not in {"start", "end", "heartbeat"}:
        again = run(root, verb, f"again {verb}", PASSDOWN_SESSION=find_session(root))
        assert again.returncode == 0, (where, again.stderr)
        assert (KINDS[verb], f"again {verb}") in said(root), where
    started = run(root, "start", "")
    assert started.returncode == 0, (where, started.stderr)
    assert leftovers(root) == [], where
    assert list(find_torn(root)) == [], where
    assert unpublished(root) == [], where
    assert said(root) >= before, where


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("R1", "R104", through="command")
def test_a_kill_at_every_call_of_a_verb_leaves_whole_files(strace: str, tmp_path: Path) -> None:
    def check(verb: str) -> tuple[str, int]:
        return verb, check_verb(strace, tmp_path / verb, verb)

    with ThreadPoolExecutor(max_workers=2) as pool:
        counts = dict(pool.map(check, TRACED))

    print("points:", ", ".join(f"{verb} {count}" for verb, count in counts.items()))
    assert min(counts.values()) >= (5 if LEVEL is Level.LONG else 1)
