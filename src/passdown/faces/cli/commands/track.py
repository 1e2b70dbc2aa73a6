"""`passdown track`: bind a session to a track, unbind it, or finish the track."""

from typing import Final

import click

from passdown.actions.answers import encode
from passdown.actions.handoffs import describe_written
from passdown.core.coordination.leases import Held
from passdown.core.kinds import FactKind
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.handoff import say_handoff
from passdown.faces.cli.commands.work.gate import say_verdict
from passdown.faces.cli.commands.work.preflight import (
    lock_options,
    prepare_track,
    say_lock_choices,
    skip_preflight_option,
    unlock_others,
)
from passdown.faces.cli.commands.work.tdd import read_choice, tdd_options
from passdown.faces.cli.coordination import HELD_CODE, as_value
from passdown.faces.cli.sessions import choose_session, find_running, need_session, open_sessions
from passdown.faces.hooks.hook_log import log_metrics
from passdown.records import replace
from passdown.services.handover.tracks import (
    TrackBinding,
    bind_task,
    bind_track,
    find_document,
    finish_track,
    unbind_track,
)
from passdown.services.project.metrics import find_conflicts
from passdown.services.work.gates import (
    JudgedGate,
    judge_completion,
    needs_completion,
)
from passdown.services.work.tdd import choose_cycle

_COMPLETION: Final = "completion"

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_session_option = click.option("--session", default="", metavar="ID", help="The session to use.")


@click.group(invoke_without_command=True)
@_json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Bind a session to a track, unbind it, or finish the track.

    Without a subcommand, shows the track of the running session.
    """
    context.obj = as_json
    if context.invoked_subcommand is None:
        _show("", as_json=as_json)


@command.command(short_help="Work on a track, on a task, or both.")
@click.argument("track", metavar="[TRACK]", default="")
@click.option("--task", default="", metavar="ID", help="The task that the session has claimed.")
@tdd_options
@lock_options
@skip_preflight_option
@_session_option
@_json_option
@click.pass_obj
def bind(above: bool, track: str, task: str, session: str, *, as_json: bool) -> int:
    """Work on a track, on a task, or both; without TRACK, the track stays as it is.

    If the session works on another track, a handoff is written and its ledger archived first. The phases of
    the test-first cycle are followed unless --no-tdd or the settings say otherwise.

    A session locks its track. Exits with 3 if another session has it: repeat with --wait, --continue or
    --force.
    """
    if not (track or task):
        raise UsageError("name a track, a task, or both", hint="run `passdown track bind TRACK --task ID`")
    choice = read_choice()
    workspace = open_sessions()
    account = choose_session(workspace, session)
    account, held = prepare_track(workspace, account, track.strip() or account.track)
    if held:
        return _say_held(held, as_json=above or as_json)
    bound = (
        bind_track(workspace, account, track)
        if track
        else TrackBinding(account=account, before=account.track)
    )
    unlock_others(workspace, bound.account)
    if task:
        bound = replace(bound, account=bind_task(workspace, bound.account, task))
    account, skipped = choose_cycle(workspace, bound.account, choice=choice)
    bound = replace(bound, account=account)
    if skipped:
        output.note(skipped)
    if bound.before != account.track:
        conflicts = find_conflicts(workspace, account.session, account.track)
        log_metrics(workspace.root, conflicts)
        for one in conflicts:
            output.note(f"{one.values['other_agent']} works on {account.track} too")
    if above or as_json:
        output.say_json(_bound_data(bound))
    else:
        _say_bound(bound, track, task)
    return 0


def _say_held(held: Held, *, as_json: bool) -> int:
    if as_json:
        output.say_json({"held": as_value(held)})
    say_lock_choices(held)
    return HELD_CODE


def _say_bound(bound: TrackBinding, track: str, task: str) -> None:
    account = bound.account
    if bound.handoff:
        output.say(f"left {bound.before}: {bound.handoff.record}")
    word = "works on" if bound.before != account.track else "continues with"
    if track:
        output.say(f"{account.agent} {word} {account.track}")
    if task:
        output.say(f"{account.agent} has task {account.task}")
    decisions = output.counted(len(account.of(FactKind.DECISION)), "decision")
    files = output.counted(len(account.of(FactKind.FILE)), "file")
    output.say(f"ledger: {account.start.ledger} ({decisions}, {files} changed)")


def _bound_data(bound: TrackBinding) -> dict[str, object]:
    return {
        "session": bound.account.session,
        "agent": bound.account.agent,
        "track": bound.account.track or None,
        "task": bound.account.task or None,
        "before": bound.before or None,
        "handoff": encode(describe_written(bound.handoff)) if bound.handoff else None,
    }


@command.command(short_help="Unbind the track and the task, or only the task.")
@click.option("--task", "only_task", is_flag=True, help="Unbind the task only; the track stays.")
@_session_option
@_json_option
@click.pass_obj
def unbind(above: bool, session: str, *, only_task: bool, as_json: bool) -> None:
    """Unbind the track and the task, or only the task; the ledger stays."""
    workspace = open_sessions()
    account = need_session(workspace, session)
    if only_task:
        bound = TrackBinding(account=bind_task(workspace, account, ""), before=account.track)
    else:
        bound = unbind_track(workspace, account)
    unlock_others(workspace, bound.account)
    if above or as_json:
        output.say_json(_bound_data(bound))
    elif only_task and account.task:
        output.say(f"{account.agent} no longer has task {account.task}")
    elif only_task:
        output.say(f"{account.agent} has no task")
    elif bound.before:
        output.say(f"{bound.account.agent} no longer works on {bound.before}")
    else:
        output.say(f"{bound.account.agent} has no track")


@command.command(short_help="Show the track of the running session.")
@_session_option
@_json_option
@click.pass_obj
def show(above: bool, session: str, *, as_json: bool) -> None:
    """Show the track and the task of the running session, and the document of the track."""
    _show(session, as_json=above or as_json)


def _show(session: str, *, as_json: bool) -> None:
    workspace = open_sessions()
    account = find_running(workspace, session)
    listed = find_document(workspace, account) if account else None
    if as_json:
        output.say_json(
            {
                "session": account.session if account else None,
                "track": account.track or None if account else None,
                "task": account.task or None if account else None,
                "document": listed.path if listed else None,
            }
        )
    elif account is None:
        output.note("no session is running here")
    else:
        output.say(f"track: {account.track or 'none'}")
        output.say(f"task: {account.task or 'none'}")
        if listed:
            output.say(f"document: {listed.path}")


@command.command(short_help="Finish the track: write a handoff and archive the ledger.")
@click.option("--keep", is_flag=True, help="Leave the ledger where it is.")
@click.option("--no-validate", is_flag=True, help="Do not judge the gate `completion`.")
@click.option("--validate-warn", is_flag=True, help="Let a failed gate be a warning.")
@_session_option
@_json_option
@click.pass_context
def finish(
    context: click.Context, session: str, *, keep: bool, no_validate: bool, validate_warn: bool, as_json: bool
) -> int:
    """Finish the track: write a handoff, unbind track and task, archive and remove the ledger.

    A track with papers or gates is finished through the gate `completion`: the plan is done, everything is
    committed and pushed. With `[gates] mode = "full"` a failure stops it, and this exits with 1.
    """
    workspace = open_sessions()
    account = need_session(workspace, session)
    is_json = as_json or context.obj is True
    if account.track and not no_validate and needs_completion(workspace, account):
        judged = judge_completion(workspace, account, only_warn=validate_warn)
        if judged is None or judged.verdict.stops:
            return _say_stopped(judged, as_json=is_json)
        output.note(f"completion: {judged.verdict.status.value} {judged.verdict.notes}".rstrip())
        account = judged.account
    bound = finish_track(workspace, account, keep=keep)
    unlock_others(workspace, bound.account)
    if is_json:
        output.say_json(_bound_data(bound))
        return 0
    output.say(f"{bound.account.agent} finished {bound.before}")
    if bound.handoff:
        say_handoff(bound.handoff)
    return 0


def _say_stopped(judged: JudgedGate | None, *, as_json: bool) -> int:
    if judged is not None:
        return say_verdict(judged, as_json=as_json)
    if as_json:
        output.say_json({"gate": _COMPLETION, "status": None})
    else:
        output.note("completion waits for a person: see `passdown gate run completion`")
    return 1
