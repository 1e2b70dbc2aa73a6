"""Two clones of one project that coordinate through a PostgreSQL server, by commands."""

from pathlib import Path

import pytest

from tests.commands import Done, run
from tests.gits import Project, make_started
from tests.servers import MigratedDatabase, Postgres

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
    assert "t-form Sign in form: amber-" in birch("claim").out
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
        assert "does not answer" in done.err
    assert amber("done", "went on alone").code == 0
    assert amber("publish").code == 0


@pytest.mark.requirement("C94", "C95")
def test_the_tables_are_made_by_a_command(
    tmp_path: Path, own_postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = own_postgres.address.url()
    folder = make_started(tmp_path / "project").folder

    assert run("team", "migrate", cwd=folder).code == 2
    assert run("team", "migrate", "--url", url, cwd=folder).out == "the tables have version 1\n"
    assert run("team", "migrate", "--url", url, cwd=folder).code == 0
    monkeypatch.setenv("PASSDOWN_COORDINATION_URL", url)
    refused = run("claim", cwd=folder)
    assert refused.code == 2
    assert "`passdown team init`" in refused.err
