"""The gates of a track through the command: from SPEED to escalation, commands without a shell, finishing."""

import json
import re
import sys
from pathlib import Path

import pytest

from passdown.core.formats.ledgers import Validation, parse_ledger
from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.engines.process import SystemProcesses
from passdown.settings import FILE_NAME
from tests.support.commands import Caller, Done
from tests.support.gits import Project, make_started
from tests.support.people import sit_down
from tests.support.projects import stop_clock
from tests.support.sessions import LEDGER

TRACK = "auth_20260111"
TRACK_FOLDER = f"conductor/tracks/{TRACK}"
PYTHON = f"'{sys.executable}'"
PLAN = f"""# Plan

## Epic 1: Tokens

- [x] 1.1 Sign tokens (M)
  - Criteria: a token can be verified
  - Deliverable: `src/tokens.py`
- [x] 1.2 Refresh tokens (S), depends on 1.1
  - Criteria: an old token is refused
  - Deliverable: `src/tokens.py`

## Acceptance criteria

- [x] Tokens expire

## Verification

```bash
{PYTHON} -c 'print("fine")'
{PYTHON} -c pass && {PYTHON} -c 'import pathlib; pathlib.Path("ran").touch()'
```
"""


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a session on a track with papers, at noon of a day in January."""
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    project = make_started(tmp_path / "project")
    papers = project.folder / TRACK_FOLDER
    papers.mkdir(parents=True)
    (papers / "design.md").write_text("# Design\n", encoding="utf-8")
    (papers / "spec.md").write_text("# Spec\n", encoding="utf-8")
    (papers / "plan.md").write_text(PLAN, encoding="utf-8")
    (project.folder / "src").mkdir()
    (project.folder / "src" / "tokens.py").touch()
    (project.folder / ".gitignore").write_text(".conductor/\nconductor/sessions/\n", encoding="utf-8")
    caller = Caller(monkeypatch, capsys, project.folder)
    caller("start", "--nickname", "amber")
    caller("track", "bind", TRACK)
    return caller


def _use_full(command: Caller) -> None:
    (command.folder / FILE_NAME).write_text('[gates]\nmode = "full"\n', encoding="utf-8")


def _validation(command: Caller) -> Validation:
    ledger = parse_ledger((command.folder / LEDGER).read_text(encoding="utf-8"))
    assert ledger.problems == ()
    assert ledger.validation is not None
    return ledger.validation


def _run(command: Caller, gate: str, *more: str) -> Done:
    return command("gate", "run", gate, "--yes", *more)


def _break(command: Caller) -> None:
    plan = command.folder / TRACK_FOLDER / "plan.md"
    broken = PLAN.replace("""print("fine")""", "raise SystemExit(3)")
    plan.write_text(broken, encoding="utf-8")


@pytest.mark.requirement("R44", "R45", "R46", "R47", "R48", "R49", "R31", "C101", "C102", "G7")
def test_a_track_goes_through_its_gates_and_escalates(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Follow seed 000: SPEED warns, FULL stops, the third failure asks a person."""
    assert "due: `passdown gate run plan-structure`" in command("brief").out
    told = json.loads(command("brief", "--json").out)
    assert (told["track"], "plan-structure" in told["due_gates"]) == (TRACK, True)
    listed = command("gate").out
    assert listed.splitlines()[1].split() == ["design", "-", "due:", "design.md"]

    asked = command("gate", "run", "design")
    assert (asked.code, "Review design yourself" in asked.out) == (0, True)
    assert "not checked: conductor/product.md is missing" in asked.out
    assert command("gate", "pass", "design", "--note", "All checks passed").code == 0
    assert command("gate", "fail", "spec", "--note", "Missing edge case coverage").code == 0
    assert _run(command, "plan-structure").code == 0
    _break(command)
    speed = _run(command, "plan-execution")
    assert (speed.code, "WARN plan-execution" in speed.out) == (0, True)
    assert _validation(command) == Validation(gates_passed=("design", "plan-structure"))

    _use_full(command)
    for attempt in (1, 2):
        failed = _run(command, "plan-execution")
        assert (failed.code, f"attempt {attempt} of 3" in failed.out) == (1, True)
        assert _validation(command).retries == attempt
    third = json.loads(_run(command, "plan-execution", "--json").out)
    assert (third["status"], third["attempts"]) == ("FAIL", 3)
    assert third["question"].startswith(f"BLOCKED: the gate plan-execution of {TRACK} failed 3 times")
    assert third["question"].count("exit 3") == 3
    assert third["commands"][0]["exit"] == 3

    for _ in range(2):
        brief = command("brief").out
        assert re.search(r"Blockers:\n(.*\n)*.*> BLOCKED: the gate plan-execution", brief), brief
        command("publish")
    (command.folder / TRACK_FOLDER / "plan.md").write_text(PLAN, encoding="utf-8")
    waiting = _run(command, "plan-execution")
    assert (waiting.code, "a person decides" in waiting.out) == (1, True)
    assert command("gate", "pass", "plan-execution", "--note", "I say so").code == 1
    sit_down(monkeypatch)
    assert command("answer", "BLOCKED: the gate", "Fix the first command, then go on").code == 0

    passed = _run(command, "plan-execution")
    assert (passed.code, "PASS plan-execution" in passed.out) == (0, True)
    assert "BLOCKED" not in command("brief").out.split("Answers:")[0]
    assert _validation(command) == Validation(gates_passed=("design", "plan-structure", "plan-execution"))
    history = parse_ledger((command.folder / LEDGER).read_text(encoding="utf-8")).gate_history
    assert [(row.gate, row.status.value) for row in history] == [
        ("design", "PASS"),
        ("spec", "WARN"),
        ("plan-structure", "PASS"),
        ("plan-execution", "WARN"),
        *([("plan-execution", "FAIL")] * 3),
        ("plan-execution", "PASS"),
    ]
    command("publish")
    assert " facts found: " in command("certify").out


@pytest.mark.requirement("R48")
@pytest.mark.parametrize(
    ("gate", "verb"),
    [
        ("design", ("fail", "design", "--note", "no product")),
        ("plan-execution", ("run", "plan-execution", "--yes")),
        ("completion", ("run", "completion", "--yes")),
    ],
)
def test_a_gate_that_fails_halts_the_work_after_two_retries(
    command: Caller, gate: str, verb: tuple[str, ...]
) -> None:
    _use_full(command)
    _break(command)

    first, second, third, fourth = (command("gate", *verb) for _ in range(4))

    assert {one.code for one in (first, second, third, fourth)} == {1}
    assert f"FAIL {gate}" in first.out
    assert first.out.endswith("attempt 1 of 3\n")
    assert second.out.endswith("attempt 2 of 3\n")
    halted = f"BLOCKED: the gate {gate} of {TRACK} failed 3 times, a person must decide"
    assert halted in third.out.replace("\n  ", " ")
    assert halted in fourth.out.replace("\n  ", " ")
    assert f"> {halted}" in command("brief").out


def test_the_list_of_gates_has_columns_at_any_terminal(command: Caller) -> None:
    command("gate", "pass", "design", "--note", "Read it")
    command("gate", "fail", "spec", "--note", "No edge cases; " + "and more of it " * 5)

    listed = command("gate").out.splitlines()

    assert listed[1:] == [
        "design          PASS  Read it",
        "spec            WARN  No edge cases; and more of it and more of it and more of",
        "                      it and more of it and more of it",
        "plan-structure  -     due: plan.md",
        "plan-execution  -",
        "completion      -",
    ]


@pytest.mark.requirement("C102")
def test_commands_run_only_if_somebody_agreed(command: Caller) -> None:
    done = command("gate", "run", "plan-execution")

    assert done.code == 1
    assert f"to run: {PYTHON} -c pass" in " ".join(done.out.split())
    assert "confirm at a terminal, or pass --yes" in done.err
    assert not (command.folder / "ran").exists()
    unasked = command("gate", "run", "plan-execution", "--json")
    assert (unasked.code, json.loads(unasked.out)["status"]) == (1, None)
    assert command("gate", "list").out.count("plan-execution  -") == 1

    assert _run(command, "plan-execution").code == 0

    assert (command.folder / "ran").exists()
    shown = command("gate", "show", "plan-execution").out
    assert "PASS" in shown
    assert "runs: " in shown


@pytest.mark.requirement("C102")
def test_what_commands_print_stays_here_and_their_codes_are_published(command: Caller) -> None:
    _run(command, "plan-execution")
    command("publish")

    event = next((command.folder / "thoughts/shared/handoffs/events").rglob("*.md")).read_text("utf-8")

    assert "exit 0" in event
    assert "fine\n" not in event
    journal = next((command.folder / ".git/passdown/journal").iterdir()).read_text("utf-8")
    assert '"because":"fine\\n"' in journal


@pytest.mark.requirement("C102")
def test_a_line_for_a_shell_is_refused_and_named(command: Caller) -> None:
    plan = command.folder / TRACK_FOLDER / "plan.md"
    plan.write_text(PLAN.replace(f"{PYTHON} -c pass &&", "touch x; cat x | wc -l >"), encoding="utf-8")

    done = _run(command, "plan-execution")

    assert "not run: touch x; cat x | wc -l >" in " ".join(done.out.split())
    assert "hint: it needs a shell: a pipe; run it by hand" in " ".join(done.out.split())
    assert "WARN plan-execution" in done.out
    assert not (command.folder / "x").exists()


@pytest.mark.requirement("G7")
def test_a_missing_paper_stops_in_any_mode(command: Caller) -> None:
    (command.folder / TRACK_FOLDER / "plan.md").unlink()

    failed = _run(command, "plan-structure")
    warned = _run(command, "plan-structure", "--validate-warn")

    assert (failed.code, "plan.md is missing" in failed.out) == (1, True)
    assert (warned.code, "WARN plan-structure" in warned.out) == (0, True)
    assert json.loads(command("gate", "show", "plan-structure", "--json").out)["status"] == "WARN"


def test_a_word_needs_a_note_and_counts_only_where_nothing_can_be_counted(command: Caller) -> None:
    assert command("gate", "pass", "design").code == 2
    assert "gate run completion" in command("gate", "pass", "completion", "--note", "x").err
    assert "gates are design" in command("gate", "run", "nonsense").err
    command("track", "unbind")
    assert "track bind TRACK" in command("gate").err


@pytest.mark.requirement("R36", "C101", "G7")
def test_a_track_is_finished_through_completion(command: Caller) -> None:
    _use_full(command)
    stopped = command("track", "finish")
    assert (stopped.code, "FAIL completion" in stopped.out) == (1, True)
    assert "6 uncommitted files (.gitignore, …)" in stopped.out
    assert json.loads(command("track", "--json").out)["track"] == TRACK
    command("track", "finish", "--json")
    third = command("track", "finish")
    assert "BLOCKED: the gate completion" in " ".join(third.out.split())
    again = command("track", "finish")
    assert (again.code, "waits for a person" in again.err) == (1, True)
    assert json.loads(command("track", "finish", "--json").out)["status"] is None

    assert command("track", "finish", "--validate-warn").code == 0

    assert json.loads(command("track", "--json").out)["track"] is None


@pytest.mark.requirement("G7", "R21")
def test_speed_warns_and_finishes_and_a_flag_asks_nothing(command: Caller) -> None:
    (command.folder / TRACK_FOLDER / "plan.md").unlink()
    warned = command("track", "finish")
    assert (warned.code, "completion: warning: plan.md is missing" in warned.err) == (0, True)
    command("track", "bind", TRACK)

    quiet = command("track", "finish", "--no-validate")

    assert (quiet.code, quiet.err) == (0, "")


def test_a_track_without_papers_and_gates_is_finished_as_before(command: Caller) -> None:
    command("track", "bind", "plain_20260111")

    done = command("track", "finish", "--json")

    assert (done.code, done.err) == (0, "")


@pytest.mark.requirement("G7")
@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ((("- [x] 1.1", "1.1"), ("- [x] 1.2", "1.2"), ("- [x] T", "T")), "it has no tasks"),
        ((("Criteria: ", ""), ("(M)", "")), "tasks score"),
        ((("depends on 1.1", "depends on 9.9"), ("1.2 Refresh tokens", "1.1 Sign tokens")), ""),
        (
            (("```bash", "```python"),),
            "no commands in a code block under a heading with the word Verification",
        ),
    ],
)
def test_the_structure_of_a_plan_is_counted(
    command: Caller, change: tuple[tuple[str, str], ...], finding: str
) -> None:
    text = PLAN
    for old, new in change:
        assert old in text
        text = text.replace(old, new)
    (command.folder / TRACK_FOLDER / "plan.md").write_text(text, encoding="utf-8")

    done = _run(command, "plan-structure")

    assert done.code == 0
    assert (finding in " ".join(done.out.split()), "PASS" in done.out) == (True, not finding)


@pytest.mark.requirement("G7")
def test_epics_deliverables_and_criteria_are_counted(command: Caller) -> None:
    plan = command.folder / TRACK_FOLDER / "plan.md"
    bad = "\n".join(f"- [ ] same (S) criteria `a.b`, depends on {number}" for number in range(12))
    plan.write_text(f"## Epic\n{bad}\n## Verification\n```\ntrue\n```\n", encoding="utf-8")
    assert "epics score 0.50" in _run(command, "plan-structure").out

    plan.write_text(
        PLAN.replace("tokens.py", "gone.py").replace("[x] Tokens", "[ ] Tokens"), encoding="utf-8"
    )
    shown = " ".join(_run(command, "plan-execution").out.split())
    assert "deliverables are missing: src/gone.py" in shown
    assert "0 of 1 acceptance criteria are met" in shown

    plan.write_text("## Epic\n- [ ] one\n", encoding="utf-8")
    assert "the plan has no commands" in _run(command, "plan-execution").out
    assert "1 of 1 plan items are open" in " ".join(_run(command, "completion").out.split())


@pytest.mark.requirement("G7")
def test_a_track_that_is_done_and_pushed_passes(command: Caller, tmp_path: Path) -> None:
    _use_full(command)
    project = Project(folder=command.folder)
    project.git("init", "--quiet", "--bare", str(tmp_path / "hub.git"))
    project.git("remote", "add", "origin", str(tmp_path / "hub.git"))
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=all")
    unpushed = command("gate", "run", "completion")
    assert (unpushed.code, " unpushed commits" in unpushed.out) == (1, True)
    project.git("push", "--quiet", "origin", "HEAD:main")

    done = command("track", "finish")

    assert (done.code, "completion: passed: plan items done: 2" in done.err) == (0, True)


def test_a_track_whose_name_is_no_folder_has_no_papers(command: Caller) -> None:
    command("track", "bind", "../other")

    assert "due" not in command("gate").out
    assert command("track", "finish").code == 0


def test_a_task_that_is_held_is_not_complete(command: Caller) -> None:
    command("task", "add", "More", "--id", "t-more")
    command("claim", "t-more")

    assert "the session still holds t-more" in " ".join(_run(command, "completion").out.split())


def test_a_command_that_does_not_end_is_named(command: Caller) -> None:
    plan = command.folder / TRACK_FOLDER / "plan.md"
    plan.write_text("## Verification\n```\nno-such-program\n```\n", encoding="utf-8")

    done = _run(command, "plan-execution")

    assert "`no-such-program`: it could not be started" in " ".join(done.out.split())
