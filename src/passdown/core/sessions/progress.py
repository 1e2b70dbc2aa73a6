"""How far the work of a session is: its phases, the state of the workflow, and what nobody has confirmed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from passdown.core.documents.fields import read_count
from passdown.core.facts import Fact, show_test
from passdown.core.formats.archives import ArchiveStatus
from passdown.core.formats.checkpoints import Phase
from passdown.core.formats.streams import Workflow, open_phase
from passdown.core.kinds import FactKind
from passdown.core.phases import PhaseState, read_state
from passdown.core.problems import Malformed
from passdown.core.sessions.ledger_sync import UNCONFIRMED
from passdown.core.sessions.session_facts import Account
from passdown.core.times import render_seconds
from passdown.records import replace

ACTIVE: Final = "active"
COMPLETE: Final = "track-complete"
"""What causes the handoff of a track that is finished."""

_DONE: Final = ArchiveStatus.COMPLETE.value
_TESTS_PASS: Final = f"{UNCONFIRMED}the tests pass: "
_PATTERN: Final = "sequential"
_MAX_RETRIES: Final = 3
_PLACEHOLDER: Final = (Phase(phase=1),)


def phases_of(account: Account) -> Sequence[Phase]:
    """Return the last state of each phase that a checkpoint names; one in progress says since when (R87)."""
    phases: dict[int, Phase] = {}
    for entry in account.of(FactKind.CHECKPOINT):
        new = _read_phase(entry)
        if new is not None:
            phases[new.phase] = _update_phase(phases.get(new.phase), new)
    return [phases[number] for number in sorted(phases)]


def _read_phase(entry: Fact) -> Phase | None:
    """Read a checkpoint; return None if it names no phase of a document."""
    try:
        number, state = read_count(entry.key), read_state(entry.text)
    except Malformed:
        return None
    begun = f"started {render_seconds(entry.at)}" if state is PhaseState.IN_PROGRESS else ""
    return Phase(phase=number, name=entry.because, state=state, detail=begun or entry.failure)


def _update_phase(known: Phase | None, new: Phase) -> Phase:
    """Keep the name of a phase, and what is told of a state that it is still in."""
    if known is None:
        return new
    is_same = known.state is new.state and bool(known.detail)
    return replace(new, name=new.name or known.name, detail=known.detail if is_same else new.detail)


def join_phases(known: tuple[Phase, ...], told: Iterable[Phase]) -> tuple[Phase, ...]:
    """Update the phases of a document with those that a session tells; the others stay."""
    new = {one.phase: one for one in told}
    if known == _PLACEHOLDER and new:
        return tuple(new.values())
    table = {one.phase: one for one in known}
    table |= {number: _update_phase(table.get(number), one) for number, one in new.items()}
    return tuple(table[number] for number in sorted(table))


def update_workflow(known: Workflow, phases: tuple[Phase, ...], *, is_told: bool) -> Workflow:
    """Derive the state of a workflow from its phases (R69, C13); what a person wrote stays.

    How many phases there are is only known when somebody told of them; they follow one another.
    """
    at_work = open_phase(phases)
    told = {}
    if is_told:
        last = max((one.phase for one in phases), default=0)
        told = {"pattern": known.pattern or _PATTERN, "total_phases": max(last, known.total_phases or 0)}
    return replace(
        known,
        phase=known.phase if at_work is None else at_work,
        retries=known.retries or 0,
        max_retries=_MAX_RETRIES if known.max_retries is None else known.max_retries,
        **told,
    )


def update_status(trigger: str, known: str | None) -> str | None:
    """Return the status of a document: complete when its track is finished, until somebody goes on."""
    if trigger == COMPLETE:
        return _DONE
    return ACTIVE if known == _DONE else known


def find_unconfirmed(account: Account) -> Iterator[str]:
    """Say that nobody knows whether the tests pass: the last run failed, or did not tell (R77)."""
    for last in account.of(FactKind.TEST)[-1:]:
        if last.key != "0":
            known = show_test(f"`{last.text}`", last.key)
            yield _TESTS_PASS + (known if last.key.isdigit() else f"the exit code of {known} is not known")


def is_derived(question: str) -> bool:
    """Return whether a question of a document is one of those: it is made anew each time."""
    return question.startswith(_TESTS_PASS)
