"""Loops: the ledgers of a change, what each needs, which comes next, and how often an agent may revise.

1. Each phase of a change has its loop; plans and implementations have one for each task (R144).
2. What a loop needs before it is opened follows the lanes of the seed. Only a person approves a proposal,
   in auto mode too.
3. A change continues in the loop of its phase; without a state, its ledgers tell the phase. A new change and
   an implementation do not run by themselves.
4. A change ends when it is reconciled and no feedback waits; its ledgers stay.
5. Before a turn an agent may revise its work: by judgement in manual mode, three times in auto mode (R151 to
   R153). An implementation may be validated and fixed 20 times in auto mode, and once in manual mode.
"""

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple

from passdown.core.formats.change_states import ChangePhase, ChangeState, Lane, RunMode, make_change_state
from passdown.core.formats.loops import IMPLEMENTATION, SECTIONS
from passdown.core.lazy_regex import pattern
from passdown.records import record, replace


class LoopKind(StrEnum):
    """The kinds of loop (1)."""

    IDEATION = "ideation"
    PROPOSAL = "proposal"
    SPECS = "specs"
    DISCOVERY = "discovery"
    TASKS = "tasks"
    PLAN = "plan"
    IMPLEMENT = "implement"
    RECONCILE = "reconcile"


class LoopName(NamedTuple):
    """The name of a loop: its kind, and the task if it is a plan or an implementation."""

    kind: LoopKind
    task: str = ""

    @property
    def text(self) -> str:
        """The name of its ledger, without the extension."""
        return f"{self.kind.value}-{self.task}" if self.task else self.kind.value

    @property
    def title(self) -> str:
        """The title of its ledger."""
        if self.kind is LoopKind.IMPLEMENT:
            return f"{IMPLEMENTATION}: Task {self.task}"
        return f"{self.kind.value.capitalize()} Loop" + (f": Task {self.task}" if self.task else "")


_PER_TASK: Final = frozenset({LoopKind.PLAN, LoopKind.IMPLEMENT})
_NAME: Final = pattern(r"([a-z]+)(?:-([0-9]{2,4}))?")
LOOPS: Final = ", ".join(f"{kind.value}-NN" if kind in _PER_TASK else kind.value for kind in LoopKind)
"""The names of all loops, for messages."""


def parse_loop_name(text: str) -> LoopName | None:
    """Read the name of a loop; None if there is no such loop."""
    match = _NAME.fullmatch(text)
    if match is None or match[1] not in {kind.value for kind in LoopKind}:
        return None
    kind = LoopKind(match[1])
    return LoopName(kind, match[2] or "") if (kind in _PER_TASK) is bool(match[2]) else None


# --- tasks ----------------------------------------------------------------------------------------


class TaskMark(NamedTuple):
    """A task of a change with its mark: a space if it is open, `-` in progress, `x` done."""

    number: str
    mark: str
    title: str


_TASK: Final = pattern(
    r"^(?:#{1,6}|[-*+])[ \t]+\[(?P<mark>[ xX-])\][ \t]+(?P<number>[0-9]{1,4})\b[:.)]?[ \t]*"
    r"(?P<title>[^\n]*)$",
    re.MULTILINE,
)
OPEN_MARK: Final = " "
AT_WORK_MARK: Final = "-"
DONE_MARK: Final = "x"


def parse_tasks(text: str) -> tuple[TaskMark, ...]:
    """Read the tasks of a `tasks.md`, like `## [ ] 01: Title`."""
    return tuple(
        TaskMark(match["number"].zfill(2), match["mark"].lower(), match["title"].strip())
        for match in _TASK.finditer(text)
    )


def mark_task(text: str, number: str, mark: str) -> str:
    """Return the text with the mark of a task changed; everything else stays the same."""
    for match in _TASK.finditer(text):
        if match["number"].zfill(2) == number:
            at = match.start("mark")
            return f"{text[:at]}{mark}{text[at + 1 :]}"
    return text


# --- what a loop needs ----------------------------------------------------------------------------


@record
class ChangeFacts:
    """The state, documents and ledgers of a change that exist."""

    name: Annotated[str, "The name of the change."]
    state: Annotated[ChangeState | None, "Its state; None if there is no such change."] = None
    has_specs: Annotated[bool, "Whether anything is in `specs/`."] = False
    tasks: Annotated[tuple[TaskMark, ...], "Its tasks."] = ()
    plans: Annotated[frozenset[str], "The tasks that have a plan."] = frozenset()
    loops: Annotated[frozenset[str], "The loops that have a ledger."] = frozenset()
    succeeded: Annotated[frozenset[str], "The tasks whose implementation ended with SUCCESS."] = frozenset()

    @property
    def lane(self) -> Lane:
        """Its lane; full if its state names none."""
        return (self.state and self.state.lane) or Lane.FULL

    @property
    def mode(self) -> RunMode:
        """Its mode; manual if its state names none."""
        return (self.state and self.state.run_mode) or RunMode.MANUAL

    @property
    def phase(self) -> ChangePhase:
        """Its phase; the phase of its last ledger if its state names none."""
        return (self.state and self.state.phase) or self._stage[0]

    @property
    def task(self) -> str:
        """The task in progress, from its state or its last ledger; empty if neither names one."""
        stated = self.state is not None and self.state.phase is not None
        return (self.state.current_task if self.state else "") or ("" if stated else self._stage[1])

    @property
    def _stage(self) -> tuple[ChangePhase, str]:
        last = find_last(self.loops)
        return (PHASE_OF[last.kind], last.task) if last else (ChangePhase.INITIALIZED, "")

    @property
    def is_approved(self) -> bool:
        """Whether a person approved its proposal."""
        return self.state is not None and self.state.is_approved


def begin_state(facts: ChangeFacts, lane: Lane | None = None, mode: RunMode | None = None) -> ChangeState:
    """Return a state for a change that has none: a new one, or one that matches its ledgers."""
    state = make_change_state(facts.name, lane or facts.lane, mode or facts.mode)
    if find_last(facts.loops) is None:
        return state
    return replace(state, phase=facts.phase, current_task=facts.task)


class LoopRefusal(NamedTuple):
    """Why a loop cannot be opened, and what to do instead."""

    problem: str
    hint: str


_ORDER: Final = tuple(ChangePhase)
PHASE_OF: Final = MappingProxyType(
    {
        LoopKind.IDEATION: ChangePhase.IDEATION,
        LoopKind.PROPOSAL: ChangePhase.PROPOSAL,
        LoopKind.SPECS: ChangePhase.SPECS,
        LoopKind.DISCOVERY: ChangePhase.DISCOVERY,
        LoopKind.TASKS: ChangePhase.TASKS,
        LoopKind.PLAN: ChangePhase.PLANNING,
        LoopKind.IMPLEMENT: ChangePhase.IMPLEMENTING,
        LoopKind.RECONCILE: ChangePhase.RECONCILING,
    }
)
"""The phase in which each loop runs (C40)."""
_NOT_IN_SHORT_LANES: Final = frozenset({LoopKind.IDEATION, LoopKind.SPECS, LoopKind.DISCOVERY})
BEGINNINGS: Final = frozenset({LoopKind.IDEATION, LoopKind.PROPOSAL})
"""The loops with which a change can begin."""


def find_last(loops: Iterable[str]) -> LoopName | None:
    """Return the loop that a change reached last; None if none of the ledgers is a known loop.

    Tasks are planned and implemented one after the other, so only the ledgers of the last task count.
    """
    found = [name for loop in loops if (name := parse_loop_name(loop)) is not None]
    return max(found, key=_place, default=None)


def sort_loops(loops: Iterable[str]) -> list[str]:
    """Return loops in the order of a change; unknown loops come last, sorted by name."""
    names = {loop: parse_loop_name(loop) for loop in loops}
    known = {loop: _place(name) for loop, name in names.items() if name is not None}
    return [*sorted(known, key=known.__getitem__), *sorted(names.keys() - known.keys())]


def _place(one: LoopName) -> tuple[bool, int, int]:
    """Return the sort key of a loop within its change."""
    return one.kind is LoopKind.RECONCILE, int(one.task or 0), [*LoopKind].index(one.kind)


def refuse_other_way(facts: ChangeFacts, lane: Lane | None, mode: RunMode | None) -> LoopRefusal | None:
    """Return why a change cannot continue in a requested lane or mode; None if it can."""
    for section, wanted, own in (("Lane", lane, facts.lane), ("Run Mode", mode, facts.mode)):
        if wanted is not None and wanted is not own:
            problem = f"{facts.name} already exists, and its {section.lower()} is {own.value}"
            return LoopRefusal(problem, f"to change it, edit the {section} section of its state.md")
    return None


def find_refusal(loop: LoopName, facts: ChangeFacts, *, is_forced: bool = False) -> LoopRefusal | None:
    """Return why a loop cannot be opened or reopened now (2); None if it can."""
    kind = loop.kind
    if facts.state is None:
        return None
    refused = _refuse_change(kind, facts)
    if refused is not None:
        return refused
    if kind is LoopKind.IDEATION and _ORDER.index(facts.phase) > _ORDER.index(ChangePhase.PROPOSAL):
        problem = f"{facts.name} is in the phase {facts.phase.value}; its ideation is over"
        return LoopRefusal(problem, "open a new change for a new idea")
    if kind is LoopKind.TASKS:
        return _refuse_tasks(facts, is_forced=is_forced)
    return _refuse_task(loop, facts) if kind in _PER_TASK else _refuse_other(kind, facts)


def _refuse_change(kind: LoopKind, facts: ChangeFacts) -> LoopRefusal | None:
    """Return why the change itself forbids a loop: it is finished, has another lane, or is not approved."""
    name = facts.name
    if facts.phase is ChangePhase.FINISHED:
        hint = "open a new change, or ask a person to set an earlier phase in its state.md"
        return LoopRefusal(f"{name} is finished", hint)
    if facts.lane is not Lane.FULL and kind in _NOT_IN_SHORT_LANES:
        hint = f"to see its next loop: `passdown loop continue {name}`"
        return LoopRefusal(f"{name} is in the {facts.lane.value} lane, which has no {kind.value}", hint)
    if kind not in BEGINNINGS and not facts.is_approved:
        hint = f"to approve it, a person runs `passdown loop approve {name}`"
        return LoopRefusal(f"the proposal of {name} is not approved", hint)
    return None


def find_approval_refusal(facts: ChangeFacts) -> LoopRefusal | None:
    """Return why a proposal cannot be approved now; None if it can be or is already approved."""
    name = facts.name
    if facts.phase is ChangePhase.FINISHED:
        return LoopRefusal(f"{name} is finished", "open a new change")
    is_before = _ORDER.index(facts.phase) < _ORDER.index(ChangePhase.PROPOSAL)
    if is_before and LoopKind.PROPOSAL.value not in facts.loops:
        hint = f"write it first: `passdown loop open {name} proposal`"
        return LoopRefusal(f"{name} has no proposal yet", hint)
    return None


def _refuse_tasks(facts: ChangeFacts, *, is_forced: bool) -> LoopRefusal | None:
    at = _ORDER.index(facts.phase)
    if facts.lane is Lane.FULL and at < _ORDER.index(ChangePhase.DISCOVERY):
        hint = f"run it first: `passdown loop open {facts.name} discovery`"
        return LoopRefusal(f"{facts.name} has no discovery yet", hint)
    begun = [task.number for task in facts.tasks if task.mark != OPEN_MARK]
    if begun and not is_forced:
        hint = "ask the user; if they agree, add --force"
        return LoopRefusal(f"tasks of {facts.name} are in progress or done: {', '.join(begun)}", hint)
    return None


def _refuse_task(loop: LoopName, facts: ChangeFacts) -> LoopRefusal | None:
    task = next((one for one in facts.tasks if one.number == loop.task), None)
    if task is None:
        hint = "its tasks are " + (", ".join(one.number for one in facts.tasks) or "not written yet")
        return LoopRefusal(f"{facts.name} has no task {loop.task}", hint)
    if loop.kind is LoopKind.PLAN:
        others = [one.number for one in facts.tasks if one.mark == AT_WORK_MARK and one.number != loop.task]
        if others:
            return LoopRefusal(f"task {others[0]} of {facts.name} is in progress", "finish it first")
        return None
    if loop.task not in facts.plans:
        hint = f"write it first: `passdown loop open {facts.name} plan-{loop.task}`"
        return LoopRefusal(f"task {loop.task} of {facts.name} has no plan", hint)
    if task.mark != AT_WORK_MARK:
        hint = f"open its plan first: `passdown loop open {facts.name} plan-{loop.task}`"
        return LoopRefusal(f"task {loop.task} of {facts.name} is not in progress", hint)
    return None


def _refuse_other(kind: LoopKind, facts: ChangeFacts) -> LoopRefusal | None:
    name = facts.name
    if kind is LoopKind.DISCOVERY and not facts.has_specs:
        return LoopRefusal(f"{name} has no specs", f"write them first: `passdown loop open {name} specs`")
    left = [task.number for task in facts.tasks if task.mark != DONE_MARK]
    if kind is LoopKind.RECONCILE and (left or not facts.tasks):
        hint = "implement them first" if left else "write and implement its tasks first"
        problem = f"tasks of {name} are open: {', '.join(left)}" if left else f"{name} has no tasks yet"
        return LoopRefusal(problem, hint)
    return None


_MOST_NAMED: Final = 3


def find_finish_refusal(facts: ChangeFacts, waiting: Sequence[str]) -> LoopRefusal | None:
    """Return why a change cannot be finished now (4); None if it can. `waiting` names turns with feedback.

    A change can be finished when all tasks are done, the documentation is reconciled, and no feedback waits.
    """
    name = facts.name
    refused = find_refusal(LoopName(LoopKind.RECONCILE), facts)
    if refused is not None:
        return refused
    if facts.state is None or not facts.state.is_reconciled:
        hint = f"reconcile it first: `passdown loop append {name} reconcile TEXT --complete`"
        return LoopRefusal(f"{name} is not reconciled", hint)
    if waiting:
        more = len(waiting) - _MOST_NAMED
        named = ", ".join(waiting[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        hint = f"answer it first; `passdown loop continue {name}` shows it"
        return LoopRefusal(f"unanswered feedback: {named}", hint)
    return None


# --- where a change continues ---------------------------------------------------------------------


class LoopRoute(NamedTuple):
    """Where a change continues (3)."""

    loop: LoopName | None
    """The next loop; None if there is nothing to run."""
    is_run: bool
    """Whether an agent continues by itself; otherwise it only says what to do."""
    advice: str


def find_route(facts: ChangeFacts) -> LoopRoute:
    """Return where a change continues, by its phase; nothing is refused here."""
    name, phase = facts.name, facts.phase
    if phase is ChangePhase.FINISHED:
        return LoopRoute(None, is_run=False, advice=f"{name} is finished")
    if phase is ChangePhase.INITIALIZED:
        first = LoopName(LoopKind.IDEATION if facts.lane is Lane.FULL else LoopKind.PROPOSAL)
        advice = f"ask the user how to begin: `passdown loop open {name} {first.text}`"
        return LoopRoute(first, is_run=False, advice=advice)
    kind = next(kind for kind, one in PHASE_OF.items() if one is phase)
    at_work = [task.number for task in facts.tasks if task.mark == AT_WORK_MARK]
    loop = LoopName(kind, (facts.task or next(iter(at_work), "")) if kind in _PER_TASK else "")
    if phase is ChangePhase.IMPLEMENTING:
        return _route_implementation(loop, facts)
    if facts.state is not None and facts.state.is_reconciled:
        advice = f"{name} is reconciled; ask the user whether it is finished: `passdown loop finish {name}`"
        return LoopRoute(None, is_run=False, advice=advice)
    return LoopRoute(loop, is_run=True, advice=_advise(loop, facts))


def _route_implementation(loop: LoopName, facts: ChangeFacts) -> LoopRoute:
    """Return where an implementation continues; once it is done, the next task or the documentation."""
    marks = {task.number: task.mark for task in facts.tasks}
    is_done = marks[loop.task] == DONE_MARK if loop.task in marks else loop.task in facts.succeeded
    if not is_done:
        advice = f"implement the plan of task {loop.task or '?'}, then append its result to {loop.text}"
        return LoopRoute(loop, is_run=False, advice=advice)
    left = [number for number, mark in marks.items() if mark != DONE_MARK]
    following = LoopName(LoopKind.PLAN, left[0]) if left else LoopName(LoopKind.RECONCILE)
    advice = f"task {loop.task} is done; continue with `passdown loop open {facts.name} {following.text}`"
    return LoopRoute(following, is_run=False, advice=advice)


def _advise(loop: LoopName, facts: ChangeFacts) -> str:
    if loop.kind is LoopKind.TASKS:
        who = "the proposal" if facts.lane is not Lane.FULL else "specs and discovery"
        return f"break {who} down into tasks"
    if loop.kind is LoopKind.PROPOSAL and not facts.is_approved:
        return f"revise the proposal until a person runs `passdown loop approve {facts.name}`"
    return f"continue the {loop.text} loop"


def may_go_on(facts: ChangeFacts) -> bool:
    """Return whether an agent continues to the next phase without asking: in auto mode, after the approval.

    It stops before the documentation is reconciled, and before the change is finished.
    """
    is_before_end = _ORDER.index(facts.phase) <= _ORDER.index(ChangePhase.IMPLEMENTING)
    return facts.mode is RunMode.AUTO and facts.is_approved and is_before_end


# --- how often ------------------------------------------------------------------------------------

MOST_CYCLES: Final = 3
"""How often an agent may revise its work before a turn: a guideline in manual mode, a cap in auto mode."""
MOST_FIXES: Final = 20
"""How often an implementation may be validated and fixed in auto mode."""


class CycleVerdict(NamedTuple):
    """Whether an agent revised its work too often before a turn."""

    is_refused: bool = False
    text: str = ""


def judge_cycles(loop: LoopName, mode: RunMode, cycles: int) -> CycleVerdict:
    """Judge how often an agent revised its work before a turn (5)."""
    is_implementation = loop.kind is LoopKind.IMPLEMENT
    most = (MOST_FIXES if mode is RunMode.AUTO else 1) if is_implementation else MOST_CYCLES
    if cycles <= most:
        return CycleVerdict()
    what = "validations" if is_implementation else "internal cycles"
    text = f"{cycles} {what} exceed the limit of {most} in {mode.value} mode"
    return CycleVerdict(is_refused=mode is RunMode.AUTO, text=text)


# --- the report of an implementation --------------------------------------------------------------


class ImplementationReport(NamedTuple):
    """What the turn of an implementation reports (R156)."""

    result: str
    changes: tuple[tuple[str, str], ...] = ()
    """The changed files, each with its change."""
    validation: str = ""
    deviations: tuple[str, ...] = ()


def render_report(report: ImplementationReport) -> str:
    """Render the sections of an implementation, in the order of the seed."""
    rows = "".join(f"| {_cell(file)} | {_cell(change)} |\n" for file, change in report.changes)
    fence = "```"
    while fence in report.validation:
        fence += "`"
    texts = (
        f"| File | Change |\n|------|--------|\n{rows}".rstrip("\n"),
        f"{fence}bash\n{report.validation.strip(chr(10))}\n{fence}",
        "\n".join(f"- {' '.join(one.split())}" for one in report.deviations) or "- None",
        report.result,
    )
    return "\n\n".join(f"## {name}\n\n{text}" for name, text in zip(SECTIONS, texts, strict=True))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")
