"""`passdown task`: add tasks, list them, and change them."""

from typing import Any

import click

from passdown.actions.answers import Answered, encode
from passdown.actions.coordination import tasks as actions
from passdown.core.coordination.leases import Lost
from passdown.core.coordination.tasks import Listing
from passdown.faces.cli import calls, options, output
from passdown.faces.cli.commands.work.tracker import list_blocked, list_ready, say_listed
from passdown.faces.cli.coordination import HELD_CODE, describe_task, say_lost, say_queued
from passdown.faces.cli.options import call_shared

_priority = click.option(
    "--priority", type=int, default=None, metavar="0-4", help="The priority; 0 is the most urgent."
)
_role = click.option("--role", default=None, metavar="ROLE", help="The role it is for.")
_body = click.option("--body", default=None, metavar="TEXT", help="More about the task.")


@click.group("task", short_help="Add, list and change tasks.")
def task() -> None:
    """Add, list and change tasks.

    `passdown claim` takes one, `passdown close` finishes it.
    """


@task.command(short_help="Add a task.")
@click.argument("title")
@click.option("--id", "name", default="", metavar="ID", help="The task's id (default: a short new one).")
@click.option(
    "--after", multiple=True, metavar="ID", help="A task that must be closed first; may be repeated."
)
@_priority
@_role
@_body
@options.changing
@click.pass_context
def add(context: click.Context, /, session: str, *, as_json: bool, **_: object) -> None:
    """Add a task."""
    request = actions.NewTaskRequest(**_read_about(context))
    _say_task(call_shared(actions.add, request, session), "added", as_json=as_json)


@task.command(short_help="List the tasks you can claim now.")
@options.json
def ready(*, as_json: bool) -> None:
    """List the tasks you can claim now, in the order in which they are claimed."""
    list_ready(as_json=as_json)


@task.command(short_help="List the tasks that wait, and for what.")
@options.json
def blocked(*, as_json: bool) -> None:
    """List the tasks that wait for another task, or for something outside the tracker."""
    list_blocked(as_json=as_json)


@task.command("list", short_help="List the open tasks, or all.")
@click.option("--all", "show_all", is_flag=True, help="Also list closed tasks.")
@options.json
def list_(*, show_all: bool, as_json: bool) -> None:
    """List the open tasks with their holders, or all tasks."""
    none = 'No tasks. Add one with `passdown task add "TITLE"`.'
    say_listed(Listing.ALL if show_all else Listing.OPEN, none, as_json=as_json)


@task.command(short_help="Show a task.")
@click.argument("name", metavar="ID")
@options.json
def show(name: str, *, as_json: bool) -> None:
    """Show a task with its holder, what it waits for, and its closing notes."""
    calls.show(calls.call(actions.show, name), _say_shown, as_json=as_json)


def _say_shown(found: actions.ShownTask) -> None:
    shown = found.task.task
    output.say(f"{shown.task} {shown.title}")
    for_whom = f", for {shown.role}" if shown.role else ""
    output.say(f"  {describe_task(found.task)}, priority {shown.priority}{for_whom}")
    for text in (shown.body, shown.note):
        for line in text.splitlines():
            output.say(f"  > {line}")


@task.command(short_help="Add a note to a task.")
@click.argument("name", metavar="ID")
@click.argument("text")
@options.changing
def note(name: str, text: str, session: str, *, as_json: bool) -> None:
    """Add TEXT to the notes of a task.

    If the tracker does not answer, the note is queued, and the next command that reaches the tracker adds it.
    """
    answer = call_shared(actions.note, actions.NoteRequest(name=name, text=text), session)
    said = f"Note queued: {name}" if answer.result.waiting else f"Noted: {name}"
    calls.show(answer, lambda _: output.say(said), as_json=as_json)


@task.command(short_help="Make a task depend on another.")
@click.argument("name", metavar="ID")
@click.argument("by", metavar="OTHER")
@options.changing
def block(name: str, by: str, session: str, *, as_json: bool) -> None:
    """Make a task depend on another: it waits until that one is closed."""
    answer = call_shared(actions.block, actions.BlockRequest(name=name, by=by), session)
    calls.show(answer, lambda found: output.say(f"{found.task.task} now waits for {by}"), as_json=as_json)


@task.command("give-back", short_help="Give back a task, so that others can claim it.")
@click.argument("name", metavar="ID")
@options.changing
def give_back(name: str, session: str, *, as_json: bool) -> int:
    """Give back a task, so that others can claim it; its files stay reserved."""
    answer = call_shared(actions.give_back, name, session)
    found = answer.result
    if isinstance(found, Lost):
        say_lost(found)
    elif found is None:
        say_queued(name)
    elif as_json:
        output.say_json(encode(found))
    else:
        output.say(f"gave back {found.task.task} {found.task.title}")
    calls.settle(answer)
    return HELD_CODE if isinstance(found, Lost) else 0


@task.command(short_help="Change a task.")
@click.argument("name", metavar="ID")
@click.option("--title", default=None, metavar="TEXT", help="The new title.")
@click.option("--open", "is_open", is_flag=True, help="Open it again; it is no longer blocked.")
@_priority
@_role
@_body
@options.changing
@click.pass_context
def change(context: click.Context, /, session: str, *, as_json: bool, **_: object) -> None:
    """Change the title, priority, role or text of a task, or open it again."""
    request = actions.ChangeTaskRequest(**_read_about(context))
    _say_task(call_shared(actions.change, request, session), "changed", as_json=as_json)


@task.command(short_help="Print all tasks as lines of JSON.")
def export() -> None:
    """Print all tasks, one JSON object per line, as `bd export` does."""
    for line in calls.call(actions.export, None).result.lines:
        output.say(line)


@task.command("import", short_help="Add the tasks of an export.")
@click.argument("path", metavar="FILE")
@options.changing
def import_(path: str, session: str, *, as_json: bool) -> None:
    """Add the tasks of a file that `passdown task export` or `bd export` wrote; skip ids that are known."""
    answer = call_shared(actions.import_file, path, session)
    found = answer.result
    said = f"{output.counted(found.added, 'task')} added, {found.known} already there"
    calls.show(answer, lambda _: output.say(said), as_json=as_json)


def _read_about(context: click.Context) -> dict[str, Any]:
    """Return the options that describe a task."""
    return {name: one for name, one in context.params.items() if name not in {"session", "as_json"}}


def _say_task(answer: Answered[actions.TaskAnswer], word: str, *, as_json: bool) -> None:
    shown = answer.result.task
    calls.show(answer, lambda _: output.say(f"{word} {shown.task} {shown.title}"), as_json=as_json)
