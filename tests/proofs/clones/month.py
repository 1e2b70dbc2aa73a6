"""A month of two agents and the people beside them, who commit, amend, pull in two ways, and push."""

import os
import random
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from passdown.core.formats.view_footer import ViewOwner, find_view_owner
from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.engines.git.git_folder import is_own
from passdown.engines.process import SystemProcesses
from passdown.engines.system import SystemClock
from tests.looks import hands_on
from tests.support.claude_lines import ClaudeTranscript
from tests.support.commands import Done
from tests.support.gits import Project, make_started
from tests.support.projects import VIEW, put
from tests.unit.hooks.test_hooks import Stage

OURS: Final = ("thoughts/", "conductor/")
PROGRAM: Final = "#!{python}\nimport sys\nfrom passdown.faces.cli.main import main\nsys.exit(main())\n"
_BEGIN: Final = datetime(2026, 3, 2, 8, tzinfo=UTC)
_AREAS: Final = ("login", "import", "search", "billing", "export", "mail")
_CHOICES: Final = ("Keep it in Redis", "One table for each tenant", "Retry three times, then give up")
_WHY: Final = ("it expires by itself", "two of them deadlocked", "the old one was too slow")


class Desk:
    """The clone of a person, in whose terminal an agent works."""

    def __init__(self, month: "Month", project: Project) -> None:
        """Open the clone."""
        self.project = project
        self.month = month
        self.refused = 0
        self._number = 0

    # --- the agent ----------------------------------------------------------------------------------

    def enter(self) -> Stage:
        """Go to the folder of the clone; give its host."""
        return Stage(self.project.folder, self.month.monkeypatch, self.month.capsys)

    def work(self) -> bool:
        """Let the agent work in a session; give whether it had anything to tell."""
        chance, stage = self.month.chance, self.enter()
        self._number += 1
        name = f"{self.project.folder.name}-{self._number}"
        stage.transcript = self.project.folder.parent / f"{name}.jsonl"
        said = ClaudeTranscript(
            path=stage.transcript, root=self.project.folder, session=name, tell_time=self.month.tell_time
        )
        stage.call("SessionStart", session_id=name, source="startup")
        area, is_empty = chance.choice(_AREAS), chance.random() < 0.15
        said.ask(f"What is left for {area}?" if is_empty else f"Make {area} ready")
        if self.month.has_turns:
            for turn in range(0 if is_empty else chance.randint(1, 3)):
                self._turn(stage, said, f"{area} {self._number}.{turn}", name)
                self.month.wait(minutes=20)
                stage.call("Stop", session_id=name)
            if chance.random() < 0.9:
                stage.call("SessionEnd", session_id=name, reason="prompt_input_exit")
        else:
            if not is_empty:
                self._turn(stage, said, f"{area} {self._number}", name)
            if chance.random() < 0.95:  # the others crash
                assert stage.command("end", "--session", name).code == 0
        self.month.wait(minutes=chance.randint(20, 60))
        return not is_empty

    def _turn(self, stage: Stage, said: ClaudeTranscript, what: str, name: str) -> None:
        chance = self.month.chance
        area = what.partition(" ")[0]
        told: list[tuple[str, ...]] = [
            ("goal", f"Make {area} ready for the release"),
            ("done", f"Wrote {what}"),
        ]
        if chance.random() < 0.5:
            told.append(("next", f"Document {what}"))
        if chance.random() < 0.5:
            reason = ("--because", chance.choice(_WHY))
            told.append(("decide", f"{area}_{name}", chance.choice(_CHOICES), *reason))
        if chance.random() < 0.2:
            told.append(("ask", f"Who may see {what}?"))
        for words in told:
            done = stage.command(*words, "--session", name)
            assert done.code == 0, done
            self.month.wait(minutes=1)
        for number in range(chance.randint(1, 3)):
            self.edit(f"src/{area}_{number}.py", what)
            said.edit(f"{self.project.folder.name}/src/{area}_{number}.py")
        if chance.random() < 0.5:
            said.run("pytest -q", output="3 passed")

    # --- the person ---------------------------------------------------------------------------------

    def edit(self, path: str, text: str) -> None:
        """Add some lines to a file of the clone's own."""
        full = self.project.folder / self.project.folder.name / path
        before = full.read_text() if full.exists() else ""
        put(full.parent, full.name, f"{before}# {text}\ndone = True\n")

    @hands_on
    def commit(self, text: str, *arguments: str) -> None:
        """Commit what is not ours."""
        self.month.wait(minutes=2)
        self.project.git("add", "--all", self.project.folder.name)
        self.project.git("commit", "--quiet", "--no-verify", "--allow-empty", f"--message={text}", *arguments)

    def code(self) -> None:
        """Let the person write something, commit it, and often amend that."""
        self.edit("notes.txt", "by hand")
        self.commit("Take notes")
        if self.month.chance.random() < 0.6:
            self.edit("notes.txt", "better")
            last = self.project.git("log", "-1", "--format=%s")
            if not last.startswith("passdown: "):
                self.commit("Take better notes", "--amend")

    def begin(self, branch: str) -> None:
        """Begin a branch where main is."""
        self.project.git("switch", "--quiet", "--create", branch, "main")

    def count_request(self, branch: str) -> Counter[str]:
        """Count what a pull request of a branch shows of ours."""
        found = Counter[str]()
        for line in self.project.git("diff", "--numstat", f"main...{branch}").splitlines():
            added, removed, path = line.split("\t")
            if path.startswith(OURS):
                found += Counter(lines=int(added) + int(removed), files=1)
        return found

    def publish(self, branch: str) -> None:
        """Work on main, too, bring it up to date, merge the branch, and push as the guard says."""
        self.project.git("switch", "--quiet", "main")
        if self.month.chance.random() < 0.7:
            self.work()
        self.edit("tidy.txt", "less")
        self.commit("Tidy up")
        self.pull()
        self.project.git("merge", "--quiet", "--no-edit", branch)
        if self.month.chance.random() < 0.3:
            self.work()
        self.push()

    def pull(self) -> None:
        """Pull, with or without rebase."""
        way = self.month.chance.choice(("--rebase", "--no-rebase"))
        self.project.git("pull", "--quiet", "--no-edit", "--autostash", way, "origin", "main")

    @hands_on
    def push(self) -> None:
        """Push; where the guard refuses, run the command that it names."""
        for _ in range(3):
            if (done := self._push()).code == 0:
                return
            if "was merged by git" in done.err:
                self.refused += 1
                assert "passdown synthesize --no-confirm --commit" in " ".join(done.err.split())
                assert self.enter().command("synthesize", "--no-confirm", "--commit").code == 0
            else:
                assert "fetch first" in done.err or "non-fast-forward" in done.err, done.err
                self.pull()
        pytest.fail("three pushes were refused")

    def _push(self) -> Done:
        path = f"{self.month.programs}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["git", "push", "--quiet", "origin", "main"],
            cwd=self.project.folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            check=False,
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def list_own(self) -> list[str]:
        """Give the commits that Passdown made here, whether they are still on a branch or not."""
        lines = self.project.git("log", "--walk-reflogs", "--format=%H\t%gs").splitlines()
        return [name for name, _, how in (line.partition("\t") for line in lines) if is_own(how)]

    def has_doubled_view(self, commit: str) -> bool:
        """Tell whether the view of a commit was merged by git."""
        view = self.project.git("show", f"{commit}:{VIEW}", check=False)
        return find_view_owner(view.encode()) is ViewOwner.MERGED


class Month:
    """A repository, the clones of two people, and a clock."""

    def __init__(
        self,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        *,
        sessions: str,
        has_turns: bool,
    ) -> None:
        """Set the project up, with the guard in both clones; `sessions` is the setting."""
        self.has_turns = has_turns
        self.monkeypatch, self.capsys = monkeypatch, capsys
        self.chance = random.Random(28)
        self.at = _BEGIN
        monkeypatch.setattr(SystemClock, "now", lambda _: self.at)
        monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
        self.wait()
        self.programs = folder / "programs"
        put(self.programs, "passdown", PROGRAM.format(python=sys.executable)).chmod(0o755)
        first = make_started(folder / "ann")
        remote = folder / "remote.git"
        first.git("init", "--quiet", "--bare", "--initial-branch=main", str(remote))
        first.git("remote", "add", "origin", str(remote))
        command = Stage(first.folder, monkeypatch, capsys).command
        assert command("init", "--yes").code == 0
        toml = first.folder / "passdown.toml"
        toml.write_text(f'{toml.read_text()}\n[archive]\nsessions = "{sessions}"\n')
        rules = first.folder / ".gitattributes"
        rules.write_text(f"{rules.read_text()}/ann/** merge=union\n/bob/** merge=union\n")
        first.git("add", "--all")
        first.git("commit", "--quiet", "--message=Set up")
        first.git("push", "--quiet", "origin", "main")
        first.git("clone", "--quiet", str(remote), str(folder / "bob"))
        self.desks = [Desk(self, first), Desk(self, Project(folder=folder / "bob"))]
        for desk in self.desks:
            assert desk.enter().command("guard", "install", "--yes").code == 0
        self.remote = Project(folder=remote)
        self.found = Counter[str]()

    def wait(self, **span: float) -> None:
        """Let time pass, for git too."""
        self.at += timedelta(**span)
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            self.monkeypatch.setenv(name, self.at.isoformat())

    def tell_time(self) -> str:
        """Give the time as a transcript has it."""
        return f"{self.at:%Y-%m-%dT%H:%M:%S}.000Z"

    def play(self, days: int) -> None:
        """Let the days pass: each person opens one pull request a day, and also works on main."""
        for day in range(days):
            for desk in self.desks:
                self._play_day(desk, f"day-{day}-{desk.project.folder.name}")
            self.wait(hours=12)
        for desk in self.desks:
            self.found["own commits"] += len(desk.list_own())
            self.found["pushes refused"] += desk.refused

    def _play_day(self, desk: Desk, branch: str) -> None:
        desk.begin(branch)
        sessions = 0
        for _ in range(self.chance.randint(1, 3)):
            sessions += desk.work()
            desk.code()
            self.wait(hours=1)
        desk.enter().call("SessionStart", session_id=f"{branch}-last", source="startup")
        if sessions:
            self.found += desk.count_request(branch) + Counter(sessions=sessions, requests=1)
        desk.publish(branch)
        doubled = desk.has_doubled_view("main")
        assert not doubled
        self.found["pushes"] += 1
