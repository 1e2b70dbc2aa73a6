"""The open tasks at a glance, wherever they are kept."""

from typing import Annotated

from passdown.core.coordination.tasks import Listing, TaskState, TaskSummary, summarize
from passdown.errors import TrackerError
from passdown.ports.tracker import Tracker
from passdown.records import record
from passdown.services.operations.recorded_tracker import BOARD
from passdown.services.workspace.workspaces import Workspace


@record
class TaskOverview:
    """The open tasks, wherever they are kept."""

    kind: Annotated[str, "The kind of tracker: board or beads."]
    tracker: Annotated[str, "The name of the tracker, with its version."]
    ready: Annotated[int, "How many tasks are ready."] = 0
    held: Annotated[int, "How many tasks somebody holds."] = 0
    waiting: Annotated[int, "How many tasks are blocked by another task or something outside."] = 0
    tasks: Annotated[tuple[TaskState, ...], "The tasks that somebody holds."] = ()
    trouble: Annotated[str, "Why they could not be read."] = ""


def read_tasks(workspace: Workspace) -> TaskOverview | None:
    """Return the open tasks; None if there is no tracker, or it has not been used here yet."""
    tracker: Tracker | None = None
    try:
        tracker = workspace.find_tracker()
        if tracker is None:
            return None
        about, found = tracker.about, _summarize(workspace, tracker)
    except TrackerError as error:
        name, kind = (tracker.about.name, tracker.about.kind) if tracker else ("Beads", "beads")
        return TaskOverview(kind=kind, tracker=name, trouble=error.message)
    return TaskOverview(
        kind=about.kind,
        tracker=about.name,
        ready=found.ready,
        held=found.held,
        waiting=found.waiting,
        tasks=found.taken,
    )


def _summarize(workspace: Workspace, tracker: Tracker) -> TaskSummary:
    """Count the open tasks; on the board, which may have many, they are not read."""
    if tracker.about.kind == BOARD:
        return workspace.coordination.tasks.summary()
    return summarize(tracker.tasks(Listing.OPEN))
