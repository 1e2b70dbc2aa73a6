"""Who runs a command, by real processes: what shows an agent that hides, and what does not."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from passdown.settings import FILE_NAME
from tests.support.commands import Caller, environment, run
from tests.support.gits import make_started
from tests.support.terminals import Terminal

pytestmark = [
    pytest.mark.timeout(180),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc, `script` and `setsid`"),
]

BARE: Final = ("env", "-i", *(f"{name}={os.environ.get(name, '')}" for name in ("PATH", "PYTHONPATH")))


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Path:
    """Give a project whose gate is escalated."""
    command = Caller(monkeypatch, capsys, make_started(tmp_path / "project").folder)
    (command.folder / FILE_NAME).write_text('[gates]\nmode = "full"\n', encoding="utf-8")
    command("track", "bind", "auth")
    for _ in range(3):
        assert command("gate", "fail", "design", "--note", "no goal").code == 1
    return command.folder


def _run_by_agent(folder: Path, *before: str, text: str) -> str:
    """Let a process with the name of a host run the command at a terminal; give all that was printed."""
    host = folder.parent / "claude"
    shutil.copy("/bin/sh", host)
    words = [sys.executable, "-m", "passdown", "answer", "BLOCKED: the gate", text]
    line = shlex.join(
        [*BARE, f"HOME={folder.parent}", *before, "script", "-qec", shlex.join(words), "/dev/null"]
    )
    done = subprocess.run(
        [host, "-c", f"{line}; true"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        text=True,
    )
    return " ".join((done.stdout + done.stderr).split())


@pytest.mark.requirement("C122", "C154", "R49")
def test_a_cleared_environment_and_a_terminal_of_its_own_do_not_hide_an_agent(folder: Path) -> None:
    for before in ((), ("setsid", "-w")):
        printed = _run_by_agent(folder, *before, text="mine")
        assert "kept as a comment" in printed, printed
        assert "not an agent (claude started it)" in printed

    blocked = run("gate", "pass", "design", "--note", "mine", cwd=folder)

    assert (blocked.code, "a person decides at a terminal" in blocked.out) == (1, True)


@pytest.mark.requirement("C122", "C154", "R49")
def test_a_person_at_a_terminal_lifts_it_unless_a_variable_says_otherwise(folder: Path) -> None:
    lift = "passdown answer 'BLOCKED: the gate' 'Go on'"
    with Terminal(folder, {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}) as terminal:
        by_variable = terminal.run(f"PASSDOWN_SESSION=s-1 {lift}", "$ ")
        by_person = terminal.run(lift, "$ ")

    assert "not an agent (PASSDOWN_SESSION is set)" in " ".join(by_variable.split())
    assert "answer: Go on" in by_person
    assert run("gate", "pass", "design", "--note", "fine", cwd=folder).code == 0


@pytest.mark.requirement("C154")
def test_what_its_agent_left_behind_is_not_seen_as_the_docs_say(folder: Path) -> None:
    """A process whose parent has ended shows nothing of its agent: this is a gap, not a promise."""
    printed = _run_by_agent(folder, "setsid", "-f", text="left behind")

    assert "answer: left behind" in printed
