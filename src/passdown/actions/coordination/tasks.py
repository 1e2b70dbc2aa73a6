"""Add tasks, show them, and change them."""

from typing import Annotated

from passdown.actions.callers import Caller, find_author, need_author, refuse_without_holding
from passdown.core.coordination.leases import Lost
from passdown.core.coordination.tasks import NORMAL, DependencyCycle, Task, TaskState
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.coordination import tasks as services
from passdown.services.coordination.claims import give_back_task
from passdown.services.work import tracker_changes
from passdown.wiring.workspaces import read_named


@record
class NewTaskRequest:
    """A task to add."""

    title: Annotated[str, "What to do."]
    name: Annotated[str, "Its id; empty for a new one."] = ""
    after: Annotated[tuple[str, ...], "The tasks that must be closed first."] = ()
    priority: Annotated[int | None, "0 (most urgent) to 4."] = None
    role: Annotated[str | None, "Who it is for."] = None
    body: Annotated[str | None, "Its description."] = None


@record
class ChangeTaskRequest:
    """What to change about a task; what is null stays."""

    name: Annotated[str, "The task."]
    title: Annotated[str | None, "What to do."] = None
    priority: Annotated[int | None, "0 (most urgent) to 4."] = None
    role: Annotated[str | None, "Who it is for."] = None
    body: Annotated[str | None, "Its description."] = None
    is_open: Annotated[bool, "Whether to reopen it."] = False


@record
class NoteRequest:
    """A note for a task."""

    name: Annotated[str, "The task."]
    text: Annotated[str, "The text."]


@record
class BlockRequest:
    """A task that depends on another."""

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
    waiting: Annotated[bool, "Whether the note is queued for a later command."]


@record
class ExportedTasks:
    """All tasks of the board."""

    lines: Annotated[tuple[str, ...], "One JSON object for each, as `bd export` writes them."]


@record
class ImportAnswer:
    """The outcome of an import."""

    added: Annotated[int, "How many tasks were added."]
    known: Annotated[int, "How many already existed, and were not changed."]


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
    """Add a note to a task."""
    account = need_author(caller, lambda: services.require_task(caller.workspace.tracker, request.name))
    is_done = tracker_changes.add_note(caller.workspace, account, request.name, request.text)
    return NotedTask(task=request.name, waiting=not is_done)


def block(caller: Caller, request: BlockRequest) -> TaskAnswer:
    """Make a task depend on another: it is not ready until the other one is closed."""
    found = services.block_task(caller.workspace, find_author(caller), request.name, request.by)
    if isinstance(found, DependencyCycle):
        way = " → ".join(found.tasks)
        raise UsageError(f"these tasks would block each other: {way}", hint="nothing was changed")
    return TaskAnswer(task=found.task)


def give_back(caller: Caller, name: str) -> TaskAnswer | Lost | None:
    """Let others claim a task that the session has; return None if the change is queued for the tracker."""
    found = give_back_task(caller.workspace, need_author(caller, refuse_without_holding), name)
    return found if found is None or isinstance(found, Lost) else TaskAnswer(task=found.task)


def change(caller: Caller, request: ChangeTaskRequest) -> TaskAnswer:
    """Change the text or fields of a task, or reopen it."""
    wanted = services.TaskChange(request.title, request.body, request.priority, request.role, request.is_open)
    account = find_author(caller)
    return TaskAnswer(task=services.change_task(caller.workspace, account, request.name, wanted))


def export(caller: Caller, _request: None = None) -> ExportedTasks:
    """Export all tasks of the board."""
    return ExportedTasks(lines=tuple(services.export_tasks(caller.workspace)))


def import_file(caller: Caller, path: str) -> ImportAnswer:
    """Add the tasks of an export; those with a known id are skipped."""
    lines = read_named(path, str(caller.around.folder)).decode("utf-8", "replace").splitlines()
    found = services.import_tasks(caller.workspace, find_author(caller), lines)
    return ImportAnswer(added=found.added, known=found.known)
