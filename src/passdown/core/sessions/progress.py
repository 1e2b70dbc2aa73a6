"""How far the work of a session is: its phases, the state of the workflow, and what nobody has confirmed.

1. A checkpoint's fact holds the phase, its state, and what was run for it: the test, how many tests pass, how
   often the phase failed since it was last validated, and the document that shows it (C104, C155).
2. What nobody told is not known: it is left out, and never zero.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Final, NamedTuple

from passdown.core.documents.fields import read_count
from passdown.core.facts import PASSING, RETRIES, TESTED, TESTS, Fact, show_test
from passdown.core.formats.archives import ArchiveStatus
from passdown.core.formats.checkpoints import Phase
from passdown.core.formats.streams import Workflow, open_phase
from passdown.core.kinds import FactKind
from passdown.core.phases import PhaseState, read_state
from passdown.core.problems import Malformed
from passdown.core.sessions.ledger_sync import UNCONFIRMED
from passdown.core.sessions.session_facts import Account
from passdown.core.test_counts import CountedTests
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
_OVER: Final = frozenset({PhaseState.VALIDATED, PhaseState.SKIPPED})

NEW_WORKFLOW: Final = Workflow(pattern=_PATTERN, phase=1, total_phases=1, retries=0, max_retries=_MAX_RETRIES)
"""The state of a workflow of which nobody has told anything yet (R69, R83)."""


class RanTest(NamedTuple):
    """A test that was run for a phase."""

    command: Annotated[str, "What was run."]
    code: Annotated[int, "Its exit code; negative if it did not end by itself."]
    counted: Annotated[CountedTests | None, "How many tests pass, if it told."] = None


def read_counts(fact: Fact) -> CountedTests | None:
    """Return how many tests pass, if a fact tells."""
    match _member(fact, TESTS), _member(fact, PASSING):
        case int(count), int(passing):
            return CountedTests(count, passing)
        case _:
            return None


def _member(fact: Fact, name: str) -> object:
    value: object = json.loads(dict(fact.others).get(name, "null"))
    return value


def count_retries(account: Account) -> Mapping[int, int]:
    """Return how often each phase that a session tells of has failed since it was last validated (R69)."""
    counts: dict[int, int] = {}
    for fact, phase in _list_phases(account):
        told = _member(fact, RETRIES)
        if phase.state in _OVER:
            counts[phase.phase] = 0
        elif isinstance(told, int):
            counts[phase.phase] = told
        else:
            counts[phase.phase] = counts.get(phase.phase, 0) + (phase.state is PhaseState.FAILED)
    return counts


def list_phase_tests(account: Account) -> Mapping[int, str]:
    """Return the test of each phase that a session validated with one."""
    tests: dict[int, str] = {}
    for fact, phase in _list_phases(account):
        told = _member(fact, TESTED)
        if phase.state is PhaseState.VALIDATED and isinstance(told, str):
            tests[phase.phase] = told
    return tests


def find_saved_stream(account: Account) -> str:
    """Return the name of the stream document that showed the last checkpoint of a session; empty if none."""
    return next((fact.stream for fact in reversed(account.of(FactKind.CHECKPOINT)) if fact.stream), "")


def find_failure(account: Account) -> str:
    """Say what failed last and was not mended since: a phase, else the last test; empty if nothing (R72)."""
    failed = [phase for phase in phases_of(account) if phase.state is PhaseState.FAILED]
    order = [phase.phase for _, phase in _list_phases(account)]
    if failed:
        last = max(failed, key=lambda phase: len(order) - order[::-1].index(phase.phase))
        return show_failure(last)
    for test in account.of(FactKind.TEST)[-1:]:
        if test.key.isdigit() and test.key != "0":
            return ", ".join(filter(None, (show_test(f"`{test.text}`", test.key), _show_counts(test))))
    return ""


def show_failure(phase: Phase) -> str:
    """Say in one line that a phase failed, and why."""
    return f"{name_phase(phase)} failed{f': {phase.detail}' if phase.detail else ''}"


def name_phase(phase: Phase) -> str:
    """Return what a phase is called in a sentence."""
    return f"Phase {phase.phase}{f' ({phase.name})' if phase.name else ''}"


def _show_counts(fact: Fact) -> str:
    counted = read_counts(fact)
    return counted.text if counted else ""


def _list_phases(account: Account) -> Iterator[tuple[Fact, Phase]]:
    """Yield the checkpoints of a session that name a phase, oldest first."""
    for fact in account.of(FactKind.CHECKPOINT):
        phase = _read_phase(fact)
        if phase is not None:
            yield fact, phase


def phases_of(account: Account) -> Sequence[Phase]:
    """Return the last state of each phase that a checkpoint names; one in progress says since when (R87)."""
    phases: dict[int, Phase] = {}
    for _, new in _list_phases(account):
        phases[new.phase] = _update_phase(phases.get(new.phase), new)
    return [phases[number] for number in sorted(phases)]


def _read_phase(entry: Fact) -> Phase | None:
    """Read a checkpoint; return None if it names no phase of a document."""
    try:
        number, state = read_count(entry.key), read_state(entry.text)
    except Malformed:
        return None
    begun = f"started {render_seconds(entry.at)}" if state is PhaseState.IN_PROGRESS else ""
    passed = _show_counts(entry) if state is PhaseState.VALIDATED else ""
    return Phase(phase=number, name=entry.because, state=state, detail=begun or passed or entry.failure)


def _update_phase(known: Phase | None, new: Phase) -> Phase:
    """Keep the name of a phase, when it began, and what nobody tells anew of a state that it is still in."""
    if known is None:
        return new
    is_kept = known.state is new.state and (new.state is PhaseState.IN_PROGRESS or not new.detail)
    detail = known.detail if is_kept and known.detail else new.detail
    return replace(new, name=new.name or known.name, detail=detail)


def join_phases(known: tuple[Phase, ...], told: Iterable[Phase]) -> tuple[Phase, ...]:
    """Update the phases of a document with those that a session tells; the others stay."""
    new = {one.phase: one for one in told}
    if known == _PLACEHOLDER and new:
        return tuple(new.values())
    table = {one.phase: one for one in known}
    table |= {number: _update_phase(table.get(number), one) for number, one in new.items()}
    return tuple(table[number] for number in sorted(table))


def update_workflow(
    known: Workflow, phases: tuple[Phase, ...], retries: Mapping[int, int], *, is_told: bool
) -> Workflow:
    """Derive the state of a workflow from its phases (R69, C13); what a person wrote stays.

    How many phases there are is only known when somebody told of them; they follow one another. `retries` is
    how often each phase failed: that of the phase at work counts, and what the document says of it where the
    session does not tell.
    """
    at_work = open_phase(phases)
    told = {}
    if is_told:
        last = max((one.phase for one in phases), default=0)
        told = {"pattern": known.pattern or _PATTERN, "total_phases": max(last, known.total_phases or 0)}
    is_same = known.phase is None or at_work == known.phase
    counted = known.retries or 0 if is_same else 0
    return replace(
        known,
        phase=known.phase if at_work is None else at_work,
        retries=0 if at_work is None else retries.get(at_work, counted),
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
