"""Use the tracker: list its tasks, sync them, drop a queued change."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from passdown.actions.answers import HIDDEN
from passdown.actions.callers import Caller, find_author
from passdown.core.coordination.tasks import Listing, TaskState
from passdown.core.work.operations import describe_operation
from passdown.errors import TrackerError
from passdown.records import record
from passdown.services.work import tracker_changes


@record
class ListingRequest:
    """The tasks to list."""

    listing: Annotated[Listing, "Which."]
    tells_waiting: Annotated[bool, "Whether to list the open tasks if there are none."] = False


@record
class ListedTasks:
    """Tasks, in the order in which they are claimed."""

    tasks: Annotated[Sequence[TaskState], "The tasks."]
    warning: Annotated[str | None, "Why the tasks could not be read."]
    waiting: Annotated[Sequence[TaskState], "The open tasks, if requested.", HIDDEN] = ()
    unknown: Annotated[str, "Why the open tasks could not be read.", HIDDEN] = ""


@record
class SyncResult:
    """The outcome of a sync."""

    tracker: Annotated[str, "The kind of tracker."]
    synced: Annotated[str, "What was done, in words."]


@record
class DroppedChange:
    """A queued change that was dropped."""

    dropped: Annotated[Mapping[str, object], "The change."]
    said: Annotated[str, "The change, in words.", HIDDEN]
    note: Annotated[str, "The note that it would have added.", HIDDEN]


def list_known(caller: Caller, request: ListingRequest) -> ListedTasks:
    """List tasks; the tracker is asked once.

    If it does not answer, that is a warning (R194, C148); one that is not installed, or too old, is an error.
    """
    workspace = caller.workspace
    is_open = False
    with tracker_changes.catch_up(workspace, find_author(caller)):
        try:
            is_open = bool(workspace.tracker.about.name)
            found = workspace.tracker.tasks(request.listing)
        except TrackerError as error:
            if not (is_open or error.is_recoverable):
                raise
            return ListedTasks(tasks=(), warning=error.message)
    if found or not request.tells_waiting:
        return ListedTasks(tasks=found, warning=None)
    try:
        return ListedTasks(tasks=(), warning=None, waiting=workspace.tracker.tasks(Listing.OPEN))
    except TrackerError as error:
        return ListedTasks(tasks=(), warning=None, unknown=error.message)


def sync(caller: Caller, _request: None = None) -> SyncResult:
    """Sync the tracker with its remote."""
    done = tracker_changes.sync(caller.workspace, find_author(caller))
    return SyncResult(tracker=caller.workspace.tracker.about.kind, synced=done)


def drop(caller: Caller, name: str) -> DroppedChange:
    """Drop a change that is queued for the tracker, by its id."""
    found = tracker_changes.drop_change(caller.workspace, find_author(caller), name)
    described = describe_operation(found, caller.workspace.now())
    return DroppedChange(dropped=described, said=found.said, note=found.note)
