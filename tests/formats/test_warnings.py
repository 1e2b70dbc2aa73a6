"""Faults that the seeds' own documents and tools had: each gets a warning that names it."""

import pytest

from passdown.core.documents.documents import AnyDocument
from passdown.core.documents.key_value import Pair
from passdown.core.facts import GateStatus
from passdown.core.formats import examples, registry
from passdown.core.formats.archives import ArchiveStatus, archive_status, parse_archive, render_archive
from passdown.core.formats.events import parse_event
from passdown.core.formats.ledgers import (
    PLATFORMS,
    GateResult,
    Ledger,
    LedgerDecision,
    Validation,
    parse_ledger,
    render_ledger,
)
from passdown.core.formats.registry import judge_path, recognise
from passdown.core.formats.state_file import parse_session_state, render_session_state
from passdown.core.formats.streams import Stream, Workflow, parse_stream, render_stream
from passdown.core.formats.views import parse_view, render_view
from passdown.core.problems import Severity
from passdown.records import replace


def _said(document: AnyDocument, field: str) -> list[str]:
    assert all(one.severity is Severity.WARNING for one in document.problems if one.field == field)
    return [f"{one.line}: {one.problem}" for one in document.problems if one.field == field]


def _ledger(**changes: object) -> Ledger:
    changed: Ledger = replace(examples.LEDGER, **changes)
    return parse_ledger(render_ledger(changed))


def _stream(**changes: object) -> Stream:
    changed: Stream = replace(examples.STREAM, **changes)
    return parse_stream(render_stream(changed))


@pytest.mark.requirement("R5")
@pytest.mark.parametrize("platform", ["claude | amp | codex", "claude, amp", "claude/amp", "claude or amp"])
def test_alternatives_are_no_platform(platform: str) -> None:
    assert _said(_ledger(platform=platform), "platform") == [f"4: lists alternatives: {platform}"]


@pytest.mark.requirement("R5", "C54")
def test_known_platforms_pass_and_others_are_read_with_a_warning() -> None:
    assert {"claude", "amp", "codex"} < PLATFORMS
    for platform in PLATFORMS:
        assert _ledger(platform=platform).problems == ()

    unknown = _ledger(platform="emacs")

    assert unknown.platform == "emacs"
    assert _said(unknown, "platform") == ["4: is not a known platform: emacs"]


@pytest.mark.parametrize("status", [GateStatus.WARN, GateStatus.FAIL])
def test_a_gate_whose_last_result_is_no_pass_has_not_passed(status: GateStatus) -> None:
    history = (
        GateResult(gate="design", status=GateStatus.PASS),
        GateResult(gate="design", status=status),
        GateResult(gate="spec", status=GateStatus.WARN),
        GateResult(gate="spec", status=GateStatus.PASS),
    )

    ledger = _ledger(
        gate_history=history, validation=Validation(gates_passed=("design", "spec", "completion"))
    )

    assert _said(ledger, "validation") == [f"10: lists design as passed, but its last result is {status}"]


@pytest.mark.requirement("R44")
def test_unknown_gates_are_named() -> None:
    ledger = _ledger(validation=Validation(gates_passed=("desing",), current_gate="lint"))

    assert _said(ledger, "validation") == [
        "10: names an unknown gate: desing",
        "10: names an unknown gate: lint",
    ]


@pytest.mark.requirement("R27")
def test_times_of_day_that_are_none_are_named_and_kept() -> None:
    decisions = (LedgerDecision(decision="a", when="09:05"), LedgerDecision(decision="b", when="24:00"))
    history = (GateResult(gate="design", status=GateStatus.PASS, time="9 am"),)

    ledger = _ledger(decisions=decisions, gate_history=history)

    assert (ledger.decisions, ledger.gate_history) == (decisions, history)
    assert _said(ledger, "Key Decisions") == ["46: has a time that is not HH:MM: 24:00"]
    assert _said(ledger, "Validation History") == ["67: has a time that is not HH:MM: 9 am"]


def test_tasks_left_over_in_a_ledger_are_named() -> None:
    left = _ledger(current_tasks=("bd-1", "bd-2"), bound_bead=None)
    kept = _ledger(current_tasks=("bd-1", "bd-2"))

    assert _said(left, "current_tasks") == ["8: is set although bound_bead is null"]
    assert _said(kept, "current_tasks") == []


def test_tasks_left_over_in_a_session_state_are_named() -> None:
    state = replace(examples.SESSION_STATE, current_task=None, current_tasks=("bd-1",))

    found = parse_session_state(render_session_state(state))

    assert _said(found, "currentTasks") == ["1: is set although currentTask is null"]


@pytest.mark.requirement("R23")
def test_an_active_task_that_differs_from_the_binding_is_named() -> None:
    ledger = _ledger(task_bead="bd-1", task_track="other_20260101")

    assert _said(ledger, "Active Task") == [
        "21: bead differs from bound_bead",
        "22: track differs from bound_track",
    ]


@pytest.mark.requirement("R25", "C29")
def test_a_ledger_has_one_current_item() -> None:
    text = render_ledger(examples.LEDGER).replace("### Now\n", "### Now\n- Before it\n")

    ledger = parse_ledger(text)

    assert (ledger.now, ledger.next[0]) == ("Before it", "Verifying the assertion signature")
    assert _said(ledger, "State/Now") == ["34: has more than one item"]


@pytest.mark.requirement("R64")
def test_a_stream_has_one_current_item() -> None:
    text = render_stream(examples.STREAM).replace("### Now\n", "### Now\n[->] Before it\n")

    stream = parse_stream(text)

    assert (stream.now, stream.next[0]) == ("Before it", "Verifying the assertion signature")
    assert _said(stream, "Ledger/Now") == ["16: has more than one item"]


@pytest.mark.requirement("C13")
def test_phases_that_disagree_are_named() -> None:
    stream = _stream(workflow=Workflow(phase=3), now="Cookie for the session")

    assert _said(stream, "Ledger/Workflow State") == [
        "32: says phase 3, but in Phase Status 2 is the first that is not validated"
    ]
    assert _said(stream, "Ledger/Now") == [
        "16: names phase 3, but in Phase Status 2 is the first that is not validated"
    ]


def test_phases_that_agree_or_are_over_are_not_named() -> None:
    agreed = _stream(now="Verification of the cookie")
    over = _stream(checkpoint=None, workflow=Workflow(phase=9))

    assert agreed.problems == over.problems == ()


@pytest.mark.requirement("R59", "R61")
def test_a_stream_has_a_kebab_name_and_bears_it_in_its_title() -> None:
    stream = _stream(session_name="Passkey Login")
    untitled = _stream(title="")

    assert _said(stream, "session_name") == ["3: is not a valid stream name: Passkey Login"]
    assert _said(stream, "title") == ["1: is 'Work Stream: passkey-login'"]
    assert _said(untitled, "title") == ["1: is missing"]


@pytest.mark.requirement("R70", "R71")
def test_a_streams_allocation_and_unknowns_are_checked() -> None:
    stream = _stream(resolved=(Pair(key="resource_allocation", value="lots"),), unknowns=("a: UNKNOWN", "b"))

    assert _said(stream, "Ledger/Workflow State/Resolved") == ["40: has the unknown resource_allocation lots"]
    assert _said(stream, "Ledger/Workflow State/Unknowns") == ["44: is not marked UNKNOWN: b"]


@pytest.mark.requirement("R99")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("thoughts/shared/handoffs/events/2026-03-02T09-30-00.000Z_claude-1f3a9c02.md", []),
        ("thoughts\\shared\\handoffs\\events\\2026-03-02T09-30-00Z_claude-1f3a9c02.md", []),
        ("handoffs/events/2026-03-02/2026-03-02T09-30-00.000Z_claude-1f3a9c02.md", []),
        ("handoffs/auth/events/2026-03-02T09-30-00Z_claude-1f3a9c02.md", ["path: is in a stream's folder"]),
        ("events/notes.md", ["path: is not named `<stamp>_<agent>.md`"]),
        (
            "events/2026-03-02T09-30-01.001Z_toast.md",
            [
                "agent: is claude-1f3a9c02, but the file is named for toast",
                "ts: differs from the time in the file name",
            ],
        ),
    ],
)
def test_where_events_lie_is_judged(path: str, expected: list[str]) -> None:
    event = registry.EVENT.parse(registry.EVENT.example())

    found = [f"{one.field}: {one.problem}" for one in judge_path(registry.EVENT, path, event)]

    assert found == expected


def test_an_event_without_agent_and_time_is_not_compared_with_its_name() -> None:
    event = parse_event("now: x")

    assert list(judge_path(registry.EVENT, "events/2026-03-02T09-30-01Z_toast.md", event)) == []


@pytest.mark.requirement("R54")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("conductor/sessions/active/LEDGER.md", []),
        ("thoughts/ledgers/CONTINUITY.md", ["separate ledger files are deprecated"]),
        ("thoughts/shared/handoffs/ledger-toast.md", ["ledgers per agent were replaced by events"]),
    ],
)
def test_where_ledgers_lie_is_judged(path: str, expected: list[str]) -> None:
    ledger = registry.LEDGER.parse(registry.LEDGER.example())

    assert [one.problem for one in judge_path(registry.LEDGER, path, ledger)] == expected


def test_a_footer_right_after_the_section_is_the_rule_that_ends_it() -> None:
    text = render_view(examples.VIEW)

    view = parse_view(text)

    assert text.count("\n---\n") == 2
    assert view.footer is not None
    assert view.problems == ()


def test_a_stream_document_with_a_footer_is_a_view() -> None:
    text = render_stream(examples.STREAM)
    footed = text.replace("\n---\n\n## Context", "\n---\n_synthesized:\n  event_count: 5\n---\n\n## Context")

    assert recognise("thoughts/shared/handoffs/auth/current.md", text) is registry.STREAM
    assert recognise("thoughts/shared/handoffs/auth/current.md", footed) is registry.VIEW
    assert _said(parse_view(footed), "footer") == ["1: is missing, so this view was not made from events"]


@pytest.mark.requirement("G2")
def test_an_archives_status_goes_with_its_trigger() -> None:
    wrong = replace(examples.ARCHIVE, trigger="stale", status=ArchiveStatus.HANDOFF)

    found = parse_archive(render_archive(wrong))

    assert _said(found, "status") == ["5: is handoff, but the trigger stale means interrupted"]
    assert [archive_status(trigger) for trigger in ("manual", "pre-compact", "session-end", "stale")] == [
        *(ArchiveStatus.COMPLETE, ArchiveStatus.HANDOFF, ArchiveStatus.COMPLETE, ArchiveStatus.INTERRUPTED),
    ]
    assert archive_status("coffee") is ArchiveStatus.HANDOFF


@pytest.mark.requirement("G2", "C20")
def test_unknown_triggers_are_read_with_a_warning() -> None:
    found = parse_archive(render_archive(replace(examples.ARCHIVE, trigger="coffee")))

    assert found.trigger == "coffee"
    assert _said(found, "trigger") == ["4: is not a known trigger: coffee"]
