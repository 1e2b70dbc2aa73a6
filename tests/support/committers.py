"""Sessions that commit with real git, which runs the guard in its hooks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.looks import hands_on
from tests.support.commands import Done
from tests.support.projects import put
from tests.support.teams import Team, break_database

PROGRAM = """#!{python}
import json, sys
from datetime import datetime
from pathlib import Path
from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.engines.system import SystemBootClock
from passdown.engines.process import SystemProcesses
from passdown.engines.system import SystemClock
from passdown.faces.cli.main import main
from passdown.ports.clock import BootTime
boot, seconds, now = json.loads(Path({clock!r}).read_text())
SystemBootClock.read = lambda self: BootTime(boot, seconds)
SystemClock.now = lambda self: datetime.fromisoformat(now)
SystemProcesses.find_host = lambda self: NO_PROCESS
sys.exit(main())
"""
"""The command as git's hook finds it, with the clocks of the test."""


class Committers(Team):
    """A `Team` whose sessions commit with real git, which runs its hooks."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Put the command where the hook finds it."""
        super().__init__(folder, monkeypatch, capsys)
        self.programs = folder.parent / "programs"
        self.clock = folder.parent / "clock.json"
        text = PROGRAM.format(python=sys.executable, clock=str(self.clock))
        put(self.programs, "passdown", text).chmod(0o755)
        self.tree = self.project.folder
        self.hook = self.project.folder / ".git" / "hooks" / "pre-commit"

    def set_up_guard(self) -> None:
        """Start two sessions, and install the guard."""
        self.join("amber", "birch")
        assert self.command("guard", "install", "--yes").code == 0

    @hands_on
    def git(self, *arguments: str, **variables: str) -> Done:
        """Let git do something, in the environment of an agent or a person."""
        self.clock.write_text(json.dumps([*self.boot, self.at.isoformat()]))
        kept = {name: text for name, text in os.environ.items() if not name.startswith("PASSDOWN_")}
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.tree,
            env={**kept, "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}", **variables},
            capture_output=True,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def commit(self, *arguments: str, **variables: str) -> Done:
        """Let git commit."""
        return self.git("commit", "--quiet", *(arguments or ("--all", "--message=work")), **variables)

    def edit(self, path: str, text: str = "edited\n") -> None:
        """Change a file as `sed -i` does: no host sees it."""
        put(self.project.folder, path, text)

    def damage(self) -> None:
        """Let the engine be away: its file is none."""
        break_database(self.project.folder / ".git" / "passdown" / "coordination.sqlite")
