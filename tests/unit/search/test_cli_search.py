"""`passdown search` finds words, says where, and how to see all of it."""

import json
import sqlite3
import subprocess
from pathlib import Path

import jsonschema
import pytest

from passdown.engines.sqlite import search_index as engine
from passdown.faces.cli import lines
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_project
from tests.support.projects import put, put_event, stop_clock

ARCHIVE = "conductor/sessions/archive"
LINE = {"type": "string", "pattern": r"^[^\n]*$"}
SCHEMA = {
    "type": "object",
    "properties": {
        "version": {"const": 1},
        "matches": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"enum": ["ledger", "archive", "event", "stream", "loop", "journal", "history"]},
                    "name": LINE,
                    "path": LINE,
                    "at": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"},
                    "agent": {"type": ["string", "null"]},
                    "is_retracted": {"type": "boolean"},
                    "is_local": {"type": "boolean"},
                    "line": {"type": "integer", "minimum": 1},
                    "text": LINE,
                    "words": {"type": "array", "items": LINE},
                    "command": LINE,
                    "score": {"type": "number"},
                    "rank": {"enum": ["all", "forms", "some", "weak"]},
                    "is_weak": {"type": "boolean"},
                    "why": LINE,
                },
                "required": [
                    *("kind", "name", "path", "at", "agent"),
                    *("is_retracted", "line", "text", "words", "command"),
                    *("is_local", "score", "rank", "is_weak", "why"),
                ],
                "additionalProperties": False,
            },
        },
        "total": {"type": "integer", "minimum": 0},
        "weak_total": {"type": "integer", "minimum": 0},
        "is_least": {"type": "boolean"},
    },
    "required": ["version", "matches", "total", "weak_total", "is_least"],
    "additionalProperties": False,
}


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give an empty repository, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return make_project(tmp_path / "project")


def cache_folder(project: Project) -> Path:
    return project.folder / ".git" / "passdown" / "cache"


def cache_files(project: Project) -> list[str]:
    return sorted(path.name for path in cache_folder(project).glob("search-*.sqlite"))


@pytest.mark.requirement("G1")
def test_what_is_found_is_shown_with_where_and_how_to_see_all(command: Caller, project: Project) -> None:
    event = put_event(project.folder, "2026-01-10T13:03:52Z", now="Write the parser")
    put(
        project.folder,
        f"{ARCHIVE}/2026-01-09-08-00-manual.md",
        "---\ndate: 2026-01-09T08:00:00Z\nsession_id: s-1\n---\n\n# Session Handoff\n\n"
        + "The parser is slow; " * 20,
    )

    done = command("search", "parser")

    assert done.code == 0
    assert done.err == ""
    shown = done.out.splitlines()
    assert sorted(shown[::3]) == [
        "2026-01-09 08:00Z  archive  2026-01-09-08-00-manual  s-1",
        f"2026-01-10 13:03Z  event  {event.id}  toast",
    ]
    assert "    passdown handoff show 2026-01-09-08-00-manual" in shown
    assert f"    passdown log show {event.id}" in shown
    assert "    10: now: Write the parser" in shown
    assert any(line.startswith("    8: The parser is slow; The") for line in shown)
    assert all(len(line) <= 80 for line in shown)
    assert len(cache_files(project)) == 1


def test_the_command_that_is_shown_shows_it(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Write the parser")
    put(project.folder, f"{ARCHIVE}/odd name.md", "# Odd\n\nparser\n")
    put(project.folder, "thoughts/shared/handoffs/auth/current.md", "# Work Stream: auth\n\nparser\n")

    answer = json.loads(command("search", "parser", "--json").out)

    assert {match["kind"] for match in answer["matches"]} == {"event", "archive", "stream"}
    for match in answer["matches"]:
        _, *words = match["command"].replace("'", "").split(" ", 3)
        done = command(*words)
        assert done.code == 0, done
        assert "parser" in done.out.splitlines()[match["line"] - 1]


def test_json_says_the_same(command: Caller, project: Project) -> None:
    event = put_event(project.folder, "2026-01-10T13:03:52Z", now="Write the parser")

    answer = json.loads(command("search", "PARS*", "--json").out)

    jsonschema.validate(answer, SCHEMA)
    (match,) = answer["matches"]
    assert match == {
        "kind": "event",
        "name": event.id,
        "path": match["path"],
        "at": "2026-01-10T13:03:52.000Z",
        "agent": "toast",
        "is_retracted": False,
        "is_local": False,
        "line": 10,
        "text": "now: Write the parser",
        "words": ["parser"],
        "command": f"passdown log show {event.id}",
        "score": match["score"],
        "rank": "all",
        "is_weak": False,
        "why": "all words",
    }
    assert (project.folder / match["path"]).is_file()
    assert (answer["total"], answer["is_least"]) == (1, False)


def test_nothing_found_is_no_error(command: Caller) -> None:
    done = command("search", "parser")

    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("passdown: nothing found\n  hint: ")
    assert json.loads(command("search", "parser", "--json").out) == {
        "version": 1,
        "matches": [],
        "total": 0,
        "weak_total": 0,
        "is_least": False,
    }


def test_ten_are_shown_and_the_rest_is_counted(command: Caller, project: Project) -> None:
    for minute in range(25):
        put_event(project.folder, f"2026-01-10T13:{minute:02}:00Z", now=f"Step {minute}")

    done = command("search", "step")
    assert done.out.count("now: Step") == 10
    assert done.err.startswith("passdown: and 15 more\n  hint: show more with -n N, ")
    assert command("search", "step", "-n", "30").out.count("now: Step") == 25
    assert len(json.loads(command("search", "step", "--limit", "3", "--json").out)["matches"]) == 3


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--agent", "crisp"], ["crisp-1"]),
        (["--since", "2026-01-11"], ["crisp-1"]),
        (["--since", "6h"], ["crisp-1"]),
        (["--kind", "event"], ["toast", "crisp-1"]),
        (["--kind", "archive"], []),
        (["--kind", "archive", "--kind", "event", "--agent", "toast"], ["toast"]),
        (["--kind", "ledger"], []),
    ],
)
def test_options_choose(command: Caller, project: Project, options: list[str], found: list[str]) -> None:
    put_event(project.folder, "2026-01-10T13:00:00Z", "toast", now="Write the parser")
    put_event(project.folder, "2026-01-11T08:00:00Z", "crisp-1", now="Test the parser")

    answer = json.loads(command("search", "parser", "--json", *options).out)

    assert sorted(match["agent"] for match in answer["matches"]) == sorted(found)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "missing argument 'WORDS...'"),
        (["***"], "nothing to search for"),
        (["a", "--since", "soon"], "--since: `soon` is not a valid time"),
        (["a", "--kind", "view"], "invalid value for '--kind'"),
        (["a", "-n", "0"], "invalid value for '-n'"),
        ([f"n{number}" for number in range(65)], "too many words to search for"),
    ],
)
def test_a_wrong_call_is_refused(command: Caller, arguments: list[str], said: str) -> None:
    done = command("search", *arguments)

    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_retracted_event_is_marked(command: Caller, project: Project) -> None:
    gone = put_event(project.folder, "2026-01-09T08:00:00Z", goal="Wrong turn")
    put_event(project.folder, "2026-01-11T09:00:00Z", type="retraction", retracted_events=(gone.id,))

    assert f"event  {gone.id}  toast  (retracted)\n" in command("search", "wrong", "turn").out


def test_the_ledger_of_a_running_session_is_found(command: Caller) -> None:
    command("start")
    command("now", "Write the lexer")

    done = command("search", "lexer")

    assert done.out.splitlines()[0].startswith(
        "2026-01-11 12:00Z  ledger  conductor/sessions/active/LEDGER.md"
    )
    assert done.out.splitlines()[2] == "    cat conductor/sessions/active/LEDGER.md"


def test_an_ended_session_is_found_in_its_record(command: Caller) -> None:
    command("start")
    command("decide", "storage", "Use SQLite")
    command("handoff", "create", "--archive", "--stream", "auth")

    found = json.loads(command("search", "sqlite", "--json").out)["matches"]

    assert {match["kind"] for match in found if not match["is_local"]} == {"archive", "event", "stream"}


def test_what_would_move_the_cursor_is_shown_as_an_escape(command: Caller, project: Project) -> None:
    put(project.folder, f"{ARCHIVE}/a.md", '---\nsession_id: "s\\e[1m"\n---\nparser \x1b[2J \u202e evil\n')
    put(project.folder, "thoughts/shared/handoffs/x\x1b[3m/current.md", "parser\n")

    done = command("search", "parser")

    assert done.out.count("parser") == 2
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_lines_fit_the_terminal(command: Caller, project: Project) -> None:
    put_event(
        project.folder, "2026-01-10T13:03:52Z", "toast-" + "x" * 90, now="é漢" * 100 + " parser " + "漢" * 99
    )

    for line in command("search", "parser").out.splitlines():
        assert lines._columns_of(line) <= 80  # the same measure


def test_without_full_text_search_the_documents_are_read(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = put_event(project.folder, "2026-01-10T13:03:52Z", now="Write the parser")
    monkeypatch.setattr(engine, "MODULE", "missing")
    done = command("search", "parser")
    assert (done.code, done.err) == (0, "")
    assert str(event.id) in done.out
    connection = sqlite3.connect(cache_folder(project) / cache_files(project)[0])
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.close()

    monkeypatch.setattr(engine, "MODULE", "fts5")
    assert command("search", "parser") == done


def test_a_file_in_the_place_of_the_cache_is_worked_around(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Write the parser")
    put(project.folder, ".git/passdown", "in the way")

    done = command("search", "parser")
    assert (done.code, done.err) == (0, "")
    assert "Write the parser" in done.out


def test_a_cache_that_fails_is_done_without_and_made_anew(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-10T13:03:52Z", now="Write the parser")
    usual = command("search", "parser")
    (name,) = cache_files(project)
    connection = sqlite3.connect(cache_folder(project) / name)
    connection.execute("UPDATE words_data SET block = x'00' WHERE id > 100")
    connection.commit()
    connection.close()

    failed = command("search", "parser")
    assert (failed.code, failed.out) == (0, usual.out)
    assert "cannot be used" in failed.err
    assert "continuing without it" in failed.err
    assert command("search", "parser") == usual


def test_outside_git_it_works_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    put_event(tmp_path, "2026-01-10T13:03:52Z", now="Write the parser")

    command = Caller(monkeypatch, capsys, tmp_path)
    done = command("search", "parser")
    assert isinstance(done, Done)
    assert "Write the parser" in done.out
    command("start")
    command("note", "The kumquat server is slow")
    (match,) = json.loads(command("search", "kumquat", "--json").out)["matches"]
    assert "kumquat" in (tmp_path / match["path"]).read_text(encoding="utf-8")
    assert match["command"] == f"cat {match['path']}"


@pytest.mark.requirement("C133")
def test_a_question_finds_the_decision_that_answers_it(command: Caller) -> None:
    command("start")
    command("decide", "sessions", "Keep sessions in Redis: the load balancer moves users")
    command("publish")
    command("decide", "queue", "Use NATS")

    done = command("search", "why", "do", "we", "keep", "sessions", "in", "redis?")

    assert (done.code, done.err) == (0, "")
    assert "Keep sessions in Redis" in done.out.splitlines()[1]


@pytest.mark.requirement("C133")
def test_weak_matches_are_shown_apart_and_counted(command: Caller, project: Project) -> None:
    for minute in range(6):
        put_event(project.folder, f"2026-01-10T13:{minute:02}:00Z", now=f"Write parser {minute}")
    put_event(project.folder, "2026-01-10T14:00:00Z", now="Train the giraffe to sing")

    question = ["search", "which", "giraffes", "sing", "near", "our", "parser"]
    done = command(*question)
    answer = json.loads(command(*question, "--json").out)

    shown = done.out.splitlines()
    assert "giraffe" in shown[1]
    assert shown[3] == "Weak matches, with few of the words:"
    assert sum("parser" in line for line in shown) == 3
    assert done.err == "passdown: and 3 weak matches not shown\n"
    assert [match["is_weak"] for match in answer["matches"]] == [False] + [True] * 6
    assert (answer["total"], answer["weak_total"]) == (7, 6)
    assert answer["matches"][0]["why"] == "not near, parser"


@pytest.mark.requirement("C133")
def test_private_notes_are_found_and_marked_as_local(command: Caller, project: Project) -> None:
    command("start")
    command("note", "The kumquat server is slow")

    done = command("search", "kumquats")
    (match,) = json.loads(command("search", "kumquats", "--json").out)["matches"]

    assert done.out.splitlines()[1] == "    1: note: The kumquat server is slow  (local)"
    assert (
        "kumquat"
        in subprocess.run(
            ["/bin/sh", "-c", match["command"]],
            check=True,
            capture_output=True,
            text=True,
            cwd=project.folder,
        ).stdout
    )
    assert (match["kind"], match["is_local"], match["why"]) == (
        "journal",
        True,
        "all words, some in another form",
    )
