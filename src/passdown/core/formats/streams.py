"""The stream document: one piece of work over several sessions, with its Ledger section (S1, R53 to R95).

The Ledger section runs from `## Ledger` to the first line that is exactly `---`, the next heading of its
level, or the end; code fences do not count. An update replaces that section and nothing else.
"""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from passdown.core.documents.documents import DocumentFormat, heading_line, key_line
from passdown.core.documents.fields import in_key, in_label, in_rest, in_section, in_sections
from passdown.core.documents.key_value import Pair, read_pair, write_pair
from passdown.core.documents.lists import split_tick
from passdown.core.documents.markdown import fold_title
from passdown.core.documents.places import ListOf, Paragraph
from passdown.core.documents.scalars import quote, read_scalar, write_scalar
from passdown.core.formats.checkpoints import JsonBlock, Phase, ValidationState, read_phase, write_phase
from passdown.core.ids import is_stream_name, kebab
from passdown.core.kinds import CARRIED
from passdown.core.phases import PhaseState
from passdown.core.problems import Problem, Unknown, warning
from passdown.records import field, record

VERSION: Final = 1
LEDGER: Final = "Ledger/"
"""The prefix of the names of sections in the Ledger section."""
_TITLE: Final = "Work Stream:"
ALLOCATIONS: Final = ("conservative", "balanced", "aggressive")


class QuestionKind(StrEnum):
    """The kind of an open question."""

    QUESTION = "question"
    UNCONFIRMED = "unconfirmed"
    UNKNOWN = "unknown"
    TODO = "todo"


@record
class Question:
    """An open question; an unconfirmed one should be verified after a clear."""

    text: Annotated[str, "The question."]
    kind: Annotated[QuestionKind, "The kind of question."] = QuestionKind.QUESTION


def read_question(text: str) -> Question:
    """Read an open question; its prefix or check box determines its kind."""
    for kind in (QuestionKind.UNCONFIRMED, QuestionKind.UNKNOWN):
        if text.upper().startswith(f"{kind.value.upper()}:"):
            return Question(text=text[len(kind.value) + 1 :].strip(), kind=kind)
    tick, rest = split_tick(text)
    if tick == " ":
        return Question(text=rest, kind=QuestionKind.TODO)
    return Question(text=text)


def write_question(question: Question) -> str:
    """Write an open question with the prefix of its kind."""
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


NOW_LIST: Final = ListOf(_read_focus, str, mark="[->] ", bare=True)


@record
class Workflow:
    """The counters of Workflow State."""

    pattern: Annotated[str | None, "Name of the workflow pattern.", in_key(on_line=True)] = None
    phase: Annotated[int | None, "Number of the current phase.", in_key()] = None
    total_phases: Annotated[int | None, "How many phases there are.", in_key()] = None
    retries: Annotated[int | None, "Retries so far.", in_key()] = None
    max_retries: Annotated[int | None, "Retries allowed.", in_key()] = None


@record
class Checkpoint:
    """The Checkpoints section of a resumable agent."""

    agent: Annotated[str, "The agent that does the work.", in_label("Agent", required=False, trail="\n")] = ""
    task: Annotated[str, "The task it works on.", in_label("Task", required=False, trail="\n")] = ""
    started: Annotated[
        datetime | None, "When it started.", in_label("Started", required=False, trail="\n")
    ] = None
    last_updated: Annotated[
        datetime | None, "When it last wrote.", in_label("Last Updated", required=False)
    ] = None
    phases: Annotated[
        tuple[Phase, ...],
        "One line for each phase.",
        in_section("Phase Status", ListOf(read_phase, write_phase), required=False),
    ] = ()
    validation: Annotated[
        ValidationState | None,
        "What to re-run on resume.",
        in_section("Validation State", JsonBlock(), required=False),
    ] = None
    resume: Annotated[
        tuple[Pair, ...],
        "Current focus, next action, blockers.",
        in_section("Resume Context", ListOf(read_pair, write_pair), required=False),
    ] = ()


@record
class Stream:
    """A named document that groups the sessions on one piece of work."""

    date: Annotated[datetime | None, "When the document was created.", in_key(required=True)] = None
    session_name: Annotated[str | None, "The stream's name, in kebab case.", in_key(required=True)] = None
    branch: Annotated[str | None, "The git branch on which it was created.", in_key(required=True)] = None
    status: Annotated[str | None, "`active` while the work continues.", in_key(required=True)] = None
    title: Annotated[str, "`Work Stream: <name>`."] = ""
    updated: Annotated[datetime | None, "Time of the last save.", in_label("Ledger/Updated", trail="\n")] = (
        None
    )
    goal: Annotated[str, "What counts as success, in one line.", in_label("Ledger/Goal", trail="\n")] = ""
    ledger_branch: Annotated[str, "The git branch of the work.", in_label("Ledger/Branch", trail="\n")] = ""
    test: Annotated[str, "The command that tests it.", in_label("Ledger/Test")] = ""
    now: Annotated[
        str, "The current step.", in_section("Ledger/Now", NOW_LIST, required=False, spills="next")
    ] = ""
    this_session: Annotated[
        tuple[str, ...], "Finished work.", in_section("Ledger/This Session", ListOf(str, str, tick="[x]"))
    ] = ()
    next: Annotated[
        tuple[str, ...],
        "The next steps, in order of priority.",
        in_section("Ledger/Next", ListOf(str, str, tick="[ ]")),
    ] = ()
    decisions: Annotated[
        tuple[Pair, ...],
        "Decisions with their reasons.",
        in_section("Ledger/Decisions", ListOf(read_pair, write_pair, nothing="- (none yet)")),
    ] = ()
    questions: Annotated[
        tuple[Question, ...],
        "Open questions.",
        in_section("Ledger/Open Questions", ListOf(read_question, write_question), required=False),
    ] = ()
    workflow: Annotated[Workflow, "The state of the workflow.", in_section("Ledger/Workflow State")] = field(
        default_factory=Workflow
    )
    resolved: Annotated[
        tuple[Pair, ...],
        "What the user has settled: goal, resource_allocation.",
        in_section("Ledger/Workflow State/Resolved", ListOf(_read_resolved, _write_resolved)),
    ] = ()
    unknowns: Annotated[
        tuple[str, ...],
        "What is not known yet, marked UNKNOWN.",
        in_section("Ledger/Workflow State/Unknowns"),
    ] = ()
    last_failure: Annotated[
        str, "The last failure.", in_section("Ledger/Workflow State/Last Failure", Paragraph("(none)"))
    ] = ""
    checkpoint: Annotated[
        Checkpoint | None, "The progress of a resumable agent.", in_section("Ledger/Checkpoints")
    ] = None
    further_facts: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...],
        "Facts of further kinds, by section.",
        in_sections(tuple(f"{LEDGER}{kind.row.heading}" for kind in CARRIED)),
    ] = ()
    context: Annotated[str, "Everything after the Ledger section, verbatim.", in_rest()] = ""
    unknown: Annotated[tuple[Unknown, ...], "Text that no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def _judge(text: str, stream: Stream) -> Iterator[Problem]:
    """Find problems in values that could be read."""
    yield from _judge_phases(text, stream)
    for pair in stream.resolved:
        if pair.key == "resource_allocation" and pair.value not in ALLOCATIONS:
            hint = "use one of " + ", ".join(ALLOCATIONS)
            shown = f"has the unknown resource_allocation {pair.value[:40]}"
            yield warning(
                key_line(text, "- resource_allocation"), "Ledger/Workflow State/Resolved", shown, hint
            )
    for unknown in stream.unknowns:
        if "UNKNOWN" not in unknown:
            shown = f"is not marked UNKNOWN: {unknown[:60]}"
            yield warning(heading_line(text, "Unknowns", unknown), "Ledger/Workflow State/Unknowns", shown)
    name = stream.session_name
    if name is not None and not is_stream_name(name):
        hint = f"use lower-case words joined by `-`, like {kebab(name)}"
        yield warning(
            key_line(text, "session_name"), "session_name", f"is not a valid stream name: {name[:40]}", hint
        )
    if name is not None and fold_title(stream.title) != fold_title(f"{_TITLE} {name}"):
        shown = f"is {stream.title[:60]!r}" if stream.title else "is missing"
        yield warning(1, "title", shown, f"write `# {_TITLE} {name[:60]}`")


def _judge_phases(text: str, stream: Stream) -> Iterator[Problem]:
    """Find disagreements between Now, Workflow State and Phase Status (C13)."""
    phases = stream.checkpoint.phases if stream.checkpoint else ()
    at_work = open_phase(phases)
    if at_work is None:
        return
    phase = stream.workflow.phase
    if phase is not None and phase != at_work:
        shown = f"says phase {phase}, but in Phase Status {at_work} is the first that is not validated"
        yield warning(heading_line(text, "Workflow State"), "Ledger/Workflow State", shown)
    now = stream.now.casefold()
    named = [one.phase for one in phases if one.name and one.name.casefold() in now]
    if named and at_work not in named:
        shown = f"names phase {named[0]}, but in Phase Status {at_work} is the first that is not validated"
        yield warning(heading_line(text, "Now"), "Ledger/Now", shown)


def open_phase(phases: tuple[Phase, ...]) -> int | None:
    """Return the first phase that is neither validated nor skipped, or None (C13)."""
    over = {PhaseState.VALIDATED, PhaseState.SKIPPED}
    return next((phase.phase for phase in phases if phase.state not in over), None)


FORMAT: Final = DocumentFormat(Stream, "stream", VERSION, _judge)
parse_stream: Final = FORMAT.parse
render_stream: Final = FORMAT.render
fix_stream: Final = FORMAT.fix
