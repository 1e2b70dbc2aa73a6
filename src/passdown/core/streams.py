"""The stream document: one piece of work over several sessions, with its Ledger section (S1, R53 to R95).

The Ledger section runs from `## Ledger` to the first line that is exactly `---`, the next heading of its
level, or the end, code fences apart. An update replaces that section and nothing else.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from passdown.core.checkpoints import JsonBlock, Phase, PhaseState, ValidationState, read_phase, write_phase
from passdown.core.documents import Content, Found, Shape, fix_document, refuse_unreadable, render_document
from passdown.core.fields import count_key, instant_key, line_key, read_instant, text_key
from passdown.core.ids import is_stream_name, kebab
from passdown.core.keys import HeldKey
from passdown.core.ledgers import heading_line
from passdown.core.lists import split_tick
from passdown.core.markdown import fold_title
from passdown.core.outlines import Outline
from passdown.core.pairs import Pair, read_pair, write_pair
from passdown.core.places import Entries, Heading, Line, ListOf, Paragraph, Place
from passdown.core.problems import Problem, Unknown, warning
from passdown.core.regions import Region, read_region, revise_region, write_region
from passdown.core.scalars import quote, read_scalar, write_scalar
from passdown.core.times import render_seconds
from passdown.records import field, record

VERSION: Final = 1
_TITLE: Final = "Work Stream:"
ALLOCATIONS: Final = ("conservative", "balanced", "aggressive")


class QuestionKind(StrEnum):
    """What kind of open point a question is."""

    QUESTION = "question"
    UNCONFIRMED = "unconfirmed"
    UNKNOWN = "unknown"
    TODO = "todo"


@record
class Question:
    """Something open; an unconfirmed one is to be verified after a clear."""

    text: Annotated[str, "What is open."]
    kind: Annotated[QuestionKind, "What kind of open point it is."] = QuestionKind.QUESTION


@record
class Workflow:
    """The counters of Workflow State."""

    pattern: Annotated[str | None, "Name of the workflow pattern."] = None
    phase: Annotated[int | None, "Number of the current phase."] = None
    total_phases: Annotated[int | None, "How many phases there are."] = None
    retries: Annotated[int | None, "Retries so far."] = None
    max_retries: Annotated[int | None, "Retries allowed."] = None


@record
class Checkpoint:
    """The Checkpoints section of a resumable agent."""

    agent: Annotated[str, "The agent that works."] = ""
    task: Annotated[str, "What it works on."] = ""
    started: Annotated[datetime | None, "When it began."] = None
    last_updated: Annotated[datetime | None, "When it last wrote."] = None
    phases: Annotated[tuple[Phase, ...], "One line for each phase."] = ()
    validation: Annotated[ValidationState | None, "What to re-run on resume."] = None
    resume: Annotated[tuple[Pair, ...], "Current focus, next action, blockers."] = ()


@record
class Stream:
    """A named document that groups the sessions on one piece of work."""

    date: Annotated[datetime | None, "When the document was made."] = None
    session_name: Annotated[str | None, "The stream's name, in kebab case."] = None
    branch: Annotated[str | None, "The git branch it was made on."] = None
    status: Annotated[str | None, "`active` while work goes on."] = None
    title: Annotated[str, "`Work Stream: <name>`."] = ""
    updated: Annotated[datetime | None, "Time of the last save; every save sets it."] = None
    goal: Annotated[str, "What counts as success, in one line."] = ""
    ledger_branch: Annotated[str, "The git branch of the work."] = ""
    test: Annotated[str, "The command that tests it."] = ""
    now: Annotated[str, "The one thing being done."] = ""
    this_session: Annotated[tuple[str, ...], "What is finished."] = ()
    next: Annotated[tuple[str, ...], "What comes after, in order of priority."] = ()
    decisions: Annotated[tuple[Pair, ...], "Choices with their reasons."] = ()
    questions: Annotated[tuple[Question, ...], "What is open."] = ()
    workflow: Annotated[Workflow, "Where the workflow stands."] = field(default_factory=Workflow)
    resolved: Annotated[tuple[Pair, ...], "What the user settled: goal, resource_allocation."] = ()
    unknowns: Annotated[tuple[str, ...], "What is not known yet, marked UNKNOWN."] = ()
    last_failure: Annotated[str, "What went wrong last."] = ""
    checkpoint: Annotated[Checkpoint | None, "Where a resumable agent stands."] = None
    context: Annotated[str, "Everything after the Ledger section, verbatim."] = ""
    unknown: Annotated[tuple[Unknown, ...], "What no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def read_question(text: str) -> Question:
    """Read an open point; its prefix or check box tells its kind."""
    for kind in (QuestionKind.UNCONFIRMED, QuestionKind.UNKNOWN):
        if text.upper().startswith(f"{kind.value.upper()}:"):
            return Question(text=text[len(kind.value) + 1 :].strip(), kind=kind)
    tick, rest = split_tick(text)
    if tick == " ":
        return Question(text=rest, kind=QuestionKind.TODO)
    return Question(text=text)


def write_question(question: Question) -> str:
    """Write an open point with the prefix of its kind."""
    if question.kind is QuestionKind.QUESTION:
        return question.text
    if question.kind is QuestionKind.TODO:
        return f"[ ] {question.text}"
    return f"{question.kind.value.upper()}: {question.text}"


def _read_resolved(text: str) -> Pair:
    pair = read_pair(text)
    return Pair(key=pair.key, value=read_scalar(pair.value) or "")


def _write_resolved(pair: Pair) -> str:
    if not pair.value:
        return pair.key
    return f"{pair.key}: {quote(pair.value) if pair.key == 'goal' else write_scalar(pair.value)}"


def _read_focus(text: str) -> str:
    tick, rest = split_tick(text)
    return rest if tick in {"->", "→"} else text


_DATE: Final = instant_key("date", required=True)
_NAME: Final = text_key("session_name", required=True)
_BRANCH: Final = text_key("branch", required=True)
_STATUS: Final = text_key("status", required=True)
_FORMAT: Final = count_key("format")

_PATTERN: Final = line_key("pattern")
_PHASE: Final = count_key("phase")
_TOTAL: Final = count_key("total_phases")
_RETRIES: Final = count_key("retries")
_MAX_RETRIES: Final = count_key("max_retries")


def _make_workflow(values: Mapping[str, object]) -> Workflow:
    return Workflow(
        pattern=_PATTERN.of(values),
        phase=_PHASE.of(values),
        total_phases=_TOTAL.of(values),
        retries=_RETRIES.of(values),
        max_retries=_MAX_RETRIES.of(values),
    )


def _hold_workflow(workflow: Workflow) -> tuple[HeldKey, ...]:
    return (
        _PATTERN.holds(workflow.pattern),
        _PHASE.holds(workflow.phase),
        _TOTAL.holds(workflow.total_phases),
        _RETRIES.holds(workflow.retries),
        _MAX_RETRIES.holds(workflow.max_retries),
    )


INSTANT_LINE: Final[Line[datetime | None]] = Line(
    read_instant, lambda instant: render_seconds(instant) if instant else "", None
)
TEXT_LINE: Final = Line(str, str, "")
PAIRS: Final = ListOf(read_pair, write_pair)

LEDGER: Final = Place("Ledger", Heading(), "## Ledger", "\n", "\n")
UPDATED: Final = Place("Ledger/Updated", INSTANT_LINE, "**Updated:**", " ", "\n")
GOAL: Final = Place("Ledger/Goal", TEXT_LINE, "**Goal:**", " ", "\n")
LEDGER_BRANCH: Final = Place("Ledger/Branch", TEXT_LINE, "**Branch:**", " ", "\n")
TEST: Final = Place("Ledger/Test", TEXT_LINE, "**Test:**", " ", "\n\n")
NOW: Final = Place("Ledger/Now", ListOf(_read_focus, str, mark="[->] ", bare=True), "### Now")
THIS_SESSION: Final = Place("Ledger/This Session", ListOf(str, str, tick="[x]"), "### This Session")
NEXT: Final = Place("Ledger/Next", ListOf(str, str, tick="[ ]"), "### Next")
DECISIONS: Final = Place(
    "Ledger/Decisions", ListOf(read_pair, write_pair, nothing="- (none yet)"), "### Decisions"
)
QUESTIONS: Final = Place(
    "Ledger/Open Questions", ListOf(read_question, write_question), "### Open Questions", required=False
)
_WORKFLOW: Final = Place(
    "Ledger/Workflow State",
    Entries((_PATTERN, _PHASE, _TOTAL, _RETRIES, _MAX_RETRIES), _make_workflow, _hold_workflow),
    "### Workflow State",
)
_RESOLVED: Final = Place(
    "Ledger/Workflow State/Resolved", ListOf(_read_resolved, _write_resolved), "#### Resolved"
)
_UNKNOWNS: Final = Place("Ledger/Workflow State/Unknowns", ListOf(str, str), "#### Unknowns")
_FAILURE: Final = Place("Ledger/Workflow State/Last Failure", Paragraph("(none)"), "#### Last Failure")
_CHECKPOINTS: Final = Place("Ledger/Checkpoints", Heading(), "### Checkpoints", "\n", "\n", required=False)
_AGENT: Final = Place("Ledger/Checkpoints/Agent", TEXT_LINE, "**Agent:**", " ", "\n", required=False)
_TASK: Final = Place("Ledger/Checkpoints/Task", TEXT_LINE, "**Task:**", " ", "\n", required=False)
_STARTED: Final = Place("Ledger/Checkpoints/Started", INSTANT_LINE, "**Started:**", " ", "\n", required=False)
_LAST: Final = Place(
    "Ledger/Checkpoints/Last Updated", INSTANT_LINE, "**Last Updated:**", " ", "\n\n", required=False
)
_PHASES: Final = Place(
    "Ledger/Checkpoints/Phase Status", ListOf(read_phase, write_phase), "#### Phase Status", required=False
)
_VALIDATION: Final = Place(
    "Ledger/Checkpoints/Validation State", JsonBlock(), "#### Validation State", required=False
)
_RESUME: Final = Place("Ledger/Checkpoints/Resume Context", PAIRS, "#### Resume Context", required=False)

SHAPE: Final = Shape(
    name="stream",
    keys=(_DATE, _NAME, _BRANCH, _STATUS, _FORMAT),
    outline=Outline(
        (
            LEDGER,
            UPDATED,
            GOAL,
            LEDGER_BRANCH,
            TEST,
            NOW,
            THIS_SESSION,
            NEXT,
            DECISIONS,
            QUESTIONS,
            _WORKFLOW,
            _RESOLVED,
            _UNKNOWNS,
            _FAILURE,
            _CHECKPOINTS,
            _AGENT,
            _TASK,
            _STARTED,
            _LAST,
            _PHASES,
            _VALIDATION,
            _RESUME,
        )
    ),
    title="",
)


def parse_stream(text: str) -> Stream:
    """Read a stream document; nothing is lost, and what is wrong is in `problems`.

    Raises `FormatError` when the text is too large or newer than this reader.
    """
    found, region = read_region(text, SHAPE)
    refuse_unreadable(text, found.key(_FORMAT), VERSION, SHAPE.name)
    nows = found.place(NOW)
    return Stream(
        date=found.key(_DATE),
        session_name=found.key(_NAME),
        branch=found.key(_BRANCH),
        status=found.key(_STATUS),
        title=found.body.title,
        updated=found.place(UPDATED),
        goal=found.place(GOAL),
        ledger_branch=found.place(LEDGER_BRANCH),
        test=found.place(TEST),
        now=nows[0] if nows else "",
        this_session=found.place(THIS_SESSION),
        next=nows[1:] + found.place(NEXT),
        decisions=found.place(DECISIONS),
        questions=found.place(QUESTIONS),
        workflow=found.place(_WORKFLOW),
        resolved=found.place(_RESOLVED),
        unknowns=found.place(_UNKNOWNS),
        last_failure=found.place(_FAILURE),
        checkpoint=_read_checkpoint(found),
        context=_read_context(region),
        unknown=found.unknown,
        problems=tuple(sorted([*found.problems, *_judge(text, found)], key=lambda one: one.line)),
        source=text,
    )


def _read_context(region: Region) -> str:
    return region.after.replace("\r\n", "\n").strip("\r\n")


def _write_context(stream: Stream) -> str:
    return f"\n{stream.context}\n" if stream.context else ""


def _read_checkpoint(found: Found) -> Checkpoint | None:
    checkpoint = Checkpoint(
        agent=found.place(_AGENT),
        task=found.place(_TASK),
        started=found.place(_STARTED),
        last_updated=found.place(_LAST),
        phases=found.place(_PHASES),
        validation=found.place(_VALIDATION),
        resume=found.place(_RESUME),
    )
    return checkpoint if checkpoint != Checkpoint() else None


def _judge(text: str, found: Found) -> Iterator[Problem]:
    """Find what is readable and still wrong."""
    if len(found.place(NOW)) > 1:
        hint = "keep one; the others belong under Next"
        yield warning(heading_line(text, "Now"), NOW.name, "has more than one item", hint, fixable=True)
    yield from _judge_phases(text, found)
    for pair in found.place(_RESOLVED):
        if pair.key == "resource_allocation" and pair.value not in ALLOCATIONS:
            hint = "use one of " + ", ".join(ALLOCATIONS)
            shown = f"resource_allocation is {pair.value[:40]}"
            yield warning(found.line_of(text, "- resource_allocation"), _RESOLVED.name, shown, hint)
    for unknown in found.place(_UNKNOWNS):
        if "UNKNOWN" not in unknown:
            shown = f"is not marked UNKNOWN: {unknown[:60]}"
            yield warning(heading_line(text, "Unknowns", unknown), _UNKNOWNS.name, shown)
    name = found.key(_NAME)
    if name is not None and not is_stream_name(name):
        hint = f"use kebab case, like {kebab(name)}"
        yield warning(found.line_of(text, "session_name"), "session_name", f"is {name[:40]}", hint)
    if name is not None and fold_title(found.body.title) != fold_title(f"{_TITLE} {name}"):
        shown = f"is {found.body.title[:60]!r}" if found.body.title else "is missing"
        yield warning(1, "title", shown, f"write `# {_TITLE} {name[:60]}`")


def _judge_phases(text: str, found: Found) -> Iterator[Problem]:
    """Find where Now, Workflow State and Phase Status disagree (C13)."""
    phases = found.place(_PHASES)
    at_work = open_phase(phases)
    if at_work is None:
        return
    phase = found.place(_WORKFLOW).phase
    if phase is not None and phase != at_work:
        shown = f"says phase {phase}, but Phase Status says {at_work} is the first not validated"
        yield warning(heading_line(text, "Workflow State"), _WORKFLOW.name, shown)
    nows = found.place(NOW)
    now = " ".join(nows).casefold()
    named = [one.phase for one in phases if one.name and one.name.casefold() in now]
    if named and at_work not in named:
        shown = f"names phase {named[0]}, but Phase Status says {at_work} is the first not validated"
        yield warning(heading_line(text, "Now"), NOW.name, shown)


def open_phase(phases: tuple[Phase, ...]) -> int | None:
    """Return the first phase that is neither validated nor skipped (C13)."""
    over = {PhaseState.VALIDATED, PhaseState.SKIPPED}
    return next((phase.phase for phase in phases if phase.state not in over), None)


def _content(stream: Stream) -> Content:
    checkpoint = stream.checkpoint or Checkpoint()
    return Content(
        title=stream.title,
        keys=(
            _DATE.holds(stream.date),
            _NAME.holds(stream.session_name),
            _BRANCH.holds(stream.branch),
            _STATUS.holds(stream.status),
        ),
        places=(
            LEDGER.holds(None),
            UPDATED.holds(stream.updated),
            GOAL.holds(stream.goal),
            LEDGER_BRANCH.holds(stream.ledger_branch),
            TEST.holds(stream.test),
            NOW.holds((stream.now,) if stream.now else ()),
            THIS_SESSION.holds(stream.this_session),
            NEXT.holds(stream.next),
            DECISIONS.holds(stream.decisions),
            QUESTIONS.holds(stream.questions),
            _WORKFLOW.holds(stream.workflow),
            _RESOLVED.holds(stream.resolved),
            _UNKNOWNS.holds(stream.unknowns),
            _FAILURE.holds(stream.last_failure),
            _CHECKPOINTS.holds(None),
            _AGENT.holds(checkpoint.agent),
            _TASK.holds(checkpoint.task),
            _STARTED.holds(checkpoint.started),
            _LAST.holds(checkpoint.last_updated),
            _PHASES.holds(checkpoint.phases),
            _VALIDATION.holds(checkpoint.validation),
            _RESUME.holds(checkpoint.resume),
        ),
        unknown=stream.unknown,
    )


def _write(stream: Stream) -> str:
    return write_region(SHAPE, _content(stream), _write_context(stream))


def _revise(stream: Stream, source: str, fix: frozenset[str]) -> str:
    region = read_region(source, SHAPE)[1]
    written = _write_context(stream)
    after = written if region.rule else written.lstrip("\n")  # a rule that is added brings its blank line
    kept = stream.context == _read_context(region)
    return revise_region(source, SHAPE, _content(stream), region.after if kept else after, fix)


def render_stream(stream: Stream) -> str:
    """Write a stream document; one that was read keeps every byte that its values did not change."""
    return render_document(stream, parse_stream, _write, _revise)


def fix_stream(stream: Stream) -> str:
    """Write a stream document that was read, with what is safe to repair repaired."""
    return fix_document(stream, _revise)
