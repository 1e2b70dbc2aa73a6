"""`passdown loop` and `passdown feedback`: what they print, refuse, and leave alone."""

import io
import json
import sys
from collections.abc import Sequence

import pytest

from passdown.core.formats.loops import MAX_BYTES, MAX_LINES
from passdown.engines.files.documents import FileDocuments
from tests.support.commands import Caller
from tests.support.gits import Project
from tests.support.projects import listing, put, stop_clock

LEDGER = "changes/habits/loops/ideation.md"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], project: Project) -> Caller:
    """Give a way to call the command, in a project with a session."""
    call = Caller(monkeypatch, capsys, project.folder)
    assert call("start", "--nickname", "toast").code == 0
    return call


@pytest.fixture
def looped(command: Caller) -> Caller:
    """Give the same, with a loop of one turn."""
    assert command("loop", "open", "habits", "ideation").code == 0
    assert command("loop", "append", "habits", "ideation", "Which store?").code == 0
    return command


def _json(text: str) -> dict[str, object]:
    found = json.loads(text)
    assert isinstance(found, dict)
    assert found.pop("version") == 1
    return found


# --- opening --------------------------------------------------------------------------------------


def test_open_begins_a_change_and_says_where(command: Caller, project: Project) -> None:
    first = command("loop", "open", "habits", "ideation")
    again = command("loop", "open", "habits", "ideation", "--json")

    assert first.out == (
        "started habits (full lane, manual mode)\n"
        "opened changes/habits/loops/ideation.md (0 turns); phase: ideation\n"
    )
    assert (project.folder / LEDGER).read_text(encoding="utf-8") == "# Ideation Loop\n"
    assert _json(again.out) == {
        "change": "habits",
        "loop": "ideation",
        "path": LEDGER,
        "state": "changes/habits/state.md",
        "phase": "ideation",
        "lane": "full",
        "mode": "manual",
        "turns": 0,
        "is_new": False,
    }


@pytest.mark.parametrize(
    ("arguments", "code", "problem", "hint"),
    [
        (("open", "../x", "ideation"), 2, "is not a valid name for a change", "words joined by `-`"),
        (("open", "habits", "brainstorm"), 2, "there is no loop 'brainstorm'", "the loops are ideation"),
        (("open", "habits", "plan"), 2, "there is no loop 'plan'", "plan-NN"),
        (("append", "habits", "specs", "x"), 2, "habits has no loop specs", "loop open habits specs"),
        (
            ("append", "habits", "ideation", "x", "--result", "FAILED"),
            2,
            "for implementations",
            "remove it, or append to an implement-NN loop",
        ),
        (("append", "habits", "ideation", "x", "--complete"), 2, "for the reconcile loop", "remove it"),
        (("append", "habits", "implement-01", "x"), 2, "needs a result", "--result SUCCESS"),
        (("feedback", "habits", "specs", "x"), 2, "habits has no loop specs", "its loops are ideation"),
        (("feedback", "habits", "ideation", " "), 2, "the feedback is empty", "in a few words"),
        (("continue", "other"), 2, "there is no change other", "the changes are habits"),
        (("open", "docs", "ideation"), 1, "changes/docs already exists and has no state.md", "another name"),
        (("open", "habits", "tasks"), 1, "not approved", "passdown loop approve habits"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_to_do(
    looped: Caller, project: Project, arguments: tuple[str, ...], code: int, problem: str, hint: str
) -> None:
    put(project.folder, "changes/docs/notes.txt", "x")

    done = looped("loop", *arguments)

    said = " ".join(done.err.split())
    assert done.code == code
    assert problem in said
    assert hint in said
    assert all(len(line) <= 80 for line in done.err.splitlines())


@pytest.mark.requirement("G16", "C105", through="command")
@pytest.mark.parametrize(
    "arguments",
    [
        ("append", "habit", "ideation", "x"),
        ("feedback", "habit", "ideation", "x"),
        ("continue", "habit"),
        ("status", "habit"),
        ("finish", "habit"),
        ("open", "habit", "specs"),
        ("open", "habit", "tasks", "--lane", "quick"),
        ("open", "habit", "plan-01"),
    ],
    ids=lambda arguments: "-".join(arguments[::2]),
)
def test_a_change_that_does_not_exist_is_an_error_that_says_so(
    looped: Caller, project: Project, arguments: tuple[str, ...]
) -> None:
    before = listing(project.folder / "changes")

    done = looped("loop", *arguments)

    assert done.code == 2
    assert done.err == "passdown: there is no change habit\n  hint: the changes are habits\n"
    assert done.out == ""
    assert listing(project.folder / "changes") == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("append", "habits", "ideation", "x"),
        ("feedback", "habits", "ideation", "x"),
        ("finish", "habits"),
        ("open", "habits", "reconcile"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_without_any_change_it_says_how_to_begin_and_starts_no_session(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    project: Project,
    arguments: tuple[str, ...],
) -> None:
    done = Caller(monkeypatch, capsys, project.folder)("loop", *arguments)

    assert done.code == 2
    assert done.err == (
        "passdown: there is no change habits\n  hint: to start it: `passdown loop open habits ideation`\n"
    )


@pytest.mark.requirement("G16", through="command")
def test_a_proposal_follows_the_ideas_without_any_other_paper(looped: Caller, project: Project) -> None:
    done = looped("loop", "open", "habits", "proposal")

    assert done.out == "opened changes/habits/loops/proposal.md (0 turns); phase: proposal\n"
    assert {path.name for path in (project.folder / "changes/habits").iterdir()} == {"state.md", "loops"}


def test_loops_are_listed_in_the_order_of_a_change(command: Caller, project: Project) -> None:
    names = ("ideation", "proposal", "tasks", "plan-02", "implement-02", "plan-10", "reconcile", "aside")
    for name in sorted(names):
        put(project.folder, f"changes/habits/loops/{name}.md", "# Loop\n")

    listed = [line.split(":")[0].strip() for line in command("loop").out.splitlines()[1:]]

    assert listed == [*names]


def test_feedback_needs_a_turn(command: Caller) -> None:
    command("loop", "open", "habits", "ideation")

    done = command("loop", "feedback", "habits", "ideation", "Use SQLite")

    assert done.code == 2
    assert "habits/ideation has no turn yet" in done.err


def test_a_state_with_conflict_markers_is_left_alone(looped: Caller, project: Project) -> None:
    put(project.folder, "changes/habits/state.md", "<<<<<<< ours\n# SDD State: habits\n>>>>>>> theirs\n")

    done = looped("loop", "open", "habits", "proposal")

    assert done.code == 1
    assert "conflict markers" in done.err


def test_a_state_that_is_no_text_is_left_alone(looped: Caller, project: Project) -> None:
    state = project.folder / "changes/habits/state.md"
    before = state.read_bytes() + b"\xff\n"
    state.write_bytes(before)

    done = looped("loop", "open", "habits", "ideation")

    assert done.code == 1
    assert "changes/habits/state.md is not UTF-8 text" in done.err
    assert state.read_bytes() == before


def test_what_a_person_writes_into_the_state_at_that_moment_is_not_lost(
    looped: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = project.folder / "changes/habits/state.md"
    replace, late = FileDocuments.replace, ["- Status: approved"]

    def edited(documents: FileDocuments, path: str, data: bytes, **options: object) -> None:
        if path.endswith("state.md") and late:
            text = state.read_text(encoding="utf-8")
            state.write_text(text.replace("- Status: draft", late.pop()), encoding="utf-8")
        replace(documents, path, data, **options)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(FileDocuments, "replace", edited)

    assert looped("loop", "open", "habits", "proposal").code == 0
    text = state.read_text(encoding="utf-8")
    assert "- Status: approved" in text
    assert "## Phase\n\nproposal\n" in text


def test_a_state_that_is_edited_all_the_time_is_given_up(
    looped: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FileDocuments, "displaced", lambda *_: [b"# SDD State: habits\n"])

    done = looped("loop", "open", "habits", "proposal")

    assert done.code == 5
    assert "somebody is editing changes/habits/state.md" in done.err


def test_an_implementation_without_a_list_of_tasks_marks_none(looped: Caller, project: Project) -> None:
    put(project.folder, "changes/habits/loops/implement-01.md", "# Implementation: Task 01\n")

    done = looped("loop", "append", "habits", "implement-01", "Done.", "--result", "SUCCESS")

    assert done.code == 0


# --- turns and feedback ---------------------------------------------------------------------------


def test_append_reads_a_turn_from_the_standard_input(
    monkeypatch: pytest.MonkeyPatch, looped: Caller, project: Project
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("A long turn.\n\nOf two parts.\n"))

    done = looped("loop", "append", "habits", "ideation", "-", "--json")

    assert _json(done.out) == {"path": LEDGER, "turn": 2, "answered": [], "left": [], "advice": None}
    assert "A long turn.\n\nOf two parts.\n\n## User" in (project.folder / LEDGER).read_text(encoding="utf-8")


def test_a_turn_names_what_its_session_was_shown_and_says_what_is_left(looped: Caller) -> None:
    left = _json(looped("loop", "feedback", "habits", "ideation", "Use SQLite", "--json").out)

    done = looped("loop", "append", "habits", "ideation", "Done.")
    named = looped("loop", "append", "habits", "ideation", "Done.", "--answers", str(left["id"]), "--json")

    assert "feedback on turn 1 is still open; run `passdown loop continue habits` to see it" in done.err
    assert _json(named.out)["answered"] == [
        {"id": left["id"], "turn": 1, "text": "habits/ideation turn 1: Use SQLite"}
    ]


def test_secrets_in_turns_and_feedback_are_redacted(looped: Caller, project: Project) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"

    looped("loop", "append", "habits", "ideation", f"The token is {token}.")
    looped("loop", "feedback", "habits", "ideation", f"Use {token}.")

    assert token not in (project.folder / LEDGER).read_text(encoding="utf-8")


def test_waiting_feedback_is_listed_with_its_age_and_who_was_told(
    monkeypatch: pytest.MonkeyPatch, looped: Caller
) -> None:
    looped(
        "loop", "feedback", "habits", "ideation", "Use SQLite, please; it is enough for everything we do here"
    )
    looped("tell", "Keep the API stable")
    untold = looped("feedback").out
    looped("loop", "continue", "habits")
    stop_clock(monkeypatch, "2026-01-11T15:00:00Z")

    told = looped("feedback")

    assert "not shown to an agent yet" in untold
    lines = told.out.splitlines()
    assert "3 h ago, shown to toast-" in lines[0]
    assert lines[1].startswith("  habits/ideation turn 1: Use SQLite, please")
    assert f"  in {LEDGER}" in lines
    assert "  Keep the API stable" in lines
    assert all(len(line) <= 80 for line in lines)
    data = json.loads(looped("feedback", "--json").out)["feedback"]
    assert [one["ledger"] for one in data] == [LEDGER, None]
    assert data[0]["told"][0].startswith("toast-")


def test_dismissed_feedback_waits_no_longer(looped: Caller) -> None:
    looped("loop", "feedback", "habits", "ideation", "Use SQLite")
    looped("tell", "habits are nice")

    several = looped("feedback", "dismiss", "habits")
    nobody = looped("feedback", "dismiss", "never said")
    done = looped("feedback", "dismiss", "habits/ideation turn 1")
    other = looped("feedback", "dismiss", "habits are nice", "--json")

    assert (several.code, nobody.code) == (2, 2)
    assert "several feedbacks start with 'habits'" in several.err
    assert "no unanswered feedback starts with 'never said'" in nobody.err
    assert done.out == "dismissed: habits/ideation turn 1: Use SQLite\n"
    assert _json(other.out)["text"] == "habits are nice"
    assert looped("feedback").out == "No open feedback.\n"
    assert "Use SQLite" not in looped("brief").out


def _waiting(command: Caller) -> object:
    """How much feedback `loop` counts in the first loop."""
    return json.loads(command("loop", "--json").out)["changes"][0]["loops"][0]["waiting"]


@pytest.mark.requirement("C105", through="command")
@pytest.mark.parametrize(
    "ending",
    [("feedback", "dismiss", "habits/ideation turn 1"), ("answer", "habits/ideation turn 1", "It does.")],
    ids=["dismissed", "answered"],
)
def test_feedback_that_waits_no_longer_is_not_counted_and_no_turn_answers_it(
    looped: Caller, project: Project, ending: Sequence[str]
) -> None:
    looped("loop", "feedback", "habits", "ideation", "Use SQLite")
    looped("loop", "continue", "habits")  # the session was shown it
    counted = _waiting(looped)
    assert looped(*ending).code == 0

    listed = looped("loop").out
    added = looped("loop", "append", "habits", "ideation", "Next.")

    assert (counted, _waiting(looped)) == (1, 0)
    assert "  ideation: 1 turn\n" in listed
    assert added.out == f"added turn 2 to {LEDGER}\n"
    assert added.err == ""
    assert "Answers the feedback" not in (project.folder / LEDGER).read_text(encoding="utf-8")
    named = looped("loop", "append", "habits", "ideation", "After all.", "--answers", "1").out
    assert "answered the feedback on turn 1" in named


def test_feedback_in_a_finished_change_waits_for_nobody(looped: Caller, project: Project) -> None:
    looped("loop", "feedback", "habits", "ideation", "Use SQLite")
    state = project.folder / "changes/habits/state.md"
    state.write_text(
        state.read_text(encoding="utf-8").replace("\nideation\n", "\nfinished\n"), encoding="utf-8"
    )

    assert _waiting(looped) == 0
    state.write_text(
        state.read_text(encoding="utf-8").replace("\nfinished\n", "\nideation\n"), encoding="utf-8"
    )
    assert _waiting(looped) == 1


def test_feedback_of_a_loop_is_answered_like_any_other(looped: Caller) -> None:
    looped("loop", "feedback", "habits", "ideation", "Use SQLite")

    done = looped("answer", "habits/ideation turn 1", "It does already.")

    assert done.code == 0
    assert looped("feedback").out == "No open feedback.\n"
    assert "It does already." in looped("brief").out


@pytest.mark.parametrize(
    ("flags", "said"),
    [(("--lane", "bug"), "its lane is full"), (("--auto",), "its run mode is manual")],
    ids=["lane", "mode"],
)
def test_a_change_keeps_its_lane_and_its_mode(looped: Caller, flags: Sequence[str], said: str) -> None:
    done = looped("loop", "open", "habits", "ideation", *flags)

    assert done.code == 1
    assert f"habits already exists, and {said}" in done.err
    assert "of its state.md" in done.err
    assert looped("loop", "open", "habits", "ideation", "--lane", "full").code == 0


# --- how much a ledger holds ----------------------------------------------------------------------


def _fill(project: Project, size: int) -> bytes:
    """Write a ledger of one turn by hand that has so many bytes; return it."""
    head = "# Ideation Loop\n\n## Turn 1\n\n"
    tail = "\n\n## User Feedback\n\n---\n"
    text = f"{head}{'x' * (size - len(head) - len(tail))}{tail}"
    put(project.folder, LEDGER, text)
    return text.encode()


@pytest.mark.requirement("R154", "C105", through="command")
@pytest.mark.parametrize(
    ("verb", "text"),
    [
        ("append", "x" * (MAX_BYTES + 9)),
        ("append", "é" * (MAX_BYTES // 2)),
        ("append", "x\n" * MAX_LINES),
        ("feedback", "x" * (MAX_BYTES + 9)),
    ],
    ids=["characters", "bytes", "lines", "feedback"],
)
def test_a_turn_that_no_ledger_can_hold_is_refused(
    monkeypatch: pytest.MonkeyPatch, looped: Caller, project: Project, verb: str, text: str
) -> None:
    before = (project.folder / LEDGER).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    done = looped("loop", verb, "habits", "ideation", "-")

    assert done.code == 1
    said = " ".join(done.err.split())
    assert f"{LEDGER} would exceed {MAX_BYTES:,} bytes or {MAX_LINES:,} lines; nothing was added" in said
    assert "hint: put long texts into a separate file" in said
    assert (project.folder / LEDGER).read_bytes() == before


@pytest.mark.slow
@pytest.mark.requirement("R154", "R155", "C105", through="command")
def test_a_full_ledger_takes_no_turn_and_no_feedback_and_can_still_be_read(
    looped: Caller, project: Project
) -> None:
    before = _fill(project, MAX_BYTES - 20)

    refused = [looped("loop", verb, "habits", "ideation", "One more.") for verb in ("append", "feedback")]

    for done in refused:
        assert done.code == 1
        assert "; nothing was added" in " ".join(done.err.split())
    assert (project.folder / LEDGER).read_bytes() == before
    assert "  ideation: 1 turn" in looped("loop").out


@pytest.mark.requirement("R155", through="command")
@pytest.mark.parametrize("verb", ["append", "feedback"])
def test_nothing_is_added_to_a_ledger_that_is_too_long_to_be_read(
    looped: Caller, project: Project, verb: str
) -> None:
    before = _fill(project, MAX_BYTES + 1)

    done = looped("loop", verb, "habits", "ideation", "One more.")

    assert done.code == 5
    assert f"{LEDGER}" in done.err
    assert (project.folder / LEDGER).read_bytes() == before


# --- where it goes on -----------------------------------------------------------------------------


def test_continue_without_a_name_takes_the_only_change_or_asks_for_one(looped: Caller) -> None:
    only = looped("loop", "continue")
    looped("loop", "open", "other", "proposal", "--lane", "bug")

    several = looped("loop", "continue")
    chosen = looped("loop", "continue", "--yes", "--json")

    assert only.out.startswith("habits: ideation")
    assert several.code == 2
    assert "name one of" in several.err
    assert _json(chosen.out)["change"] in {"habits", "other"}


def test_continue_in_an_empty_project_says_how_to_begin(command: Caller) -> None:
    done = command("loop", "continue")

    assert done.code == 2
    assert "start one: `passdown loop open CHANGE ideation`" in done.err


def test_status_lists_all_changes(looped: Caller, command: Caller) -> None:
    looped("loop", "feedback", "habits", "ideation", "Use SQLite")

    assert looped("loop").out == (
        "habits: ideation (full lane, manual mode, not approved)\n  ideation: 1 turn, open feedback: 1\n"
    )
    status = json.loads(command("loop", "--json").out)["changes"][0]
    assert status["next_loop"] == "ideation"
    assert status["loops"][0]["last_at"] == "2026-01-11T12:00:00+00:00"


def test_a_project_without_changes_has_none(command: Caller) -> None:
    assert command("loop").out == "No changes.\n"
    assert command("feedback").out == "No open feedback.\n"


def test_a_change_begun_by_hand_has_its_defaults(command: Caller, project: Project) -> None:
    put(project.folder, "changes/mine/state.md", "# SDD State: mine\n")
    put(project.folder, "changes/bare/loops/finish.md", "Said.\n\n## User Feedback\n\nYes.\n\n---\n")

    assert "mine: initialized (full lane, manual mode, not approved)" in command("loop").out
    shown = command("loop", "continue", "mine").out
    assert "ask the user how to begin: `passdown loop open mine ideation`" in shown
    assert "bare/finish turn 1: Yes." in command("brief").out


def test_search_finds_loops(looped: Caller) -> None:
    done = looped("search", "store", "--kind", "loop")

    assert "loop  habits/ideation  toast-" in done.out
    assert f"cat {LEDGER}" in done.out


def test_long_turns_are_cut_where_they_are_shown(looped: Caller) -> None:
    looped("loop", "append", "habits", "ideation", "word " * 2_000)

    shown = looped("loop", "continue", "habits").out

    assert "…" in shown
    assert len(shown) < 6_000
