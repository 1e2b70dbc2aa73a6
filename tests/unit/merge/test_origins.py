"""Order, ages and authors of facts are the same wherever they are shown: brief, view, log and handoff."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.commands import Caller
from tests.support.gits import Project
from tests.support.projects import stop_clock


def start(command: Caller, nickname: str) -> tuple[str, str]:
    """Start a session, and return its id and the agent's name."""
    found = json.loads(command("start", "--new", "--nickname", nickname, "--json").out)
    return found["session"], found["agent"]


def ordered(text: str, *words: str) -> bool:
    """Return whether words stand in a text, the newest first."""
    places = [text.find(word) for word in words]
    return -1 not in places and places == sorted(places, reverse=True)


@pytest.mark.requirement("C120")
def test_facts_keep_their_order_ages_and_authors_everywhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project, tmp_path: Path
) -> None:
    command = Caller(monkeypatch, capsys, project.folder)
    one, amber = start(command, "amber")
    two, birch = start(command, "birch")
    command("done", "zebra", "--session", one)
    command("decide", "animal", "stripes", "--session", one)
    stop_clock(monkeypatch, "2026-01-11T12:10:00Z")
    command("done", "mango", "--session", one)
    stop_clock(monkeypatch, "2026-01-11T13:00:00Z")
    command("done", "apple", "--session", two)
    stop_clock(monkeypatch, "2026-01-11T14:00:00Z")
    command("publish", "--session", two)
    command("publish", "--session", one)  # the event of what was said first is the last one

    def check(who: str) -> None:
        brief = command("brief", *(("--session", who) if who else ())).out
        assert ordered(brief, "zebra", "mango", "apple"), brief
        assert f"({birch}, 1 h) > apple" in brief or who == two
        assert f"({amber}, 1 h) > mango" in brief or who == one
        assert f"({amber}, 2 h) > zebra" in brief or who == one
        view = command("view").out
        assert ordered(view, "[x] zebra", "[x] mango", "[x] apple"), view
        listed = command("view", "list", "done").out.splitlines()
        assert listed[::2] == ["apple", "mango", "zebra"]
        assert [line.split()[:3] for line in listed[1::2]] == [
            ["2026-01-11", "13:00Z", birch],
            ["2026-01-11", "12:10Z", amber],
            ["2026-01-11", "12:00Z", amber],
        ]
        shown = command("log", "--json").out
        assert "1 2026-01-11T12:00:00.000Z" in shown or "2026-01-11T12:00:00.000Z" in shown

    for who in (one, two):  # the same session
        check(who)
    handed = command("handoff", "create", "--session", one, "--stream", "fruit")
    assert handed.code == 0
    command("end", "--session", one)
    command("end", "--session", two)
    three, _ = start(command, "cedar")  # the next one
    check(three)
    resumed = command("handoff", "resume", "fruit", "--session", three).out
    assert f"done: zebra ({amber}, 2 h ago)" in resumed, resumed
    assert f"done: mango ({amber}, 1 h ago)" in resumed
    command("publish", "--session", three)
    decisions = command("view", "list", "decisions").out.splitlines()
    assert decisions[0] == "animal: stripes"
    assert decisions[1].split()[:3] == ["2026-01-11", "12:00Z", amber]  # not taken over by who resumed it

    clone = tmp_path / "clone"
    shutil.copytree(
        project.folder, clone, ignore=shutil.ignore_patterns(".conductor", "conductor", "passdown")
    )
    command = Caller(monkeypatch, capsys, clone)
    check("")


def test_certify_knows_that_a_prompt_does_not_replace_what_was_carried_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project
) -> None:
    command = Caller(monkeypatch, capsys, project.folder)
    one, _ = start(command, "amber")
    command("now", "Ship the parser", "--session", one)
    command("end", "--session", one)
    two, _ = start(command, "birch")  # carries it on
    transcript = project.folder.parent / "t.jsonl"
    transcript.write_text(
        '{"type":"user","uuid":"u1","sessionId":"h","timestamp":"2026-01-11T12:00:01.000Z",'
        '"message":{"role":"user","content":"please fix the typo"}}\n',
        encoding="utf-8",
    )
    command("observe", str(transcript), "--session", two)

    assert "Ship the parser" in command("brief", "--session", two).out
    done = command("certify")

    assert done.code == 0, done.out + done.err


def first_decision(command: Caller) -> str:
    """Return the decision that the view shows."""
    return command("view", "list", "decisions").out.splitlines()[0]


def test_a_decision_wins_over_one_that_its_session_was_told_though_its_clock_is_slow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project
) -> None:
    command = Caller(monkeypatch, capsys, project.folder)
    stop_clock(monkeypatch, "2026-01-11T13:00:00Z")
    one, _ = start(command, "amber")
    command("decide", "engine", "PostgreSQL", "--session", one)
    command("publish", "--session", one)
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")  # another machine, an hour behind
    two, _ = start(command, "birch")

    assert "PostgreSQL" in command("brief", "--session", two).out
    command("decide", "engine", "SQLite", "--replace", "--session", two)
    command("publish", "--session", two)

    assert first_decision(command) == "engine: SQLite"


def test_a_session_whose_clock_went_back_still_speaks_in_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project
) -> None:
    command = Caller(monkeypatch, capsys, project.folder)
    stop_clock(monkeypatch, "2026-01-11T13:00:00Z")
    one, _ = start(command, "amber")
    command("decide", "engine", "PostgreSQL", "--session", one)
    command("publish", "--session", one)
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    command("decide", "engine", "SQLite", "--session", one)
    command("publish", "--session", one)

    assert first_decision(command) == "engine: SQLite"


@pytest.mark.requirement("C120")
def test_a_session_speaks_after_what_a_peer_told_it_and_has_not_published(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project
) -> None:
    command = Caller(monkeypatch, capsys, project.folder)
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    two, _ = start(command, "birch")
    stop_clock(monkeypatch, "2026-01-11T13:00:00Z")
    one, _ = start(command, "amber")
    command("now", "Migrate", "--session", one)
    command("decide", "engine", "PostgreSQL", "--session", one)
    stop_clock(monkeypatch, "2026-01-11T12:01:00Z")  # the clock is set back

    assert "> Migrate" in command("brief", "--session", two).out
    command("decide", "engine", "SQLite", "--replace", "--session", two)
    command("publish", "--session", two)
    command("publish", "--session", one)

    assert first_decision(command) == "engine: SQLite"
