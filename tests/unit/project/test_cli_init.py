"""`passdown init` shows what it will write, asks little, and says so when there is nothing to do."""

import json
import os
from pathlib import Path

import jsonschema
import pytest

from passdown.wiring.installs import OwnProgram, open_install_target
from tests.answers.setup_answers import INIT
from tests.hosts.fake_hosts import FakeHosts
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_started
from tests.support.projects import listing, put

WRITTEN = "written: .gitignore\nwritten: .gitattributes\nwritten: passdown.toml\n"
NOT_WRITTEN = (
    "passdown: nothing was written\n  hint: no terminal to ask on; pass --yes to write without asking\n"
)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository with a commit."""
    return make_started(tmp_path / "project")


def test_without_a_terminal_it_shows_and_writes_nothing(command: Caller, project: Project) -> None:
    before = listing(project.folder)

    done = command("init")

    assert (done.code, done.err) == (1, NOT_WRITTEN)
    assert listing(project.folder) == before
    lines = done.out.splitlines()
    assert lines[0] == f"in {project.folder}:"
    assert [line for line in lines if line.startswith("+++")] == [
        "+++ .gitignore",
        "+++ .gitattributes",
        "+++ passdown.toml",
    ]
    assert "+/conductor/sessions/active" in lines
    assert "+session_end = true" in lines
    assert max(map(len, lines[1:])) <= 80


def test_yes_writes_and_again_says_that_nothing_changed(command: Caller, project: Project) -> None:
    done = command("init", "--yes")

    assert (done.code, done.out.endswith(WRITTEN)) == (0, True)
    assert done.err == ("  hint: commit .gitignore, .gitattributes, passdown.toml to share the setup\n")
    after = listing(project.folder)
    again = Done(0, "", "passdown: project is already set up; nothing was changed\n")
    assert command("init") == command("init", "--yes") == again
    assert listing(project.folder) == after
    assert project.count() == 1
    assert command("check").code == 0


def test_private_says_so(command: Caller, project: Project) -> None:
    done = command("init", "--yes", "--private")

    assert done.out.endswith("written: .git/info/exclude\nwritten: passdown.toml\n")
    assert done.err == ""
    assert command("init").err == "passdown: project is already set up, privately; nothing was changed\n"
    assert project.git("status", "--porcelain") == ""


def test_no_commit_switches_commits_off(command: Caller, project: Project) -> None:
    command("init", "--yes", "--no-commit")

    assert "session_end = false" in (project.folder / "passdown.toml").read_text()
    assert command("init", "--no-commit").code == 0
    put(project.folder, "passdown.toml", "")
    assert command("init", "--no-commit").code == 2


def test_in_a_subfolder_it_is_the_repository_unless_here_is_meant(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = project.folder / "apps" / "web"
    inner.mkdir(parents=True)
    monkeypatch.chdir(inner)

    whole = command("init")
    here = command("init", "--here", "--yes")

    assert whole.out.startswith(f"in {project.folder}:\n")
    assert whole.err == (
        "passdown: the project is the whole repository, ../..; use --here for this folder only\n"
        + NOT_WRITTEN
    )
    assert here.out.endswith(WRITTEN)
    assert {path for path in listing(project.folder) if "apps/" in path} == {
        "apps/web/.gitignore",
        "apps/web/.gitattributes",
        "apps/web/passdown.toml",
    }
    (inner / "deep").mkdir()
    monkeypatch.chdir(inner / "deep")
    assert command("init").err == "passdown: web is already set up; nothing was changed\n"


def test_without_git_it_says_so(command: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")

    done = command("init", "--yes")

    assert done.out.endswith("written: passdown.toml\n")
    assert done.err == "passdown: this is not a git repository; nothing is committed\n"


def test_json_tells_what_would_be_written_and_only_yes_writes(command: Caller, project: Project) -> None:
    answers = []
    for arguments, code, written, count in (([], 1, False, 3), (["--yes"], 0, True, 3), ([], 0, False, 0)):
        done = command("init", "--json", *arguments)
        answers.append(answer := json.loads(done.out))
        jsonschema.validate(answer, INIT)
        assert (done.code, answer["written"], len(answer["changes"])) == (code, written, count)

    assert answers[0]["changes"] == answers[1]["changes"]
    assert answers[0]["changes"][0]["path"] == ".gitignore"
    assert answers[0]["root"] == str(project.folder)


def test_a_setting_nobody_knows_is_named(command: Caller, project: Project) -> None:
    put(project.folder, "passdown.toml", "[nosuch]\n")

    assert "unknown section [nosuch]" in command("init").err


def test_a_link_in_the_place_of_a_file_is_not_followed(command: Caller, project: Project) -> None:
    put(project.folder.parent, "mine.txt", "mine\n")
    (project.folder / ".gitignore").symlink_to("../mine.txt")

    done = command("init", "--yes")

    assert done.code == 5
    assert f"could not read .gitignore: {project.folder / '.gitignore'} is a symbolic link" in done.err
    assert (project.folder.parent / "mine.txt").read_text() == "mine\n"
    assert not (project.folder / "passdown.toml").exists()


def test_a_host_that_is_here_and_has_no_plugin_is_offered(
    command: Caller, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    FakeHosts(tmp_path / "hosts", monkeypatch)
    data = open_install_target("codex", OwnProgram("passdown", "/", os.environ)).folder
    Path(data, "plugins", "codex").mkdir(parents=True)

    hints = [line for line in command("init", "--yes").err.splitlines() if "passdown install" in line]

    assert hints == [
        "  hint: run `passdown install claude` to add Passdown to Claude Code",
        "  hint: run `passdown install copilot` to add Passdown to Copilot",
    ]
