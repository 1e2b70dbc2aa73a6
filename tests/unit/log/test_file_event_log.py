"""The event log on disk: what is listed, what is left out, and when a folder must be listed again."""

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from passdown.engines.files import event_log, read
from passdown.engines.files.event_log import FileEventLog
from passdown.engines.files.read import EVENT
from passdown.ports.clock import Clock
from tests.support.events import MovedClock

LATER = MovedClock(datetime(2100, 1, 1, tzinfo=UTC))
OLD = 1_700_000_000_000_000_000


def make(folder: Path, clock: Clock = LATER) -> FileEventLog:
    return FileEventLog(str(folder / "events"), str(folder / "archive"), clock)


def set_time(folder: Path, nanoseconds: int) -> None:
    os.utime(folder, ns=(nanoseconds, nanoseconds))


def test_a_folder_that_has_settled_is_known_by_its_time(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.create("2026-01-10", "a.md", b"")
    set_time(tmp_path / "events", OLD)
    set_time(tmp_path / "events" / "2026-01-10", OLD + 1)

    assert log.folders({}) == {"": OLD, "2026-01-10": OLD + 1}


def test_a_folder_that_changed_just_now_must_be_listed_again(tmp_path: Path) -> None:
    now = datetime(2026, 1, 10, tzinfo=UTC)
    log = make(tmp_path, MovedClock(now))
    log.create("", "a.md", b"")
    second = 1_000_000_000
    at = int(now.timestamp()) * second

    marks = []
    for age in (3 * second, 2 * second, 0, -86_400 * second):
        set_time(tmp_path / "events", at - age)
        marks.append(log.folders({})[""])

    assert marks == [at - 3 * second, 0, 0, 0]


def test_folders_are_listed_again_only_when_the_top_folder_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make(tmp_path)
    log.create("2026-01-10", "a.md", b"")
    set_time(tmp_path / "events", OLD)
    known = log.folders({})
    monkeypatch.setattr(os, "scandir", None)

    assert log.folders(known) == known
    (tmp_path / "events" / "2026-01-10" / "a.md").unlink()
    (tmp_path / "events" / "2026-01-10").rmdir()
    set_time(tmp_path / "events", OLD)
    assert log.folders(known) == {"": OLD}


def test_links_folders_and_pipes_are_not_events(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.create("", "real.md", b"x")
    events = tmp_path / "events"
    (events / "link.md").symlink_to(events / "real.md")
    (events / "2026-01-11").symlink_to(events)
    (events / "2026-01-12").write_bytes(b"a file")
    (events / "folder.md").mkdir()
    os.mkfifo(events / "pipe.md")

    assert [*log.files("")] == ["real.md"]
    assert [*log.folders({})] == [""]
    assert log.read("", "link.md") is None
    assert log.read("", "folder.md") is None


def test_a_name_that_is_no_text_is_not_listed(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.create("", "é.md", b"x")
    (tmp_path / "events" / os.fsdecode(b"\xff.md")).write_bytes(b"x")

    assert [*log.files("")] == ["é.md"]


def test_a_file_in_the_place_of_the_folder_holds_no_events(tmp_path: Path) -> None:
    (tmp_path / "events").write_bytes(b"")
    log = make(tmp_path)

    assert log.folders({}) == {}
    assert log.files("") == {}


def test_a_file_too_large_to_be_ours_is_not_read(tmp_path: Path) -> None:
    log = make(tmp_path)
    for name, size in (
        ("largest.md", EVENT),
        ("large.md", EVENT + 1),
        ("rollup-0.jsonl", EVENT + 1),
    ):
        log.create("", name, b"x" * size)

    sizes = {name: data and len(data) for name in log.files("") for data in [log.read("", name)]}

    assert sizes == {"largest.md": EVENT, "large.md": None, "rollup-0.jsonl": EVENT + 1}


def test_what_is_no_file_after_all_is_not_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = make(tmp_path)
    log.create("", "a.md", b"x" * 100_000)
    monkeypatch.setattr(stat, "S_ISREG", lambda _: False)

    assert log.read("", "a.md") is None


class GoneEntry:
    """An entry of a folder whose file is gone."""

    name = "2026-01-10"

    def is_file(self, *, follow_symlinks: bool) -> bool:
        """Fail as the system does."""
        raise FileNotFoundError(f"{self.name} {follow_symlinks}")

    is_dir = is_file


def test_what_goes_away_while_we_look_is_not_there() -> None:
    assert event_log.mark_entry(GoneEntry()) is None  # type: ignore[arg-type]  # a race by hand
    assert not read.is_folder(GoneEntry())  # type: ignore[arg-type]  # a race by hand


def test_the_top_folder_may_go_between_two_looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = make(tmp_path)
    log.create("", "a.md", b"")

    def refuse(path: str) -> None:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "scandir", refuse)

    assert [*log.folders({})] == [""]
    assert log.files("") == {}


def test_marks_fit_into_an_index_whatever_the_system_says(tmp_path: Path) -> None:
    log = make(tmp_path)
    log.create("", "a.md", b"")
    far = datetime(2440, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    set_time(tmp_path / "events" / "a.md", far // timedelta(microseconds=1) * 1000)

    assert all(0 <= part < 2**63 for part in log.files("")["a.md"])
