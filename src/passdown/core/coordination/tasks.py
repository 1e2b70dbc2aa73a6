"""Tasks of the board: open until closed, held by one session, ready if they depend on no open task."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final

from passdown.core.coordination.leases import Grant
from passdown.records import record

OPEN: Final = "open"
CLOSED: Final = "closed"
MOST_READY: Final = 3
"""How many ready tasks a brief names."""
BLOCKED: Final = "blocked"
"""Somebody gave it up because something outside the project is missing; reopen it once that is there."""

COMPLETED: Final = "completed"
SKIPPED: Final = "skipped"
REASONS: Final = (COMPLETED, SKIPPED, BLOCKED)

PRIORITIES: Final = range(5)
"""0 is the most urgent."""
NORMAL: Final = 2


@record
class Task:
    """A unit of work that one session at a time can claim."""

    task: Annotated[str, "Its id."]
    title: Annotated[str, "What to do, in one line."]
    body: Annotated[str, "The description."] = ""
    priority: Annotated[int, "0 (most urgent) to 4."] = NORMAL
    role: Annotated[str, "The role it is for; empty for anybody."] = ""
    state: Annotated[str, "open, blocked or closed."] = OPEN
    reason: Annotated[str, "Why it was closed: completed, skipped or blocked."] = ""
    note: Annotated[str, "Notes on it, above all from when it was closed."] = ""
    waits: Annotated[int, "How many open tasks it depends on."] = 0
    is_held: Annotated[bool, "Whether a session claimed it."] = False
    added: Annotated[int, "The position at which it was added."] = 0


@record
class TaskState:
    """A task as others see it."""

    task: Task
    holder: Annotated[str, "The session that holds it."] = ""
    agent: Annotated[str, "The agent that holds it."] = ""
    fence: int = 0
    left: float = 0.0
    is_orphaned: Annotated[bool, "Whether its holder has gone silent."] = False
    waits_for: tuple[str, ...] = ()


@record
class TaskSummary:
    """How many tasks are not closed, and the few of them that must be named."""

    ready: Annotated[int, "How many can be claimed now."] = 0
    held: Annotated[int, "How many somebody holds."] = 0
    waiting: Annotated[int, "How many are blocked by another task or something outside."] = 0
    taken: Annotated[tuple[TaskState, ...], "Those that somebody holds, by priority, then by age."] = ()
    first_ready: Annotated[tuple[TaskState, ...], "The first that can be claimed."] = ()


class Listing(StrEnum):
    """Which tasks are listed."""

    READY = "ready"
    BLOCKED = "blocked"
    OPEN = "open"
    ALL = "all"


def is_ready(state: TaskState) -> bool:
    """Return whether a task can be claimed now."""
    task = state.task
    return task.state == OPEN and not task.waits and not task.is_held


def is_listed(state: TaskState, listing: Listing) -> bool:
    """Return whether a listing includes a task; one that waits for a task or something outside is blocked."""
    if listing is Listing.READY:
        return is_ready(state)
    if listing is Listing.BLOCKED:
        return bool(state.task.waits) or state.task.state == BLOCKED
    return listing is Listing.ALL or state.task.state != CLOSED


def summarize(unfinished: Sequence[TaskState]) -> TaskSummary:
    """Summarize the tasks that are not closed; no ready one is named."""
    ready = sum(map(is_ready, unfinished))
    taken = tuple(one for one in unfinished if one.agent)
    waiting = len(unfinished) - ready - len(taken)
    return TaskSummary(ready=ready, held=len(taken), waiting=waiting, taken=taken)


def join_notes(before: str, text: str) -> str:
    """Return a note with a text added to it."""
    return f"{before}\n{text}" if before and text else before or text


@record
class TaskStored:
    """The task as it is now."""

    task: Task


@record
class Claimed:
    """The session now holds these tasks."""

    tasks: tuple[Task, ...]
    grants: tuple[Grant, ...]
    orphaned_by: Annotated[tuple[str, ...], "For each task, the agent that lost it; empty if none did."] = ()


@record
class NothingReady:
    """Refused: no task is ready."""

    waiting: Annotated[tuple[TaskState, ...], "Open tasks that cannot be claimed: held or blocked."] = ()


@record
class DependencyCycle:
    """Refused: the tasks would depend on each other in a cycle."""

    tasks: tuple[str, ...]


@record
class TaskClosed:
    """The task is closed, and its session's files are released."""

    task: Task
    freed: Annotated[tuple[str, ...], "Tasks that waited for it and are ready now."] = ()
    released: Annotated[tuple[str, ...], "The paths that were released."] = ()
    is_unfenced: Annotated[
        bool, "Whether nothing was released because coordination was unavailable (C86)."
    ] = False
