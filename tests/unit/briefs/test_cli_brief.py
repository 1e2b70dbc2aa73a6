"""`passdown brief` tells a session what it must know, and measures that it does."""

import json
from datetime import datetime
from pathlib import Path

import jsonschema
import pytest

from passdown.actions.handover import briefs
from passdown.core.briefs.brief_frame import BriefFrame, receipt_of
from passdown.core.evidence import recall
from passdown.engines.memory.index import MemoryIndex
from passdown.errors import CacheError, StorageError
from passdown.services.sessions import ledgers
from tests.answers.check_answers import Schema
from tests.support.commands import Caller
from tests.support.gits import Project, make_project
from tests.support.projects import put, put_event, stop_clock
from tests.support.sessions import LEDGER

FACT: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
        "kind": {"type": "string"},
        "key": {"type": ["string", "null"]},
        "text": {"type": "string"},
        "at": {"type": "string"},
        "agent": {"type": "string"},
        "provenance": {"enum": ["stated", "observed", "verified"]},
        "event": {"type": ["string", "null"]},
        "branch": {"type": ["string", "null"]},
        "is_in_brief": {"type": "boolean"},
        "is_unpublished": {"type": "boolean"},
    },
    "minProperties": 11,
    "additionalProperties": False,
}
BRIEF: Schema = {
    "type": "object",
    "properties": {
        "version": {"const": 1},
        "session": {"type": ["string", "null"]},
        "agent": {"type": ["string", "null"]},
        "nonce": {"type": "string", "pattern": "^[0-9a-f]{12}$"},
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "tokens": {"type": "integer"},
        "characters": {"type": "integer"},
        "budget": {"type": "object"},
        "text": {"type": "string"},
        "lines": {
            "type": "array",
            "items": {"type": "object", "required": ["class", "kind", "text", "fact"]},
        },
        "omitted": {"type": "array", "items": {"type": "object", "required": ["kind", "count", "command"]}},
        "facts": {"type": "array", "items": FACT},
        "contested": {"type": "array", "items": {"type": "array", "items": FACT}},
        "documents": {"type": "array", "items": FACT},
        "account": {"type": "array", "items": FACT},
        "task": {"type": ["string", "null"]},
        "track": {"type": ["string", "null"]},
        "due_gates": {"type": "object", "additionalProperties": {"type": "string"}},
        "before": {"type": "array", "items": FACT},
        "words": {"anyOf": [FACT, {"type": "null"}]},
        "commits": {"type": "array", "items": {"type": "object", "required": ["text", "subject", "files"]}},
        "ahead": {"type": "array", "items": FACT},
        "team": {
            "type": "object",
            "properties": {
                **{
                    name: {"type": "array"} for name in ("agents", "ready", "holdings", "messages", "orphans")
                },
                "said_at": {"type": ["string", "null"]},
            },
            "minProperties": 6,
            "additionalProperties": False,
        },
    },
    "minProperties": 23,
    "additionalProperties": False,
}


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command, in an empty folder without git, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    (tmp_path / "project").mkdir()
    return Caller(monkeypatch, capsys, tmp_path / "project")


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give an empty repository."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return make_project(tmp_path / "project")


def test_without_git_session_and_events_it_says_so(command: Caller) -> None:
    done = command("brief")

    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("===== passdown brief ")
    assert lines[2:6] == [
        "Goal:",
        'none yet. Record it when you know it: `passdown goal "…"`',
        "Now:",
        "none yet",
    ]
    assert lines[-1] == lines[0].replace("begins", "ends")


@pytest.mark.requirement("R1")
def test_a_session_is_told_what_it_said(command: Caller) -> None:
    command("start", "--host", "codex")
    command("goal", "Ship it")
    command("rule-out", "No threads")

    answer = json.loads(command("brief", "--json").out)

    jsonschema.validate(answer, BRIEF)
    assert "\n> Ship it\n" in answer["text"]
    assert "\nRuled out:\n> No threads\n" in answer["text"]
    assert receipt_of(answer["text"], BriefFrame(nonce=answer["nonce"])) == answer["sha256"]
    assert {one["text"] for one in answer["account"]} == {"Ship it", "Ruled out: No threads"}
    assert [one["is_in_brief"] for one in answer["facts"]] == [True, True]
    by_agent = json.loads(command("brief", "--json", "--session", answer["agent"]).out)
    assert by_agent["session"] == answer["session"]
    again = json.loads(command("brief", "--json", "--session", answer["session"]).out)
    assert (again["sha256"], again["nonce"] != answer["nonce"]) == (answer["sha256"], True)


def test_programs_are_told_what_is_dated_ahead(command: Caller) -> None:
    command("start")
    put_event(command.folder, "2027-01-11T12:00:00Z", now="From the future")

    answer = json.loads(command("brief", "--json").out)

    jsonschema.validate(answer, BRIEF)
    assert [one["text"] for one in answer["ahead"]] == ["From the future"]
    assert "> From the future" in answer["text"]


def test_a_session_that_ended_can_be_asked_for(command: Caller) -> None:
    session = json.loads(command("start", "--json").out)["session"]
    command("goal", "Ship it")
    command("end")

    answer = json.loads(command("brief", "--json", "--session", session).out)

    assert [one["text"] for one in answer["account"]] == ["Ship it"]


def test_one_of_several_sessions_can_be_asked_for(command: Caller) -> None:
    first = json.loads(command("start", "--json").out)["session"]
    command("start", "--new")

    assert json.loads(command("brief", "--json", "--session", first).out)["session"] == first
    assert json.loads(command("brief", "--json").out)["session"] is None


def test_edits_of_the_ledger_are_told_too(command: Caller) -> None:
    command("start")
    command("goal", "Ship it")
    ledger = command.folder / LEDGER
    ledger.write_text(ledger.read_text().replace("Ship it", "Ship it faster"))

    assert "> Ship it faster\n" in command("brief").out


def test_where_nothing_can_be_written_it_is_told_all_the_same(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("start")
    command("goal", "Ship it")

    def refuse(*_: object) -> ledgers.LedgerUpdate:
        raise StorageError("read-only")

    monkeypatch.setattr(briefs, "update_ledger", refuse)

    assert "> Ship it\n" in command("brief").out


def test_budgets_are_kept(command: Caller) -> None:
    for number in range(40):
        put_event(command.folder, f"2026-01-10T13:{number:02}:00Z", constraints=(f"{number} " + "x" * 150,))

    small = json.loads(command("brief", "--json", "--tokens", "400", "--chars", "1000").out)

    assert small["tokens"] <= 400
    assert small["characters"] <= 1_000
    assert small["budget"] == {"tokens": 400, "characters": 1_000}
    assert small["omitted"][0]["command"] == "passdown view list constraints"
    assert len(small["facts"]) == 40


@pytest.mark.requirement("R121")
def test_the_banner_says_which_events_were_combined(command: Caller) -> None:
    put_event(command.folder, "2026-01-10T13:03:52Z", goal="Ship it", now="Test it")

    done = command("brief", "--banner")

    assert done.out.splitlines() == [
        "Passdown: 1 event combined",
        "  toast  2026-01-10 13:03Z  Last worked on: Test it",
        "Goal: Ship it",
        "Last worked on: Test it",
    ]
    assert json.loads(command("brief", "--banner", "--json").out)["text"] == done.out.rstrip("\n")


def test_events_of_other_worktrees_are_marked_with_their_branch(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project
) -> None:
    command = Caller(monkeypatch, capsys, project.folder)
    put(project.folder, "a.txt", "a\n")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=one")
    project.git("worktree", "add", "--quiet", "../side", "-b", "feat/side")
    put_event(project.folder.parent / "side", "2026-01-11T10:00:00Z", "waffle", constraints=("No threads",))

    assert "(waffle, 2 h, on feat/side) > No threads\n" in command("brief").out


def test_a_cache_that_fails_is_done_without(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    put_event(command.folder, "2026-01-10T13:03:52Z", constraints=("No threads",))
    calls: list[int] = []
    digest = MemoryIndex.digest

    def fail_once(self: MemoryIndex, limit: int, until: datetime | None = None) -> object:
        calls.append(limit)
        if len(calls) == 1:
            raise CacheError("the cache is damaged")
        return digest(self, limit, until)

    monkeypatch.setattr(MemoryIndex, "digest", fail_once)

    done = command("brief")

    assert "> No threads\n" in done.out
    assert done.err == "passdown: the cache is damaged; continuing without it\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sessions", "5"], "--sessions needs --eval"),
        (["--tokens", "300,400"], "--tokens accepts a list only with --eval"),
        (["--tokens", "10"], "--tokens: 10 is not valid"),
        (["--tokens", "many"], "--tokens: many is not valid"),
        (["--session", "s-none"], "there is no session s-none"),
        (["--eval", "--session", "s-1"], "--eval cannot be used with --session or --banner"),
        (["--eval", "--sessions", "0"], "--sessions: 0 is not valid"),
    ],
)
def test_what_cannot_be_meant_is_refused(command: Caller, arguments: list[str], message: str) -> None:
    done = command("brief", *arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"passdown: {message}\n  hint: ")


@pytest.mark.requirement("C132", through="command")
def test_recall_is_measured_and_shown(command: Caller) -> None:
    done = command("brief", "--eval", "--sessions", "20,30", "--tokens", "400,1500")

    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) == 3 + 2 * 4
    assert all(len(line) <= 80 for line in lines)
    answer = json.loads(command("brief", "--eval", "--sessions", "20", "--tokens", "1500", "--json").out)
    assert answer["is_good"]
    usual, cut, plain = answer["rows"]
    assert (usual["kinds"], cut["characters"], plain["kinds"]) == ("all", 2_000, "few")
    assert all(row["is_head_whole"] and row["is_head_in_preview"] for row in answer["rows"])
    assert usual["decisions"] >= 5
    assert plain["rules"] >= 8


def test_recall_that_drops_is_a_failure(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "find_broken", lambda rows: rows[:1])

    done = command("brief", "--eval", "--sessions", "1")

    assert done.code == 1
    assert "required facts are missing from the brief: 1 sessions, 500 tokens" in done.err
