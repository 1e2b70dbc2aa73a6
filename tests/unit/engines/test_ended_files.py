"""What ended sessions leave behind is deleted when it is old, and nothing else."""

import os
import subprocess
from pathlib import Path

import pytest

from passdown import layout
from passdown.engines.files.ended_files import MOST, delete_empty_folders, delete_old_files
from passdown.settings import Settings
from passdown.wiring.ended_files import FOLDER_KEPT, KEPT, SessionPlaces, delete_of_ended
from tests.support.gits import make_started
from tests.support.projects import open_checkout

NOW = 2_000_000_000.0
PATHS = Settings().paths


def write(path: Path, age: float) -> None:
    """Write a file of that age."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}", encoding="utf-8")
    os.utime(path, (NOW - age, NOW - age))


def make_empty(path: Path, age: float) -> None:
    """Make a folder of that age."""
    path.mkdir(parents=True)
    os.utime(path, (NOW - age, NOW - age))


def clean(root: Path, common: str) -> None:
    """Delete what is old in a checkout."""
    places = SessionPlaces(str(root), PATHS.runtime, PATHS.ledgers, common)
    delete_of_ended(places, open_checkout(root, Settings()).tracking, NOW)


def list_all(folder: Path) -> list[str]:
    """List files and empty folders below a folder."""
    found = (path for path in folder.rglob("*") if path.is_file() or not any(path.iterdir()))
    return sorted(path.relative_to(folder).as_posix() for path in found)


def test_what_sessions_wrote_last_a_week_ago_is_deleted(tmp_path: Path) -> None:
    root = make_started(tmp_path / "project").folder
    common, runtime = root / ".git", root / PATHS.runtime
    for place in (common / layout.OURS, runtime):
        for folder in (layout.WAITING, layout.SIGNALS, layout.CONTEXT_LEVELS):
            write(place / folder / "old", KEPT + 1)
            write(place / folder / "new", KEPT - 60)
    write(common / layout.OURS / layout.OUTBOX / "s-old.lock", KEPT + 1)
    write(common / layout.OURS / layout.OUTBOX / "s-new.lock", KEPT - 60)
    write(common / layout.OURS / layout.COSTS, 10 * KEPT)
    write(runtime / "session-state_old.json", KEPT + 1)
    write(runtime / "session-state_new.json", KEPT - 60)
    write(runtime / "session-context_old.md", 10 * KEPT)
    write(runtime / "handoff_a_to_b.json", 10 * KEPT)

    clean(root, str(common))

    news = [f"{folder}/new" for folder in (layout.CONTEXT_LEVELS, layout.SIGNALS, layout.WAITING)]
    assert list_all(common / layout.OURS) == sorted([*news, layout.COSTS, f"{layout.OUTBOX}/s-new.lock"])
    others = ["handoff_a_to_b.json", "session-context_old.md", "session-state_new.json"]
    assert list_all(runtime) == sorted([*others, *news])


def test_without_git_all_is_in_the_checkout(tmp_path: Path) -> None:
    runtime = tmp_path / PATHS.runtime
    write(runtime / layout.SIGNALS / "old", KEPT + 1)
    write(runtime / layout.OUTBOX / "s-old.lock", KEPT + 1)
    write(runtime / "session-state_old.json", KEPT + 1)

    clean(tmp_path, "")

    assert list_all(runtime) == [layout.OUTBOX, layout.SIGNALS]


@pytest.mark.requirement("C119")
def test_what_git_tracks_stays_however_old(tmp_path: Path) -> None:
    root = make_started(tmp_path / "project").folder
    names = ["session-state_old.json", f"{layout.SIGNALS}/old"]
    for name in names:
        write(root / PATHS.runtime / name, KEPT + 1)
    subprocess.run(["git", "add", "-f", PATHS.runtime], cwd=root, check=True)

    clean(root, str(root / ".git"))

    assert list_all(root / PATHS.runtime) == sorted(names)


def test_an_empty_folder_of_a_ledger_is_deleted_after_a_day(tmp_path: Path) -> None:
    ledgers = tmp_path / PATHS.ledgers
    make_empty(ledgers / "ended", FOLDER_KEPT + 1)
    make_empty(ledgers / "new", FOLDER_KEPT - 60)
    write(ledgers / "running" / "LEDGER.md", 10 * KEPT)
    os.utime(ledgers / "running", (NOW - 10 * KEPT,) * 2)

    clean(tmp_path, "")

    assert list_all(ledgers) == ["new", "running/LEDGER.md"]


def test_five_hundred_are_deleted_at_a_time(tmp_path: Path) -> None:
    for number in range(MOST + 1):
        write(tmp_path / "files" / f"{number}", 10.0)
        make_empty(tmp_path / "folders" / f"{number}", 10.0)

    counts = [
        (
            delete_old_files(str(tmp_path), str(tmp_path / "files"), NOW, lambda _: True),
            delete_empty_folders(str(tmp_path), str(tmp_path / "folders"), NOW),
        )
        for _ in range(3)
    ]

    assert counts == [(500, 500), (1, 1), (0, 0)]


@pytest.mark.skipif(os.name != "posix", reason="links need a right there")
def test_no_link_is_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "old", 10.0)
    root = tmp_path / "project"
    root.mkdir()
    (root / "folder").symlink_to(tmp_path / "elsewhere")

    assert delete_old_files(str(root), str(root / "folder"), NOW, lambda _: True) == 0
    assert list_all(tmp_path / "elsewhere") == ["old"]
