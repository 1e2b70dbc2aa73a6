"""The event: read as far as it can be, never changed."""

import pytest
from hypothesis import given

from passdown.core.documents.key_value import Pair
from passdown.core.formats import examples
from passdown.core.formats.events import (
    MAX_CHARS,
    Event,
    EventCheckpoint,
    parse_event,
    read_event,
    render_event,
)
from passdown.core.ids import event_file_name, parse_event_file_name
from passdown.core.phases import PhaseState
from passdown.core.problems import Malformed, Severity
from passdown.core.times import parse_instant
from passdown.records import replace
from tests.formats.strategies import event_values

HEAD = "---\nts: 2026-01-10T13:03:52Z\nagent: toast\nbranch: b\ntype: t\nreason: r\n---\n\n"


@pytest.mark.requirement("R100")
def test_an_event_that_was_read_is_never_changed() -> None:
    text = render_event(examples.EVENT)

    assert render_event(replace(parse_event(text), now="something else")) == text


@pytest.mark.requirement("R101")
def test_an_event_is_named_by_its_time_and_agent() -> None:
    at = parse_instant("2026-01-10T13:03:52Z")
    assert at is not None

    name = event_file_name(at, "toast")
    seeds = parse_event_file_name("2026-01-10T13-03-52Z_toast.md")

    assert name == "2026-01-10T13-03-52.000Z_toast.md"
    assert seeds == parse_event_file_name(name)


@given(event_values)
def test_the_fast_path_reads_the_same_texts(event: Event) -> None:
    found = read_event(render_event(event))

    for name in ("agent", "branch", "goal", "now", "next"):
        assert found.get(name) == getattr(event, name)
    for name in ("this_session", "open_questions", "constraints"):
        assert found.get(name, ()) == getattr(event, name)
    for name in ("decisions", "provenance"):
        assert found.get(name, ()) == tuple((one.key, one.value) for one in getattr(event, name))
    assert len(found.get("checkpoints", ())) == len(event.checkpoints)  # type: ignore[arg-type]  # a tuple


def test_the_fast_path_refuses_what_does_not_fit() -> None:
    with pytest.raises(Malformed):
        read_event(f"{HEAD}now:\n- a\n- b\n")


@pytest.mark.requirement("R115")
@pytest.mark.parametrize(
    "text", ["", "\n", "---\n", "---\n---\n", "no event at all\n", "{", "\ufeff---\n---\n"]
)
def test_an_empty_event_is_read_and_reported(text: str) -> None:
    event = parse_event(text)

    assert replace(event, unknown=()) == Event()
    assert {one.field for one in event.problems if one.severity is Severity.ERROR} >= {"ts", "agent"}


@pytest.mark.requirement("R115")
@pytest.mark.parametrize(
    "line",
    [
        "now:\n- a\n- b",
        "decisions: words",
        "checkpoints: words",
        "next: [a, [b]]",
        "checkpoints:\n  a: b",
        "goal:\n- x",
    ],
)
def test_a_value_that_does_not_fit_is_kept_and_reported_with_its_line(line: str) -> None:
    event = parse_event(f"{HEAD}{line}\n\nopen_questions:\n- still read\n")

    assert [one.text for one in event.unknown] == [line]
    assert [(one.line, one.field) for one in event.problems] == [(9, line.partition(":")[0])]
    assert event.open_questions == ("still read",)


def test_the_first_of_two_keys_counts() -> None:
    event = parse_event(f"{HEAD}now: a\nnow: b\n")

    assert event.now == "a"
    assert [one.text for one in event.unknown] == ["now: b"]
    assert [(one.line, one.problem) for one in event.problems] == [
        (10, "appears twice; the first one counts")
    ]


def test_keys_are_read_wherever_they_stand() -> None:
    event = parse_event(
        "---\nts: 2026-01-10T13:03:52Z\nnow: a\n---\n\nagent: toast\nbranch: b\ntype: t\nreason: r\n"
    )

    assert (event.agent, event.now) == ("toast", "a")
    assert event.problems == ()


@pytest.mark.requirement("R103")
def test_checkpoints_keep_what_they_do_not_know() -> None:
    record = "- phase: 5\n  status: ✓ VALIDATED\n  phase: 6\n  owner: me\n  updated: soon\n"

    (checkpoint,) = parse_event(f"{HEAD}checkpoints:\n{record}").checkpoints

    assert checkpoint == EventCheckpoint(
        phase=5,
        status=PhaseState.VALIDATED,
        others=(
            Pair(key="phase", value="6"),
            Pair(key="owner", value="me"),
            Pair(key="updated", value="soon"),
        ),
    )


@pytest.mark.requirement("R100")
def test_an_event_is_small_but_a_rollup_need_not_be() -> None:
    long = f"{HEAD}now: {'x' * MAX_CHARS}\n"

    assert [one.field for one in parse_event(long).problems] == ["event"]
    assert parse_event(long.replace("type: t", "type: rollup")).problems == ()


@pytest.mark.parametrize("version", ["²", "1.5", "one", "", "1"])
def test_what_is_no_newer_version_is_kept(version: str) -> None:
    event = parse_event(HEAD.replace("---\n", f"---\nformat: {version}\n", 1))

    assert [one.text for one in event.unknown] == [f"format: {version}".strip()]
