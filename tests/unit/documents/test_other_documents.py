"""What other tools wrote down here reaches a new session: a ledger, and stream documents."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from passdown.faces.cli.main import HookWork
from passdown.faces.hooks import quick
from passdown.settings import FILE_NAME
from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import EVENTS, put, stop_clock
from tests.support.sessions import LEDGER

STREAM = "thoughts/shared/handoffs/auth/current.md"
THEIRS = """---
updated: {updated}
session_id: T-abc123
platform: amp
bound_track: null
bound_bead: null
mode: SA
tdd_phase: null
heartbeat: {updated}
---

# Session Ledger

## Active Task

bead: null
track: null

## Goal

Let people sign in

## State

### Done
- Session model

### Now
- Make logout work

### Next
- Remove tokens

## Key Decisions

| Decision | Reasoning | When |
|----------|-----------|------|
| Sessions live in Redis | It expires them | 10:15 |

## Working Set

**Branch:** main

**Modified:**
- `src/auth.ts`

**Read:**
- `docs/auth.md` - For understanding

## Open Questions

- Who rotates the keys?
"""
FACTS = (
    "Let people sign in",
    "Make logout work",
    "Remove tokens",
    "Sessions live in Redis",
    "Who rotates the keys?",
    "Session model",
)
DOCUMENT = """---
date: 2026-01-11T08:00:00Z
session_name: auth
branch: main
status: active
---

# Work Stream: auth

## Ledger
**Updated:** {updated}
**Goal:** {goal}
**Branch:** main
**Test:** npm test

### Now
[->] Write the callback

### This Session
- [x] Pick a provider

### Next
- [ ] Log out everywhere

### Decisions
- provider: Keycloak, because we run it

### Open Questions
- UNCONFIRMED: Does the proxy keep cookies?

---

## Context

Not the ledger: ## Goal of nobody
"""
HOUR_AGO, DAYS_AGO = "2026-01-11T11:00:00Z", "2026-01-09T11:00:00Z"

Start = Callable[..., str]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command in a project whose owner agreed, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    folder = make_started(tmp_path / "project").folder
    (folder / FILE_NAME).touch()
    return Caller(monkeypatch, capsys, folder)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: Caller) -> Start:
    """Give a way to start a session in a host; it returns the brief."""

    def call(session: str = "one", source: str = "startup") -> str:
        payload = {"hook_event_name": "SessionStart", "session_id": session, "source": source}
        data = io.BytesIO(json.dumps({**payload, "cwd": str(command.folder)}).encode())
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data))
        capsys.readouterr()
        assert quick.main([], HookWork()) == 0
        brief: str = json.loads(capsys.readouterr().out)["hookSpecificOutput"]["additionalContext"]
        return brief

    return call


@pytest.mark.requirement("R43")
def test_a_ledger_of_another_tool_is_shown_to_a_new_session(command: Caller, start: Start) -> None:
    put(command.folder, LEDGER, THEIRS.format(updated=HOUR_AGO))

    for brief in (command("brief").out, start(), command("brief").out):
        for fact in FACTS:
            assert f"(T-abc123, 1 h) > {fact}" in brief.replace("sessions_live_in_redis: ", ""), fact
    assert (command.folder / LEDGER).read_text(encoding="utf-8") == THEIRS.format(updated=HOUR_AGO)


@pytest.mark.requirement("R43")
def test_a_session_with_its_own_goal_is_told_of_the_other_one(command: Caller, start: Start) -> None:
    command("goal", "Ours")
    command("end")
    put(command.folder, LEDGER, THEIRS.format(updated=HOUR_AGO))

    brief = start()

    assert "Goal:\n(generic-" in brief
    assert "> Ours\n" in brief
    assert "(T-abc123, 1 h, on main) > Let people sign in | now: Make logout work\n" in brief


@pytest.mark.requirement("R43", "R19")
def test_a_stale_ledger_is_taken_in_before_it_is_archived(command: Caller, start: Start) -> None:
    put(command.folder, LEDGER, THEIRS.format(updated=DAYS_AGO))

    brief = start()

    (record,) = (command.folder / "conductor/sessions/archive").glob("*-stale-*.md")
    assert "Let people sign in" in record.read_text(encoding="utf-8")
    for fact in FACTS:
        assert f"(T-abc123, 2 d) > {fact}" in brief.replace("sessions_live_in_redis: ", ""), fact
    assert start("one", "compact").count("Who rotates the keys?") == 1
    command("end", "--session", "one")
    assert "Sessions live in Redis" in command("view", "list", "decisions").out
    assert "T-abc123" in command("view", "list", "questions").out
    assert " facts found: " in command("certify").out


@pytest.mark.parametrize("reads", ["", "\n## Working Set\n\n**Read:**\n- `notes.txt` - For me\n"])
def test_a_stale_ledger_that_says_nothing_for_others_is_only_archived(command: Caller, reads: str) -> None:
    head = THEIRS.partition("## Active Task")[0].format(updated=DAYS_AGO)
    put(command.folder, LEDGER, f"{head}{reads}")

    assert command("start").code == 0

    assert len(list((command.folder / "conductor/sessions/archive").glob("*-stale-*.md"))) == 1
    assert not (command.folder / EVENTS).exists()


@pytest.mark.requirement("R43")
def test_a_stale_ledger_replaces_no_newer_goal(command: Caller, start: Start) -> None:
    command("goal", "Ours")
    command("next", "Our step")
    command("end")
    put(command.folder, LEDGER, THEIRS.format(updated=DAYS_AGO))

    brief = start()

    assert "> Ours\n" in brief
    assert "> Our step\n" in brief
    assert "Let people sign in" not in brief
    assert "Sessions live in Redis" in brief


@pytest.mark.requirement("R80", "G14")
@pytest.mark.parametrize("source", ["startup", "clear", "compact", "resume"])
def test_the_ledger_section_of_a_stream_document_is_read_at_start(
    command: Caller, start: Start, source: str
) -> None:
    put(command.folder, STREAM, DOCUMENT.format(updated=HOUR_AGO, goal="Single sign-on"))

    brief = start("one", source)

    for fact in (
        "Single sign-on",
        "Write the callback",
        "Log out everywhere",
        "provider: Keycloak, because we run it",
        "UNCONFIRMED: Does the proxy keep cookies?",
        "Pick a provider",
    ):
        assert f"(auth, 1 h) > {fact}\n" in brief
    assert "Goal of nobody" not in brief


@pytest.mark.requirement("G14")
def test_a_stream_document_goes_before_a_ledger_and_the_newest_before_others(
    command: Caller, start: Start
) -> None:
    put(command.folder, LEDGER, THEIRS.format(updated=HOUR_AGO))
    put(command.folder, STREAM, DOCUMENT.format(updated="2026-01-11T10:00:00Z", goal="Single sign-on"))
    older = DOCUMENT.format(updated="2026-01-11T09:00:00Z", goal="An older stream")
    put(command.folder, STREAM.replace("auth", "aaa"), older)
    put(command.folder, STREAM.replace("auth", "empty"), "")
    newer = "---\nformat: 99\n---\n\n## Ledger\n**Updated:** 2026-01-11T11:58:00Z\n"
    put(command.folder, STREAM.replace("auth", "newer"), newer)
    put(command.folder, STREAM.replace("auth", "zzz"), "# Notes\n\n**Updated:** 2026-01-11T11:59:00Z\n")

    brief = start()

    assert "Goal:\n(auth, 2 h) > Single sign-on\n" in brief
    assert "An older stream" not in brief
    assert "Sessions live in Redis" in brief


@pytest.mark.requirement("G14")
def test_what_our_own_handoff_says_is_told_once_and_as_events_tell_it(command: Caller, start: Start) -> None:
    command("goal", "Ship it")
    command("ask", "May we?")
    command("handoff", "create", "--stream", "auth")
    command("answer", "May we?", "Yes")
    command("end")

    brief = start()

    assert "(auth" not in brief
    assert "Open questions" not in brief
    assert (command.folder / STREAM).read_text(encoding="utf-8").count("May we?") == 1


def test_a_question_of_a_document_can_be_answered(command: Caller, start: Start) -> None:
    put(command.folder, STREAM, DOCUMENT.format(updated=HOUR_AGO, goal="Single sign-on"))
    start()

    assert command("answer", "UNCONFIRMED: Does", "Yes", "--session", "one").code == 0
    command("end", "--session", "one")

    assert "Open questions" not in start("two")
