"""`passdown archive`: what is archived is checked and found, and old copies go when somebody says so."""

import json
from pathlib import Path

import pytest

from passdown.engines.memory.event_log import MemoryEventLog
from passdown.services.log.event_archive import clean, plan_cleaning, verify_archive
from passdown.settings import Settings
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_started
from tests.support.projects import ARCHIVE, EVENTS, open_checkout, put, put_event, stop_clock
from tests.support.sessions import MemoryWorkspace

RECORDS = "conductor/sessions/archive"
RECORD = """---
date: 2025-11-01T08:00:00Z
session_id: s-1
trigger: manual
status: complete
---

# Session Handoff

## Summary
The quokka is fast.
"""
BEFORE = "2025-12-12 12:00Z"


class Shelf:
    """A repository with two old archived events, one that is not so old, and a record."""

    def __init__(self, project: Project, command: Caller) -> None:
        """Archive and commit."""
        self.project = project
        self.command = command
        for ts, text in (
            ("2025-11-20T10:00:00Z", "Wrote the zebra parser"),
            ("2025-11-21T10:00:00Z", "Wrote the okapi parser"),
            ("2025-12-30T10:00:00Z", "Wrote the tapir parser"),
        ):
            put_event(project.folder, ts, this_session=(text,))
        put(project.folder, f"{RECORDS}/2025-11-01-08-00-manual.md", RECORD)
        self.commit()
        assert command("synthesize", "--archive").code == 0

    def commit(self) -> None:
        """Let the user commit everything."""
        self.project.git("add", "--all")
        self.project.git("commit", "--quiet", "--message=archived")

    def copies(self) -> list[str]:
        """Give the paths of the copies."""
        folder = self.project.folder
        return sorted(path.relative_to(folder).as_posix() for path in (folder / ARCHIVE).rglob("*.md"))

    def rollups(self) -> list[Path]:
        """Give the paths of the rollups."""
        return sorted((self.project.folder / EVENTS).rglob("rollup-*.jsonl"))


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shelf:
    """Give the repository, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    project = make_started(tmp_path / "project")
    return Shelf(project, Caller(monkeypatch, capsys, project.folder))


@pytest.mark.requirement("G3")
def test_what_is_archived_is_counted_and_checked(shelf: Shelf) -> None:
    done = shelf.command("archive", "verify")

    assert done == Done(
        0,
        "archived events: 3 in 3 rollups\nseparate copies: 3\nsession records: 1\n",
        "passdown: no problems found\n",
    )
    shelf.command("search", "zebra")
    answer = json.loads(shelf.command("archive", "verify", "--json").out)
    assert answer == {
        "version": 1,
        "is_good": True,
        "copies": 3,
        "rollups": 3,
        "events": 3,
        "records": 1,
        "index": {"state": "current", "changes": 0},
        "problems": [],
    }
    assert json.loads(shelf.command("archive", "--json").out) == answer
    (shelf.project.folder / RECORDS / "2025-11-01-08-00-manual.md").unlink()
    assert json.loads(shelf.command("archive", "--json").out)["index"] == {"state": "behind", "changes": 1}


@pytest.mark.requirement("G3")
def test_what_is_wrong_with_the_archive_is_named(shelf: Shelf) -> None:
    first, second, third = shelf.copies()
    rollup, cut, renamed = shelf.rollups()
    full = shelf.project.folder / first
    full.write_text(full.read_text().replace("zebra", "horse"))
    (shelf.project.folder / second).write_bytes(b"\xff")
    cut.write_bytes(cut.read_bytes()[:-20] + b"\n")
    other = renamed.with_name("rollup-0123456789abcdef.jsonl")
    renamed.rename(other)
    put(shelf.project.folder, f"{RECORDS}/2025-11-02-08-00-manual.md", "---\ndate: soon\n---\n")

    done = shelf.command("archive", "verify")

    assert done.code == 1
    said = " ".join(done.out.split())
    shown = {path.name: path.relative_to(shelf.project.folder).as_posix() for path in (cut, other, rollup)}
    assert f"{shown[cut.name]}: 1 of its lines cannot be read" in said
    assert f"{shown[other.name]}: its name does not match its content" in said
    assert f"{first}: is not in any rollup of 2025-11-20 with this text" in said
    assert f"{second}: cannot be read as an event" in said
    assert f"{RECORDS}/2025-11-02-08-00-manual.md: " in said
    assert (third in said, shown[rollup.name] in said) == (False, False)
    assert "is missing; `git checkout -- " in said
    assert done.err == "passdown: 6 problems\n"


@pytest.mark.requirement("G3", "C125")
def test_old_copies_are_shown_and_go_only_when_somebody_says_so(shelf: Shelf) -> None:
    shelf.commit()
    first, second, third = shelf.copies()

    done = shelf.command("archive", "clean")

    assert done == Done(
        0,
        f"{first}\n{second}\nwould remove 2 copies of archived events from before {BEFORE}\n",
        "  hint: remove them with --yes; the rollups keep the same events\n",
    )
    assert shelf.copies() == [first, second, third]
    view = shelf.command("view", "show").out
    done = shelf.command("archive", "clean", "--yes")
    assert done.out.startswith(f"removed 2 copies of archived events from before {BEFORE}\ncommitted as ")
    assert shelf.project.git("status", "--porcelain", "--", ARCHIVE, EVENTS) == ""
    assert shelf.copies() == [third]
    assert len(shelf.rollups()) == 3
    assert list((shelf.project.folder / RECORDS).iterdir())
    assert shelf.command("archive", "verify").code == 0
    assert shelf.command("view", "show").out == view
    assert shelf.command("view", "verify").code == 0
    for word in ("zebra", "okapi", "quokka"):
        assert json.loads(shelf.command("search", word, "--json").out)["total"] == 1
    again = json.loads(shelf.command("archive", "clean", "--yes", "--json").out)
    assert (again["is_dry_run"], again["due"], again["removed"], again["kept"]) == (False, [], [], [])


@pytest.mark.requirement("G3", "C125")
def test_a_copy_that_no_rollup_holds_or_no_commit_has_stays(shelf: Shelf) -> None:
    first, second, third = shelf.copies()
    full = shelf.project.folder / first
    full.write_text(full.read_text().replace("zebra", "horse"))
    fourth = put(shelf.project.folder, f"{ARCHIVE}/2025-11-20/new.md", full.read_text())

    done = shelf.command("archive", "clean", "--older", "1d", "--yes")

    assert done.out.startswith("removed 2 copies of archived events from before 2026-01-10 12:00Z\n")
    assert f"{first}: kept: it was changed since the last commit" in " ".join(done.out.split())
    assert shelf.copies() == [first, fourth.relative_to(shelf.project.folder).as_posix()]
    shelf.commit()
    answer = json.loads(shelf.command("archive", "clean", "--older", "1d", "--yes", "--json").out)
    assert [one["problem"] for one in answer["kept"]] == [
        "is not in any rollup of 2025-11-20 with this text"
    ] * 2
    assert (answer["removed"], answer["before"]) == ([], "2026-01-10T12:00:00Z")
    assert (second in shelf.copies(), third in shelf.copies()) == (False, False)


@pytest.mark.requirement("G3")
def test_a_copy_that_changed_after_it_was_chosen_stays(shelf: Shelf) -> None:
    workspace = open_checkout(shelf.project.folder, Settings())
    plan = plan_cleaning(workspace, workspace.now())
    first, second, third = shelf.copies()
    (shelf.project.folder / first).write_text("changed")
    (shelf.project.folder / second).unlink()

    assert clean(workspace, plan) == [third]
    assert shelf.copies() == [first]


@pytest.mark.requirement("G3")
def test_what_is_no_event_stays_and_no_age_is_refused(shelf: Shelf) -> None:
    shelf.commit()
    put(shelf.project.folder, f"{ARCHIVE}/2025-11-20/notes.md", "Somebody's notes\n")
    put(shelf.project.folder, f"{ARCHIVE}/picture.png", "")
    (shelf.project.folder / ARCHIVE / "2025-11-20" / "broken.md").symlink_to("nowhere")
    shelf.commit()

    done = shelf.command("archive", "clean", "--yes")

    assert "notes.md: kept: it cannot be read as an event" in " ".join(done.out.split())
    assert (shelf.project.folder / ARCHIVE / "picture.png").exists()
    assert shelf.command("archive", "clean", "--older", "soon").code == 2
    refused = shelf.command("archive", "clean", "--older", "999999w")
    assert (refused.code, "is before the first date" in refused.err) == (2, True)


def test_a_rollup_that_cannot_be_read_is_named() -> None:
    class Unreadable(MemoryEventLog):
        def read(self, folder: str, name: str) -> bytes | None:
            del folder, name
            return None

    log = Unreadable()
    assert log.create("2025-11-20", "rollup-0123456789abcdef.jsonl", b"")

    verdict = verify_archive(MemoryWorkspace(log=log))

    assert verdict.problems == (
        (f"{EVENTS}/2025-11-20/rollup-0123456789abcdef.jsonl", "cannot be read, or is too large"),
    )


def test_without_git_copies_go_by_their_rollup_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "passdown.toml").touch()
    command = Caller(monkeypatch, capsys, folder)
    put_event(folder, "2025-11-20T10:00:00Z", this_session=("Wrote the zebra parser",))
    put_event(folder, "2025-12-30T10:00:00Z", this_session=("Wrote the tapir parser",))
    assert command("synthesize", "--archive").code == 0
    put(folder, f"{ARCHIVE}/2025-11-20/notes.md", "Somebody's notes\n")
    put(folder, f"{ARCHIVE}/2025-11-20/picture.png", "")

    done = command("archive", "clean", "--yes")

    assert done.out.startswith("removed 1 copy of archived events")
    assert "notes.md: kept: it cannot be read as an event" in " ".join(done.out.split())
    left = sorted(path.name for path in (folder / ARCHIVE).rglob("*.*"))
    assert left == ["2025-12-30T10-00-00.000Z_toast.md", "notes.md", "picture.png"]
    assert json.loads(command("search", "zebra", "--json").out)["total"] == 1
