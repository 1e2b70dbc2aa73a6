"""The `Programs` of this machine."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Final

from passdown.ports.programs import ProgramResult

TIME_LIMIT: Final = 120.0
"""Time limit of a program in seconds; the first start of a host can be slow."""

NOT_STARTED: Final = -1001
TIMED_OUT: Final = -1002


class SystemPrograms:
    """Starts programs, found as a shell finds them."""

    def __init__(
        self, folder: str, *, seconds: float = TIME_LIMIT, variables: Mapping[str, str] | None = None
    ) -> None:
        """Keep the folder, the time limit, and the environment if it is not ours."""
        self._folder = folder
        self._seconds = seconds
        self._variables = variables

    def find(self, name: str) -> str:
        """Return the path of a program; empty if there is none."""
        return shutil.which(name) or ""

    def run(self, command: Sequence[str]) -> ProgramResult:
        """Run a program to its end."""
        try:
            done = subprocess.run(  # a list of arguments, never a shell
                list(command),
                cwd=self._folder,
                env=self._variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=self._seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return ProgramResult(TIMED_OUT, f"it took longer than {self._seconds:g} seconds")
        except OSError as found:
            return ProgramResult(NOT_STARTED, f"it could not be started: {found.strerror or found}")
        return ProgramResult(done.returncode, done.stdout.decode("utf-8", "replace"))
