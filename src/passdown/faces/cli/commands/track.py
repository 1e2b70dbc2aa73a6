"""`passdown track`: bind a session to a track, unbind it, or finish the track."""

import click

from passdown.core.kinds import FactKind
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.handoff import as_data, say_handoff
from passdown.faces.cli.sessions import find_running, need_session, open_sessions
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
@_session_option
@_json_option
@click.pass_obj
def bind(above: bool, track: str, task: str, session: str, *, as_json: bool) -> None:
    """Work on a track, on a task, or both; without TRACK, the track stays as it is.

    If the session works on another track, a handoff is written and its ledger archived first.
    """
    if not (track or task):
        raise UsageError("name a track, a task, or both", hint="run `passdown track bind TRACK --task ID`")
    workspace = open_sessions()
    account = need_session(workspace, session)
    bound = (
        bind_track(workspace, account, track)
        if track
        else TrackBinding(account=account, before=account.track)
    )
    if task:
        bound = replace(bound, account=bind_task(workspace, bound.account, task))
    account = bound.account
    if bound.before != account.track:
        conflicts = find_conflicts(workspace, account.session, account.track)
        log_metrics(workspace.root, conflicts)
        for one in conflicts:
            output.note(f"{one.values['other_agent']} works on {account.track} too")
    if above or as_json:
        output.say_json(_bound_data(bound))
        return
    if bound.handoff:
        output.say(f"left {bound.before}: {bound.handoff.record}")
    word = "works on" if bound.before != account.track else "continues with"
    if track:
        output.say(f"{account.agent} {word} {account.track}")
    if task:
        output.say(f"{account.agent} has task {account.task}")
    decisions, files = len(account.of(FactKind.DECISION)), len(account.of(FactKind.FILE))
    output.say(f"ledger: {account.start.ledger} ({decisions} decisions, {files} files changed)")


def _bound_data(bound: TrackBinding) -> dict[str, object]:
    return {
        "session": bound.account.session,
        "agent": bound.account.agent,
        "track": bound.account.track or None,
        "task": bound.account.task or None,
        "before": bound.before or None,
        "handoff": as_data(bound.handoff) if bound.handoff else None,
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
@_session_option
@_json_option
@click.pass_obj
def finish(above: bool, session: str, *, keep: bool, as_json: bool) -> None:
    """Finish the track: write a handoff, unbind track and task, archive and remove the ledger."""
    workspace = open_sessions()
    bound = finish_track(workspace, need_session(workspace, session), keep=keep)
    if above or as_json:
        output.say_json(_bound_data(bound))
        return
    output.say(f"{bound.account.agent} finished {bound.before}")
    if bound.handoff:
        say_handoff(bound.handoff)
