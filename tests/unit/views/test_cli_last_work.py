"""Now has an end: what a session was doing when it ended is what it last worked on (C152)."""

import json
from pathlib import Path

import pytest

from passdown.core.formats.views import parse_view
from tests.support.commands import Caller
from tests.support.gits import Project, make_started
from tests.support.projects import call_at_noon, put_event, stop_clock
from tests.support.sessions import LEDGER


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository."""
    return make_started(tmp_path / "project")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command."""
    return call_at_noon(monkeypatch, capsys, project.folder)


def work(command: Caller, name: str, *options: str) -> str:
    """Let a session state its goal and its work; give its agent."""
    agent = str(json.loads(command("start", "--session", name, *options, "--json").out)["agent"])
    command("goal", f"Goal of {name}", "--session", name)
    command("now", f"Work of {name}", "--session", name)
    return agent


def view(command: Caller) -> list[str]:
    """Give the lines of the view."""
    return command("view").out.splitlines()


@pytest.mark.requirement("C152")
def test_what_an_ended_session_was_doing_is_its_last_work_in_brief_status_and_log(command: Caller) -> None:
    agent = work(command, "one")
    assert "Now:\n> Work of one\n" in command("brief").out
    command("end")

    assert f"Last worked on:\n({agent}, 0 s) > Work of one\n" in command("brief").out
    assert "Last worked on: Work of one\n" in command("brief", "--banner").out
    assert "    last worked on: Work of one\n" in command("status", "--all").out
    assert "    Last worked on: Work of one\n" in command("log").out
    lines = json.loads(command("brief", "--json").out)["lines"]
    assert [line["text"] for line in lines if line["kind"] == "last_worked_on"] == [
        f"({agent}, 0 s) > Work of one"
    ]

    second = json.loads(command("start", "--session", "two", "--json").out)["agent"]
    assert f"Last worked on:\n({agent}, 0 s) > Work of one\n" in command("brief").out
    assert f"    last worked on: Work of one ({agent})\n" in command("status").out
    (shown,) = json.loads(command("status", "--json").out)["sessions"]
    assert (shown["now"], shown["last_worked_on"]) == (None, "Work of one")
    command("now", "Work of two")
    assert "Now:\n> Work of two\n" in command("brief").out
    (shown,) = json.loads(command("status", "--json").out)["sessions"]
    assert (shown["now"], shown["last_worked_on"]) == ("Work of two", None)
    assert second in command("status").out


@pytest.mark.requirement("C152")
def test_goal_and_now_come_from_one_session(command: Caller) -> None:
    work(command, "one")
    command("end")
    command("start", "--session", "two")
    command("goal", "Goal of two")

    brief = command("brief").out

    assert "Goal:\n> Goal of two\nNow:\nnone yet\n" in brief
    assert "Work of one" not in brief
    certified = command("certify")
    assert certified.code == 0, certified.out


@pytest.mark.requirement("C152", "C60")
def test_a_prompt_is_never_the_now_of_a_session_that_ended(command: Caller, project: Project) -> None:
    command("start", "--session", "one")
    transcript = project.folder.parent / "t.jsonl"
    transcript.write_text(
        '{"type":"user","uuid":"u1","sessionId":"h","timestamp":"2026-01-11T12:00:01.000Z",'
        '"message":{"role":"user","content":"please fix the typo"}}\n'
        '{"type":"user","uuid":"u2","sessionId":"h","timestamp":"2026-01-11T12:00:02.000Z",'
        '"message":{"role":"user","content":"and the other one"}}\n',
        encoding="utf-8",
    )
    command("observe", str(transcript), "--session", "one")
    assert "Now:\n(observed) > and the other one\n" in command("brief").out
    command("end", "--session", "one")

    brief = command("brief").out
    assert "\nLast prompt:\n" in brief
    assert "Now:" not in brief
    assert "    last prompt: and the other one\n" in command("status", "--all").out
    (shown,) = json.loads(command("status", "--all", "--json").out)["sessions"]
    assert (shown["now"], shown["last_worked_on"]) == (None, None)
    command("start", "--session", "two")
    assert "Now:" not in command("brief").out


@pytest.mark.requirement("C152")
def test_goal_and_now_of_old_events_are_one_sessions(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T11:00:00Z", "amber", goal="Goal of amber", now="Work of amber")
    put_event(project.folder, "2026-01-10T12:00:00Z", "birch", now="Work of birch", session="s-birch")
    for minute in range(10, 60):
        for second in range(3):
            put_event(project.folder, f"2026-01-11T11:{minute}:0{second}Z", "cedar", this_session=("tests",))

    brief = command("brief").out

    assert "Goal:\nnone yet. " in brief
    assert "\nLast worked on:\n(birch, 1 d) > Work of birch\n" in brief


@pytest.mark.requirement("C152")
def test_the_log_shows_no_work_that_a_session_only_carried_on(command: Caller) -> None:
    work(command, "one")
    command("end")
    command("start", "--session", "two")
    command("ask", "Who rotates?")
    command("end")

    assert command("log").out.splitlines()[1] == "    Who rotates?"


@pytest.mark.requirement("C152", "R107")
def test_the_view_names_whose_work_it_is_where_that_session_ended(command: Caller) -> None:
    agent = work(command, "one")
    command("next", "Ship it")
    command("publish")
    lines = view(command)
    assert {"**Goal:** Goal of one", "[->] Work of one", "- [ ] Ship it"} <= {*lines}

    command("end")
    command("start", "--session", "two")
    command("done", "the tests")
    command("end")
    lines = view(command)
    assert any(line.startswith(f"[->] Work of one (by {agent}, ") for line in lines)
    assert all(line.endswith(", ended)") for line in lines if line.startswith(("**Goal:**", "[->]", "- [ ]")))


@pytest.mark.requirement("R105", "C152", through="command")
@pytest.mark.parametrize("how", ["end", "recovered"])
def test_the_end_of_a_session_that_published_everything_is_told(
    command: Caller, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    agent = work(command, "one")
    command("publish", "--session", "one")
    if how == "end":
        command("end", "--session", "one")
    else:
        stop_clock(monkeypatch, "2026-01-13T12:00:00Z")
    command("start", "--session", "two")

    assert f"[->] Work of one (by {agent}, ended)" in view(command)
    assert f"**Goal:** Goal of one (by {agent}, ended)" in view(command)
    command("end", "--session", "two")
    command("start", "--session", "three")
    told, label = command("log", "--type", "session_end").out.splitlines()
    assert agent in told
    assert label == "    ended"


@pytest.mark.requirement("C152", "R107")
def test_the_view_names_whose_lines_they_are_where_they_are_not_one_sessions(
    command: Caller, project: Project
) -> None:
    put_event(
        project.folder, "2026-01-11T11:00:00Z", "amber", goal="Tests pass", session="a", type="checkpoint"
    )
    put_event(project.folder, "2026-01-11T11:10:00Z", "birch", now="Parse", session="b", type="checkpoint")
    put_event(project.folder, "2026-01-11T11:20:00Z", "amber", this_session=("x",), session="a")

    shown = parse_view(command("view").out)

    assert (shown.goal, shown.now) == ("Tests pass (by amber, ended)", "Parse (by birch, not ended)")
    assert command("synthesize").code == 0
    path = project.folder / "thoughts/shared/handoffs/current.md"
    path.write_text(path.read_text(encoding="utf-8").replace("Parse", "Parse it"), encoding="utf-8")
    command("synthesize")
    (kept,) = (project.folder / ".conductor").glob("edited-view-*.md")
    assert "  now: Parse it\n" in command("migrate", f".conductor/{kept.name}").out


@pytest.mark.requirement("C152")
def test_what_is_done_now_is_no_longer_next(command: Caller, project: Project) -> None:
    command("start")
    command("next", "Parse", "Test", "Ship")
    command("publish")
    command("now", "Parse")
    command("publish")

    ledger = (project.folder / LEDGER).read_text(encoding="utf-8")
    assert "### Now\n- Parse\n\n### Next\n- Test\n- Ship\n" in ledger
    assert [line for line in view(command) if line.startswith("- [ ]")] == ["- [ ] Test", "- [ ] Ship"]
    assert "Next:\n> Test\n> Ship\n" in command("brief").out

    (project.folder / LEDGER).write_text(
        ledger.replace("### Now\n- Parse", "### Now\n- Test"), encoding="utf-8"
    )
    command("heartbeat")
    ledger = (project.folder / LEDGER).read_text(encoding="utf-8")
    assert "### Now\n- Test\n\n### Next\n- Ship\n" in ledger
