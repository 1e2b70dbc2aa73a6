"""The records of sessions in the archive, as a user finds them after a handoff, a switch and an end."""

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import Caller
from tests.support.gits import Project

ARCHIVE = "conductor/sessions/archive"
SECTIONS = (
    *("## Summary", "## Completed", "## In Progress", "## Blocked", "## Next Steps", "## Key Decisions"),
    *("## Artifacts", "## Context for Next Session", "## Open Questions"),
)


def records(project: Project) -> list[Path]:
    return sorted((project.folder / ARCHIVE).iterdir())


@pytest.mark.requirement("G2")
@pytest.mark.parametrize(
    ("trigger", "status"),
    [
        ("manual", "complete"),
        ("pre-compact", "handoff"),
        ("session-end", "complete"),
        ("stale", "interrupted"),
        ("track-switch", "handoff"),
        ("track-complete", "complete"),
    ],
)
def test_a_record_is_named_by_its_trigger_and_has_its_status(
    command: Caller, project: Project, trigger: str, status: str
) -> None:
    session = json.loads(command("start", "--nickname", "toast", "--json").out)
    command("goal", "Let people sign in")
    command("done", "Session model")

    assert command("handoff", "create", "--trigger", trigger).code == 0

    (record,) = records(project)
    text = record.read_text(encoding="utf-8")
    assert record.name == f"2026-01-11-12-00-{trigger}-{session['agent']}.md"
    assert {
        "date: 2026-01-11T12:00:00Z",
        f"session_id: {session['session']}",
        f"trigger: {trigger}",
        f"status: {status}",
    } <= set(text.split("---\n")[1].splitlines())
    assert [line for line in text.splitlines() if re.match("## ", line)][: len(SECTIONS)] == list(SECTIONS)
    assert "- Session model" in text.split("## Completed\n")[1].split("##")[0]
    assert command("check", str(record)).code == 0


@pytest.mark.requirement("G2", "R20")
def test_an_end_and_a_switch_of_tracks_leave_a_record_each(command: Caller, project: Project) -> None:
    command("start", "--track", "auth_20260101")
    command("track", "bind", "billing_20260101")
    command("goal", "Bill people")
    command("end")

    names = [record.name.removeprefix("2026-01-11-12-00-") for record in records(project)]

    assert [re.sub(r"-generic-[0-9a-f]+\.md$", "", name) for name in names] == [
        *("session-end", "track-switch"),
    ]
