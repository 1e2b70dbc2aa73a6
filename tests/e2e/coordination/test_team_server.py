"""Two clones of one project that coordinate through a PostgreSQL server, by commands."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stores.servers import MigratedDatabase, Postgres
from tests.support.commands import Done, environment, run
from tests.support.gits import Project, make_started
from tests.support.projects import put

pytestmark = pytest.mark.server


class Clone:
    """A clone of the project, in which one session works."""

    def __init__(self, folder: Path, name: str) -> None:
        """Start a session that is called by its name."""
        self.folder = folder
        self.name = name
        assert self("start", "--new", "--nickname", name).code == 0

    def __call__(self, *words: str) -> Done:
        """Let the session run a command."""
        return run(*words, "--session", self.name, cwd=self.folder)


def make_clones(tmp_path: Path) -> tuple[Clone, Clone]:
    """Set a project up for a team, and clone it."""
    project = make_started(tmp_path / "first")
    for words in (("init", "--yes"), ("team", "init", "--yes")):
        assert run(*words, cwd=project.folder).code == 0
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=set up")
    Project(folder=tmp_path).git("clone", "--quiet", "first", "second")
    return Clone(project.folder, "amber"), Clone(tmp_path / "second", "birch")


@pytest.mark.requirement("C74", "C76", "C78", "C95")
def test_clones_share_tasks_files_and_mail_through_a_server(
    tmp_path: Path, database: MigratedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", database.url())
    amber, birch = make_clones(tmp_path)

    assert amber("task", "add", "Sign in form", "--id", "t-form").code == 0
    assert amber("claim").out == "Claimed: t-form Sign in form\n"
    assert "t-form Sign in form: held by amber-" in birch("claim").out
    assert amber("reserve", "src/").code == 0
    assert birch("reserve", "src/a.py").code == 3
    assert birch("msg", "soon?", "--to", "amber").code == 0
    assert "> soon?" in amber("inbox").out
    assert amber("close").code == 0
    assert birch("reserve", "src/a.py").code == 0
    status = run("status", cwd=birch.folder)
    assert status.code == 0
    assert "PostgreSQL" in status.out
    assert not list(tmp_path.rglob("coordination.sqlite"))


@pytest.mark.requirement("C86", "R216")
def test_without_its_server_nothing_is_granted_and_work_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", "postgresql://127.0.0.1:9/passdown")
    amber, _ = make_clones(tmp_path)

    for words in (("claim",), ("reserve", "src/"), ("task", "add", "x"), ("msg", "x"), ("inbox",)):
        done = amber(*words)
        assert (done.code, done.out) == (5, ""), words
        assert "cannot reach the coordination server (127.0.0.1:9)" in " ".join(done.err.split())
    assert amber("done", "went on alone").code == 0
    assert amber("publish").code == 0


@pytest.mark.requirement("C94", "C95")
def test_the_tables_are_made_by_a_command(
    tmp_path: Path, own_postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = own_postgres.address.url()
    folder = make_started(tmp_path / "project").folder

    assert run("team", "migrate", cwd=folder).code == 2
    assert run("team", "migrate", "--url", url, cwd=folder).out == "Database ready (schema 4).\n"
    assert run("team", "migrate", "--url", url, cwd=folder).code == 0
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", url)
    assert run("claim", cwd=folder).code == 0  # a project without a key has its own file (C159)
    assert list(folder.rglob("coordination.sqlite"))


def edit(clone: Clone, path: str) -> str:
    """Let Claude Code ask whether the session may edit a file; give why not."""
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": clone.name,
        "cwd": str(clone.folder),
        "tool_name": "Edit",
        "tool_input": {"file_path": str(clone.folder / path)},
    }
    done = subprocess.run(
        [sys.executable, "-m", "passdown", "hook", "--host", "claude"],
        cwd=clone.folder,
        env=environment(),
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=True,
    )
    told = json.loads(done.stdout or "{}")
    return str(told["hookSpecificOutput"]["permissionDecisionReason"]) if told else ""


def commit(clone: Clone, path: str) -> Done:
    """Let the session judge a commit of a file."""
    project = Project(folder=clone.folder)
    put(clone.folder, path, "edited\n")
    project.git("add", path)
    done = subprocess.run(
        [sys.executable, "-m", "passdown", "guard"],
        cwd=clone.folder,
        env=environment(PASSDOWN_SESSION=clone.name),
        capture_output=True,
        text=True,
        check=False,
    )
    project.git("reset", "--quiet", path)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.requirement("C77", "C88", "C89")
def test_edits_and_commits_are_judged_by_the_copy_of_what_the_server_said(
    tmp_path: Path, database: MigratedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", database.url())
    amber, birch = make_clones(tmp_path)
    assert amber("reserve", "src/").code == 0
    assert edit(birch, "src/a.py") == ""  # it has not asked since
    assert birch("reserve", "docs/").code == 0

    refused = edit(birch, "src/a.py")

    assert re.search(r"src/a\.py is held by amber-\w+ \(reserved as src/, expires in ", refused)
    assert "(last known " in refused
    assert edit(birch, "docs/a.md") == ""
    assert edit(amber, "src/a.py") == ""
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", "postgresql://127.0.0.1:9/passdown")
    stopped = commit(birch, "src/a.py")
    assert stopped.code == 3
    assert "src/a.py is held by" in " ".join(stopped.err.split())
    assert (
        "cannot reach the coordination server (127.0.0.1:9); used the last known reservations, from "
        in " ".join(stopped.err.split())
    )
    assert commit(birch, "docs/a.md").code == 0
    assert birch("reserve", "lib/").code == 5
    (birch.folder / ".git/passdown/engine-away.json").unlink()
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", database.url())
    assert amber("release").code == 0
    assert edit(birch, "src/a.py") != ""
    assert run("status", cwd=birch.folder).code == 0
    assert edit(birch, "src/a.py") == ""
