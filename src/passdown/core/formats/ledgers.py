"""The live ledger of one session: `conductor/sessions/active/LEDGER.md` (S0, R1 to R32)."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from passdown.core.documents.documents import DocumentFormat, heading_line, key_line
from passdown.core.documents.fields import in_entry, in_key, in_label, in_section, in_sections, read_choice
from passdown.core.documents.places import ListOf, TableOf, rows_of
from passdown.core.facts import GATES, ICONS, GateStatus
from passdown.core.kinds import HEADINGS
from passdown.core.lazy_regex import pattern
from passdown.core.problems import Problem, Unknown, warning
from passdown.core.times import parse_clock
from passdown.records import field, record

VERSION: Final = 1
GENERIC: Final = "generic"
"""The platform of a session whose host is unknown."""
PLATFORMS: Final = frozenset({"claude", "codex", "copilot", "gemini", "opencode", "cursor", "amp", GENERIC})


class Mode(StrEnum):
    """Single agent or multiple agents; set at the start and then locked."""

    SINGLE = "SA"
    MULTI = "MA"


class TddPhase(StrEnum):
    """The phase of the test-first cycle."""

    RED = "RED"
    GREEN = "GREEN"
    REFACTOR = "REFACTOR"


_MAX_TICKS: Final = 8
_PATH: Final = pattern(
    rf"(?P<ticks>`{{1,{_MAX_TICKS}}}+)(?P<pad> ?)(?P<path>(?:(?!(?P=ticks))[^\n])+?)(?P=pad)(?P=ticks)(?!`)"
)
_TICKS: Final = pattern(r"`+")
_ALTERNATIVES: Final = pattern(r"[|,/]| or ")


@record
class Validation:
    """The state of the validation gates of the bound track."""

    gates_passed: Annotated[
        tuple[str, ...], "Gates passed for this track; a warning does not count.", in_key()
    ] = ()
    current_gate: Annotated[str | None, "The gate being validated.", in_key()] = None
    retries: Annotated[int, "Retries of the current gate; reset to 0 when it passes.", in_key()] = 0
    last_failure: Annotated[str | None, "The reason for the last failure of a gate.", in_key()] = None


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
    reason: Annotated[str, "Why it was read."] = ""


@record
class GateResult:
    """A row of Validation History."""

    gate: Annotated[str, "The gate's name."]
    status: Annotated[GateStatus, "How it ended."]
    time: Annotated[str, "Local time of day, HH:MM."] = ""
    notes: Annotated[str, "What was found."] = ""


def _read_gate(cells: list[str]) -> GateResult:
    word = cells[1].split()[-1] if cells[1] else ""
    status = read_choice(word, GateStatus)
    return GateResult(gate=cells[0], status=status, time=cells[2], notes=cells[3])


def _write_gate(row: GateResult) -> tuple[str, ...]:
    return row.gate, f"{ICONS[row.status]} {row.status.value}", row.time, row.notes


def _read_path(text: str) -> str:
    match = _PATH.fullmatch(text)
    return match["path"] if match else text


def _write_path(path: str) -> str:
    """Put a path into as many backticks as it needs, or write it plain if no number of them works."""
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


@record
class Ledger:
    """The running record that one session keeps of itself."""

    updated: Annotated[datetime | None, "Time of the last save.", in_key(required=True)] = None
    session_id: Annotated[str | None, "The session's id: ours, or the user's.", in_key(required=True)] = None
    platform: Annotated[str | None, "The host the agent runs in.", in_key(required=True)] = None
    bound_track: Annotated[str | None, "The track the session works on.", in_key(keep_empty=True)] = None
    bound_bead: Annotated[str | None, "The task the session has claimed.", in_key(keep_empty=True)] = None
    mode: Annotated[Mode | None, "Single or multi agent; does not change during a session.", in_key()] = None
    mode_locked_at: Annotated[datetime | None, "When the mode was locked.", in_key()] = None
    current_tasks: Annotated[tuple[str, ...], "Tasks claimed together.", in_key()] = ()
    unfenced: Annotated[
        tuple[str, ...], "Tasks claimed or closed only in the tracker, because the engine was away.", in_key()
    ] = ()
    tdd_phase: Annotated[TddPhase | None, "Phase of the test-first cycle.", in_key(keep_empty=True)] = None
    heartbeat: Annotated[datetime | None, "Last heartbeat.", in_key()] = None
    validation: Annotated[Validation | None, "State of the validation gates.", in_key()] = None
    journal_seq: Annotated[int | None, "The last line of the journal that is included.", in_key()] = None
    title: Annotated[str, "The document's title."] = "Session Ledger"
    task_bead: Annotated[str | None, "`bead:` under Active Task.", in_entry("Active Task", "bead")] = None
    task_track: Annotated[str | None, "`track:` under Active Task.", in_entry("Active Task", "track")] = None
    goal: Annotated[str, "What the session should achieve, in one or two sentences.", in_section("Goal")] = ""
    done: Annotated[tuple[str, ...], "Finished work.", in_section("State/Done")] = ()
    now: Annotated[
        str, "The current step.", in_section("State/Now", ListOf(str, str, bare=True), spills="next")
    ] = ""
    next: Annotated[tuple[str, ...], "The next steps, in order.", in_section("State/Next")] = ()
    decisions: Annotated[
        tuple[LedgerDecision, ...],
        "Decisions with their reasons.",
        in_section("Key Decisions", rows_of(LedgerDecision, "Decision", "Reasoning", "When")),
    ] = ()
    branch: Annotated[str, "The git branch.", in_label("Working Set/Branch")] = ""
    modified: Annotated[
        tuple[str, ...],
        "Files changed in this session.",
        in_label("Working Set/Modified", ListOf(_read_path, _write_path)),
    ] = ()
    read: Annotated[
        tuple[ReadFile, ...],
        "Files read in this session.",
        in_label("Working Set/Read", ListOf(_read_read, _write_read)),
    ] = ()
    questions: Annotated[tuple[str, ...], "Open questions.", in_section("Open Questions")] = ()
    gate_history: Annotated[
        tuple[GateResult, ...],
        "Every gate result, oldest first.",
        in_section(
            "Validation History", TableOf(("Gate", "Status", "Time", "Notes"), _read_gate, _write_gate)
        ),
    ] = ()
    more: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...], "Facts of further kinds, by heading.", in_sections(HEADINGS)
    ] = ()
    unknown: Annotated[tuple[Unknown, ...], "Text that no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)


def _judge(text: str, ledger: Ledger) -> Iterator[Problem]:
    """Find problems in values that could be read."""
    platform = ledger.platform
    if platform is not None and platform not in PLATFORMS:
        line = key_line(text, "platform")
        if _ALTERNATIVES.search(platform):
            yield warning(line, "platform", f"lists alternatives: {platform[:40]}", "name one")
        else:
            hint = "use one of " + ", ".join(sorted(PLATFORMS))
            yield warning(line, "platform", f"is not a known platform: {platform[:40]}", hint)
    bead = ("bead", ledger.task_bead, ledger.bound_bead)
    for name, shown, bound in (bead, ("track", ledger.task_track, ledger.bound_track)):
        if shown is not None and bound is not None and shown != bound:
            line = key_line(text, name)
            yield warning(line, "Active Task", f"{name} differs from bound_{name}", "the front matter wins")
    if ledger.current_tasks and ledger.bound_bead is None:
        line, shown = key_line(text, "current_tasks"), "is set although bound_bead is null"
        yield warning(line, "current_tasks", shown, "closing a task clears both")
    yield from _judge_gates(text, ledger)
    yield from _judge_times(text, ledger)


def _judge_gates(text: str, ledger: Ledger) -> Iterator[Problem]:
    """Find unknown gates, and gates listed as passed that did not pass."""
    validation = ledger.validation or Validation()
    line = key_line(text, "validation")
    for gate in (*validation.gates_passed, *((validation.current_gate,) if validation.current_gate else ())):
        if gate not in GATES:
            hint = "use one of " + ", ".join(GATES)
            yield warning(line, "validation", f"names an unknown gate: {gate[:40]}", hint)
    last = {row.gate: row.status for row in ledger.gate_history}
    for gate in validation.gates_passed:
        latest = last.get(gate, GateStatus.PASS)
        if latest is not GateStatus.PASS:
            shown = f"lists {gate[:40]} as passed, but its last result is {latest.value}"
            yield warning(line, "validation", shown, "only PASS counts as passed")


def _judge_times(text: str, ledger: Ledger) -> Iterator[Problem]:
    """Find invalid times of day; they are kept unchanged."""
    times = [("Key Decisions", one.when) for one in ledger.decisions]
    times += [("Validation History", row.time) for row in ledger.gate_history]
    for name, time in times:
        if time and parse_clock(time) is None:
            line = heading_line(text, name, time)
            yield warning(line, name, f"has a time that is not HH:MM: {time[:40]}", "write it like 09:05")


FORMAT: Final = DocumentFormat(Ledger, "ledger", VERSION, _judge, title="Session Ledger")
parse_ledger: Final = FORMAT.parse
render_ledger: Final = FORMAT.render
fix_ledger: Final = FORMAT.fix
