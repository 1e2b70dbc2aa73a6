"""Two agents in two worktrees of one repository, without a server, from the first command to the last."""

import re
from pathlib import Path

import pytest

from tests.support.commands import Done, run
from tests.support.gits import make_started


class Agent:
    """An agent that works in a worktree of its own, by commands."""

    def __init__(self, folder: Path, name: str) -> None:
        """Start a session."""
        self.folder = folder
        self.name = name
        started = self("start", "--new", "--nickname", name, "--session", name)
        self.agent = started.out.split()[0]

    def __call__(self, *words: str) -> Done:
        """Run a command in the worktree."""
        named = () if words[0] in {"start", "init"} else ("--session", self.name)
        return run(*words, *named, cwd=self.folder)


@pytest.mark.requirement("R162", "R169", "R187", "R212", "R214", "R215", "C75", "C78")
def test_two_agents_share_the_work_of_one_repository(tmp_path: Path) -> None:
    project = make_started(tmp_path / "main")
    assert run("init", "--yes", cwd=project.folder).code == 0
    project.git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "other"))

    # A person writes down what is to be done.
    run("task", "add", "Sign in form", "--id", "t-form", cwd=project.folder)
    run("task", "add", "Tests of the form", "--id", "t-tests", "--after", "t-form", cwd=project.folder)
    run("task", "add", "Docs", "--id", "t-docs", cwd=project.folder)

    # Each agent takes what nobody else has, and reserves its files.
    amber = Agent(project.folder, "amber")
    birch = Agent(tmp_path / "other", "birch")
    assert amber("claim").out == "Claimed: t-form Sign in form\n"
    assert birch("claim").out == "Claimed: t-docs Docs\n"
    assert amber("reserve", "src/").code == 0
    assert birch("reserve", "docs/").code == 0

    # A file that another one holds is refused; one asks for it.
    refused = birch("reserve", "src/form.py")
    assert refused.code == 3
    held = (
        rf"src/form.py is held by {amber.agent} \(reserved as src/, expires in 1[01] min if it stays silent\)"
    )
    assert re.search(held, " ".join(refused.err.split()))
    assert birch("msg", "May I add a comment to src/form.py?", "--to", amber.agent).code == 0
    assert "> May I add a comment to src/form.py?" in amber("inbox").out

    # Whoever is done frees its files and those who waited for it.
    closed = amber("close", "--note", "the form works", "--msg", "src/ is free")
    assert closed.out == "Closed: t-form Sign in form (completed)\n  released: src/\n  ready now: t-tests\n"
    assert "> src/ is free" in birch("inbox").out
    assert birch("reserve", "src/form.py").code == 0
    assert birch("close", "t-docs").code == 0
    assert birch("claim").out == "Claimed: t-tests Tests of the form\n"
    assert birch("close").code == 0
    assert amber("claim").out == "No task is ready.\n"

    # What is done is published like every other fact.
    assert amber("publish").code == 0
    assert "Sign in form (t-form)" in run("brief", cwd=project.folder).out
