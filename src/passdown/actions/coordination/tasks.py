"""Add tasks, show them, and change them."""

from typing import Annotated

from passdown.actions.callers import Caller, need_session
from passdown.actions.work.tracker import find_author
from passdown.core.coordination.leases import Lost
from passdown.core.coordination.tasks import NORMAL, Circle, Task, TaskState
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.coordination import tasks as services
from passdown.services.coordination.claims import give_back_task
from passdown.services.work import tracker_changes
from passdown.wiring.workspaces import read_named


@record
class NewTaskRequest:
    """A task to add."""

    title: Annotated[str, "What is to be done."]
    name: Annotated[str, "Its id; empty for a new one."] = ""
    after: Annotated[tuple[str, ...], "The tasks that must be closed first."] = ()
    priority: Annotated[int | None, "0 (most urgent) to 4."] = None
    role: Annotated[str | None, "Who it is for."] = None
    body: Annotated[str | None, "More about it."] = None


@record
class ChangeTaskRequest:
    """What to change about a task; what is null stays."""

    name: Annotated[str, "The task."]
    title: Annotated[str | None, "What is to be done."] = None
    priority: Annotated[int | None, "0 (most urgent) to 4."] = None
    role: Annotated[str | None, "Who it is for."] = None
    body: Annotated[str | None, "More about it."] = None
    is_open: Annotated[bool, "Whether it is not blocked any more."] = False


@record
class NoteRequest:
    """A text for the notes of a task."""

    name: Annotated[str, "The task."]
    text: Annotated[str, "The text."]


@record
class BlockRequest:
    """A task that waits for another."""

    name: Annotated[str, "The task that waits."]
    by: Annotated[str, "The task that must be closed first."]


@record
class TaskAnswer:
    """A task as it is now."""

    task: Annotated[Task, "The task."]


@record
class ShownTask:
    """A task with its holder and what it waits for."""

    task: Annotated[TaskState, "The task."]


@record
class NotedTask:
    """A task that got a note."""

    task: Annotated[str, "The task."]
    waiting: Annotated[bool, "Whether a later command adds the note."]


@record
class ExportedTasks:
    """All tasks of the board."""

    lines: Annotated[tuple[str, ...], "One JSON object for each, as `bd export` writes them."]


@record
class ImportAnswer:
    """What came of an import."""

    added: Annotated[int, "How many tasks were added."]
    known: Annotated[int, "How many were there already, and were not changed."]


def add(caller: Caller, request: NewTaskRequest) -> TaskAnswer:
    """Add a task."""
    new = Task(
        task=request.name,
        title=request.title,
        body=request.body or "",
        priority=NORMAL if request.priority is None else request.priority,
        role=request.role or "",
    )
    found = tracker_changes.create(caller.workspace, find_author(caller), new, request.after)
    return TaskAnswer(task=found)


def show(caller: Caller, name: str) -> ShownTask:
    """Show a task."""
    with tracker_changes.catch_up(caller.workspace, find_author(caller)):
        return ShownTask(task=services.require_task(caller.workspace.tracker, name))


def note(caller: Caller, request: NoteRequest) -> NotedTask:
    """Add a text to the notes of a task."""
    account = need_session(caller)
    is_done = tracker_changes.add_note(caller.workspace, account, request.name, request.text)
    return NotedTask(task=request.name, waiting=not is_done)


def block(caller: Caller, request: BlockRequest) -> TaskAnswer:
    """Let a task wait until another one is closed."""
    found = services.block_task(caller.workspace, find_author(caller), request.name, request.by)
    if isinstance(found, Circle):
        way = " → ".join(found.tasks)
        raise UsageError(f"they would wait for each other: {way}", hint="nothing was changed")
    return TaskAnswer(task=found.task)


def give_back(caller: Caller, name: str) -> TaskAnswer | Lost | None:
    """Let others claim a task that the session has; None if the tracker is told later."""
    found = give_back_task(caller.workspace, need_session(caller), name)
    return found if found is None or isinstance(found, Lost) else TaskAnswer(task=found.task)


def change(caller: Caller, request: ChangeTaskRequest) -> TaskAnswer:
    """Change what a task says, or open it again."""
    wanted = services.TaskChange(request.title, request.body, request.priority, request.role, request.is_open)
    account = find_author(caller)
    return TaskAnswer(task=services.change_task(caller.workspace, account, request.name, wanted))


def export(caller: Caller, _request: None = None) -> ExportedTasks:
    """Export all tasks of the board."""
    return ExportedTasks(lines=tuple(services.export_tasks(caller.workspace)))


def import_file(caller: Caller, path: str) -> ImportAnswer:
    """Add the tasks of an export; those whose id is known stay as they are."""
    lines = read_named(path, str(caller.around.folder)).decode("utf-8", "replace").splitlines()
    found = services.import_tasks(caller.workspace, find_author(caller), lines)
    return ImportAnswer(added=found.added, known=found.known)
