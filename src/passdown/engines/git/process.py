"""Runs git with a time limit, without prompts, and isolated from a git command that we may run inside.

Programs named in a repository's own settings are not started, except filters: without them git would commit
other content than the user's git does.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from passdown.records import record

if TYPE_CHECKING:
    import subprocess

TIME_LIMIT: Final = 60.0
"""Time limit of one git process, in seconds."""

GRACE: Final = 5.0
"""How many seconds a terminated process may take to clean up."""

NOT_STARTED: Final = -1001
TIMED_OUT: Final = -1002

# The author, and where settings are read; the other variables describe the git command that we run inside.
_KEPT: Final = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_CONFIG", "GIT_EXEC_PATH")
_ISOLATED: Final = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "diff.ignoreSubmodules=dirty"),
    *("-c", "submodule.recurse=false"),
)
"""Start no program that a repository's settings name: no monitor, no hook, no git in a submodule."""

_CHOSEN: Final = MappingProxyType(
    {
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }
)
"""English messages, no prompts, no unnecessary locks, and no connections, not even for missing objects."""

_MOST_CHARACTERS: Final = 24_000
"""How many characters a command line may have on any system."""


@record
class GitResult:
    """How a git process ended."""

    code: int
    output: bytes = b""
    error: str = ""

    @property
    def is_done(self) -> bool:
        """Whether git succeeded."""
        return self.code == 0

    @property
    def reason(self) -> str:
        """The line with which git reports the error; never empty."""
        lines = [line.strip() for line in self.error.splitlines() if line.strip()]
        starts = ("fatal: ", "error: ")
        found = next((line for line in lines if line.startswith(starts)), (lines or [""])[0])
        return found.removeprefix("fatal: ").removeprefix("error: ") or f"git exited with code {self.code}"


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
        """Store where and how to run git; `options` precede every command."""
        self._folder = folder
        self.variables: Mapping[str, str] = clean_environment(environment)
        self._options = tuple(options)
        self._seconds = seconds
        self._grace = grace

    def with_variables(self, variables: Mapping[str, str]) -> "Git":
        """Return git in the same folder, with further variables."""
        other = Git(self._folder, {}, options=self._options, seconds=self._seconds, grace=self._grace)
        other.variables = {**self.variables, **variables}
        return other

    def run(self, *arguments: str, data: bytes = b"") -> GitResult:
        """Run one command with `data` as its input; do not raise if git fails or is missing.

        A process that takes too long is first asked to end, so that git removes its lock files, and then
        killed. Git is not in our process group: a host that kills the group of a hook must not kill git in
        the middle of a write, which would leave a lock behind.
        """
        import subprocess  # most calls only read files

        try:
            process = subprocess.Popen(  # a fixed program; paths are never options
                ["git", *_ISOLATED, *self._options, *arguments],  # the user's git, found in the user's PATH
                cwd=self._folder,
                env=self.variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0)
                | getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                start_new_session=True,  # only POSIX has sessions
            )
        except OSError as error:
            return GitResult(code=NOT_STARTED, error=f"git could not be started: {error.strerror}")
        try:
            output, said = process.communicate(data, timeout=self._seconds)
        except subprocess.TimeoutExpired:
            return GitResult(code=TIMED_OUT, error=f"git did not finish within {self._seconds:g} seconds")
        finally:
            _stop(process, self._grace)
        return GitResult(code=process.returncode, output=output, error=os.fsdecode(said))


def _stop(process: "subprocess.Popen[bytes]", grace: float) -> None:
    """Stop a process that is still running, and close its pipes."""
    import subprocess

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
    """Return the environment for git: our variables, and no other command's index or repository."""
    kept = [name for name in variables if not name.startswith("GIT_") or name.startswith(_KEPT)]
    return {**{name: variables[name] for name in kept}, **_CHOSEN}


def split_names(output: bytes) -> list[str]:
    """Split the output of git with ``-z`` into its parts."""
    return [os.fsdecode(part) for part in output.split(b"\0") if part]


def split_objects(output: bytes) -> dict[str, bytes]:
    """Split the output of `git cat-file --batch` into contents by id; a missing id is left out."""
    found: dict[str, bytes] = {}
    start = 0
    while (end := output.find(b"\n", start)) >= 0:
        name, *facts = output[start:end].decode("ascii", "replace").split(" ")
        start = end + 1
        if len(facts) == 2 and facts[1].isdigit():  # noqa: PLR2004 - its type and its size
            size = int(facts[1])
            found[name] = output[start : start + size]
            start += size + 1
    return found


def join_names(names: Iterable[str]) -> bytes:
    """Join names as git reads them with ``-z``."""
    return b"".join(os.fsencode(name) + b"\0" for name in names)


def in_portions(names: Sequence[str]) -> Iterator[Sequence[str]]:
    """Split a list of names into parts that each fit on a command line."""
    start, size = 0, 0
    for position, name in enumerate(names):
        size += len(name) + 3
        if size > _MOST_CHARACTERS and position > start:
            yield names[start:position]
            start, size = position, len(name) + 3
    if start < len(names):
        yield names[start:]
