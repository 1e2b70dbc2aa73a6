"""`passdown checkpoint`: start a phase, validate it or record its failure, and resume from it later."""

from collections.abc import Iterator
from typing import Final

import click

from passdown.actions.work import checkpoints as actions
from passdown.core.formats.checkpoints import LAST_PHASE, Phase, write_phase
from passdown.core.phases import PhaseState
from passdown.core.safe_text import one_line
from passdown.core.sessions.progress import name_phase
from passdown.core.test_counts import CountedTests
from passdown.faces.cli import calls, options, output
from passdown.faces.cli.calls import call
from passdown.faces.cli.commands.work.command_runs import choose_teller, need_agreement
from passdown.faces.cli.drift import drift_lines
from passdown.faces.cli.lifecycle import note_commit
from passdown.records import replace

_FILES: Final = 5
"""How many changed files `show` names."""

phase_argument = click.argument("phase", type=click.IntRange(1, LAST_PHASE))
name_option = click.option("--name", default="", metavar="NAME", help="The name of the phase.")
stream_option = click.option(
    "--stream", default="", metavar="NAME", help="The stream document to use, by its name or path."
)


@click.group(short_help="Save phases of work, and resume from them.")
def checkpoint() -> None:
    """Save phases of work, and resume from them.

    Phases are recorded in events and in the track's stream document
    (thoughts/shared/handoffs/TRACK/current.md), so that a later session, here or elsewhere, can resume at the
    first open one.
    """


@checkpoint.command(short_help="Start a phase.")
@phase_argument
@name_option
@stream_option
@options.usual
def start(phase: int, name: str, stream: str, session: str, *, as_json: bool) -> None:
    """Begin a phase, which is then in progress."""
    begun = Phase(phase=phase, name=name.strip(), state=PhaseState.IN_PROGRESS)
    request = actions.CheckpointRequest(phase=begun, stream=stream)
    calls.show(call(actions.save, request, session), _say_saved, as_json=as_json)


@checkpoint.command(short_help="Run the test of a phase; it is validated if the test passes.")
@phase_argument
@name_option
@click.option(
    "--test", "test", default="", metavar="COMMAND", help="The test command (default: the last one that ran)."
)
@options.yes
@options.usual
def validate(phase: int, name: str, test: str, session: str, *, yes: bool, as_json: bool) -> int:
    """Run the test of a phase, which is validated if the test passes, and failed otherwise.

    Shows the command, and runs it without a shell once you agree or with --yes. The number of passing tests
    is read from the output of known test runners. Exits with 1 if the test fails.
    """
    request = actions.ValidationRequest(
        phase=phase, name=name.strip(), test=test, told=choose_teller(as_json=as_json)
    )
    command = call(actions.plan_validation, request, session).result.command
    need_agreement([command], yes=yes, as_json=as_json)
    answer = call(actions.validate, replace(request, test=command), session, is_first=False)
    found = calls.show(answer, _say_saved, as_json=as_json)
    return 0 if found.phase.state is PhaseState.VALIDATED else 1


@checkpoint.command(short_help="Record that a phase failed, and why.")
@phase_argument
@click.argument("why")
@name_option
@stream_option
@options.usual
def fail(phase: int, why: str, name: str, stream: str, session: str, *, as_json: bool) -> None:
    """Record that a phase failed, and why; every brief shows that until it is validated."""
    failed = Phase(phase=phase, name=name.strip(), state=PhaseState.FAILED, detail=one_line(why))
    request = actions.CheckpointRequest(phase=failed, stream=stream)
    calls.show(call(actions.save, request, session), _say_saved, as_json=as_json)


@checkpoint.command(short_help="Resume from the last checkpoint if its test still gives the same result.")
@click.argument("stream", default="", metavar="[STREAM]")
@options.yes
@click.option("--anyway", is_flag=True, help="Resume even if a test gives a different result.")
@options.usual
def resume(stream: str, session: str, *, yes: bool, anyway: bool, as_json: bool) -> int:
    """Resume from the last checkpoint if its test still gives the same result.

    STREAM is the name or path of a stream document. Shows what changed since: branch, commits, files. Runs
    the test of the last validated phase again, and the last recorded test if that is another, once you agree
    or with --yes. If one exits with a different code than before, nothing is resumed and the command exits
    with 1. Otherwise the first phase that is not validated becomes the one in progress.
    """
    request = actions.ResumeRequest(stream=stream, goes_on=anyway, told=choose_teller(as_json=as_json))
    point = call(actions.plan_resume, request, session).result
    _say_point(point, as_json=as_json)
    tests = [one.command for one in point.tests]
    need_agreement(tests, yes=yes, as_json=as_json)
    answer = call(actions.resume, replace(request, agreed=tests), session, is_first=False)
    found = calls.show(answer, _say_resumed, as_json=as_json)
    return 0 if found.resumed else 1


def _say_point(point: actions.ResumePoint, *, as_json: bool) -> None:
    """Print what changed since a checkpoint, and which of its tests cannot be run again."""
    if not as_json:
        output.say(f"checkpoint: {point.path}")
        for line in drift_lines(replace(point.drift, test=""), is_run=True):
            output.say(line)
    for command in point.left_out:
        output.note(f"not running {one_line(command)}: parts of it were left out when it was shared")
    if point.validated and not point.tests:
        output.note(f"could not verify {name_phase(point.validated)}: no test is known for it here")


def _say_resumed(found: actions.ResumedCheckpoint | actions.ChangedCheckpoint) -> None:
    if isinstance(found, actions.ResumedCheckpoint):
        note_commit(found.commit)
        output.say(f"continue with: {write_phase(found.next)}" if found.next else "all phases are validated")
        return
    one = found.changed
    named = "the test" if one.phase is None else f"the test of phase {one.phase}"
    now = f"now with {one.exit_code_now}" if one.exit_code_now >= 0 else f"now: {one.ended}"
    output.note(f"not resumed: {named} exited with {one.exit_code_then} before, {now}")
    output.note_hint("find out why, or resume anyway: `passdown checkpoint resume --anyway`")


@checkpoint.command(short_help="Show the phases of your session or of a stream document.")
@click.argument("stream", default="", metavar="[STREAM]")
@options.usual
def show(stream: str, session: str, *, as_json: bool) -> None:
    """Show the phases of your session, or of a stream document, and where to resume.

    STREAM is the name or path of a stream document.
    """
    calls.show(call(actions.show, stream, session), _say_progress, as_json=as_json)


def _say_progress(found: actions.ProgressResult) -> None:
    for one in found.phases:
        output.say(output.wrapped(write_phase(one), "", "  "))
    for line in _progress_lines(found):
        output.say(output.wrapped(line, "", "  "))


def _progress_lines(found: actions.ProgressResult) -> Iterator[str]:
    """Describe what was run and where to resume; leave out what is not known."""
    state = found.validation
    if state.last_test_command:
        how = [] if state.last_test_exit_code is None else [f"exit {state.last_test_exit_code}"]
        if state.test_count is not None and state.tests_passing is not None:
            how.append(CountedTests(state.test_count, state.tests_passing).text)
        yield f"test: {state.last_test_command}" + (f" ({', '.join(how)})" if how else "")
    if files := state.files_modified:
        more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
        yield f"files: {', '.join(files[:_FILES])}{more}"
    if found.retries:
        yield f"retries: {found.retries} of {found.max_retries}"
    if found.last_failure:
        yield f"last failure: {found.last_failure}"
    yield from (f"{pair.key.lower()}: {pair.value}" for pair in found.resume)


def _say_saved(found: actions.CheckpointResult) -> None:
    output.say(output.wrapped(write_phase(found.phase), "", "  "))
    if found.stream:
        output.say(f"updated {found.stream}")
    note_commit(found.commit)
