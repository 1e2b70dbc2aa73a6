"""The session state file."""

import pytest

from passdown.core.formats.ledgers import Mode
from passdown.core.formats.state_file import parse_session_state, render_session_state
from passdown.errors import FormatError
from passdown.records import replace

TEXT = '{"agentId": "a", "mode": "SA", "lastUpdated": "2026-01-01T00:00:00Z"}'


@pytest.mark.requirement("R218")
def test_members_that_do_not_fit_are_kept_and_reported_once() -> None:
    text = '{\n  "agentId": 7,\n  "mode": "XX",\n  "lastUpdated": "soon",\n  "currentTasks": "bd-1"\n}\n'

    state = parse_session_state(text)

    assert [(one.place, one.text) for one in state.unknown] == [
        ("agentId", "7"),
        ("mode", '"XX"'),
        ("lastUpdated", '"soon"'),
        ("currentTasks", '"bd-1"'),
    ]
    assert [(one.line, one.field) for one in state.problems] == [
        *((2, "agentId"), (3, "mode"), (4, "lastUpdated"), (5, "currentTasks")),
    ]


def test_missing_members_are_reported() -> None:
    problems = parse_session_state('{"mode": null}').problems

    assert [(one.field, one.problem) for one in problems] == [
        *(("agentId", "is missing"), ("mode", "is missing"), ("lastUpdated", "is missing")),
    ]


def test_the_first_of_two_members_counts() -> None:
    text = TEXT.replace("}", ', "mode": "MA"}')

    state = parse_session_state(text)

    assert state.mode is Mode.SINGLE
    assert [(one.place, one.text) for one in state.unknown] == [("mode", '"MA"')]
    assert [one.problem for one in state.problems] == ["appears twice; the first one counts"]


def test_a_change_touches_only_its_member() -> None:
    state = parse_session_state(TEXT)

    changed = render_session_state(replace(state, current_task="bd-1"))

    assert changed == TEXT.replace("}", ', "currentTask": "bd-1"}')


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a" 1}', "not a JSON object", TEXT + TEXT])
def test_what_is_no_json_object_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match=r"^session state "):
        parse_session_state(text)
