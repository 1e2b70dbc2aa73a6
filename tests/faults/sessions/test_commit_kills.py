"""Hooks that are killed while they commit: nothing is lost, and the user's index and files stay."""

import ctypes
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.faults.hooked import CALL, HOST
from tests.faults.sessions.test_write_faults import strace
from tests.proof import LEVEL, Level
from tests.support.commands import environment
from tests.support.gits import make_started

__all__ = ["strace"]

EVENTS: Final = "thoughts/shared/handoffs/events"
VIEW: Final = "thoughts/shared/handoffs/current.md"
LOCAL: Final = ".conductor/current.md"
LOCKS: Final = ("index.lock", "HEAD.lock", "refs/heads/main.lock")
NEXT: Final = "the-next-session"
PYTHON_CALLS: Final = (
    *("write", "pwrite64", "fsync", "fdatasync", "link", "linkat", "rename", "renameat", "renameat2"),
    *("unlink", "unlinkat", "mkdir", "mkdirat", "vfork", "clone", "clone3"),
)
"""The calls of a hook that change something, and those that start git."""
GIT_CALLS: Final = (
    *("write", "pwrite64", "fsync", "link", "linkat", "rename", "renameat", "renameat2"),
    *("unlink", "unlinkat", "mkdir", "mkdirat", "openat"),
)
STEP: Final = {Level.FAST: 9, Level.CI: 9, Level.LONG: 1}[LEVEL]
GIT_STEP: Final = {Level.FAST: 45, Level.CI: 45, Level.LONG: 1}[LEVEL]
"""Git makes ten times as many calls as the hook: only the long run kills it at each of them."""
_SUBREAPER: Final = 36

# The n-th git that a hook starts runs under the tracer; with AND_HOOK, whoever started it is killed as well.
WRAPPER: Final = """#!/bin/sh
count=$(($(cat "$COUNT") + 1))
echo $count > "$COUNT"
if [ "$count" != "$WHICH" ]; then exec "$GIT" "$@"; fi
"$TRACER" -qq -o "$TRACE" -e "trace=$CALLS" ${RULE:+-e "$RULE"} "$GIT" "$@"
code=$?
if [ -n "$AND_HOOK" ]; then kill -9 $PPID; fi
exit $code
"""


class Hook(NamedTuple):
    """A hook that commits: what precedes it, and what the host tells."""

    before: tuple[tuple[str, str], ...]
    event: str
    session: str
    owed: str


HOOKS: Final = {
    "start": Hook((("SessionStart", HOST), ("SessionEnd", HOST)), "SessionStart", NEXT, "an end"),
    "turn end": Hook((("SessionStart", HOST),), "Stop", HOST, "a checkpoint"),
}


class Ground:
    """A repository whose user is at work, and a hook that is about to commit in it."""

    def __init__(self, folder: Path, hook: Hook) -> None:
        """Make it, and keep a copy."""
        self.hook = hook
        self._others = list_children()
        self.project = make_started(folder / "project")
        self.root = self.project.folder
        self._kept = folder / "kept"
        self.bin = folder / "bin"
        self._variables: dict[str, str] = {}
        (self.root / "passdown.toml").touch()
        self.project.write(".gitignore", ".conductor/\nconductor/sessions/active/\n")
        self.project.git("add", "--all")
        self.project.git("commit", "--quiet", "--message=set up")
        for event, session in hook.before:
            self.call(event, session)
            if event == "SessionStart":
                words = [sys.executable, "-m", "passdown", "done", "read the code", "--session", session]
                subprocess.run(words, cwd=self.root, env=environment(), check=True, capture_output=True)
        self.project.write("kept.txt", "staged\n")
        self.project.git("add", "kept.txt")
        self.project.write("kept.txt", "unstaged\n")
        self.project.write("new.txt", "untracked\n")
        self.user = self.user_work()
        shutil.copytree(self.root, self._kept, symlinks=True)

    def restore(self) -> None:
        """Put everything back."""
        shutil.rmtree(self.root)
        shutil.copytree(self._kept, self.root, symlinks=True)

    def user_work(self) -> tuple[list[str], bytes, bytes]:
        """Give the entries of the index that are not ours, and the user's files."""
        shown = self.project.git("ls-files", "--stage", "-v").splitlines()
        entries = [line for line in shown if "thoughts/" not in line and "conductor/" not in line]
        return entries, *((self.root / name).read_bytes() for name in ("kept.txt", "new.txt"))  # type: ignore[return-value]  # two files

    def payload(self, event: str, session: str) -> bytes:
        """Write what the host tells."""
        told = {"hook_event_name": event, "session_id": session, "cwd": str(self.root)}
        more = {"source": "startup", "reason": "logout", "transcript_path": str(self.root / "none")}
        return json.dumps({**told, **more}).encode()

    def call(self, event: str, session: str, *before: str, **more: str) -> int:
        """Call a hook as a host does, in its own group; wait for every process that it left behind."""
        child = [sys.executable, "-c", CALL, "hook", "--host", "claude"]
        done = subprocess.run(
            [*before, *child],
            cwd=self.root,
            env=environment(PYTHONDONTWRITEBYTECODE="1", **more),
            input=self.payload(event, session),
            capture_output=True,
            check=False,
            start_new_session=True,
        )
        wait_for_orphans(self._others)
        return done.returncode

    def commits(self) -> list[str]:
        """Give the subjects of our commits."""
        shown = self.project.git("log", "--format=%s").splitlines()
        return [one for one in shown if one.startswith("passdown: ")]

    def check(self, where: object) -> bool:
        """Check what must hold after a kill; the next hooks make view and commit. Was a lock left?"""
        events = {str(path.relative_to(self.root)) for path in (self.root / EVENTS).glob("*.md")}
        locks = [name for name in LOCKS if (self.root / ".git" / name).exists()]
        if locks:
            self.call(self.hook.event, self.hook.session)
            status = [sys.executable, "-m", "passdown", "status"]
            done = subprocess.run(status, cwd=self.root, env=environment(), capture_output=True, check=False)
            assert self.is_committed() or f"{locks[0]} exists" in done.stdout.decode(), (where, done)
        for name in locks:  # as the user is told to do
            (self.root / ".git" / name).unlink()
        assert self.user_work() == self.user, where
        self.project.git("fsck", "--strict")
        self.call(self.hook.event, self.hook.session)
        assert "read the code" in (self.root / LOCAL).read_text(encoding="utf-8"), (where, self.log())
        self.call("SessionEnd", self.hook.session)
        self.call("SessionStart", "a-later-session")
        assert self.is_committed(), (where, self.log())
        assert events <= set(self.project.tree()), where
        assert self.user_work() == self.user, where
        ours = self.project.git("status", "--porcelain", "--untracked-files=all", "thoughts", "conductor")
        assert ours == "", where
        return bool(locks)

    def is_committed(self) -> bool:
        """Say whether what the session said is in the last commit."""
        tree = [name for name in self.project.tree() if name.startswith(EVENTS)]
        return any("read the code" in self.project.git("show", f"HEAD:{name}") for name in tree)

    def log(self) -> str:
        """Give what hooks noted."""
        path = self.root / ".git/passdown/hooks.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


def list_children() -> set[int]:
    """Give the numbers of our children."""
    found: set[int] = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            parent = path.read_text().rpartition(") ")[2].split()[1]
            found |= {int(path.parent.name)} if int(parent) == os.getpid() else set()
    return found


def wait_for_orphans(others: set[int]) -> None:
    """Wait until nothing runs that a killed process started: orphans become our children, beside others."""
    while orphans := list_children() - others:
        for orphan in orphans:
            with suppress(ChildProcessError):  # somebody else waited for it
                os.waitpid(orphan, 0)


@pytest.fixture(autouse=True)
def _adopt_orphans(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if sys.platform != "linux":
        pytest.skip("needs strace, and orphans that can be waited for")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-10T12:00:00Z")
    system = ctypes.CDLL(None)
    assert system.prctl(_SUBREAPER, 1, 0, 0, 0) == 0
    yield
    system.prctl(_SUBREAPER, 0, 0, 0, 0)


def list_points(trace: str, calls: tuple[str, ...], begin: str = "") -> list[tuple[str, int]]:
    """Name every call from the first line that holds `begin`, with its number among all of its name."""
    counts = dict.fromkeys(calls, 0)
    found: list[tuple[str, int]] = []
    has_begun = not begin
    for line in trace.splitlines():
        name = (re.match(r"([a-z0-9]+)\(", line) or ("", ""))[1]
        if name in counts:
            counts[name] += 1
            if has_begun and (name != "openat" or "O_CREAT" in line):
                found.append((name, counts[name]))
        has_begun = has_begun or begin in line
    return found


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C117", "C42", "G17", "R131", "R132")
@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_killed_at_every_call_after_its_answer_loses_nothing(
    strace: str, tmp_path: Path, name: str
) -> None:
    hook = HOOKS[name]
    ground = Ground(tmp_path, hook)
    trace = tmp_path / "trace"
    tracing = (strace, "-qq", "-o", str(trace), "-e", f"trace={','.join(PYTHON_CALLS)}")
    assert ground.call(hook.event, hook.session, *tracing) == 0
    assert len(ground.commits()) == 1
    begin = "write(1, " if hook.event == "SessionStart" else "to-commit"
    points = list_points(trace.read_text(encoding="utf-8", errors="replace"), PYTHON_CALLS, begin)
    assert sum(call in {"vfork", "clone", "clone3"} for call, _ in points) >= 7, points

    chosen = points[
        [*HOOKS].index(name) % STEP :: STEP
    ]  # the hooks make many calls alike: each begins elsewhere
    for call, number in chosen:
        ground.restore()
        rule = f"inject={call}:signal=SIGKILL:when={number}"
        code = ground.call(hook.event, hook.session, *tracing, "-e", rule)
        assert code in {-signal.SIGKILL, 128 + signal.SIGKILL}, (call, number, code)
        assert not ground.check((name, call, number)), "git ends by itself, and takes its lock with it"
    print(f"{name}: killed at {len(chosen)} of {len(points)} calls")


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C117", "C42")
@pytest.mark.parametrize("and_hook", ["", "1"], ids=["git", "git and hook"])
@pytest.mark.parametrize("name", HOOKS)
def test_a_git_killed_at_every_call_loses_nothing_and_a_lock_is_told(
    strace: str, tmp_path: Path, name: str, and_hook: str
) -> None:
    hook = HOOKS[name]
    ground = Ground(tmp_path, hook)
    variables = wrap_git(ground, strace)
    points: list[tuple[int, str, int]] = []
    for which in range(1, 16):
        ground.restore()
        (ground.bin / "count").write_text("0\n", encoding="utf-8")
        (ground.bin / "trace").write_text("", encoding="utf-8")
        assert ground.call(hook.event, hook.session, **variables, WHICH=str(which)) == 0
        text = (ground.bin / "trace").read_text(encoding="utf-8", errors="replace")
        points += [(which, call, number) for call, number in list_points(text, GIT_CALLS)]
    assert len(points) >= 20, points
    locks = 0
    for which, call, number in points[::GIT_STEP]:
        ground.restore()
        (ground.bin / "count").write_text("0\n", encoding="utf-8")
        rule = f"inject={call}:signal=SIGKILL:when={number}"
        ground.call(hook.event, hook.session, **variables, WHICH=str(which), RULE=rule, AND_HOOK=and_hook)
        locks += ground.check((name, which, call, number))
    done = len(points[::GIT_STEP])
    print(f"{name}, {'with the hook' if and_hook else 'alone'}: {done} of {len(points)}, {locks} left a lock")


def wrap_git(ground: Ground, tracer: str) -> dict[str, str]:
    """Put a program before git that can have it killed; give the variables that it needs."""
    ground.bin.mkdir()
    wrapper = ground.bin / "git"
    wrapper.write_text(WRAPPER, encoding="utf-8")
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    real = shutil.which("git")
    assert real is not None
    return {
        "PATH": f"{ground.bin}:{os.environ['PATH']}",
        "COUNT": str(ground.bin / "count"),
        "TRACE": str(ground.bin / "trace"),
        "CALLS": ",".join(GIT_CALLS),
        "GIT": real,
        "TRACER": tracer,
    }
