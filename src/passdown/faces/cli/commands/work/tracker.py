"""`passdown ready`, `passdown blocked`, `passdown sync`: list the tasks of the tracker, and sync it."""

import click

from passdown.actions.work import tracker as actions
from passdown.core.coordination.tasks import Listing
from passdown.faces.cli import options, output
from passdown.faces.cli.calls import call, show
from passdown.faces.cli.coordination import say_tasks, say_waiting


@click.command(short_help="List the tasks you can claim now.")
@options.json
def ready(*, as_json: bool) -> None:
    """List the tasks you can claim now; same as `task ready`.

    They stand in the order in which they are claimed. If there is none, prints what the others wait for.
    """
    list_ready(as_json=as_json)


@click.command(short_help="List the tasks that wait, and for what.")
@options.json
def blocked(*, as_json: bool) -> None:
    """List the tasks that wait, and for what; same as `task blocked`.

    A task waits for other tasks, or for something outside the tracker.
    """
    list_blocked(as_json=as_json)


@click.command(short_help="Sync the tracker with its remote.")
@click.option(
    "--drop", "dropped", default="", metavar="ID", help="Drop a queued change, and do nothing else."
)
@options.usual
def sync(session: str, dropped: str, *, as_json: bool) -> None:
    """Sync the tracker with its remote.

    Beads writes its export, or pulls and pushes, depending on its version; `push` under `[tracker]` allows
    pushing to a git remote. Passdown's own board has no remote.

    A change that the tracker does not accept is queued, and every command that reaches the tracker tries it
    again. `passdown status` lists queued changes; `--drop` drops one, by its id in `passdown status --json`.
    """
    if dropped:
        show(call(actions.drop, dropped, session), _say_dropped, as_json=as_json)
    else:
        answer = call(actions.sync, None, session)
        show(answer, lambda found: output.say(f"Sync: {found.synced}"), as_json=as_json)


def _say_dropped(found: actions.DroppedChange) -> None:
    output.say(f"Dropped: {found.said}")
    for line in found.note.splitlines():
        output.say(f"  > {line}")


def list_ready(*, as_json: bool) -> None:
    """Print what can be claimed, or why nothing can; an unreachable tracker is a warning (R194, C17)."""
    found = _show_listed(
        actions.ListingRequest(listing=Listing.READY, tells_waiting=not as_json), as_json=as_json
    )
    if as_json or found.warning or found.tasks:
        return
    output.say("No task is ready.")
    say_waiting(found.waiting)
    if found.unknown:
        output.note(f"could not find out what the others wait for: {found.unknown}")


def list_blocked(*, as_json: bool) -> None:
    """Print the tasks that wait, and what they wait for."""
    say_listed(Listing.BLOCKED, "No task is blocked.", as_json=as_json)


def say_listed(listing: Listing, none: str, *, as_json: bool) -> None:
    """Print a list of tasks, or `none` if there are no tasks."""
    found = _show_listed(actions.ListingRequest(listing=listing), as_json=as_json)
    if not (as_json or found.warning or found.tasks):
        output.say(none)


def _show_listed(request: actions.ListingRequest, *, as_json: bool) -> actions.ListedTasks:
    return show(call(actions.list_known, request), _say_tasks, as_json=as_json)


def _say_tasks(found: actions.ListedTasks) -> None:
    if found.warning:
        output.note(found.warning)
        output.note_hint("the tasks could not be listed; try again")
    else:
        say_tasks(found.tasks)
