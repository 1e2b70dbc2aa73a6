"""Starts git: bounded in time, asking nobody, and untouched by a git command that we may run inside of."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from passdown.records import record

if TYPE_CHECKING:
    import subprocess

TIME_LIMIT: Final = 60.0
"""Seconds that one git process may take."""

GRACE: Final = 5.0
"""Seconds in which one that is asked to end may clean up."""

NOT_STARTED: Final = -1001
TIMED_OUT: Final = -1002

# Who commits, and where settings are read; the rest describes the git command that we run inside of.
_KEPT: Final = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG", "GIT_EXEC_PATH")
_MOST_CHARACTERS: Final = 24_000
"""How much one command line may hold on every system."""


@record
class Answer:
    """How a git process ended."""

    code: int
    output: bytes = b""
    error: str = ""

    @property
    def is_done(self) -> bool:
        """Whether it did what it was asked."""
        return self.code == 0

    @property
    def reason(self) -> str:
        """The line in which git says why not; never empty."""
        lines = [line.strip() for line in self.error.splitlines() if line.strip()]
        starts = ("fatal: ", "error: ")
        found = next((line for line in lines if line.startswith(starts)), (lines or [""])[0])
        return found.removeprefix("fatal: ").removeprefix("error: ") or f"git ended with {self.code}"


class Git:
    """Git, run in one folder."""

    def __init__(
        self,
        folder: str,
        environment: Mapping[str, str],
        *,
        options: Sequence[str] = (),
        seconds: float = TIME_LIMIT,
        grace: float = GRACE,
    ) -> None:
        """Keep where and how to run it; `options` stand before every command."""
        self._folder = folder
        self.variables: Mapping[str, str] = clean_environment(environment)
        self._options = tuple(options)
        self._seconds = seconds
        self._grace = grace

    def run(self, *arguments: str, data: bytes = b"") -> Answer:
        """Run one command, fed with `data`; never raises for anything that git does or lacks.

        Whoever takes too long is asked to end, so that git removes its lock files, and only then killed.
        """
        import subprocess  # noqa: PLC0415 - most calls read files and start nothing

        try:
            process = subprocess.Popen(  # noqa: S603 - a fixed program; paths are never options
                ["git", *self._options, *arguments],  # noqa: S607 - the user's git, found as the user finds it
                cwd=self._folder,
                env=self.variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            return Answer(code=NOT_STARTED, error=f"git could not be started: {error.strerror}")
        try:
            output, said = process.communicate(data, timeout=self._seconds)
        except subprocess.TimeoutExpired:
            return Answer(code=TIMED_OUT, error=f"git did not end within {self._seconds:g} seconds")
        finally:
            _stop(process, self._grace)
        return Answer(code=process.returncode, output=output, error=os.fsdecode(said))


def _stop(process: "subprocess.Popen[bytes]", grace: float) -> None:
    """End a process that still runs, and let go of its pipes."""
    import subprocess  # noqa: PLC0415 - as above

    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def clean_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Give the environment for git: English words, no question asked, no foreign index or repository."""
    kept = [name for name in variables if not name.startswith("GIT_") or name.startswith(_KEPT)]
    return {**{name: variables[name] for name in kept}, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}


def split_names(output: bytes) -> list[str]:
    """Cut what git printed with ``-z`` into its parts."""
    return [os.fsdecode(part) for part in output.split(b"\0") if part]


def join_names(names: Iterable[str]) -> bytes:
    """Write names as git reads them with ``-z``."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def in_portions(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Cut a list of names into parts that each fit on a command line; a name is never left out."""
    start, size = 0, 0
    for position, name in enumerate(names):
        size += len(name) + 3
        if size > _MOST_CHARACTERS and position > start:
            yield names[start:position]
            start, size = position, len(name) + 3
    if start < len(names):
        yield names[start:]
