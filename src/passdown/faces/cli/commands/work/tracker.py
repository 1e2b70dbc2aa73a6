"""`passdown ready`, `passdown blocked`, `passdown sync`: what the tracker has to do, wherever it is."""

from collections.abc import Sequence

import click

from passdown.core.coordination.tasks import Listing, TaskState
from passdown.core.work.operations import describe_operation
from passdown.errors import TrackerError
from passdown.faces.cli import output
from passdown.faces.cli.coordination import (
    as_value,
    find_author,
    json_option,
    say_tasks,
    say_waiting,
    session_option,
)
from passdown.faces.cli.sessions import open_sessions
from passdown.services.coordination.tasks import list_tasks
from passdown.services.work import tracker_changes
from passdown.services.workspace.workspaces import Workspace


@click.command(short_help="List the tasks that can be claimed now.")
@json_option
def ready(*, as_json: bool) -> None:
    """List the tasks that can be claimed now.

    The first to be claimed stands first. If there is none, it says what the others wait for.
    """
    list_ready(as_json=as_json)


@click.command(short_help="List the tasks that wait, and what they wait for.")
@json_option
def blocked(*, as_json: bool) -> None:
    """List the tasks that wait, and what they wait for.

    A task waits for other tasks, or for something outside.
    """
    list_blocked(as_json=as_json)


@click.command(short_help="Let the tracker exchange tasks with others.")
@click.option(
    "--drop", "dropped", default="", metavar="ID", help="Drop a queued change, and do nothing else."
)
@session_option
@json_option
def sync(session: str, dropped: str, *, as_json: bool) -> None:
    """Let the tracker exchange tasks with others.

    Beads writes its export or pulls and pushes, depending on its version; `push` below `[tracker]` allows
    what would push to a git remote. The board needs no exchange.

    A change that the tracker does not take waits, and every command that reaches the tracker tries it again.
    `passdown status` lists what waits; `--drop` gives one up, by the id in `passdown status --json`.
    """
    workspace = open_sessions()
    if dropped:
        _drop(workspace, session, dropped, as_json=as_json)
        return
    done = tracker_changes.sync(workspace, find_author(workspace, session))
    if as_json:
        output.say_json({"tracker": workspace.tracker.about.kind, "synced": done})
    else:
        output.say(f"Sync: {done}")


def _drop(workspace: Workspace, session: str, name: str, *, as_json: bool) -> None:
    dropped = tracker_changes.drop_change(workspace, find_author(workspace, session), name)
    if as_json:
        output.say_json({"dropped": describe_operation(dropped, workspace.now())})
        return
    output.say(f"Dropped: {dropped.said}")
    for line in dropped.note.splitlines():
        output.say(f"  > {line}")


def list_ready(*, as_json: bool) -> None:
    """Print what can be claimed, or why nothing can; no answer is a warning (R194, C17)."""
    workspace = open_sessions()
    if say_listed(workspace, Listing.READY, as_json=as_json):
        return
    output.say("Nothing is ready to be claimed.")
    try:
        say_waiting(list_tasks(workspace, Listing.OPEN))
    except TrackerError as error:
        output.note(f"what the others wait for is not known: {error.message}")


def say_listed(workspace: Workspace, listing: Listing, *, as_json: bool) -> bool:
    """Print a list of tasks; return False if there are none, which the caller says.

    The tracker is asked once. If it does not answer, that is a warning, and the exit code is 0 (R194, C148);
    one that is not installed, or too old, is an error.
    """
    is_open, warning = False, ""
    found: Sequence[TaskState] = ()
    with tracker_changes.catch_up(workspace, find_author(workspace, "")):
        try:
            is_open = bool(workspace.tracker.about.name)
            found = list_tasks(workspace, listing)
        except TrackerError as error:
            if not (is_open or error.is_recoverable):
                raise
            warning = error.message
    if as_json:
        output.say_json({"tasks": as_value(found), "warning": warning or None})
    elif warning:
        output.note(warning)
        output.note_hint("which tasks there are is not known; try again")
    else:
        say_tasks(found)
    return bool(as_json or warning or found)


def list_blocked(*, as_json: bool) -> None:
    """Print what waits, and for what."""
    workspace = open_sessions()
    if not say_listed(workspace, Listing.BLOCKED, as_json=as_json):
        output.say("No task waits for anything.")
