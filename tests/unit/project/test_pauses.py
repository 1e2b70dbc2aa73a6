"""A pause is a mark for all checkouts, or a variable; it holds off what runs by itself."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest

from passdown.core.project.pauses import is_off, parse_mark, render_mark
from passdown.errors import StorageError
from passdown.faces.hooks import quick
from passdown.services.project.pauses import Pause, find_pauses, pause, unpause
from passdown.services.workspace.workspaces import Workspace
from passdown.testing.memory.documents import MemoryDocuments
from tests.answers.setup_answers import PAUSE
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_started
from tests.support.projects import put, stop_clock
from tests.support.sessions import MemoryWorkspace

NOON = datetime(2026, 1, 11, 12, tzinfo=UTC)
GIT_MARK = ".git/passdown/paused"
LOCAL_MARK = ".conductor/paused"


class SealedDocuments(MemoryDocuments):
    """Files in a folder that a sandbox lets nobody write to."""

    def replace(
        self,
        path: str,
        data: bytes,
        *,
        local: bool = False,
        expected: bytes | None = None,
        durable: bool = True,
    ) -> None:
        """Refuse."""
        del data, local, expected, durable
        raise StorageError(f"could not write {path}", hint="work elsewhere")


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give a repository with a commit, at noon."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return make_started(tmp_path / "project")


def make_site(git: MemoryDocuments | None) -> Workspace:
    return MemoryWorkspace(git_documents=git)


def is_paused(folder: Path) -> bool:
    """Say whether a hook does nothing here."""
    return is_off(os.environ) or quick.is_paused(str(folder))


@pytest.mark.requirement("C70")
@pytest.mark.parametrize(
    ("value", "off"), [("1", True), ("true", True), (" YES ", True), ("0", False), ("", False), ("No", False)]
)
def test_a_variable_turns_it_off(value: str, *, off: bool) -> None:
    assert is_off({"PASSDOWN_OFF": value}) == off
    assert not is_off({})


def test_a_mark_says_since_when() -> None:
    assert parse_mark(render_mark(NOON)) == NOON
    assert parse_mark("whatever\n") is None


def test_a_mark_lies_with_git_or_else_in_the_checkout() -> None:
    for git, by in (
        (MemoryDocuments(), GIT_MARK),
        (SealedDocuments(), LOCAL_MARK),
        (None, LOCAL_MARK),
    ):
        site = make_site(git)
        assert pause(site, NOON) == Pause(by=by, since=NOON)
        assert pause(site, NOON) is None
        assert find_pauses(site, {}) == (Pause(by=by, since=NOON),)
        assert unpause(site) == (by,)
        assert (unpause(site), find_pauses(site, {})) == ((), ())


def test_every_mark_is_found_and_taken_away_and_so_is_one_that_says_nothing() -> None:
    site = make_site(MemoryDocuments({"passdown/paused": b"x" * 100}))
    site.documents.replace(LOCAL_MARK, b"")

    found = find_pauses(site, {"PASSDOWN_OFF": "1"})

    assert found == (Pause(by="PASSDOWN_OFF"), Pause(by=GIT_MARK), Pause(by=LOCAL_MARK))
    assert unpause(site) == (GIT_MARK, LOCAL_MARK)


def test_a_folder_in_the_place_of_a_mark_is_one_too() -> None:
    site = make_site(MemoryDocuments({"passdown/paused/x": b""}))

    assert find_pauses(site, {}) == (Pause(by=GIT_MARK),)
    with pytest.raises(StorageError):
        unpause(site)


@pytest.mark.parametrize("by", ["project", "quoted", "user", "environment"])
def test_hooks_find_the_mark_in_the_folder_that_the_settings_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, by: str
) -> None:
    folder = tmp_path / "project"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    told = {"project": '[paths]\nruntime = "state/local"\n', "quoted": '"paths".runtime = "state/local"\n'}
    put(folder, "passdown.toml", told.get(by, ""))
    if by == "user":
        put(tmp_path, "config/passdown/settings.toml", "[paths]\nruntime = 'state/local'\n")
    if by == "environment":
        monkeypatch.setenv("PASSDOWN_PATHS_RUNTIME", "state/local")
    command = Caller(monkeypatch, capsys, folder)

    assert command("pause").out == "paused: state/local/paused\n"

    assert is_paused(folder)
    assert command("unpause").code == 0
    assert not is_paused(folder)


@pytest.mark.requirement("C70")
def test_a_pause_holds_for_all_checkouts(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.git("worktree", "add", "--quiet", "../other", "-b", "side")
    other = project.folder.parent / "other"

    assert command("pause") == Done(0, f"paused: {GIT_MARK}\n", "")
    assert command("pause") == Done(0, "already paused since 2026-01-11T12:00:00Z\n", "")
    assert is_paused(project.folder)
    assert is_paused(other)
    monkeypatch.chdir(other)
    assert command("unpause") == Done(0, "Passdown is active again\n", "")
    assert not is_paused(project.folder)
    assert command("unpause") == Done(0, "Passdown was not paused\n", "")
    assert project.git("status", "--porcelain") == ""


def test_without_git_it_holds_for_the_folder(
    command: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")

    assert command("pause").out == f"paused: {LOCAL_MARK}\n"
    assert is_paused(tmp_path / "plain")
    assert (tmp_path / "plain" / LOCAL_MARK).stat().st_mode & 0o077 == 0
    assert command("unpause").out == "Passdown is active again\n"
    assert not is_paused(tmp_path / "plain")


def test_a_mark_that_does_not_say_since_when_is_one_too(command: Caller, project: Project) -> None:
    put(project.folder, GIT_MARK, "")

    assert command("pause").out == "already paused\n"


def test_what_is_called_by_hand_works_while_paused(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    command("pause")
    monkeypatch.setenv("PASSDOWN_OFF", "1")

    assert command("start").code == command("goal", "Fix hooks").code == 0
    assert "goal: Fix hooks" in command("status").out


def test_the_variable_is_named_when_unpausing_does_not_help(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSDOWN_OFF", "1")

    assert is_paused(project.folder)
    assert command("unpause") == Done(
        0,
        "Passdown was not paused\n",
        "passdown: PASSDOWN_OFF is set in your environment and still turns Passdown off\n",
    )


def test_json_says_whether_and_by_what(command: Caller, project: Project) -> None:
    put(project.folder, "passdown.toml", "[nosuch]\n")
    expected = (("pause", True, True), ("pause", True, False), ("unpause", False, True))
    for name, paused, changed in expected:
        done = command(name, "--json")
        answer = json.loads(done.out)
        jsonschema.validate(answer, PAUSE)
        assert (answer["is_paused"], answer["changed"]) == (paused, changed)
        assert answer["where"] == ([GIT_MARK] if paused else [])
        assert "unknown section [nosuch]" in done.err
