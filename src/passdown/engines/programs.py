"""The `Programs` of this machine."""

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Final

from passdown.ports.programs import NOT_STARTED, TIMED_OUT, ProgramResult

TIME_LIMIT: Final = 120.0
"""Time limit of a program in seconds; the first start of a host can be slow."""

MOST_BYTES: Final = 1_048_576
"""How many bytes of a program's output are kept: half from its beginning, half from its end."""

MOST_BYTES_READ: Final = 64 * MOST_BYTES
"""The same for a program whose output we parse: a truncated answer is useless."""

_PIECE: Final = 65_536
_AFTER_END: Final = 2.0
"""Seconds to wait for the rest of the output: a child that outlives the program may keep the pipe open."""


class SystemPrograms:
    """Starts programs, found as a shell finds them."""

    def __init__(
        self,
        folder: str,
        *,
        seconds: float = TIME_LIMIT,
        variables: Mapping[str, str] | None = None,
        separate: bool = False,
        handles: Callable[[], tuple[int, ...]] = tuple,
    ) -> None:
        """Store the folder, the time limit, the environment (default: ours), and whether to separate stderr.

        `handles` returns open files that a program inherits while it runs, where the system supports that.
        """
        self._handles = handles if sys.platform != "win32" else tuple
        self._errors = subprocess.PIPE if separate else subprocess.STDOUT
        self._most = MOST_BYTES_READ if separate else MOST_BYTES
        self._folder = folder
        self._seconds = seconds
        self._variables = variables

    def find(self, name: str) -> str:
        path = None if self._variables is None else self._variables.get("PATH", os.defpath)
        return shutil.which(name, path=path) or ""

    def run(self, command: Sequence[str]) -> ProgramResult:
        try:
            process = subprocess.Popen(  # a list of arguments, never a shell
                list(command),
                cwd=self._folder,
                env=self._variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                bufsize=0,  # closing a buffered pipe would wait for its reader
                start_new_session=True,  # its children can be stopped with it; without effect on Windows
                pass_fds=self._handles(),
            )
        except (OSError, ValueError) as found:
            reason = getattr(found, "strerror", None) or found
            return ProgramResult(NOT_STARTED, f"it could not be started: {reason}")
        with process:
            return self._wait(process)

    def _wait(self, process: "subprocess.Popen[bytes]") -> ProgramResult:
        kept, errors = _Output(process.stdout, self._most), _Output(process.stderr, self._most)
        # A thread notices the end at once: `wait` with a timeout polls every 50 ms, as long as a `bd` call
        # takes.
        end = threading.Thread(target=process.wait, daemon=True)
        for thread in (kept, errors, end):
            thread.start()
        try:
            end.join(self._seconds)
            code = process.poll()
        finally:
            if process.poll() is None:  # also when the user interrupts us: leave nothing running
                _stop(process)
                end.join()
        if code is None:
            return ProgramResult(TIMED_OUT, f"it took longer than {self._seconds:g} seconds")
        kept.join(_AFTER_END)
        errors.join(_AFTER_END)
        return ProgramResult(code, kept.text(), errors.text())


def _stop(process: "subprocess.Popen[bytes]", platform: str = sys.platform) -> None:
    """Stop a program and, where the system supports it, its child processes."""
    if platform != "win32":
        with suppress(OSError):  # it may have ended on its own
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


class _Output(threading.Thread):
    """Reads an output to its end, and keeps its beginning and its end."""

    def __init__(self, pipe: IO[bytes] | None, most: int) -> None:
        super().__init__(daemon=True)
        self._half = most // 2
        self._pipe = pipe
        self._head = b""
        self._tail = b""
        self._dropped = 0

    def run(self) -> None:
        """Read until every writer has closed the pipe."""
        half = self._half
        with suppress(OSError, ValueError):  # closed by a caller that does not wait for the rest
            while self._pipe is not None and (piece := self._pipe.read(_PIECE)):
                room = half - len(self._head)
                self._head += piece[:room]
                tail = self._tail + piece[room:]
                self._dropped += max(0, len(tail) - half)
                self._tail = tail[-half:]

    def text(self) -> str:
        """Return what was kept."""
        between = f"\n… {self._dropped} bytes are left out …\n".encode() if self._dropped else b""
        return (self._head + between + self._tail).decode("utf-8", "replace")
