"""Checkpoints by command: a phase begins, is validated or fails, and a later session goes on from it."""

import json
import os
import sys
from pathlib import Path

import pytest

from passdown.core.formats.events import parse_event
from passdown.core.kinds import FactKind
from passdown.engines.process import SystemProcesses
from tests.support.projects import EVENTS, VIEW
from tests.support.sessions import LEDGER
from tests.unit.coordination.test_coordination_clocks import find_process
from tests.unit.hooks.test_hooks import HOST, context
from tests.unit.sessions.test_ordinary_sessions import Day

STREAM = "thoughts/shared/handoffs/parser/current.md"
PASSES = f"{sys.executable} -c pass"
CHECKS = f"{sys.executable} check.py"


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Day:
    """Give a session that works on a track."""
    return begin_day(tmp_path / "project", monkeypatch, capsys)


def begin_day(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Day:
    made = Day(folder, monkeypatch, capsys)
    made.set_up()
    for words in (("start",), ("track", "bind", "parser"), ("goal", "Parse it")):
        assert made.command(*words).code == 0
    return made


def stream(day: Day) -> str:
    return (day.project.folder / STREAM).read_text(encoding="utf-8")


def write_check(day: Day, code: int) -> None:
    (day.project.folder / "check.py").write_text(f"raise SystemExit({code})\n", encoding="utf-8")


@pytest.mark.requirement("R90", "R91", "C104")
def test_a_phase_begins_with_its_time_and_is_validated_only_if_its_test_passes(day: Day) -> None:
    begun = day.command("checkpoint", "start", "1", "--name", "Grammar")

    assert begun.out.splitlines() == ["Phase 1 (Grammar): → IN_PROGRESS", f"updated {STREAM}"]
    assert f"- Phase 1 (Grammar): → IN_PROGRESS (started {day.at:%Y-%m-%dT%H:%M:%SZ})" in stream(day)
    validated = day.command("checkpoint", "validate", "1", "--test", PASSES, "--yes")
    assert validated.code == 0
    assert "Phase 1 (Grammar): ✓ VALIDATED\n" in validated.out
    assert "- Phase 1 (Grammar): ✓ VALIDATED" in stream(day)
    assert "checkpoints:" in "".join(day.events())


@pytest.mark.requirement("R92", "C104")
def test_a_phase_whose_test_fails_says_so_in_the_resume_context_and_in_briefs(day: Day) -> None:
    write_check(day, 3)

    failed = day.command(
        "checkpoint", "validate", "2", "--name", "Lexer", "--test", CHECKS, "--yes", "--json"
    )

    assert failed.code == 1
    assert json.loads(failed.out)["state"] == "failed"
    assert f"- Phase 2 (Lexer): ✗ FAILED ({CHECKS}: exit 3)" in stream(day)
    assert f"- Blockers: Phase 2 (Lexer) failed: {CHECKS}: exit 3" in stream(day)
    assert "Phase 2 (Lexer): failed" in day.command("brief").out
    write_check(day, 0)
    assert day.command("checkpoint", "validate", "2", "--yes").code == 0  # the last test is known
    assert "- Blockers: (none)" in stream(day)


@pytest.mark.requirement("R92", "C104")
def test_a_phase_can_fail_by_word(day: Day) -> None:
    assert day.command("checkpoint", "fail", "3", "the design is wrong", "--name", "Printer").code == 0

    assert "- Phase 3 (Printer): ✗ FAILED (the design is wrong)" in stream(day)
    shown = json.loads(day.command("checkpoint", "show", "--json").out)["phases"]
    assert shown == [{"phase": 3, "name": "Printer", "state": "failed", "detail": "the design is wrong"}]


@pytest.mark.requirement("C102", "C104")
def test_a_test_runs_only_after_somebody_agreed_and_never_with_a_shell(day: Day) -> None:
    refused = day.command("checkpoint", "validate", "1", "--test", PASSES)
    assert refused.code == 1
    assert "the test was not run" in refused.err
    assert not (day.project.folder / STREAM).exists()
    shell = day.command("checkpoint", "validate", "1", "--test", "echo $(touch evil)", "--yes")
    assert shell.code == 1
    assert not (day.project.folder / "evil").exists()
    unknown = day.command("checkpoint", "resume", "nowhere")
    assert (unknown.code, "there is no stream document nowhere" in unknown.err) == (2, True)


@pytest.mark.requirement("C104")
def test_without_any_test_validation_asks_for_one(day: Day) -> None:
    asked = day.command("checkpoint", "validate", "1", "--yes")

    assert asked.code == 2
    assert "no test is known" in asked.err


@pytest.mark.requirement("R94", "R95", "C104")
def test_a_session_goes_on_from_a_checkpoint_only_if_the_test_ends_as_it_did(day: Day) -> None:
    write_check(day, 0)
    day.command("decide", "store", "SQLite")
    day.command("checkpoint", "validate", "1", "--name", "Grammar", "--test", CHECKS, "--yes")
    day.command("publish", "--checkpoint", "2", "--state", "pending", "--name", "Lexer")
    day.command("handoff", "create")
    day.command("end")
    write_check(day, 1)  # the tests changed
    day.pass_time(minutes=5)

    refused = day.command("checkpoint", "resume", "--yes")

    assert refused.code == 1
    assert "not resumed: the test of phase 1 exited with 0 before, now with 1" in refused.err
    assert json.loads(day.command("checkpoint", "resume", "--yes", "--json").out)["exit_code_now"] == 1
    write_check(day, 0)
    resumed = day.command("checkpoint", "resume", "--yes")
    assert resumed.code == 0
    assert resumed.out.splitlines()[0] == f"checkpoint: {STREAM}"
    assert resumed.out.splitlines()[-1].startswith("continue with: Phase 2 (Lexer): ")
    assert "Phase 2 (Lexer): → IN_PROGRESS" in day.command("checkpoint", "show").out
    assert "SQLite" in day.command("brief").out
    assert day.command("checkpoint", "validate", "2", "--yes").code == 0
    over = json.loads(day.command("checkpoint", "resume", "--yes", "--json").out)
    test = {"command": CHECKS, "phase": 2, "exit_code_then": 0, "exit_code_now": 0}
    assert over == {"version": 1, "resumed": True, "next": None, "tests": [test]}


@pytest.mark.requirement("R95", "C104")
def test_a_person_may_go_on_although_the_test_ends_differently(day: Day) -> None:
    write_check(day, 0)
    day.command("checkpoint", "start", "1", "--name", "Grammar")
    day.command("checkpoint", "validate", "1", "--test", CHECKS, "--yes")
    write_check(day, 2)

    assert day.command("checkpoint", "resume", "--yes", "--anyway").code == 0
    assert day.command("checkpoint", "resume").code == 1  # nobody agreed


@pytest.mark.requirement("R76", "R93", "C104")
def test_the_document_of_a_track_follows_decisions_and_compactions(day: Day) -> None:
    day.command("checkpoint", "start", "1", "--name", "Grammar")
    day.command("decide", "store", "SQLite")
    assert "- store: SQLite" in stream(day)
    day.command("end")
    day.host.call("SessionStart", source="startup")
    day.command("track", "bind", "parser")
    day.command("now", "the printer")

    day.host.call("PreCompact", trigger="manual")

    assert "[->] the printer" in stream(day)
    (day.project.folder / STREAM).write_text("<<<<<<< ours\n", encoding="utf-8")
    day.host.call("PreCompact", trigger="manual")  # what must be mended first is left alone
    assert stream(day) == "<<<<<<< ours\n"
    assert "the printer" in context(day.host.call("SessionStart", source="compact"))


@pytest.mark.requirement("R76", "C104")
@pytest.mark.parametrize(("source", "session"), [("clear", "another"), ("resume", HOST)])
def test_the_document_of_a_track_is_brought_up_to_date_when_its_session_goes_on(
    day: Day, source: str, session: str
) -> None:
    day.command("end")
    process = find_process(os.getpid())  # a host that runs
    day.monkeypatch.setattr(SystemProcesses, "find_host", lambda _: process)
    day.host.call("SessionStart", source="startup")
    for words in (("track", "bind", "parser"), ("checkpoint", "start", "1"), ("now", "the printer")):
        day.command(*words)
    day.host.call("SessionEnd", reason=source)  # a host waits a second at most
    assert "the printer" not in stream(day)

    day.host.call("SessionStart", source=source, session_id=session)

    assert "[->] the printer" in stream(day)


@pytest.mark.requirement("C104")
def test_a_session_without_a_track_saves_phases_in_events_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    day = Day(tmp_path / "project", monkeypatch, capsys)
    day.set_up()
    day.command("start")

    assert day.command("checkpoint", "start", "1").out == "Phase 1: → IN_PROGRESS\n"
    assert "in_progress" in "".join(day.events())
    assert day.command("checkpoint", "validate", "1", "--yes").code == 2


@pytest.mark.requirement("C104")
@pytest.mark.parametrize(
    ("name", "told"),
    [("Not Kebab", "is not a valid stream name"), ("events", "is already used as a folder")],
)
def test_a_name_that_no_stream_can_have_is_refused_as_by_a_handoff(day: Day, name: str, told: str) -> None:
    for words in (("checkpoint", "start", "1"), ("checkpoint", "fail", "1", "why"), ("handoff", "create")):
        refused = day.command(*words, "--stream", name)
        assert (refused.code, told in refused.err) == (2, True)

    assert not (day.project.folder / EVENTS / "current.md").exists()


@pytest.mark.requirement("R94", "C104")
def test_nobody_goes_on_from_a_document_with_conflict_markers(day: Day) -> None:
    day.command("checkpoint", "start", "1", "--name", "Grammar")
    day.command("end")
    text = stream(day)
    (day.project.folder / STREAM).write_text(f"{text}<<<<<<< ours\n", encoding="utf-8")

    for verb in ("resume", "show"):
        refused = day.command("checkpoint", verb, "parser")
        assert (refused.code, "has merge conflict markers" in refused.err) == (1, True)


@pytest.mark.requirement("R76")
def test_a_decision_is_recorded_though_no_document_can_have_the_name_of_its_track(day: Day) -> None:
    day.command("track", "unbind")
    day.command("track", "bind", "events")

    assert day.command("decide", "store", "SQLite").code == 0
    assert not (day.project.folder / EVENTS / "current.md").exists()


BEGIN = ("checkpoint", "start", "1", "--name", "Grammar")
PUBLISH = ("publish", "--checkpoint", "1", "--state", "in_progress", "--name", "Grammar")


@pytest.mark.requirement("C104")
def test_publishing_a_checkpoint_is_the_same_as_beginning_the_phase(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    left: list[tuple[object, ...]] = []
    for number, words in enumerate((BEGIN, PUBLISH)):
        day = begin_day(tmp_path / str(number), monkeypatch, capsys)
        done = day.command(*words)
        assert (done.code, done.out.splitlines()[-1]) == (0, f"updated {STREAM}")
        assert "committed as" in done.err
        (fact,) = day.host.accounts()[0].of(FactKind.CHECKPOINT)
        (event,) = map(parse_event, day.events())
        shown = [line for line in stream(day).splitlines() if line.startswith("- Phase ")]
        view = (day.project.folder / VIEW).read_text(encoding="utf-8")
        left.append((fact.text, fact.key, fact.because, fact.others, event.type, event.reason, shown))
        assert "Phase 1 (Grammar): → IN_PROGRESS" in view

    assert left[0] == left[1]


@pytest.mark.requirement("C104")
@pytest.mark.parametrize("words", [BEGIN, PUBLISH])
def test_a_saved_checkpoint_names_its_document_event_and_commit(day: Day, words: tuple[str, ...]) -> None:
    answer = json.loads(day.command(*words, "--json").out)

    assert (answer["stream"], answer["event"][:3]) == (STREAM, "ev-")
    assert answer["commit"] == day.project.git("rev-parse", "HEAD").strip()


@pytest.mark.requirement("C104")
@pytest.mark.parametrize("words", [BEGIN, PUBLISH])
def test_a_checkpoint_is_refused_while_its_document_must_be_mended(day: Day, words: tuple[str, ...]) -> None:
    day.command("handoff", "create")
    (day.project.folder / STREAM).write_text("<<<<<<< ours\n", encoding="utf-8")
    before = list(day.events())

    refused = day.command(*words)

    assert refused.code == 1
    assert f"{STREAM}:1: has merge conflict markers" in refused.err
    assert day.host.accounts()[0].of(FactKind.CHECKPOINT) == ()
    assert list(day.events()) == before


@pytest.mark.requirement("C104")
@pytest.mark.parametrize("phase", ["0", "lexer", "1234567890"])
def test_a_checkpoint_that_numbers_no_phase_is_refused(day: Day, phase: str) -> None:
    for words in (("checkpoint", "start", phase), ("publish", "--checkpoint", phase)):
        assert day.command(*words).code == 2

    assert day.host.accounts()[0].of(FactKind.CHECKPOINT) == ()


@pytest.mark.parametrize("words", [BEGIN, PUBLISH])
def test_a_checkpoint_says_what_it_took_in_from_the_ledger(day: Day, words: tuple[str, ...]) -> None:
    ledger = day.project.folder / LEDGER
    text = ledger.read_text(encoding="utf-8")
    ledger.write_text(text.replace("Parse it", "Parse all of it"), encoding="utf-8")

    assert "recorded 1 manual edit" in day.command(*words).err
    assert "Parse all of it" in stream(day)
