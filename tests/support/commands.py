"""How tests call the command: in this process, as a process of its own, and at a terminal."""

import gc
import json
import os
import select
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import pytest

from passdown.faces.cli import main as cli_main
from tests.looks import answer, hands_on, looking
from tests.support.terminals import read_written

PATIENCE = 60
"""Seconds that somebody at a terminal waits for the next word."""

AT_TERMINAL = """
import fcntl, runpy, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.argv = ["passdown", *sys.argv[1:]]
runpy.run_module("passdown", run_name="__main__")
"""


@answer
class Done(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


@answer
class Answer(dict[str, Any]):
    """What a hook or a command answered as JSON."""


class Caller:
    """Calls the command in this process, in an empty folder, at a width of 80 columns."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path
    ) -> None:
        """Go into the folder."""
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.folder = folder
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "80")

    @hands_on
    def __call__(self, *arguments: str) -> Done:
        """Call the command."""
        self._monkeypatch.setattr(sys, "argv", ["passdown", *arguments])
        self._capsys.readouterr()
        try:
            code = cli_main.main()  # looked up now: it may be watched
        finally:
            gc.enable()
        return Done(code, *self._capsys.readouterr())


def take_answer(capsys: pytest.CaptureFixture[str]) -> Answer:
    """Give what a hook printed, for a helper that hands it on; nothing is an empty answer."""
    out = capsys.readouterr().out
    return Answer(json.loads(out) if out else {})


def say_all(command: Caller) -> None:
    """Start a session and let it say one thing of each kind."""
    for words in (
        ("start", "--nickname", "toast"),
        ("goal", "Let people sign in"),
        ("now", "Make logout work"),
        ("done", "Session model"),
        ("next", "Remove tokens", "Write docs"),
        ("decide", "store", "Redis"),
        ("ask", "Who rotates?"),
    ):
        assert command(*words).code == 0


def environment(**more: str) -> dict[str, str]:
    """Make the environment of a process: this test's, with nothing that says how wide a terminal is."""
    kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES", "TERM"}}
    return {**kept, "PYTHONUTF8": "1", **more}


def start(*arguments: str, cwd: Path, before: Callable[[], None] | None = None) -> "subprocess.Popen[bytes]":
    """Start the command as a process whose output is read by us; `before` is called in it first."""
    return subprocess.Popen(
        [sys.executable, "-m", "passdown", *arguments],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=before,  # noqa: PLW1509  # it is called before any thread is started
    )


@hands_on
def run(*arguments: str, cwd: Path, before: Callable[[], None] | None = None) -> Done:
    """Run the command as a process without a terminal; `before` is called in it first."""
    with start(*arguments, cwd=cwd, before=before) as process:
        out, err = process.communicate()
    return Done(process.returncode, out.decode(), err.decode())


class Terminal:
    """The command at a terminal of 80 columns, with somebody who reads and types."""

    def __init__(self, *arguments: str, cwd: Path, term: str = "xterm") -> None:
        """Start the command."""
        import pty  # there is none on Windows
        import termios

        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, 80))
        self._process = subprocess.Popen(
            [sys.executable, "-c", AT_TERMINAL, *arguments],
            cwd=cwd,
            env=environment(TERM=term),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def __enter__(self) -> Self:
        """Give the terminal."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, found: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the terminal; a command that still runs is ended."""
        self._process.kill()
        self._process.wait()
        os.close(self._ours)

    @looking
    def read_until(self, text: str) -> None:
        """Read until a text appears; raise `EOFError` when the command ends without it."""
        while text not in self.seen:
            if not self._read():
                raise EOFError(f"the command ended without {text!r}: {self.seen!r}")

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._ours, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C; the line end wakes a command that did not wait for keys yet."""
        self.type("\x03\n")

    def end_input(self) -> None:
        """Press Ctrl-D."""
        self.type("\x04")

    def close(self) -> Done:
        """Read what is left, and say how the command ended."""
        while self._read():
            pass
        return Done(self._process.wait(), self.seen.replace("\r\n", "\n"), "")

    def _read(self) -> bool:
        if not select.select([self._ours], [], [], PATIENCE)[0]:
            raise TimeoutError(f"the command said nothing more for {PATIENCE} s: {self.seen!r}")
        data = read_written(self._ours)
        self.seen += data.decode()
        return bool(data)
