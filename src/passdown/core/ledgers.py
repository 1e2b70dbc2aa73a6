"""The live ledger of one session: `conductor/sessions/active/LEDGER.md` (S0, R1 to R32)."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from passdown.core.documents import (
    Content,
    Found,
    Shape,
    fix_document,
    read_document,
    refuse_unreadable,
    render_document,
    revise_document,
    write_document,
)
from passdown.core.fields import (
    choice_key,
    count_key,
    instant_key,
    line_key,
    read_choice,
    text_key,
    texts_key,
)
from passdown.core.frontmatter import line_at
from passdown.core.keys import HeldKey, Key
from passdown.core.outlines import Outline
from passdown.core.patterns import pattern
from passdown.core.places import Entries, Heading, Line, ListOf, Paragraph, Place, TableOf
from passdown.core.problems import Problem, Unknown, warning
from passdown.core.times import parse_clock
from passdown.core.validations import IN_VALIDATION, Block, Validation, read_block, write_block
from passdown.records import field, record

VERSION: Final = 1
PLATFORMS: Final = frozenset({"claude", "codex", "copilot", "gemini", "opencode", "cursor", "amp", "generic"})
GATES: Final = ("design", "spec", "plan-structure", "plan-execution", "completion")


class Mode(StrEnum):
    """Single agent or many; set at start and locked."""

    SINGLE = "SA"
    MULTI = "MA"


class TddPhase(StrEnum):
    """Where in the test-first cycle the session is."""

    RED = "RED"
    GREEN = "GREEN"
    REFACTOR = "REFACTOR"


class GateStatus(StrEnum):
    """How a validation gate ended."""

    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    WARN = "WARN"
    FAIL = "FAIL"


_MAX_TICKS: Final = 8
_PATH: Final = pattern(
    rf"(?P<ticks>`{{1,{_MAX_TICKS}}}+)(?P<pad> ?)(?P<path>(?:(?!(?P=ticks))[^\n])+?)(?P=pad)(?P=ticks)(?!`)"
)
_TICKS: Final = pattern(r"`+")
_ALTERNATIVES: Final = pattern(r"[|,/]| or ")
_ICONS: Final = ((GateStatus.PASS, "✅"), (GateStatus.WARN, "⚠️"), (GateStatus.FAIL, "❌"))


@record
class LedgerDecision:
    """A row of Key Decisions."""

    decision: Annotated[str, "What was chosen."]
    reasoning: Annotated[str, "Why."] = ""
    when: Annotated[str, "Local time of day, HH:MM."] = ""


@record
class ReadFile:
    """A file that was read, and why."""

    path: Annotated[str, "Path within the project."]
    reason: Annotated[str, "What it was read for."] = ""


@record
class GateResult:
    """A row of Validation History."""

    gate: Annotated[str, "The gate's name."]
    status: Annotated[GateStatus, "How it ended."]
    time: Annotated[str, "Local time of day, HH:MM."] = ""
    notes: Annotated[str, "What was found."] = ""


@record
class Ledger:
    """The running account one session keeps of itself."""

    updated: Annotated[datetime | None, "Time of the last save; every save sets it."] = None
    session_id: Annotated[str | None, "The session, opaque."] = None
    platform: Annotated[str | None, "The host the agent runs in."] = None
    bound_track: Annotated[str | None, "The track the session works on."] = None
    bound_bead: Annotated[str | None, "The task the session has claimed."] = None
    mode: Annotated[Mode | None, "Single or multi agent; does not change during a session."] = None
    mode_locked_at: Annotated[datetime | None, "When the mode was locked."] = None
    current_tasks: Annotated[tuple[str, ...], "Tasks claimed together."] = ()
    tdd_phase: Annotated[TddPhase | None, "Phase of the test-first cycle."] = None
    heartbeat: Annotated[datetime | None, "Last sign of life."] = None
    validation: Annotated[Validation | None, "State of the validation gates."] = None
    journal_seq: Annotated[int | None, "The last line of the journal that it shows."] = None
    title: Annotated[str, "The document's title."] = "Session Ledger"
    task_bead: Annotated[str | None, "`bead:` under Active Task."] = None
    task_track: Annotated[str | None, "`track:` under Active Task."] = None
    goal: Annotated[str, "What the session is to achieve, in one or two sentences."] = ""
    done: Annotated[tuple[str, ...], "What is finished."] = ()
    now: Annotated[str, "The one thing being done."] = ""
    next: Annotated[tuple[str, ...], "What comes after, in order."] = ()
    decisions: Annotated[tuple[LedgerDecision, ...], "Choices with their reasons."] = ()
    branch: Annotated[str, "The git branch."] = ""
    modified: Annotated[tuple[str, ...], "Files changed in this session."] = ()
    read: Annotated[tuple[ReadFile, ...], "Files read in this session."] = ()
    questions: Annotated[tuple[str, ...], "What is open."] = ()
    gate_history: Annotated[tuple[GateResult, ...], "Every gate event, oldest first."] = ()
    unknown: Annotated[tuple[Unknown, ...], "What no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


_UPDATED: Final = instant_key("updated", required=True)
_SESSION_ID: Final = text_key("session_id", required=True)
_PLATFORM: Final = text_key("platform", required=True)
_TRACK: Final = text_key("bound_track", keep_empty=True)
_BEAD: Final = text_key("bound_bead", keep_empty=True)
_MODE: Final = choice_key("mode", Mode)
_LOCKED: Final = instant_key("mode_locked_at")
_TASKS: Final = texts_key("current_tasks")
_TDD: Final = choice_key("tdd_phase", TddPhase, keep_empty=True)
_HEARTBEAT: Final = instant_key("heartbeat")
_VALIDATION: Final = Key("validation", read_block, write_block, Block())
_SEQ: Final = count_key("journal_seq")
_FORMAT: Final = count_key("format")


class _ActiveTask(NamedTuple):
    bead: str | None
    track: str | None


_TASK_BEAD: Final = line_key("bead", keep_empty=True)
_TASK_TRACK: Final = line_key("track", keep_empty=True)


def _make_task(values: Mapping[str, object]) -> _ActiveTask:
    return _ActiveTask(_TASK_BEAD.of(values), _TASK_TRACK.of(values))


def _hold_task(task: _ActiveTask) -> tuple[HeldKey, ...]:
    return _TASK_BEAD.holds(task.bead), _TASK_TRACK.holds(task.track)


def _read_decision(cells: list[str]) -> LedgerDecision:
    return LedgerDecision(decision=cells[0], reasoning=cells[1], when=cells[2])


def _read_gate(cells: list[str]) -> GateResult:
    word = cells[1].split()[-1] if cells[1] else ""
    status = read_choice(word, GateStatus)
    return GateResult(gate=cells[0], status=status, time=cells[2], notes=cells[3])


def _write_gate(row: GateResult) -> tuple[str, ...]:
    return row.gate, f"{dict(_ICONS)[row.status]} {row.status.value}", row.time, row.notes


def _read_path(text: str) -> str:
    match = _PATH.fullmatch(text)
    return match["path"] if match else text


def _write_path(path: str) -> str:
    """Put a path in as many ticks as it needs; one that no ticks can hold stands without."""
    longest = max((len(run) for run in _TICKS.findall(path)), default=0)
    if "\n" in path or longest >= _MAX_TICKS:
        return path
    return f"{'`' * (longest + 1)} {path} {'`' * (longest + 1)}" if longest else f"`{path}`"


def _read_read(text: str) -> ReadFile:
    ticked = _PATH.match(text)
    rest = text[ticked.end() :] if ticked else ""
    if ticked and (not rest or rest.startswith(" - ")):
        return ReadFile(path=ticked["path"], reason=rest[3:].strip())
    path, _, reason = text.partition(" - ")
    return ReadFile(path=path.strip(), reason=reason.strip())


def _write_read(one: ReadFile) -> str:
    return f"{_write_path(one.path)} - {one.reason}" if one.reason else _write_path(one.path)


_TEXTS: Final[ListOf[str]] = ListOf(str, str)
_ACTIVE_TASK: Final = Place(
    "Active Task",
    Entries((_TASK_BEAD, _TASK_TRACK), _make_task, _hold_task),
    "## Active Task",
    "\n\n",
)
_GOAL: Final = Place("Goal", Paragraph(), "## Goal", "\n\n")
_STATE: Final = Place("State", Heading(), "## State")
_DONE: Final = Place("State/Done", _TEXTS, "### Done")
_NOW: Final = Place("State/Now", ListOf(str, str, bare=True), "### Now")
_NEXT: Final = Place("State/Next", _TEXTS, "### Next")
_DECISIONS: Final = Place(
    "Key Decisions",
    TableOf(
        ("Decision", "Reasoning", "When"), _read_decision, lambda one: (one.decision, one.reasoning, one.when)
    ),
    "## Key Decisions",
    "\n\n",
)
_WORKING_SET: Final = Place("Working Set", Heading(), "## Working Set")
_BRANCH: Final = Place("Working Set/Branch", Line(str, str, ""), "**Branch:**", " ")
_MODIFIED: Final = Place("Working Set/Modified", ListOf(_read_path, _write_path), "**Modified:**")
_READ: Final = Place("Working Set/Read", ListOf(_read_read, _write_read), "**Read:**")
_QUESTIONS: Final = Place("Open Questions", _TEXTS, "## Open Questions", "\n\n")
_HISTORY: Final = Place(
    "Validation History",
    TableOf(("Gate", "Status", "Time", "Notes"), _read_gate, _write_gate),
    "## Validation History",
    "\n\n",
)

SHAPE: Final = Shape(
    name="ledger",
    keys=(
        _UPDATED,
        _SESSION_ID,
        _PLATFORM,
        _TRACK,
        _BEAD,
        _MODE,
        _LOCKED,
        _TASKS,
        _TDD,
        _HEARTBEAT,
        _VALIDATION,
        _SEQ,
        _FORMAT,
    ),
    outline=Outline(
        (
            _ACTIVE_TASK,
            _GOAL,
            _STATE,
            _DONE,
            _NOW,
            _NEXT,
            _DECISIONS,
            _WORKING_SET,
            _BRANCH,
            _MODIFIED,
            _READ,
            _QUESTIONS,
            _HISTORY,
        )
    ),
    title="Session Ledger",
)


def parse_ledger(text: str) -> Ledger:
    """Read a ledger; nothing is lost, and what is wrong is in `problems`.

    Raises `FormatError` when the text is too large or newer than this reader.
    """
    found = read_document(text, SHAPE)
    refuse_unreadable(text, found.key(_FORMAT), VERSION, SHAPE.name)
    nows = found.place(_NOW)
    bead, track = found.place(_ACTIVE_TASK)
    validation, others = found.key(_VALIDATION)
    inside = tuple(Unknown(place=IN_VALIDATION, text=text) for text in others)
    return Ledger(
        updated=found.key(_UPDATED),
        session_id=found.key(_SESSION_ID),
        platform=found.key(_PLATFORM),
        bound_track=found.key(_TRACK),
        bound_bead=found.key(_BEAD),
        mode=found.key(_MODE),
        mode_locked_at=found.key(_LOCKED),
        current_tasks=found.key(_TASKS),
        tdd_phase=found.key(_TDD),
        heartbeat=found.key(_HEARTBEAT),
        validation=validation,
        journal_seq=found.key(_SEQ),
        title=found.body.title,
        task_bead=bead,
        task_track=track,
        goal=found.place(_GOAL),
        done=found.place(_DONE),
        now=nows[0] if nows else "",
        next=nows[1:] + found.place(_NEXT),
        decisions=found.place(_DECISIONS),
        branch=found.place(_BRANCH),
        modified=found.place(_MODIFIED),
        read=found.place(_READ),
        questions=found.place(_QUESTIONS),
        gate_history=found.place(_HISTORY),
        unknown=found.keys.unknown + inside + found.body.unknown,
        problems=tuple(sorted([*found.problems, *_judge(text, found)], key=lambda one: one.line)),
        source=text,
    )


def _judge(text: str, found: Found) -> Iterator[Problem]:
    """Find what is readable and still wrong."""
    platform = found.key(_PLATFORM)
    if platform is not None and platform not in PLATFORMS:
        line = found.line_of(text, "platform")
        if _ALTERNATIVES.search(platform):
            yield warning(
                line, "platform", f"gives alternatives: {platform[:40]}", "write the one it runs in"
            )
        else:
            hint = "use one of " + ", ".join(sorted(PLATFORMS))
            yield warning(line, "platform", f"is {platform[:40]}", hint)
    if len(found.place(_NOW)) > 1:
        hint = "keep one; the others belong under Next"
        line = heading_line(text, "Now")
        yield warning(line, "State/Now", "has more than one item", hint, fixable=True)
    for name, mine, other in (("bead", 0, _BEAD), ("track", 1, _TRACK)):
        shown = found.place(_ACTIVE_TASK)[mine]
        if shown is not None and found.key(other) is not None and shown != found.key(other):
            line = found.line_of(text, name)
            yield warning(line, "Active Task", f"{name} differs from {other.name}", "the front matter wins")
    if found.key(_TASKS) and found.key(_BEAD) is None:
        line = found.line_of(text, "current_tasks")
        yield warning(
            line, "current_tasks", "is set although bound_bead is null", "closing a task clears both"
        )
    yield from _judge_gates(text, found)
    yield from _judge_times(text, found)


def _judge_gates(text: str, found: Found) -> Iterator[Problem]:
    """Find gates that are no gates, and those listed as passed that did not pass."""
    validation = found.key(_VALIDATION).validation or Validation()
    line = found.line_of(text, "validation")
    history = found.place(_HISTORY)
    for gate in (*validation.gates_passed, *((validation.current_gate,) if validation.current_gate else ())):
        if gate not in GATES:
            yield warning(line, "validation", f"names no gate: {gate[:40]}", "gates are " + ", ".join(GATES))
    for gate in validation.gates_passed:
        latest = next((row.status for row in reversed(history) if row.gate == gate), GateStatus.PASS)
        if latest is not GateStatus.PASS:
            shown = f"lists {gate[:40]} as passed, but its last result is {latest.value}"
            yield warning(line, "validation", shown, "only a pass counts as passed")


def _judge_times(text: str, found: Found) -> Iterator[Problem]:
    """Find times of day that are none; they are kept as they are."""
    times = [(_DECISIONS.name, one.when) for one in found.place(_DECISIONS)]
    times += [(_HISTORY.name, row.time) for row in found.place(_HISTORY)]
    for name, time in times:
        if time and parse_clock(time) is None:
            line = heading_line(text, name, time)
            yield warning(line, name, f"has a time that is not HH:MM: {time[:40]}", "write it like 09:05")


def heading_line(text: str, title: str, value: str = "") -> int:
    """Return the line of the first heading with this title, or of `value` below it; 1 when there is none."""
    heading = re.compile(rf"^#{{2,6}}[ \t]+{re.escape(title)}\b", re.IGNORECASE | re.MULTILINE)
    match = heading.search(text)
    if match is None:
        return 1
    return line_at(text, max(match.start(), text.find(value, match.start())))


def _content(ledger: Ledger) -> Content:
    others = tuple(one.text for one in ledger.unknown if one.place == IN_VALIDATION)
    return Content(
        title=ledger.title,
        keys=(
            _UPDATED.holds(ledger.updated),
            _SESSION_ID.holds(ledger.session_id),
            _PLATFORM.holds(ledger.platform),
            _TRACK.holds(ledger.bound_track),
            _BEAD.holds(ledger.bound_bead),
            _MODE.holds(ledger.mode),
            _LOCKED.holds(ledger.mode_locked_at),
            _TASKS.holds(ledger.current_tasks),
            _TDD.holds(ledger.tdd_phase),
            _HEARTBEAT.holds(ledger.heartbeat),
            _VALIDATION.holds(Block(ledger.validation, others)),
            _SEQ.holds(ledger.journal_seq),
        ),
        places=(
            _ACTIVE_TASK.holds(_ActiveTask(ledger.task_bead, ledger.task_track)),
            _GOAL.holds(ledger.goal),
            _STATE.holds(None),
            _DONE.holds(ledger.done),
            _NOW.holds((ledger.now,) if ledger.now else ()),
            _NEXT.holds(ledger.next),
            _DECISIONS.holds(ledger.decisions),
            _WORKING_SET.holds(None),
            _BRANCH.holds(ledger.branch),
            _MODIFIED.holds(ledger.modified),
            _READ.holds(ledger.read),
            _QUESTIONS.holds(ledger.questions),
            _HISTORY.holds(ledger.gate_history),
        ),
        unknown=tuple(one for one in ledger.unknown if one.place != IN_VALIDATION),
    )


def _write(ledger: Ledger) -> str:
    return write_document(SHAPE, _content(ledger))


def _revise(ledger: Ledger, source: str, fix: frozenset[str]) -> str:
    return revise_document(source, SHAPE, _content(ledger), fix)


def render_ledger(ledger: Ledger) -> str:
    """Write a ledger; one that was read keeps every byte that its values did not change."""
    return render_document(ledger, parse_ledger, _write, _revise)


def fix_ledger(ledger: Ledger) -> str:
    """Write a ledger that was read, with what is safe to repair repaired."""
    return fix_document(ledger, _revise)
