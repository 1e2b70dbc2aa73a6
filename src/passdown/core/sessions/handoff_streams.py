"""Write a handoff into the Ledger section of a stream document, and read it back (S1, R53 to R95).

1. Nothing outside the Ledger section changes (R74). Within it, whatever the session does not know stays:
   decisions of others, unanswered questions, phases of others, and what a person wrote.
2. Now, Current focus, Next action, Blockers and Last Failure show the real state (C155). If nobody stated
   them, they are derived from the phases each time; derived texts are never read back as statements.
3. Validation State describes the last test run, without values that are unknown. It also has the test of each
   validated phase, the commit, and the hashes of the files.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.documents.key_value import Pair
from passdown.core.facts import make_key
from passdown.core.formats.checkpoints import Phase, ValidationState
from passdown.core.formats.streams import (
    LEDGER,
    Checkpoint,
    Stream,
    Workflow,
    open_phase,
    read_question,
    write_question,
)
from passdown.core.json_text import dump, load_object
from passdown.core.lazy_regex import pattern
from passdown.core.phases import PhaseState
from passdown.core.sessions.handoffs import (
    HASH,
    FileHash,
    Further,
    Handoff,
    HandoffDecision,
    name_further,
    read_further,
)
from passdown.core.sessions.ledger_sync import RULED_OUT, is_blocking
from passdown.core.sessions.progress import (
    ACTIVE,
    NEW_WORKFLOW,
    is_derived,
    join_phases,
    name_phase,
    show_failure,
    update_status,
    update_workflow,
)
from passdown.core.test_counts import CountedTests
from passdown.records import replace

STARTED: Final = "Session started"
NO_STEP: Final = "Name the next step"
RULED_OUT_KEY: Final = RULED_OUT.removesuffix(": ")
CONTEXT: Final = "## Context\n\nMinimal handoff created for ledger tracking. Full context to be added."
_COMMIT: Final = "commit"
_HASHES: Final = "file_hashes"
_PHASE_TESTS: Final = "phase_tests"
_FOCUS: Final = "Current focus"
_ACTION: Final = "Next action"
_BLOCKERS: Final = "Blockers"
_NONE: Final = "(none)"
_NOT_STARTED: Final = "(not started)"
_NOTHING_NOW: Final = "(no present step)"
_ALL_DONE: Final = "(all phases are validated)"
_VERBS: Final = MappingProxyType(
    {PhaseState.PENDING: "Begin", PhaseState.IN_PROGRESS: "Continue", PhaseState.FAILED: "Retry"}
)
_UNKNOWN: Final = ": UNKNOWN"
_FAILED_PHASE: Final = pattern(r"Phase ([0-9]{1,9})(?: \(.*?\))? failed")


def to_stream(handoff: Handoff, name: str, known: Stream | None = None) -> Stream:
    """Write a handoff into an existing or a new stream document (1)."""
    stream = known or _new_stream(handoff, name)
    checkpoint = stream.checkpoint or Checkpoint()
    phases = join_phases(checkpoint.phases, handoff.phases)
    stated = _unless_left(_unless_made(stream.now, checkpoint.phases), handoff)
    now = handoff.now or stated or _make_now(phases, handoff.done)
    asked = _join_questions(stream, handoff)
    return replace(
        stream,
        status=update_status(handoff.trigger, stream.status),
        updated=handoff.at,
        goal=_line(handoff.goal) or stream.goal,
        ledger_branch=handoff.branch or stream.ledger_branch,
        test=_line(handoff.test) or stream.test,
        now=now,
        this_session=handoff.done or stream.this_session,
        next=handoff.next or _list_left(stream.next, {*handoff.done, handoff.now}),
        decisions=_join_pairs(stream.decisions, handoff.choices),
        questions=tuple(read_question(text) for text in asked if not _is_unknown(text, stream)),
        unknowns=tuple(text for text in asked if _is_unknown(text, stream)),
        workflow=update_workflow(
            stream.workflow, phases, dict(handoff.retries), is_told=bool(handoff.phases)
        ),
        last_failure=_tell_failure(handoff, stream.last_failure, phases),
        checkpoint=_to_checkpoint(handoff, checkpoint, phases, now),
        further_facts=name_further(_join_further(stream, handoff), LEDGER),
    )


def _to_checkpoint(handoff: Handoff, known: Checkpoint, phases: tuple[Phase, ...], now: str) -> Checkpoint:
    notes = _resume_notes(handoff, known, now, phases)
    return replace(
        known,
        agent=handoff.agent or known.agent,
        task=_line(handoff.task or handoff.goal) or known.task,
        started=known.started or handoff.started_at,
        last_updated=handoff.at,
        phases=phases,
        validation=_to_validation(handoff, known.validation or ValidationState(), phases),
        resume=tuple({pair.key: pair for pair in (*known.resume, *notes)}.values()),
    )


def _line(text: str) -> str:
    return text.replace("\n", " ")


def _new_stream(handoff: Handoff, name: str) -> Stream:
    """Make a minimal document (R83, R88)."""
    resolved = [Pair(key="goal", value=_line(handoff.goal))] if handoff.goal else []
    return Stream(
        date=handoff.at,
        session_name=name,
        branch=handoff.branch or "unknown",
        status=ACTIVE,
        title=f"Work Stream: {name}",
        this_session=(STARTED,),
        next=(NO_STEP,),
        workflow=NEW_WORKFLOW,
        resolved=(*resolved, Pair(key="resource_allocation", value="balanced")),
        checkpoint=Checkpoint(
            phases=(Phase(phase=1, state=PhaseState.PENDING),),
            validation=ValidationState(test_count=0, tests_passing=0),
        ),
        context=CONTEXT,
    )


def _join_pairs(known: Iterable[Pair], choices: Iterable[HandoffDecision]) -> tuple[Pair, ...]:
    """Merge the session's choices into the existing ones; constraints are identified by their text."""
    table = {_pair_key(pair): pair for pair in known}
    for choice in choices:
        text = f"{choice.text} ({choice.because})" if choice.because else choice.text
        pair = Pair(key=choice.key or RULED_OUT_KEY, value=_line(text))
        table[_pair_key(pair)] = pair
    return tuple(table.values())


def _pair_key(pair: Pair) -> str:
    return make_key(f"{pair.key} {pair.value}" if pair.key == RULED_OUT_KEY else pair.key)


def _join_questions(stream: Stream, handoff: Handoff) -> Sequence[str]:
    known = [text for text in _list_asked(stream) if not is_derived(text)]
    table = {make_key(text): text for text in (*known, *handoff.questions, *handoff.unconfirmed)}
    answered = set(map(make_key, handoff.answered))
    return [text for key, text in table.items() if key not in answered]


def _join_further(stream: Stream, handoff: Handoff) -> Further:
    own = dict(handoff.more)
    known = read_further(stream.further_facts, LEDGER)
    return tuple((kind, tuple(dict.fromkeys((*texts, *own.get(kind, ()))))) for kind, texts in known)


def _list_asked(stream: Stream) -> Sequence[str]:
    """Return the open questions of a document, including its unknowns."""
    return [*map(write_question, stream.questions), *stream.unknowns]


def _is_unknown(text: str, stream: Stream) -> bool:
    """Return whether a question only says that something is unknown: `key: UNKNOWN` (R71)."""
    return text.rstrip().endswith(_UNKNOWN) or text in stream.unknowns


# --- what is derived from the phases (2) ----------------------------------------------------------


def _find_open(phases: tuple[Phase, ...]) -> Phase | None:
    number = open_phase(phases)
    return next((one for one in phases if one.phase == number), None)


def _make_now(phases: tuple[Phase, ...], done: Sequence[str]) -> str:
    """Derive the current step from the current phase, if nobody stated it."""
    at_work = _find_open(phases)
    if at_work is not None and at_work.state is not PhaseState.PENDING:
        return name_phase(at_work)
    is_begun = bool(done) or any(one.state is not PhaseState.PENDING for one in phases)
    return _NOTHING_NOW if is_begun else _NOT_STARTED


def _unless_made(now: str, phases: Iterable[Phase]) -> str:
    """Return a current step, or an empty text if it was only derived from the phases."""
    return "" if now in {_NOTHING_NOW, _NOT_STARTED, *map(name_phase, phases)} else now


def _unless_left(now: str, handoff: Handoff) -> str:
    return "" if make_key(now) in handoff.left else now


def _list_left(steps: tuple[str, ...], begun: Container[str]) -> tuple[str, ...]:
    """Return the next steps of a document, without those that the session has done or is doing."""
    left = tuple(step for step in steps if step not in begun)
    return left or ((NO_STEP,) if steps else ())


def _tell_failure(handoff: Handoff, known: str, phases: tuple[Phase, ...]) -> str:
    """Describe the last failure; what others wrote about a failed phase stays while it is failed (R72)."""
    if handoff.failure:
        return handoff.failure
    phase = _FAILED_PHASE.match(known)
    if phase:
        failed = {one.phase for one in phases if one.state is PhaseState.FAILED}
        return known if int(phase[1]) in failed else ""
    return "" if known.startswith("`") and handoff.test else known  # its test has passed since


def _resume_notes(handoff: Handoff, known: Checkpoint, now: str, phases: tuple[Phase, ...]) -> Iterator[Pair]:
    """Yield the notes on where to resume (R89)."""
    table = {pair.key: pair.value for pair in known.resume}
    focus = _unless_left(_unless_made(table.get(_FOCUS, ""), known.phases), handoff)
    yield Pair(key=_FOCUS, value=_line(handoff.now or focus or now))
    made = {f"{verb} {name_phase(one)}" for verb in _VERBS.values() for one in known.phases}
    action = table.get(_ACTION, "")
    if action in {_ALL_DONE, *made, *handoff.done, handoff.now}:
        action = ""
    at_work = _find_open(phases)
    made_now = f"{_VERBS[at_work.state]} {name_phase(at_work)}" if at_work else _ALL_DONE
    yield Pair(key=_ACTION, value=_line(next(iter(handoff.next), "") or action or made_now))
    failures = [show_failure(one) for one in phases if one.state is PhaseState.FAILED]
    blocking = [text for text in handoff.questions if is_blocking(text)]
    written = table.get(_BLOCKERS, "")
    if _FAILED_PHASE.match(written) or is_blocking(written):  # these are derived each time
        written = ""
    yield Pair(key=_BLOCKERS, value=_line("; ".join((*failures, *blocking)) or written or _NONE))


# --- what a resumed session checks (3) ------------------------------------------------------------


def _to_validation(handoff: Handoff, known: ValidationState, phases: tuple[Phase, ...]) -> ValidationState:
    """Return the files with their hashes, the commit, the last test, and the tests of validated phases."""
    hashes = {one.path: f"{HASH}{one.hash}" for one in handoff.file_hashes if one.hash}
    others = dict(known.others)
    validated = {one.phase for one in phases if one.state is PhaseState.VALIDATED}
    tests = {**_read_phase_tests(others), **dict(handoff.phase_tests)}
    tests = {phase: tests[phase] for phase in sorted(validated & tests.keys())}
    members = {
        _COMMIT: handoff.commit,
        _HASHES: hashes,
        _PHASE_TESTS: {str(phase): test for phase, test in tests.items()},
    }
    kept = {name: text for name, text in others.items() if name not in members}
    kept |= {name: dump(value) for name, value in members.items() if value}
    state = replace(
        known,
        files_modified=tuple(one.path for one in handoff.file_hashes) or known.files_modified,
        others=tuple(kept.items()),
    )
    if not handoff.test:
        return state
    counted = handoff.counted
    return replace(
        state,
        test_count=counted.total if counted else None,
        tests_passing=counted.passing if counted else None,
        last_test_command=handoff.test,
        last_test_exit_code=handoff.test_exit,
    )


def _read_phase_tests(others: Mapping[str, str]) -> Mapping[int, str]:
    tests = _read_texts(others, _PHASE_TESTS).items()
    return {int(phase): test for phase, test in tests if phase.isascii() and phase.isdigit()}


def _read_texts(others: Mapping[str, str], name: str) -> Mapping[str, str]:
    """Read a member that is an object of texts, without values of other types."""
    members = load_object(others.get(name, "{}")) or {}
    return {key: value for key, value in members.items() if isinstance(value, str)}


class RepeatedTest(NamedTuple):
    """A test that runs again before work resumes."""

    command: str
    expected: int | None
    """The exit code it must have; None for any."""
    phase: int | None = None
    """The phase it validated; None for the last test that was run."""


def list_repeated(handoff: Handoff) -> Sequence[RepeatedTest]:
    """Return the tests that must still give the same result before work resumes from a checkpoint (R94, R95).

    These are the test of the last validated phase and the last test that was run. If they are the same
    command, its last exit code counts. If that is unknown and a phase was validated, the test must pass.
    """
    phase = find_last_validated(handoff)
    code = handoff.test_exit if handoff.test_exit is not None or phase is None else 0
    last = [RepeatedTest(handoff.test, code)] if handoff.test else []
    command = dict(handoff.phase_tests).get(phase.phase, "") if phase else ""
    if phase is None or not command:
        return last
    if command == handoff.test:
        return [RepeatedTest(command, code, phase.phase)]
    return [RepeatedTest(command, 0, phase.phase), *last]


def find_last_validated(handoff: Handoff) -> Phase | None:
    """Return the last validated phase."""
    return next((one for one in reversed(handoff.phases) if one.state is PhaseState.VALIDATED), None)


# --- read back ------------------------------------------------------------------------------------


def from_stream(stream: Stream) -> Handoff:
    """Read a handoff back from a stream document."""
    checkpoint = stream.checkpoint or Checkpoint()
    validation = checkpoint.validation or ValidationState()
    others = dict(validation.others)
    commit: object = json.loads(others.get(_COMMIT, '""'))
    hashes = _read_texts(others, _HASHES)
    asked = _list_asked(stream)
    choices = (
        HandoffDecision("", one.value)
        if one.key == RULED_OUT_KEY
        else HandoffDecision(one.key, one.value or one.key)
        for one in stream.decisions
    )
    return Handoff(
        at=stream.updated or stream.date,
        agent=checkpoint.agent,
        started_at=checkpoint.started,
        branch=stream.ledger_branch or stream.branch or "",
        commit=commit if isinstance(commit, str) else "",
        goal=stream.goal,
        now=_unless_made(stream.now, checkpoint.phases),
        done=stream.this_session,
        next=tuple(text for text in stream.next if text != NO_STEP),
        choices=tuple(choices),
        questions=tuple(text for text in asked if not is_derived(text)),
        unconfirmed=tuple(text for text in asked if is_derived(text)),
        more=read_further(stream.further_facts, LEDGER),
        phases=checkpoint.phases,
        test=validation.last_test_command or stream.test,
        test_exit=validation.last_test_exit_code,
        counted=_read_counts(validation),
        phase_tests=tuple(_read_phase_tests(others).items()),
        retries=_read_retries(stream.workflow),
        failure=stream.last_failure,
        file_hashes=tuple(
            FileHash(path, hashes.get(path, "").removeprefix(HASH)) for path in validation.files_modified
        ),
    )


def _read_retries(workflow: Workflow) -> tuple[tuple[int, int], ...]:
    """Return how often the current phase failed, if the document has that."""
    return ((workflow.phase, workflow.retries),) if workflow.phase and workflow.retries else ()


def _read_counts(validation: ValidationState) -> CountedTests | None:
    count, passing = validation.test_count, validation.tests_passing
    if count is None or passing is None or not validation.last_test_command:
        return None
    return CountedTests(count, passing)
