"""Where the tasks of a project are kept: the board that sessions share, or an outside system such as Beads.

Every method that changes something takes an operation, whose id was made before the first attempt. It acts
once for an operation and may be repeated: with `is_repeat` the tracker first looks for the effect, then does
what is missing. Losing a race is a value; an unknown task raises a UsageError. A tracker that failed raises a
TrackerError, which tells whether to try again. If the coordination engine does not answer, the board raises a
StorageError, while an outside tracker claims and closes without it: fence 0, `is_unfenced` (C86).

A task has at most one holder at every instant: the session that claims it holds the lease `task/<id>`, and
everything that only the holder may do needs the fence of that lease.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from passdown.core.coordination.leases import Fenced, Held, Lost
from passdown.core.coordination.operations import Operation
from passdown.core.coordination.tasks import (
    Claimed,
    Listing,
    NothingReady,
    Task,
    TaskClosed,
    TaskState,
    TaskStored,
)


class Worker(NamedTuple):
    """The session and agent that change a task; both are empty for a person without a session."""

    session: str = ""
    agent: str = ""
    former: tuple[str, ...] = ()
    """The agents of the dead sessions that this session continues."""

    def is_called(self, agent: str) -> bool:
        """Return whether a name is that of the agent or of an agent that it continues."""
        return agent == self.agent or agent in self.former


NOBODY: Final = Worker()


class TrackerInfo(NamedTuple):
    """The kind and name of a tracker, and what it can do."""

    kind: str
    """`board` or `beads`."""
    name: str
    """Its name and version: `Beads 1.3.0`."""
    names_tasks: bool = False
    """Whether it chooses the ids of new tasks."""
    has_marks: bool = True
    """Whether it stores the ids of operations; without that, `Operation.before` must be given for a note."""


class TaskSelection(NamedTuple):
    """A request to claim the named tasks, all or none, or the first ready one."""

    tasks: tuple[str, ...] = ()
    role: str = ""
    another: bool = False
    """Whether it wants one more; otherwise a session that names none and holds some gets those."""


class Tracker(Protocol):
    """The tasks of a project."""

    @property
    def about(self) -> TrackerInfo:
        """Its kind and name, and what it can do."""
        ...

    def tasks(self, listing: Listing, worker: Worker = NOBODY) -> Sequence[TaskState]:
        """List tasks in the order to claim them; tasks assigned to somebody else are not ready."""
        ...

    def find(self, task: str) -> TaskState | None:
        """Return a task with its holder; None if no task has exactly this id."""
        ...

    def create(self, op: Operation, worker: Worker, task: Task, after: Sequence[str] = ()) -> Task:
        """Add a task that depends on others; return it with its id.

        Unless the task has an id, this is the one change that may not be repeated: if it is unknown whether
        it was made, the caller must look.
        """
        ...

    def claim(self, op: Operation, worker: Worker, wish: TaskSelection) -> Claimed | Held | NothingReady:
        """Claim tasks, so that no other session gets them and everybody sees who has them.

        The lease comes first; then the tracker itself decides, and if it refuses, the lease is released.
        """
        ...

    def note(self, op: Operation, worker: Worker, task: str, text: str) -> TaskStored:
        """Add a text to the note of a task; the earlier note stays."""
        ...

    def close(
        self, op: Operation, worker: Worker, held: Fenced, reason: str, note: str
    ) -> TaskClosed | Lost | Held:
        """Add a note to a task that the session holds, close it, and release it and the session's files.

        In a repeat, a task that is already closed counts as done. `Lost` means an old fence, `Held` that
        another session has the task.
        """
        ...

    def give_back(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost:
        """Give up a task that the session holds, so that others can claim it."""
        ...

    def move(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost | Held:
        """Assign a task to the session, which already has its lease.

        It may be assigned to another agent before. This may be repeated while the session has the lease.
        """
        ...

    def sync(self, worker: Worker, *, push: bool = False) -> str:
        """Sync the tracker with its remote as far as it can; return in words what was done.

        Raises a TrackerSyncError if that failed.
        """
        ...
