"""Finish what interrupted commands began, so that each change happens exactly once (C142)."""

from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime, timedelta
from typing import Annotated, Final, cast

from passdown.core.coordination.leases import TASK, Fenced, Grant, Granted, Held, Lost, Resource
from passdown.core.coordination.messages import Sent
from passdown.core.coordination.operations import REMEMBERED
from passdown.core.coordination.outcomes import load_outcome
from passdown.core.coordination.tasks import CLOSED, Task
from passdown.core.json_text import dump
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import (
    GRANTS,
    OF_TRACKER,
    REPLAYED,
    OperationAction,
    Outcome,
    SharedOperation,
    as_repeat,
    find_repeated,
    read_message,
    read_offer,
    read_values,
)
from passdown.errors import PassdownError, StorageError, TrackerError, TrackerSpentError, UsageError
from passdown.ports.coordination import Coordination
from passdown.ports.tracker import Tracker, Worker
from passdown.records import record
from passdown.services.coordination.membership import find_worker, record_holdings
from passdown.services.operations.operations import (
    NO_SESSION,
    abandon,
    journal_of,
    make_id,
    read_recorded,
    settle,
)
from passdown.services.operations.recorded_coordination import Recorder
from passdown.services.operations.recorded_tracker import BOARD, judge, name_tracker, note_before
from passdown.services.operations.waiting import find_open
from passdown.services.sessions.journals import read_account, read_before, read_open
from passdown.services.sessions.liveness import is_live
from passdown.services.workspace.workspaces import Workspace

OWN_WAIT: Final = 30.0
"""Seconds to wait for another command of the same session."""

MANY_TRIES: Final = 20
"""After this many attempts, each further one says how to drop the change (C148)."""

_SENT_ONCE: Final = frozenset({OperationAction.MESSAGE, OperationAction.OFFER})
"""Changes that would happen twice if they were repeated with another id."""

_FORGOTTEN: Final = timedelta(seconds=REMEMBERED - 3_600)
"""The age at which the engine may have forgotten whether an operation was made."""


@record
class Finished:
    """The outcome of finishing the operations that earlier commands left."""

    done: tuple[SharedOperation, ...] = ()
    refused: tuple[SharedOperation, ...] = ()
    waiting: tuple[SharedOperation, ...] = ()
    dropped: Annotated[tuple[SharedOperation, ...], "Operations that never happened and never will."] = ()


# --- one command --------------------------------------------------------------------------------------


@contextmanager
def changing(
    workspace: Workspace, account: Account | None, *, with_tracker: bool = False
) -> Generator[Finished, None, None]:
    """Lock out other commands of the session, and first finish what earlier ones began.

    With `with_tracker`, changes queued for the tracker are tried again too. If the words are those of an
    interrupted command, this is that command again: its operations get the same ids.
    """
    verb, session = workspace.verb, account.session if account else ""
    if verb.is_entered:
        yield Finished()
        return
    with workspace.locks.held(journal_of(session), OWN_WAIT) as is_held:
        if not is_held:
            message = f"another command of this session is still running after {OWN_WAIT:g} s"
            raise StorageError(message, hint="Nothing was changed; try again.")
        begin_verb(workspace, account)
        verb.is_entered = True
        try:
            yield finish(workspace, account, with_tracker=with_tracker)
        finally:
            verb.leave()


def begin_verb(workspace: Workspace, account: Account | None) -> None:
    """Set the id of the running command: the id of the command that it repeats, or a new one."""
    verb = workspace.verb
    if verb.id:
        return
    known = () if verb.is_again else _find_repeated(workspace, account)
    verb.id = known[0].verb if known else make_id(workspace)
    verb.known = known
    if known:
        at = workspace.show_time(known[0].at)
        workspace.warn(f"the same command was interrupted at {at}; continuing it, so nothing is done twice")


def _find_repeated(workspace: Workspace, account: Account | None) -> Sequence[SharedOperation]:
    """Find them in the journal of the session, or of the session that it continues."""
    names = [account.session] if account else [NO_SESSION]
    if account and account.start.continues:
        names += [one.session for one in read_before(workspace, account.start.continues)][:1]
    for name in names:
        found = find_repeated(read_recorded(workspace, name), workspace.verb.call, workspace.now())
        if found:
            return found
    return ()


# --- what is left -------------------------------------------------------------------------------------


def finish(workspace: Workspace, account: Account | None, *, with_tracker: bool = False) -> Finished:
    """Finish the operations that are left, the oldest first; the caller holds the session's lock.

    1. Finish those of this session and of dead sessions; with the tracker, also the queued ones of all.
    2. Leave the operations of a session whose lock is held to that session.
    """
    verb = workspace.verb
    over = {*verb.tried, *verb.begun, *(one.id for one in verb.known)}
    left = [one for one in find_open(workspace) if one.id not in over]
    chosen = [one for one in left if _is_ours(workspace, account, one, with_tracker=with_tracker)]  # 1
    tried = _finish_all(workspace, account, chosen) if chosen else ()
    verb.tried |= {one.id for one in tried}
    known = {one.id: one for one in (*left, *tried)}.values()
    found = Finished(
        done=tuple(one for one in tried if one.outcome == Outcome.DONE),
        refused=tuple(one for one in tried if one.outcome == Outcome.REFUSED),
        waiting=tuple(one for one in known if one.is_waiting),
        dropped=tuple(one for one in tried if one.is_dropped),
    )
    _tell(workspace, found)
    if tried and account is not None:
        with suppress(StorageError):  # the next command records what the session holds
            coordination = workspace.find_coordination()
            if coordination is not None:
                record_holdings(workspace, account, coordination)
    return found


def finish_dead(workspace: Workspace) -> None:
    """Finish what dead sessions began, before their facts are published.

    A hook asks no server and no outside tracker (C77); the next command finishes what is left.
    """
    left = [one for one in read_open(workspace) if one.unfinished and not is_live(workspace, one)]
    if left and not workspace.has_server:
        with suppress(StorageError, UsageError), changing(workspace, None):  # the next command tries it again
            return


def _finish_all(
    workspace: Workspace, account: Account | None, chosen: Sequence[SharedOperation]
) -> Sequence[SharedOperation]:
    own, wanted = journal_of(account.session if account else ""), {one.id for one in chosen}
    with ExitStack() as stack:
        locked = {own} | {
            name
            for name in sorted({journal_of(one.session) for one in chosen} - {own})
            if stack.enter_context(workspace.locks.held(name, 0.0))  # 2
        }
        known = [one for name in sorted(locked) for one in read_recorded(workspace, name)]
        work = Finishing(workspace, account, known)
        return [work.finish(one) for one in _in_order(known) if one.is_open and one.id in wanted]


def _is_ours(
    workspace: Workspace, account: Account | None, operation: SharedOperation, *, with_tracker: bool
) -> bool:
    """Return whether this command finishes an operation.

    1. Changes queued for the tracker are tried again by commands that call it.
    2. A hook calls no outside tracker.
    3. Operations without an outcome are finished by the next command of their session, or by any command if
       the session is dead.
    """
    is_outside = operation.action in OF_TRACKER and workspace.has_outside_tracker
    if is_outside and workspace.is_hook:
        return False  # 2
    if operation.is_waiting and (operation.tries or not operation.verb):
        return with_tracker  # 1
    if operation.session in {account.session if account else "", ""}:
        return True
    return not is_live(workspace, read_account(workspace, operation.session))  # 3


def _in_order(operations: Sequence[SharedOperation]) -> Sequence[SharedOperation]:
    """Sort by age: changes in the engine, then in the tracker by kind; those that follow others come last."""

    def rank(one: SharedOperation) -> tuple[bool, int, datetime]:
        place = REPLAYED.index(one.action) if one.action in REPLAYED else -1
        return (bool(one.after), place, one.at)

    return sorted(operations, key=rank)


def _tell(workspace: Workspace, found: Finished) -> None:
    sent = sum(map(_has_waited, found.done))
    if sent:
        changes = "queued change" if sent == 1 else "queued changes"
        workspace.warn(f"sent {sent} {changes} to {name_tracker(workspace)}")
    for one in found.done:
        if not _has_waited(one):
            workspace.warn(f"finished an interrupted command: {one.title}")
    for one in found.refused:
        text = f"cannot finish an interrupted command: {one.title}"
        if _has_waited(one):
            text = f"{name_tracker(workspace)} refused a queued change, {one.said}"
        workspace.warn(f"{text}: {one.error or 'it is no longer possible'}")
    for one in found.waiting:
        if one.tries >= MANY_TRIES:
            workspace.warn(
                f"{one.said} failed {one.tries} times (last error: {one.error}); "
                f"to drop it: `passdown sync --drop {one.id}`"
            )
    for one in found.dropped:
        if not one.after:
            why = one.error or "nothing was changed; run it again if you still need it"
            workspace.warn(f"a command was interrupted: {one.title}: {why}")


def _has_waited(operation: SharedOperation) -> bool:
    """Return whether an operation was queued for the tracker, not just interrupted."""
    return operation.tries > 1 or not operation.verb


class Finishing:
    """Finishes operations one by one; if the tracker fails at one, only the same task has to wait."""

    def __init__(
        self, workspace: Workspace, account: Account | None, known: Sequence[SharedOperation]
    ) -> None:
        """Finish for a session, or for a person without one."""
        self._workspace = workspace
        self._account = account
        self._agent = account.agent if account else ""
        self._known = {one.id: one for one in known}
        self._stuck: set[str] = set()

    def finish(self, operation: SharedOperation) -> SharedOperation:
        """Finish one operation; return its new state.

        1. An operation that follows another waits for it, and is dropped with it.
        2. If the engine or the tracker does not answer, it stays open.
        """
        before = self._known.get(operation.after) if operation.after else None
        if before is not None and before.is_open:  # 1
            return operation
        try:
            if operation.after and (before is None or before.outcome != Outcome.DONE):
                found = self._settle(operation, Outcome.NOT_MADE)
            elif operation.action in OF_TRACKER:
                found = self._finish_in_tracker(operation)
            else:
                found = self._finish_in_engine(operation)
        except (StorageError, TrackerError) as error:  # 2
            if not operation.is_waiting:
                self._workspace.warn(
                    f"cannot finish an interrupted command yet: {operation.title}: {error.message}"
                )
            return operation
        self._known[found.id] = found
        return found

    def _settle(self, operation: SharedOperation, outcome: Outcome, error: str = "") -> SharedOperation:
        return settle(self._workspace, operation, outcome, error=error, agent=self._agent)

    def _record(
        self, operation: SharedOperation, answer: object, engine: Coordination | None
    ) -> SharedOperation:
        recorder = Recorder(self._workspace, engine.history if engine else None)
        return recorder.record(operation, answer)

    # --- the engine ----------------------------------------------------------------------------------

    def _finish_in_engine(self, operation: SharedOperation) -> SharedOperation:
        """Repeat a change with its id, or look up whether a grant was made.

        1. A grant that was not made is dropped: the session may not want it any more.
        2. A message or offer that the engine may have forgotten is not sent again.
        """
        engine = self._workspace.open_engine()
        if operation.action in GRANTS:  # 1
            return self._look_up(engine, operation)
        is_old = self._workspace.now() - operation.at > _FORGOTTEN
        if is_old and operation.action in _SENT_ONCE:  # 2
            return abandon(self._workspace, operation, self._agent, "too old to tell whether it took effect")
        op = make_id(self._workspace) if is_old else operation.id
        try:
            answer = _repeat(engine, op, operation)
        except UsageError as error:
            return self._settle(operation, Outcome.REFUSED, error.message)
        if isinstance(answer, Sent):
            from passdown.services.handover.deliveries import notify_recipients  # few calls need it

            notify_recipients(self._workspace, answer.recipients)
        return self._record(operation, answer, engine)

    def _look_up(self, engine: Coordination, operation: SharedOperation) -> SharedOperation:
        answer = engine.history.cancel(operation.id)
        if answer is None:
            return self._settle(operation, Outcome.NOT_MADE)
        return self._record(operation, answer, engine)

    # --- the tracker ---------------------------------------------------------------------------------

    def _finish_in_tracker(self, operation: SharedOperation) -> SharedOperation:
        if operation.task and operation.task in self._stuck:
            return operation
        tracker = self._workspace.open_tracker()
        engine = self._workspace.open_engine() if tracker.about.kind == BOARD else None
        if operation.action is OperationAction.CLAIM:
            return self._look_up(engine, operation) if engine else self._look_up_claim(tracker, operation)
        try:
            operation = note_before(self._workspace, tracker, operation)
            answer = self._call(tracker, operation)
        except TrackerSpentError:  # it was not called
            return operation
        except (TrackerError, StorageError, UsageError) as error:
            if engine is not None and isinstance(error, StorageError):
                raise
            return self._note_failure(operation, error)
        if isinstance(answer, Lost | Held):
            return self._settle(operation, Outcome.REFUSED, "another session holds the task")
        return self._record(operation, answer, engine)

    def _note_failure(self, operation: SharedOperation, error: PassdownError) -> SharedOperation:
        """Record that the tracker failed; adding a task is not tried again (R197)."""
        found = self._settle(operation, judge(error), error.message)
        if not found.is_open:
            return found
        self._stuck.add(operation.task)
        if operation.action is OperationAction.CREATE:
            return abandon(self._workspace, found, self._agent, error.message)
        return found

    def _call(self, tracker: Tracker, operation: SharedOperation) -> object:
        """Ask the tracker again for the change of an operation.

        A change of another session or tool is made without that session, which may be gone: an outside
        tracker itself knows who has a task.
        """
        is_own = self._account is not None and self._account.session == operation.session
        is_named = (is_own and not operation.record) or tracker.about.kind == BOARD
        worker = Worker(operation.session if is_named else "", operation.agent)
        op = as_repeat(operation, self._workspace.now())
        held = Fenced(Resource(TASK, operation.task), operation.fence)
        match operation.action:
            case OperationAction.UPDATE:
                return tracker.note(op, worker, operation.task, operation.note)
            case OperationAction.CLOSE:
                known = read_account(self._workspace, operation.session)
                former = find_worker(self._workspace, known).former
                closer = worker._replace(former=former)
                return tracker.close(op, closer, held, operation.reason, operation.note)
            case OperationAction.CREATE:
                values = read_values(operation)
                task = cast("Task", load_outcome(dump(values["task"])))
                return tracker.create(op, worker, task, cast("list[str]", values.get("after", [])))
            case OperationAction.GIVE_BACK:
                return tracker.give_back(op, worker, held)
            case OperationAction.MOVE:
                # The fence was not known yet when the move was recorded.
                claims = read_account(self._workspace, operation.session).claims
                fence = claims.get(operation.task, held.fence)
                return tracker.move(op, worker, held._replace(fence=fence))
            case _:
                return tracker.sync(worker, push=self._workspace.settings.tracker.push)

    def _look_up_claim(self, tracker: Tracker, operation: SharedOperation) -> SharedOperation:
        """Find out which tasks the session got; release a lease that the tracker did not confirm."""
        account = read_account(self._workspace, operation.session)
        worker = find_worker(self._workspace, account)
        leases = self._workspace.open_engine().leases
        held = {
            one.resource.name: one
            for one in leases.leases(account.session)
            if one.resource.kind == TASK and one.left > 0 and one.resource.name not in account.claims
        }
        grants: list[Grant] = []
        for name in dict.fromkeys((*operation.task.split(), *held)):
            state, lease = tracker.find(name), held.get(name)
            if state is not None and worker.is_called(state.agent) and state.task.state != CLOSED:
                fence, time = (lease.fence, lease.left) if lease else (0, 0.0)
                grants.append(Grant(kind=TASK, name=name, fence=fence, left=time))
            elif lease is not None:
                leases.release(
                    make_id(self._workspace), account.session, [Fenced(lease.resource, lease.fence)]
                )
        if not grants:
            return self._settle(operation, Outcome.NOT_MADE)
        return self._record(operation, Granted(grants=tuple(grants)), None)


# --- repeating a change in the engine -----------------------------------------------------------------


def _repeat(engine: Coordination, op: str, one: SharedOperation) -> object:
    """Ask the engine again for the change of an operation."""
    repeats: dict[OperationAction, Callable[[], object]] = {
        OperationAction.RELEASE: lambda: engine.leases.release(op, one.session, _read_held(one)),
        OperationAction.ADD: lambda: engine.tasks.add(op, one.session, _read_task(one)),
        OperationAction.CHANGE: lambda: engine.tasks.change(op, one.session, _read_task(one)),
        OperationAction.BLOCK: lambda: engine.tasks.wait_for(
            op, one.session, one.task, str(read_values(one)["other"])
        ),
        OperationAction.MESSAGE: lambda: engine.messages.send(op, read_message(one)),
        OperationAction.OFFER: lambda: engine.offers.offer(op, read_offer(one)),
        OperationAction.DECLINE: lambda: engine.offers.decline(op, one.session, one.task),
        OperationAction.WITHDRAW: lambda: engine.offers.withdraw(op, one.session, one.task),
    }
    return repeats[one.action]()


def _read_held(operation: SharedOperation) -> Sequence[Fenced]:
    rows = cast("list[tuple[tuple[str, str], int]]", read_values(operation).get("held", []))
    return [Fenced(Resource(*resource), fence) for resource, fence in rows]


def _read_task(operation: SharedOperation) -> Task:
    return cast("Task", load_outcome(operation.values))
