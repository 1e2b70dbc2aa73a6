"""Values of every format as a writer would make them, with nasty texts and with parts no field holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from passdown.core.documents.key_value import Pair
from passdown.core.documents.keys import PLACE
from passdown.core.documents.lists import split_tick
from passdown.core.documents.places import is_comment
from passdown.core.facts import GATES, Fact, GateStatus, Provenance
from passdown.core.formats import archives, ledgers, registry, views
from passdown.core.formats.addressed_handoffs import AddressedHandoff, HandoffContext
from passdown.core.formats.archives import Archive, ArchiveDecision, ArchiveStatus, Artifact
from passdown.core.formats.change_states import ChangePhase, ChangeState, Lane, RunMode
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
from passdown.core.formats.registry import Format
from passdown.core.formats.session_contexts import ContextDecision, SessionContext, says_something
from passdown.core.formats.state_file import SessionState
from passdown.core.formats.streams import Checkpoint, Question, QuestionKind, Stream, Workflow, read_question
from passdown.core.formats.views import Earlier, Footer, View
from passdown.core.kinds import FactKind
from passdown.core.phases import PhaseState
from passdown.core.problems import Unknown
from passdown.records import replace

NASTY_LINES = (
    *("fix: the thing", "key: value", "a:", ": b", "issue #12 fixed", "# heading", "## Goal", "### Now"),
    *("`cmd --flag`", "``", "```", "```py", "~~~", "a `b", "---", "***", "- item", "* item", "+ item"),
    *("1. one", "2) two", "[x] ticked", "[ ] open", "[->] focus", "→ next", "• dot", "| a | b |", "a | b"),
    *("|---|---|", "a\\|b", "\\", "\\\\", "\\#", "a\\", "<br>", "a<br>b", "<br/>", "(none)", "(none yet)"),
    *(
        "none",
        "None",
        "N/A",
        "-",
        "--",
        '"quoted"',
        "it's",
        "''",
        '"',
        "'",
        '\\"',
        "🙂 🎉",
        "é ü ß",
        "שלום עולם",
    ),
    *(
        "مرحبا",
        "你好世界",
        "**Label:** text",
        "**Branch:** main",
        "**Goal:**",
        "**bold**",
        "_it_",
        "<!--",
        "-->",
    ),
    *("<!-- note -->", "<b>html</b>", "[link](https://example.org/a_b#c)", "null", "~", "true", "no", "1:30"),
    *("2026-01-10", "2026-01-10T13:00:00Z", "12", "0x1f", "1e5", ".inf", "=", "? what", "! bang", "%", "@me"),
    *(
        "&anchor",
        "*alias",
        "{a: b}",
        "[a, b]",
        "{",
        "}",
        "[",
        "]",
        ",",
        "a, b",
        "> fold",
        "|- block",
        "UNKNOWN",
    ),
    *("UNCONFIRMED", "State/Done", "Phase 1 (a): ○ PENDING", "And 3 earlier: `x`", "- and 3 earlier: `x`"),
    *(
        "✅ PASS",
        "⚠️ WARN",
        "_synthesized:",
        "format: 2",
        "C:\\temp\\new",
        "100 %",
        "a - b",
        "x  y",
        "tab\there",
    ),
)
NASTY_BLOCKS = (
    "first\nsecond",
    "first\n\nthird",
    "list:\n- one\n  - inner\n    - deep\n- two",
    "see\n```py\n# not a heading\n---\nprint('x')\n```\nafter",
    "open\n```\nnever closed",
    "# A\n\n## B\n---\n**Branch:** x",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "quote\n> said\n    indented code",
    "1. one\n   more\n2. two",
    "a:\n  b: c",
    "<!-- a\nb -->",
    "line\n- [ ] todo\n- [x] done",
)

_ALPHABET = st.characters(exclude_categories=["Cs", "Cc"])


def _normal(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n")).strip()


def _one_line(text: str) -> str:
    return " ".join(text.split())


lines = (st.sampled_from(NASTY_LINES) | st.text(_ALPHABET, min_size=1, max_size=16).map(_one_line)).filter(
    bool
)
titles = lines.map(_one_line)
"""A heading's words are parted by one space each."""
_blocks = st.sampled_from(NASTY_BLOCKS) | st.lists(
    st.sampled_from((*NASTY_LINES, "", "", "  deeper")), min_size=2, max_size=5
).map("\n".join).map(_normal).filter(bool)
texts = lines | _blocks
maybe_line = st.just("") | lines
maybe_text = st.just("") | texts
items = st.lists(texts, max_size=3).map(tuple)
labels = lines.filter(lambda line: ": " not in line and not line.endswith(":"))
ids = st.sampled_from(("T-abc123", "feature-name_20251227", "my-workflow:3-xyz", "bd-42", "claude-1f3a9c02"))
_START = datetime(2025, 12, 27, 10, 30, tzinfo=UTC)
seconds = st.integers(-(10**9), 10**9).map(lambda offset: _START + timedelta(seconds=offset))
millis = st.integers(-(10**12), 10**12).map(lambda offset: _START + timedelta(milliseconds=offset))
clocks = st.just("") | st.tuples(st.integers(0, 23), st.integers(0, 59)).map(lambda t: f"{t[0]:02}:{t[1]:02}")
counts = st.integers(0, 999_999_999)


def maybe(values: SearchStrategy[Any]) -> SearchStrategy[Any]:
    """The values, or none."""
    return st.none() | values


def some(values: SearchStrategy[Any]) -> SearchStrategy[tuple[Any, ...]]:
    """Up to three of the values."""
    return st.lists(values, max_size=3).map(tuple)


PROSE = (
    "Some words that no field holds.",
    "> quoted: by a person",
    "<!-- for whoever reads this -->",
    "```sh\n## not a heading\n---\n- not an item\n```",
)
_FRONT = ("x-owner: someone", "deep:\n  inner: 1\n  more:\n  - a", "# a comment", 'quoted: "a: b"', "empty:")
_SECTIONS = (
    "## Notes\n\nKept: as written.\n\n- [ ] and this",
    "## Anmerkungen & 注記\n| a |\n|---|\n| b |",
    "## Risks\n\n```\n## Goal\n```",
)


@st.composite
def kept(draw: st.DrawFn, *places: tuple[str, Sequence[str]]) -> tuple[Unknown, ...]:
    """Parts that no field holds, in the order in which a reader meets them, each place at most once."""
    chosen = draw(st.lists(st.integers(0, len(places) - 1), max_size=4, unique=True))
    return tuple(
        Unknown(place=places[i][0], text=draw(st.sampled_from(places[i][1]))) for i in sorted(chosen)
    )


def _under(top: str, *titles: str) -> tuple[str, ...]:
    return tuple(f"{'#' * (2 + top.count('/') + bool(top))} {title}\n\nKept: as written." for title in titles)


def _named(section: str) -> str:
    return section.partition("\n")[0].lstrip("#").strip()


_TAIL = tuple((_named(section), (section,)) for section in _SECTIONS)

validations = st.builds(
    Validation,
    gates_passed=st.lists(st.sampled_from(GATES) | lines, max_size=3).map(tuple),
    current_gate=maybe(st.sampled_from(GATES) | texts),
    retries=counts,
    last_failure=maybe(texts),
)


def _settled(value: Any, holders: Sequence[tuple[str, str]]) -> Any:  # any document
    """Take away the strays of lines that hold nothing: the first stray would be the line."""
    empty = {place for place, name in holders if not getattr(value, name)}
    return replace(value, unknown=tuple(one for one in value.unknown if one.place not in empty))


ledger_values: SearchStrategy[Ledger] = st.builds(
    Ledger,
    updated=maybe(seconds),
    session_id=maybe(ids | texts),
    platform=maybe(st.sampled_from(sorted(ledgers.PLATFORMS)) | lines),
    bound_track=maybe(ids | texts),
    bound_bead=maybe(ids | texts),
    mode=maybe(st.sampled_from(Mode)),
    mode_locked_at=maybe(seconds),
    current_tasks=some(ids | lines),
    tdd_phase=maybe(st.sampled_from(TddPhase)),
    heartbeat=maybe(seconds),
    validation=maybe(validations),
    title=st.just("Session Ledger") | titles,
    task_bead=maybe(ids | lines),
    task_track=maybe(ids | lines),
    goal=maybe_text,
    done=items,
    now=maybe_text,
    next=items,
    decisions=some(st.builds(LedgerDecision, decision=texts, reasoning=maybe_text, when=clocks)),
    branch=maybe_line,
    modified=items,
    read=some(
        st.builds(
            ReadFile, path=texts.filter(lambda path: "\n" not in path or " - " not in path), reason=maybe_text
        )
    ),
    questions=items,
    gate_history=some(
        st.builds(GateResult, gate=texts, status=st.sampled_from(GateStatus), time=clocks, notes=maybe_text)
    ),
    unknown=kept(
        ("front matter", _FRONT),
        (
            f"{PLACE} / validation",
            ("owner: someone", "more:\n  deep: 1", "# a comment", "plain words\n- item"),
        ),
        ("", PROSE),
        ("title", PROSE),
        ("Active Task", ("owner: someone", "plain words that are no key")),
        ("State", PROSE),
        ("State/Done", PROSE),
        ("State/Next", PROSE),
        ("State/Blocked", _under("State", "Blocked")),
        ("Key Decisions", PROSE),
        ("Working Set", PROSE),
        ("Working Set/Branch", PROSE[:2]),
        ("Working Set/Modified", PROSE),
        ("Open Questions", PROSE),
        ("Validation History", PROSE),
        *_TAIL,
    ),
).map(lambda one: _settled(one, [("Working Set/Branch", "branch")]))

pairs = st.builds(Pair, key=labels, value=maybe_text)
focus = maybe_text.filter(lambda text: not split_tick(text)[0])
questions = texts.map(read_question) | st.builds(
    Question,
    text=texts,
    kind=st.sampled_from([QuestionKind.UNCONFIRMED, QuestionKind.UNKNOWN, QuestionKind.TODO]),
)
phases = st.builds(
    Phase,
    phase=counts,
    name=maybe_line.filter(lambda name: "):" not in name),
    state=st.sampled_from(PhaseState),
    detail=maybe_line,
)
members = st.sampled_from((("owner", '"someone"'), ("deep", '{"a": [1, null]}'), ("é: x", "true"))).map(
    lambda m: (m,)
)
maybe_members = st.just(()) | members
checkpoints = st.builds(
    Checkpoint,
    agent=maybe_line,
    task=maybe_line,
    started=maybe(seconds),
    last_updated=maybe(seconds),
    phases=some(phases),
    validation=maybe(
        st.builds(
            ValidationState,
            test_count=maybe(counts),
            tests_passing=maybe(counts),
            files_modified=items,
            last_test_command=maybe(texts),
            last_test_exit_code=maybe(st.integers(-255, 255)),
            others=maybe_members,
        )
    ),
    resume=some(pairs),
).filter(lambda one: one != Checkpoint())

stream_values: SearchStrategy[Stream] = st.builds(
    Stream,
    date=maybe(seconds),
    session_name=maybe(st.just("auth-refactor") | texts),
    branch=maybe(texts),
    status=maybe(st.just("active") | texts),
    title=st.just("Work Stream: auth-refactor") | titles,
    updated=maybe(seconds),
    goal=maybe_line,
    ledger_branch=maybe_line,
    test=maybe_line,
    now=focus,
    this_session=items,
    next=items,
    decisions=some(pairs),
    questions=some(questions),
    workflow=st.builds(
        Workflow,
        pattern=maybe(lines),
        phase=maybe(counts),
        total_phases=maybe(counts),
        retries=maybe(counts),
        max_retries=maybe(counts),
    ),
    resolved=some(pairs),
    unknowns=items,
    last_failure=maybe_text,
    checkpoint=maybe(checkpoints),
    context=maybe_text,
    unknown=kept(
        ("front matter", _FRONT),
        ("", PROSE),
        ("title", PROSE),
        *_TAIL[:1],
        ("Ledger", PROSE),
        ("Ledger/Goal", PROSE[:2]),
        ("Ledger/Now", PROSE[2:3]),
        ("Ledger/This Session", PROSE),
        ("Ledger/Decisions", PROSE),
        ("Ledger/Workflow State", ("owner: someone", "plain words that are no key")),
        ("Ledger/Workflow State/Resolved", PROSE),
        ("Ledger/Checkpoints", PROSE),
        ("Ledger/Checkpoints/Phase Status", PROSE),
        ("Ledger/Risks", _under("Ledger", "Risks")),
    ),
).map(lambda one: _settled(one, [("Ledger/Goal", "goal")]))

_CHECKPOINT_KEYS = frozenset({"phase", "status", "updated", "name", "agent", "task"})
event_checkpoints = st.builds(
    EventCheckpoint,
    phase=maybe(counts),
    status=maybe(st.sampled_from(PhaseState)),
    updated=maybe(seconds),
    name=maybe(texts),
    agent=maybe(ids | texts),
    task=maybe(texts),
    others=st.just(())
    | st.builds(Pair, key=lines.filter(lambda key: key not in _CHECKPOINT_KEYS), value=maybe_text).map(
        lambda p: (p,)
    ),
).filter(lambda one: one != EventCheckpoint())

event_values: SearchStrategy[Event] = st.builds(
    Event,
    ts=maybe(millis),
    **{
        name: maybe(ids | texts)
        for name in (
            "agent",
            "branch",
            "type",
            "reason",
            "id",
            "session",
            "track",
            "stream",
            "covers",
            "goal",
            "now",
        )
    },
    next=maybe(items),
    **dict.fromkeys(
        (
            *("this_session", "open_questions", "constraints", "receipts", "feedback", "files_modified"),
            *("resolved_questions", "retracted_done", "retracted_decisions", "retracted_constraints"),
            *("retracted_events", "retracted_receipts", "answered_feedback"),
        ),
        items,
    ),
    decisions=some(st.builds(Pair, key=lines, value=maybe_text)),
    answers=some(st.builds(Pair, key=lines, value=maybe_text)),
    provenance=some(st.builds(Pair, key=lines, value=maybe_text)),
    checkpoints=some(event_checkpoints),
    unknown=kept(
        ("front matter", _FRONT[:2]),
        ("front matter", ("# a comment",)),
        ("front matter", _FRONT[3:]),
        ("body", ("# Session Event", "Some words: no key", "> said")),
        ("body", ("x-notes:\n- a\n- b: c", "other: |\n  ## text\n  ---")),
    ),
)

earlier = maybe(
    st.builds(Earlier, count=counts, command=st.sampled_from(("passdown log", "x --type a|b", "")))
)
hashes = st.sampled_from(("0" * 64, "1e5", "ab" * 32))
footers = st.builds(
    Footer,
    event_count=maybe(counts),
    latest_ts=maybe(millis),
    generated_at=maybe(millis),
    skipped=maybe(counts),
    renderer=maybe(counts),
    events_sha256=maybe(hashes),
)


def _without_footer_keys(view: View) -> View:
    """Take away the keys of a footer that is not there."""
    kept_keys = tuple(one for one in view.unknown if one.place != views.FOOTER or view.footer is not None)
    return replace(view, unknown=kept_keys)


def _with_hash(view: View) -> View:
    """Give the view as it reads back after writing, with its hash in the footer."""
    return replace(views.parse_view(views.render_view(view)), source=None, problems=())


view_values: SearchStrategy[View] = (
    st.builds(
        View,
        title=st.just(views.TITLE) | titles,
        updated=maybe(seconds),
        goal=maybe_line,
        now=focus,
        this_session=items,
        this_session_earlier=earlier,
        next=items,
        next_earlier=earlier,
        decisions=some(pairs),
        decisions_earlier=earlier,
        constraints=items,
        constraints_earlier=earlier,
        questions=some(questions),
        questions_earlier=earlier,
        answers=some(pairs),
        answers_earlier=earlier,
        checkpoints=some(phases),
        checkpoints_earlier=earlier,
        footer=maybe(footers),
        unknown=kept(
            ("", PROSE),
            ("title", PROSE),
            ("Ledger", PROSE),
            ("Ledger/Next", PROSE),
            ("Ledger/Others at work", _under("Ledger", "Others at work")),
            (views.FOOTER, ("branches: 3", "by_branch:\n  main: 2\n  skipped: 1", "# a comment")),
        ),
    )
    .map(_without_footer_keys)
    .map(_with_hash)
)

session_values: SearchStrategy[SessionState] = st.builds(
    SessionState,
    agent_id=maybe(ids | texts),
    mode=maybe(st.sampled_from(Mode)),
    mode_locked_at=maybe(seconds),
    track_id=maybe(ids | texts),
    current_task=maybe(ids | texts),
    current_tasks=maybe(items),
    tdd_phase=maybe(st.sampled_from(TddPhase)),
    last_updated=maybe(seconds),
    unknown=kept(
        ("owner", ('"someone"',)), ("deep", ('{"a": [1, null, {"b": "c"}]}', "[]")), ("é", ("1.50", "true"))
    ),
)

handoff_values: SearchStrategy[AddressedHandoff] = st.builds(
    AddressedHandoff,
    sender=maybe(ids | texts),
    to=maybe(ids | texts),
    created_at=maybe(seconds),
    expires_at=maybe(seconds),
    content=maybe_text,
    context=maybe(
        st.builds(
            HandoffContext,
            task_id=maybe(ids | texts),
            track_id=maybe(ids | texts),
            files=items,
            unknown=kept(("owner", ('"someone"',)), ("deep", ('{"a": [1, null, {"b": "c"}]}', "[]"))),
        )
    ),
    priority=maybe(st.sampled_from(("normal", "high")) | texts),
    id=maybe(ids | texts),
    unknown=kept(("owner", ('"someone"',)), ("é", ("1.50", "true"))),
)

archive_values: SearchStrategy[Archive] = st.builds(
    Archive,
    date=maybe(seconds),
    session_id=maybe(ids | texts),
    trigger=maybe(st.sampled_from(archives.TRIGGERS) | texts),
    status=maybe(st.sampled_from(ArchiveStatus)),
    track=maybe(ids | texts),
    title=st.just("Session Handoff") | titles,
    summary=maybe_text,
    completed=items,
    in_progress=items,
    blocked=items,
    next_steps=items,
    decisions=some(st.builds(ArchiveDecision, decision=texts, reasoning=maybe_text)),
    modified=some(st.builds(Artifact, file=texts, note=maybe_text)),
    created=some(st.builds(Artifact, file=texts, note=maybe_text)),
    context=maybe_text,
    questions=items,
    unknown=kept(
        ("front matter", _FRONT),
        ("", PROSE),
        ("title", PROSE),
        ("Completed", PROSE),
        ("Next Steps", PROSE),
        ("Artifacts", PROSE),
        ("Artifacts/Created", PROSE),
        ("Artifacts/Deleted", _under("Artifacts", "Deleted")),
        *_TAIL,
        (archives.LEDGER, ("---\nupdated: x\n---\n\n# Session Ledger\n\n## Summary\n\nNot the archive's.",)),
    ),
)

facts = st.builds(
    Fact,
    kind=st.sampled_from(FactKind).map(str) | lines,
    text=maybe_text,
    at=millis,
    agent=ids | lines,
    key=maybe(texts).map(lambda text: text or ""),
    because=maybe(texts).map(lambda text: text or ""),
    provenance=st.sampled_from(Provenance),
    commit=st.sampled_from(("", "1a2b3c4d5e6f")),
    session=ids | st.just(""),
    others=maybe_members,
    **dict.fromkeys(("event", "event_id", "branch"), st.just("")),
    seq=st.just(0),
)
journal_lines = st.builds(JournalLine, seq=counts, fact=facts, others=maybe_members) | st.builds(
    JournalLine, seq=counts, fact=facts, at=millis, agent=ids
)
_TORN = (
    '{"v":1,"seq":2,"fact":{"kind":"go',
    "no JSON at all",
    "{}",
    '{"v":2,"seq":1,"sum":"00000000"}',
    "- item",
)


def make_journal(parts: Sequence[JournalLine | str]) -> Journal:
    """A journal of lines, some of which are torn."""
    torn = [Unknown(place=f"line {n}", text=part) for n, part in enumerate(parts, 1) if isinstance(part, str)]
    whole = [part for part in parts if not isinstance(part, str)]
    return Journal(lines=tuple(whole), unknown=tuple(torn))


journal_values = st.lists(journal_lines | st.sampled_from(_TORN), max_size=5).map(make_journal)

history_values = st.builds(
    ImportedSession,
    head=st.builds(
        HistoryHead,
        host=ids,
        session=ids,
        parent=ids | st.just(""),
        folder=lines,
        transcript=lines,
        size=counts,
        started=maybe(millis),
        ended=maybe(millis),
        about=lines,
        counts=st.lists(st.tuples(ids, counts), max_size=3).map(tuple),
        files=st.lists(lines, max_size=2).map(tuple),
        left_out=counts,
        redacted=st.lists(ids, max_size=2).map(tuple),
    ),
    entries=st.lists(
        st.builds(
            HistoryEntry,
            kind=ids,
            text=texts,
            at=maybe(millis),
            exit=maybe(st.integers(-1, 255)),
            status=lines,
        ),
        max_size=4,
    ).map(tuple),
)

_LOOP_BLOCKS = st.sampled_from(
    (
        "---",
        "\\---",
        "## User Feedback",
        "a\n## User Feedback\n\nnot the slot\n\n---",
        "<!-- turn 7 -->",
        "\\<!-- turn 7 -->\n```\n<!-- feedback -->\n```",
        "```\n## User Feedback\n---\n```",
        "- ```\nnever closed",
        "(Leave blank to continue. Write notes here to guide the next iteration.)",
    )
)
loop_values: SearchStrategy[Loop] = st.builds(
    Loop,
    title=st.just("Ideation Loop") | titles,
    turns=some(
        st.builds(
            Turn,
            number=counts,
            at=maybe(millis),
            agent=st.just("") | st.sampled_from(("T-abc123", "claude-1f3a9c02", "bd-42")),
            text=maybe_text | _LOOP_BLOCKS,
            feedback=(maybe_text | _LOOP_BLOCKS).filter(lambda text: not is_comment(text) or not text),
        )
    ),
)

change_values: SearchStrategy[ChangeState] = st.builds(
    ChangeState,
    title=st.just("SDD State: dark-mode") | titles,
    phase=maybe(st.sampled_from(ChangePhase)),
    lane=maybe(st.sampled_from(Lane)),
    run_mode=maybe(st.sampled_from(RunMode)),
    current_task=st.sampled_from(("", "01", "12")),
    proposal=some(pairs),
    reconcile=some(pairs),
    pointers=some(pairs),
    taxonomy_decisions=maybe_text,
    architecture_decisions=maybe_text,
    finish_status=st.sampled_from(("", "not-ready", "complete")),
    notes=maybe_text,
    unknown=kept(
        ("front matter", _FRONT),
        ("", PROSE),
        ("title", PROSE),
        ("Proposal", PROSE),
        ("Pointers", PROSE),
        ("Risks", _SECTIONS[2:]),
    ),
)

context_values: SearchStrategy[SessionContext] = st.builds(
    SessionContext,
    title=st.just("Session Context"),
    track=st.sampled_from(("", "dark-mode")),
    intent=some(texts.filter(says_something)),
    constraints=some(texts.filter(says_something)),
    decisions=some(
        st.builds(ContextDecision, decision=lines, why=maybe_line, date=st.sampled_from(("", "2025-12-27")))
    ),
    files=some(texts),
    questions=some(texts),
    state=maybe_text,
    next_steps=some(texts),
    unknown=kept(
        ("", PROSE),
        ("title", PROSE),
        ("Files Modified", PROSE),
        ("Risks", _SECTIONS[2:]),
    ),
)


@dataclass(frozen=True)
class Kind:
    """A format with its values, and what a value must hold to be complete."""

    format: Format
    values: SearchStrategy[Any] = field(repr=False)
    complete: Mapping[str, object] = field(repr=False)

    def parse(self, text: str) -> Any:  # any document
        """Read a document."""
        return self.format.parse(text)

    def render(self, value: Any) -> str:  # any document
        """Write a document."""
        return self.format.render(value)

    def completed(self, value: Any) -> Any:  # any document
        """The value with what is missing filled in."""
        asked = {name: getattr(value, name) for name in self.complete}
        missing = {name: self.complete[name] for name, has in asked.items() if has in (None, ())}
        return replace(value, **missing)


_ID = "T-abc123"
KINDS = (
    Kind(
        registry.LEDGER,
        ledger_values,
        {"updated": _START, "session_id": _ID, "platform": "claude"},
    ),
    Kind(
        registry.STREAM,
        stream_values,
        {"date": _START, "session_name": "auth-refactor", "branch": "main", "status": "active"},
    ),
    Kind(registry.EVENT, event_values, {"ts": _START, "agent": "toast"}),
    Kind(registry.VIEW, view_values, {}),
    Kind(
        registry.SESSION_STATE,
        session_values,
        {"agent_id": _ID, "mode": Mode.SINGLE, "last_updated": _START},
    ),
    Kind(
        registry.ADDRESSED_HANDOFF,
        handoff_values,
        {"sender": _ID, "to": _ID, "created_at": _START, "expires_at": _START, "content": "text"},
    ),
    Kind(
        registry.ARCHIVE,
        archive_values,
        {"date": _START, "session_id": _ID, "trigger": "manual", "status": ArchiveStatus.COMPLETE},
    ),
    Kind(registry.JOURNAL, journal_values, {}),
    Kind(registry.HISTORY, history_values, {}),
    Kind(registry.LOOP, loop_values, {}),
    Kind(registry.CHANGE_STATE, change_values, {}),
    Kind(
        registry.SESSION_CONTEXT,
        context_values,
        {"intent": ("Goal: Ship it",), "constraints": ("RULED_OUT: a daemon",)},
    ),
)
BY_NAME = {kind.format.name: kind for kind in KINDS}
