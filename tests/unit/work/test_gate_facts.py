"""The result of a gate goes the whole way of a fact: ledger, event, view, brief, certificate and search."""

import json
from pathlib import Path

import pytest

from passdown.core.facts import GateStatus
from passdown.core.formats.events import EventGate, parse_event, render_event
from passdown.core.formats.ledgers import GateResult, Ledger, Validation, parse_ledger
from passdown.core.merge.event_facts import parse_event_facts
from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.engines.process import SystemProcesses
from passdown.records import replace
from tests.support.commands import Caller
from tests.support.gits import make_started
from tests.support.projects import put_event, stop_clock
from tests.support.sessions import LEDGER

HEAD = "| Gate | Status | Time | Notes |\n|------|--------|------|-------|\n"
ROW = "| design | ✅ PASS | 10:15 | All checks passed |\n"
FAILED = "| plan-execution | ❌ FAIL | 11:00 | Test coverage 60%, required 80% |\n"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a session on a track, at noon of a day in January."""
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    caller = Caller(monkeypatch, capsys, make_started(tmp_path / "project").folder)
    caller("start", "--nickname", "amber")
    caller("track", "bind", "auth_20260111")
    return caller


def _edit(command: Caller, old: str, new: str) -> None:
    path = command.folder / LEDGER
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, text
    path.write_text(text.replace(old, new), encoding="utf-8")


def _write_rows(command: Caller, rows: str) -> None:
    path = command.folder / LEDGER
    text = path.read_text(encoding="utf-8")
    before = text.partition("## Validation History\n")[0].rstrip("\n")
    path.write_text(f"{before}\n\n## Validation History\n\n{HEAD}{rows}", "utf-8")


def _ledger(command: Caller) -> Ledger:
    ledger = parse_ledger((command.folder / LEDGER).read_text(encoding="utf-8"))
    assert ledger.problems == ()
    return ledger


@pytest.mark.requirement("R16", "R30", "R31", "R46", "R47", "C100", "C101")
def test_a_result_written_by_hand_is_kept_and_goes_all_the_way(command: Caller) -> None:
    _write_rows(command, ROW + FAILED)
    command("heartbeat")

    ledger = _ledger(command)
    assert ledger.gate_history == (
        GateResult(gate="design", status=GateStatus.PASS, time="10:15", notes="All checks passed"),
        GateResult(
            gate="plan-execution",
            status=GateStatus.FAIL,
            time="11:00",
            notes="Test coverage 60%, required 80%",
        ),
    )
    assert ledger.validation == Validation(
        gates_passed=("design",),
        current_gate="plan-execution",
        retries=1,
        last_failure="Test coverage 60%, required 80%",
    )
    shown = "> plan-execution of auth_20260111: FAIL - Test coverage 60%, required 80%\n"
    assert shown in command("brief").out
    command("publish")
    event = json.loads(command("log", "--json").out)["events"][0]["data"]
    assert [(one["gate"], one["status"], one["track"]) for one in event["gates"]] == [
        ("design", "PASS", "auth_20260111"),
        ("plan-execution", "FAIL", "auth_20260111"),
    ]
    assert "### Gates\n- plan-execution of auth\\_20260111: FAIL" in command("view").out.replace("_2", "\\_2")
    assert "design of auth_20260111: PASS - All checks passed\n" in command("view", "list", "gates").out
    assert "coverage 60%" in command("search", "coverage").out
    assert " facts found: " in command("certify").out
    listed = json.loads(command("view", "list", "gates", "--json").out)["facts"]
    assert {one["gate"]: one["status"] for one in listed} == {"design": "PASS", "plan-execution": "FAIL"}


@pytest.mark.requirement("C101", "R45")
def test_an_edited_row_takes_the_place_of_the_one_before(command: Caller) -> None:
    _write_rows(command, FAILED + FAILED.replace("❌ FAIL", "✅ PASS").replace("11:00", "11:30"))
    command("heartbeat")
    assert _ledger(command).validation == Validation(gates_passed=("plan-execution",))

    _edit(command, "❌ FAIL | 11:00 | Test coverage 60%, required 80%", "❌ FAIL | 11:05 | coverage was low")
    command("heartbeat")
    command("done", "something")

    ledger = _ledger(command)
    assert [(row.status, row.time, row.notes) for row in ledger.gate_history] == [
        ("FAIL", "11:05", "coverage was low"),
        ("PASS", "11:30", "Test coverage 60%, required 80%"),
    ]
    assert ledger.validation == Validation(gates_passed=("plan-execution",))
    command("publish")
    assert "PASS" in command("view", "list", "gates").out
    assert " facts found: " in command("certify").out


def test_a_removed_row_leaves_the_ledger(command: Caller) -> None:
    _write_rows(command, ROW + FAILED)
    command("heartbeat")

    _edit(command, FAILED, "")
    command("heartbeat")

    ledger = _ledger(command)
    assert [row.gate for row in ledger.gate_history] == ["design"]
    assert ledger.validation == Validation(gates_passed=("design",))
    assert " facts found: " in command("certify").out


@pytest.mark.requirement("R16", "C101")
def test_the_validation_block_can_be_edited(command: Caller) -> None:
    _edit(command, "gates_passed: []", "gates_passed: [design, spec]")
    _edit(command, "current_gate: null", "current_gate: plan-structure")
    command("heartbeat")
    assert _ledger(command).validation == Validation(
        gates_passed=("design", "spec"), current_gate="plan-structure"
    )

    _edit(command, "gates_passed: [design, spec]", "gates_passed: [spec]")
    _edit(command, "last_failure: null", "last_failure: no commands")
    command("heartbeat")

    ledger = _ledger(command)
    assert ledger.validation == Validation(
        gates_passed=("spec",), current_gate="plan-structure", retries=1, last_failure="no commands"
    )
    assert [row.status for row in ledger.gate_history if row.gate == "design"] == ["PASS", "WARN"]


def test_gates_of_another_track_are_not_those_of_this_one(command: Caller) -> None:
    _write_rows(command, ROW)
    command("heartbeat")

    command("track", "bind", "other_20260111")

    ledger = _ledger(command)
    assert (ledger.gate_history, ledger.validation) == ((), Validation())
    command("track", "bind", "auth_20260111")
    assert _ledger(command).validation == Validation(gates_passed=("design",))


@pytest.mark.requirement("R46")
def test_a_track_keeps_its_gates_when_another_session_works_on_it(command: Caller) -> None:
    _write_rows(command, ROW)
    command("heartbeat")
    command("end")

    command("start", "--nickname", "blue")
    command("track", "bind", "auth_20260111")

    ledger = _ledger(command)
    assert ledger.validation == Validation(gates_passed=("design",))
    assert ledger.gate_history == ()
    command("done", "something")
    command("publish")
    assert json.loads(command("log", "--json").out)["events"][0]["data"]["gates"] == []
    assert " facts found: " in command("certify").out


def test_values_that_do_not_fit_a_gate_are_kept_and_named() -> None:
    text = (
        "---\nts: 2026-01-10T14:00:00Z\nagent: a\nbranch: main\ntype: x\nreason: y\n---\n\n"
        "gates:\n- gate: design\n  status: maybe\n  at: soon\n  more: 1\n"
    )

    event = parse_event(text)

    assert [(one.field, one.problem) for one in event.problems] == [
        ("gates/status", "is not a valid value: maybe"),
        ("gates/at", "is not a valid value: soon"),
    ]
    assert isinstance(event.gates[0], EventGate)
    again = parse_event(render_event(replace(event, source=None)))
    assert again.gates == event.gates
    source = parse_event_facts(text.encode(), "event.md")
    assert source is not None
    assert [(fact.key, fact.text, fact.at) for fact in source.facts] == [("design", "maybe", source.rank.at)]


@pytest.mark.requirement("C100")
def test_an_answer_to_feedback_is_not_forgotten_after_many_events(command: Caller) -> None:
    command("tell", "The export drops umlauts")
    command("publish")
    command("answer", "The export", "It writes UTF-8 now")
    command("publish")
    command("end")
    for number in range(150):
        ts = f"2026-01-11T12:{number // 60:02}:{number % 60:02}.500Z"
        put_event(command.folder, ts, f"b-{number}", now="x")
    for journal in command.folder.glob(".git/passdown/journal/*"):
        journal.unlink()

    assert "Unanswered feedback" not in command("brief").out
    assert "The export drops umlauts → It writes UTF-8 now" in command("brief").out
