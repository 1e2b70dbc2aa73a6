"""Git is started with a clean environment, within a time, and its failures are answers."""

import os
import sys
from pathlib import Path

import pytest

from passdown.engines.git.process import (
    NOT_STARTED,
    TIMED_OUT,
    Git,
    GitResult,
    clean_environment,
    in_portions,
    join_names,
    split_names,
)

needs_scripts = pytest.mark.skipif(sys.platform == "win32", reason="the scripts are for a POSIX shell")


def test_git_answers_with_its_output() -> None:
    answer = Git(os.getcwd(), os.environ).run("hash-object", "--stdin", data=b"")

    assert answer.is_done
    assert answer.output == b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n"


def test_variables_of_a_surrounding_git_command_are_dropped() -> None:
    variables = {
        "GIT_INDEX_FILE": "x",
        "GIT_DIR": "x",
        "GIT_OBJECT_DIRECTORY": "x",
        "GIT_EDITOR": "x",
        "GIT_SSH_COMMAND": "x",
        "GIT_ALLOW_PROTOCOL": "x",
        "GIT_CONFIG_GLOBAL": "kept",
        "GIT_AUTHOR_NAME": "kept",
        "HOME": "kept",
        "LC_ALL": "de_DE.UTF-8",
    }

    assert clean_environment(variables) == {
        "GIT_CONFIG_GLOBAL": "kept",
        "GIT_AUTHOR_NAME": "kept",
        "HOME": "kept",
        "LC_ALL": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }


def test_git_that_cannot_be_started_is_an_answer(tmp_path: Path) -> None:
    missing = Git(str(tmp_path), {"PATH": str(tmp_path)}).run("version")
    nowhere = Git(str(tmp_path / "none"), os.environ).run("version")

    assert missing.code == nowhere.code == NOT_STARTED
    assert missing.reason.startswith("git could not be started: ")


def fake(folder: Path, script: str) -> dict[str, str]:
    """Make a program called git, and the environment in which it is found."""
    program = folder / "git"
    program.write_text(f"#!{sys.executable}\n{script}")
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@needs_scripts
def test_git_that_takes_too_long_is_asked_to_end_so_that_it_cleans_up(tmp_path: Path) -> None:
    script = (
        "import pathlib, signal, sys\n"
        "def end(*_):\n"
        f"    pathlib.Path({str(tmp_path / 'cleaned')!r}).touch()\n"
        "    sys.exit(1)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        f"pathlib.Path({str(tmp_path / 'started')!r}).touch()\n"
        "signal.pause()\n"
    )
    git = Git(str(tmp_path), fake(tmp_path, script), seconds=2)

    answer = git.run("anything")

    assert (answer.code, answer.reason) == (TIMED_OUT, "git did not finish within 2 seconds")
    assert (tmp_path / "started").exists()
    assert (tmp_path / "cleaned").exists()


@needs_scripts
def test_git_that_will_not_end_is_killed(tmp_path: Path) -> None:
    script = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: signal.pause()\n"
    git = Git(str(tmp_path), fake(tmp_path, script), seconds=1, grace=0.2)

    assert git.run("anything").code == TIMED_OUT


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ("warning: x\nfatal: not a repository\nhint: y\n", "not a repository"),
        ("error: a\nfatal: b\n", "a"),
        ("\n  something else  \n", "something else"),
        ("", "git exited with code 3"),
        ("fatal: \n", "fatal:"),
    ],
)
def test_the_reason_is_the_line_that_says_why(error: str, reason: str) -> None:
    assert GitResult(code=3, error=error).reason == reason


def test_names_are_joined_and_split_as_they_are() -> None:
    names = ["a b", "-c", "ü\n", os.fsdecode(b"\xff")]

    assert split_names(join_names(names)) == names
    assert split_names(b"") == []


@pytest.mark.parametrize("count", [0, 1, 2, 500, 2000])
@pytest.mark.parametrize("size", [1, 100, 30_000])
def test_portions_fit_on_a_command_line_and_leave_nothing_out(count: int, size: int) -> None:
    names = [f"{number}{'x' * size}" for number in range(count)]

    portions = [*in_portions(names)]

    assert [name for portion in portions for name in portion] == names
    assert all(portions)
    assert all(len(portion) == 1 or sum(map(len, portion)) < 24_000 for portion in portions)
