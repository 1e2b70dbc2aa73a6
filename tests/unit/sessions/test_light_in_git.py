"""What sessions leave in the user's git history: little, and each commit says what is in it."""

import json
from pathlib import Path

import pytest

from passdown.engines.git.git_folder import is_own
from tests.support.claude_lines import ClaudeTranscript
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


# --- records of sessions --------------------------------------------------------------------------


def show_last(day: Day) -> tuple[str, str]:
    """Give the record and the event of the last commit, each empty if there is none."""
    names = day.project.git("show", "--name-only", "--format=", "HEAD").splitlines()
    texts = {name: (day.project.folder / name).read_text() for name in names if name != VIEW}
    records = [text for name, text in texts.items() if name.startswith("conductor/")]
    events = [text for name, text in texts.items() if name.startswith(EVENTS)]
    return "".join(records), "".join(events)


FACTS = (
    ("goal", "Ship the importer"),
    ("done", "Read the docs"),
    ("decide", "store", "Keep sessions in Redis"),
    ("next", "Test it"),
)


@pytest.mark.requirement("G2", through="command")
def test_the_record_of_a_session_says_what_changed_and_leaves_the_rest_to_its_event(day: Day) -> None:
    (day.project.folder / "app.py").write_text("a\nb\n")
    day.project.git("add", "app.py")
    day.project.git("commit", "--quiet", "--message=app")
    day.host.call("SessionStart", session_id="first", source="startup")
    (day.project.folder / "app.py").write_text("a\nc\nd\n")
    said = ClaudeTranscript(path=day.host.transcript, root=day.project.folder, session="first")
    said.edit("app.py")
    day.host.call("Stop", session_id="first")
    end(day, *FACTS)

    record, event = show_last(day)
    name = event.partition("\nid: ")[2].partition("\n")[0]
    assert f"events: [{name}]\n" in record
    assert [line for line in record.splitlines() if line.startswith("## ")][:1] == ["## Summary"]
    assert "| app.py | +2 -1 |" in record
    assert "Read the docs" not in record
    assert "sha256" not in record
    assert not any(one in record for one in ("## Completed", "| Decision |", "| Purpose |", "- None"))
    assert day.command("check").code == 0
    shown = day.command("handoff", "resume", "2026")
    assert shown.code == 0
    for text in ("Ship the importer", "Read the docs", "Test it"):
        assert text in shown.out


@pytest.mark.requirement("G2", through="command")
def test_with_the_setting_only_handoffs_and_crashed_sessions_leave_a_record(day: Day) -> None:
    settings = day.project.folder / "passdown.toml"
    settings.write_text(f'{settings.read_text()}\n[archive]\nsessions = "handoff"\n')
    end(day, *FACTS)
    record, event = show_last(day)
    assert record == ""
    assert "Keep sessions in Redis" in event

    day.command("start", "--session", "second")
    day.command("done", "Wrote the parser", "--session", "second")
    assert day.command("handoff", "create", "--session", "second").code == 0
    assert "trigger: manual" in show_last(day)[0]
    day.pass_time(hours=30)
    day.command("start", "--session", "third")
    day.command("synthesize", "--no-confirm", "--commit")
    assert "trigger: stale" in show_last(day)[0]


@pytest.mark.requirement("G2", through="hook")
@pytest.mark.parametrize("kept", ["all", "handoff"])
def test_a_session_whose_host_told_of_its_end_ended_as_usual(day: Day, kept: str) -> None:
    settings = day.project.folder / "passdown.toml"
    settings.write_text(f'{settings.read_text()}\n[archive]\nsessions = "{kept}"\n')
    day.work("one")
    day.pass_time(minutes=40)

    day.host.call("SessionStart", session_id="two", source="startup")

    record, event = show_last(day)
    assert "reason: recovered" in event
    assert ("trigger: session-end\nstatus: complete\n" in record) == (kept == "all")
    assert "interrupted" not in record


# --- what waits to be committed -------------------------------------------------------------------


def show_waiting(day: Day) -> str:
    """Give the line of `status` about what waits; one line at 80 columns."""
    (line,) = [one for one in day.command("status").out.splitlines() if "not committed yet" in one]
    assert len(line) <= 80
    return line


def test_status_says_in_one_line_what_waits_to_be_committed_and_until_when(day: Day) -> None:
    day.host.call("SessionStart", session_id="one", source="startup")
    day.command("done", "did one", "--session", "one")
    day.command("publish", "--session", "one")
    assert show_waiting(day) == "1 event not committed yet: waits until the turn or the session ends"
    day.host.call("SessionEnd", session_id="one", reason="prompt_input_exit")
    assert show_waiting(day) == "1 event not committed yet: waits until a session starts"

    day.monkeypatch.setenv("GIT_COMMITTER_DATE", day.at.isoformat())
    day.project.git("commit", "--quiet", "--allow-empty", "--message=mine")
    assert show_waiting(day) == "1 event not committed yet: waits until you push, or 12:30Z"
    assert (
        json.loads(day.command("status", "--json").out)["uncommitted"]["until"] == "2026-01-11T12:30:00+00:00"
    )
    assert "hint" not in day.command("status").err


def test_status_says_when_the_next_checkpoint_is_committed(day: Day) -> None:
    day.work("one", ends=False)
    day.host.call("Stop", session_id="one")
    day.command("done", "did more", "--session", "one")
    day.command("publish", "--session", "one")

    assert show_waiting(day) == "1 event not committed yet: waits until the session ends, or 12:33Z"
