"""Setting up and mending at a terminal: few questions, and nothing without a yes."""

import sys
from pathlib import Path

import pytest

from tests.support.commands import Terminal, run
from tests.support.gits import Project, make_started
from tests.support.projects import listing

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
SHARE = "Share events and handoffs with others through git? [Y/n]: "
COMMIT = "May Passdown commit them at session ends, handoffs and checkpoints? [Y/n]: "
WRITE = "Write this? [Y/n]: "


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository with a commit."""
    return make_started(tmp_path / "project")


def answer(folder: Path, *asked: tuple[str, str], arguments: tuple[str, ...] = ()) -> tuple[int, str]:
    """Run `passdown init` at a terminal and answer its questions; give the code and all that was shown."""
    with Terminal("init", *arguments, cwd=folder) as terminal:
        for question, key in asked:
            terminal.read_until(question)
            terminal.type(f"{key}\n")
        done = terminal.close()
    assert done.out.count("[Y/n]") == len(asked) <= 3
    return done.code, done.out


@posix
def test_three_questions_and_it_is_written(project: Project) -> None:
    code, shown = answer(project.folder, (SHARE, ""), (COMMIT, "n"), (WRITE, "y"))

    assert code == 0
    assert shown.endswith("hint: commit .gitignore, .gitattributes, passdown.toml to share the setup\n")
    assert "session_end = false" in (project.folder / "passdown.toml").read_text()
    assert "already set up" in answer(project.folder)[1]


@posix
def test_who_does_not_share_is_not_asked_about_commits(project: Project) -> None:
    code, _ = answer(project.folder, (SHARE, "n"), (WRITE, ""))

    assert code == 0
    assert project.git("status", "--porcelain") == ""


@posix
@pytest.mark.parametrize("arguments", [("--private",), ("--shared", "--no-commit")])
def test_what_options_say_is_not_asked(project: Project, arguments: tuple[str, ...]) -> None:
    before = listing(project.folder)

    code, shown = answer(project.folder, (WRITE, "n"), arguments=arguments)

    assert (code, shown.splitlines()[-1]) == (1, "passdown: nothing was written")
    assert listing(project.folder) == before


@posix
def test_whoever_breaks_off_has_nothing_written(project: Project) -> None:
    before = listing(project.folder)

    with Terminal("init", cwd=project.folder) as terminal:
        terminal.read_until(SHARE)
        terminal.interrupt()
        done = terminal.close()

    assert done.code == 130
    assert listing(project.folder) == before


@posix
@pytest.mark.parametrize(("key", "code"), [("y", 0), ("n", 1)])
def test_the_doctor_asks_before_it_mends(project: Project, key: str, code: int) -> None:
    run("init", "--yes", cwd=project.folder)
    (project.folder / ".gitattributes").unlink()

    with Terminal("doctor", "--fix", cwd=project.folder) as terminal:
        terminal.read_until("Fix these 2? [y/N]: ")
        terminal.type(f"{key}\n")
        done = terminal.close()

    assert done.code == code
    assert done.out.splitlines()[-1] == f"passdown: {'2 problems' if code else 'no problems found'}"
    assert (project.folder / ".gitattributes").exists() == (key == "y")


@posix
def test_whoever_breaks_off_has_nothing_mended(project: Project) -> None:
    run("init", "--yes", cwd=project.folder)
    for name in (".gitignore", ".gitattributes"):
        (project.folder / name).unlink()

    with Terminal("doctor", "--fix", cwd=project.folder) as terminal:
        terminal.read_until("Fix these 3? [y/N]: ")
        terminal.interrupt()
        done = terminal.close()

    assert done.code == 130
    assert not (project.folder / ".gitignore").exists()
