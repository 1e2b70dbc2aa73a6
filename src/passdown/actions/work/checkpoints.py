"""Save phases of work, and resume from them."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, INLINE, OR_NULL, Form, describe, members
from passdown.actions.callers import (
    Caller,
    find_or_begin,
    find_running,
    find_shown,
    need_session,
    note_ledger_update,
)
from passdown.actions.sessions.sessions import commit_waiting, update_view
from passdown.actions.work.command_runs import RunRequest, ignore_run, need_agreed, run_lines
from passdown.core.documents.key_value import Pair
from passdown.core.formats.checkpoints import Phase, ValidationState
from passdown.core.formats.streams import Checkpoint
from passdown.core.phases import PhaseState
from passdown.core.safe_text import one_line
from passdown.core.sessions.handoff_streams import RepeatedTest, find_last_validated, list_repeated
from passdown.core.sessions.handoffs import HandoffDrift
from passdown.core.sessions.progress import RanTest, phases_of
from passdown.core.sessions.session_facts import Account
from passdown.core.shell_commands import is_whole
from passdown.core.work.plan_commands import read_command_line
from passdown.errors import UsageError
from passdown.records import record, replace
from passdown.services.log.events import update_index
from passdown.services.sessions.pending_commits import AT_CHECKPOINT
from passdown.services.work import checkpoints as services
from passdown.services.work.plan_commands import CommandRun

PHASE: Final = members(name=OR_NULL, detail=OR_NULL)


@record
class CheckpointRequest:
    """A phase and its state."""

    phase: Annotated[Phase, "The phase; without a name, it keeps its name."]
    stream: Annotated[str, "The stream document, by its name or path; empty for that of the track."] = ""


@record
class ValidationRequest:
    """A phase to validate."""

    phase: Annotated[int, "Its number."]
    name: Annotated[str, "Its name; empty to keep it."] = ""
    test: Annotated[str, "The command that the user agreed to; empty to find the last one."] = ""
    told: Annotated[Callable[[CommandRun], None], "Is called at once with the outcome."] = ignore_run


@record
class ResumeRequest:
    """A checkpoint to resume from."""

    stream: Annotated[str, "The stream document, by its name or path; empty for that of the track."] = ""
    agreed: Annotated[Sequence[str], "The tests that the user saw and agreed to."] = ()
    goes_on: Annotated[bool, "Whether to resume although a test gives another result."] = False
    told: Annotated[Callable[[CommandRun], None], "Is called at once with each outcome."] = ignore_run


@record
class CheckpointResult:
    """A phase that was saved."""

    phase: Annotated[Phase, "The phase.", INLINE, PHASE]
    stream: Annotated[str | None, "The stream document that shows it."]
    event: Annotated[str | None, "The event with it."]
    commit: Annotated[str | None, "The commit, if one was made."]


@record
class PlannedTest:
    """The test that a validation will run."""

    command: Annotated[str, "The command."]


@record
class ResumePoint:
    """A checkpoint, and what changed since."""

    path: Annotated[str, "Its stream document."]
    drift: Annotated[HandoffDrift, "What changed since."]
    tests: Annotated[Sequence[RepeatedTest], "The tests to run again."]
    left_out: Annotated[Sequence[str], "Tests that cannot run here, because parts of them were left out."]
    validated: Annotated[Phase | None, "The last phase that was validated."]


@record
class RepeatedRun:
    """A test that was run again."""

    command: Annotated[str, "The command."]
    phase: Annotated[int | None, "The phase that it validated; null for the last test."]
    exit_code_then: Annotated[int | None, "The exit code that it had."]
    exit_code_now: Annotated[int, "The exit code that it has; negative if it did not end by itself."]
    ended: Annotated[str, "How it ended, in words.", HIDDEN]


@record
class ChangedCheckpoint:
    """A checkpoint that was not resumed, because a test gives another result."""

    resumed: Annotated[bool, "Whether it was resumed: no."]
    exit_code_then: Annotated[int | None, "The exit code that the test had."]
    exit_code_now: Annotated[int, "The exit code that it has."]
    tests: Annotated[Sequence[RepeatedRun], "All tests that were run."]
    changed: Annotated[RepeatedRun, "The first one with another result.", HIDDEN]


@record
class ResumedCheckpoint:
    """A checkpoint that the session resumed from."""

    resumed: Annotated[bool, "Whether it was resumed: yes."]
    next: Annotated[Phase | None, "The phase that is in progress now; null if all are validated.", PHASE]
    tests: Annotated[Sequence[RepeatedRun], "All tests that were run."]
    commit: Annotated[str | None, "The commit, if one was made.", HIDDEN]


def _join_pairs(pairs: Sequence[Pair]) -> Mapping[str, str]:
    return {pair.key: pair.value for pair in pairs}


@record
class ProgressResult:
    """The phases of a piece of work, and where to resume."""

    phases: Annotated[Sequence[Phase], "The phases.", PHASE]
    now: Annotated[str | None, "The current work."]
    retries: Annotated[int | None, "How often the phase failed."]
    max_retries: Annotated[int | None, "How often it may fail."]
    last_failure: Annotated[str | None, "Why it failed last."]
    validation: Annotated[ValidationState, "What was run.", members(others=HIDDEN)]
    resume: Annotated[Sequence[Pair], "Where to resume.", Form(_join_pairs)]


# --- save ---------------------------------------------------------------------------------------------


def save(caller: Caller, request: CheckpointRequest) -> CheckpointResult:
    """Save the state of a phase."""
    phase, stream = request.phase, _name_stream(caller, request.stream)
    saved, commit = save_phase(caller, need_session(caller), phase, stream=stream)
    return _describe_saved(saved, commit, phase, phase.detail)


def plan_validation(caller: Caller, request: ValidationRequest) -> PlannedTest:
    """Return the command that validates a phase; raise a UsageError if none is known."""
    command = request.test or services.find_test(caller.workspace, need_session(caller))
    if not command:
        hint = "name it: `passdown checkpoint validate PHASE --test COMMAND`"
        raise UsageError("no test is known", hint=hint)
    return PlannedTest(command=command)


def validate(caller: Caller, request: ValidationRequest) -> CheckpointResult:
    """Run the test of a phase; it is validated if that passes, and fails otherwise."""
    account = need_session(caller)
    update_index(caller.workspace.log, caller.workspace.index)  # the test must not run twice
    test = RunRequest(lines=[read_command_line(request.test)], told=request.told)
    (run,) = run_lines(caller, test)
    counted = run.counted.text if run.counted else ""
    how = ", ".join(filter(None, (run.ended, counted)))
    phase = Phase(
        phase=request.phase,
        name=request.name,
        state=PhaseState.VALIDATED if run.has_passed else PhaseState.FAILED,
        detail="" if run.has_passed else f"{one_line(request.test)}: {how}",
    )
    tests = [RanTest(request.test, run.code, run.counted)]
    saved, commit = save_phase(caller, account, phase, tests=tests)
    return _describe_saved(saved, commit, phase, phase.detail or counted)


def save_phase(
    caller: Caller, account: Account, phase: Phase, *, tests: Sequence[RanTest] = (), stream: str = ""
) -> tuple[services.SavedCheckpoint, str | None]:
    """Save a checkpoint, update the view, and commit if the settings say so; also return that commit."""
    update_index(caller.workspace.log, caller.workspace.index)  # nothing must be recorded twice
    saved = services.save_checkpoint(caller.workspace, account, phase, tests=tests, stream=stream)
    note_ledger_update(caller, saved.update)
    update_view(caller)
    return saved, commit_waiting(caller, AT_CHECKPOINT)


def _describe_saved(
    saved: services.SavedCheckpoint, commit: str | None, phase: Phase, detail: str
) -> CheckpointResult:
    names = {one.phase: one.name for one in phases_of(saved.update.account)}
    name = phase.name or names.get(phase.phase, "")
    return CheckpointResult(
        phase=replace(phase, name=name, detail=detail),
        stream=saved.stream or None,
        event=saved.written.event.id if saved.written else None,
        commit=commit,
    )


def _name_stream(caller: Caller, text: str) -> str:
    """Return the name of a stream, or the path of its document from the root, in any current folder."""
    if not text.endswith(".md"):
        return text
    full = Path(os.path.normpath(caller.around.folder / text))
    full = Path(os.path.realpath(full.parent)) / full.name
    root = Path(os.path.realpath(caller.workspace.root))
    path = full.relative_to(root).as_posix() if full.is_relative_to(root) else ""
    return path if path and caller.workspace.documents.exists(path) else text.removeprefix("./")


# --- resume -------------------------------------------------------------------------------------------


def plan_resume(caller: Caller, request: ResumeRequest) -> ResumePoint:
    """Return what changed since a checkpoint, and the tests to run again."""
    stream = _name_stream(caller, request.stream)
    review = services.find_resume_point(caller.workspace, find_shown(caller), stream)
    tests = list_repeated(review.handoff)
    return ResumePoint(
        path=review.listed.path,
        drift=review.drift,
        tests=[one for one in tests if is_whole(one.command)],
        left_out=[one.command for one in tests if not is_whole(one.command)],
        validated=find_last_validated(review.handoff),
    )


def resume(caller: Caller, request: ResumeRequest) -> ResumedCheckpoint | ChangedCheckpoint:
    """Resume from a checkpoint if its tests still give the same result."""
    workspace, account = caller.workspace, find_running(caller)
    review = services.find_resume_point(workspace, account, _name_stream(caller, request.stream))
    tests = [one for one in list_repeated(review.handoff) if is_whole(one.command)]
    need_agreed([one.command for one in tests], request.agreed)
    lines = [read_command_line(one.command) for one in tests]
    runs = run_lines(caller, RunRequest(lines=lines, told=request.told))
    again = [
        describe(RepeatedRun, test, run, exit_code_then=test.expected, exit_code_now=run.code)
        for test, run in zip(tests, runs, strict=True)
    ]
    changed = next((one for one in again if one.exit_code_then not in {None, one.exit_code_now}), None)
    if changed and not request.goes_on:
        return ChangedCheckpoint(
            resumed=False,
            exit_code_then=changed.exit_code_then,
            exit_code_now=changed.exit_code_now,
            tests=again,
            changed=changed,
        )
    ran = [RanTest(one.command, run.code, run.counted) for one, run in zip(tests, runs, strict=True)]
    account = services.resume_from(
        workspace, review, account or find_or_begin(caller), [one for one in ran if one.code >= 0]
    )
    phase, commit = services.find_next_phase(review.handoff), None
    if phase is not None:
        begun = Phase(phase=phase.phase, name=phase.name, state=PhaseState.IN_PROGRESS)
        _, commit = save_phase(caller, account, begun, stream=review.listed.path)
    return ResumedCheckpoint(resumed=True, next=phase, tests=again, commit=commit)


def show(caller: Caller, stream: str) -> ProgressResult:
    """Show the phases of the session or of a stream document, and where to resume."""
    account = find_shown(caller)
    progress = services.read_progress(caller.workspace, account, _name_stream(caller, stream))
    checkpoint = progress.checkpoint or Checkpoint()
    return ProgressResult(
        phases=checkpoint.phases,
        now=progress.now or None,
        retries=progress.workflow.retries,
        max_retries=progress.workflow.max_retries,
        last_failure=progress.last_failure or None,
        validation=checkpoint.validation or ValidationState(),
        resume=checkpoint.resume,
    )
