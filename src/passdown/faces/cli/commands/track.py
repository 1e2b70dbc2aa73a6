"""`passdown track`: bind a session to a track, let go of it, finish it."""

import click

from passdown.core.facts import FactKind
from passdown.faces.cli import output
from passdown.faces.cli.commands.handoff import as_data, say_handoff
from passdown.faces.cli.sessions import find_running, need_session, open_sessions
from passdown.services.tracks import Bound, bind_track, find_document, finish_track, unbind_track

_json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
_session_option = click.option("--session", default="", metavar="ID", help="The session that is meant.")


@click.group(invoke_without_command=True)
@_json_option
@click.pass_context
def command(context: click.Context, *, as_json: bool) -> None:
    """Bind a session to a track, let go of it, or finish it.

    Without a verb the track of the session that runs is shown.
    """
    context.obj = as_json
    if context.invoked_subcommand is None:
        _show("", as_json=as_json)


@command.command(short_help="Work on a track.")
@click.argument("track", metavar="TRACK")
@_session_option
@_json_option
@click.pass_obj
def bind(above: bool, track: str, session: str, *, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """Work on a track.

    If the session works on another one, what it knew is handed over and its ledger archived first.
    """
    project = open_sessions()
    bound = bind_track(project, need_session(project, session), track)
    if above or as_json:
        output.say_json(_bound_data(bound))
        return
    account = bound.account
    if bound.handoff:
        output.say(f"left {bound.before}: {bound.handoff.record}")
    word = "works on" if bound.before != account.track else "goes on with"
    output.say(f"{account.agent} {word} {account.track}")
    decisions, files = len(account.of(FactKind.DECISION)), len(account.of(FactKind.FILE))
    output.say(f"ledger: {account.start.ledger} ({decisions} decisions, {files} files changed)")


def _bound_data(bound: Bound) -> dict[str, object]:
    return {
        "session": bound.account.session,
        "agent": bound.account.agent,
        "track": bound.account.track or None,
        "task": bound.account.task or None,
        "before": bound.before or None,
        "handoff": as_data(bound.handoff) if bound.handoff else None,
    }


@command.command(short_help="Let go of the track.")
@_session_option
@_json_option
@click.pass_obj
def unbind(above: bool, session: str, *, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """Let go of the track and of the task; the ledger stays."""
    project = open_sessions()
    bound = unbind_track(project, need_session(project, session))
    if above or as_json:
        output.say_json(_bound_data(bound))
    elif bound.before:
        output.say(f"{bound.account.agent} no longer works on {bound.before}")
    else:
        output.say(f"{bound.account.agent} works on no track")


@command.command(short_help="Show the track of the session that runs.")
@_session_option
@_json_option
@click.pass_obj
def show(above: bool, session: str, *, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """Show the track and the task of the session that runs, and the document of the track."""
    _show(session, as_json=above or as_json)


def _show(session: str, *, as_json: bool) -> None:
    project = open_sessions()
    account = find_running(project, session)
    listed = find_document(project, account) if account else None
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
        output.note("no session runs here")
    else:
        output.say(f"track: {account.track or 'none'}")
        output.say(f"task: {account.task or 'none'}")
        if listed:
            output.say(f"document: {listed.path}")


@command.command(short_help="Finish the track: hand over and archive the ledger.")
@click.option("--keep", is_flag=True, help="Leave the ledger where it is.")
@_session_option
@_json_option
@click.pass_obj
def finish(above: bool, session: str, *, keep: bool, as_json: bool) -> None:  # noqa: FBT001 - click passes it so
    """Finish the track: write a handoff, let go of track and task, archive the ledger and remove it."""
    project = open_sessions()
    bound = finish_track(project, need_session(project, session), keep=keep)
    if above or as_json:
        output.say_json(_bound_data(bound))
        return
    output.say(f"{bound.account.agent} finished {bound.before}")
    if bound.handoff:
        say_handoff(bound.handoff)
