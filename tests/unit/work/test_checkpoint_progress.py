"""What checkpoints leave for the next session: what was run, what failed, and where to go on (C155)."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.formats.test_golden import GOLDEN
from tests.unit.sessions.test_ordinary_sessions import Day
from tests.unit.work.test_checkpoint_verbs import STREAM, begin_day, stream

AWS = "AKIA" + "QYLPMN5HHHFPZAM2"
SAME_TEST = f"{sys.executable} first.py"
OTHER_TEST = f"{sys.executable} second.py"
OTHERS_STREAM = "thoughts/shared/handoffs/auth-refactor/current.md"


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Day:
    """Give a session that works on a track."""
    return begin_day(tmp_path / "project", monkeypatch, capsys)


def put(day: Day, name: str, text: str) -> None:
    path = day.project.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def put_test(day: Day, name: str, code: int = 0, says: str = "") -> None:
    """Write a test that says something and exits with a code."""
    put(day, name, f"print({says!r})\nraise SystemExit({code})\n")


def section(text: str, heading: str) -> list[str]:
    """Give the lines below a heading of a document, up to the next one."""
    lines = text.split(f"{heading}\n", 1)[1].splitlines()
    end = next((at for at, line in enumerate(lines) if line.startswith(("#", "---"))), len(lines))
    return [line for line in lines[:end] if line]


def state_of(day: Day) -> dict[str, object]:
    """Give the Validation State of the document."""
    found: dict[str, object] = json.loads("".join(section(stream(day), "#### Validation State")[1:-1]))
    return found


def validate(day: Day, phase: int, name: str, test: str) -> int:
    done = day.command("checkpoint", "validate", str(phase), "--name", name, "--test", test, "--yes")
    return done.code


# --- going on -------------------------------------------------------------------------------------


@pytest.mark.requirement("R94", "C155", through="command")
def test_the_test_of_the_last_validated_phase_runs_again_before_anybody_goes_on(day: Day) -> None:
    put_test(day, "first.py")
    put_test(day, "second.py", 1)
    assert validate(day, 1, "Grammar", SAME_TEST) == 0
    assert validate(day, 2, "Lexer", OTHER_TEST) == 1
    day.command("end")
    (day.project.folder / "first.py").unlink()
    before = stream(day)

    refused = day.command("checkpoint", "resume", "parser", "--yes")

    assert refused.code == 1
    shown = " ".join(refused.out.split())
    assert shown.index(f"to run: {SAME_TEST}") < shown.index(f"to run: {OTHER_TEST}")
    assert "not resumed: the test of phase 1 exited with 0 before, now with 2" in refused.err
    assert stream(day) == before
    assert day.host.accounts()[-1].ended_at is not None
    put_test(day, "first.py")
    resumed = day.command("checkpoint", "resume", "parser", "--yes")
    assert resumed.code == 0
    assert resumed.out.splitlines()[-1].startswith("continue with: Phase 2 (Lexer)")
    assert "- Phase 2 (Lexer): → IN_PROGRESS (started " in stream(day)


@pytest.mark.requirement("R94", "C102", "C155", through="command")
def test_what_runs_again_is_shown_and_needs_somebody_who_agrees(day: Day) -> None:
    put(day, "first.py", "open('ran.txt', 'a').close()\n")
    assert validate(day, 1, "Grammar", SAME_TEST) == 0
    (day.project.folder / "ran.txt").unlink()

    asked = day.command("checkpoint", "resume", "parser")

    assert asked.code == 1
    assert f"to run: {SAME_TEST}" in " ".join(asked.out.split())
    assert "the test was not run, so nothing was done" in asked.err
    assert not (day.project.folder / "ran.txt").exists()


@pytest.mark.requirement("R94", "C155", through="command")
def test_a_checkpoint_is_found_by_the_path_of_its_document_wherever_one_stands(day: Day) -> None:
    put_test(day, "first.py")
    assert validate(day, 1, "Grammar", SAME_TEST) == 0
    put(day, "src/deep/a.py", "")
    paths = (STREAM, f"./{STREAM}", str(day.project.folder / STREAM), f"../../{STREAM}")
    for path in paths:
        is_below = path.startswith("../")
        day.monkeypatch.chdir(day.project.folder / ("src/deep" if is_below else ""))
        resumed = day.command("checkpoint", "resume", path, "--yes")
        assert (resumed.code, resumed.out.splitlines()[0]) == (0, f"checkpoint: {STREAM}")
        assert "Phase 1 (Grammar): ✓ VALIDATED" in day.command("checkpoint", "show", path).out
    assert day.command("checkpoint", "show", STREAM).code == 0  # from the root, though we are below it
    day.monkeypatch.chdir(day.project.folder)
    assert day.command("checkpoint", "start", "2", "--stream", STREAM).out.endswith(f"updated {STREAM}\n")
    for path in ("thoughts/shared/handoffs/none/current.md", "docs/none.md", "/elsewhere/current.md"):
        missing = day.command("checkpoint", "resume", path)
        assert missing.code == 2
        assert path in missing.err
        assert "`passdown handoff list`" in missing.err


@pytest.mark.requirement("R94", "C155", through="command")
def test_a_session_without_a_track_keeps_the_document_that_it_went_on_from(day: Day) -> None:
    put_test(day, "first.py")
    validate(day, 1, "Grammar", SAME_TEST)
    day.command("publish", "--checkpoint", "2", "--state", "pending", "--name", "Lexer")
    day.command("checkpoint", "start", "1", "--stream", "another")
    day.command("end")
    day.command("start", "--fresh")

    assert day.command("checkpoint", "resume", STREAM, "--yes").code == 0

    done = day.command("checkpoint", "validate", "2", "--yes")
    assert done.out.splitlines()[-1] == f"updated {STREAM}"
    assert "- Phase 2 (Lexer): ✓ VALIDATED" in stream(day)
    assert "- Phase 1 (Grammar): ✓ VALIDATED" in stream(day)


@pytest.mark.requirement("R94", "R95", "C155", through="command")
def test_one_goes_on_from_a_document_of_others_by_its_last_test(day: Day) -> None:
    text = (GOLDEN / "stream-example.md").read_text(encoding="utf-8")
    command = "uv run pytest tests/unit/test_session_auth.py -v"
    assert text.count(command) == 1
    put(day, OTHERS_STREAM, text.replace(command, SAME_TEST))
    put_test(day, "first.py", 3)

    refused = json.loads(day.command("checkpoint", "resume", OTHERS_STREAM, "--yes", "--json").out)

    (test,) = refused["tests"]
    assert (refused["resumed"], test["command"], test["exit_code_now"]) == (False, SAME_TEST, 3)
    put_test(day, "first.py")
    resumed = day.command("checkpoint", "resume", OTHERS_STREAM, "--yes")
    assert resumed.out.splitlines()[-1].startswith("continue with: Phase 4 (Login Endpoint)")


@pytest.mark.requirement("R94", "R95", through="command")
def test_a_test_that_was_never_run_may_end_as_it_likes_before_a_phase_is_validated(day: Day) -> None:
    text = stream_of_new(day)
    put(day, STREAM, text.replace("**Test:**", f"**Test:** {SAME_TEST}"))
    put_test(day, "first.py", 1)

    resumed = day.command("checkpoint", "resume", "parser", "--yes")

    assert resumed.code == 0
    assert "exit 1: " in resumed.err
    put(day, STREAM, stream(day).replace('"last_test_exit_code": 1', '"last_test_exit_code": null'))
    day.command("publish", "--checkpoint", "1")
    put(day, STREAM, stream(day).replace('"last_test_exit_code": 1', '"last_test_exit_code": null'))
    refused = day.command("checkpoint", "resume", "parser", "--yes")
    assert "not resumed: the test exited with 0 before, now with 1" in refused.err


@pytest.mark.requirement("R94", "C155", through="command")
def test_what_cannot_be_verified_is_said(day: Day) -> None:
    day.command("publish", "--checkpoint", "1", "--name", "Grammar")

    unknown = day.command("checkpoint", "resume", "parser", "--yes")

    assert unknown.code == 0
    assert "could not verify Phase 1 (Grammar): no test is known for it here" in unknown.err
    text = stream(day).replace('"last_test_command": null', '"last_test_command": "pytest …"')
    put(day, STREAM, text)
    partly = day.command("checkpoint", "resume", "parser", "--yes")
    assert "not running pytest …: parts of it were left out when it was shared" in partly.err
    refused = text.replace('"pytest …"', '"echo $(touch evil)"').replace(
        '"last_test_exit_code": null', '"last_test_exit_code": 0'
    )
    put(day, STREAM, refused)
    shell = day.command("checkpoint", "resume", "parser", "--yes")
    assert shell.code == 1
    assert "not resumed: the test exited with 0 before, now: not run" in shell.err


# --- what was run ---------------------------------------------------------------------------------


@pytest.mark.requirement("R88", "C155", through="command")
def test_tests_are_counted_in_the_runners_own_words(day: Day) -> None:
    day.command("checkpoint", "start", "1", "--name", "Grammar")
    first = state_of(day)
    assert (first["test_count"], first["tests_passing"]) == (0, 0)
    assert (first["last_test_command"], first["last_test_exit_code"]) == (None, None)
    put(
        day,
        "test_it.py",
        "import unittest\nclass It(unittest.TestCase):\n"
        + "".join(f"    def test_{n}(self): self.assertTrue({n})\n" for n in range(3)),
    )
    test = f"{sys.executable} -m unittest test_it"

    failed = day.command("checkpoint", "validate", "1", "--test", test, "--yes")

    assert "FAILED" in failed.out
    assert "exit 1, 2 of 3 tests passing" in " ".join(failed.out.split())
    state = state_of(day)
    assert (state["test_count"], state["tests_passing"]) == (3, 2)
    assert (state["last_test_command"], state["last_test_exit_code"]) == (test, 1)
    assert f"test: {test} (exit 1, 2 of 3 tests passing)" in shown(day)
    put_test(day, "first.py", says="===== 12 passed in 0.10s =====")
    assert validate(day, 1, "Grammar", SAME_TEST) == 0
    assert "- Phase 1 (Grammar): ✓ VALIDATED (12 tests passing)" in stream(day)
    assert (state_of(day)["test_count"], state_of(day)["tests_passing"]) == (12, 12)
    told = [event for event in day.events() if '  passing: "12"\n' in event]
    assert len(told) == 1
    assert "  test: " in told[0]


def shown(day: Day) -> str:
    """Give what `checkpoint show` says, on one line."""
    return " ".join(day.command("checkpoint", "show").out.split())


@pytest.mark.requirement("R88", "C155", through="command")
def test_a_count_that_nobody_told_is_left_out(day: Day) -> None:
    put_test(day, "first.py", says="9 passed in 0.10s")
    put_test(day, "second.py", says="all is well")
    validate(day, 1, "Grammar", SAME_TEST)

    validate(day, 2, "Lexer", OTHER_TEST)

    state = state_of(day)
    assert {"test_count", "tests_passing"} & state.keys() == set()
    assert (state["last_test_command"], state["last_test_exit_code"]) == (OTHER_TEST, 0)
    assert "- Phase 2 (Lexer): ✓ VALIDATED\n" in stream(day)
    assert f"test: {OTHER_TEST} (exit 0)" in shown(day)
    answer = json.loads(day.command("checkpoint", "show", "--json").out)
    assert (answer["validation"]["test_count"], answer["validation"]["tests_passing"]) == (None, None)
    assert day.command("check", STREAM).code == 0


@pytest.mark.requirement("R88", "C155", through="command")
def test_the_files_that_changed_since_the_session_began_are_named(day: Day) -> None:
    put(day, "src/grammar.py", "rules = 1\n")
    put_test(day, "first.py")

    validate(day, 1, "Grammar", SAME_TEST)

    assert state_of(day)["files_modified"] == ["first.py", "src/grammar.py"]
    assert "files: first.py, src/grammar.py" in shown(day)
    assert any("- src/grammar.py" in event for event in day.events())
    for number in range(7):
        put(day, f"src/more{number}.py", "")
    day.command("checkpoint", "start", "2")
    assert len(list(state_of(day)["files_modified"])) == 9  # type: ignore[call-overload]  # a list
    assert " and 4 more" in shown(day)


# --- what happened --------------------------------------------------------------------------------


@pytest.mark.requirement("R69", "R72", "R89", "C155", through="command")
def test_a_failure_is_told_and_counted_until_the_phase_is_validated(day: Day) -> None:
    put_test(day, "first.py", 1, says="1 failed, 2 passed in 0.10s")
    assert section(stream_of_new(day), "#### Last Failure") == ["(none)"]
    why = f"{SAME_TEST}: exit 1, 2 of 3 tests passing"
    for attempt in (1, 2):
        validate(day, 1, "Grammar", SAME_TEST)
        assert f"retries: {attempt}" in section(stream(day), "### Workflow State")
        assert section(stream(day), "#### Last Failure") == [f"Phase 1 (Grammar) failed: {why}"]
    assert section(stream(day), "#### Resume Context") == [
        "- Current focus: Phase 1 (Grammar)",
        "- Next action: Retry Phase 1 (Grammar)",
        f"- Blockers: Phase 1 (Grammar) failed: {why}",
    ]
    assert "retries: 2 of 3" in shown(day)
    assert f"last failure: Phase 1 (Grammar) failed: {why}" in shown(day)
    assert "Phase 1 (Grammar): failed" in day.command("brief").out
    put_test(day, "first.py", says="3 passed in 0.10s")
    day.command("publish", "--checkpoint", "2", "--state", "pending", "--name", "Lexer")

    validate(day, 1, "Grammar", SAME_TEST)

    assert {"phase: 2", "retries: 0", "max_retries: 3"} <= set(section(stream(day), "### Workflow State"))
    assert section(stream(day), "#### Last Failure") == ["(none)"]
    assert section(stream(day), "#### Resume Context") == [
        "- Current focus: (no present step)",
        "- Next action: Begin Phase 2 (Lexer)",
        "- Blockers: (none)",
    ]
    assert "retries" not in shown(day)


def stream_of_new(day: Day) -> str:
    """Let the session make its document, and give that."""
    day.command("handoff", "create")
    return stream(day)


@pytest.mark.requirement("R69", "C155", through="command")
def test_the_failures_of_a_phase_are_counted_on_by_the_next_session(day: Day) -> None:
    put_test(day, "first.py", 1)
    validate(day, 1, "Grammar", SAME_TEST)
    day.command("end")
    day.command("start", "--fresh")
    day.command("track", "bind", "parser")

    assert day.command("checkpoint", "resume", "--yes").code == 0

    assert "retries: 1" in section(stream(day), "### Workflow State")
    day.command("checkpoint", "fail", "1", "still wrong")
    assert "retries: 2" in section(stream(day), "### Workflow State")
    assert section(stream(day), "#### Last Failure") == ["Phase 1 (Grammar) failed: still wrong"]


@pytest.mark.requirement("R92", "R94", "C155", through="command")
def test_a_failed_phase_blocks_nobody_once_another_session_goes_on_with_it(day: Day) -> None:
    day.command("checkpoint", "fail", "1", "the design is wrong", "--name", "Grammar")
    day.command("checkpoint", "fail", "2", "no time", "--name", "Lexer")
    day.command("end")
    day.pass_time(minutes=5)
    day.command("start", "--fresh")
    day.command("track", "bind", "parser")
    brief = day.command("brief").out
    assert "Phase 1 (Grammar): failed" in brief
    assert day.command("checkpoint", "resume", "--yes").code == 0
    assert "Phase 1 (Grammar): failed" not in day.command("brief").out
    put_test(day, "first.py")
    day.pass_time(minutes=5)

    day.command("checkpoint", "validate", "1", "--test", SAME_TEST, "--yes")

    brief = day.command("brief").out
    assert "Phase 1" not in brief
    assert "Phase 2 (Lexer): failed" in brief
    assert any("  status: validated\n" in event and "  name: Grammar\n" in event for event in day.events())


@pytest.mark.requirement("R69", "R83", through="command")
def test_a_new_document_has_every_key_of_the_workflow(day: Day) -> None:
    assert section(stream_of_new(day), "### Workflow State") == [
        "pattern: sequential",
        "phase: 1",
        "total_phases: 1",
        "retries: 0",
        "max_retries: 3",
    ]


@pytest.mark.requirement("R72", "C155", through="command")
def test_what_a_person_wrote_of_a_failure_or_a_blocker_stays(day: Day) -> None:
    text = stream_of_new(day).replace("#### Last Failure\n(none)", "#### Last Failure\nthe disk was full")
    put(day, STREAM, text.replace("- Blockers: (none)", "- Blockers: the network\n- Owner: me"))
    put_test(day, "first.py")

    validate(day, 1, "Grammar", SAME_TEST)

    assert section(stream(day), "#### Last Failure") == ["the disk was full"]
    assert section(stream(day), "#### Resume Context")[2:] == ["- Blockers: the network", "- Owner: me"]


@pytest.mark.requirement("R89", "C155", through="command")
def test_a_question_that_blocks_is_a_blocker_until_it_is_answered(day: Day) -> None:
    day.command("ask", "BLOCKED: who owns the grammar?")
    day.command("checkpoint", "start", "1", "--name", "Grammar")
    assert "- Blockers: BLOCKED: who owns the grammar?" in stream(day)
    assert "- Next action: Continue Phase 1 (Grammar)" in stream(day)

    day.command("answer", "BLOCKED: who", "we do")
    day.command("next", "write the rules")
    day.command("checkpoint", "start", "1")

    assert "- Blockers: (none)" in stream(day)
    assert "- Next action: write the rules" in stream(day)
    day.command("done", "write the rules")
    day.command("retract", "write the rules", "--kind", "next")
    put_test(day, "first.py")
    validate(day, 1, "Grammar", SAME_TEST)
    assert "- Next action: (all phases are validated)" in stream(day)
    assert "- [ ] Name the next step" in stream(day)


@pytest.mark.requirement("R64", "C155", through="command")
def test_now_is_there_and_is_one_item_whatever_the_session_said(day: Day) -> None:
    assert section(stream_of_new(day), "### Now") == ["[->] (not started)"]
    day.command("checkpoint", "start", "1", "--name", "Grammar")
    assert section(stream(day), "### Now") == ["[->] Phase 1 (Grammar)"]
    day.command("now", "write the rules")
    assert section(stream_of_new(day), "### Now") == ["[->] write the rules"]
    day.command("done")
    assert section(stream_of_new(day), "### Now") == ["[->] Phase 1 (Grammar)"]
    put_test(day, "first.py")
    validate(day, 1, "Grammar", SAME_TEST)
    assert section(stream(day), "### Now") == ["[->] (no present step)"]
    assert day.command("check", STREAM).code == 0


@pytest.mark.requirement("R64", "C155", through="command")
def test_a_present_step_that_nobody_stated_is_not_told_as_one(day: Day) -> None:
    day.command("checkpoint", "start", "1", "--name", "Grammar")
    day.command("end")
    day.command("start", "--fresh")

    assert day.command("handoff", "resume", "parser").code == 0

    (account,) = (one for one in day.host.accounts() if one.ended_at is None)
    assert account.now is None
    assert "[->]" not in day.command("brief").out


@pytest.mark.requirement("C155", through="command")
def test_no_secret_of_a_test_gets_into_documents_and_events(day: Day) -> None:
    put_test(day, "first.py", 1)
    test = shlex.join([sys.executable, "first.py", f"--key={AWS}"])
    for code in (1, 0):
        put_test(day, "first.py", code)
        assert validate(day, 1, "Grammar", test) == code

        assert AWS not in stream(day)
        assert not any(AWS in event for event in day.events())
    resumed = day.command("checkpoint", "resume", "--yes")
    assert ": parts of it were left out when it was shared" in resumed.err
