"""`passdown loop` and `passdown feedback`: what they print, refuse, and leave alone."""

import io
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from passdown.engines.files.documents import FileDocuments
from tests.commands import Caller
from tests.gits import Project
from tests.projects import make_january, put, stop_clock

LEDGER = "changes/habits/loops/ideation.md"


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Project:
    """Give a repository on a day in January."""
    return make_january(monkeypatch, tmp_path / "project")


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
        "began habits (full lane, manual mode)\n"
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
        (("open", "../x", "ideation"), 2, "cannot be the name of a change", "kebab case"),
        (("open", "habits", "brainstorm"), 2, "there is no loop 'brainstorm'", "the loops are ideation"),
        (("open", "habits", "plan"), 2, "there is no loop 'plan'", "plan-NN"),
        (("append", "habits", "specs", "x"), 2, "habits has no loop specs", "loop open habits specs"),
        (
            ("append", "habits", "ideation", "x", "--result", "FAILED"),
            2,
            "for implementations",
            "leave it out",
        ),
        (("append", "habits", "ideation", "x", "--complete"), 2, "for the reconcile loop", "leave it out"),
        (("append", "habits", "implement-01", "x"), 2, "needs a result", "--result SUCCESS"),
        (("feedback", "habits", "specs", "x"), 2, "habits has no loop specs", "its loops are ideation"),
        (("feedback", "habits", "ideation", " "), 2, "feedback needs a text", "in a few words"),
        (("continue", "other"), 2, "there is no change other", "the changes are habits"),
        (("open", "docs", "ideation"), 1, "changes/docs is there, and has no state.md", "another name"),
        (("open", "habits", "tasks"), 1, "not approved", "`- Status: approved`"),
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
    put(project.folder, "changes/habits/seed.md", "# Seed\n")
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
    looped: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project.folder, "changes/habits/seed.md", "# Seed\n")
    monkeypatch.setattr(FileDocuments, "displaced", lambda *_: [b"# SDD State: habits\n"])

    done = looped("loop", "open", "habits", "proposal")

    assert done.code == 5
    assert "changes/habits/state.md is being edited" in done.err


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

    assert "feedback of turn 1 still waits; `passdown loop continue habits` shows it" in done.err
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

    assert "nobody was told yet" in untold
    lines = told.out.splitlines()
    assert "3 h ago, told toast-" in lines[0]
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
    assert "several begin with 'habits'" in several.err
    assert "no feedback that waits begins with 'never said'" in nobody.err
    assert done.out == "dismissed: habits/ideation turn 1: Use SQLite\n"
    assert _json(other.out)["text"] == "habits are nice"
    assert looped("feedback").out == "No feedback waits for an answer.\n"
    assert "Use SQLite" not in looped("brief").out


def test_feedback_of_a_loop_is_answered_like_any_other(looped: Caller) -> None:
    looped("loop", "feedback", "habits", "ideation", "Use SQLite")

    done = looped("answer", "habits/ideation turn 1", "It does already.")

    assert done.code == 0
    assert looped("feedback").out == "No feedback waits for an answer.\n"
    assert "It does already." in looped("brief").out


@pytest.mark.parametrize(
    ("flags", "said"),
    [(("--lane", "bug"), "its lane is full"), (("--auto",), "its run mode is manual")],
    ids=["lane", "mode"],
)
def test_a_change_keeps_its_lane_and_its_mode(looped: Caller, flags: Sequence[str], said: str) -> None:
    done = looped("loop", "open", "habits", "ideation", *flags)

    assert done.code == 1
    assert f"habits exists already, and {said}" in done.err
    assert "of its state.md" in done.err
    assert looped("loop", "open", "habits", "ideation", "--lane", "full").code == 0


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
    assert "begin one: `passdown loop open CHANGE ideation`" in done.err


def test_status_lists_all_changes(looped: Caller, command: Caller) -> None:
    looped("loop", "feedback", "habits", "ideation", "Use SQLite")

    assert looped("loop").out == (
        "habits: ideation (full lane, manual mode, not approved)\n"
        "  ideation: 1 turn, 1 with feedback that no later turn answers\n"
    )
    status = json.loads(command("loop", "--json").out)["changes"][0]
    assert status["next_loop"] == "ideation"
    assert status["loops"][0]["last_at"] == "2026-01-11T12:00:00+00:00"


def test_a_project_without_changes_has_none(command: Caller) -> None:
    assert command("loop").out == "No changes.\n"
    assert command("feedback").out == "No feedback waits for an answer.\n"


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
