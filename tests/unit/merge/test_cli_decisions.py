"""No decision is replaced by accident: what holds under a key is shown first (C151)."""

import json
from pathlib import Path

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.formats.ledgers import parse_ledger
from tests.support.commands import Caller, Done
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


def start(command: Caller, name: str) -> str:
    """Start a session that continues none, and give its agent."""
    return str(json.loads(command("start", "--new", "--fresh", "--session", name, "--json").out)["agent"])


def end_first(command: Caller) -> str:
    """Let a session decide and end, and give its agent."""
    agent = start(command, "one")
    command("decide", "db", "SQLite", "--because", "simple", "--session", "one")
    assert command("end", "--session", "one").code == 0
    return agent


def decisions(command: Caller) -> dict[str, str]:
    """Give what a brief tells of the decisions."""
    facts = json.loads(command("brief", "--json", "--session", "two").out)["facts"]
    return {fact["key"]: fact["text"] for fact in facts if fact["kind"] == "decision"}


@pytest.mark.requirement("C151")
@pytest.mark.parametrize("where", ["published", "running", "elsewhere"])
def test_a_key_of_another_session_is_refused_and_what_it_holds_is_shown(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    if where == "elsewhere":
        agent = "amber"
        put_event(
            project.folder,
            "2026-01-11T12:00:00Z",
            agent,
            decisions=(Pair(key="db", value="SQLite (simple)"),),
        )
    else:
        agent = start(command, "one")
        command("decide", "db", "SQLite", "--because", "simple", "--session", "one")
    if where == "published":
        command("publish", "--session", "one")
    start(command, "two")
    stop_clock(monkeypatch, "2026-01-11T12:05:00Z")

    refused = command("decide", "db", "The header is blue", "--session", "two")

    assert refused == Done(
        3,
        "",
        f"passdown: db is already decided: SQLite (simple) ({agent}, 5 min ago)\n"
        "  hint: add --replace to replace it, or choose another key, such as db-2\n",
    )
    answer = json.loads(command("decide", "db", "The header is blue", "--session", "two", "--json").out)
    assert answer["error"]["code"] == "held"
    assert decisions(command).get("db", "SQLite (simple)") == "SQLite (simple)"

    done = command("decide", "db", "Postgres", "--replace", "--session", "two")
    assert done.out == f"decision db: Postgres\nreplaces: SQLite (simple) ({agent}, 5 min ago)\n"
    assert decisions(command)["db"] == "Postgres"


@pytest.mark.requirement("C151")
def test_replacing_ones_own_says_what_it_replaces_also_of_a_session_that_is_continued(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = end_first(command)
    command("start", "--session", "between")
    command("end", "--session", "between")
    stop_clock(monkeypatch, "2026-01-11T14:00:00Z")
    second = json.loads(command("start", "--session", "two", "--json").out)["agent"]

    done = command("decide", "db", "Postgres", "--session", "two")
    assert done == Done(0, f"decision db: Postgres\nreplaces: SQLite (simple) ({agent}, 2 h ago)\n", "")
    answer = json.loads(command("decide", "db", "MySQL", "--session", "two", "--json").out)
    assert (answer["key"], answer["replaces"]["text"], answer["replaces"]["agent"]) == (
        "db",
        "Postgres",
        second,
    )


@pytest.mark.requirement("C151")
def test_the_same_text_replaces_nothing_and_keeps_its_reason(command: Caller) -> None:
    end_first(command)
    start(command, "two")

    assert command("decide", "db", "SQLite", "--session", "two") == Done(
        0, "decision db: SQLite (simple)\n", ""
    )
    assert decisions(command) == {"db": "SQLite (simple)"}
    start(command, "three")
    assert command("decide", "db", "SQLite", "--because", "small", "--session", "three").code == 3
    same = command("decide", "db", "SQLite", "--because", "simple", "--session", "three")
    assert same == Done(0, "decision db: SQLite (simple)\n", "")


@pytest.mark.requirement("C151")
def test_a_key_that_is_left_out_is_made_from_the_text_and_replaces_nothing(command: Caller) -> None:
    start(command, "one")
    start(command, "two")
    assert command("decide", "Use SQLite", "--session", "one").out == "decision use_sqlite: Use SQLite\n"
    assert command("decide", "Use SQLite!", "--session", "two").out == "decision use_sqlite-2: Use SQLite!\n"
    for text, key in (
        ("Use SQLite!", "use_sqlite-2"),
        ("Use SQLite?", "use_sqlite-3"),
        ("Use SQLite", "use_sqlite"),
    ):
        answer = json.loads(command("decide", text, "--session", "two", "--json").out)
        assert (answer["key"], answer["replaces"]) == (key, None)
    assert command("decide", "", "a", "--session", "two").out == "decision a: a\n"
    too_many = command("decide", "a", "b", "c")
    assert (too_many.code, "too many texts" in too_many.err) == (2, True)
    assert (command("decide").code, command("decide", " ").code) == (2, 2)


@pytest.mark.requirement("C151")
def test_retracting_a_decision_names_the_one_it_had_replaced_and_how_to_bring_it_back(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = end_first(command)
    start(command, "two")
    command("decide", "db", "Postgres", "--replace", "--session", "two")
    stop_clock(monkeypatch, "2026-01-11T12:05:00Z")

    done = command("retract", "db", "--session", "two")

    assert done == Done(
        0,
        f"retraction: db\nit had replaced: SQLite (simple) ({agent}, 5 min ago)\n",
        "  hint: to restore that: `passdown decide db 'SQLite (simple)'`\n",
    )
    assert command("decide", "db", "SQLite (simple)", "--session", "two").code == 0
    assert decisions(command) == {"db": "SQLite (simple)"}
    answer = json.loads(command("retract", "db", "--session", "two", "--json").out)
    assert answer["replaced"] is None  # what was retracted before is not what it replaced


@pytest.mark.requirement("C151")
def test_whoever_retracts_a_decision_of_another_session_is_told_which(command: Caller) -> None:
    agent = end_first(command)
    start(command, "two")

    done = command("retract", "db", "--kind", "decision", "--session", "two")

    assert done == Done(0, f"retraction: db\nit was: SQLite (simple) ({agent}, 0 s ago)\n", "")


@pytest.mark.requirement("C151")
def test_a_row_that_is_edited_by_hand_under_the_key_of_another_session_is_kept_under_a_free_one(
    command: Caller, project: Project
) -> None:
    end_first(command)
    start(command, "two")
    command("decide", "cache", "none", "--session", "two")
    text = (project.folder / LEDGER).read_text(encoding="utf-8")
    row = next(line for line in text.splitlines(keepends=True) if "cache: none" in line)
    project.write(LEDGER, text.replace(row, f"{row}| db: Postgres | - | 12:00 |\n"))

    said = command("done", "the parser", "--session", "two").err

    assert f"{LEDGER}: another session already decided db; your row was recorded as db-2\n" in said
    rows = parse_ledger((project.folder / LEDGER).read_text(encoding="utf-8")).decisions
    assert [one.decision for one in rows] == ["cache: none", "db-2: Postgres"]
    assert decisions(command) == {"db": "SQLite (simple)", "cache": "none", "db-2": "Postgres"}
    assert command("done", "the lexer", "--session", "two").err == ""


@pytest.mark.requirement("C151")
def test_a_row_whose_key_another_session_took_over_does_not_take_out_its_decision(
    command: Caller, project: Project
) -> None:
    start(command, "one")
    command("decide", "db", "SQLite", "--session", "one")
    start(command, "two")
    command("decide", "db", "Postgres", "--replace", "--session", "two")
    text = (project.folder / LEDGER).read_text(encoding="utf-8")
    project.write(LEDGER, text.replace("| db: SQLite |", "| db: MySQL |"))

    command("done", "the parser", "--session", "one")

    rows = parse_ledger((project.folder / LEDGER).read_text(encoding="utf-8")).decisions
    assert [one.decision for one in rows] == ["db: SQLite", "db-2: MySQL"]
    assert decisions(command)["db"] == "Postgres"


@pytest.mark.requirement("C151")
def test_merging_refuses_nothing_and_the_last_decision_holds(command: Caller, project: Project) -> None:
    put_event(project.folder, "2026-01-11T11:00:00Z", "amber", decisions=(Pair(key="db", value="SQLite"),))
    put_event(project.folder, "2026-01-11T11:30:00Z", "birch", decisions=(Pair(key="db", value="Postgres"),))

    assert command("view", "list", "decisions").out.startswith("db: Postgres\n")
