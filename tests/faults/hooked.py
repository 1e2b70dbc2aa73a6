"""A project whose host calls its hooks as real processes, to be broken in every way."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from passdown.records import record
from tests.support.commands import environment
from tests.support.gits import make_started
from tests.timing import FOREVER, Took, drag, take

HOST: Final = "c56f02b3-c3e9-44ef-b8fc-b9f23ec3e30c"
MOMENTS: Final = {
    "start": ("SessionStart", {"source": "startup"}),
    "prompt": ("UserPromptSubmit", {"prompt": "go on"}),
    "turn end": ("Stop", {}),
    "before compaction": ("PreCompact", {"trigger": "auto"}),
    "subagent start": ("SubagentStart", {"agent_id": "a1", "agent_type": "Explore"}),
    "subagent end": ("SubagentStop", {"agent_id": "a1"}),
    "end": ("SessionEnd", {"reason": "logout"}),
}
"""What a host calls each moment, and what else it tells."""

CALL: Final = "import sys; from passdown.faces.cli.main import main; sys.exit(main())"
"""What the installed program does."""

_DROP: Final = 24
_CAN_WRITE, _CAN_READ = 1, 2


class Ended(NamedTuple):
    """How a hook ended, what it took, and what it said."""

    code: int
    took: Took
    out: str
    err: str


@record
class Stage:
    """A project in which a session has worked; it can be put back as it was."""

    root: Path
    kept: Path
    home: Path

    @property
    def state(self) -> Path:
        """The user's own folder of ours."""
        return self.home / ".local" / "state" / "passdown"

    def payload(self, moment: str, **more: object) -> bytes:
        """Write what the host tells."""
        event, told = MOMENTS[moment]
        usual = {"session_id": HOST, "cwd": str(self.root), "transcript_path": str(self.transcript)}
        return json.dumps({"hook_event_name": event, **usual, **told, **more}).encode()

    @property
    def transcript(self) -> Path:
        """The file in which the host writes the session down."""
        return self.root.parent / "transcript.jsonl"

    def write(self, text: str) -> None:
        """Let the person say something, as the host writes it down."""
        line = {"type": "user", "message": {"role": "user", "content": text}, "sessionId": HOST}
        more = {"uuid": f"u-{text}", "timestamp": "2026-01-11T12:00:00.000Z", "isSidechain": False}
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**line, **more}, separators=(",", ":")) + "\n")

    def say(self, text: str) -> None:
        """Let the agent say that something is done."""
        words = [sys.executable, "-m", "passdown", "done", text, "--session", HOST]
        subprocess.run(words, cwd=self.root, env=self.variables(), check=True, capture_output=True)

    def known(self) -> set[str]:
        """Give every line of every journal, and the name of every event."""
        journals = [*self.root.glob(".git/passdown/journal/*"), *self.root.glob(".conductor/journal/*")]
        lines = {line for path in journals for line in path.read_text(encoding="utf-8").splitlines()}
        return lines | {path.name for path in self.root.glob("thoughts/**/*.md")}

    def restore(self) -> None:
        """Put everything back."""
        subprocess.run(["chmod", "-R", "u+w", str(self.root)], check=True)
        shutil.rmtree(self.root)
        shutil.copytree(self.kept, self.root, symlinks=True)
        shutil.rmtree(self.state, ignore_errors=True)

    def log(self) -> list[str]:
        """Give what is noted in our log, wherever it lies."""
        places = (self.root / ".git/passdown", self.root / ".conductor", self.state)
        files = [one / "hooks.log" for one in places if (one / "hooks.log").is_file()]
        return [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]

    def variables(self, **more: str) -> dict[str, str]:
        """Make the hook's environment."""
        usual = {"HOME": str(self.home), "XDG_STATE_HOME": ""}
        kept = environment(**{**usual, **more})
        return {name: text for name, text in kept.items() if not name.startswith("COV")}

    def call(
        self, data: bytes, script: str = CALL, prepare: Callable[[], None] | None = None, **more: str
    ) -> Ended:
        """Call the hook as a host does, and take the time."""
        words = drag(script)

        def act() -> Ended:
            process = self.start(words, prepare, **more)
            said, err = process.communicate(data)
            return Ended(process.returncode, FOREVER, said.decode(), err.decode())

        ended, took = take(act)
        return ended._replace(took=took)

    def start(
        self, script: str = CALL, prepare: Callable[[], None] | None = None, **more: str
    ) -> "subprocess.Popen[bytes]":
        """Start the hook as a host does."""
        return subprocess.Popen(
            [sys.executable, "-c", script, "hook", "--host", "claude"],
            cwd=self.root,
            env=self.variables(**more),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=prepare,  # noqa: PLW1509 - the tests have one thread
        )


def make_stage(folder: Path) -> Stage:
    """Make a project with a session that said something, published it, and is to be told something."""
    folder.chmod(0o755)
    root, home = folder / "project", folder / "home"
    home.mkdir()
    home.chmod(0o777)
    project = make_started(root)
    (root / "passdown.toml").touch()
    (root / ".gitignore").write_text(".conductor/\nconductor/\n", encoding="utf-8")
    project.git("add", ".")
    project.git("commit", "-q", "-m", "set up")
    stage = Stage(root=root, kept=folder / "kept", home=home)
    stage.write("fix it")
    assert stage.call(stage.payload("start")).code == 0
    stage.say("read the code")
    assert stage.call(stage.payload("turn end")).code == 0
    stage.write("go on")
    stage.say("understood the code")
    for words in (".git/passdown/waiting", ".conductor/waiting"):
        (root / words).mkdir(parents=True, exist_ok=True)
        (root / words / HOST).touch()
    assert stage.log() == []
    shutil.copytree(root, stage.kept, symlinks=True)
    return stage


def give_up_rights() -> None:
    """Give up the right to write everywhere, which root has, from the next program on."""
    if os.getuid() == 0:
        system = ctypes.CDLL(None)
        for right in (_CAN_WRITE, _CAN_READ):
            assert system.prctl(_DROP, right, 0, 0, 0) == 0
