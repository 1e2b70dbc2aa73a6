"""Handoffs to one agent."""

from datetime import timedelta
from pathlib import Path

import pytest

from passdown.core.documents import fields
from passdown.core.formats.addressed_handoffs import (
    AddressedHandoff,
    HandoffContext,
    parse_addressed_handoff,
    render_addressed_handoff,
)
from passdown.core.problems import Unknown
from passdown.core.times import parse_instant
from passdown.errors import FormatError
from passdown.records import replace

SEED = (Path(__file__).parent / "golden/handoff-seed.json").read_text(encoding="utf-8")


@pytest.mark.requirement("R221")
def test_the_seeds_handoff_is_read() -> None:
    found = parse_addressed_handoff(SEED)

    assert found == AddressedHandoff(
        sender="T-abc123",
        to="T-def456",
        created_at=parse_instant("2025-12-25T10:00:00Z"),
        expires_at=parse_instant("2025-12-26T10:00:00Z"),
        content="Review auth changes before merge. Key files: src/auth/*.ts",
        context=HandoffContext(
            task_id="my-workflow:3-xyz",
            track_id="auth_20251225",
            files=("src/auth/jwt.ts", "src/auth/middleware.ts"),
        ),
        priority="normal",
    )
    assert found.problems == ()


def test_unknown_members_are_kept_also_in_the_context() -> None:
    text = SEED.replace('"taskId"', '"owner": {"name": "é"},\n    "taskId"').replace(
        '"priority"', '"later": 1.50,\n  "priority"'
    )

    found = parse_addressed_handoff(text)

    assert found.unknown == (Unknown(place="later", text="1.50"),)
    assert found.context
    assert found.context.unknown == (Unknown(place="owner", text='{"name": "é"}'),)
    assert render_addressed_handoff(found) == text
    later = replace(found, expires_at=found.expires_at and found.expires_at + timedelta(days=1))
    assert render_addressed_handoff(later) == text.replace("2025-12-26", "2025-12-27")
    moved = replace(found, context=replace(found.context, track_id=None))
    again = parse_addressed_handoff(render_addressed_handoff(moved))
    assert again == moved


@pytest.mark.parametrize(
    ("context", "problem"),
    [
        ('"bd-42"', "`context` is not a JSON object"),
        ('{"files": "a.py"}', "`files` is not a list of strings"),
        ('{"taskId": 7}', "`taskId` is not a string"),
    ],
)
def test_a_context_that_does_not_fit_is_kept_and_reported(context: str, problem: str) -> None:
    text = f'{{"from": "a", "to": "b", "context": {context}}}'

    found = parse_addressed_handoff(text)

    assert found.context is None
    assert found.unknown == (Unknown(place="context", text=context),)
    assert [one.problem for one in found.problems if one.field == "context"] == [problem]
    assert [one.field for one in found.problems if one.problem == "is missing"] == [
        *("createdAt", "expiresAt", "content"),
    ]
    assert render_addressed_handoff(found) == text


def test_a_context_that_is_nested_too_deeply_is_kept_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> str:
        raise RecursionError

    monkeypatch.setattr(fields, "dump", refuse)
    text = '{"from": "a", "to": "b", "context": {"other": [[]]}}'

    found = parse_addressed_handoff(text)

    assert [one.problem for one in found.problems if one.field == "context"] == [
        "`context` is nested too deeply"
    ]
    assert render_addressed_handoff(found) == text


@pytest.mark.parametrize("version", ["2", "1000000000"])
def test_a_newer_handoff_is_refused(version: str) -> None:
    with pytest.raises(
        FormatError, match=r"handoff has format [0-9]+; this version of passdown reads up to 1"
    ):
        parse_addressed_handoff('{"format": ' + version + "}")
