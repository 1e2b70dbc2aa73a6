"""A start that is killed while it answers: what was handed to the session is told by the next one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.hooked import CALL
from tests.support.commands import environment, run
from tests.support.gits import make_started

fcntl = pytest.importorskip("fcntl")
PAGE = 4_096
HOST = "host-1"

pytestmark = pytest.mark.skipif(not hasattr(fcntl, "F_SETPIPE_SZ"), reason="pipes cannot be made smaller")


def start_hook(folder: Path, out: int) -> "subprocess.Popen[bytes]":
    """Let a host begin a session; its answer goes to a file or pipe."""
    hook = subprocess.Popen(
        [sys.executable, "-c", CALL, "hook", "--host", "claude"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=out,
    )
    payload = {"hook_event_name": "SessionStart", "session_id": HOST, "cwd": str(folder), "source": "startup"}
    assert hook.stdin is not None
    hook.stdin.write(json.dumps(payload).encode())
    hook.stdin.close()
    return hook


@pytest.mark.requirement("C91", "R224", through="hook")
@pytest.mark.parametrize("is_coordinated", [False, True], ids=["without an engine", "with an engine"])
def test_a_start_that_is_killed_while_it_answers_has_told_nothing(
    tmp_path: Path, *, is_coordinated: bool
) -> None:
    folder = make_started(tmp_path / "project").folder
    (folder / "passdown.toml").touch()
    run("start", "--new", "--session", "amber", "--nickname", "amber", cwd=folder)
    if is_coordinated:
        run("inbox", "--session", "amber", cwd=folder)
    texts = [f"number {number} {'x' * 700}" for number in range(8)]
    for text in texts:
        run("handoff", "create", text, "--to", "claude", "--session", "amber", cwd=folder)
    waiting = sorted((folder / ".conductor").glob("handoff_*"))
    assert len(waiting) == len(texts)
    ours, theirs = os.pipe()
    fcntl.fcntl(theirs, fcntl.F_SETPIPE_SZ, PAGE)

    hook = start_hook(folder, theirs)
    os.close(theirs)
    assert os.read(ours, 1) == b"{"  # it waits for room for the rest of its answer
    os.kill(hook.pid, signal.SIGKILL)
    assert hook.wait() == -signal.SIGKILL
    os.close(ours)

    assert sorted((folder / ".conductor").glob("handoff_*")) == waiting
    told = tmp_path / "told.json"
    with told.open("wb") as out:
        assert start_hook(folder, out.fileno()).wait() == 0
    context = json.loads(told.read_bytes())["hookSpecificOutput"]["additionalContext"]
    moved = list((folder / ".conductor/processed_handoffs").glob("*"))
    assert moved
    for path in moved:
        assert context.count(f"> {json.loads(path.read_bytes())['content'][:100]}") == 1
