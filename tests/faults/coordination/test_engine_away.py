"""An engine that is away makes a hook or a verb wait for at most 250 ms, by real processes.

Without that time, each may cost twice what it usually does, in starts of Python (`tests/timing.py`).
"""

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

import pytest

from passdown import layout
from tests.faults.hooked import CALL
from tests.stores.coordination_files import too_new
from tests.support.commands import environment
from tests.support.gits import make_started
from tests.support.listeners import Listener
from tests.timing import Took, drag, judge, take

ASKED: Final = 0.25
"""The seconds for which an engine is asked (C86), whatever the machine."""
HOST: Final = "host-1"
Call = Callable[..., "subprocess.CompletedProcess[bytes]"]
SQLITE: Final = ("locked", "damaged", "newer")


class Project:
    """A project with a session in a host, which holds a folder."""

    def __init__(self, folder: Path) -> None:
        """Set it up."""
        self.folder = make_started(folder).folder
        (self.folder / "passdown.toml").touch()
        self.file = self.folder / ".git/passdown/coordination.sqlite"
        self.call_hook("SessionStart")
        assert self.call("reserve", "src/").returncode == 0

    def call_hook(self, event: str, **more: str) -> "subprocess.CompletedProcess[bytes]":
        """Call a hook as a host does."""
        payload = {"hook_event_name": event, "session_id": HOST, "cwd": str(self.folder), "source": "resume"}
        return self.call("hook", "--host", "claude", told=json.dumps(payload), **more)

    def call(self, *words: str, told: str = "", **more: str) -> "subprocess.CompletedProcess[bytes]":
        """Call the command."""
        return subprocess.run(
            [sys.executable, "-c", drag(CALL), *words],
            cwd=self.folder,
            env=environment(PASSDOWN_SESSION=HOST, **more),
            input=told.encode(),
            capture_output=True,
            check=False,
        )

    def forget(self) -> None:
        """Forget that the engine was away."""
        (self.folder / ".git/passdown/engine-away.json").unlink(missing_ok=True)


@contextmanager
def away(project: Project, how: str) -> Iterator[dict[str, str]]:
    """Let the engine be away; give the variables that a process needs for it."""
    key = {"PASSDOWN_PROJECT_KEY": f"p-{'0' * 32}"}
    if how == "locked":
        with closing(sqlite3.connect(project.file, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield {"PASSDOWN_COORDINATION_WAIT_SECONDS": "1"}
    elif how == "damaged":
        for path in project.file.parent.glob(f"{project.file.name}-*"):
            path.unlink()
        project.file.write_bytes(b"no database" * 1_000)
        shutil.rmtree(project.file.parent / layout.COORDINATION_CHANGES)  # nobody can restore it
        yield {}
    elif how == "newer":
        with too_new(project.file):
            yield {}
    elif how == "hanging":
        with Listener.on_port(is_stopped=True) as server:
            yield {**key, "PASSDOWN_COORDINATION_URL": server.url}
    else:
        yield {**key, "PASSDOWN_COORDINATION_URL": "postgresql://127.0.0.1:9/x"}


@pytest.mark.timed
@pytest.mark.timeout(600)
@pytest.mark.requirement("C86", "R216")
@pytest.mark.parametrize("how", [*SQLITE, "unreachable", "hanging"])
def test_an_engine_that_is_away_costs_little(in_memory: Path, how: str) -> None:
    project = Project(in_memory / "project")
    verbs = (("reserve", "docs/"), ("task", "list"), ("status",))
    events = ("SessionStart", "Stop", "UserPromptSubmit", "SessionEnd")

    with away(project, how) as variables:

        def judge_away(about: str, call: Call, *words: str) -> None:
            def act() -> Took:
                project.forget()
                return take(lambda: call(project, *words, **variables))[1]

            judge(f"{about}, engine is {how}", act, waits=ASKED if how in {"locked", "hanging"} else 0.0)

        for words in verbs:
            wanted = 0 if words == ("status",) or (how == "locked" and words[0] == "task") else 5
            done = project.call(*words, **variables)
            assert done.returncode == wanted, done
            if how == "locked" and wanted:  # a verb waits for others that write (C144); hooks do not
                continue
            judge_away(" ".join(words), Project.call, *words)
        for event in events:
            assert project.call_hook(event, **variables).returncode == 0
        for event in events[:3]:
            judge_away(event, Project.call_hook, event)
