"""A check that finds nothing new is answered before most is loaded, and as the whole one answers it."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from passdown.engines.sqlite.peek import peek
from passdown.faces.cli import quick
from tests.support.commands import Caller
from tests.support.projects import EVENTS, VIEW, put, put_event

HOUR = 3_600


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Caller:
    """A repository whose view was made an hour after its event."""
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=tmp_path, check=True)
    put_event(tmp_path, "2026-01-10T13:03:52Z", now="Write it")
    caller = Caller(monkeypatch, capsys, tmp_path)
    assert caller("synthesize", "--no-confirm").code == 0
    _age(tmp_path)
    assert caller("synthesize", "--check").code == 0
    return caller


def _age(folder: Path) -> None:
    events = folder / EVENTS
    then = events.stat().st_mtime - HOUR
    os.utime(events, (then, then))


def test_what_is_current_is_said_as_the_whole_command_says_it(
    project: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert quick.check_quickly()
    short = project("synthesize", "--check")
    monkeypatch.setattr(quick, "check_quickly", lambda: False)

    assert project("synthesize", "--check") == short
    assert short.err == f"passdown: {VIEW} is current: 1 event\n"


def test_it_loads_neither_the_parser_of_commands_nor_a_format(project: Caller) -> None:
    code = (
        "import sys; sys.argv = ['passdown', 'synthesize', '--check']\n"
        "from passdown.faces.cli.main import main; assert main() == 0\n"
        "print(*sorted(name for name in sys.modules if name.startswith(('passdown', 'click', 'yaml'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=project.folder, capture_output=True, text=True, check=True
    )

    loaded = done.stdout.split()
    assert "passdown.faces.cli.quick" in loaded
    assert not {"click", "yaml", "passdown.core.formats.events", "passdown.core.merge.merge"} & set(loaded)


@pytest.mark.parametrize("change", ["event", "view", "cache", "settings", "branch", "recent"])
def test_whatever_changed_is_left_to_the_whole_command(project: Caller, change: str) -> None:
    folder = project.folder
    if change == "event":
        put_event(folder, "2026-01-11T13:03:52Z", now="Go on")
    elif change == "view":
        put(folder, VIEW, (folder / VIEW).read_text(encoding="utf-8") + "\n")
    elif change == "cache":
        for path in (folder / ".git/passdown/cache").iterdir():
            path.unlink()
    elif change == "settings":
        put(folder, "passdown.toml", "[paths]\nevnts = 'x'\n")
    elif change == "branch":
        subprocess.run(["git", "checkout", "-q", "-b", "other"], cwd=folder, check=True)
    else:
        (folder / EVENTS).touch()

    assert not quick.check_quickly()


def test_a_mistake_in_the_settings_is_left_to_the_whole_command(project: Caller) -> None:
    put(project.folder, "passdown.toml", "[paths")

    assert not quick.check_quickly()
    assert project("synthesize", "--check").code == 2


def test_outside_git_and_without_a_view_the_whole_command_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: Caller
) -> None:
    (project.folder / VIEW).unlink()
    assert not quick.check_quickly()
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / ".git").rename(tmp_path / "moved")
    monkeypatch.chdir(outside)

    assert not quick.check_quickly()


@pytest.mark.usefixtures("project")
def test_a_person_is_answered_by_the_whole_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)

    assert not quick.check_quickly()


def test_an_index_that_is_none_tells_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a #1 100%?.sqlite"
    assert peek(str(path), "view") is None
    path.write_bytes(b"no database" * 100)
    assert peek(str(path), "view") is None
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE notes (name TEXT, text TEXT)")
        connection.execute("CREATE TABLE folders (path TEXT, mark INTEGER)")
        connection.execute("INSERT INTO notes VALUES ('view', 'x 1')")
    connection.close()

    found = peek(str(path), "view")
    assert found is not None
    assert found.note == "x 1"
    assert peek(str(path), "other") is None
