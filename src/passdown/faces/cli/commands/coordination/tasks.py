"""`passdown task`: add tasks, list them, and change them."""

import click

from passdown.core.coordination.leases import Lost
from passdown.core.coordination.tasks import NORMAL, Circle, Listing, Task
from passdown.errors import UsageError
from passdown.faces.cli import output
from passdown.faces.cli.commands.work.tracker import list_blocked, list_ready, say_listed
from passdown.faces.cli.coordination import (
    HELD_CODE,
    again_option,
    as_value,
    describe_task,
    find_author,
    json_option,
    open_shared,
    say_lost,
    session_option,
)
from passdown.faces.cli.sessions import need_session, open_sessions
from passdown.records import record
from passdown.services.coordination.claims import give_back_task
from passdown.services.coordination.tasks import (
    TaskChange,
    block_task,
    change_task,
    export_tasks,
    import_tasks,
    require_task,
)
from passdown.services.work import tracker_changes
from passdown.wiring.workspaces import read_named

_priority = click.option("--priority", type=int, default=None, metavar="0-4", help="0 is the most urgent.")
_role = click.option("--role", default=None, metavar="ROLE", help="Who it is for.")
_body = click.option("--body", default=None, metavar="TEXT", help="More about it.")


@record
class NewTaskOptions:
    """The options of `passdown task add`."""

    title: str
    name: str
    after: tuple[str, ...]
    priority: int | None
    role: str | None
    body: str | None
    session: str
    as_json: bool


@record
class TaskOptions:
    """The options of `passdown task change`."""

    name: str
    title: str | None
    priority: int | None
    role: str | None
    body: str | None
    session: str
    is_open: bool
    as_json: bool


@click.group("task", short_help="Add tasks, list them, and change them.")
def task() -> None:
    """Add tasks, list them, and change them.

    `passdown claim` takes one, `passdown close` finishes it.
    """


@task.command(short_help="Add a task.")
@click.argument("title")
@click.option("--id", "name", default="", metavar="ID", help="Its id; by default a short new one.")
@click.option("--after", multiple=True, metavar="ID", help="A task that must be closed first.")
@_priority
@_role
@_body
@again_option
@session_option
@json_option
@click.pass_context
def add(context: click.Context, /, **_: object) -> None:
    """Add a task."""
    options = NewTaskOptions(**context.params)
    workspace = open_shared()
    account = find_author(workspace, options.session)
    new = Task(
        task=options.name,
        title=options.title,
        body=options.body or "",
        priority=NORMAL if options.priority is None else options.priority,
        role=options.role or "",
    )
    added = tracker_changes.create(workspace, account, new, options.after)
    _say_task(added, "added", as_json=options.as_json)


@task.command(short_help="List the tasks that can be claimed now.")
@json_option
def ready(*, as_json: bool) -> None:
    """List the tasks that can be claimed now, the first to be claimed first."""
    list_ready(as_json=as_json)


@task.command(short_help="List the tasks that wait, and what they wait for.")
@json_option
def blocked(*, as_json: bool) -> None:
    """List the tasks that wait for another task, or for something outside."""
    list_blocked(as_json=as_json)


@task.command("list", short_help="List the open tasks, or all.")
@click.option("--all", "show_all", is_flag=True, help="Also list closed tasks.")
@json_option
def list_(*, show_all: bool, as_json: bool) -> None:
    """List the open tasks with their holders, or all tasks."""
    none = 'There are no tasks; add one: `passdown task add "TITLE"`'
    say_listed(Listing.ALL if show_all else Listing.OPEN, none, as_json=as_json)


@task.command(short_help="Show a task.")
@click.argument("name", metavar="ID")
@json_option
def show(name: str, *, as_json: bool) -> None:
    """Show a task with its holder, what it waits for, and the notes from when it was closed."""
    workspace = open_sessions()
    with tracker_changes.catch_up(workspace, find_author(workspace, "")):
        found = require_task(workspace.tracker, name)
    if as_json:
        output.say_json({"task": as_value(found)})
        return
    shown = found.task
    output.say(f"{shown.task} {shown.title}")
    for_whom = f", for {shown.role}" if shown.role else ""
    output.say(f"  {describe_task(found)}, priority {shown.priority}{for_whom}")
    for text in (shown.body, shown.note):
        for line in text.splitlines():
            output.say(f"  > {line}")


@task.command(short_help="Add a text to the notes of a task.")
@click.argument("name", metavar="ID")
@click.argument("text")
@again_option
@session_option
@json_option
def note(name: str, text: str, session: str, *, as_json: bool) -> None:
    """Add a text to the notes of a task; what is there stays.

    If the tracker does not answer, the note waits for it and is added by the next command that reaches it.
    """
    workspace = open_shared()
    is_done = tracker_changes.add_note(workspace, need_session(workspace, session), name, text)
    if as_json:
        output.say_json({"task": name, "waiting": not is_done})
    else:
        output.say(f"Noted: {name}" if is_done else f"Note queued: {name}")


@task.command(short_help="Let a task wait for another.")
@click.argument("name", metavar="ID")
@click.argument("by", metavar="OTHER")
@again_option
@session_option
@json_option
def block(name: str, by: str, session: str, *, as_json: bool) -> None:
    """Let a task wait until another one is closed."""
    workspace = open_shared()
    found = block_task(workspace, find_author(workspace, session), name, by)
    if isinstance(found, Circle):
        way = " → ".join(found.tasks)
        raise UsageError(f"they would wait for each other: {way}", hint="nothing was changed")
    _say_task(found.task, f"waits for {by}:", as_json=as_json)


@task.command("give-back", short_help="Let others claim a task that the session has.")
@click.argument("name", metavar="ID")
@again_option
@session_option
@json_option
def give_back(name: str, session: str, *, as_json: bool) -> int:
    """Let others claim a task that the session has; its files stay reserved."""
    workspace = open_shared()
    found = give_back_task(workspace, need_session(workspace, session), name)
    if isinstance(found, Lost):
        say_lost(found)
        return HELD_CODE
    if found is None:
        output.say(f"Queued: the next command that reaches the tracker gives {name} back")
        return 0
    _say_task(found.task, "gave back", as_json=as_json)
    return 0


@task.command(short_help="Change a task.")
@click.argument("name", metavar="ID")
@click.option("--title", default=None, metavar="TEXT", help="What is to be done.")
@click.option("--open", "is_open", is_flag=True, help="It is not blocked any more.")
@_priority
@_role
@_body
@again_option
@session_option
@json_option
@click.pass_context
def change(context: click.Context, /, **_: object) -> None:
    """Change the title, priority, role or text of a task, or open it again."""
    options = TaskOptions(**context.params)
    workspace = open_shared()
    account = find_author(workspace, options.session)
    wanted = TaskChange(options.title, options.body, options.priority, options.role, options.is_open)
    _say_task(change_task(workspace, account, options.name, wanted), "changed", as_json=options.as_json)


@task.command(short_help="Print all tasks as lines of JSON.")
def export() -> None:
    """Print all tasks, one JSON object a line, as `bd export` does."""
    for line in export_tasks(open_sessions()):
        output.say(line)


@task.command("import", short_help="Add the tasks of an export.")
@click.argument("path", metavar="FILE")
@again_option
@session_option
@json_option
def import_(path: str, session: str, *, as_json: bool) -> None:
    """Add the tasks of a file that `passdown task export` or `bd export` wrote; known ids are left alone."""
    workspace = open_shared()
    lines = read_named(path).decode("utf-8", "replace").splitlines()
    found = import_tasks(workspace, find_author(workspace, session), lines)
    if as_json:
        output.say_json({"added": found.added, "known": found.known})
    else:
        output.say(f"{found.added} tasks added, {found.known} known already")


def _say_task(shown: Task, word: str, *, as_json: bool) -> None:
    if as_json:
        output.say_json({"task": as_value(shown)})
    else:
        output.say(f"{word} {shown.task} {shown.title}")
