"""What killed processes left behind is swept up; what others are still writing stays."""

import os
from pathlib import Path

import pytest

from passdown.engines.files.archive import find_leftovers, sweep
from passdown.engines.files.displaced_names import leftover_pid
from passdown.settings import Settings
from tests.support.gits import make_started
from tests.support.projects import open_checkout

GONE = ".passdown-71-0123456789abcdef.tmp"
ALIVE = ".passdown-72-0123456789abcdef.tmp"


def put(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_leftovers_of_gone_processes_are_removed_at_any_depth(tmp_path: Path) -> None:
    kept = (ALIVE, "LEDGER.md", ".passdown-71-short.tmp", ".gitignore")
    put(tmp_path / GONE, tmp_path / "deep" / "er" / GONE, *(tmp_path / "deep" / name for name in kept))

    assert sweep([str(tmp_path), str(tmp_path / "deep"), str(tmp_path / "none")], lambda pid: pid == 71) == 2
    assert names(tmp_path) == sorted(kept)
    assert leftover_pid(ALIVE) == 72


def test_what_cannot_be_removed_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / GONE)

    def refuse(path: str, **_: object) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(os, "unlink", refuse)

    assert sweep([str(tmp_path)], lambda _: True) == 0
    assert names(tmp_path) == [GONE]


def test_links_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "outside" / GONE)
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "link").symlink_to(tmp_path / "outside")

    assert sweep([str(tmp_path / "inside")], lambda _: True) == 0


def test_a_project_sweeps_where_it_writes_and_nowhere_else(tmp_path: Path) -> None:
    project = make_started(tmp_path / "main")
    gone = f".passdown-{2**22 + 1}-0123456789abcdef.tmp"
    own = f".passdown-{os.getpid()}-0123456789abcdef.tmp"
    places = (
        "conductor/sessions/active/x",
        "thoughts/shared/handoffs/events",
        ".conductor",
        ".git/passdown/cache",
    )
    put(*(project.folder / place / name for place in places for name in (gone, own)))
    put(project.folder / "src" / gone)

    assert open_checkout(project.folder, Settings()).sweep() == 4
    assert [path.parent.name for path in project.folder.rglob(gone)] == ["src"]
    assert len(list(project.folder.rglob(own))) == 4


def test_the_folder_of_a_day_is_looked_at_when_it_has_changed_since(tmp_path: Path) -> None:
    days = {name: tmp_path / "events" / name for name in ("2026-01-09", "2026-01-10", "2026-01-10-b")}
    put(*(folder / GONE for folder in days.values()))
    for folder in days.values():
        os.utime(folder, (1_000, 1_000))
    os.utime(days["2026-01-10"], (3_000, 3_000))

    assert sweep([str(tmp_path)], lambda _: True, since=2_000) == 2
    assert [path.parent.name for path in tmp_path.rglob(GONE)] == ["2026-01-09"]
    assert sweep([str(tmp_path)], lambda _: True) == 1


def test_a_folder_within_another_is_looked_at_once(tmp_path: Path) -> None:
    put(tmp_path / "a" / "b" / GONE, tmp_path / "ab" / GONE)
    folders = [str(tmp_path / name) for name in ("ab", "a/b", "a", "a")]

    assert find_leftovers(folders, lambda _: True) == sorted(str(one) for one in tmp_path.rglob(GONE))


def test_the_folder_of_a_day_that_is_gone_meanwhile_has_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "2026-01-10" / GONE)

    def lose(path: str, **_: object) -> os.stat_result:
        raise FileNotFoundError(path)

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", lose)
        swept = sweep([str(tmp_path)], lambda _: True, since=2_000)

    assert swept == 0
