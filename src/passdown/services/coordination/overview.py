"""The open tasks at a glance, wherever they are kept."""

from typing import Annotated

from passdown.core.coordination.tasks import Listing, TaskState, is_ready
from passdown.errors import TrackerError
from passdown.ports.tracker import Tracker
from passdown.records import record
from passdown.services.workspace.workspaces import Workspace


@record
class TaskOverview:
    """The open tasks, wherever they are kept."""

    kind: Annotated[str, "The kind of tracker: board or beads."]
    tracker: Annotated[str, "The name of the tracker, with its version."]
    tasks: tuple[TaskState, ...] = ()
    trouble: Annotated[str, "Why they could not be read."] = ""

    @property
    def ready(self) -> int:
        """How many tasks are ready."""
        return sum(is_ready(one) for one in self.tasks)

    @property
    def held(self) -> int:
        """How many tasks somebody holds."""
        return sum(bool(one.agent) for one in self.tasks)

    @property
    def waiting(self) -> int:
        """How many tasks are blocked by another task or something outside."""
        return len(self.tasks) - self.ready - self.held


def read_tasks(workspace: Workspace) -> TaskOverview | None:
    """Return the open tasks; None if there is no tracker, or it has not been used here yet."""
    tracker: Tracker | None = None
    try:
        tracker = workspace.find_tracker()
        if tracker is None:
            return None
        found = tracker.tasks(Listing.OPEN)
    except TrackerError as error:
        about = tracker.about if tracker else None
        name, kind = (about.name, about.kind) if about else ("Beads", "beads")
        return TaskOverview(kind=kind, tracker=name, trouble=error.message)
    return TaskOverview(kind=tracker.about.kind, tracker=tracker.about.name, tasks=tuple(found))
