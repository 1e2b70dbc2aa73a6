"""What a person or another program writes into a ledger or a state file stays, or is told."""

import json
from pathlib import Path

import pytest

from passdown.core.formats.ledgers import LedgerDecision, parse_ledger
from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import call_at_noon, stop_clock
from tests.support.sessions import LEDGER
from tests.unit.ledgers.test_cli_ledger import edit, read_ledger, read_state


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a way to call the command."""
    monkeypatch.setenv("TZ", "UTC0")
    return call_at_noon(monkeypatch, capsys, make_started(tmp_path / "project").folder)


def rows(command: Caller) -> list[tuple[str, str, str]]:
    """Give the rows of Key Decisions."""
    ledger = parse_ledger((command.folder / LEDGER).read_text(encoding="utf-8"))
    return [(one.decision, one.reasoning, one.when) for one in ledger.decisions]


ROW = "| db: SQLite | - | 12:00 |\n"


@pytest.mark.requirement("C26")
def test_the_time_of_a_row_that_was_added_by_hand_stays(command: Caller) -> None:
    command("decide", "db", "SQLite")
    edit(command, ROW, f"{ROW}| cache: none | - | 03:14 |\n| Ruled out: Redis | slow | 3 o'clock |\n")

    assert "recorded 2 manual edits" in command("done", "the parser").err

    kept = [
        ("db: SQLite", "", "12:00"),
        ("cache: none", "", "03:14"),
        ("Ruled out: Redis (slow)", "", "3 o'clock"),
    ]
    assert rows(command) == kept
    (command.folder / LEDGER).unlink()  # it is made again from the journal
    command("done", "the lexer")
    assert rows(command) == kept


@pytest.mark.requirement("C26")
def test_the_time_of_a_row_that_was_changed_by_hand_stays_until_it_is_decided_again(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("decide", "db", "SQLite")
    command("decide", "cache", "none")
    edit(command, ROW, ROW.replace("12:00", "09:05"))

    assert command("done", "the parser").err == ""
    assert rows(command) == [("db: SQLite", "", "09:05"), ("cache: none", "", "12:00")]
    edit(command, "| cache: none | - | 12:00 |", "| cache: none | simple | 08:01 |")
    assert "recorded 1 manual edit " in command("done", "the lexer").err
    assert rows(command) == [("db: SQLite", "", "09:05"), ("cache: none", "simple", "08:01")]

    stop_clock(monkeypatch, "2026-01-11T12:05:00Z")
    command("decide", "db", "SQLite")
    assert ("db: SQLite", "", "12:05") in rows(command)
    edit(command, "| cache: none | simple |", "| cache: none | simpler |")
    command("heartbeat")
    assert ("cache: none", "simpler", "08:01") in rows(command)


@pytest.mark.requirement("C29")
def test_a_second_item_under_now_moves_to_next_and_that_is_said(command: Caller) -> None:
    command("now", "Write the parser")
    command("next", "Write docs")
    edit(command, "- Write the parser", "- Write the parser\n- Write the lexer")
    line = (command.folder / LEDGER).read_text(encoding="utf-8").splitlines().index("### Now") + 1

    said = command("done", "the design").err

    moved = f"{LEDGER}:{line}: Now has more than one item; kept the first and moved the others to Next"
    assert moved in " ".join(said.split())
    ledger = read_ledger(command)
    assert (ledger.now, ledger.next) == ("Write the parser", ("Write the lexer", "Write docs"))
    assert command("done", "the tests").err == ""


def change_state(command: Caller, **members: object) -> Path:
    """Change the state file as another program would."""
    (path,) = (command.folder / ".conductor").glob("session-state_*.json")
    state = {**json.loads(path.read_text(encoding="utf-8")), **members}
    path.write_text(json.dumps(state, indent=2), encoding="utf-8")
    return path


@pytest.mark.requirement("C5")
def test_a_change_of_the_state_file_by_another_program_is_told_and_what_is_not_ours_stays(
    command: Caller,
) -> None:
    command("start", "--track", "auth")
    path = change_state(command, trackId="habits", currentTask="bd-7", theirs=[1])

    said = " ".join(command("done", "the parser").err.split())

    name = f".conductor/{path.name}"
    assert f"{name}: another program changed trackId to habits and currentTask to bd-7" in said
    assert "`passdown track bind`" in said
    state = read_state(command)
    assert (state["trackId"], state["currentTask"], state["theirs"]) == ("auth", None, [1])
    assert command("done", "the lexer").err == ""


@pytest.mark.requirement("C5")
@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"lastUpdated": "2026-01-11T12:30:00Z"}, "lastUpdated to 2026-01-11T12:30:00Z"),
        ({"tddPhase": "RED", "mode": "MA"}, "mode to MA and tddPhase to RED"),
        ({"modeLockedAt": None}, "modeLockedAt to null"),
        ({"agentId": "somebody"}, "agentId to somebody"),
        ({"currentTasks": ["a", "b"]}, 'currentTasks to ["a", "b"]'),
    ],
)
def test_a_changed_member_of_the_state_file_is_named(
    command: Caller, members: dict[str, object], said: str
) -> None:
    command("start")
    before = read_state(command)
    change_state(command, **members)

    assert said in " ".join(command("done", "the parser").err.split())
    assert {**read_state(command), "lastUpdated": ""} == {**before, "lastUpdated": ""}


@pytest.mark.requirement("C5")
def test_a_state_file_that_is_no_longer_json_is_written_again_and_that_is_said(command: Caller) -> None:
    command("start")
    (path,) = (command.folder / ".conductor").glob("session-state_*.json")
    path.write_text("{", encoding="utf-8")

    said = " ".join(command("done", "the parser").err.split())

    assert f".conductor/{path.name}: rewritten, because it was not valid JSON" in said
    assert read_state(command)["mode"] == "SA"


@pytest.mark.requirement("C5")
def test_a_state_file_that_is_behind_the_journal_is_no_edit(command: Caller) -> None:
    command("start")
    (path,) = (command.folder / ".conductor").glob("session-state_*.json")
    before = path.read_bytes()
    command("track", "bind", "auth", "--task", "bd-1")
    path.write_bytes(before)  # as if the last command had been killed before it wrote this file

    assert command("done", "the parser").err == ""
    assert read_state(command)["currentTask"] == "bd-1"


@pytest.mark.requirement("C5")
@pytest.mark.parametrize("members", [{"tddPhase": "PINK"}, {"lastUpdated": "2026-01-10T12:00:00Z"}])
def test_what_stays_in_a_state_file_or_is_older_than_the_session_is_not_told(
    command: Caller, members: dict[str, object]
) -> None:
    command("start")
    change_state(command, **members)

    assert command("done", "the parser").err == ""
    assert read_state(command)["tddPhase"] == members.get("tddPhase")


def test_a_row_without_a_time_gets_one(command: Caller) -> None:
    command("decide", "db", "SQLite")
    edit(command, ROW, f"{ROW}| cache: none | - | |\n")

    command("heartbeat")

    assert read_ledger(command).decisions[-1] == LedgerDecision(decision="cache: none", when="12:00")
