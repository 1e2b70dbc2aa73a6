"""The stream document, as `passdown handoff create` writes it and as `passdown check` reads it."""

import json
import re
import sys
from typing import Any

import pytest

from tests.formats.test_golden import GOLDEN
from tests.support.commands import Caller, Terminal, say_all
from tests.support.gits import Project
from tests.support.projects import put, stop_clock

STREAM = "thoughts/shared/handoffs/auth/current.md"
HEADINGS = (
    *("# Work Stream: auth", "## Ledger", "### Now", "### This Session", "### Next", "### Decisions"),
    *("### Open Questions", "### Workflow State", "#### Resolved", "#### Unknowns", "#### Last Failure"),
    *("### Checkpoints", "#### Phase Status", "#### Validation State", "#### Resume Context", "## Context"),
)


def read(project: Project) -> str:
    return (project.folder / STREAM).read_text(encoding="utf-8")


def section(project: Project, heading: str) -> list[str]:
    """Give the lines below a heading of the document."""
    start = read(project).split(f"{heading}\n", 1)[1]
    return [line for line in re.split(r"(?m)^(?:##|---)", start)[0].splitlines() if line]


def checked(command: Caller, path: str) -> dict[str, Any]:
    """Give what the check says about one document."""
    found: dict[str, Any] = json.loads(command("check", "--json", path).out)["files"][0]
    return found


@pytest.mark.requirement("R53", "R58", "R60", "R61", "R62", "R63", "R73")
def test_a_handoff_makes_the_document_with_the_ledger_first(command: Caller, project: Project) -> None:
    say_all(command)
    assert not (project.folder / "thoughts").exists()

    command("handoff", "create", "--stream", "auth")

    text = read(project)
    assert text.startswith(
        "---\ndate: 2026-01-11T12:00:00Z\nsession_name: auth\nbranch: main\nstatus: active\n---\n\n"
        "# Work Stream: auth\n\n## Ledger\n**Updated:** 2026-01-11T12:00:00Z\n"
        "**Goal:** Let people sign in\n**Branch:** main\n**Test:**"
    )
    assert [line for line in text.splitlines() if line.startswith("#")] == list(HEADINGS)
    ledger, rest = text.split("\n---\n")[1:]
    assert "## Ledger" in ledger
    assert rest.startswith("\n## Context\n")


@pytest.mark.requirement("R65", "R66", "R67", "R70", "R72", "R85", "R86", "R88", "R89")
def test_what_the_session_said_stands_in_its_section(command: Caller, project: Project) -> None:
    say_all(command)

    command("handoff", "create", "--stream", "auth")

    assert section(project, "### Now") == ["[->] Make logout work"]
    assert section(project, "### This Session") == ["- [x] Session model"]
    assert section(project, "### Next") == ["- [ ] Remove tokens", "- [ ] Write docs"]
    assert section(project, "### Decisions") == ["- store: Redis"]
    assert section(project, "#### Resolved") == [
        '- goal: "Let people sign in"',
        "- resource_allocation: balanced",
    ]
    assert section(project, "#### Last Failure") == ["(none)"]
    agent, task, *times = section(project, "### Checkpoints")
    assert agent.startswith("**Agent:** toast-")
    assert task == "**Task:** Let people sign in"
    assert times == ["**Started:** 2026-01-11T12:00:00Z", "**Last Updated:** 2026-01-11T12:00:00Z"]
    assert re.fullmatch(r"- Phase 1.*: ○ PENDING", section(project, "#### Phase Status")[0])
    state = json.loads("".join(section(project, "#### Validation State")[1:-1]))
    assert (state["test_count"], state["tests_passing"], state["files_modified"]) == (0, 0, [])
    assert (state["last_test_command"], state["last_test_exit_code"]) == (None, None)
    assert section(project, "#### Resume Context") == [
        "- Current focus: Make logout work",
        "- Next action: Remove tokens",
        "- Blockers: (none)",
    ]


@pytest.mark.requirement("R83", "R88", "R89")
def test_a_session_that_said_nothing_makes_the_minimal_document(command: Caller, project: Project) -> None:
    command("start", "--fresh")

    command("handoff", "create", "--stream", "auth")

    assert section(project, "### This Session") == ["- [x] Session started"]
    assert len(section(project, "### Next")) == 1
    assert section(project, "### Decisions") == ["- (none yet)"]
    assert {"phase: 1", "retries: 0", "max_retries: 3"} <= set(section(project, "### Workflow State"))
    assert "- resource_allocation: balanced" in section(project, "#### Resolved")
    assert section(project, "#### Last Failure") == ["(none)"]
    assert section(project, "#### Resume Context") == [
        "- Current focus: (not started)",
        "- Next action: Begin Phase 1",
        "- Blockers: (none)",
    ]
    assert section(project, "## Context")[0].startswith("Minimal handoff created")


@pytest.mark.requirement("R74", "R75", "R84")
def test_an_update_replaces_the_ledger_and_its_time_and_nothing_around_it(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    say_all(command)
    command("handoff", "create", "--stream", "auth")
    before, _, after = read(project).partition("## Ledger\n")
    mine = before.replace("status: active", "status: active\nowner: me") + "A word of mine.\n\n"
    context = "\n---\n\n## Context\n\nAll of it, at length.\n"
    put(project.folder, STREAM, f"{mine}## Ledger\n{after.split(chr(10) + '---' + chr(10))[0]}{context}")
    stop_clock(monkeypatch, "2026-01-11T13:00:00Z")
    command("now", "Remove tokens")

    command("handoff", "create", "--stream", "auth")

    assert read(project).startswith(f"{mine}## Ledger\n**Updated:** 2026-01-11T13:00:00Z\n")
    assert read(project).endswith(context)
    assert section(project, "### Now") == ["[->] Remove tokens"]
    assert [path.name for path in (project.folder / STREAM).parent.iterdir()] == ["current.md"]


@pytest.mark.requirement("R59")
@pytest.mark.parametrize("name", ["Auth", "auth_refactor", "../auth", "events"])
def test_a_name_that_is_not_kebab_case_is_refused(command: Caller, project: Project, name: str) -> None:
    say_all(command)

    done = command("handoff", "create", "--stream", name)

    assert done.code != 0
    assert name in done.err
    assert not (project.folder / "thoughts").exists()


@pytest.mark.requirement("R60", "R61", "R63", "R65", "R66", "R67", "R68", "R70", "R71", "R72")
@pytest.mark.requirement("R73", "R85", "R86", "R88", "R89")
def test_the_check_reads_the_seeds_own_document(command: Caller, project: Project) -> None:
    put(project.folder, STREAM, (GOLDEN / "stream-example.md").read_text(encoding="utf-8"))

    data = checked(command, STREAM)["data"]

    assert (data["session_name"], data["branch"], data["status"]) == (
        "auth-refactor",
        "feature/session-auth",
        "active",
    )
    assert data["title"] == "Work Stream: auth-refactor"
    assert (data["updated"], data["test"]) == ("2025-01-15T14:30:00Z", "npm test -- --grep session")
    assert data["now"] == "Logout endpoint and session invalidation"
    assert data["this_session"][0] == "Session model created"
    assert data["next"] == ["Middleware swap", "Remove JWT imports", "Update tests"]
    assert data["decisions"][2]["key"] == "Migration"
    assert data["questions"] == [{"text": "Does rate limiter need session awareness?", "kind": "unconfirmed"}]
    assert data["unknowns"] == ["rate_limiter_awareness: UNKNOWN"]
    assert data["resolved"][1] == {"key": "resource_allocation", "value": "balanced"}
    assert data["last_failure"] == ""
    assert data["context"].startswith("## Context\n")
    checkpoint = data["checkpoint"]
    assert (checkpoint["agent"], checkpoint["started"]) == ("implementer", "2025-01-15T10:00:00Z")
    assert [one["state"] for one in checkpoint["phases"]] == [
        *("validated",) * 3,
        "in_progress",
        *("pending",) * 2,
    ]
    assert checkpoint["validation"]["last_test_exit_code"] == 0
    assert [one["key"] for one in checkpoint["resume"]] == ["Current focus", "Next action", "Blockers"]


@pytest.mark.requirement("R54")
def test_the_check_says_that_separate_ledger_files_are_deprecated(command: Caller, project: Project) -> None:
    path = "thoughts/ledgers/CONTINUITY_CLAUDE-auth.md"
    put(project.folder, path, (GOLDEN / "ledger-template.md").read_text(encoding="utf-8"))

    (problem,) = checked(command, path)["problems"]

    assert (problem["field"], problem["severity"]) == ("path", "warning")
    assert problem["problem"] == "separate ledger files are deprecated"


@pytest.mark.requirement("R94", "C102", "C155", through="command")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_person_at_a_terminal_agrees_to_the_test_of_the_last_validated_phase(
    command: Caller, project: Project
) -> None:
    put(project.folder, "check.py", "print('3 passed in 0.10s')\n")
    test = f"{sys.executable} check.py"
    command("start")
    command("goal", "Let people sign in")
    begun = ("checkpoint", "start", "1", "--name", "Model", "--stream", "auth")
    assert command(*begun).code == 0
    assert command("checkpoint", "validate", "1", "--test", test, "--yes").code == 0
    command("publish", "--checkpoint", "2", "--state", "pending", "--name", "Login")
    for answer, code, state in (("n", 1, "○ PENDING"), ("y", 0, "→ IN_PROGRESS")):
        with Terminal("checkpoint", "resume", STREAM, cwd=project.folder) as terminal:
            terminal.read_until("Run 1 command, without a shell? [y/N]")
            assert test in terminal.seen.replace("\r\n  ", " ")
            terminal.type(f"{answer}\n")
            assert terminal.close().code == code
        assert f"- Phase 2 (Login): {state}" in "\n".join(section(project, "#### Phase Status"))
    assert section(project, "#### Phase Status")[0] == "- Phase 1 (Model): ✓ VALIDATED (3 tests passing)"
