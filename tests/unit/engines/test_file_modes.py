"""What belongs to one machine is its owner's alone, whatever the umask; what is shared follows it."""

import gc
import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.gits import Project, make_started
from tests.unit.hooks.test_hooks import HOST, Stage

SHARED = ("conductor", "conductor/sessions", "thoughts", "thoughts/shared", "conductor/sessions/archive")
LOCAL = (".git/passdown", ".conductor", "conductor/sessions/active")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")


@pytest.fixture(params=[0o022, 0o000])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Set the umask of this process, and afterwards what it was."""
    mask: int = request.param
    before = os.umask(mask)
    yield mask
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def wrong(folder: Path) -> dict[str, str]:
    """Name what is below a folder, and the folder, that others than its owner can read."""
    gc.collect()  # databases that commands of this process opened are closed now, and their parts go
    found = [folder, *folder.rglob("*")]
    return {str(path): oct(mode(path)) for path in found if mode(path) != (0o700 if path.is_dir() else 0o600)}


def use(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every kind of local file: journals, ledger, state, cache, levels, a notice, a log and a pause."""
    stage.call("SessionStart", "--host", "copilot", source="startup")
    assert stage.command("goal", "Ship it", "--session", HOST).code == 0
    stage.call("PreCompact", "--host", "copilot")
    told = {"session_id": HOST, "cwd": str(stage.root), "context_window": {"used_percentage": 75}}
    data = SimpleNamespace(read=lambda _size: json.dumps(told).encode())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data, isatty=lambda: False))
    assert stage.command("status-line").code == 0
    assert stage.command("search", "ship").code == 0
    assert stage.command("synthesize").code == 0
    assert stage.command("pause").code == 0


def test_what_belongs_to_the_machine_is_its_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], umask: int
) -> None:
    project: Project = make_started(tmp_path / "project")
    stage = Stage(project.folder, monkeypatch, capsys)
    assert stage.command("init", "--yes").code == 0

    use(stage, monkeypatch)

    for name in LOCAL:
        assert wrong(project.folder / name) == {}
    made = {path.name for path in (project.folder / ".git/passdown").iterdir()}
    assert made >= {"journal", "cache", "waiting", "paused", "metrics.jsonl"}
    stage.command("unpause")
    assert stage.command("end", "--session", HOST).code == 0
    assert {mode(project.folder / name) for name in SHARED} == {0o777 & ~umask}


def test_without_git_the_folder_of_local_state_is_its_owners_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], umask: int
) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "passdown.toml").touch()
    stage = Stage(root, monkeypatch, capsys)

    use(stage, monkeypatch)

    assert umask in {0o022, 0o000}
    assert wrong(root / ".conductor") == {}
    assert wrong(root / "conductor/sessions/active") == {}
    assert {path.name for path in (root / ".conductor").iterdir()} >= {"journal", "waiting", "paused"}
