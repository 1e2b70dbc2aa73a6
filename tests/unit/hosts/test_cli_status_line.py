"""`passdown status-line` says in one line what a session does and how full its context is."""

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_started
from tests.support.projects import put

NOTHING = Done(0, "", "")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository in which somebody agreed to be helped."""
    project = make_started(tmp_path / "project")
    put(project.folder, "passdown.toml", "")
    return project


class Line:
    """Calls the status line as the host does."""

    def __init__(self, command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keep how to call it."""
        self.command = command
        self._monkeypatch = monkeypatch

    def __call__(self, told: Mapping[str, object] | bytes) -> Done:
        """Tell something, and give the answer."""
        data = told if isinstance(told, bytes) else json.dumps(told).encode()
        stdin = io.TextIOWrapper(io.BytesIO(data))
        self._monkeypatch.setattr(sys, "stdin", stdin)
        return self.command("status-line")


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Line:
    """Give a way to call it, in the project."""
    return Line(Caller(monkeypatch, capsys, project.folder), monkeypatch)


def tell(project: Project, percent: object = 86.4, session: str = "host-1") -> dict[str, object]:
    return {
        "session_id": session,
        "workspace": {"current_dir": str(project.folder)},
        "context_window": {"used_percentage": percent},
    }


@pytest.mark.requirement("G9")
def test_it_shows_what_is_done_now_and_the_level(line: Line, project: Project) -> None:
    line.command("start", "--host", "claude", "--session", "host-1")
    assert line(tell(project, 12)).out == "passdown: context 12 %\n"

    line.command("goal", "A cookie")
    assert line(tell(project, 12)).out == "passdown: A cookie | context 12 %\n"
    line.command("now", "Reading")

    assert line(tell(project)) == Done(0, "passdown: Reading | context 86 %: hand off now\n", "")
    level = (project.folder / ".git/passdown/levels/host-1").read_text()
    assert level.startswith("86 save 20")


def test_the_ladder_is_a_setting(line: Line, project: Project) -> None:
    put(project.folder, "passdown.toml", "[context]\nsuggest = 5\n")

    assert line(tell(project, 6)).out == "passdown: context 6 %: hand off soon\n"


def test_it_loads_no_parser_and_no_index(project: Project) -> None:
    script = (
        "import sys; before = set(sys.modules); from passdown.faces.cli.main import main; main(); "
        "print(*set(sys.modules) - before)"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, "status-line"],
        input=json.dumps(tell(project)),
        capture_output=True,
        text=True,
        check=True,
    )

    line, _, loaded = done.stdout.partition("\n")
    assert line == "passdown: context 86 %: hand off now"
    assert not {"click", "sqlite3", "subprocess", "passdown.core.merge.merge", "yaml"} & set(loaded.split())


@pytest.mark.requirement("C38")
def test_without_a_number_there_is_no_level(line: Line, project: Project) -> None:
    assert line(tell(project, None)) == NOTHING
    assert not (project.folder / ".git/passdown/levels").exists()
    assert line(tell(project, session="")).out == "passdown: context 86 %: hand off now\n"
    assert not (project.folder / ".git/passdown/levels").exists()


def test_a_project_that_was_left_to_itself_is_left_alone(line: Line, project: Project) -> None:
    (project.folder / "passdown.toml").unlink()

    assert line(tell(project)) == NOTHING
    assert not (project.folder / ".git/passdown").exists()


def test_paused_or_turned_off_it_says_nothing(
    line: Line, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.command("pause")
    assert line(tell(project)) == NOTHING
    line.command("unpause")
    monkeypatch.setenv("PASSDOWN_OFF", "1")
    assert line(tell(project)) == NOTHING


@pytest.mark.parametrize("told", [b"", b"\xff", b"[]", b'{"workspace": 1}', b'{"cwd": 1}', b"[" * 100_000])
def test_what_is_no_payload_is_no_trouble(line: Line, told: bytes) -> None:
    assert line(told) == NOTHING


def test_the_folder_may_be_told_in_the_older_way(line: Line, project: Project) -> None:
    told = {"cwd": str(project.folder), "context_window": {"used_percentage": 1}}

    assert line(told).out == "passdown: context 1 %\n"


def test_settings_that_cannot_be_read_hide_the_line(line: Line, project: Project) -> None:
    put(project.folder, "passdown.toml", "= 1")

    assert line(tell(project)) == NOTHING
