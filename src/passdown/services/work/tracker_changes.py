"""Claim and close tasks, add notes and tasks, and sync, after sending the queued tracker changes."""

from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager

from passdown.core.coordination.operations import Operation
from passdown.core.coordination.tasks import Task
from passdown.core.project.metrics import Metric, MetricKind
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction, Outcome, SharedOperation
from passdown.errors import TrackerError, TrackerQueuedError, TrackerRefusedError
from passdown.ports.tracker import TaskSelection
from passdown.services.coordination.claims import (
    ClaimResult,
    CloseRequest,
    CloseResult,
    claim_tasks,
    close_task,
)
from passdown.services.coordination.finishing import OWN_WAIT, Finished, changing
from passdown.services.coordination.membership import as_worker, find_worker
from passdown.services.coordination.tasks import add_task, is_outside
from passdown.services.operations.operations import abandon, journal_of, next_operation, settle
from passdown.services.operations.waiting import find_operation, find_waiting, read_all
from passdown.services.work.pending_files import find_unsynced_files, take_in_files, update_files
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import TrackerChoice


@contextmanager
def catch_up(workspace: Workspace, account: Account | None) -> Generator[Finished, None, None]:
    """First finish interrupted commands and send queued changes; lock out other commands of the session."""
    with_tracker = workspace.settings.tracker.kind is not TrackerChoice.NONE
    if not with_tracker or not is_outside(workspace):
        with changing(workspace, account, with_tracker=with_tracker) as found:
            yield found
        return
    take_in_files(workspace, account)
    with changing(workspace, account, with_tracker=True) as found:
        if found.done:
            closes = sum(one.action is OperationAction.CLOSE for one in found.done)
            counts = {"updates": len(found.done) - closes, "closes": closes}
            workspace.record_metrics([Metric(MetricKind.PENDING_RECOVERY, workspace.now(), counts)])
        try:
            yield found
        finally:
            update_files(workspace, account)


def claim(workspace: Workspace, account: Account, wish: TaskSelection) -> ClaimResult:
    """Claim tasks; after three failures it is not tried again (C16)."""
    with catch_up(workspace, account):
        return claim_tasks(workspace, account, wish)


def close(workspace: Workspace, account: Account, request: CloseRequest) -> CloseResult:
    """Close a task; if the tracker does not answer, a later command closes it there."""
    with catch_up(workspace, account):
        if _is_recorded(workspace, request.op):
            return CloseResult(account=account, outcome=None, task=request.task, title=request.task)
        return close_task(workspace, account, request)


def add_note(
    workspace: Workspace, account: Account, task: str, text: str, op: Operation | None = None
) -> bool:
    """Add a text to the notes of a task; return False if it is queued for a later command.

    An operation that has an id already is not begun again if a journal has it.
    """
    with catch_up(workspace, account):
        if _is_recorded(workspace, op):
            return False
        op = op or Operation(next_operation(workspace, OperationAction.UPDATE, task))
        try:
            workspace.tracker.note(op, as_worker(account), task, text)
        except TrackerQueuedError as found:
            workspace.warn(found.message)
            return False
        return True


def create(workspace: Workspace, account: Account | None, task: Task, after: Sequence[str] = ()) -> Task:
    """Add a task; after three failures it is not tried again (R197)."""
    with catch_up(workspace, account):
        return add_task(workspace, account, task, after)


def sync(workspace: Workspace, account: Account | None) -> str:
    """Sync the tracker with its remote; return in words what was done.

    Raises a TrackerError if it failed three times; a later command then tries again (R190). It replaces an
    earlier queued sync: one is enough.
    """
    worker = find_worker(workspace, account) if account else as_worker(None)
    former = _find_syncs(workspace)
    workspace.verb.tried |= {one.id for one in former}
    try:
        with catch_up(workspace, account):
            try:
                done = workspace.tracker.sync(worker, push=workspace.settings.tracker.push)
            except TrackerQueuedError:
                _settle_syncs(workspace, account, former, Outcome.ABANDONED)
                raise
            _settle_syncs(workspace, account, former, Outcome.DONE)
            return done
    except TrackerQueuedError:
        tries = max(one.tries for one in _find_syncs(workspace))
        saved = " and ".join(find_unsynced_files(workspace))
        owed = f"unsynced changes are listed in {saved}" if saved else "a later command tries again"
        raise TrackerError(
            f"sync failed after {tries} attempt{'s' * (tries > 1)}; {owed}",
            hint="Fix the cause, then run `passdown sync`; other commands also try again.",
        ) from None


def _find_syncs(workspace: Workspace) -> Sequence[SharedOperation]:
    return [one for one in find_waiting(workspace) if one.action is OperationAction.SYNC]


def _settle_syncs(
    workspace: Workspace, account: Account | None, owed: Sequence[SharedOperation], outcome: Outcome
) -> None:
    """Settle the queued syncs that a sync replaces; the caller holds the lock of its own session."""
    own = account.session if account else ""
    for one in owed:
        with ExitStack() as stack:
            is_ours = one.session == own
            if is_ours or stack.enter_context(workspace.locks.held(journal_of(one.session), 0.0)):
                settle(workspace, one, outcome, agent=account.agent if account else "")


def drop_change(workspace: Workspace, account: Account | None, name: str) -> SharedOperation:
    """Drop a queued change; return it."""
    operation = find_operation(workspace, name)
    with workspace.locks.held(journal_of(operation.session), OWN_WAIT):
        abandon(workspace, operation, account.agent if account else "")
    update_files(workspace, account)
    return operation


def _is_recorded(workspace: Workspace, op: Operation | None) -> bool:
    """Return whether an earlier operation is done or queued; raise a TrackerError if it was refused.

    The board itself knows what it did.
    """
    if op is None or not op.is_repeat or not is_outside(workspace):
        return False
    known = next((one for one in read_all(workspace) if one.id == op.id), None)
    if known is not None and known.outcome in {Outcome.REFUSED, Outcome.ABANDONED}:
        raise TrackerRefusedError(known.error or "the tracker refused it before")
    return known is not None
