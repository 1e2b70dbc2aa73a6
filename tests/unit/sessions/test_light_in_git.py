"""What sessions leave in the user's git history: little, and each commit says what is in it."""

from pathlib import Path

import pytest

from passdown.engines.git.git_folder import is_own
from tests.support.projects import EVENTS, VIEW
from tests.unit.sessions.test_ordinary_sessions import Day, left

KEY = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Day:
    """Give a repository that is set up, and its host."""
    day = Day(tmp_path / "project", monkeypatch, capsys)
    day.set_up()
    return day


# --- nothing to tell (C163) -----------------------------------------------------------------------


@pytest.mark.requirement("C163", through="hook")
def test_a_session_that_crashed_with_nothing_to_tell_leaves_nothing(day: Day) -> None:
    before = left(day)[:2]
    day.host.call("SessionStart", session_id="one", source="startup")
    day.host.call("UserPromptSubmit", session_id="one", prompt="what does this do?")
    day.pass_time(hours=30)

    day.host.call("SessionStart", session_id="two", source="startup")
    day.command("synthesize", "--no-confirm", "--commit")

    assert left(day)[0] == before[0]
    assert "event" not in left(day)[1]


# --- subjects of our commits ----------------------------------------------------------------------


def end(day: Day, *facts: tuple[str, ...], session: str = "first") -> str:
    """Run a session that states facts and ends; give the subject of our commit."""
    day.command("start", "--session", session)
    for fact in facts:
        assert day.command(*fact, "--session", session).code == 0
        day.pass_time(minutes=1)
    assert day.command("end", "--session", session).code == 0
    return day.project.git("log", "-1", "--format=%s").strip()


def test_the_subject_of_a_commit_says_what_its_events_state(day: Day) -> None:
    subject = end(
        day,
        ("goal", "Ship the importer"),
        ("done", "Read the docs"),
        ("decide", "store", "Keep sessions in Redis"),
    )

    agent = subject.partition("(")[2].partition(":")[0]
    assert subject == f"passdown: 1 event, view, 1 document ({agent}: Keep sessions in Redis, +2)"
    assert len(agent.rpartition("-")[2]) == 4
    assert is_own(f"commit: {subject}")


def test_the_subject_of_a_commit_is_one_short_line_without_secrets_or_control_characters(day: Day) -> None:
    subject = end(day, ("done", f"Used {KEY} for\n\n\u202e\x1b[31mthe deploy" + " and so on" * 50))

    assert KEY not in subject
    assert "[redacted: github-pat]" in subject
    assert subject.isprintable()
    assert len(subject) < 130
    assert day.project.git("log", "-1", "--format=%b").strip() == ""
    assert is_own(f"commit: {subject}")


def test_the_subject_of_a_commit_shows_the_last_of_several_events(day: Day) -> None:
    day.command("start", "--session", "first")
    for text in ("Wrote the parser", "Wrote the printer"):
        day.command("done", text, "--session", "first")
        day.command("publish", "--session", "first")
        day.pass_time(minutes=1)

    day.command("synthesize", "--no-confirm", "--commit")

    subject = day.project.git("log", "-1", "--format=%s").strip()
    assert subject.startswith("passdown: 2 events, view (first-")
    assert subject.endswith(": Wrote the printer, +1)")


# --- what forges show -----------------------------------------------------------------------------


def test_init_marks_generated_files_and_no_hook_does(day: Day) -> None:
    rules = day.project.folder / ".gitattributes"
    shown = day.project.git("check-attr", "linguist-generated", "--", f"{EVENTS}/a.md", VIEW).splitlines()
    assert [line.rpartition(": ")[2] for line in shown] == ["set", "unspecified"]
    before = "".join(line for line in rules.read_text().splitlines(keepends=True) if "linguist" not in line)
    rules.write_text(before)

    for name in ("one", "two"):
        day.work(name)
    day.command("end")

    assert rules.read_text() == before
