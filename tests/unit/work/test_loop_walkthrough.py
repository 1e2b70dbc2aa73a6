"""The loops of the seed from the first idea to the end, as an agent and a person go through them (S3).

The agent calls the command; the person opens the ledger in an editor. Between the two there is only the file.
"""

import json
from pathlib import Path

import pytest

from passdown.core.formats.loops import PLACEHOLDER
from tests.support.commands import Caller, Done
from tests.support.gits import Project
from tests.support.people import sit_down, stand_up
from tests.support.projects import put, stop_clock

CHANGE = "changes/habits"
LOOPS = ("ideation", "proposal", "specs", "discovery", "tasks", "plan-01", "implement-01", "reconcile")
CRITIQUE = """\
Revised the goals.

### Archimedes Critique

**Contradictions**: None
**Missing Cases**: What if somebody misses days?
**Risk Flags**: A reset could feel punishing
**Suggestions**: Grace days

### Changes Made

- Added grace days"""


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give an agent with a session."""
    call = Caller(monkeypatch, capsys, project.folder)
    assert call("start", "--nickname", "forge").code == 0
    return call


class Person:
    """Somebody with an editor."""

    def __init__(self, folder: Path) -> None:
        """Sit down in front of a checkout."""
        self.folder = folder

    def write(self, path: str, text: str) -> None:
        """Write a file."""
        put(self.folder, f"{CHANGE}/{path}", text)

    def read(self, path: str) -> str:
        """Read a file."""
        return (self.folder / CHANGE / path).read_text(encoding="utf-8")

    def change(self, path: str, old: str, new: str, which: int = -1) -> None:
        """Change a part of a file: of several equal ones the last, unless another is asked for."""
        pieces = self.read(path).split(old)
        assert len(pieces) > 1, self.read(path)
        at = which if which >= 0 else len(pieces) - 2
        self.write(path, old.join(pieces[: at + 1]) + new + old.join(pieces[at + 1 :]))

    def answer(self, loop: str, text: str) -> None:
        """Write into the slot of the last turn, in place of the placeholder."""
        self.change(f"loops/{loop}.md", PLACEHOLDER, text)


@pytest.fixture
def person(project: Project) -> Person:
    """Give a person."""
    return Person(project.folder)


def brief(agent: Caller) -> list[str]:
    """Give the lines of feedback in a brief."""
    lines = agent("brief").out.splitlines()
    return [
        line.partition("> ")[2] for line in lines if "> habits/" in line and " turn " in line and ": " in line
    ]


def ok(done: Done) -> str:
    """Give what a command printed that went well."""
    assert done.code == 0, done.err
    return done.out


@pytest.mark.requirement("R142", "R143", "R144", "R145", "R146", "R147", "R148", "R154", "R155", "R158")
def test_a_person_and_an_agent_go_through_all_eight_loops_in_manual_mode(
    monkeypatch: pytest.MonkeyPatch, agent: Caller, person: Person
) -> None:
    # The agent explores an idea, and stops: the person answers in an editor.
    ok(agent("loop", "open", "habits", "ideation"))
    ok(agent("loop", "append", "habits", "ideation", "Offline first. How important is sync?"))
    person.answer("ideation", "Not important. Privacy is.")
    assert brief(agent) == ["habits/ideation turn 1: Not important. Privacy is."]

    # It goes on with the feedback before it; the turn that follows answers it.
    shown = ok(agent("loop", "continue", "habits"))
    assert "> Offline first. How important is sync?" in shown
    assert "> habits/ideation turn 1: Not important. Privacy is." in shown
    assert "stop after this turn; a person answers in the ledger" in shown
    assert "answered the feedback on turn 1" in ok(
        agent("loop", "append", "habits", "ideation", "No sync; everything stays on the device.")
    )
    assert brief(agent) == []

    # The person leaves the placeholder: that means to go on.
    assert "no open feedback" in ok(agent("loop", "continue", "habits"))

    # The proposal waits for the person's approval, which they give at their terminal.
    ok(agent("loop", "open", "habits", "proposal"))
    ok(agent("loop", "append", "habits", "proposal", "A habit tracker without a server."))
    refused = agent("loop", "open", "habits", "specs")
    assert (refused.code, "the proposal of habits is not approved" in refused.err) == (1, True)
    sit_down(monkeypatch)
    ok(agent("loop", "approve", "habits"))
    stand_up(monkeypatch)

    # Specs, discovery, tasks.
    ok(agent("loop", "open", "habits", "specs"))
    ok(agent("loop", "append", "habits", "specs", "Wrote specs/streaks.md."))
    person.write("specs/streaks.md", "# Streaks\n")
    ok(agent("loop", "open", "habits", "discovery"))
    ok(agent("loop", "append", "habits", "discovery", "SQLite is enough."))
    ok(agent("loop", "open", "habits", "tasks"))
    ok(agent("loop", "append", "habits", "tasks", "One task."))
    person.write("tasks.md", "# Tasks\n\n## [ ] 01: Store habits\n\n### Validation\n\n- tests\n")

    # A plan marks its task; the implementation says what it did and how it ended.
    ok(agent("loop", "open", "habits", "plan-01"))
    ok(agent("loop", "append", "habits", "plan-01", "One table."))
    assert "## [-] 01: Store habits" in person.read("tasks.md")
    refused = agent("loop", "open", "habits", "implement-01")
    assert "task 01 of habits has no plan" in refused.err
    person.write("plans/01.md", "# Plan\n")
    ok(agent("loop", "open", "habits", "implement-01"))
    assert "do not continue on your own" in ok(agent("loop", "continue", "habits"))
    refused = agent("loop", "open", "habits", "reconcile")
    assert "tasks of habits are open: 01" in refused.err
    report = ("--result", "SUCCESS", "--changed", "src/db.py=one table", "--validation", "$ pytest\n3 passed")
    ok(agent("loop", "append", "habits", "implement-01", "Done as planned.", *report))
    assert "## [x] 01: Store habits" in person.read("tasks.md")

    # Reconcile.
    ok(agent("loop", "open", "habits", "reconcile"))
    ok(agent("loop", "append", "habits", "reconcile", "The docs say what was done.", "--complete"))
    assert "- Status: complete" in person.read("state.md")
    assert "habits is reconciled" in ok(agent("loop", "continue", "habits"))

    # Every ledger ends each turn with the slot and the separator, and the check finds nothing wrong.
    status = json.loads(ok(agent("loop", "status", "habits", "--json")))["changes"][0]
    assert {one["loop"] for one in status["loops"]} == {*LOOPS}
    for loop in LOOPS:
        assert person.read(f"loops/{loop}.md").endswith(f"## User Feedback\n\n{PLACEHOLDER}\n\n---\n")
    ok(agent("loop", "finish", "habits"))
    assert "## Phase\n\nfinished\n" in person.read("state.md")
    assert ok(agent("check")) == ""
    assert " facts found: " in ok(agent("certify"))


@pytest.mark.requirement("R156", "R157")
def test_the_ledger_of_an_implementation_has_the_parts_of_the_seed(agent: Caller, person: Person) -> None:
    person.write("tasks.md", "## [-] 01: Store habits\n")
    person.write("plans/01.md", "# Plan\n")
    ok(agent("loop", "open", "other", "ideation"))
    state = (person.folder / "changes/other/state.md").read_text(encoding="utf-8")
    person.write("state.md", state.replace("Status: draft", "Status: approved"))
    ok(agent("loop", "open", "habits", "implement-01"))

    report = (
        "--changed",
        "a|b.py=x | y",
        "--validation",
        "$ pytest\n```\n2 failed",
        "--deviation",
        "No index",
    )
    ok(agent("loop", "append", "habits", "implement-01", "Half of it.", "--result", "partial", *report))

    text = person.read("loops/implement-01.md")
    assert text.startswith("# Implementation: Task 01\n")
    assert text.partition("Half of it.\n\n")[2] == (
        "## Changes Made\n\n| File | Change |\n|------|--------|\n| a\\|b.py | x \\| y |\n\n"
        "## Validation Results\n\n````bash\n$ pytest\n```\n2 failed\n````\n\n"
        "## Deviations from Plan\n\n- No index\n\n## Result\n\nPARTIAL\n\n"
        f"## User Feedback\n\n{PLACEHOLDER}\n\n---\n"
    )
    assert "## [-] 01" in person.read("tasks.md")
    assert "implement-01: 1 turn, PARTIAL" in ok(agent("loop", "status", "habits"))


@pytest.mark.requirement("R151", "R152", "R153")
def test_auto_mode_begins_with_the_approval_and_stops_at_its_caps(agent: Caller, person: Person) -> None:
    ok(agent("loop", "open", "habits", "proposal", "--lane", "quick", "--auto"))
    assert "auto mode starts once a person approves" in ok(agent("loop", "continue"))
    refused = agent("loop", "open", "habits", "tasks")
    assert "is not approved" in refused.err
    refused = agent("loop", "open", "habits", "specs")
    assert "the quick lane, which has no specs" in refused.err
    ok(agent("loop", "append", "habits", "proposal", "Three times revised.", "--cycles", "3"))

    # The cap is about the cycles before one turn, never about the number of turns.
    refused = agent("loop", "append", "habits", "proposal", "Again.", "--cycles", "4")
    assert refused.code == 1
    assert "4 internal cycles exceed the limit of 3 in auto mode" in refused.err
    for number in range(2, 8):
        ok(agent("loop", "append", "habits", "proposal", f"Turn {number}.", "--cycles", "3"))
    person.change("state.md", "Status: draft", "Status: approved")
    assert "auto mode: continue through implementation" in ok(agent("loop", "continue"))

    # What it cannot decide, it asks.
    ok(agent("loop", "append", "habits", "proposal", "Stuck.", "--cycles", "9", "--escalate", "Sync or not?"))
    assert "habits/proposal turn 8: Sync or not?" in agent("brief").out
    person.write("tasks.md", "## [-] 01: Store habits\n")
    person.write("plans/01.md", "# Plan\n")
    ok(agent("loop", "open", "habits", "implement-01"))
    fixed = ("--result", "FAILED", "--cycles")
    ok(agent("loop", "append", "habits", "implement-01", "No.", *fixed, "20"))
    refused = agent("loop", "append", "habits", "implement-01", "No.", *fixed, "21")
    assert "21 validations exceed the limit of 20 in auto mode" in refused.err


@pytest.mark.requirement("R151")
def test_in_manual_mode_the_number_of_cycles_is_advice(agent: Caller) -> None:
    ok(agent("loop", "open", "habits", "ideation"))

    done = agent("loop", "append", "habits", "ideation", "Much revised.", "--cycles", "5")

    assert done.code == 0
    assert "5 internal cycles exceed the limit of 3 in manual mode" in done.err


@pytest.mark.requirement("R147", "R154", "R155")
def test_a_person_who_edits_an_earlier_turn_is_heard_and_nothing_of_theirs_is_touched(
    agent: Caller, person: Person
) -> None:
    ok(agent("loop", "open", "habits", "ideation"))
    for text in ("First.", "Second.", "Third."):
        ok(agent("loop", "append", "habits", "ideation", text))

    # Two turns back, and in the agent's own words, too.
    person.change("loops/ideation.md", PLACEHOLDER, "One more thing: no ads.", which=0)
    person.change("loops/ideation.md", "Second.", "Second, as I understand it.")
    before = person.read("loops/ideation.md")
    assert brief(agent) == ["habits/ideation turn 1: One more thing: no ads."]
    ok(agent("loop", "continue", "habits"))
    ok(agent("loop", "append", "habits", "ideation", "No ads."))

    after = person.read("loops/ideation.md")
    assert after.startswith(before)
    assert "Answers the feedback of turn 1 (" in after.removeprefix(before)
    assert brief(agent) == []


def test_a_person_who_answers_twice_is_heard_twice(agent: Caller, person: Person) -> None:
    ok(agent("loop", "open", "habits", "ideation"))
    ok(agent("loop", "append", "habits", "ideation", "Which store?"))
    person.answer("ideation", "SQLite.")
    ok(agent("loop", "continue", "habits"))

    # They change their mind before the agent has answered: the first word does not count any more.
    person.change("loops/ideation.md", "SQLite.", "PostgreSQL.")
    added = ok(agent("loop", "append", "habits", "ideation", "SQLite it is."))
    assert "it answers" not in added
    assert brief(agent) == ["habits/ideation turn 1: PostgreSQL."]
    ok(agent("loop", "append", "habits", "ideation", "PostgreSQL it is.", "--answers", "1"))
    assert brief(agent) == []

    # And once more, after it was answered: below the line, where nobody expects it.
    text = person.read("loops/ideation.md")
    person.write("loops/ideation.md", f"{text}\nAnd name it habits.db.\n")
    assert brief(agent) == ["habits/ideation turn 3: And name it habits.db."]


def test_feedback_that_was_replaced_counts_again_when_that_is_undone(
    monkeypatch: pytest.MonkeyPatch, agent: Caller, person: Person
) -> None:
    ok(agent("loop", "open", "habits", "ideation"))
    ok(agent("loop", "append", "habits", "ideation", "Which store?"))
    person.answer("ideation", "SQLite.")
    ok(agent("loop", "continue", "habits"))
    person.change("loops/ideation.md", "SQLite.", "PostgreSQL.")
    ok(agent("loop", "continue", "habits"))

    stop_clock(monkeypatch, "2026-01-11T12:05:00Z")
    # Another branch is checked out, in which the person wrote something else.
    person.change("loops/ideation.md", "PostgreSQL.", "SQLite.")
    ok(agent("loop", "continue", "habits"))

    assert brief(agent) == ["habits/ideation turn 1: SQLite."]


@pytest.mark.requirement("R149")
def test_a_structured_critique_stays_in_its_turn_and_is_shown_to_the_next(
    agent: Caller, person: Person
) -> None:
    ok(agent("loop", "open", "habits", "ideation"))
    ok(agent("loop", "append", "habits", "ideation", CRITIQUE))
    person.answer("ideation", "Two grace days.")

    shown = ok(agent("loop", "continue", "habits"))
    checked = agent("check", f"{CHANGE}/loops/ideation.md")

    assert f"## Turn 1\n\n{CRITIQUE}\n\n## User Feedback\n" in person.read("loops/ideation.md")
    assert [line for line in CRITIQUE.splitlines() if line and f"> {line}\n" not in shown] == []
    assert brief(agent) == ["habits/ideation turn 1: Two grace days."]
    assert checked.code == 0, checked


@pytest.mark.requirement("R150")
def test_a_loop_of_three_hundred_turns_goes_on_like_any_other(agent: Caller, person: Person) -> None:
    ok(agent("loop", "open", "habits", "ideation"))
    ok(agent("loop", "append", "habits", "ideation", "Said 1."))
    first = person.read("loops/ideation.md")
    head, _, turn = first.partition("## Turn 1\n")
    numbered = (
        f"## Turn {number}\n{turn.replace('Said 1.', f'Said {number}.')}\n" for number in range(1, 301)
    )
    person.write("loops/ideation.md", head + "".join(numbered))
    person.answer("ideation", "Go on.")

    shown = ok(agent("loop", "continue", "habits"))
    added = ok(agent("loop", "append", "habits", "ideation", "Said 301."))

    assert "> Said 300." in shown
    assert "habits/ideation turn 300: Go on." in shown
    assert "answered the feedback on turn 300" in added
    assert person.read("loops/ideation.md").count("## Turn ") == 301
    last = person.read("loops/ideation.md").partition("\n## Turn 301\n")[2]
    assert last.startswith("\nAnswers the feedback of turn 300 (")
    assert "\n\nSaid 301.\n\n## User Feedback\n" in last
    assert agent("check", f"{CHANGE}/loops/ideation.md").code == 0
