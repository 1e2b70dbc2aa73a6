"""`passdown track`: bind a session to a track, unbind it, or finish the track."""

import click

from passdown.actions.answers import Answered
from passdown.actions.handover import tracks as actions
from passdown.actions.work.gates import GateOutcome
from passdown.actions.work.preflight import TrackRequest
from passdown.core.kinds import FactKind
from passdown.errors import UsageError
from passdown.faces.cli import calls, options, output
from passdown.faces.cli.calls import call
from passdown.faces.cli.commands.handoff import say_handoff
from passdown.faces.cli.commands.work.gate import say_verdict
from passdown.faces.cli.commands.work.preflight import (
    ask_about_lock,
    call_chosen,
    is_preflight_skipped,
    lock_options,
    read_lock_choice,
    say_lock_choices,
    skip_preflight_option,
)
from passdown.faces.cli.commands.work.tdd import read_choice, tdd_options
from passdown.faces.cli.coordination import HELD_CODE
from passdown.records import replace


@click.group(invoke_without_command=True)
@options.json
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Bind a session to a track, unbind it, or finish the track.

    Without a subcommand, shows the track of the running session.
    """
    if context.invoked_subcommand is None:
        _show("", as_json=as_json)


@command.command(short_help="Work on a track, on a task, or both.")
@click.argument("track", metavar="[TRACK]", default="")
@click.option("--task", default="", metavar="ID", help="The task, which the session has claimed.")
@tdd_options
@lock_options
@skip_preflight_option
@options.usual
def bind(track: str, task: str, session: str, *, as_json: bool) -> int:
    """Work on a track, on a task, or both; without TRACK, the track stays as it is.

    If the session works on another track, writes a handoff and archives its ledger first. The session follows
    the test-first cycle unless --no-tdd or the settings say otherwise.

    A session locks its track. Exits with 3 if another session holds it; repeat with --wait, --continue or
    --force.
    """
    if not (track or task):
        raise UsageError("name a track, a task, or both", hint="run `passdown track bind TRACK --task ID`")
    request = actions.BindRequest(
        track=track,
        task=task,
        choice=read_lock_choice(),
        follows_tdd=read_choice(),
        skips_preflight=is_preflight_skipped(),
    )
    answer, request = call_chosen(actions.bind, request, session)
    if isinstance(answer.result, actions.HeldTrack) and answer.result.choices:
        answer = _ask_about(answer, answer.result, request, session)
    found = calls.show(answer, lambda one: _say_bound(one, track, task), as_json=as_json)
    if isinstance(found, actions.HeldTrack):
        say_lock_choices(found.held)
        return HELD_CODE
    return 0


def _ask_about(
    answer: Answered[actions.BoundTrack | actions.HeldTrack],
    found: actions.HeldTrack,
    request: actions.BindRequest,
    session: str,
) -> Answered[actions.BoundTrack | actions.HeldTrack]:
    """Ask a person what to do about a track that another session has, and do it."""
    wanted = TrackRequest(track=request.track.strip(), agent=request.agent)
    steps, held = ask_about_lock(found, wanted, session)
    notable = {one.text: one.step for one in reversed(steps) if one.is_notable}
    for text, step in reversed(notable.items()):
        output.note(f"{step}: {text}")
    if held:
        return answer.with_result(replace(found, held=held))
    return call(actions.bind, replace(request, skips_preflight=True), session, is_first=False)


def _say_bound(found: actions.BoundTrack | actions.HeldTrack, track: str, task: str) -> None:
    if isinstance(found, actions.HeldTrack):
        return
    account = found.binding.account
    if found.handoff:
        output.say(f"left {found.before}: {found.handoff.record}")
    word = "works on" if found.before != found.track else "continues with"
    if track:
        output.say(f"{found.agent} {word} {found.track}")
    if task:
        output.say(f"{found.agent} works on task {found.task}")
    decisions = output.counted(len(account.of(FactKind.DECISION)), "decision")
    files = output.counted(len(account.of(FactKind.FILE)), "file")
    output.say(f"ledger: {account.start.ledger} ({decisions}, {files} changed)")


@command.command(short_help="Unbind the track and the task, or only the task.")
@click.option("--task", "only_task", is_flag=True, help="Unbind the task only; the track stays.")
@options.usual
def unbind(session: str, *, only_task: bool, as_json: bool) -> None:
    """Unbind the track and the task, or only the task; the ledger stays."""
    answer = call(actions.unbind, actions.UnbindRequest(only_task=only_task), session)
    calls.show(answer, lambda one: _say_unbound(one, only_task=only_task), as_json=as_json)


def _say_unbound(found: actions.BoundTrack, *, only_task: bool) -> None:
    if only_task and found.task_before:
        output.say(f"{found.agent} no longer works on task {found.task_before}")
    elif only_task:
        output.say(f"{found.agent} has no task")
    elif found.before:
        output.say(f"{found.agent} no longer works on {found.before}")
    else:
        output.say(f"{found.agent} has no track")


@command.command(short_help="Show the track of the running session.")
@options.usual
def show(session: str, *, as_json: bool) -> None:
    """Show the track and task of the running session, and the track's document."""
    _show(session, as_json=as_json)


def _show(session: str, *, as_json: bool) -> None:
    calls.show(call(actions.show, None, session), _say_track, as_json=as_json)


def _say_track(found: actions.TrackResult) -> None:
    if found.session is None:
        output.note("no session is running here")
        return
    output.say(f"track: {found.track or 'none'}")
    output.say(f"task: {found.task or 'none'}")
    if found.document:
        output.say(f"document: {found.document}")


@command.command(short_help="Finish the track: write a handoff and archive the ledger.")
@click.option("--keep", is_flag=True, help="Leave the ledger where it is.")
@click.option("--no-validate", is_flag=True, help="Skip the gate `completion`.")
@click.option("--validate-warn", is_flag=True, help="Only warn if the gate fails.")
@options.usual
def finish(session: str, *, keep: bool, no_validate: bool, validate_warn: bool, as_json: bool) -> int:
    """Finish the track: write a handoff, unbind track and task, archive and remove the ledger.

    A track with documents or gates must pass the gate `completion`: the plan is done, and everything is
    committed and pushed. With `[gates] mode = "full"` a failure stops the command, which exits with 1.
    """
    request = actions.FinishRequest(keeps_ledger=keep, skips_gate=no_validate, only_warns=validate_warn)
    answer = call(actions.finish, request, session)
    found = calls.show(answer, _say_finished, as_json=as_json)
    return 0 if isinstance(found, actions.BoundTrack) else 1


def _say_finished(found: actions.BoundTrack | GateOutcome | actions.WaitingGate) -> None:
    if isinstance(found, GateOutcome):
        say_verdict(found)
    elif isinstance(found, actions.WaitingGate):
        output.note("the gate completion waits for a person; run `passdown gate run completion` to see why")
    else:
        output.say(f"{found.agent} finished {found.before}")
        if found.handoff:
            say_handoff(found.handoff.written)
