"""The seeds' own examples, to the byte where the seed is undamaged, and shapes seen in the field."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.facts import GATES, GateStatus
from passdown.core.formats import registry
from passdown.core.formats.archives import ArchiveStatus, parse_archive
from passdown.core.formats.checkpoints import Phase, ValidationState
from passdown.core.formats.events import EventCheckpoint, parse_event, render_event
from passdown.core.formats.journal import parse_journal
from passdown.core.formats.ledgers import (
    GateResult,
    Ledger,
    LedgerDecision,
    Mode,
    ReadFile,
    TddPhase,
    Validation,
    parse_ledger,
    render_ledger,
)
from passdown.core.formats.state_file import SessionState, parse_session_state
from passdown.core.formats.streams import Question, QuestionKind, Stream, Workflow, parse_stream
from passdown.core.formats.views import Footer, parse_view
from passdown.core.merge.event_facts import parse_event_facts, source_of
from passdown.core.phases import PhaseState
from passdown.core.problems import Severity
from passdown.core.schemas import to_data
from passdown.core.sessions.session_facts import fold_journal
from passdown.core.times import parse_instant
from passdown.core.work.operations import read_operations
from passdown.records import replace
from tests.formats.strategies import BY_NAME, Kind
from tests.hostile.counter import lost_lines

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(path.name for path in GOLDEN.iterdir())
CANONICAL = (
    *("ledger-template.md", "stream-example.md", "session-state-seed.json", "session-state-tasks.json"),
    "journal-operations.jsonl",
)
each_file = pytest.mark.parametrize("name", FILES)

Expected = list[tuple[int, str, str]]
E, W = "error", "warning"
SECTIONS = (
    *("Active Task", "Goal", "Key Decisions", "Open Questions", "State", "Validation History", "Working Set"),
)
ARCHIVED = (
    *("Artifacts", "Blocked", "Completed", "Context for Next Session", "In Progress", "Key Decisions"),
    *("Next Steps", "Open Questions", "Summary"),
)


def _ledger_part(line: int, *present: str) -> Expected:
    """What is missing from an example that shows one part of a ledger."""
    sections = [(line, section, W) for section in SECTIONS if section not in present]
    if line > 1:
        return [*sections, (line, "title", W)]
    fields = [(2, name, E) for name in ("platform", "session_id", "updated")]
    return [*sections, (1, "front matter", E), (1, "title", W), *fields]


PROBLEMS: dict[str, Expected] = {
    "archive-machine-made.md": [(5, "status", W), *((7, section, W) for section in ARCHIVED)],
    "archive-v1.md": [],
    "change-state-quick.md": [],
    "event-answers.md": [],
    "event-bare.md": [(11, "body", W)],
    "event-gates.md": [],
    "event-migrated.md": [(1, "ts", E), (1, "agent", E), (1, "branch", W), (1, "type", W), (1, "reason", W)],
    "event-origins.md": [],
    "event-seed.md": [],
    "handoff-seed.json": [],
    "journal-before-operations-ended.jsonl": [],
    "journal-before-operations-takeover.jsonl": [],
    "journal-operations-away.jsonl": [],
    "journal-operations-ended.jsonl": [],
    "journal-operations-lost.jsonl": [],
    "journal-operations-takeover.jsonl": [],
    "journal-operations.jsonl": [],
    "ledger-active-task.md": _ledger_part(1, "Active Task"),
    "ledger-binding-flow.yaml": _ledger_part(1),
    "ledger-conductor-fields.md": _ledger_part(11),
    "ledger-goal.md": _ledger_part(1, "Goal"),
    "ledger-key-decisions.md": _ledger_part(1, "Key Decisions"),
    "ledger-open-questions.md": _ledger_part(1, "Open Questions"),
    "ledger-required-fields.md": [(4, "platform", W), *_ledger_part(6)],
    "ledger-state.md": _ledger_part(1, "State"),
    "ledger-template.md": [],
    "ledger-validation-fields.md": [
        *((2, name, E) for name in ("platform", "session_id", "updated")),
        *_ledger_part(8),
    ],
    "ledger-validation-history.md": _ledger_part(1, "Validation History"),
    "ledger-working-set.md": _ledger_part(1, "Working Set"),
    "loop-answered.md": [],
    "loop-critique.md": [],
    "loop-ideation.md": [],
    "loop-implementation.md": [(24, "Result", W)],
    "session-context-seed.md": [],
    "session-state-seed.json": [],
    "session-state-tasks.json": [],
    "stream-example-damaged.md": [
        (13, "Ledger/Now", W),
        (29, "Ledger/Workflow State", W),
        (56, "text", E),
        (56, "Ledger/Checkpoints/Validation State", W),
        (70, "Ledger", W),
    ],
    "stream-example.md": [(16, "Ledger/Now", W), (37, "Ledger/Workflow State", W)],
    "stream-minimal-damaged.md": [
        (2, "date", E),
        (3, "session_name", W),
        (9, "Ledger/Updated", E),
        (24, "Ledger/Workflow State/total_phases", E),
        (38, "Ledger/Checkpoints/Started", E),
        (39, "Ledger/Checkpoints/Last Updated", E),
        (45, "text", E),
        (45, "Ledger/Checkpoints/Validation State", W),
        (59, "Ledger", W),
    ],
    "stream-minimal.md": [
        (2, "date", E),
        (3, "session_name", W),
        (11, "Ledger/Updated", E),
        (31, "Ledger/Workflow State/total_phases", E),
        (49, "Ledger/Checkpoints/Started", E),
        (50, "Ledger/Checkpoints/Last Updated", E),
    ],
    "stream-template-damaged.md": [
        *((1, "front matter", E), (1, "Ledger", E), (2, "date", E), (2, "session_name", E)),
        *((2, "branch", E), (2, "status", E)),
    ],
    "stream-template.md": [
        (2, "date", E),
        (3, "session_name", W),
        (12, "Ledger/Updated", E),
        (36, "Ledger/Workflow State/phase", E),
        (37, "Ledger/Workflow State/total_phases", E),
        (43, "Ledger/Workflow State/Resolved", W),
    ],
    "view-seed-footer.md": [],
}


def _text(name: str) -> str:
    return (GOLDEN / name).read_bytes().decode("utf-8")


def _kind(name: str) -> Kind:
    return next(kind for prefix, kind in BY_NAME.items() if name.startswith(prefix))


def _ledger(name: str) -> Ledger:
    return parse_ledger(_text(f"ledger-{name}.md"))


def _stream(name: str) -> Stream:
    return parse_stream(_text(f"stream-{name}.md"))


@each_file
def test_golden_files_are_written_as_they_were_read(name: str) -> None:
    kind, text = _kind(name), _text(name)

    assert kind.render(kind.parse(text)) == text


@pytest.mark.parametrize("name", CANONICAL)
def test_complete_examples_are_written_to_the_byte_from_their_values_alone(name: str) -> None:
    kind, text = _kind(name), _text(name)

    assert kind.render(replace(kind.parse(text), source=None)) == text


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("journal-")])
def test_no_line_of_a_golden_file_is_lost(name: str) -> None:
    text = _text(name)

    assert lost_lines(text, to_data(_kind(name).parse(text))) == []


@each_file
def test_what_is_wrong_with_a_golden_file_is_known(name: str) -> None:
    problems = _kind(name).parse(_text(name)).problems

    found = [(one.line, one.field, str(one.severity)) for one in problems]
    assert sorted(found) == sorted(PROBLEMS[name])


@pytest.mark.parametrize("name", [name for name in FILES if "damaged" in name])
def test_damaged_examples_are_read_with_warnings_that_say_so(name: str) -> None:
    problems = _kind(name).parse(_text(name)).problems

    assert {one.severity for one in problems} >= {Severity.ERROR}
    assert all(one.problem for one in problems)


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("ledger-template.md", "notes.md", registry.LEDGER),
        ("ledger-conductor-fields.md", "notes.md", registry.LEDGER),
        ("ledger-goal.md", "conductor/sessions/active/LEDGER.md", registry.LEDGER),
        ("ledger-goal.md", "notes.md", None),
        ("stream-example.md", "notes.md", registry.STREAM),
        ("stream-minimal-damaged.md", "notes.md", registry.STREAM),
        ("stream-template-damaged.md", "thoughts/shared/handoffs/auth/current.md", registry.STREAM),
        ("event-seed.md", "notes.md", registry.EVENT),
        ("event-migrated.md", "thoughts/shared/handoffs/events/2026-01-11T06-30-00Z_x.md", registry.EVENT),
        ("view-seed-footer.md", "notes.md", registry.VIEW),
        ("archive-v1.md", "notes.md", registry.ARCHIVE),
        ("archive-machine-made.md", "conductor/sessions/archive/2025-12-28T13-49-stale.md", registry.ARCHIVE),
        ("session-state-seed.json", "state.json", registry.SESSION_STATE),
        ("handoff-seed.json", "letter.json", registry.ADDRESSED_HANDOFF),
        ("loop-answered.md", "notes.md", registry.LOOP),
        ("loop-ideation.md", "changes/habits/loops/ideation.md", registry.LOOP),
        ("loop-ideation.md", "notes.md", None),
        ("change-state-quick.md", "notes.md", registry.CHANGE_STATE),
        ("session-context-seed.md", "notes.md", registry.SESSION_CONTEXT),
    ],
)
@pytest.mark.requirement("R2", "R53", "R217")
def test_examples_are_recognised_by_what_they_say_or_where_they_lie(
    name: str, path: str, expected: registry.Format | None
) -> None:
    assert registry.recognise(path, _text(name)) is expected


@pytest.mark.requirement("R4", "R5", "R6")
def test_required_fields_are_read() -> None:
    ledger = _ledger("required-fields")

    assert ledger.updated == parse_instant("2025-12-27T10:30:00Z")
    assert ledger.session_id == "T-abc123"
    assert ledger.platform == "claude | amp | codex"
    assert [one.problem for one in parse_ledger("---\n---\n").problems if one.severity is Severity.ERROR] == [
        "is missing"
    ] * 3


@pytest.mark.requirement("R6", "R8", "R9", "R10", "R11", "R12", "R13")
def test_conductor_fields_are_read() -> None:
    ledger = _ledger("conductor-fields")

    assert ledger.bound_track == "feature-name_20251227"
    assert ledger.bound_bead == "my-workflow:3-xyz"
    assert ledger.mode is Mode.SINGLE
    assert ledger.tdd_phase is TddPhase.GREEN
    assert ledger.heartbeat == parse_instant("2025-12-27T10:25:00Z")


@pytest.mark.requirement("R16", "R44")
def test_validation_fields_are_read() -> None:
    validation = _ledger("validation-fields").validation

    assert validation == Validation(gates_passed=("design", "spec"), current_gate="plan-structure")
    assert GATES == ("design", "spec", "plan-structure", "plan-execution", "completion")


@pytest.mark.requirement("R17", "R22")
def test_template_holds_the_defaults_and_every_section_in_order() -> None:
    ledger = _ledger("template")
    headings = [
        line.lstrip("# ") for line in _text("ledger-template.md").splitlines() if line.startswith("## ")
    ]

    assert ledger.tdd_phase is None
    assert ledger.validation == Validation(gates_passed=(), current_gate=None, retries=0, last_failure=None)
    assert ledger.title == "Session Ledger"
    assert headings == [
        *(
            "Active Task",
            "Goal",
            "State",
            "Key Decisions",
            "Working Set",
            "Open Questions",
            "Validation History",
        ),
    ]


@pytest.mark.requirement("R23", "R24", "R25", "R26", "R27", "R28", "R29")
def test_sections_of_a_ledger_are_read() -> None:
    task, state, work = _ledger("active-task"), _ledger("state"), _ledger("working-set")

    assert (task.task_bead, task.task_track) == ("my-workflow:3-xyz", "feature-name_20251227")
    assert _ledger("goal").goal == "Implement the authentication system with JWT tokens and refresh logic."
    assert state.done == ("Created auth middleware", "Added JWT validation")
    assert state.now == "Implementing refresh token logic"
    assert state.next == ("Add logout endpoint", "Write integration tests")
    assert _ledger("key-decisions").decisions == (
        LedgerDecision(decision="Use RS256 over HS256", reasoning="Key rotation support", when="10:15"),
        LedgerDecision(decision="Store refresh in httpOnly cookie", reasoning="XSS protection", when="10:30"),
    )
    assert work.branch == "feature/auth-jwt"
    assert work.modified == ("src/middleware/auth.ts", "src/utils/jwt.ts")
    assert work.read == (ReadFile(path="docs/security.md", reason="Security requirements"),)
    assert _ledger("open-questions").questions == (
        "Should we use sliding window for refresh tokens?",
        "What's the token expiry for mobile clients?",
    )


@pytest.mark.requirement("R27", "R30", "R32")
def test_validation_history_is_read_row_by_row() -> None:
    def row(gate: str, status: GateStatus, time: str, notes: str) -> GateResult:
        return GateResult(gate=gate, status=status, time=time, notes=notes)

    assert _ledger("validation-history").gate_history == (
        row("design", GateStatus.PASS, "10:15", "All checks passed"),
        row("spec", GateStatus.WARN, "10:20", "Missing edge case coverage"),
        row("plan-structure", GateStatus.PASS, "10:25", ""),
        row("plan-execution", GateStatus.FAIL, "11:00", "Test coverage 60%, required 80%"),
        row("plan-execution", GateStatus.PASS, "11:30", "Retry successful"),
    )


def test_each_step_of_the_binding_flow_is_two_lines_of_front_matter() -> None:
    steps = _text("ledger-binding-flow.yaml").strip().split("\n\n")
    ledger = _ledger("template")
    written = _text("ledger-template.md")

    assert len(steps) == 5
    for step in steps:
        comment, *bindings = step.split("\n")
        bound = parse_ledger("---\n" + step + "\n---\n")
        ledger = replace(ledger, bound_track=bound.bound_track, bound_bead=bound.bound_bead)
        text = render_ledger(ledger)
        assert comment in {one.text for one in bound.unknown}
        assert [line for line in text.split("\n") if line.startswith("bound_")] == bindings
        assert _other_lines(text) == _other_lines(written)


def _other_lines(text: str) -> Iterable[str]:
    return [line for line in text.split("\n") if not line.startswith("bound_")]


@pytest.mark.requirement("R60", "R61", "R62", "R63", "R64", "R65", "R66", "R67", "R68", "R73")
def test_the_seeds_example_of_a_stream_is_read() -> None:
    stream = _stream("example")

    assert stream.date == parse_instant("2025-01-15T14:30:00Z")
    assert (stream.session_name, stream.branch, stream.status) == (
        "auth-refactor",
        "feature/session-auth",
        "active",
    )
    assert stream.title == "Work Stream: auth-refactor"
    assert stream.updated == stream.date
    assert stream.goal.startswith("Replace JWT auth with session-based auth. Done when")
    assert (stream.ledger_branch, stream.test) == ("feature/session-auth", "npm test -- --grep session")
    assert stream.now == "Logout endpoint and session invalidation"
    assert stream.this_session == (
        "Session model created",
        "Redis integration complete",
        "Login endpoint working",
    )
    assert stream.next == ("Middleware swap", "Remove JWT imports", "Update tests")
    assert stream.decisions[2] == Pair(key="Migration", value="Dual-auth period, feature flag controlled")
    assert stream.questions == (
        Question(text="Does rate limiter need session awareness?", kind=QuestionKind.UNCONFIRMED),
    )
    assert stream.context.startswith("## Context\n")


@pytest.mark.requirement("R69", "R70", "R71", "R72")
def test_workflow_state_of_a_stream_is_read() -> None:
    stream = _stream("example")

    assert stream.workflow == Workflow(
        pattern="hierarchical", phase=3, total_phases=6, retries=0, max_retries=3
    )
    assert stream.resolved == (
        Pair(key="goal", value="Replace JWT auth with session-based auth"),
        Pair(key="resource_allocation", value="balanced"),
    )
    assert stream.unknowns == ("rate_limiter_awareness: UNKNOWN",)
    assert stream.last_failure == ""


@pytest.mark.requirement("R85", "R86", "R87", "R88", "R89")
def test_checkpoints_of_a_stream_are_read() -> None:
    checkpoint = _stream("example").checkpoint

    assert checkpoint is not None
    assert (checkpoint.agent, checkpoint.task) == ("implementer", "Replace JWT auth with session-based auth")
    assert checkpoint.started == parse_instant("2025-01-15T10:00:00Z")
    assert checkpoint.last_updated == parse_instant("2025-01-15T14:30:00Z")
    assert [one.state for one in checkpoint.phases] == [
        *[PhaseState.VALIDATED] * 3,
        PhaseState.IN_PROGRESS,
        *[PhaseState.PENDING] * 2,
    ]
    assert checkpoint.phases[3] == Phase(
        phase=4, name="Login Endpoint", state=PhaseState.IN_PROGRESS, detail="started 2025-01-15T14:00:00Z"
    )
    assert checkpoint.validation == ValidationState(
        test_count=15,
        tests_passing=15,
        files_modified=("src/auth/session.py", "src/auth/redis_store.py", "tests/unit/test_session_auth.py"),
        last_test_command="uv run pytest tests/unit/test_session_auth.py -v",
        last_test_exit_code=0,
    )
    assert [pair.key for pair in checkpoint.resume] == ["Current focus", "Next action", "Blockers"]


@pytest.mark.requirement("R83", "R88", "R89")
def test_the_minimal_stream_is_read() -> None:
    stream = _stream("minimal")

    assert stream.this_session == ("Session started",)
    assert stream.next == ("<priority 1>",)
    assert stream.decisions == ()
    assert stream.workflow == Workflow(pattern="[workflow pattern name]", phase=1, retries=0, max_retries=3)
    assert Pair(key="resource_allocation", value="balanced") in stream.resolved
    assert stream.last_failure == ""
    assert stream.checkpoint is not None
    assert stream.checkpoint.validation == ValidationState(test_count=0, tests_passing=0)
    assert stream.checkpoint.resume == (
        Pair(key="Current focus", value="(not started)"),
        Pair(key="Next action", value="Begin Phase 1"),
        Pair(key="Blockers", value="(none)"),
    )
    assert "Minimal handoff created" in stream.context


@pytest.mark.requirement("R102", "R103")
def test_the_seeds_event_is_read() -> None:
    event = parse_event(_text("event-seed.md"))

    assert event.ts == parse_instant("2026-01-10T13:03:52Z")
    assert (event.agent, event.branch) == ("toast", "feat/fix-hooks-path-spaces")
    assert (event.type, event.reason) == ("session_end", "clear")
    assert event.now == "Create PR from carmandale:fix/hooks-path-spaces to parcadei:main"
    assert len(event.this_session) == 3
    assert event.decisions == (
        Pair(key="bash_c_wrapper", value="Use bash -c '...' for shell quoting"),
        Pair(key="single_quotes_outer", value="Single quotes outside, double inside"),
    )
    assert event.checkpoints == (
        EventCheckpoint(phase=5, status=PhaseState.VALIDATED, updated=parse_instant("2026-01-10T13:00:00Z")),
    )


@pytest.mark.requirement("C115", "C120")
def test_an_event_with_origins_is_read() -> None:
    text = _text("event-origins.md")
    event, source = parse_event(text), parse_event_facts(text.encode(), "event.md")

    assert source is not None
    assert event.after == source.after == ("ev-fedcba9876543210",)
    assert [(fact.seq, fact.agent, fact.provenance.value, fact.commit) for fact in source.facts] == [
        (2, "birch-77ab01cd", "stated", ""),
        (3, "amber-1f3a9c02", "stated", ""),
        (3, "amber-1f3a9c02", "stated", ""),
        (4, "amber-1f3a9c02", "stated", ""),
        (5, "amber-1f3a9c02", "verified", ""),
        (6, "amber-1f3a9c02", "stated", "1a2b3c4d5e6f"),
    ]


@pytest.mark.requirement("C100", "C122")
def test_an_event_with_answers_is_read() -> None:
    text = _text("event-answers.md")
    source = parse_event_facts(text.encode(), "event.md")

    assert source is not None
    assert render_event(replace(parse_event(text), source=None)) == text
    assert [(fact.kind, fact.key, fact.text, fact.seq) for fact in source.facts] == [
        ("answer", "Which dialect?", "SQLite's", 3),
        ("retraction", "question", "Which dialect?", 3),
        ("retraction", "feedback", "Which dialect?", 3),
        ("answer", "The export drops umlauts", "It writes UTF-8 now", 4),
        ("retraction", "feedback", "The export drops umlauts", 5),
    ]


@pytest.mark.requirement("C100", "R46")
def test_an_event_tells_the_results_of_gates_of_a_track() -> None:
    text = _text("event-gates.md")
    source = parse_event_facts(text.encode(), "event.md")

    assert source is not None
    assert render_event(replace(parse_event(text), source=None)) == text
    assert [
        (fact.kind, fact.key, fact.text, fact.track, fact.because, fact.seq) for fact in source.facts
    ] == [
        ("gate", "design", "PASS", "auth_20260110", "All checks passed", 3),
        ("gate", "plan-execution", "FAIL", "auth_20260110", "Test coverage 60%, required 80%", 4),
        ("gate", "plan-execution", "WARN", "", "", 5),
    ]
    assert source.facts == source_of(parse_event(text), source.rank).facts


@pytest.mark.requirement("R115")
def test_events_of_the_field_are_read_with_what_they_have() -> None:
    bare, migrated = parse_event(_text("event-bare.md")), parse_event(_text("event-migrated.md"))

    assert (bare.agent, bare.now, bare.this_session) == ("0379d65b", None, ())
    assert (migrated.ts, migrated.agent) == (None, None)
    assert migrated.now == "Create PR to upstream"
    assert [one.text for one in migrated.unknown if one.place == "front matter"] == [
        *("event_type: migration", "timestamp: 2026-01-11T06:30:00Z", "session_id: hooks-path-spaces"),
    ]


@pytest.mark.requirement("R118")
def test_the_seeds_footer_is_read() -> None:
    view = parse_view(_text("view-seed-footer.md"))

    assert view.footer == Footer(
        event_count=5,
        latest_ts=parse_instant("2026-01-11T08:00:00Z"),
        generated_at=parse_instant("2026-01-11T09:15:00Z"),
    )
    assert view.now == "Create PR to upstream"


@pytest.mark.requirement("R218")
def test_the_seeds_session_state_is_read() -> None:
    assert parse_session_state(_text("session-state-seed.json")) == SessionState(
        agent_id="T-abc123",
        mode=Mode.SINGLE,
        mode_locked_at=parse_instant("2025-12-25T10:00:00Z"),
        track_id="feature_20251225",
        current_task="bd-42",
        current_tasks=None,
        tdd_phase=TddPhase.GREEN,
        last_updated=parse_instant("2025-12-25T12:00:00Z"),
    )


@pytest.mark.requirement("G2")
def test_archives_of_the_first_version_are_read() -> None:
    archive = parse_archive(_text("archive-v1.md"))

    assert (archive.trigger, archive.status) == ("session-end", ArchiveStatus.COMPLETE)
    assert archive.blocked == ()
    assert archive.next_steps == ("Add logout endpoint", "Write integration tests")
    assert [one.file for one in (*archive.modified, *archive.created)] == [
        "src/middleware/auth.ts",
        "src/utils/jwt.ts",
    ]


@pytest.mark.requirement("G2")
def test_the_ledger_inside_a_machine_made_archive_stays_whole() -> None:
    archive = parse_archive(_text("archive-machine-made.md"))
    template = _text("ledger-template.md")

    assert archive.decisions == ()
    assert archive.unknown[-1].text + "\n" == template
    changed = registry.ARCHIVE.parse(_text("archive-machine-made.md"))
    assert isinstance(changed, type(archive))
    assert BY_NAME["archive"].render(replace(changed, summary="It went stale.")).endswith(f"\n\n{template}")


def test_operations_of_a_journal_are_read_as_they_always_were() -> None:
    journal = parse_journal(_text("journal-operations.jsonl"))

    found = read_operations("s-0123456789ab", journal.lines)
    account = fold_journal("s-0123456789ab", journal.lines)

    assert [(one.action, one.task, one.outcome, one.tries, one.is_waiting) for one in found] == [
        ("claim", "bd-42 bd-43", "done", 1, False),
        ("update", "bd-42", "done", 2, False),
        ("close", "bd-42", "failed", 1, True),
        ("update", "bd-43", "refused", 1, False),
        ("sync", "", "", 0, True),
    ]
    assert (found[1].before, found[2].fence, found[3].key) == (
        "12:0f1e2d3c4b5a6978",
        7,
        "T-1_1766646000_update_bd-43",
    )
    assert (account.task, account.claims) == ("bd-42", {"bd-42": 7, "bd-43": 8})
    state = parse_session_state(_text("session-state-tasks.json"))
    assert (state.current_task, state.current_tasks) == ("bd-42", ("bd-42", "bd-43"))
