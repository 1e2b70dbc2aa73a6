"""`passdown checkpoint`: begin a phase, validate it, let it fail, and go on from it after a break."""

import click

from passdown.core.formats.checkpoints import LAST_PHASE, Phase, write_phase
from passdown.core.phases import PhaseState
from passdown.core.safe_text import one_line
from passdown.core.sessions.progress import phases_of
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.work.command_runs import how_it_ended, run_test, yes_option
from passdown.faces.cli.coordination import json_option, session_option
from passdown.faces.cli.drift import drift_lines
from passdown.faces.cli.lifecycle import note_commit, save_phase
from passdown.faces.cli.sessions import find_running, need_session, open_sessions
from passdown.records import replace
from passdown.services.work.checkpoints import (
    SavedCheckpoint,
    find_next_phase,
    find_resume_point,
    find_test,
    resume_from,
)
from passdown.services.work.plan_commands import CommandRun

phase_argument = click.argument("phase", type=click.IntRange(1, LAST_PHASE))
name_option = click.option("--name", default="", metavar="NAME", help="The name of the phase.")
stream_option = click.option("--stream", default="", metavar="NAME", help="The stream document to use.")


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
    saved = save_phase(workspace, need_session(workspace, session), begun, stream=stream)
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

    The command is shown, and runs without a shell after you agreed or with --yes. Exits with 1 if it fails.
    """
    workspace = open_sessions()
    account = need_session(workspace, session)
    command = test or find_test(workspace, account)
    if not command:
        raise UsageError(
            "no test is known", hint="name it: `passdown checkpoint validate PHASE --test COMMAND`"
        )
    run = run_test(workspace, command, yes=yes, as_json=as_json)
    failure = "" if run.has_passed else f"{one_line(command)}: {how_it_ended(run)}"
    state = PhaseState.VALIDATED if run.has_passed else PhaseState.FAILED
    ended = Phase(phase=phase, name=name.strip(), state=state, detail=failure)
    saved = save_phase(workspace, account, ended, test=(command, run.code))
    _say_saved(*saved, ended, as_json=as_json)
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
    saved = save_phase(workspace, need_session(workspace, session), failed, stream=stream)
    _say_saved(*saved, failed, as_json=as_json)


@checkpoint.command(short_help="Go on from the last checkpoint, if its test still ends as it did.")
@click.argument("stream", default="", metavar="[STREAM]")
@yes_option
@click.option("--anyway", is_flag=True, help="Go on though the test ends differently.")
@session_option
@json_option
def resume(stream: str, session: str, *, yes: bool, anyway: bool, as_json: bool) -> int:
    """Go on from the last checkpoint, if its test still ends as it did.

    What changed since is shown: branch, commits, files. The recorded test runs again, after you agreed or
    with --yes; if it exits with another code than then, nothing is resumed and the command exits with 1.
    """
    workspace = open_sessions()
    account = find_running(workspace, session)
    review = find_resume_point(workspace, account, stream)
    test, code = review.handoff.test, review.handoff.test_exit
    if not as_json:
        output.say(f"checkpoint: {review.listed.path}")
        for line in drift_lines(replace(review.drift, test=""), is_run=True):
            output.say(line)
    run = run_test(workspace, test, yes=yes, as_json=as_json) if test else None
    is_same = run is None or code is None or run.code == code
    if not (is_same or anyway):
        _say_changed(code, run, as_json=as_json)
        return 1
    resume_from(workspace, review, account)
    _say_resumed(find_next_phase(review.handoff), as_json=as_json)
    return 0


@checkpoint.command(short_help="Show the phases of your session, or of a stream document.")
@click.argument("stream", default="", metavar="[STREAM]")
@session_option
@json_option
def show(stream: str, session: str, *, as_json: bool) -> None:
    """Show the phases of your session, or of a stream document."""
    workspace = open_sessions()
    account = find_running(workspace, session)
    phases = phases_of(account) if account and not stream else ()
    if not phases:
        phases = find_resume_point(workspace, account, stream).handoff.phases
    if as_json:
        output.say_json({"phases": [_describe(one) for one in phases]})
        return
    for one in phases:
        output.say(output.wrapped(write_phase(one), "", "  "))


def _describe(phase: Phase) -> dict[str, object]:
    return {
        "phase": phase.phase,
        "name": phase.name or None,
        "state": phase.state.value,
        "detail": phase.detail or None,
    }


def _say_saved(saved: SavedCheckpoint, commit: str | None, phase: Phase, *, as_json: bool) -> None:
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


def _say_changed(then: int | None, run: CommandRun | None, *, as_json: bool) -> None:
    now = run.code if run else None
    if as_json:
        output.say_json({"resumed": False, "exit_code_then": then, "exit_code_now": now})
        return
    output.note(f"not resumed: the test exited with {then} then, and with {now} now")
    output.note_hint("find out why; to go on all the same: `passdown checkpoint resume --anyway`")


def _say_resumed(phase: Phase | None, *, as_json: bool) -> None:
    if as_json:
        output.say_json({"resumed": True, "next": _describe(phase) if phase else None})
        return
    output.say(f"go on with: {write_phase(phase)}" if phase else "all phases are validated")
