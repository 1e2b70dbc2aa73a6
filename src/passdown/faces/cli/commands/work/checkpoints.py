"""`passdown checkpoint`: begin a phase, validate it, let it fail, and go on from it after a break."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from passdown.core.formats.checkpoints import LAST_PHASE, Phase, ValidationState, write_phase
from passdown.core.formats.streams import Checkpoint, Stream
from passdown.core.phases import PhaseState
from passdown.core.safe_text import one_line
from passdown.core.sessions.handoff_streams import RepeatedTest, find_last_validated, list_repeated
from passdown.core.sessions.handoffs import Handoff
from passdown.core.sessions.progress import RanTest, name_phase, phases_of
from passdown.core.shell_commands import is_whole
from passdown.core.test_counts import CountedTests
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.work.command_runs import how_it_ended, run_test, run_tests, yes_option
from passdown.faces.cli.coordination import json_option, session_option
from passdown.faces.cli.drift import drift_lines
from passdown.faces.cli.lifecycle import note_commit, save_phase
from passdown.faces.cli.project import current_folder
from passdown.faces.cli.sessions import find_or_begin, find_running, need_session, open_sessions
from passdown.records import replace
from passdown.services.work.checkpoints import (
    SavedCheckpoint,
    find_next_phase,
    find_resume_point,
    find_test,
    read_progress,
    resume_from,
)
from passdown.services.work.plan_commands import CommandRun
from passdown.services.workspace.workspaces import Workspace

_FILES: Final = 5
"""How many changed files `show` names."""

phase_argument = click.argument("phase", type=click.IntRange(1, LAST_PHASE))
name_option = click.option("--name", default="", metavar="NAME", help="The name of the phase.")
stream_option = click.option(
    "--stream", default="", metavar="NAME", help="The stream document to use, by its name or path."
)


@click.group(short_help="Save phases of work, and go on from them.")
def checkpoint() -> None:
    """Save phases of work, and go on from them.

    A phase is shown in the stream document of the track (thoughts/shared/handoffs/TRACK/current.md) and in
    events, so that a later session, here or elsewhere, can go on at the first one that is open.
    """


@checkpoint.command(short_help="Begin a phase.")
@phase_argument
@name_option
@stream_option
@session_option
@json_option
def start(phase: int, name: str, stream: str, session: str, *, as_json: bool) -> None:
    """Begin a phase: it is in progress from now on."""
    workspace = open_sessions()
    begun = Phase(phase=phase, name=name.strip(), state=PhaseState.IN_PROGRESS)
    account = need_session(workspace, session)
    saved = save_phase(workspace, account, begun, stream=_name_stream(workspace, stream))
    _say_saved(*saved, begun, as_json=as_json)


@checkpoint.command(short_help="Run the test of a phase; it is validated if that passes.")
@phase_argument
@name_option
@click.option("--test", "test", default="", metavar="COMMAND", help="The command; by default the last test.")
@yes_option
@session_option
@json_option
def validate(phase: int, name: str, test: str, session: str, *, yes: bool, as_json: bool) -> int:
    """Run the test of a phase; it is validated if that passes, and fails otherwise.

    The command is shown, and runs without a shell after you agreed or with --yes. How many tests pass is read
    from its output, if it is that of a known test runner. Exits with 1 if it fails.
    """
    workspace = open_sessions()
    account = need_session(workspace, session)
    command = test or find_test(workspace, account)
    if not command:
        raise UsageError(
            "no test is known", hint="name it: `passdown checkpoint validate PHASE --test COMMAND`"
        )
    run = run_test(workspace, command, yes=yes, as_json=as_json)
    ended = Phase(
        phase=phase,
        name=name.strip(),
        state=PhaseState.VALIDATED if run.has_passed else PhaseState.FAILED,
        detail="" if run.has_passed else f"{one_line(command)}: {_how_tests_ended(run)}",
    )
    saved = save_phase(workspace, account, ended, tests=[RanTest(command, run.code, run.counted)])
    passed = run.counted.text if run.has_passed and run.counted else ""
    _say_saved(*saved, replace(ended, detail=ended.detail or passed), as_json=as_json)
    return 0 if run.has_passed else 1


@checkpoint.command(short_help="Record that a phase failed, and why.")
@phase_argument
@click.argument("why")
@name_option
@stream_option
@session_option
@json_option
def fail(phase: int, why: str, name: str, stream: str, session: str, *, as_json: bool) -> None:
    """Record that a phase failed, and why; every brief names it until it is validated."""
    workspace = open_sessions()
    failed = Phase(phase=phase, name=name.strip(), state=PhaseState.FAILED, detail=one_line(why))
    account = need_session(workspace, session)
    saved = save_phase(workspace, account, failed, stream=_name_stream(workspace, stream))
    _say_saved(*saved, failed, as_json=as_json)


class _Check(NamedTuple):
    """A test that was to run again, and how it ended."""

    test: RepeatedTest
    run: CommandRun

    @property
    def is_same(self) -> bool:
        """Whether it ended as it did."""
        return self.test.expected in {None, self.run.code}

    @property
    def named(self) -> str:
        """What the test is called in a sentence."""
        return "the test" if self.test.phase is None else f"the test of phase {self.test.phase}"


@checkpoint.command(short_help="Go on from the last checkpoint, if its tests still end as they did.")
@click.argument("stream", default="", metavar="[STREAM]")
@yes_option
@click.option("--anyway", is_flag=True, help="Go on though a test ends differently.")
@session_option
@json_option
def resume(stream: str, session: str, *, yes: bool, anyway: bool, as_json: bool) -> int:
    """Go on from the last checkpoint, if its tests still end as they did.

    STREAM is the name or the path of a stream document. What changed since is shown: branch, commits, files.
    The test of the last validated phase runs again, and so does the last recorded one if that is another,
    after you agreed or with --yes. If one exits with another code than then, nothing is resumed and the
    command exits with 1. Otherwise the first phase that is not validated is in progress from now on.
    """
    workspace = open_sessions()
    account = find_running(workspace, session)
    review = find_resume_point(workspace, account, _name_stream(workspace, stream))
    if not as_json:
        output.say(f"checkpoint: {review.listed.path}")
        for line in drift_lines(replace(review.drift, test=""), is_run=True):
            output.say(line)
    checks = _run_again(workspace, review.handoff, yes=yes, as_json=as_json)
    changed = next((one for one in checks if not one.is_same), None)
    if changed and not anyway:
        _say_changed(changed, checks, as_json=as_json)
        return 1
    ran = [RanTest(one.test.command, one.run.code, one.run.counted) for one in checks if one.run.code >= 0]
    account = resume_from(workspace, review, account or find_or_begin(workspace, session), ran)
    phase = find_next_phase(review.handoff)
    if phase is not None:
        begun = Phase(phase=phase.phase, name=phase.name, state=PhaseState.IN_PROGRESS)
        _, commit = save_phase(workspace, account, begun, stream=review.listed.path)
        note_commit(None if as_json else commit)
    _say_resumed(phase, checks, as_json=as_json)
    return 0


def _run_again(workspace: Workspace, handoff: Handoff, *, yes: bool, as_json: bool) -> Sequence[_Check]:
    """Run the tests of a checkpoint again, and say which of them cannot be."""
    tests = list_repeated(handoff)
    wanted = [one for one in tests if is_whole(one.command)]
    for one in tests:
        if one not in wanted:
            output.note(f"{one_line(one.command)} is not run: parts of it stayed on the machine where it ran")
    phase = find_last_validated(handoff)
    if phase and not wanted:
        output.note(f"{name_phase(phase)} could not be verified: no test of it is known here")
    runs = run_tests(workspace, [one.command for one in wanted], yes=yes, as_json=as_json)
    return [_Check(test, run) for test, run in zip(wanted, runs, strict=True)]


def _name_stream(workspace: Workspace, text: str) -> str:
    """Return the name of a stream, or the path of its document from the root, wherever we are called."""
    if not text.endswith(".md"):
        return text
    full = Path(os.path.normpath(current_folder() / text))
    full = Path(os.path.realpath(full.parent)) / full.name
    root = Path(os.path.realpath(workspace.root))
    path = full.relative_to(root).as_posix() if full.is_relative_to(root) else ""
    return path if path and workspace.documents.exists(path) else text.removeprefix("./")


@checkpoint.command(short_help="Show the phases of your session, or of a stream document.")
@click.argument("stream", default="", metavar="[STREAM]")
@session_option
@json_option
def show(stream: str, session: str, *, as_json: bool) -> None:
    """Show the phases of your session, or of a stream document, and where to go on.

    STREAM is the name or the path of a stream document.
    """
    workspace = open_sessions()
    account = find_running(workspace, session)
    progress = read_progress(workspace, account, _name_stream(workspace, stream))
    if as_json:
        output.say_json(_describe_progress(progress))
        return
    for one in (progress.checkpoint or Checkpoint()).phases:
        output.say(output.wrapped(write_phase(one), "", "  "))
    for line in _progress_lines(progress):
        output.say(output.wrapped(line, "", "  "))


def _progress_lines(progress: Stream) -> Iterator[str]:
    """Describe what was run, and where to go on; what is not known is left out."""
    checkpoint = progress.checkpoint or Checkpoint()
    state = checkpoint.validation or ValidationState()
    if state.last_test_command:
        how = [] if state.last_test_exit_code is None else [f"exit {state.last_test_exit_code}"]
        if state.test_count is not None and state.tests_passing is not None:
            how.append(CountedTests(state.test_count, state.tests_passing).text)
        yield f"test: {state.last_test_command}" + (f" ({', '.join(how)})" if how else "")
    if files := state.files_modified:
        more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
        yield f"files: {', '.join(files[:_FILES])}{more}"
    if progress.workflow.retries:
        yield f"retries: {progress.workflow.retries} of {progress.workflow.max_retries}"
    if progress.last_failure:
        yield f"last failure: {progress.last_failure}"
    yield from (f"{pair.key.lower()}: {pair.value}" for pair in checkpoint.resume)


def _describe_progress(progress: Stream) -> dict[str, object]:
    checkpoint = progress.checkpoint or Checkpoint()
    state = checkpoint.validation or ValidationState()
    return {
        "phases": [_describe(one) for one in checkpoint.phases],
        "now": progress.now or None,
        "retries": progress.workflow.retries,
        "max_retries": progress.workflow.max_retries,
        "last_failure": progress.last_failure or None,
        "validation": {
            "test_count": state.test_count,
            "tests_passing": state.tests_passing,
            "files_modified": list(state.files_modified),
            "last_test_command": state.last_test_command,
            "last_test_exit_code": state.last_test_exit_code,
        },
        "resume": {pair.key: pair.value for pair in checkpoint.resume},
    }


def _describe(phase: Phase) -> dict[str, object]:
    return {
        "phase": phase.phase,
        "name": phase.name or None,
        "state": phase.state.value,
        "detail": phase.detail or None,
    }


def _say_saved(saved: SavedCheckpoint, commit: str | None, phase: Phase, *, as_json: bool) -> None:
    names = {one.phase: one.name for one in phases_of(saved.update.account)}
    phase = replace(phase, name=phase.name or names.get(phase.phase, ""))
    if as_json:
        event = saved.written.event.id if saved.written else None
        output.say_json(
            {**_describe(phase), "stream": saved.stream or None, "event": event, "commit": commit}
        )
        return
    output.say(output.wrapped(write_phase(phase), "", "  "))
    if saved.stream:
        output.say(f"shown in {saved.stream}")
    note_commit(commit)


def _how_tests_ended(run: CommandRun) -> str:
    return ", ".join((how_it_ended(run), *((run.counted.text,) if run.counted else ())))


def _describe_check(one: _Check) -> dict[str, object]:
    return {
        "command": one.test.command,
        "phase": one.test.phase,
        "exit_code_then": one.test.expected,
        "exit_code_now": one.run.code,
    }


def _say_changed(changed: _Check, checks: Sequence[_Check], *, as_json: bool) -> None:
    if as_json:
        codes = {"exit_code_then": changed.test.expected, "exit_code_now": changed.run.code}
        output.say_json({"resumed": False, **codes, "tests": [_describe_check(one) for one in checks]})
        return
    now = (
        f"exited with {changed.test.expected} then, and with {changed.run.code} now"
        if changed.run.code >= 0
        else f"exited with {changed.test.expected} then, and now: {how_it_ended(changed.run)}"
    )
    output.note(f"not resumed: {changed.named} {now}")
    output.note_hint("find out why; to go on all the same: `passdown checkpoint resume --anyway`")


def _say_resumed(phase: Phase | None, checks: Sequence[_Check], *, as_json: bool) -> None:
    if as_json:
        following = _describe(phase) if phase else None
        tests = [_describe_check(one) for one in checks]
        output.say_json({"resumed": True, "next": following, "tests": tests})
        return
    output.say(f"go on with: {write_phase(phase)}" if phase else "all phases are validated")
