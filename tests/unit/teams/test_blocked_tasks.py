"""What a session leaves of a task that it closed as blocked: its archive says what blocks it."""

from pathlib import Path

import pytest

from tests.unit.sessions.test_ordinary_sessions import Day

PLAN = "Parse the plan"
AWS = "AKIA" + "QYLPMN5HHHFPZAM2"


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Day:
    """Give a repository with a session that has a task."""
    made = Day(tmp_path / "project", monkeypatch, capsys)
    made.set_up()
    assert made.command("start").code == 0
    assert made.command("task", "add", PLAN).code == 0
    assert made.command("claim").code == 0
    return made


def task_of(day: Day) -> str:
    return day.command("task", "list").out.split()[0]


def close(day: Day, *words: str) -> None:
    assert day.command("close", *words).code == 0


def blocked(day: Day) -> str:
    """Give the section Blocked of the archive that the end of the session leaves."""
    assert day.command("end").code == 0
    (archive,) = (day.project.folder / "conductor/sessions/archive").glob("*-session-end-*")
    text = archive.read_text(encoding="utf-8")
    assert day.command("check", str(archive)).code == 0
    return text.partition("## Blocked\n\n")[2].partition("\n\n##")[0].rstrip("\n")


@pytest.mark.requirement("G2")
def test_an_archive_says_what_blocks_a_task(day: Day) -> None:
    task = task_of(day)
    close(day, "--reason", "blocked", "--note", "no schema yet\nWAITING ON: the DBA")

    assert blocked(day) == f"- {PLAN} ({task}): no schema yet; WAITING ON: the DBA"


@pytest.mark.requirement("G2")
def test_a_task_that_is_blocked_without_a_word_is_named(day: Day) -> None:
    task = task_of(day)
    close(day, "--reason", "blocked")

    assert blocked(day) == f"- {PLAN} ({task})"


@pytest.mark.requirement("G2")
def test_a_task_that_went_on_is_not_blocked(day: Day) -> None:
    task = task_of(day)
    close(day, "--reason", "blocked", "--note", "no schema yet")
    assert day.command("task", "change", task, "--open").code == 0
    assert day.command("claim", task).code == 0
    close(day, "--note", "the schema came")

    assert blocked(day) == ""


@pytest.mark.requirement("G2")
def test_a_skipped_task_is_not_blocked(day: Day) -> None:
    close(day, "--reason", "skipped", "--note", "not needed")

    assert blocked(day) == ""


@pytest.mark.requirement("G2", "R20")
def test_what_blocks_a_task_is_archived_without_secrets(day: Day) -> None:
    close(day, "--reason", "blocked", "--note", f"the key {AWS} is refused")

    said = blocked(day)

    assert "the key [redacted: aws-access-token] is refused" in said
    assert AWS not in said


@pytest.mark.requirement("G2")
def test_a_handoff_tells_what_was_blocked(day: Day) -> None:
    close(day, "--reason", "blocked", "--note", "no schema yet")
    day.command("goal", "Ship it")
    assert day.command("handoff", "create").code == 0

    (archive,) = (day.project.folder / "conductor/sessions/archive").glob("*-manual-*")

    assert "no schema yet" in archive.read_text(encoding="utf-8").partition("## Blocked")[2]


@pytest.mark.requirement("G2")
def test_what_blocks_a_task_belongs_to_its_track(day: Day) -> None:
    assert day.command("track", "bind", "plans").code == 0
    close(day, "--reason", "blocked", "--note", "no schema yet")
    assert day.command("track", "bind", "billing").code == 0
    day.command("done", "the invoice")
    assert day.command("handoff", "create").code == 0

    folder = day.project.folder / "conductor/sessions/archive"
    (plans,), (billing,) = folder.glob("*-track-switch-*"), folder.glob("*-manual-*")

    assert "no schema yet" in plans.read_text(encoding="utf-8").partition("## Blocked")[2]
    assert "## Blocked\n\n- None\n" in billing.read_text(encoding="utf-8")
