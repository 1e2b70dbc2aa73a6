"""The ledger and the state file, as a user finds them after calling the command."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.engines.process import SystemProcesses
from tests.formats.test_golden import GOLDEN
from tests.support.commands import Caller
from tests.support.gits import Project
from tests.support.projects import put, stop_clock
from tests.support.sessions import LEDGER

ARCHIVE = "conductor/sessions/archive"
INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")
SECTIONS = (
    *("## Active Task", "## Goal", "## State", "### Done", "### Now", "### Next", "## Key Decisions"),
    *("## Working Set", "## Open Questions", "## Validation History"),
)
OTHER = """\
---
updated: {updated}
session_id: T-abc123
platform: amp
bound_track: auth_20251227
bound_bead: my-workflow:3-xyz
mode: SA
tdd_phase: GREEN
heartbeat: {updated}
validation:
  gates_passed: [design]
  current_gate: plan-structure
  retries: 1
  last_failure: coverage
---
{rest}"""
"""A ledger that another tool wrote, with the rest of the seed's template."""


def read(project: Project) -> str:
    return (project.folder / LEDGER).read_text(encoding="utf-8")


def matter(project: Project) -> Mapping[str, str]:
    """Give the front matter of the ledger, key by key."""
    text = read(project).split("---\n")[1]
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def section(project: Project, heading: str) -> str:
    """Give what stands below a heading of the ledger."""
    text = read(project)
    start = text.index(f"{heading}\n") + len(heading) + 1
    return re.split(r"(?m)^##", text[start:])[0].strip()


def state(project: Project) -> dict[str, Any]:
    """Give the one state file."""
    (path,) = project.folder.glob(".conductor/session-state_*.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def checked(command: Caller, path: str) -> dict[str, Any]:
    """Give what the check says about one document."""
    found: dict[str, Any] = json.loads(command("check", "--json", path).out)["files"][0]
    return found


def put_other(project: Project, updated: str) -> str:
    """Lay down a ledger that another tool wrote."""
    rest = (GOLDEN / "ledger-template.md").read_text(encoding="utf-8").split("---\n", 2)[2]
    rest = re.sub(r"(?m)^bead: .*\ntrack: .*$", "bead: my-workflow:3-xyz\ntrack: auth_20251227", rest)
    text = OTHER.format(updated=updated, rest=rest)
    put(project.folder, LEDGER, text)
    return text


@pytest.mark.requirement("R2", "R4", "R5", "R6", "R8", "R9", "R10", "R11", "R12", "R13")
def test_a_started_session_has_a_ledger_with_its_keys(command: Caller, project: Project) -> None:
    command("start", "--host", "claude", "--track", "auth_20260101", "--multi")

    keys = matter(project)

    assert (keys["platform"], keys["mode"], keys["tdd_phase"]) == ("claude", "MA", "null")
    assert (keys["bound_track"], keys["bound_bead"]) == ("auth_20260101", "null")
    assert (keys["updated"], keys["heartbeat"]) == ("2026-01-11T12:00:00Z",) * 2
    assert json.loads(command("status", "--json").out)["sessions"][0]["session"] == keys["session_id"]
    assert checked(command, LEDGER)["problems"] == []


@pytest.mark.requirement("R15", "R22", "R23", "R24", "R25", "R26", "R28", "R29")
def test_what_is_said_stands_in_its_section_in_the_order_of_the_seed(
    command: Caller, project: Project
) -> None:
    command("start", "--track", "auth_20260101")
    for words in (
        ("goal", "Let people sign in."),
        ("done", "Session model"),
        ("now", "Logout"),
        ("next", "Tokens", "Docs"),
        ("decide", "store", "Redis"),
        ("ask", "Who rotates?"),
    ):
        assert command(*words).code == 0

    text = read(project)
    assert [line for line in text.splitlines() if line.startswith("#")] == ["# Session Ledger", *SECTIONS]
    assert section(project, "## Active Task") == "bead: null\ntrack: auth_20260101"
    assert section(project, "## Goal") == "Let people sign in."
    assert section(project, "### Done") == "- Session model"
    assert section(project, "### Now") == "- Logout"
    assert section(project, "### Next") == "- Tokens\n- Docs"
    assert section(project, "## Open Questions") == "- Who rotates?"
    header, _, row = section(project, "## Key Decisions").splitlines()
    assert header == "| Decision | Reasoning | When |"
    assert row.startswith("| store: Redis | - | ")
    assert section(project, "## Working Set") == "**Branch:** main\n\n**Modified:**\n\n**Read:**"


@pytest.mark.requirement("R7", "R52")
def test_every_save_sets_the_time_in_ledger_and_state_file(
    command: Caller, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("start")
    stop_clock(monkeypatch, "2026-01-11T12:03:00Z")
    command("goal", "Ship it")
    assert (matter(project)["updated"], state(project)["lastUpdated"]) == ("2026-01-11T12:03:00Z",) * 2
    stop_clock(monkeypatch, "2026-01-11T12:05:00Z")

    command("heartbeat")

    assert (matter(project)["heartbeat"], state(project)["lastUpdated"]) == ("2026-01-11T12:05:00Z",) * 2
    assert matter(project)["updated"] == "2026-01-11T12:03:00Z"


@pytest.mark.requirement("R51")
def test_a_session_without_a_heartbeat_for_more_than_ten_minutes_is_not_taken_for_live(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
    command("start")
    command("heartbeat")

    seen = {}
    for at in ("2026-01-11T12:10:00Z", "2026-01-11T12:10:01Z"):
        stop_clock(monkeypatch, at)
        (session,) = json.loads(command("status", "--json").out)["sessions"]
        seen[at] = session["state"]

    assert list(seen.values()) == ["live", "unknown"]


@pytest.mark.requirement("R11", "R13", "R16", "R30", "R32", "R44")
def test_the_check_reads_a_ledger_of_the_seed_with_its_gates(command: Caller, project: Project) -> None:
    rows = (GOLDEN / "ledger-validation-history.md").read_text(encoding="utf-8")
    text = put_other(project, "2026-01-11T11:00:00Z").split("## Validation History")[0] + rows
    put(project.folder, LEDGER, text)

    found = checked(command, LEDGER)

    data = found["data"]
    assert found["problems"] == []
    assert (data["session_id"], data["bound_track"], data["bound_bead"]) == (
        "T-abc123",
        "auth_20251227",
        "my-workflow:3-xyz",
    )
    assert data["tdd_phase"] == "GREEN"
    assert data["validation"]["gates_passed"] == ["design"]
    assert (data["validation"]["current_gate"], data["validation"]["retries"]) == ("plan-structure", 1)
    assert data["validation"]["last_failure"] == "coverage"
    assert [(row["gate"], row["status"], row["notes"]) for row in data["gate_history"]] == [
        ("design", "PASS", "All checks passed"),
        ("spec", "WARN", "Missing edge case coverage"),
        ("plan-structure", "PASS", ""),
        ("plan-execution", "FAIL", "Test coverage 60%, required 80%"),
        ("plan-execution", "PASS", "Retry successful"),
    ]


@pytest.mark.requirement("R5", "R10", "R11", "R44")
def test_the_check_names_what_is_outside_its_set(command: Caller, project: Project) -> None:
    text = put_other(project, "2026-01-11T11:00:00Z")
    changes = (("amp", "mainframe"), ("mode: SA", "mode: XX"), ("GREEN", "BLUE"), ("[design]", "[guess]"))
    for old, new in changes:
        text = text.replace(old, new)
    put(project.folder, LEDGER, text)

    problems = checked(command, LEDGER)["problems"]

    assert {one["field"].split(".")[0] for one in problems} == {"platform", "mode", "tdd_phase", "validation"}


@pytest.mark.requirement("R18", "R19", "R20")
def test_a_ledger_without_update_for_more_than_a_day_is_archived_by_the_next_start(
    command: Caller, project: Project
) -> None:
    text = put_other(project, "2026-01-10T11:59:59Z")

    command("start", "--fresh")

    (record,) = project.folder.glob(f"{ARCHIVE}/*")
    assert "2026-01-11-12-00-stale" in record.name
    assert text.split("## Goal\n")[1].strip().splitlines()[0] in record.read_text(encoding="utf-8")
    assert matter(project)["session_id"] != "T-abc123"


@pytest.mark.requirement("R18")
def test_a_ledger_of_less_than_a_day_is_not_stale(command: Caller, project: Project) -> None:
    put_other(project, "2026-01-10T12:00:01Z")

    command("start", "--fresh")

    assert list(project.folder.glob(f"{ARCHIVE}/*stale*")) == []


@pytest.mark.requirement("R3")
def test_git_does_not_see_the_ledger(command: Caller, project: Project) -> None:
    command("init", "--yes")
    command("start")

    assert project.git("check-ignore", LEDGER).strip() == LEDGER
    assert "LEDGER" not in project.git("status", "--porcelain", "--untracked-files=all")


@pytest.mark.requirement("R217", "R218")
def test_a_session_has_a_state_file_of_its_own(command: Caller, project: Project) -> None:
    command("start", "--nickname", "toast", "--track", "auth_20260101")

    (path,) = project.folder.glob(".conductor/session-state_*.json")
    found = state(project)

    assert path.name == f"session-state_{found['agentId']}.json"
    assert found["agentId"].startswith("toast-")
    assert found == {
        "agentId": found["agentId"],
        "mode": "SA",
        "modeLockedAt": "2026-01-11T12:00:00Z",
        "trackId": "auth_20260101",
        "currentTask": None,
        "currentTasks": None,
        "tddPhase": None,
        "lastUpdated": "2026-01-11T12:00:00Z",
    }


@pytest.mark.requirement("R37", "R237")
def test_an_end_lets_go_of_the_track_and_leaves_no_ledger_lock_or_session_behind(
    command: Caller, project: Project
) -> None:
    command("start", "--track", "auth_20260101")
    command("goal", "Ship it")

    assert command("end").code == 0

    assert not (project.folder / LEDGER).exists()
    assert list(project.folder.rglob("*.lock")) == []
    assert json.loads(command("status", "--json").out)["sessions"] == []
    command("start", "--fresh")
    assert matter(project)["bound_track"] == "null"
