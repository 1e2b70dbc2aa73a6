"""The state of a change, `changes/<name>/state.md`: a person approves and sets the mode in it (S3, C105)."""

from collections.abc import Iterator
from enum import StrEnum
from functools import partial
from types import MappingProxyType
from typing import Annotated, Final

from passdown import layout
from passdown.core.documents.documents import BareDocumentFormat, heading_line
from passdown.core.documents.fields import in_section, read_choice
from passdown.core.documents.key_value import Pair, read_pair, write_pair
from passdown.core.documents.places import ListOf, SingleLine
from passdown.core.problems import Problem, Unknown, warning
from passdown.records import field, record, replace

VERSION: Final = 1
TITLE: Final = "SDD State: "
"""The start of the title; the change's name follows."""

STATUS: Final = "Status"
REQUIRED: Final = "Required"
DRAFT: Final = "draft"
APPROVED: Final = "approved"
PENDING: Final = "pending"
COMPLETE: Final = "complete"
NOT_READY: Final = "not-ready"


class ChangePhase(StrEnum):
    """The progress of a change."""

    INITIALIZED = "initialized"
    IDEATION = "ideation"
    PROPOSAL = "proposal"
    SPECS = "specs"
    DISCOVERY = "discovery"
    TASKS = "tasks"
    PLANNING = "planning"
    IMPLEMENTING = "implementing"
    RECONCILING = "reconciling"
    FINISHED = "finished"


class Lane(StrEnum):
    """The phases that a change goes through."""

    FULL = "full"
    BUG = "bug"
    QUICK = "quick"


class RunMode(StrEnum):
    """Whether each phase waits for a person, or continues automatically after the approval."""

    MANUAL = "manual"
    AUTO = "auto"


_ALIASES: Final = MappingProxyType(
    {
        "init": ChangePhase.INITIALIZED,
        "brainstorm": ChangePhase.IDEATION,
        "plan": ChangePhase.PLANNING,
        "implement": ChangePhase.IMPLEMENTING,
        "reconcile": ChangePhase.RECONCILING,
        "finish": ChangePhase.FINISHED,
    }
)
"""Other names of phases, used by ledgers and commands (C40)."""


def read_change_phase(text: str) -> ChangePhase:
    """Read a phase by any of its names; raise `Malformed` if it has none."""
    return _ALIASES.get(text.casefold()) or read_choice(text, ChangePhase)


_PAIRS: Final = ListOf(read_pair, write_pair)
_WORD: Final = SingleLine(str, str, "")
_PHASE: Final[SingleLine[ChangePhase | None]] = SingleLine(read_change_phase, str, None)
_LANE: Final[SingleLine[Lane | None]] = SingleLine(partial(read_choice, choices=Lane), str, None)
_MODE: Final[SingleLine[RunMode | None]] = SingleLine(partial(read_choice, choices=RunMode), str, None)


@record
class ChangeState:
    """The progress of a change, and what a person has approved."""

    title: Annotated[str, "`SDD State: <name>`."] = ""
    phase: Annotated[ChangePhase | None, "How far the change is.", in_section("Phase", _PHASE)] = None
    lane: Annotated[Lane | None, "Which phases it goes through.", in_section("Lane", _LANE)] = None
    run_mode: Annotated[
        RunMode | None, "Whether each phase waits for a person.", in_section("Run Mode", _MODE)
    ] = None
    current_task: Annotated[str, "The current task, like 01.", in_section("Current Task", _WORD)] = ""
    proposal: Annotated[
        tuple[Pair, ...], "`Status`: draft, or approved by a person.", in_section("Proposal", _PAIRS)
    ] = ()
    reconcile: Annotated[
        tuple[Pair, ...], "`Required`, and `Status`: pending or complete.", in_section("Reconcile", _PAIRS)
    ] = ()
    pointers: Annotated[
        tuple[Pair, ...],
        "Where the documents of the change are.",
        in_section("Pointers", _PAIRS, required=False),
    ] = ()
    taxonomy_decisions: Annotated[
        str, "Decisions about names and places.", in_section("Taxonomy Decisions", required=False)
    ] = ""
    architecture_decisions: Annotated[
        str, "Decisions about the design.", in_section("Architecture Decisions", required=False)
    ] = ""
    finish_status: Annotated[
        str, "not-ready or complete.", in_section("Finish Status", _WORD, required=False)
    ] = ""
    notes: Annotated[str, "Anything else.", in_section("Notes", required=False)] = ""
    unknown: Annotated[tuple[Unknown, ...], "Text that no field holds, verbatim."] = ()
    problems: tuple[Problem, ...] = field(default=(), compare=False)
    source: str | None = field(default=None, compare=False)

    @property
    def is_approved(self) -> bool:
        """Whether a person has approved the proposal."""
        return status_of(self.proposal) == APPROVED

    @property
    def is_reconciled(self) -> bool:
        """Whether the documentation matches what was done."""
        return status_of(self.reconcile) == COMPLETE


def status_of(pairs: tuple[Pair, ...]) -> str:
    """Return the status that a section states, in lower case; an empty string if it states none."""
    found = [pair.value for pair in pairs if pair.key.casefold() == STATUS.casefold()]
    return found[-1].strip().casefold() if found else ""


def with_status(pairs: tuple[Pair, ...], status: str) -> tuple[Pair, ...]:
    """Return a section with another status."""
    kept = tuple(
        replace(pair, value=status) if pair.key.casefold() == STATUS.casefold() else pair for pair in pairs
    )
    return kept if status_of(kept) == status else (*kept, Pair(key=STATUS, value=status))


def make_change_state(name: str, lane: Lane, mode: RunMode) -> ChangeState:
    """Return the state of a new change."""
    return ChangeState(
        title=f"{TITLE}{name}",
        phase=ChangePhase.INITIALIZED if lane is Lane.FULL else ChangePhase.PROPOSAL,
        lane=lane,
        run_mode=mode,
        proposal=(Pair(key=STATUS, value=DRAFT),),
        reconcile=(Pair(key=REQUIRED, value="yes"), Pair(key=STATUS, value=PENDING)),
        pointers=(
            Pair(key="Proposal", value=f"`{layout.CHANGE_PROPOSAL}`"),
            Pair(key="Specs", value=f"`{layout.CHANGE_SPECS}/**`"),
            Pair(key="Discovery", value=f"`{layout.CHANGE_THOUGHTS}/**`"),
            Pair(key="Tasks", value=f"`{layout.CHANGE_TASKS}`"),
            Pair(key="Plans", value=f"`{layout.CHANGE_PLANS}/**`"),
        ),
        finish_status=NOT_READY,
    )


def _judge(text: str, state: ChangeState) -> Iterator[Problem]:
    """Find unknown statuses."""
    known = (
        ("Proposal", state.proposal, (DRAFT, APPROVED)),
        ("Reconcile", state.reconcile, (PENDING, COMPLETE)),
    )
    for name, pairs, choices in known:
        status = status_of(pairs)
        if pairs and status not in choices:
            hint = f"write `- {STATUS}: ` and one of {', '.join(choices)}"
            yield warning(heading_line(text, name), name, f"has the unknown status {status[:40]!r}", hint)


FORMAT: Final = BareDocumentFormat(ChangeState, "change state", VERSION, _judge)
parse_change_state: Final = FORMAT.parse
render_change_state: Final = FORMAT.render
fix_change_state: Final = FORMAT.fix
