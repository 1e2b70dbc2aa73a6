"""One snapshot, several documents: what is passed on is read back, and the rest of a document stays."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from passdown.core.documents.key_value import Pair
from passdown.core.formats.archives import (
    LEDGER,
    ArchiveStatus,
    Artifact,
    fix_archive,
    parse_archive,
    render_archive,
)
from passdown.core.formats.checkpoints import Phase, ValidationState
from passdown.core.formats.events import Event
from passdown.core.formats.ledgers import Ledger, LedgerDecision
from passdown.core.formats.streams import Checkpoint, Stream, parse_stream, render_stream
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import EventRank, source_of
from passdown.core.phases import PhaseState
from passdown.core.sessions.handoff_streams import NO_STEP, STARTED, from_stream, to_stream
from passdown.core.sessions.handoffs import (
    CheckoutState,
    FileChange,
    FileHash,
    Handoff,
    HandoffDecision,
    HandoffDrift,
    facts_to_carry,
    find_drift,
    from_archive,
    handoff_from_ledger,
    make_handoff,
    to_archive,
    without_events,
)
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.record_facts import with_events
from passdown.core.sessions.session_facts import Account, fold_journal
from passdown.records import replace
from tests.support.sessions import in_order

NOON = datetime(2026, 1, 10, 12, tzinfo=UTC)
GOLDEN = Path(__file__).parents[2] / "formats" / "golden" / "stream-example.md"
AWS = "AKIA" + "QYLPMN5HHHFPZAM2"
MARK = "[redacted: aws-access-token]"


def account() -> Account:
    """Give the account of a session that did a little of everything."""
    return fold_journal(
        "s-1",
        in_order(
            ("binding", "auth", "track"),
            ("binding", "t-1", "task"),
            ("goal", "Let people\nsign in"),
            ("now", "Make logout work"),
            ("done", "Session model"),
            ("next", "Remove tokens\nWrite docs"),
            ("decision", "Keep sessions in Redis", "store", "it expires them"),
            ("decision", "Use cookies"),
            ("constraint", "no JWT", "", "cannot be revoked"),
            ("question", "UNCONFIRMED: one Redis is enough"),
            ("question", "Who rotates?"),
            ("answer", "ops does", "Who rotates?"),
            ("feedback", "shorter names"),
            ("checkpoint", "validated", "1", "Model"),
            ("checkpoint", "in_progress", "2"),
            ("checkpoint", "some words", "3"),
            ("checkpoint", "failed", "none"),
            ("test", "pytest -q", "0"),
            ("file", "src/auth.py"),
        ),
    )


AROUND = CheckoutState(
    at=NOON, branch="feat/auth", commit="abc1234", file_hashes=(FileHash("src/auth.py", "beef"),)
)


def handoff() -> Handoff:
    """Give a snapshot of that session."""
    return make_handoff(account(), AROUND, "manual")


def test_a_snapshot_holds_what_the_session_knows() -> None:
    made = handoff()

    assert (made.track, made.task, made.branch, made.commit) == ("auth", "t-1", "feat/auth", "abc1234")
    assert made.choices == (
        HandoffDecision("store", "Keep sessions in Redis", "it expires them"),
        HandoffDecision("use_cookies", "Use cookies"),
        HandoffDecision("", "no JWT", "cannot be revoked"),
    )
    assert made.answered == ("Who rotates?",)
    assert made.phases == (
        Phase(phase=1, name="Model", state=PhaseState.VALIDATED),
        Phase(phase=2, state=PhaseState.IN_PROGRESS, detail="started 2026-01-11T12:00:15Z"),
    )
    assert (made.test, made.test_exit) == ("pytest -q", 0)
    assert make_handoff(Account(), CheckoutState(at=NOON), "manual").branch == "unknown"


@pytest.mark.requirement("G18")
def test_a_snapshot_holds_no_secret_from_wherever_it_came() -> None:
    around = replace(AROUND, file_hashes=(FileHash(f"{AWS} .txt", "1"),))
    lines = in_order(("goal", f"rotate {AWS}"), ("test", f"run {AWS}", "odd"))

    made = make_handoff(fold_journal("s-1", lines), around, "manual")

    assert AWS not in repr(made)
    assert made.redacted == ("aws-access-token",)
    assert made.test_exit is None


@pytest.mark.requirement(
    "R60", "R61", "R62", "R63", "R64", "R65", "R66", "R67", "R68", "R69", "R70", "R72", "R73"
)
def test_a_new_stream_document_shows_the_snapshot() -> None:
    text = render_stream(to_stream(handoff(), "auth"))

    stream = parse_stream(text)
    assert stream.problems == ()
    assert text.startswith(
        "---\ndate: 2026-01-10T12:00:00Z\nsession_name: auth\nbranch: feat/auth\nstatus: active\n---\n\n"
        "# Work Stream: auth\n\n## Ledger\n**Updated:** 2026-01-10T12:00:00Z\n"
        "**Goal:** Let people sign in\n**Branch:** feat/auth\n**Test:** pytest -q\n\n"
        "### Now\n[->] Make logout work\n"
    )
    for line in (
        "- [x] Session model\n",
        "- [ ] Remove tokens\n- [ ] Write docs\n",
        "- store: Keep sessions in Redis (it expires them)\n",
        "- Ruled out: no JWT (cannot be revoked)\n",
        "- UNCONFIRMED: one Redis is enough\n",
        "phase: 2\n",
        "retries: 0\nmax_retries: 3\n",
        '- goal: "Let people sign in"\n- resource_allocation: balanced\n',
        "#### Last Failure\n(none)\n",
        "- Phase 1 (Model): ✓ VALIDATED\n",
        '"commit": "abc1234",\n  "file_hashes": {"src/auth.py": "sha256:beef"}\n',
        "- Current focus: Make logout work\n- Next action: Remove tokens\n- Blockers: (none)\n",
        "\n---\n\n## Context\n",
    ):
        assert line in text


@pytest.mark.requirement("R83")
def test_a_session_that_knows_nothing_makes_the_minimal_document() -> None:
    bare = make_handoff(Account(session="s-1", agent="toast"), CheckoutState(at=NOON), "manual")

    stream = to_stream(bare, "auth")

    assert stream.this_session == (STARTED,)
    assert stream.next == (NO_STEP,)
    assert (stream.workflow.phase, stream.workflow.retries, stream.workflow.max_retries) == (1, 0, 3)
    assert stream.resolved == (Pair(key="resource_allocation", value="balanced"),)
    text = render_stream(stream)
    assert "### Decisions\n- (none yet)\n" in text
    assert "- Phase 1: ○ PENDING" in text
    assert parse_stream(text).problems == ()
    assert from_stream(parse_stream(text)).next == ()


@pytest.mark.requirement("R74", "R75", "R84")
def test_only_the_ledger_section_of_a_document_changes() -> None:
    before = GOLDEN.read_text(encoding="utf-8")
    head, tail = before[: before.index("## Ledger")], before[before.index("\n---\n\n## Context") :]

    after = render_stream(to_stream(handoff(), "other", parse_stream(before)))

    assert after.startswith(head)
    assert after.endswith(tail)
    assert "**Updated:** 2026-01-10T12:00:00Z\n" in after
    stream, old = parse_stream(after), parse_stream(before)
    assert {pair.key for pair in old.decisions} < {pair.key for pair in stream.decisions}
    assert set(old.questions) < set(stream.questions)
    assert (stream.unknowns, stream.last_failure) == (old.unknowns, old.last_failure)
    again = to_stream(handoff(), "other", stream)
    assert render_stream(again) == after


@pytest.mark.requirement("R77")
def test_an_update_lays_itself_over_what_others_wrote() -> None:
    known = Stream(
        decisions=(
            Pair(key="store", value="files"),
            Pair(key="Ruled out", value="no JWT (cannot be revoked)"),
        ),
        questions=parse_stream("## Ledger\n### Open Questions\n- Who rotates?\n- Why?\n").questions,
        checkpoint=Checkpoint(
            validation=ValidationState(others=(("commit", '"old"'), ("more", "1")), last_test_command="make"),
            resume=(Pair(key="Blockers", value="the network"),),
        ),
    )

    stream = to_stream(handoff(), "auth", known)

    assert [pair.key for pair in stream.decisions] == ["store", "Ruled out", "use_cookies"]
    assert stream.decisions[0].value == "Keep sessions in Redis (it expires them)"
    assert [one.text for one in stream.questions] == ["Why?", "one Redis is enough"]
    assert stream.checkpoint is not None
    assert stream.checkpoint.validation is not None
    assert dict(stream.checkpoint.validation.others)["more"] == "1"
    assert dict(stream.checkpoint.validation.others)["commit"] == '"abc1234"'
    assert Pair(key="Blockers", value="the network") in stream.checkpoint.resume
    bare = to_stream(Handoff(at=NOON), "auth", known)
    assert bare.checkpoint is not None
    assert bare.checkpoint.validation is not None
    assert bare.checkpoint.validation.last_test_command == "make"


def test_what_a_stream_passes_on_is_read_back() -> None:
    made = from_stream(parse_stream(render_stream(to_stream(handoff(), "auth"))))

    assert (made.goal, made.now, made.done) == ("Let people sign in", "Make logout work", ("Session model",))
    assert made.next == ("Remove tokens", "Write docs")
    assert (made.branch, made.commit, made.test, made.test_exit) == ("feat/auth", "abc1234", "pytest -q", 0)
    assert made.file_hashes == (FileHash("src/auth.py", "beef"),)
    assert made.choices[0] == HandoffDecision("store", "Keep sessions in Redis (it expires them)")
    assert made.choices[-1] == HandoffDecision("", "no JWT (cannot be revoked)")
    assert made.questions == ("UNCONFIRMED: one Redis is enough",)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("1", ("UNCONFIRMED: the tests pass: `pytest -q`: exit 1",)),
        ("", ("UNCONFIRMED: the tests pass: the exit code of `pytest -q` is not known",)),
        ("0", ()),
    ],
)
def test_a_test_that_did_not_pass_confirms_nothing(code: str, found: tuple[str, ...]) -> None:
    account = fold_journal("s-1", in_order(("test", "make test", "1"), ("test", "pytest -q", code)))
    made = make_handoff(account, AROUND, "manual")
    assert made.unconfirmed == found

    read = from_stream(parse_stream(render_stream(to_stream(made, "auth"))))

    assert (read.questions, read.unconfirmed) == ((), found)
    passed = make_handoff(fold_journal("s-1", in_order(("test", "pytest -q", "0"))), AROUND, "manual")
    assert to_stream(passed, "auth", to_stream(made, "auth")).questions == ()


def test_members_that_are_not_ours_are_not_taken_for_commit_and_hashes() -> None:
    others = (("commit", "7"), ("file_hashes", "[1]"))
    state = ValidationState(files_modified=("a",), others=others)

    made = from_stream(Stream(date=NOON, branch="main", checkpoint=Checkpoint(validation=state)))

    assert (made.at, made.branch, made.commit, made.file_hashes) == (NOON, "main", "", (FileHash("a"),))
    assert from_stream(Stream(decisions=(Pair(key="just this"),))).choices == (
        HandoffDecision("just this", "just this"),
    )
    odd = ValidationState(files_modified=("a",), others=(("file_hashes", '{"a": 1, "b": "sha256:2"}'),))
    assert from_stream(Stream(checkpoint=Checkpoint(validation=odd))).file_hashes == (FileHash("a"),)


@pytest.mark.requirement("G2")
@pytest.mark.parametrize(
    ("trigger", "status"),
    [
        ("manual", ArchiveStatus.COMPLETE),
        ("pre-compact", ArchiveStatus.HANDOFF),
        ("session-end", ArchiveStatus.COMPLETE),
        ("stale", ArchiveStatus.INTERRUPTED),
        ("track-switch", ArchiveStatus.HANDOFF),
        ("track-complete", ArchiveStatus.COMPLETE),
        ("milestone", ArchiveStatus.HANDOFF),
    ],
)
def test_an_archive_has_the_status_of_its_trigger(trigger: str, status: ArchiveStatus) -> None:
    assert to_archive(replace(handoff(), trigger=trigger)).status is status


@pytest.mark.requirement("G2")
def test_what_an_archive_passes_on_is_read_back() -> None:
    given = replace(handoff(), blocked=("The form (t-2): no schema yet",))
    text = render_archive(to_archive(given, f"---\nsession_id: s-1\n---\n\nkey {AWS}\n"))

    archive = parse_archive(text)
    assert archive.problems == ()
    assert AWS not in text
    assert [one.place for one in archive.unknown] == ["front matter"] * 5 + [LEDGER]
    made = from_archive(archive)
    expected = replace(
        given,
        agent="",
        task="",
        started_at=None,
        answered=(),
        phases=(),
        retries=(),
        feedback=("shorter names",),
    )
    assert made == expected


def test_a_bare_archive_passes_on_what_it_has() -> None:
    bare = to_archive(Handoff(at=NOON, file_hashes=(FileHash("a.py"),)))
    more = replace(bare, in_progress=("one", "two"), next_steps=("three",))

    assert from_archive(parse_archive(render_archive(bare))).file_hashes == (FileHash("a.py"),)
    assert (from_archive(more).now, from_archive(more).next) == ("one", ("two", "three"))
    assert from_archive(replace(bare, session_id=None, trigger=None)).trigger == "manual"


def test_an_archive_says_what_changed_and_older_ones_have_a_hash_there() -> None:
    files = (FileHash("a.py", "12"), FileHash("b.py", "34"))
    given = Handoff(at=NOON, file_hashes=files, changes=(FileChange("a.py", "+1 -2"),))
    text = render_archive(to_archive(given))

    assert "| a.py | +1 -2 |\n| b.py | - |\n" in text
    assert 'file_hashes: {"a.py": "sha256:12", "b.py": "sha256:34"}\n' in text
    made = from_archive(parse_archive(text))
    assert (made.file_hashes, made.changes) == (given.file_hashes, given.changes)
    odd = parse_archive(text.replace('"sha256:34"', "[34]"))
    assert from_archive(odd).file_hashes == (FileHash("a.py"), FileHash("b.py"))
    old = replace(to_archive(given), unknown=(), modified=(Artifact(file="a.py", note="sha256:12"),))
    assert from_archive(old).file_hashes == (FileHash("a.py", "12"),)


def test_a_record_that_names_its_events_has_their_facts_when_it_is_read() -> None:
    given = replace(handoff(), blocked=("The form (t-2): no schema yet",), events=("ev-1",))

    short = without_events(given, ("ev-1",))
    text = render_archive(to_archive(short))

    read = parse_archive(text)
    assert read.problems == ()
    assert fix_archive(read) == text
    titles = [line for line in text.splitlines() if line.startswith("#")]
    assert titles == ["# Session Handoff", "## Summary", "## Blocked", "## Artifacts", "### Modified"]
    assert "sha256" not in text
    event = Event(
        agent="amber-1a2b3c4d",
        branch="feat/auth",
        now="Sign tokens",
        next=("Log out", "Ship"),
        this_session=("Hash", "Sign"),
        decisions=(Pair(key="algo", value="RS256 (keys rotate)"),),
        constraints=("No cookies",),
        open_questions=("Which expiry?",),
        feedback=("Shorter names",),
    )
    source = source_of(event, EventRank(NOON, "amber-1a2b3c4d", "ev-1", "aa"))
    made = with_events(from_archive(read), [source])
    assert (made.branch, made.goal, made.now) == ("feat/auth", given.goal, "Sign tokens")
    assert (made.done, made.next) == (("Hash", "Sign"), ("Log out", "Ship"))
    assert made.choices == (
        HandoffDecision("algo", "RS256 (keys rotate)"),
        HandoffDecision("", "No cookies"),
    )
    assert (made.questions, made.feedback) == (("Which expiry?",), ("Shorter names",))
    assert made.blocked == given.blocked
    assert with_events(from_archive(read), []).done == ()


def test_a_ledger_of_another_tool_makes_a_snapshot() -> None:
    ledger = Ledger(
        session_id="T-1",
        bound_track="auth",
        goal=f"rotate {AWS}",
        done=("one",),
        now="two",
        next=("three",),
        decisions=(LedgerDecision(decision="store: files", reasoning="simple"),),
        modified=("a.py",),
        questions=("why?",),
        branch="main",
    )

    made = handoff_from_ledger(ledger, NOON, "stale")

    assert (made.goal, made.redacted) == (f"rotate {MARK}", ("aws-access-token",))
    assert made.choices == (HandoffDecision("store", "files", "simple"),)
    assert (made.done, made.now, made.next, made.questions) == (("one",), "two", ("three",), ("why?",))
    assert made.file_hashes == (FileHash("a.py"),)
    assert handoff_from_ledger(Ledger(), NOON, "stale").session == "unknown"


@pytest.mark.requirement("C152")
def test_the_present_step_is_no_next_step_of_the_document_any_more() -> None:
    before = to_stream(Handoff(at=NOON, now="Draw it", next=("Print it", "Send it")), "plan")
    later = to_stream(Handoff(at=NOON, now="Print it"), "plan", before)
    last = to_stream(Handoff(at=NOON, now="Send it"), "plan", later)

    assert before.checkpoint is not None
    assert later.checkpoint is not None
    assert Pair(key="Next action", value="Print it") in before.checkpoint.resume
    assert Pair(key="Next action", value="Print it") not in later.checkpoint.resume
    assert (later.now, later.next) == ("Print it", ("Send it",))
    assert "Send it" not in last.next


def test_the_next_session_carries_on_all_but_what_is_done() -> None:
    said = facts_to_carry(handoff())

    assert [one.kind for one in said] == [
        "goal",
        "now",
        "next",
        "decision",
        "decision",
        "constraint",
        "question",
    ]
    assert said[2] == NewFact(FactKind.NEXT, "Remove tokens\nWrite docs")
    assert said[5] == NewFact(FactKind.CONSTRAINT, "Ruled out: no JWT (cannot be revoked)")
    assert facts_to_carry(Handoff()) == []


@pytest.mark.requirement("G18")
def test_drift_names_what_is_different() -> None:
    taken = replace(
        handoff(), file_hashes=(FileHash("a", "1"), FileHash("b", "2"), FileHash("c", "3"), FileHash("d"))
    )
    here = CheckoutState(
        at=NOON + timedelta(hours=24, milliseconds=1),
        branch="main",
        file_hashes=(FileHash("a", "1"), FileHash("b", "9"), FileHash("c", "")),
    )

    drift = find_drift(taken, here, 3, 1)

    assert drift.is_old
    assert drift.branch == ("feat/auth", "main")
    assert (drift.changed, drift.missing) == (("b",), ("c",))
    assert (drift.commits, drift.test_then, drift.test_now) == (3, 0, 1)
    assert not drift.is_clean


def test_nothing_has_drifted_where_nothing_differs() -> None:
    drift = find_drift(handoff(), replace(AROUND, at=NOON + timedelta(hours=24)), 0, 0)

    assert drift.is_clean
    assert not drift.is_old
    assert find_drift(Handoff(), AROUND, None, None) == HandoffDrift()
    assert not replace(drift, test_now=1).is_clean
    assert not replace(drift, missing=("a",)).is_clean
