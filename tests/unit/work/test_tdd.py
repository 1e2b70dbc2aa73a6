"""A session works test-first: phases, notes, durations, warnings, skips, through hooks and commands."""

import json
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine, parse_journal
from passdown.core.formats.ledgers import TddPhase
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import fold_journal
from passdown.core.work.operations import read_operations
from passdown.core.work.tdd import (
    DOCUMENTATION,
    NO_TESTS,
    NOT_ASKED_FOR,
    NOTES,
    SWITCHED_OFF,
    Cycle,
    is_test_file,
)
from passdown.engines.files.journals import FileJournals
from passdown.services.work.tdd import choose_cycle, end_cycle
from passdown.settings import FILE_NAME
from tests.support.gits import Project, make_started
from tests.support.projects import stop_clock
from tests.support.sessions import LEDGER, NOON
from tests.unit.hooks.test_hooks import HOST, Stage

RED, GREEN, REFACTOR = TddPhase.RED, TddPhase.GREEN, TddPhase.REFACTOR


class Desk(Stage):
    """A host whose model edits files, runs tests and commits, each at a minute of its own."""

    hour = 11
    minute = 0

    def _line(self, kind: str, content: object, **more: object) -> None:
        self.minute += 1
        line = {
            "type": kind,
            "message": {"role": kind, "content": content},
            "uuid": f"u-{self.minute}",
            "timestamp": f"2026-01-11T{self.hour}:{self.minute:02}:00.000Z",
            "sessionId": HOST,
            "cwd": str(self.root),
            **more,
        }
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def _tool(self, name: str, given: dict[str, object], said: str, *, is_error: bool = False) -> None:
        call = f"toolu_{self.minute}"
        self._line("assistant", [{"type": "tool_use", "id": call, "name": name, "input": given}])
        result = {"type": "tool_result", "tool_use_id": call, "content": said, "is_error": is_error}
        self._line("user", [result])

    def edit(self, path: str) -> None:
        """Write a file."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{self.minute}\n", encoding="utf-8")
        self._tool("Write", {"file_path": str(file), "content": "x"}, "written")

    def test(self, code: int = 0) -> None:
        """Run the tests."""
        said = f"Exit code {code}\nfailed" if code else "1 passed"
        self._tool("Bash", {"command": "pytest -q"}, said, is_error=bool(code))

    def commit(self, number: int) -> None:
        """Commit; only the host saw it."""
        name = f"{number:07x}"
        self._tool("Bash", {"command": "git commit -m x"}, f"[main {name}] x\n 1 file changed")

    def notice(self, answer: dict[str, Any]) -> str:
        """Return what the hook told the user."""
        return str(answer.get("systemMessage", ""))

    def phases(self) -> list[dict[str, Any]]:
        """Return the phases of the session."""
        return list(json.loads(self.command("tdd", "--json").out)["phases"])

    def notes(self, task: str) -> str:
        """Return the note of a task on the board."""
        return str(json.loads(self.command("task", "show", task, "--json").out)["task"]["task"]["note"])

    def metrics(self) -> dict[str, Any]:
        """Return what was measured."""
        return dict(json.loads(self.command("metrics", "--json").out))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Desk:
    """Give a session with a task on a track, at noon of a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    folder = make_started(tmp_path / "project").folder
    (folder / FILE_NAME).touch()
    (folder / "tests").mkdir()
    (folder / "tests" / "test_old.py").touch()
    desk = Desk(folder, monkeypatch, capsys)
    desk.call("SessionStart", source="startup")
    desk.write("hello")
    desk.call("Stop")  # the first commit is not the session's work
    return desk


def _claim(desk: Desk, title: str = "Parse dates", *flags: str) -> str:
    made = desk.command("task", "add", title, "--json")
    assert made.code == 0, made.err
    task = str(json.loads(made.out)["task"]["task"])
    done = desk.command("claim", task, *flags)
    assert done.code == 0, done.err
    return task


@pytest.mark.requirement("R175", "R176", "R177", "R178", "R179", "R173", "R219", "C103", "G8", "R11")
def test_one_task_is_worked_on_test_first_without_naming_it(desk: Desk) -> None:
    desk.command("track", "bind", "dates_20260111")
    task = _claim(desk)
    desk.edit("tests/test_dates.py")
    desk.test(1)
    desk.call("Stop")
    state = next((desk.root / ".conductor").glob("session-state_*.json"))
    assert json.loads(state.read_text())["tddPhase"] == "RED"
    assert "tdd_phase: RED" in (desk.root / LEDGER).read_text(encoding="utf-8")

    desk.edit("src/dates.py")
    desk.test(0)
    desk.edit("src/dates.py")
    desk.test(0)
    desk.commit(1)
    answer = desk.call("Stop")

    assert "order" not in desk.notice(answer)
    assert json.loads(state.read_text())["tddPhase"] == "REFACTOR"
    found = desk.phases()
    assert [(one["phase"], one["task"], one["began"]) for one in found] == [
        ("RED", task, "2026-01-11T11:02:00Z"),
        ("GREEN", task, "2026-01-11T11:08:00Z"),
        ("REFACTOR", task, "2026-01-11T11:14:00Z"),
    ]
    assert [one["why"] for one in found] == [
        "tests/test_dates.py was written",
        "pytest -q: exit 0",
        "commit 0000001",
    ]
    (journal,) = (desk.root / ".git" / "passdown" / "journal").iterdir()
    assert journal.read_text("utf-8").count('"kind":"operation","text":"update"') == 3  # no hook did it
    updates = [
        one for one in read_operations("", parse_journal(journal.read_text("utf-8")).lines) if one.note
    ]
    assert [one.tries for one in updates] == [0, 0, 0]
    desk.command("claim")
    assert desk.notes(task).splitlines() == [NOTES[phase] for phase in (RED, GREEN, REFACTOR)]
    assert desk.metrics()["tdd_mean_durations"] == {"GREEN": 360.0, "RED": 360.0}

    done = desk.command("close", task)
    assert done.code == 0, done.err
    assert json.loads(state.read_text())["tddPhase"] is None
    assert desk.metrics()["tdd_mean_durations"]["REFACTOR"] == 46 * 60
    assert "mean duration of REFACTOR: 2760.0" in desk.command("metrics").out


@pytest.mark.requirement("R173")
@pytest.mark.parametrize(("flags", "phases"), [((), ["RED"]), (("--tdd",), ["RED"]), (("--no-tdd",), [])])
def test_checkpoints_are_on_unless_a_flag_turns_them_off(
    desk: Desk, flags: tuple[str, ...], phases: list[str]
) -> None:
    _claim(desk, "Parse dates", *flags)
    desk.edit("tests/test_dates.py")
    desk.call("Stop")

    assert [one["phase"] for one in desk.phases()] == phases
    phase = phases[0] if phases else "null"
    assert f"\ntdd_phase: {phase}\n" in (desk.root / LEDGER).read_text(encoding="utf-8")


def test_the_notes_are_those_of_the_seed() -> None:
    assert [*NOTES.values()] == [
        "IN_PROGRESS: RED phase - writing failing test",
        "IN_PROGRESS: GREEN phase - making test pass",
        "IN_PROGRESS: REFACTOR phase - cleaning up code",
    ]


@pytest.mark.requirement("C103")
def test_lines_that_come_after_the_last_turn_end_are_read_when_the_session_is_resumed(desk: Desk) -> None:
    task = _claim(desk)
    desk.edit("tests/test_dates.py")
    desk.call("Stop")
    desk.test(0)  # written after the hook had read; then the host was killed

    desk.call("SessionStart", source="resume")
    desk.call("Stop")

    assert [(one["phase"], one["task"]) for one in desk.phases()] == [("RED", task), ("GREEN", task)]


@pytest.mark.requirement("C103", "R178")
def test_a_phase_can_be_stated_and_is_noted_at_once(desk: Desk) -> None:
    task = _claim(desk)

    red = desk.command("tdd", "red")

    assert red.code == 0
    assert red.out.endswith(f" is now in RED ({task})\n  noted on the task: {NOTES[RED]}\n")
    assert desk.notes(task) == NOTES[RED]
    again = json.loads(desk.command("tdd", "red", "--json").out)
    assert (again["changed"], again["phase"]) == (False, "RED")
    late = desk.command("tdd", "refactor")
    assert "unusual order: REFACTOR after RED, expected GREEN" in late.err
    green = json.loads(desk.command("tdd", "--json", "green").out)
    assert green["warning"] == "GREEN after REFACTOR, expected RED"
    assert desk.notes(task).splitlines() == [NOTES[RED], NOTES[REFACTOR], NOTES[GREEN]]
    assert "phase: GREEN\n" in desk.command("tdd").out


@pytest.mark.requirement("G8")
def test_an_unusual_order_is_told_at_the_end_of_the_turn(desk: Desk) -> None:
    desk.command("track", "bind", "dates_20260111")
    desk.test(0)

    answer = desk.call("Stop")

    assert "test-first order: GREEN after nothing, expected RED" in desk.notice(answer)
    desk.test(1)
    desk.test(0)
    desk.commit(1)
    desk.test(0)
    desk.test(1)
    assert "test-first order: RED after GREEN" in desk.notice(desk.call("Stop"))
    assert [one["phase"] for one in desk.phases()] == ["GREEN", "RED", "GREEN", "REFACTOR", "RED"]


@pytest.mark.requirement("R174", "R179", "C7", "C103")
def test_why_a_cycle_is_not_followed_is_said_once_for_each_task(desk: Desk) -> None:
    task = _claim(desk, "Write the changelog")
    assert DOCUMENTATION in desk.command("tdd").out
    assert DOCUMENTATION not in desk.command("claim", task).err
    desk.edit("tests/test_dates.py")
    desk.call("Stop")
    assert desk.phases() == []

    desk.command("close", task)
    made = json.loads(desk.command("task", "add", "Parse dates", "--json").out)["task"]["task"]
    assert SWITCHED_OFF.partition(".")[0] in desk.command("claim", made, "--no-tdd").err
    both = desk.command("claim", made, "--tdd", "--no-tdd")
    assert (both.code, "cannot be combined" in both.err) == (2, True)
    assert "phase: none" in desk.command("tdd").out
    desk.test(1)
    desk.call("Stop")
    assert desk.phases() == []
    assert desk.command("claim", made, "--tdd").err == ""
    desk.test(1)
    desk.call("Stop")
    assert [one["phase"] for one in desk.phases()] == ["RED"]


@pytest.mark.requirement("R174", "C7")
def test_the_setting_can_make_it_an_option(desk: Desk) -> None:
    (desk.root / FILE_NAME).write_text("[tdd]\ndefault = false\n", encoding="utf-8")
    done = desk.command("track", "bind", "dates_20260111")
    assert NOT_ASKED_FOR in " ".join(done.err.split())
    desk.test(1)
    desk.call("Stop")
    assert desk.phases() == []

    assert desk.command("track", "bind", "dates_20260111", "--tdd").err == ""
    desk.test(1)
    desk.call("Stop")

    assert [one["phase"] for one in desk.phases()] == ["RED"]


@pytest.mark.requirement("R179")
def test_without_test_files_it_begins_with_the_first(desk: Desk) -> None:
    (desk.root / "tests" / "test_old.py").unlink()

    done = desk.command("track", "bind", "dates_20260111", "--tdd")

    assert NO_TESTS in done.err
    desk.edit("web/dates.spec.ts")
    desk.call("Stop")
    assert [(one["phase"], one["why"]) for one in desk.phases()] == [("RED", "web/dates.spec.ts was written")]


@pytest.mark.requirement("R179")
def test_events_are_not_searched_for_test_files(desk: Desk) -> None:
    events = desk.root / "thoughts/shared/handoffs/events"
    events.mkdir(parents=True)
    (desk.root / "tests" / "test_old.py").rename(events / "test_old.py")

    assert NO_TESTS in desk.command("track", "bind", "dates_20260111", "--tdd").err


@pytest.mark.requirement("R179")
def test_nothing_is_said_of_the_cycle_where_nobody_asked_for_it(desk: Desk) -> None:
    (desk.root / "tests" / "test_old.py").unlink()

    bound = desk.command("track", "bind", "dates_20260111")
    made = json.loads(desk.command("task", "add", "Write the changelog", "--json").out)["task"]["task"]
    claimed = desk.command("claim", made)

    assert (bound.code, bound.err) == (0, "")
    assert (claimed.code, claimed.err) == (0, "")
    assert DOCUMENTATION in desk.command("tdd").out
    assert NO_TESTS in desk.command("track", "bind", "dates_20260111", "--tdd").err


@pytest.mark.requirement("R179")
def test_what_a_test_file_is() -> None:
    ours = ["a_test.go", "a.test.ts", "test_a.py", "x/a_spec.rb", "x/a.spec.js", "spec_a.lua"]
    others = ["tests/conftest.py", "latest.py", "node_modules/x/a.test.js", ".venv/test_a.py", "contest_a.py"]

    assert all(map(is_test_file, ours))
    assert not any(map(is_test_file, others))


def test_a_session_without_track_and_task_has_no_phases(desk: Desk) -> None:
    desk.test(1)
    desk.call("Stop")

    shown = desk.command("tdd")

    assert shown.out.startswith("phase: none\nnot followed: the session has no track or task")


def test_a_task_that_the_agent_claims_itself_has_a_cycle_of_its_own(desk: Desk) -> None:
    desk.command("track", "bind", "dates_20260111")
    desk.test(1)
    desk._tool("Bash", {"command": "bd update bd-7 --status in_progress"}, "✓ Updated issue: bd-7")
    desk.test(0)
    desk.call("Stop")

    assert [(one["phase"], one["task"]) for one in desk.phases()] == [("RED", None), ("GREEN", "bd-7")]


@pytest.mark.requirement("C101")
def test_a_paper_that_is_written_makes_its_gate_due(desk: Desk) -> None:
    desk.command("track", "bind", "dates_20260111")
    desk.edit("conductor/tracks/dates_20260111/plan.md")

    notice = desk.notice(desk.call("Stop"))

    assert "the gate plan-structure is due" in notice
    assert "passdown gate run plan-structure" in notice
    brief = desk.command("brief").out
    assert "due: `passdown gate run plan-structure` > " in brief
    assert "current_gate: plan-structure" in (desk.root / LEDGER).read_text(encoding="utf-8")
    desk.edit("conductor/tracks/dates_20260111/plan.md")
    assert "due" not in desk.notice(desk.call("Stop"))


@pytest.mark.requirement("C101")
def test_a_paper_that_was_judged_after_it_was_written_is_not_due(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = "conductor/tracks/dates_20260111/plan.md"
    desk.command("track", "bind", "dates_20260111")
    desk.edit(plan)
    desk.command("gate", "run", "plan-structure")

    assert "due" not in desk.notice(desk.call("Stop"))
    assert "due" not in desk.command("gate").out

    stop_clock(monkeypatch, "2026-01-11T14:00:00Z")
    desk.hour = 13
    desk.edit(plan)
    assert "the gate plan-structure is due" in desk.notice(desk.call("Stop"))


@pytest.mark.requirement("C101")
def test_a_refactoring_that_is_done_makes_the_execution_due(desk: Desk) -> None:
    desk.command("track", "bind", "dates_20260111")
    for code in (1, 0):
        desk.test(code)
    desk.commit(1)
    assert "due" not in desk.notice(desk.call("Stop"))

    desk.commit(2)

    assert "the gate plan-execution is due (a refactoring is done)" in desk.notice(desk.call("Stop"))


@pytest.mark.requirement("C103", "C99")
@pytest.mark.skipif(os.name != "posix", reason="the program that stands for bd is a script")
def test_no_hook_starts_the_tracker(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.root / ".beads").mkdir()
    (desk.root / ".beads" / "beads.db").touch()
    (desk.root / FILE_NAME).write_text('[tracker]\nkind = "beads"\n', encoding="utf-8")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "bd").write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n", encoding="utf-8")
    (tools / "bd").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    desk.command("track", "bind", "dates_20260111", "--task", "bd-7")
    (tmp_path / "started").unlink(missing_ok=True)  # a verb may start it
    for _ in range(5):
        desk.test(1)
        desk.test(0)

    for event in ("Stop", "PreCompact", "SessionEnd"):
        desk.call(event)

    assert not (tmp_path / "started").exists()
    (journal,) = (desk.root / ".git" / "passdown" / "journal").iterdir()
    assert journal.read_text("utf-8").count('"kind":"operation","text":"update"') == 10


@pytest.mark.requirement("C103")
def test_ten_phases_in_one_turn_are_one_write(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    task = _claim(desk)
    for _ in range(5):
        desk.test(1)
        desk.test(0)
    writes: list[str] = []
    extend = FileJournals.extend

    def count(self: FileJournals, name: str, make: Callable[[int], Sequence[JournalLine]]) -> object:
        writes.append(name)
        return extend(self, name, make)

    monkeypatch.setattr(FileJournals, "extend", count)

    desk.call("Stop")

    assert len(writes) == 1
    assert [one["phase"] for one in desk.phases()] == ["RED", "GREEN"] * 5
    desk.command("claim")
    assert len(desk.notes(task).splitlines()) == 10
    assert desk.metrics()["counts"]["tdd_cycle"] == 9


def test_what_is_no_sign_of_a_phase_changes_nothing(desk: Desk) -> None:
    desk.command("track", "bind", "dates_20260111")
    desk.test(1)
    desk.commit(1)
    call = f"toolu_{desk.minute}"
    run = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "pytest -q"}}
    desk._line("assistant", [run])
    killed = {"type": "tool_result", "tool_use_id": call, "content": "killed"}
    desk._line("user", [killed], toolUseResult={"interrupted": True})
    desk._tool("Bash", {"command": "bd close bd-7"}, "✓ Closed bd-7")
    desk.call("Stop")

    assert [one["phase"] for one in desk.phases()] == ["RED"]


def test_a_commit_that_only_git_tells_of_counts(desk: Desk) -> None:
    desk.command("track", "bind", "dates_20260111")
    desk.test(1)
    desk.test(0)
    project = Project(folder=desk.root)
    project.git("commit", "--allow-empty", "--quiet", "--message=quietly")

    desk.call("Stop")

    assert [one["phase"] for one in desk.phases()] == ["RED", "GREEN", "REFACTOR"]


def test_a_phase_without_a_task_is_noted_nowhere(desk: Desk) -> None:
    alone = json.loads(desk.command("tdd", "red", "--json").out)
    assert (alone["phase"], alone["note"], alone["task"]) == ("RED", None, None)

    desk.command("track", "bind", "dates_20260111", "--no-tdd")
    assert desk.command("track", "bind", "dates_20260111", "--no-tdd").err == ""

    assert json.loads(desk.command("tdd", "--json").out)["followed"] is False


def test_the_cycle_of_no_task_is_over_when_one_is_closed(desk: Desk) -> None:
    task = _claim(desk)
    desk.command("tdd", "red")

    assert desk.command("close", task).code == 0

    assert desk.metrics()["counts"]["tdd_cycle"] == 1


def test_whether_it_is_followed_is_not_asked_without_work(desk: Desk) -> None:
    workspace, account = desk.project(), desk.own()

    assert choose_cycle(workspace, account, choice=None) == (account, "")
    assert [*end_cycle(workspace, account)] == []


SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("began", "seconds"),
    [('"2026-01-11T11:59:50.000Z"', 15.0), ('"2026-01-11T13:00:00.000Z"', 0.0), ('""', 5.0), ("17", 5.0)],
)
def test_a_phase_lasts_from_when_it_is_said_to_have_begun(began: str, seconds: float) -> None:
    fact = Fact(kind=FactKind.TDD, text="RED", at=NOON, agent="amber", others=(("began", began),))
    account = fold_journal("s-1", [JournalLine(seq=1, fact=fact)])

    cycle = Cycle(account, NOON + SECOND)
    cycle.run_test("pytest", 0, NOON + 5 * SECOND)

    assert [(one.phase, one.seconds) for one in cycle.ended] == [("RED", seconds)]


def test_a_cycle_that_begins_and_is_refactored_once_stays_refactored() -> None:
    cycle = Cycle(fold_journal("s-1", []), NOON)
    assert cycle.began == NOON

    for number in range(2):
        cycle.write_file("tests/test_x.py", NOON)
        cycle.run_test("pytest", 0, NOON)
        assert cycle.has_refactored is bool(number)
        cycle.commit("abc", NOON)
        cycle.write_file(f"tests/test_{number}.py", NOON)
        assert cycle.has_refactored
