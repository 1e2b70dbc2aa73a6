"""Tasks of the board: open until closed, held by one session, ready if they wait for no other."""

from enum import StrEnum
from typing import Annotated, Final

from passdown.core.coordination.leases import Grant
from passdown.records import record

OPEN: Final = "open"
CLOSED: Final = "closed"
MOST_READY: Final = 3
"""How many tasks a brief names that can be claimed."""
BLOCKED: Final = "blocked"
"""Somebody gave it up because something outside is missing; `open` it again when that is there."""

COMPLETED: Final = "completed"
SKIPPED: Final = "skipped"
REASONS: Final = (COMPLETED, SKIPPED, BLOCKED)

PRIORITIES: Final = range(5)
"""0 is the most urgent."""
NORMAL: Final = 2


@record
class Task:
    """A piece of work."""

    task: Annotated[str, "Its id."]
    title: Annotated[str, "What is to be done, in one line."]
    body: Annotated[str, "More about it."] = ""
    priority: Annotated[int, "0 (most urgent) to 4."] = NORMAL
    role: Annotated[str, "Who it is for: a role, or empty for anybody."] = ""
    state: Annotated[str, "open, blocked or closed."] = OPEN
    reason: Annotated[str, "Why it was closed: completed, skipped or blocked."] = ""
    note: Annotated[str, "What was said about it, above all when it was closed."] = ""
    waits: Annotated[int, "How many open tasks it waits for."] = 0
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
    is_orphaned: Annotated[bool, "Whether its holder gives no sign of life."] = False
    waits_for: tuple[str, ...] = ()


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
    """Return whether a listing has a task; what waits for a task or for something outside is blocked."""
    if listing is Listing.READY:
        return is_ready(state)
    if listing is Listing.BLOCKED:
        return bool(state.task.waits) or state.task.state == BLOCKED
    return listing is Listing.ALL or state.task.state != CLOSED


def join_notes(before: str, text: str) -> str:
    """Return a note with a text added to it."""
    return f"{before}\n{text}" if before and text else before or text


@record
class TaskStored:
    """The task as it is now."""

    task: Task


@record
class Claimed:
    """The tasks are the session's."""

    tasks: tuple[Task, ...]
    grants: tuple[Grant, ...]
    orphaned_by: Annotated[tuple[str, ...], "For each task, the agent that lost it, or an empty text."] = ()


@record
class NothingReady:
    """Refused: there is nothing to claim now."""

    waiting: Annotated[tuple[TaskState, ...], "Open tasks that cannot be claimed: held, or waiting."] = ()


@record
class Circle:
    """Refused: the tasks would wait for each other for ever."""

    tasks: tuple[str, ...]


@record
class TaskClosed:
    """The task is closed, and the files of its session are free."""

    task: Task
    freed: Annotated[tuple[str, ...], "Tasks that waited for it and are ready now."] = ()
    released: Annotated[tuple[str, ...], "The paths that were released."] = ()
    is_unfenced: Annotated[bool, "Whether no engine could be asked, so nothing was released (C86)."] = False
