"""What a call costs beyond its time, as exact counts: syncs of the disk, git processes, rendered ledgers.

A count does not depend on the machine. It grows only with a reason, which belongs beside it (ADR 0042).
"""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import passdown

pytestmark = [
    pytest.mark.requirement("C58", "C62"),
    pytest.mark.skipif(sys.platform == "win32", reason="folders are not synced there"),
]

COUNT: Final = """
import collections, json, os, sys
sys.path[:0] = [sys.argv.pop(1), sys.argv.pop(1)]
found = collections.Counter()
sync = os.fsync
def count_sync(handle):
    found["syncs"] += 1
    sync(handle)
os.fsync = count_sync
def audit(name, words):
    if name == "subprocess.Popen":
        found["processes"] += 1
sys.addaudithook(audit)
def count_call(frame, event, _):
    if event == "call" and frame.f_code.co_name == "render_filled":
        found["ledgers"] += 1
sys.setprofile(count_call)
from passdown.faces.cli.main import main
code = main()
sys.stderr.write(chr(10) + json.dumps([code, found["syncs"], found["processes"], found["ledgers"]]))
"""
"""Calls Passdown, and then prints its exit code and what was counted. SQLite's own syncs are not seen."""


class Costs(NamedTuple):
    """What was counted."""

    syncs: int
    processes: int
    ledgers: int


class Agent(NamedTuple):
    """A session in a project; `host` is the process of its host."""

    folder: Path
    session: str
    host: "subprocess.Popen[bytes]"

    def call(self, *words: str) -> Costs:
        """Run a command of the agent."""
        return self._run(words, b"")

    def hook(self, event: str, **more: str) -> Costs:
        """Let the host call a hook."""
        told = {
            "hook_event_name": event,
            "session_id": self.session,
            "cwd": str(self.folder),
            "transcript_path": str(self.folder.parent / f"{self.session}.jsonl"),
            **more,
        }
        return self._run(("hook", "--host", "claude"), json.dumps(told).encode())

    def _run(self, words: tuple[str, ...], told: bytes) -> Costs:
        paths = [str(Path(passdown.__file__).parents[1]), sysconfig.get_path("purelib")]
        order = {"words": [sys.executable, "-c", COUNT, *paths, *words], "told": told.decode()}
        order["folder"], order["session"] = str(self.folder), self.session
        assert self.host.stdin is not None
        assert self.host.stdout is not None
        self.host.stdin.write(json.dumps(order).encode() + b"\n")
        self.host.stdin.flush()
        code, *counts = json.loads(self.host.stdout.readline())
        assert code == 0
        return Costs(*counts)


HOST: Final = """
import json, os, subprocess, sys
for line in sys.stdin:
    order = json.loads(line)
    variables = {**os.environ, "PASSDOWN_SESSION": order["session"]}
    done = subprocess.run(order["words"], input=order["told"], cwd=order["folder"], env=variables,
                          capture_output=True, text=True)
    print(done.stderr.splitlines()[-1], flush=True)
"""
"""A host: it starts what it is told, and waits for it."""


@contextmanager
def agent(folder: Path, session: str) -> Iterator[Agent]:
    """Start a host with a session; it is killed at the end, so the session never ends by itself."""
    variables = {**os.environ, "HOME": str(folder.parent), "USERPROFILE": str(folder.parent)}
    program = [sys.executable, "-c", HOST]
    said = {"type": "user", "message": {"role": "user", "content": "fix it"}}
    (folder.parent / f"{session}.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables) as host:
        try:
            yield Agent(folder, session, host)
        finally:
            host.kill()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Give a project in which a session has ended."""
    folder = tmp_path / "project"
    for words in (
        ("init", "-q", "-b", "main", str(folder)),
        ("-C", str(folder), "config", "user.name", "Somebody"),
        ("-C", str(folder), "config", "user.email", "somebody@localhost"),
    ):
        subprocess.run(["git", *words], check=True)
    (folder / "passdown.toml").touch()
    subprocess.run(["git", "-C", str(folder), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(folder), "commit", "-q", "-m", "Begin"], check=True)
    with agent(folder, "first") as first:
        first.hook("SessionStart", source="startup")
        work(first)
        first.call("end")
    return folder


def work(one: Agent) -> None:
    """State everything that the next session takes over."""
    one.call("goal", "Ship the parser")
    one.call("now", "write the parser")
    one.call("next", "write the tests", "write the pages")


def test_a_start_syncs_the_new_journal_and_renders_the_ledger_once(project: Path) -> None:
    with agent(project, "second") as second:
        found = second.hook("SessionStart", source="startup")

    # The folder of the journals and the journal; git tells which events, and which records, are committed.
    assert found == Costs(syncs=2, processes=2, ledgers=1)


def test_a_start_after_a_crash_publishes_it_in_three_writes_and_renders_one_ledger_more(
    project: Path,
) -> None:
    with agent(project, "second") as second:
        second.hook("SessionStart", source="startup")
        work(second)
    with agent(project, "third") as third:
        found = third.hook("SessionStart", source="startup")

    # Event, record and, after the answer, the view: the file and its folder each. The end in the old
    # journal; the new journal and its folder.
    assert found.syncs == 9
    assert found.ledgers == 2


@pytest.mark.parametrize(
    "words", [("decide", "db", "SQLite"), ("note", "look"), ("now", "test"), ("done", "wrote it")]
)
def test_a_statement_syncs_the_journal_and_the_ledger(project: Path, words: tuple[str, ...]) -> None:
    with agent(project, "second") as second:
        second.hook("SessionStart", source="startup")
        second.call("goal", "Ship the parser")

        # The journal, the ledger and its folder.
        assert second.call(*words) == Costs(syncs=3, processes=0, ledgers=1)


def test_a_turn_that_publishes_nothing_starts_no_process(project: Path) -> None:
    with agent(project, "second") as second:
        second.hook("SessionStart", source="startup")
        second.hook("Stop")

        # The ledger is rendered to see whether somebody edited it.
        assert second.hook("Stop") == Costs(syncs=0, processes=0, ledgers=1)
