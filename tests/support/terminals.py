"""A real terminal whose screen the docs show: tmux, 80 columns, a shell with an emptied environment."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

from passdown.hosts import HOSTS

COLUMNS: Final = 80
ROWS: Final = 50
SECONDS: Final = 30.0
PROMPT: Final = "$ "
PROGRAMS: Final = f"{Path(sys.executable).parent}:/usr/bin:/bin"
_NONE: Final[Mapping[str, str]] = MappingProxyType({})
_COUNT: Final = count()
_OF_AGENTS: Final = frozenset(HOSTS.agent_signs().variables)


def read_written(screen: int) -> bytes:
    """Read what was written to a terminal whose screen we hold; return nothing if all writers are gone.

    Linux reports that as an error. If the last line and the end come while it looks, it reports the end
    first; a second look finds the line.
    """
    for _ in range(2):
        with suppress(OSError):
            return os.read(screen, 65536)
    return b""


class Terminal:
    """A terminal of 80 columns, with somebody who types and looks."""

    def __init__(self, folder: Path, variables: Mapping[str, str] = _NONE, rows: int = ROWS) -> None:
        """Keep the folder that the shell starts in, its variables, and how high it is."""
        plain = {"PATH": PROGRAMS, "HOME": str(folder), "TERM": "screen", "LANG": "C.UTF-8", "PS1": PROMPT}
        self._shell = ["env", "-i", *(f"{name}={value}" for name, value in {**plain, **variables}.items())]
        self._place = ["-x", str(COLUMNS), "-y", str(rows), "-c", str(folder)]
        self._socket = f"passdown-{os.getpid()}-{next(_COUNT)}"

    def __enter__(self) -> Self:
        """Open it."""
        self._tmux("-f", os.devnull, "new-session", "-d", *self._place, *self._shell, "sh")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, found: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self._tmux("kill-server")

    def run(self, line: str, until: str) -> str:
        """Type a line on an empty screen and give the screen as soon as it ends with what is waited for."""
        self.wait(PROMPT)
        self._tmux("send-keys", "-R")
        self._tmux("clear-history")
        # The screen was emptied behind the prompt.
        return PROMPT + self.type(line, until)

    def type(self, line: str, until: str = PROMPT) -> str:
        """Type a line and give the screen as soon as it ends with what is waited for."""
        before = self._screen()
        self._tmux("send-keys", line, "Enter")
        end = time.monotonic() + SECONDS
        while self._screen() == before:
            _rest(end, line)
        return self.wait(until).removesuffix(PROMPT.rstrip()).rstrip() + "\n"

    def wait(self, until: str) -> str:
        """Wait until the screen ends with this, and give it."""
        end = time.monotonic() + SECONDS
        while not self._screen().endswith(until.rstrip()):
            _rest(end, until)
        return self._screen()

    def wait_for(self, *words: str) -> None:
        """Wait until the screen shows all of these and stands still."""
        end = time.monotonic() + SECONDS
        before, shown = "", self.colours()
        while shown != before or not all(word in shown for word in words):
            _rest(end, " ".join(words), 1.0)
            before, shown = shown, self.colours()

    def colours(self) -> str:
        """Give the screen with the escape sequences of its colours."""
        return self._tmux("capture-pane", "-e", "-p")

    def _screen(self) -> str:
        lines = self._tmux("capture-pane", "-p").rstrip().split("\n")
        return "\n".join(line.rstrip() for line in lines)

    def _tmux(self, *arguments: str) -> str:
        command = ["tmux", "-u", "-L", self._socket, *arguments]
        # The tests of whoever runs them in an agent would find that agent above the terminal.
        variables = {name: value for name, value in os.environ.items() if name not in _OF_AGENTS}
        done = subprocess.run(
            command, env=variables, check=True, capture_output=True, text=True, encoding="utf-8"
        )
        return done.stdout


def _rest(end: float, waiting: str, seconds: float = 0.05) -> None:
    """Give the terminal a moment; it tells nobody when it is done."""
    if time.monotonic() > end:
        sys.exit(f"the terminal never showed {waiting!r}")
    time.sleep(seconds)
