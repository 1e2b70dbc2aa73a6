"""The `Tasks` of a project: the board."""

from collections.abc import Sequence

from passdown.core.coordination.leases import PATH, TASK, Fenced, Held, Lease, Lost, Resource
from passdown.core.coordination.members import ANY_ROLE, Member
from passdown.core.coordination.tasks import (
    BLOCKED,
    CLOSED,
    OPEN,
    REASONS,
    Claimed,
    DependencyCycle,
    NothingReady,
    Task,
    TaskClosed,
    TaskState,
    TaskStored,
    TaskSummary,
    is_ready,
    join_notes,
)
from passdown.engines.coordination.changes import (
    ChangeSubject,
    Judge,
    RefusedError,
    end_leases,
    require_member,
    run_change,
)
from passdown.engines.coordination.leases import GrantRequest, grant, require_fences
from passdown.engines.coordination.offers import settle_offers, withdraw_offers
from passdown.engines.coordination.transactions import Reading, TimedStore, Transaction
from passdown.errors import UsageError
from passdown.records import replace

_NAMED = 20
"""How many tasks are listed when nothing is ready."""


class StoredTasks:
    """Implements `Tasks` over a store of rows."""

    def __init__(self, store: TimedStore) -> None:
        self._store = store

    def _judge(self, reading: Reading, caller: Member | None = None) -> Judge:
        return Judge(reading, self._store, self._store.lifetimes, caller=caller)

    def add(self, op: str, session: str, task: Task) -> TaskStored:
        """Add a task that nobody holds and that depends on no other."""

        def act(change: Transaction) -> TaskStored:
            if change.find_task(task.task) is not None:
                raise UsageError(
                    f"task {task.task} already exists", hint="Choose another id, or leave it out."
                )
            added = replace(task, added=change.fence, waits=0, is_held=False)
            change.put_task(added)
            return TaskStored(task=added)

        return run_change(self._store, op, ChangeSubject("add", session, task.task), act)

    def claim(
        self, op: str, session: str, tasks: Sequence[str], *, role: str = "", another: bool = False
    ) -> Claimed | Held | NothingReady:
        def act(change: Transaction) -> Claimed:
            judge = self._judge(change, require_member(change, session))
            settle_offers(change)
            chosen = tasks or ([] if another else _own_tasks(change, session))
            found = [_find_claimable(change, judge, session, one) for one in dict.fromkeys(chosen)]
            if not found:
                found = [self._first_ready(change, judge, session, role)]
            claimed = [replace(task, is_held=True) for task in found]
            wanted = [Resource(TASK, task.task) for task in found]
            made, taken = grant(change, judge, wanted, GrantRequest(session, self._store.lifetimes.silent))
            for task in claimed:
                change.put_task(task)
            orphaned_by = {lease.name: judge.member(lease.session).agent for lease in taken}
            return Claimed(
                tasks=tuple(claimed),
                grants=tuple(judge.make_grant(lease) for lease in made),
                orphaned_by=tuple(orphaned_by.get(task.task, "") for task in claimed),
            )

        about = ChangeSubject("claim", session, " ".join(tasks))
        return run_change(self._store, op, about, act)

    def _first_ready(self, change: Transaction, judge: Judge, session: str, role: str) -> Task:
        """Return the first task that is ready, or whose session died long ago; refuse if there is none."""
        wanted = "" if role == ANY_ROLE else role
        candidates = [*self._find_orphans(change, judge, session, wanted)]
        if (ready := change.first_ready(wanted)) is not None:
            candidates.append(ready)
        if not candidates:
            waiting = [_describe(change, judge, task) for task in change.tasks()[:_NAMED]]
            raise RefusedError(NothingReady(waiting=tuple(waiting)))
        return min(candidates, key=lambda task: (task.priority, task.added))

    def _find_orphans(self, change: Transaction, judge: Judge, session: str, role: str) -> list[Task]:
        """Return the tasks whose sessions have been silent for so long that others may claim them."""
        orphaned = self._store.lifetimes.orphaned
        silent = change.silent_leases(TASK, change.time.seconds - orphaned)
        dead = [one.name for one in silent if one.session != session and judge.left(one) <= -orphaned]
        found = [task for name in dead if (task := change.find_task(name)) is not None]
        ready = [task for task in found if task.state == OPEN and not task.waits]
        return [task for task in ready if not role or task.role in {"", role}]

    def close(self, op: str, session: str, held: Fenced, reason: str, note: str) -> TaskClosed | Lost:
        if reason not in REASONS:
            raise UsageError(f"unknown reason {reason}", hint=f"Use one of: {', '.join(REASONS)}.")

        def act(change: Transaction) -> TaskClosed:
            judge = self._judge(change, require_member(change, session))
            leases = change.leases_of(session)
            require_fences(change, judge, leases, [held])
            task = require_task(change, held.resource.name)
            if withdraw_offers(change, task.task):
                leases = change.leases_of(session)  # read again: its offers are withdrawn
            ended = [
                one for one in leases if one.resource == held.resource or (one.kind == PATH and not one.offer)
            ]
            end_leases(change, ended)
            state = BLOCKED if reason == BLOCKED else CLOSED
            closed = replace(
                task, state=state, reason=reason, note=join_notes(task.note, note), is_held=False
            )
            change.put_task(closed)
            freed = _free_waiting(change, closed) if state == CLOSED else ()
            paths = tuple(one.name for one in ended if one.kind == PATH)
            return TaskClosed(task=closed, freed=freed, released=paths)

        return run_change(self._store, op, ChangeSubject("close", session, held.resource.name), act)

    def note(self, op: str, session: str, task: str, text: str) -> TaskStored:
        def act(change: Transaction) -> TaskStored:
            known = require_task(change, task)
            noted = replace(known, note=join_notes(known.note, text))
            change.put_task(noted)
            return TaskStored(task=noted)

        return run_change(self._store, op, ChangeSubject("note", session, task), act)

    def give_back(self, op: str, session: str, held: Fenced) -> TaskStored | Lost:
        def act(change: Transaction) -> TaskStored:
            judge = self._judge(change, require_member(change, session))
            leases = require_fences(change, judge, change.leases_of(session), [held])
            task = require_task(change, held.resource.name)
            withdraw_offers(change, task.task)
            end_leases(change, leases)
            free = replace(task, is_held=False)
            change.put_task(free)
            return TaskStored(task=free)

        return run_change(self._store, op, ChangeSubject("give-back", session, held.resource.name), act)

    def change(self, op: str, session: str, task: Task) -> TaskStored:
        """Change the content of a task, or reopen a blocked one."""

        def act(change: Transaction) -> TaskStored:
            known = require_task(change, task.task)
            if known.state == CLOSED:
                raise UsageError(f"task {task.task} is closed", hint="Add a new task instead.")
            changed = replace(
                known,
                title=task.title,
                body=task.body,
                priority=task.priority,
                role=task.role,
                state=task.state,
                reason="" if task.state == OPEN else known.reason,
            )
            if changed.state not in {known.state, OPEN}:
                raise UsageError(f"task {task.task} cannot be closed this way", hint="Use `passdown close`.")
            change.put_task(changed)
            return TaskStored(task=changed)

        return run_change(self._store, op, ChangeSubject("change", session, task.task), act)

    def wait_for(self, op: str, session: str, task: str, other: str) -> TaskStored | DependencyCycle:
        def act(change: Transaction) -> TaskStored:
            known, awaited = require_task(change, task), require_task(change, other)
            if circle := _find_circle(change, task, other):
                raise RefusedError(DependencyCycle(tasks=circle))
            if other not in change.waits_of(task):
                change.add_wait(task, other)
                if awaited.state != CLOSED:
                    known = replace(known, waits=known.waits + 1)
                    change.put_task(known)
            return TaskStored(task=known)

        return run_change(self._store, op, ChangeSubject("wait", session, f"{task} {other}"), act)

    def find(self, task: str) -> TaskState | None:
        with self._store.looking() as reading:
            found = reading.find_task(task)
            judge = self._judge(reading)
            return None if found is None else _describe(reading, judge, found)

    def summary(self, most_ready: int = 0) -> TaskSummary:
        with self._store.looking() as reading:
            judge = self._judge(reading)
            counts = reading.count_tasks()
            held = {one.task: one for one in reading.held_tasks() if one.is_held and one.state != CLOSED}
            found = [_describe(reading, judge, one) for one in held.values()]
            ready = [_describe(reading, judge, one) for one in reading.ready_tasks(most_ready)]
        taken = [one for one in found if one.holder]
        returned = [one for one in found if is_ready(one)]  # its session ended
        all_ready = counts.ready + len(returned)
        return TaskSummary(
            ready=all_ready,
            held=len(taken),
            waiting=counts.unfinished - all_ready - len(taken),
            taken=tuple(sorted(taken, key=_by_priority)),
            first_ready=tuple(sorted((*ready, *returned), key=_by_priority)[:most_ready]),
        )

    def tasks(self, *, closed: bool = False) -> Sequence[TaskState]:
        with self._store.looking() as reading:
            judge = self._judge(reading)
            return [_describe(reading, judge, task) for task in reading.tasks(closed=closed)]


def _by_priority(state: TaskState) -> tuple[int, int, str]:
    return state.task.priority, state.task.added, state.task.task


def require_task(change: Reading, task: str) -> Task:
    """Return a task; raise a UsageError if there is none."""
    found = change.find_task(task)
    if found is None:
        raise UsageError(f"there is no task {task}", hint="`passdown task ready` lists what can be claimed.")
    return found


def _holding(change: Reading, task: str) -> Lease | None:
    """Return the lease under which a task is held."""
    return next((one for one in change.leases_on(TASK, task) if one.ended is None), None)


def _own_tasks(change: Reading, session: str) -> list[str]:
    """Return the tasks of the board that a session holds; tasks of an outside tracker are not on it."""
    held = [lease.name for lease in change.leases_of(session) if lease.kind == TASK]
    return [name for name in held if change.find_task(name) is not None]


def _find_claimable(change: Transaction, judge: Judge, session: str, name: str) -> Task:
    """Return the task with that id; refuse if it is held, orphaned only recently, waiting or not open."""
    task = require_task(change, name)
    if task.state != OPEN:
        raise UsageError(f"task {name} is {task.state}", hint="`passdown task ready` lists open ones.")
    lease = _holding(change, name)
    if lease is not None and lease.session != session and judge.left(lease) > -judge.orphaned:
        raise RefusedError(judge.make_held(Resource(TASK, name), lease))
    if task.waits and (lease is None or lease.session != session):
        raise RefusedError(NothingReady(waiting=(_describe(change, judge, task),)))
    return task


def _free_waiting(change: Transaction, closed: Task) -> tuple[str, ...]:
    """Remove a closed task from what other tasks wait for; return the tasks that are ready now."""
    freed: list[str] = []
    for name in change.waiting_for(closed.task):
        task = require_task(change, name)
        left = replace(task, waits=task.waits - 1)
        change.put_task(left)
        if left.state == OPEN and not left.waits and not left.is_held:
            freed.append(name)
    return tuple(freed)


def _find_circle(change: Reading, task: str, other: str) -> tuple[str, ...]:
    """Return the circle that a task would close by waiting for another; empty if there is none.

    Closed tasks do not count: nothing waits for them any more.
    """
    ways: list[tuple[str, ...]] = [(task, other)]
    seen: set[str] = set()
    while ways:
        way = ways.pop()
        if way[-1] == task:
            return way
        if way[-1] not in seen and require_task(change, way[-1]).state != CLOSED:
            seen.add(way[-1])
            ways += [(*way, one) for one in change.waits_of(way[-1])]
    return ()


def _describe(reading: Reading, judge: Judge, task: Task) -> TaskState:
    """Describe a task; one whose session ended and whose offer expired is on the board again."""
    lease = _holding(reading, task.task) if task.is_held else None
    if lease is not None and judge.member(lease.session).ended is not None and not judge.is_live(lease):
        lease, task = None, replace(task, is_held=False)
    awaited = map(reading.find_task, reading.waits_of(task.task)) if task.waits else ()
    waits = tuple(one.task for one in awaited if one is not None and one.state != CLOSED)
    if lease is None:
        return TaskState(task=task, waits_for=waits)
    left = judge.left(lease)
    return TaskState(
        task=task,
        holder=lease.session,
        agent=judge.member(lease.session).agent,
        fence=lease.fence,
        left=max(left, 0.0),
        is_orphaned=left <= 0,
        waits_for=waits,
    )
