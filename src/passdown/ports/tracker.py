"""Where the tasks of a project are kept: the board that sessions share, or an outside system such as Beads.

Every changing method takes an operation, whose id was made before the first try, acts once for it, and may be
repeated: with `is_repeat` the tracker looks for the effect first, and then does what is missing. Losing is a
value; a task that is not there is a UsageError. A tracker that did not do it raises a TrackerError, which
says whether it can be tried again. If the engine that sessions share does not answer, the board raises a
StorageError, and a tracker outside claims and closes without it: fence 0, `is_unfenced` (C86).

Of a task there is one holder at every instant: whoever claims one holds the lease `task/<id>`, and the fence
of that lease goes with everything that only the holder may do.
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
    """Who changes a task: a session and its agent; both are empty for a person without a session."""

    session: str = ""
    agent: str = ""
    former: tuple[str, ...] = ()
    """The agents under whose names the session began its work: it goes on for sessions that died."""

    def is_called(self, agent: str) -> bool:
        """Return whether a name is that of the agent, or one under which it began."""
        return agent == self.agent or agent in self.former


NOBODY: Final = Worker()


class TrackerInfo(NamedTuple):
    """What a tracker is, and what it can do."""

    kind: str
    """`board` or `beads`."""
    name: str
    """In words, with the version: `Beads 1.3.0`."""
    names_tasks: bool = False
    """Whether it gives new tasks their ids."""
    has_marks: bool = True
    """Whether it stores the ids of operations; without that, `Operation.before` must be given for a note."""


class ClaimWish(NamedTuple):
    """What a session wants to claim: the named tasks, all or none, or the first that is ready."""

    tasks: tuple[str, ...] = ()
    role: str = ""
    another: bool = False
    """Whether it wants one more: who names none and holds some is given those otherwise."""


class Tracker(Protocol):
    """The tasks of a project."""

    @property
    def about(self) -> TrackerInfo:
        """What it is, and what it can do."""
        ...

    def tasks(self, listing: Listing, worker: Worker = NOBODY) -> Sequence[TaskState]:
        """List tasks, the first to be claimed first; those assigned to somebody else are not ready."""
        ...

    def find(self, task: str) -> TaskState | None:
        """Return a task with its holder; None if there is none of exactly this id."""
        ...

    def create(self, op: Operation, worker: Worker, task: Task, after: Sequence[str] = ()) -> Task:
        """Add a task that waits for others; return it with its id.

        This is the one change that may not be repeated unless the task has an id: whoever does not know
        whether it was made must look.
        """
        ...

    def claim(self, op: Operation, worker: Worker, wish: ClaimWish) -> Claimed | Held | NothingReady:
        """Claim tasks: no other session is given them, and everybody sees whose they are.

        By the lease first; then the tracker itself decides, and where it refuses, the lease is given back.
        """
        ...

    def note(self, op: Operation, worker: Worker, task: str, text: str) -> TaskStored:
        """Add a text to the note of a task; what was there before stays."""
        ...

    def close(
        self, op: Operation, worker: Worker, held: Fenced, reason: str, note: str
    ) -> TaskClosed | Lost | Held:
        """Add a note to a task that the session holds, close it, and release it and the session's files.

        If it may have been tried before, a task that is closed is done. `Lost` is an old fence, `Held` a task
        that is another's.
        """
        ...

    def give_back(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost:
        """Let others claim a task that the session holds."""
        ...

    def move(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost | Held:
        """Say everywhere that a task is the session's, which has its lease already.

        Another agent may have been named before. It may be repeated as long as the session has the lease.
        """
        ...

    def sync(self, worker: Worker, *, push: bool = False) -> str:
        """Exchange tasks with others as far as the tracker can; return in words what was done.

        Raises a TrackerSyncError if it failed.
        """
        ...
