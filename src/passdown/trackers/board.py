"""The board: tasks in the coordination engine that sessions share."""

from collections.abc import Sequence

from passdown.core.coordination.leases import Fenced, Held, Lost
from passdown.core.coordination.operations import Operation
from passdown.core.coordination.tasks import (
    Claimed,
    DependencyCycle,
    Listing,
    NothingReady,
    Task,
    TaskClosed,
    TaskState,
    TaskStored,
    is_listed,
)
from passdown.errors import UsageError
from passdown.ports.coordination import Coordination
from passdown.ports.tracker import NOBODY, TaskSelection, TrackerInfo, Worker


class Board:
    """Implements `Tracker` with the tasks of the engine; each change is one transaction."""

    def __init__(self, coordination: Coordination) -> None:
        self._shared = coordination
        self._tasks = coordination.tasks
        self.about = TrackerInfo("board", f"board ({coordination.engine})")

    def tasks(self, listing: Listing, worker: Worker = NOBODY) -> Sequence[TaskState]:
        del worker  # the lease tells who holds a task
        found = self._tasks.tasks(closed=listing is Listing.ALL)
        return [one for one in found if is_listed(one, listing)]

    def find(self, task: str) -> TaskState | None:
        return self._tasks.find(task)

    def create(self, op: Operation, worker: Worker, task: Task, after: Sequence[str] = ()) -> Task:
        """Add a task; a new task cannot close a cycle of dependencies, except with itself."""
        added = self._tasks.add(op.id, worker.session, task).task
        for number, other in enumerate(after, 1):
            waiting = self._tasks.wait_for(op.part(number), worker.session, added.task, other)
            if isinstance(waiting, DependencyCycle):
                raise UsageError(f"{added.task} cannot depend on itself", hint="Name another task.")
            added = waiting.task
        return added

    def claim(self, op: Operation, worker: Worker, wish: TaskSelection) -> Claimed | Held | NothingReady:
        return self._tasks.claim(op.id, worker.session, wish.tasks, role=wish.role, another=wish.another)

    def note(self, op: Operation, worker: Worker, task: str, text: str) -> TaskStored:
        return self._tasks.note(op.id, worker.session, task, text)

    def close(
        self, op: Operation, worker: Worker, held: Fenced, reason: str, note: str
    ) -> TaskClosed | Lost | Held:
        return self._tasks.close(op.id, worker.session, held, reason, note)

    def give_back(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost:
        return self._tasks.give_back(op.id, worker.session, held)

    def move(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost:
        """Only check: on the board, the session with the lease has the task."""
        del op
        found = self._tasks.find(held.resource.name)
        if found is None or (found.holder, found.fence) != (worker.session, held.fence):
            now = found.fence if found else 0
            return Lost(kind=held.resource.kind, name=held.resource.name, fence=held.fence, now=now)
        return TaskStored(task=found.task)

    def sync(self, worker: Worker, *, push: bool = False) -> str:
        """Do nothing: every change on the board is visible at once."""
        del worker, push
        return "nothing to sync: all sessions share the board"
