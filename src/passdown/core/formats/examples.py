"""A valid example document of each format, also used in the reference."""

from datetime import UTC, datetime, timedelta
from typing import Final

from passdown.core.documents.key_value import Pair
from passdown.core.facts import Fact, GateStatus, Provenance
from passdown.core.formats.addressed_handoffs import NORMAL_PRIORITY, AddressedHandoff, HandoffContext
from passdown.core.formats.archives import Archive, ArchiveDecision, ArchiveStatus, Artifact
from passdown.core.formats.change_states import Lane, RunMode, make_change_state
from passdown.core.formats.checkpoints import Phase, ValidationState
from passdown.core.formats.events import Event, EventCheckpoint
from passdown.core.formats.history import HistoryEntry, HistoryHead, ImportedSession
from passdown.core.formats.journal import Journal, JournalLine
from passdown.core.formats.ledgers import (
    GateResult,
    Ledger,
    LedgerDecision,
    Mode,
    ReadFile,
    TddPhase,
    Validation,
)
from passdown.core.formats.loops import Loop, Turn
from passdown.core.formats.session_contexts import ContextDecision, SessionContext
from passdown.core.formats.state_file import SessionState
from passdown.core.formats.streams import Checkpoint, Question, QuestionKind, Stream, Workflow
from passdown.core.formats.views import Earlier, Footer, View
from passdown.core.kinds import FactKind
from passdown.core.phases import PhaseState

_AT: Final = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
_AGENT: Final = "claude-1f3a9c02"

LEDGER: Final = Ledger(
    updated=_AT,
    session_id="s-7d1e90",
    platform="claude",
    bound_track="login_20260302",
    bound_bead="bd-42",
    mode=Mode.SINGLE,
    tdd_phase=TddPhase.GREEN,
    heartbeat=_AT,
    validation=Validation(gates_passed=("design", "spec"), current_gate="plan-structure"),
    task_bead="bd-42",
    task_track="login_20260302",
    goal="People can log in with a passkey.",
    done=("Registered the credential endpoint", "Stored public keys"),
    now="Verifying the assertion signature",
    next=("Session cookie", "Log-out"),
    decisions=(LedgerDecision(decision="Use WebAuthn", reasoning="No passwords to leak", when="09:05"),),
    branch="feature/passkeys",
    modified=("src/auth/passkey.py", "tests/test_passkey.py"),
    read=(ReadFile(path="docs/threat-model.md", reason="What an attacker may do"),),
    questions=("Do we support roaming keys on day one?",),
    gate_history=(
        GateResult(gate="design", status=GateStatus.PASS, time="08:50", notes="All checks passed"),
    ),
)

STREAM: Final = Stream(
    date=_AT,
    session_name="passkey-login",
    branch="feature/passkeys",
    status="active",
    title="Work Stream: passkey-login",
    updated=_AT,
    goal="People can log in with a passkey; done when the login tests pass.",
    ledger_branch="feature/passkeys",
    test="uv run pytest tests/test_passkey.py",
    now="Verifying the assertion signature",
    this_session=("Registered the credential endpoint",),
    next=("Session cookie", "Log-out"),
    decisions=(Pair(key="Protocol", value="WebAuthn (no passwords to leak)"),),
    questions=(Question(text="Roaming keys on day one?", kind=QuestionKind.UNCONFIRMED),),
    workflow=Workflow(pattern="hierarchical", phase=2, total_phases=3, retries=0, max_retries=3),
    resolved=(Pair(key="goal", value="Passkey login"), Pair(key="resource_allocation", value="balanced")),
    unknowns=("attestation_policy: UNKNOWN",),
    checkpoint=Checkpoint(
        agent="implementer",
        task="Passkey login",
        started=_AT - timedelta(hours=1),
        last_updated=_AT,
        phases=(
            Phase(phase=1, name="Tests written", state=PhaseState.VALIDATED, detail="8 tests fail"),
            Phase(phase=2, name="Verification", state=PhaseState.IN_PROGRESS, detail="started 09:00"),
            Phase(phase=3, name="Cookie"),
        ),
        validation=ValidationState(
            test_count=8,
            tests_passing=5,
            files_modified=("src/auth/passkey.py",),
            last_test_command="uv run pytest tests/test_passkey.py",
            last_test_exit_code=1,
        ),
        resume=(Pair(key="Current focus", value="Signature check"), Pair(key="Blockers", value="(none)")),
    ),
    context="## Context\n\nThe threat model is in docs/threat-model.md.",
)

EVENT: Final = Event(
    ts=_AT,
    agent=_AGENT,
    branch="feature/passkeys",
    type="checkpoint",
    reason="pre-compact",
    session="s-7d1e90",
    track="login_20260302",
    covers="1-6",
    goal="People can log in with a passkey.",
    now="Verifying the assertion signature",
    next=("Session cookie", "Log-out"),
    this_session=("Registered the credential endpoint", "Stored public keys"),
    decisions=(Pair(key="protocol", value="WebAuthn: no passwords to leak"),),
    checkpoints=(EventCheckpoint(phase=1, status=PhaseState.VALIDATED, updated=_AT),),
    open_questions=("Do we support roaming keys on day one?",),
    constraints=("Ruled out: SMS codes, they can be intercepted",),
    files_modified=("src/auth/passkey.py",),
)

VIEW: Final = View(
    updated=_AT,
    goal="People can log in with a passkey.",
    now="Verifying the assertion signature",
    this_session=("Stored public keys", "Registered the credential endpoint"),
    this_session_earlier=Earlier(count=12, command="passdown log --type done"),
    next=("Session cookie", "Log-out"),
    decisions=(Pair(key="protocol", value="WebAuthn: no passwords to leak"),),
    constraints=("Ruled out: SMS codes, they can be intercepted",),
    questions=(Question(text="Do we support roaming keys on day one?"),),
    checkpoints=(Phase(phase=1, state=PhaseState.VALIDATED, detail="2026-03-02T09:30:00Z"),),
    footer=Footer(
        event_count=7, latest_ts=_AT, generated_at=_AT, skipped=0, renderer=1, events_sha256="0" * 64
    ),
)

SESSION_STATE: Final = SessionState(
    agent_id=_AGENT,
    mode=Mode.SINGLE,
    mode_locked_at=_AT - timedelta(hours=1),
    track_id="login_20260302",
    current_task="bd-42",
    tdd_phase=TddPhase.GREEN,
    last_updated=_AT,
)

ADDRESSED_HANDOFF: Final = AddressedHandoff(
    sender=_AGENT,
    to="birch",
    created_at=_AT,
    expires_at=_AT + timedelta(hours=24),
    content="Review Request\n\nReview the passkey login before it is merged.",
    context=HandoffContext(task_id="bd-42", track_id="login_20260302", files=("src/auth/passkey.py",)),
    priority=NORMAL_PRIORITY,
    id="019cafc2-6f80-7123-89ab-0123456789ab",
)

ARCHIVE: Final = Archive(
    date=_AT,
    session_id="s-7d1e90",
    trigger="session-end",
    status=ArchiveStatus.COMPLETE,
    track="login_20260302",
    summary="Passkey registration works; verification is half done.",
    completed=("Registered the credential endpoint", "Stored public keys"),
    in_progress=("Verifying the assertion signature",),
    next_steps=("Session cookie", "Log-out"),
    decisions=(ArchiveDecision(decision="Use WebAuthn", reasoning="No passwords to leak"),),
    modified=(Artifact(file="src/auth/passkey.py", note="Registration and verification"),),
    created=(Artifact(file="tests/test_passkey.py", note="Eight tests of the login"),),
    context="Five of eight tests pass; the three others need the cookie.",
    questions=("Do we support roaming keys on day one?",),
)

_FACTS: Final = (
    Fact(FactKind.GOAL, "People can log in with a passkey.", _AT, _AGENT),
    Fact(
        *(FactKind.DECISION, "Use WebAuthn", _AT + timedelta(minutes=5), _AGENT),
        key="protocol",
        because="No passwords to leak",
    ),
    Fact(
        *(FactKind.DONE, "Stored public keys", _AT + timedelta(minutes=20), _AGENT),
        provenance=Provenance.VERIFIED,
    ),
)
JOURNAL: Final = Journal(lines=tuple(JournalLine(seq=at, fact=fact) for at, fact in enumerate(_FACTS, 1)))

HISTORY: Final = ImportedSession(
    head=HistoryHead(
        host="claude",
        session="37dd1487-cbb5-445b-ae8e-cc72aca90d02",
        folder="/home/ada/shop",
        transcript="/home/ada/.claude/projects/-home-ada-shop/37dd1487-cbb5-445b-ae8e-cc72aca90d02.jsonl",
        size=198_026,
        started=_AT,
        ended=_AT + timedelta(hours=1),
        about="Where should sessions live?",
        counts=(("prompt", 1), ("words", 1), ("file", 1), ("command", 1)),
        files=("src/sessions.py",),
    ),
    entries=(
        HistoryEntry(kind="prompt", text="Where should sessions live?", at=_AT),
        HistoryEntry(kind="words", text="In Redis: the workers share nothing else.", at=_AT),
        HistoryEntry(kind="file", text="src/sessions.py", at=_AT + timedelta(minutes=5)),
        HistoryEntry(kind="command", text="make test", at=_AT + timedelta(hours=1), exit=2),
    ),
)

LOOP: Final = Loop(
    title="Ideation Loop",
    turns=(
        Turn(
            number=1,
            at=_AT,
            agent=_AGENT,
            text="People want to log in without a password.\n\nQuestions:\n- Do we support roaming keys?",
            feedback="Yes, but not on day one.",
        ),
        Turn(
            number=2,
            at=_AT + timedelta(hours=1),
            agent=_AGENT,
            text="Feedback of turn 1 (9c1f0a2b7d3e): roaming keys are out of scope for now.",
        ),
    ),
)

CHANGE_STATE: Final = make_change_state("passkey-login", Lane.FULL, RunMode.MANUAL)

SESSION_CONTEXT: Final = SessionContext(
    track="passkey-login",
    intent=("Goal: People log in without a password", "Success criteria: no password is stored"),
    constraints=("RULED_OUT: a second factor by SMS -- it can be intercepted", "CONSTRAINT: no new service"),
    decisions=(ContextDecision(decision="Keep keys in PostgreSQL", why="It is there", date="2025-12-27"),),
    files=("src/login.py", "tests/test_login.py"),
    questions=("Do we support roaming keys?",),
    state="The form works; the server does not check the signature yet.",
    next_steps=("Check the signature", "Remove the old form"),
)
