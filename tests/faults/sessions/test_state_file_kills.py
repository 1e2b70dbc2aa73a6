"""How a command changes its state file, watched from outside, and what is left of it after a kill."""

import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.sessions.test_write_faults import strace
from tests.support.commands import environment, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="strace traces Linux")

__all__ = ["strace"]

CALLS = "openat,renameat"


def claim(tracer: str, root: Path, task: str, *rules: str) -> tuple[int, list[str]]:
    """Claim a task under the tracer; give how it ended, and its calls."""
    log = root.parent / "trace"
    words = [word for rule in (f"trace={CALLS}", *rules) for word in ("-e", rule)]
    command = [sys.executable, "-m", "passdown", "claim", task]
    ended = subprocess.run(
        [tracer, "-f", "-qq", "-o", str(log), *words, *command],
        cwd=root,
        env=environment(),
        capture_output=True,
        check=False,
    )
    return ended.returncode, log.read_text(encoding="utf-8", errors="replace").splitlines()


@pytest.mark.requirement("R168")
def test_a_claim_renames_a_file_of_its_process_to_its_state_file(strace: str, tmp_path: Path) -> None:
    root, kept = tmp_path / "project", tmp_path / "kept"
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    assert run("start", "--nickname", "amber", cwd=root).code == 0
    task = json.loads(run("task", "add", "One", "--json", cwd=root).out)["task"]["task"]
    (state,) = (root / ".conductor").glob("session-state_*.json")
    before = state.read_bytes()
    shutil.copytree(root, kept)

    code, calls = claim(strace, root, task)

    renames = [line for line in calls if " renameat(" in line]
    (rename,) = [line for line in renames if f'"{state.name}"' in line]
    (process, name) = re.findall(r'(\d+) +renameat\(\d+, "([^"]+)"', rename)[0]
    assert re.fullmatch(rf"\.passdown-{process}-[0-9a-f]+\.tmp", name)
    assert any(f'"{name}", O_WRONLY|O_CREAT|O_EXCL' in line for line in calls)
    opened = [line for line in calls if " openat(" in line and f'"{state.name}"' in line]
    assert [line for line in opened if "O_RDONLY" not in line] == []
    assert (code, json.loads(before)["currentTask"]) == (0, None)
    assert json.loads(state.read_bytes())["currentTask"] == task

    shutil.rmtree(root)
    shutil.copytree(kept, root)
    own = [line for line in renames if line.startswith(f"{process} ")]
    killed, _ = claim(strace, root, task, f"inject=renameat:signal=SIGKILL:when={own.index(rename) + 1}")

    assert killed in {-signal.SIGKILL, 128 + signal.SIGKILL}
    left = state.read_bytes()
    assert left == before or json.loads(left)["currentTask"] == task
    again = run("claim", task, cwd=root)
    assert (again.code, json.loads(state.read_bytes())["currentTask"]) == (0, task), again.err
