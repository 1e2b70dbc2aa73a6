"""What a stream document says of the work, as `passdown handoff create` writes it."""

import json
from pathlib import Path

import pytest

from passdown.core.formats.checkpoints import Phase
from passdown.core.formats.streams import Stream, Workflow, parse_stream
from passdown.core.phases import PhaseState
from tests.support.commands import Caller
from tests.support.gits import Project, make_started
from tests.support.projects import stop_clock

BASH = {"command": "pytest -q"}
DOCUMENT = "thoughts/shared/handoffs/auth/current.md"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Give a repository."""
    return make_started(tmp_path / "project")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command, at noon of a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    return Caller(monkeypatch, capsys, project.folder)


def hand_over(command: Caller) -> tuple[str, Stream]:
    """Write the document, and find nothing wrong with it."""
    done = command("handoff", "create", "--stream", "auth")
    assert done.code == 0, done.err
    text = (command.folder / DOCUMENT).read_text(encoding="utf-8")
    stream = parse_stream(text)
    assert stream.problems == ()
    return text, stream


@pytest.mark.requirement("R66")
def test_next_lists_unticked_items_in_the_order_they_were_stated(command: Caller) -> None:
    command("next", "write the parser", "write the tests", "write the docs")

    text, _ = hand_over(command)

    items = "- [ ] write the parser\n- [ ] write the tests\n- [ ] write the docs\n"
    assert f"\n### Next\n{items}\n###" in text


@pytest.mark.requirement("R71")
def test_an_unknown_stays_in_its_section_and_another_form_is_named(command: Caller) -> None:
    text, _ = hand_over(command)
    path = command.folder / DOCUMENT
    unknown = "#### Unknowns\n- token_lifetime: UNKNOWN\n"
    path.write_text(text.replace("#### Unknowns\n", unknown), encoding="utf-8")

    assert unknown in hand_over(command)[0]
    assert command("check", DOCUMENT).out == ""

    path.write_text(text.replace("#### Unknowns\n", "#### Unknowns\n- token_lifetime: 5\n"), encoding="utf-8")
    assert "Unknowns: is not marked UNKNOWN: token_lifetime: 5 (warning)\n" in command("check", DOCUMENT).out


@pytest.mark.requirement("R64", "R65", "R77")
def test_now_is_one_item_and_what_is_done_moves_on(command: Caller) -> None:
    command("goal", "Let people sign in")
    assert "\n### Now\n[->] (not started)\n\n" in hand_over(command)[0]

    command("now", "write the parser")
    assert "\n### Now\n[->] write the parser\n\n### This Session\n" in hand_over(command)[0]
    command("done")
    text, stream = hand_over(command)

    assert "\n### Now\n[->] (no present step)\n\n" in text
    assert "\n### This Session\n- [x] write the parser\n" in text
    assert stream.checkpoint is not None
    assert {pair.key: pair.value for pair in stream.checkpoint.resume}["Current focus"] == "(no present step)"
    command("now", "write the tests")
    assert hand_over(command)[0].count("[->]") == 1
    command("now", "--clear")
    assert "\n### Now\n[->] (no present step)\n" in hand_over(command)[0]


@pytest.mark.requirement("R77")
def test_what_another_session_does_now_stays_in_the_document(command: Caller) -> None:
    command("now", "write the parser")
    hand_over(command)
    command("end")
    command("start", "--fresh")
    command("done", "something else")

    assert hand_over(command)[1].now == "write the parser"


@pytest.mark.requirement("R69", "R83", "R86", "R87", "R90")
def test_phases_make_the_state_of_the_workflow(monkeypatch: pytest.MonkeyPatch, command: Caller) -> None:
    command("goal", "Let people sign in")
    assert hand_over(command)[1].workflow == Workflow(
        pattern="sequential", phase=1, total_phases=1, retries=0, max_retries=3
    )
    command("publish", "--checkpoint", "1", "--name", "Tests Written")
    command("publish", "--checkpoint", "2", "--state", "in_progress", "--name", "Session Model")
    stop_clock(monkeypatch, "2026-01-11T12:30:00Z")
    command("publish", "--checkpoint", "2", "--state", "in_progress")

    text, stream = hand_over(command)

    assert "pattern: sequential\nphase: 2\ntotal_phases: 2\nretries: 0\nmax_retries: 3\n" in text
    assert "- Phase 1 (Tests Written): ✓ VALIDATED\n" in text
    assert "- Phase 2 (Session Model): → IN_PROGRESS (started 2026-01-11T12:00:00Z)\n" in text
    assert stream.workflow == Workflow(
        pattern="sequential", phase=2, total_phases=2, retries=0, max_retries=3
    )
    command("publish", "--checkpoint", "2")
    assert "- Phase 2 (Session Model): ✓ VALIDATED\n" in hand_over(command)[0]


@pytest.mark.requirement("R69", "R74", "R87")
def test_what_a_person_wrote_about_phases_and_workflow_stays(command: Caller) -> None:
    command("goal", "Let people sign in")
    path = command.folder / DOCUMENT
    text, _ = hand_over(command)
    phases = "- Phase 1 (Tests): ✓ VALIDATED (12 tests)\n- Phase 3 (Login): ○ PENDING\n"
    text = text.replace("- Phase 1: ○ PENDING\n", phases)
    text = text.replace(
        "\npattern: sequential\nphase: 1\ntotal_phases: 1\nretries: 0\n",
        "\npattern: hierarchical\nphase: 3\ntotal_phases: 6\nretries: 1\n",
    )
    path.write_text(text, encoding="utf-8")
    command("publish", "--checkpoint", "1")
    command("publish", "--checkpoint", "2", "--state", "failed")

    _, stream = hand_over(command)

    assert stream.workflow == Workflow(
        pattern="hierarchical", phase=2, total_phases=6, retries=1, max_retries=3
    )
    assert stream.checkpoint is not None
    assert stream.checkpoint.phases == (
        Phase(phase=1, name="Tests", state=PhaseState.VALIDATED, detail="12 tests"),
        Phase(phase=2, state=PhaseState.FAILED),
        Phase(phase=3, name="Login"),
    )


@pytest.mark.requirement("R68", "R77", "R81")
def test_an_assumption_is_marked_until_somebody_answers_it(command: Caller) -> None:
    marked = "UNCONFIRMED: The rate limiter knows sessions"
    assert command("ask", "--unconfirmed", "The rate limiter knows sessions").out == f"question: {marked}\n"
    assert f"\n- {marked}\n" in hand_over(command)[0]
    assert f"> {marked}\n" in command("brief").out

    command("answer", "The rate limiter", "it does")

    assert "UNCONFIRMED" not in hand_over(command)[0]


@pytest.mark.requirement("R71", "C32", through="command")
def test_what_is_unknown_stands_under_unknowns_until_somebody_answers_it(command: Caller) -> None:
    command("ask", "rate_limiter_awareness: UNKNOWN")
    command("ask", "Which license?")

    text, stream = hand_over(command)

    assert stream.unknowns == ("rate_limiter_awareness: UNKNOWN",)
    assert "#### Unknowns\n- rate_limiter_awareness: UNKNOWN\n" in text
    assert [one.text for one in stream.questions] == ["Which license?"]
    assert "question: rate_limiter_awareness: UNKNOWN" in command("handoff", "resume", "auth").out

    by_hand = text.replace("awareness: UNKNOWN\n", "awareness: UNKNOWN\n- the owner\n")
    (command.folder / DOCUMENT).write_text(by_hand, encoding="utf-8")
    command("answer", "rate_limiter", "it knows sessions")
    command("handoff", "create", "--stream", "auth")
    assert "#### Unknowns\n- the owner\n" in (command.folder / DOCUMENT).read_text(encoding="utf-8")


def run_test(command: Caller, transcript: Path, number: int, code: int, said: str = "out") -> None:
    """Let a test end with an exit code, as Claude Code writes it down."""
    result = {"content": f"Exit code {code}\n{said}" if code else said, "is_error": bool(code)}
    with transcript.open("a", encoding="utf-8") as file:
        for kind, content in (
            ("assistant", {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": BASH}),
            ("user", {"type": "tool_result", "tool_use_id": f"t{number}", **result}),
        ):
            line = {
                "type": kind,
                "uuid": f"{kind}-{number}",
                "sessionId": "h-1",
                "isSidechain": False,
                "timestamp": "2026-01-11T12:00:00.000Z",
                "message": {"role": kind, "content": [content]},
            }
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
    assert command("observe", "--host", "claude", str(transcript)).code == 0


@pytest.mark.requirement("R77")
def test_work_that_no_test_confirms_is_marked_until_one_does(command: Caller, tmp_path: Path) -> None:
    transcript = tmp_path / "transcript.jsonl"
    command("start", "--host", "claude", "--session", "h-1")
    mark = "\n- UNCONFIRMED: the tests pass: "
    run_test(command, transcript, 1, 1)
    text, _ = hand_over(command)
    assert f"{mark}`pytest -q`: exit 1\n" in text
    assert "question: UNCONFIRMED: the tests pass" in command("handoff", "resume", "auth").out

    run_test(command, transcript, 2, 0)
    assert mark not in hand_over(command)[0]


@pytest.mark.requirement("R72", "R88", "C155", through="command")
def test_a_test_that_an_agent_ran_is_counted_in_its_runners_words(command: Caller, tmp_path: Path) -> None:
    transcript = tmp_path / "transcript.jsonl"
    command("start", "--host", "claude", "--session", "h-1")
    run_test(command, transcript, 1, 1, "== 1 failed, 8 passed in 0.10s ==")

    text, _ = hand_over(command)

    assert "\n#### Last Failure\n`pytest -q`: exit 1, 8 of 9 tests passing\n" in text
    assert '"test_count": 9,\n  "tests_passing": 8,\n' in text
    run_test(command, transcript, 2, 0)
    text, _ = hand_over(command)
    assert "\n#### Last Failure\n(none)\n" in text
    assert "test_count" not in text
    assert '"last_test_exit_code": 0' in text
