"""Which modules a Passdown process loads, and how long that takes."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from tests.timing import Took, drag, open_folder, take

SESSION = "c56f02b3-c3e9-44ef-b8fc-b9f23ec3e30c"

# What is measured: the arguments of a call and, for a hook, the host's event.
CALLS = MappingProxyType(
    {
        "version": (("--version",), ""),
        "prompt": (("hook", "--host", "claude"), "UserPromptSubmit"),
        "tool": (("hook", "--host", "claude"), "PreToolUse"),
        "decide": (("decide", "key", "text"), ""),
        "session start": (("hook", "--host", "claude"), "SessionStart"),
        "turn end": (("hook", "--host", "claude"), "Stop"),
        "help": (("--help",), ""),
        "list of formats": (("format",), ""),
    }
)
_PYTHON = (sys.executable, "-I", "-c")
# Without `site`, where installed packages may load anything; with `os`, because `site` loads it.
_BARE_PYTHON = (sys.executable, "-I", "-S", "-c")
_CALL = (
    "import sys; sys.path[:0] = [sys.argv.pop(1)]; sys.path += [sys.argv.pop(1)]; "
    "from passdown.faces.cli.main import main; "
)
_RUN = f"{_CALL}sys.exit(main())"
_LIST = (
    f"import os, sys; before = set(sys.modules); {_CALL}code = main(); names = set(sys.modules) - before; "
    "import json; sys.stderr.write(chr(10) + json.dumps([code, sorted(names)]))"
)
_CALLED = Path(__file__).with_name("called.py")
# Through its action, because a plain checkout has no parser; before actions existed, a claim needed one too.
_ADD_TASK = """
import sys; sys.path[:0] = [sys.argv.pop(1)]; sys.path += [sys.argv.pop(1)]
from pathlib import Path
try:
    from passdown.actions.callers import CallEnvironment, ask, open_caller
    from passdown.actions.coordination.tasks import NewTaskRequest, add
except ModuleNotFoundError:
    from passdown.faces.cli.main import main
    sys.argv[1:] = ["task", "add", "write the parser"]
    sys.exit(main())
ask(add, open_caller(CallEnvironment(folder=Path.cwd())), NewTaskRequest(title="write the parser"))
"""


class Stage(NamedTuple):
    """A project, and the source code that is run in it."""

    root: Path
    source: Path
    """The folder that contains the package."""

    def loaded(
        self, *arguments: str, event: str = "", expected: Sequence[int] = (0,), **told: object
    ) -> list[str]:
        """Return the modules that a call loads beyond the interpreter's; `told` adds to a hook's payload."""
        return self._list((*_BARE_PYTHON, _LIST), arguments, event, told, expected)

    def called(self, *arguments: str, event: str = "", **told: object) -> list[str]:
        """Return the modules of the package in which a call runs a function; imports do not count."""
        return self._list((*_BARE_PYTHON[:-1], str(_CALLED)), arguments, event, told)

    def _list(
        self,
        program: Sequence[str],
        arguments: Sequence[str],
        event: str,
        told: Mapping[str, object],
        expected: Sequence[int] = (0,),
    ) -> list[str]:
        done = self._run([*program, *self._paths(), *arguments], self._payload(event, told))
        code, names = json.loads(done.stderr.splitlines()[-1])
        assert code in expected, done
        found: list[str] = names
        return found

    def add_task(self) -> None:
        """Add a task to the board of the project."""
        self._run([*_BARE_PYTHON, _ADD_TASK, *self._paths()])

    def time(self, *arguments: str, event: str = "", **told: object) -> Took:
        """Return how long a call takes."""
        command = [*_PYTHON, drag(_RUN), *self._paths(), *arguments]
        return take(lambda: self._run(command, self._payload(event, told)))[1]

    def _run(self, command: Sequence[str], told: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            command, input=told, cwd=self.root, env=_environment(), capture_output=True, check=True
        )

    def _paths(self) -> tuple[str, str]:
        return str(self.source), sysconfig.get_path("purelib")

    def _payload(self, event: str, more: Mapping[str, object]) -> bytes:
        told = {
            "hook_event_name": event,
            "session_id": SESSION,
            "cwd": str(self.root),
            "transcript_path": str(self.root.parent / "transcript.jsonl"),
            "source": "startup",
            **more,
        }
        return json.dumps(told).encode() if event else b""


@contextmanager
def open_stage(source: Path, *, is_started: bool = True) -> Iterator[Stage]:
    """Make a project with a commit, and with a session that a host has started."""
    with open_folder() as folder:
        root = folder / "project"
        subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True, env=_environment())
        (root / "passdown.toml").touch()
        for words in (
            ("config", "user.name", "somebody"),
            ("config", "user.email", "somebody@localhost"),
            ("add", "passdown.toml"),
            ("commit", "-q", "-m", "set up"),
        ):
            subprocess.run(["git", *words], cwd=root, check=True, env=_environment())
        said = {"type": "user", "message": {"role": "user", "content": "fix it"}}
        (root.parent / "transcript.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")
        stage = Stage(root, source)
        if is_started:
            stage.loaded("hook", "--host", "claude", event="SessionStart")
        yield stage


def count_loaded(source: Path, names: Sequence[str]) -> dict[str, int]:
    """Count the modules that calls load, by the names in `CALLS`."""
    with open_stage(source) as stage:
        return {name: len(stage.loaded(*CALLS[name][0], event=CALLS[name][1])) for name in names}


def list_called(source: Path, names: Sequence[str]) -> dict[str, list[str]]:
    """List the modules of which `claim`, or one of `CALLS`, calls a function, each in a new project."""
    found = {}
    for name in names:
        with open_stage(source, is_started=name != "session start") as stage:
            if name == "claim":
                stage.add_task()
            arguments, event = CALLS.get(name, ((name,), ""))
            found[name] = stage.called(*arguments, event=event)
    return found


def _environment() -> dict[str, str]:
    """Return the environment that a process needs, without variables that make it load more."""
    kept = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "TEMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
    return {name: os.environ[name] for name in kept if name in os.environ}
