"""`passdown ready`, `passdown blocked`, `passdown sync`: what the tracker has to do, wherever it is."""

import click

from passdown.core.coordination.tasks import Listing
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
@session_option
@json_option
def sync(session: str, *, as_json: bool) -> None:
    """Let the tracker exchange tasks with others.

    Beads writes its export or pulls and pushes, depending on its version; `push` below `[tracker]` allows
    what would push to a git remote. The board needs no exchange.
    """
    workspace = open_sessions()
    done = tracker_changes.sync(workspace, find_author(workspace, session))
    if as_json:
        output.say_json({"tracker": workspace.tracker.about.kind, "synced": done})
    else:
        output.say(f"Sync: {done}")


def list_ready(*, as_json: bool) -> None:
    """Print what can be claimed, or why nothing can; no answer is a warning (R194, C17)."""
    workspace = open_sessions()
    try:
        with tracker_changes.catch_up(workspace, find_author(workspace, "")):
            found = list_tasks(workspace, Listing.READY)
    except TrackerError as error:
        if not error.is_recoverable:
            raise
        _say_no_answer(error, as_json=as_json)
        return
    if as_json:
        output.say_json({"tasks": as_value(found), "warning": None})
    elif found:
        say_tasks(found)
    else:
        output.say("Nothing is ready to be claimed.")
        say_waiting(list_tasks(workspace, Listing.OPEN))


def _say_no_answer(error: TrackerError, *, as_json: bool) -> None:
    if as_json:
        output.say_json({"tasks": [], "warning": error.message})
    else:
        output.note(error.message)
        output.note_hint("whether anything is ready is not known; try again")


def list_blocked(*, as_json: bool) -> None:
    """Print what waits, and for what."""
    workspace = open_sessions()
    with tracker_changes.catch_up(workspace, find_author(workspace, "")):
        found = list_tasks(workspace, Listing.BLOCKED)
    if as_json:
        output.say_json({"tasks": as_value(found)})
    elif found:
        say_tasks(found)
    else:
        output.say("No task waits for anything.")
