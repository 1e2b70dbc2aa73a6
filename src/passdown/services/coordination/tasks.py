"""Add, change, block, export and import tasks."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from passdown.core.coordination.operations import Operation
from passdown.core.coordination.tasks import (
    BLOCKED,
    CLOSED,
    OPEN,
    PRIORITIES,
    DependencyCycle,
    Task,
    TaskState,
    TaskStored,
)
from passdown.core.ids import clean_foreign
from passdown.core.safe_text import one_line
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction
from passdown.errors import FormatError, TrackerError, UsageError
from passdown.ports.coordination import Tasks
from passdown.ports.tracker import Tracker
from passdown.records import replace
from passdown.services.coordination.finishing import changing
from passdown.services.coordination.membership import as_worker
from passdown.services.operations.operations import next_operation
from passdown.services.operations.recorded_tracker import BOARD
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import TrackerChoice

_ID_BYTES: Final = 2
_LONGEST_TITLE: Final = 200


class TaskChange(NamedTuple):
    """The changes to a task; None leaves a field unchanged."""

    title: str | None = None
    body: str | None = None
    priority: int | None = None
    role: str | None = None
    is_open: bool = False


def is_outside(workspace: Workspace) -> bool:
    """Return whether the tracker is a separate program, which may not answer, instead of the board."""
    if workspace.settings.tracker.kind is TrackerChoice.BOARD:
        return False
    try:
        return workspace.tracker.about.kind != BOARD
    except TrackerError:  # the board always answers
        return True


def add_task(workspace: Workspace, account: Account | None, task: Task, after: Sequence[str]) -> Task:
    """Add a task, which may depend on others; without an id it gets one."""
    title = _clean_title(task.title)
    _require_priority(task.priority)
    tracker = workspace.tracker
    for other in after:
        require_task(tracker, other)
    name = task.task or ("" if tracker.about.names_tasks else _free_id(workspace, tracker))
    new = replace(task, task=clean_foreign(name, "id") if name else "", title=title)
    op = Operation(next_operation(workspace, OperationAction.CREATE, title))
    return tracker.create(op, as_worker(account), new, after)


def change_task(workspace: Workspace, account: Account | None, name: str, change: TaskChange) -> Task:
    """Change the fields of a task, or reopen it after it was blocked."""
    board = require_board(workspace)
    task = require_task(workspace.tracker, name).task
    if change.priority is not None:
        _require_priority(change.priority)
    changed = replace(
        task,
        title=task.title if change.title is None else _clean_title(change.title),
        body=task.body if change.body is None else change.body,
        priority=task.priority if change.priority is None else change.priority,
        role=task.role if change.role is None else change.role,
        state=OPEN if change.is_open else task.state,
    )
    with changing(workspace, account):
        op = next_operation(workspace, OperationAction.CHANGE, name)
        return board.change(op, _session(account), changed).task


def block_task(
    workspace: Workspace, account: Account | None, name: str, by: str
) -> TaskStored | DependencyCycle:
    """Make a task depend on another until that is closed."""
    board = require_board(workspace)
    with changing(workspace, account):
        op = next_operation(workspace, OperationAction.BLOCK, f"{name} {by}")
        return board.wait_for(op, _session(account), name, by)


def require_task(tracker: Tracker, name: str) -> TaskState:
    """Return a task; raise a UsageError if there is no task of this name."""
    found = tracker.find(name)
    if found is None:
        raise UsageError(f"there is no task {name}", hint="`passdown task list` lists them")
    return found


def require_board(workspace: Workspace) -> Tasks:
    """Return the tasks of the board; raise a UsageError if the project keeps them elsewhere."""
    about = workspace.tracker.about
    if about.kind != BOARD:
        hint = "change the task there; `passdown task list` shows all"
        raise UsageError(f"the tasks of this project are kept in {about.name}", hint=hint)
    return workspace.coordination.tasks


def export_tasks(workspace: Workspace) -> Iterator[str]:
    """Yield every task as a line of JSON, in the format of `bd export`."""
    for state in require_board(workspace).tasks(closed=True):
        task = state.task
        held = "in_progress" if task.is_held else task.state
        values: dict[str, object] = {
            "id": task.task,
            "title": task.title,
            "description": task.body,
            "status": held,
            "priority": task.priority,
            "labels": [f"role:{task.role}"] if task.role else [],
            "close_reason": task.reason,
            "notes": task.note,
            "dependencies": [
                {"issue_id": task.task, "depends_on_id": other, "type": "blocks"} for other in state.waits_for
            ],
        }
        said = {name: one for name, one in values.items() if one not in ("", [])}
        yield json.dumps(said, ensure_ascii=False)


class ImportedTasks(NamedTuple):
    """The result of an import."""

    added: int
    known: int
    """How many ids already existed; those tasks were not changed."""


def import_tasks(workspace: Workspace, account: Account | None, lines: Iterable[str]) -> ImportedTasks:
    """Add the tasks of an export; a task whose id exists stays unchanged.

    All lines are read before the first task is added, so one unreadable line means that none is added.
    """
    read = [_read_line(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    board = require_board(workspace)
    with changing(workspace, account):
        begun = {one.task for one in workspace.verb.known if one.action is OperationAction.ADD}
        new = [one for one in read if one[0].task in begun or board.find(one[0].task) is None]
        for task, _ in new:
            board.add(next_operation(workspace, OperationAction.ADD, task.task), _session(account), task)
        for task, waits in new:
            for other in waits:
                if board.find(other) is not None:
                    op = next_operation(workspace, OperationAction.BLOCK, f"{task.task} {other}")
                    board.wait_for(op, _session(account), task.task, other)
    return ImportedTasks(len(new), len(read) - len(new))


def _read_line(number: int, line: str) -> tuple[Task, Sequence[str]]:
    try:
        found: object = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(cast("dict[str, object]", found).get("id"), str):
        raise FormatError(
            f"line {number} is not a task", line=number, hint="Each line is a JSON object with an id."
        )
    values = cast("dict[str, object]", found)
    task = Task(
        task=clean_foreign(str(values["id"]), "id"),
        title=_clean_title(_text(values, "title") or str(values["id"])),
        body=_text(values, "description"),
        priority=_priority(values.get("priority")),
        role=_role(values.get("labels")),
        state={"closed": CLOSED, "blocked": BLOCKED}.get(_text(values, "status"), OPEN),
        reason=_text(values, "close_reason"),
        note=_text(values, "notes"),
    )
    return task, _waits(values.get("dependencies"))


def _text(values: Mapping[str, object], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _priority(value: object) -> int:
    return value if isinstance(value, int) and value in PRIORITIES else PRIORITIES[-1] // 2


def _role(labels: object) -> str:
    names = cast("list[object]", labels) if isinstance(labels, list) else []
    roles = [str(one).removeprefix("role:") for one in names if str(one).startswith("role:")]
    return roles[0] if roles else ""


def _waits(found: object) -> Sequence[str]:
    rows = cast("list[object]", found) if isinstance(found, list) else []
    waits = [cast("dict[str, object]", row) for row in rows if isinstance(row, dict)]
    return [_text(row, "depends_on_id") for row in waits if row.get("type") == "blocks"]


def _clean_title(title: str) -> str:
    clean = one_line(" ".join(title.split()))
    if not clean:
        raise UsageError("a task needs a title", hint='write `passdown task add "TITLE"`')
    if len(clean) > _LONGEST_TITLE:
        hint = f"use at most {_LONGEST_TITLE} characters, and --body for the rest"
        raise UsageError(f"the title is too long ({len(clean)} characters)", hint=hint)
    return clean


def _require_priority(priority: int) -> None:
    if priority not in PRIORITIES:
        hint = f"use {PRIORITIES[0]} (most urgent) to {PRIORITIES[-1]}"
        raise UsageError(f"{priority} is not a priority", hint=hint)


def _free_id(workspace: Workspace, tracker: Tracker) -> str:
    """Return an unused random id; each attempt makes a longer one."""
    size = _ID_BYTES
    while True:
        name = f"t-{workspace.entropy.token(size).hex()}"
        if tracker.find(name) is None:
            return name
        size += 1


def _session(account: Account | None) -> str:
    return account.session if account else ""
