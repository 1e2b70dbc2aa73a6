"""Tasks in the output of `bd`: one object or several, bare or in an envelope."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Final, NamedTuple, cast

from passdown.core.coordination.tasks import BLOCKED, CLOSED, NORMAL, OPEN, PRIORITIES, Task, TaskState
from passdown.core.times import parse_instant
from passdown.ports.tracker import Worker

IN_PROGRESS: Final = "in_progress"
MARK: Final = "pd_op_"
"""The prefix of marks in a task's metadata."""
NOTHING_SAID: Final = "it said nothing"
_ROLE: Final = "role:"
_STATES: Final = MappingProxyType({"closed": CLOSED, "blocked": BLOCKED, "deferred": BLOCKED})


class Issue(NamedTuple):
    """A task as `bd` prints it."""

    id: str
    status: str
    assignee: str
    task: Task
    marks: frozenset[str]
    waits_for: tuple[str, ...]
    lease_ends: datetime | None = None
    """When others may reclaim it, in builds whose claims have a lease."""
    creator: str = ""
    created_at: datetime | None = None

    @property
    def is_closed(self) -> bool:
        """Whether it is closed."""
        return self.status == CLOSED

    def is_of(self, worker: Worker) -> bool:
        """Return whether the worker has it in progress."""
        return worker.is_called(self.assignee) and self.status == IN_PROGRESS

    def is_anothers(self, worker: Worker) -> bool:
        """Return whether it is assigned to somebody else."""
        return bool(self.assignee) and not worker.is_called(self.assignee)

    def find_actor(self, worker: Worker) -> Worker:
        """Return the worker as the assigned agent: some builds accept changes from nobody else."""
        return worker._replace(agent=self.assignee or worker.agent)

    @property
    def state(self) -> TaskState:
        """The task as others see it."""
        return TaskState(task=self.task, agent=self.assignee, waits_for=self.waits_for)


class Answer(NamedTuple):
    """The output of `bd`: tasks, or the text of an error."""

    issues: tuple[Issue, ...] = ()
    error: str = ""
    is_readable: bool = True


def parse_answer(text: str) -> Answer:
    """Parse the standard output of `bd`; empty output is an error without words."""
    try:
        found: object = json.loads(text) if text.strip() else {"error": ""}
    except (ValueError, RecursionError):
        return Answer(is_readable=False)
    if isinstance(found, dict) and "data" in found and "schema_version" in found:
        found = cast("dict[str, object]", found)["data"]
    if isinstance(found, dict):
        values = cast("dict[str, object]", found)
        if "error" in values:
            return Answer(error=_text(values, "error") or NOTHING_SAID)
        found = [values]
    if found is None:
        found = []
    rows = cast("list[object]", found) if isinstance(found, list) else None
    if rows is None or not all(isinstance(row, dict) for row in rows):
        return Answer(is_readable=False)
    return Answer(tuple(parse_issue(cast("dict[str, object]", row)) for row in rows))


def parse_issue(values: Mapping[str, object]) -> Issue:
    """Parse one task; missing members are empty."""
    status, assignee = _text(values, "status"), _text(values, "assignee")
    waits = _waits(values)
    priority = values.get("priority")
    task = Task(
        task=_text(values, "id"),
        title=_text(values, "title"),
        body=_text(values, "description"),
        priority=priority if isinstance(priority, int) and priority in PRIORITIES else NORMAL,
        role=next(
            (one.removeprefix(_ROLE) for one in _texts(values.get("labels")) if one.startswith(_ROLE)), ""
        ),
        state=_STATES.get(status, OPEN),
        reason=_text(values, "close_reason"),
        note=_text(values, "notes"),
        waits=len(waits),
        is_held=status == IN_PROGRESS or (bool(assignee) and status != CLOSED),
    )
    metadata = values.get("metadata")
    names = cast("dict[str, object]", metadata) if isinstance(metadata, dict) else {}
    marks = frozenset(name.removeprefix(MARK) for name in names if name.startswith(MARK))
    ends = parse_instant(_text(values, "lease_expires_at"))
    return Issue(
        id=task.task,
        status=status,
        assignee=assignee,
        task=task,
        marks=marks,
        waits_for=waits,
        lease_ends=ends,
        creator=_text(values, "created_by"),
        created_at=parse_instant(_text(values, "created_at")),
    )


def _waits(values: Mapping[str, object]) -> tuple[str, ...]:
    """Return the open tasks that it depends on, in the form of `blocked` or of `show`."""
    if blocked_by := _texts(values.get("blocked_by")):
        return tuple(blocked_by)
    rows = values.get("dependencies")
    found = cast("list[object]", rows) if isinstance(rows, list) else []
    known = [cast("dict[str, object]", row) for row in found if isinstance(row, dict)]
    return tuple(
        _text(row, "id")
        for row in known
        if row.get("dependency_type") == "blocks" and _text(row, "id") and _text(row, "status") != CLOSED
    )


def _text(values: Mapping[str, object], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _texts(value: object) -> Sequence[str]:
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [one for one in found if isinstance(one, str)]
