"""The leases for tasks that `bd` keeps: a session that claims such a task holds its lease and fence."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from passdown.core.coordination.leases import PATH, TASK, Fenced, Grant, Granted, Held, Lost, Resource
from passdown.core.coordination.operations import Operation
from passdown.core.coordination.tasks import TaskState
from passdown.errors import AwayError, NoServerError, StorageError, is_away
from passdown.ports.coordination import Coordination, HeldResource, Leases
from passdown.ports.tracker import Worker
from passdown.records import replace

_AGAIN: Final = 1_000
"""The distance between the numbers of a repeated step of an operation."""


class Holdings:
    """The leases of sessions; without an engine nothing is fenced, and `bd` alone decides (C86)."""

    def __init__(self, coordination: Callable[[], Coordination], seconds: float) -> None:
        """Keep how to open the engine, and how long a session may be silent before a lease expires."""
        self._open = coordination
        self._seconds = seconds
        self._opened: Coordination | None = None
        self.is_away = False
        """Whether the engine did not answer, so that it is not asked again."""

    @property
    def _leases(self) -> Leases:
        if self.is_away:
            raise AwayError("the engine did not answer before")
        if self._opened is None:
            try:
                self._opened = self._open()
            except NoServerError:
                raise  # waiting does not bring it back
            except StorageError as error:
                raise AwayError(error.message) from error
        return self._opened.leases

    def __enter__(self) -> None:
        """Start using the engine."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Continue if the engine is unavailable; a read-only engine is an error (C87)."""
        has_failed = is_away(error)
        self.is_away = self.is_away or has_failed
        return has_failed

    def _list(self, session: str = "") -> Sequence[HeldResource]:
        with self:
            return self._leases.leases(session)
        return ()

    def require_engine(self) -> None:
        """Raise an AwayError if the engine is unavailable."""
        self._leases.leases("-")

    def of(self, worker: Worker, kind: str) -> list[Fenced]:
        """Return the leases of one kind that a session holds."""
        return [
            Fenced(one.resource, one.fence)
            for one in self._list(worker.session)
            if one.resource.kind == kind and one.left > 0
        ]

    def describe(self, states: Iterable[TaskState]) -> list[TaskState]:
        """Add to each task the session that holds its lease."""
        leases = {one.resource: one for one in self._list()}
        return [_describe(state, leases.get(Resource(TASK, state.task.task))) for state in states]

    def acquire(self, op: Operation, step: int, worker: Worker, tasks: Sequence[str]) -> Granted | Held:
        """Get the leases of tasks, all or none; without an engine each has fence 0.

        The engine answers a repeated step with its first outcome. If that lease was released since, the step
        is made again.
        """
        wanted = [Resource(TASK, one) for one in tasks]
        with self:
            while True:
                outcome = self._leases.acquire(op.part(step), worker.session, wanted, self._seconds)
                if isinstance(outcome, Held) or not op.is_repeat:
                    return outcome
                held = {one.fence for one in self._leases.leases(worker.session) if one.left > 0}
                if all(one.fence in held for one in outcome.grants):
                    return outcome
                step += _AGAIN
        return Granted(grants=tuple(Grant(kind=TASK, name=one, fence=0, left=0.0) for one in tasks))

    def renew(self, op: str, worker: Worker, held: Fenced) -> Lost | None:
        """Check a fence; return how it was lost, or None if it is valid."""
        with self:
            outcome = self._leases.renew(op, worker.session, [held])
            return outcome if isinstance(outcome, Lost) else None
        return None

    def release(self, op: Operation, step: int, worker: Worker, held: Sequence[Fenced]) -> None:
        """Release leases; a lease that was lost meanwhile needs no release."""
        with self:
            while held:
                self._leases.release(op.part(step), worker.session, held)
                kept = {(one.resource, one.fence) for one in self._leases.leases(worker.session)}
                held = [one for one in held if op.is_repeat and (one.resource, one.fence) in kept]
                step += _AGAIN

    def release_all(self, op: Operation, step: int, worker: Worker, task: str) -> tuple[str, ...]:
        """Release a task and all files of its session; return the paths."""
        paths = self.of(worker, PATH)
        own = [one for one in self.of(worker, TASK) if one.resource.name == task]
        self.release(op, step, worker, [*own, *paths])
        return tuple(one.resource.name for one in paths)


def _describe(state: TaskState, lease: HeldResource | None) -> TaskState:
    if lease is None or lease.agent != state.agent:
        return state
    return replace(
        state,
        holder=lease.session,
        fence=lease.fence,
        left=max(lease.left, 0.0),
        is_orphaned=lease.left <= 0,
    )
