"""The progress of a session: its phases, the state of the workflow, and what is unconfirmed.

1. The fact of a checkpoint holds the phase, its state, and its test: the command, how many tests pass, how
   often the phase failed since it was last validated, and the document that shows it (C104, C155).
2. Unknown values are left out; they are never zero.
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
"""The trigger of the handoff of a finished track."""

_DONE: Final = ArchiveStatus.COMPLETE.value
_TESTS_PASS: Final = f"{UNCONFIRMED}the tests pass: "
_PATTERN: Final = "sequential"
_MAX_RETRIES: Final = 3
_PLACEHOLDER: Final = (Phase(phase=1),)
_OVER: Final = frozenset({PhaseState.VALIDATED, PhaseState.SKIPPED})

NEW_WORKFLOW: Final = Workflow(pattern=_PATTERN, phase=1, total_phases=1, retries=0, max_retries=_MAX_RETRIES)
"""The state of a new workflow (R69, R83)."""


class RanTest(NamedTuple):
    """A test that was run for a phase."""

    command: Annotated[str, "The command that was run."]
    code: Annotated[int, "Its exit code; negative if it was killed."]
    counted: Annotated[CountedTests | None, "How many tests pass, if known."] = None


def read_counts(fact: Fact) -> CountedTests | None:
    """Return how many tests pass, if the fact has that."""
    match _member(fact, TESTS), _member(fact, PASSING):
        case int(count), int(passing):
            return CountedTests(count, passing)
        case _:
            return None


def _member(fact: Fact, name: str) -> object:
    value: object = json.loads(dict(fact.others).get(name, "null"))
    return value


def count_retries(account: Account) -> Mapping[int, int]:
    """Return how often each phase of a session has failed since it was last validated (R69)."""
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
    """Return the stream document with the last checkpoint of a session; empty if there is none."""
    return next((fact.stream for fact in reversed(account.of(FactKind.CHECKPOINT)) if fact.stream), "")


def find_failure(account: Account) -> str:
    """Describe the last failure that is not fixed: a phase, else the last test; empty if none (R72)."""
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
    """Describe in one line that a phase failed, and why."""
    return f"{name_phase(phase)} failed{f': {phase.detail}' if phase.detail else ''}"


def name_phase(phase: Phase) -> str:
    """Return the name of a phase in a sentence."""
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
    """Return the last state of each phase; one in progress has its start time (R87)."""
    phases: dict[int, Phase] = {}
    for _, new in _list_phases(account):
        phases[new.phase] = _update_phase(phases.get(new.phase), new)
    return [phases[number] for number in sorted(phases)]


def _read_phase(entry: Fact) -> Phase | None:
    """Read a checkpoint as a phase; return None if it does not name one."""
    try:
        number, state = read_count(entry.key), read_state(entry.text)
    except Malformed:
        return None
    begun = f"started {render_seconds(entry.at)}" if state is PhaseState.IN_PROGRESS else ""
    passed = _show_counts(entry) if state is PhaseState.VALIDATED else ""
    return Phase(phase=number, name=entry.because, state=state, detail=begun or passed or entry.failure)


def _update_phase(known: Phase | None, new: Phase) -> Phase:
    """Update a phase; keep its name, its start time, and details of a state that has not changed."""
    if known is None:
        return new
    is_kept = known.state is new.state and (new.state is PhaseState.IN_PROGRESS or not new.detail)
    detail = known.detail if is_kept and known.detail else new.detail
    return replace(new, name=new.name or known.name, detail=detail)


def join_phases(known: tuple[Phase, ...], told: Iterable[Phase]) -> tuple[Phase, ...]:
    """Update the phases of a document with those of a session; the others stay."""
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

    The number of phases is only known if the session reported phases; they are sequential. `retries` is how
    often each phase failed: the count of the current phase is used, or the document's if the session has
    none.
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
    """Return the status of a document: complete when its track is finished, until somebody continues it."""
    if trigger == COMPLETE:
        return _DONE
    return ACTIVE if known == _DONE else known


def find_unconfirmed(account: Account) -> Iterator[str]:
    """Yield that it is unconfirmed whether the tests pass: the last run failed, or has no result (R77)."""
    for last in account.of(FactKind.TEST)[-1:]:
        if last.key != "0":
            known = show_test(f"`{last.text}`", last.key)
            yield _TESTS_PASS + (known if last.key.isdigit() else f"the exit code of {known} is not known")


def is_derived(question: str) -> bool:
    """Return whether a question comes from `find_unconfirmed`, which makes it again each time."""
    return question.startswith(_TESTS_PASS)
