"""Real hosts: what their sessions published is committed, and the user's own work stays as it was.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import json
import os
import subprocess
from collections.abc import Callable
from typing import Final

import pytest

from tests.hosts.drivers import ClaudeCode, Codex, Copilot, Driver, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import PASSDOWN, copilot_hooks, hooks, need
from tests.support.gits import Project

pytestmark = pytest.mark.timeout(240)

EVENTS: Final = "thoughts/shared/handoffs/events/"
RECORDS: Final = "conductor/sessions/archive/"
SESSIONS: Final = 3


def prepare_claude(place: Ground) -> tuple[Driver, list[str]]:
    settings = place.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(hooks(), encoding="utf-8")
    return ClaudeCode(need("claude"), place), []


def prepare_codex(place: Ground) -> tuple[Driver, list[str]]:
    driver = Codex(need("codex"), place)
    (place.home / ".codex" / "hooks.json").write_text(hooks(), encoding="utf-8")
    return driver, ["--dangerously-bypass-hook-trust"]


def prepare_copilot(place: Ground) -> tuple[Driver, list[str]]:
    folder = place.root / ".github" / "hooks"
    folder.mkdir(parents=True)
    (folder / "passdown.json").write_text(copilot_hooks(), encoding="utf-8")
    return Copilot(need("copilot"), place), []


HOSTS: Final[dict[str, tuple[Callable[[Ground], tuple[Driver, list[str]]], Callable[[str], Call]]]] = {
    "claude": (
        prepare_claude,
        lambda words: Call(tool="Bash", input={"command": words, "description": "say"}),
    ),
    "codex": (prepare_codex, lambda words: Call(tool="exec_command", input={"cmd": words})),
    "copilot": (
        prepare_copilot,
        lambda words: Call(tool="bash", input={"command": words, "description": "say"}),
    ),
}


def settle(project: Project) -> None:
    """Let the user's last commit be of yesterday, and say who commits."""
    project.git("config", "user.name", "somebody")
    project.git("config", "user.email", "somebody@localhost")
    project.write(".gitignore", ".conductor/\nconductor/sessions/active/\n")
    project.git("add", "--all")
    subprocess.run(
        ["git", "commit", "--quiet", "--amend", "--no-edit"],
        cwd=project.folder,
        env={**os.environ, "GIT_COMMITTER_DATE": "2026-01-10T12:00:00Z"},
        check=True,
    )


def user_work(project: Project) -> tuple[list[str], dict[str, bytes]]:
    """Give the entries of the index that are not ours, and the files beside them."""
    entries = project.git("ls-files", "--stage", "-v").splitlines()
    files = {name: (project.folder / name).read_bytes() for name in ("kept.txt", "other.txt", "new.txt")}
    return [
        line for line in entries if EVENTS not in line and RECORDS not in line and "current.md" not in line
    ], files


@pytest.mark.requirement("C117", "C42", "R133", "R135")
@pytest.mark.parametrize("host", HOSTS)
def test_three_sessions_are_committed_and_the_work_of_the_user_is_untouched(
    ground: tuple[Ground, Model], host: str
) -> None:
    place, model = ground
    prepare, say = HOSTS[host]
    driver, options = prepare(place)
    project = Project(folder=place.root)
    settle(project)
    project.write("kept.txt", "staged\n")
    project.git("add", "kept.txt")
    project.write("kept.txt", "unstaged\n")
    project.write("new.txt", "untracked\n")
    before = user_work(project)
    base = project.git("rev-parse", "HEAD").strip()

    for number in range(SESSIONS):
        driver.session = ""
        words = f"'{PASSDOWN}' goal 'Fix the parser' && '{PASSDOWN}' done 'step {number}'"
        model.prepare([Step(calls=(say(words),)), Step(text="ok")], str(place.root))
        ended = driver.turn(f"please do step {number}", options)
        assert ended.code == 0, ended
        assert user_work(project) == before, number
    last = json.loads(place.run([str(PASSDOWN), "start", "--new", "--json"]).out)

    subjects = project.git("log", "--format=%s", f"{base}..HEAD").splitlines()
    print(f"{host}: {subjects}")
    assert len(subjects) >= SESSIONS
    assert all(one.startswith("passdown: ") for one in subjects)
    assert last["commit"] == project.git("rev-parse", "HEAD").strip()
    tree = project.tree()
    told = "".join(project.git("show", f"HEAD:{name}") for name in tree if name.startswith(EVENTS))
    assert all(f"step {number}" in told for number in range(SESSIONS))
    assert sum(name.startswith(RECORDS) for name in tree) >= SESSIONS
    changed = project.git("diff", "--name-only", base, "HEAD").splitlines()
    assert all(name.startswith((EVENTS, RECORDS)) or name.endswith("/current.md") for name in changed)
    assert user_work(project) == before
    ours = project.git("status", "--porcelain", "--untracked-files=all", "thoughts", "conductor")
    assert ours == ""
    assert place.hook_errors() == []
