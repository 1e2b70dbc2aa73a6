"""Claim tasks, close them and give them back."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, NamedTuple

from passdown.core.coordination.holding_facts import list_left
from passdown.core.coordination.leases import TASK, Fenced, Held, Lost, Resource
from passdown.core.coordination.messages import ALL, NewMessage, WaitingMessage
from passdown.core.coordination.notes import find_stated, make_note, needs_task
from passdown.core.coordination.operations import Operation
from passdown.core.coordination.tasks import (
    COMPLETED,
    Claimed,
    NothingReady,
    TaskClosed,
    TaskState,
    TaskStored,
)
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction
from passdown.errors import TrackerError, TrackerQueuedError, UsageError
from passdown.ports.coordination import Coordination
from passdown.ports.tracker import TaskSelection
from passdown.records import record, replace
from passdown.services.coordination.finishing import changing
from passdown.services.coordination.mail import deliver, queue_message
from passdown.services.coordination.membership import find_worker, join_project, record_holdings
from passdown.services.coordination.unfenced import (
    TrackerFallback,
    name_held,
    record_unfenced_close,
    release_task,
)
from passdown.services.operations.operations import drop, next_operation
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.workspace.workspaces import Workspace


@record
class ClaimResult:
    """The outcome of a claim."""

    account: Account
    outcome: Claimed | Held | NothingReady
    mail: Annotated[Sequence[WaitingMessage], "The unread messages of the session (R169)."] = ()


@record
class CloseResult:
    """The outcome of closing a task."""

    account: Account
    outcome: Annotated[TaskClosed | Lost | Held | None, "None if it is queued for the tracker."]
    note: str = ""
    task: str = ""
    title: str = ""
    is_unfenced: Annotated[
        bool, "Whether coordination was unavailable; the lease is released later (C86)."
    ] = False


class CloseRequest(NamedTuple):
    """A request to close a task."""

    task: str
    reason: str = COMPLETED
    text: str = ""
    """The closing text: what was done, why it is not needed, or what it waits for."""
    message: str = ""
    """A message to the team."""
    note: str = ""
    """The note to add to the task; empty to make it from the text."""
    op: Operation | None = None
    """The operation, if it has an id already."""


def claim_tasks(workspace: Workspace, account: Account, wish: TaskSelection) -> ClaimResult:
    """Claim the named tasks, or the first ready one, for this session only.

    1. Join, and read the messages (R169).
    2. Claim.
    3. Record what was granted, and bind the session to it (R166).

    If the coordination engine is unavailable, an outside tracker decides alone (C86).
    """
    wish = wish._replace(role=wish.role or account.start.role)
    coordination: Coordination | None = None
    mail: Sequence[WaitingMessage] = ()
    with TrackerFallback(workspace):
        coordination = join_project(workspace, account, role=wish.role)  # 1
        mail = coordination.messages.waiting(account.session)
    if coordination is None:
        wish = name_held(workspace, account, wish)
    op = Operation(next_operation(workspace, OperationAction.CLAIM, ""))
    outcome = workspace.tracker.claim(op, find_worker(workspace, account), wish)  # 2
    is_unfenced = isinstance(outcome, Claimed) and not all(one.fence for one in outcome.grants)
    if coordination is None or is_unfenced:
        account = update_ledger(workspace, read_account(workspace, account.session)).account
    else:
        with TrackerFallback(workspace):
            account = record_holdings(workspace, account, coordination)  # 3
    return ClaimResult(account=account, outcome=outcome, mail=mail)


def close_task(workspace: Workspace, account: Account, request: CloseRequest) -> CloseResult:
    """Close a task that the session holds, and release all its files (R187, R215).

    1. The note of the seed is written with it (R182 to R184). The tracker is asked before only if the note
       needs its details.
    2. The team gets the message, if there is one.
    3. A completed task is a fact that others see, recorded with the outcome. If the tracker does not answer,
       the task is closed there later; the session is done with it now.
    4. If the coordination engine is unavailable, an outside tracker decides alone; the session's holds are
       released when the engine is back (C86).
    """
    coordination: Coordination | None = None
    with TrackerFallback(workspace):
        coordination = join_project(workspace, account)
    task = request.task or _find_repeated(workspace) or account.task
    if not task:
        raise UsageError("this session holds no task", hint="name one: `passdown close ID`")
    is_asked = not request.note and needs_task(request.reason, request.text)
    known = _find_task(workspace, task) if is_asked else None
    note = request.note or _make_note(workspace, account, request, task, known)  # 1
    op = request.op or Operation(next_operation(workspace, OperationAction.CLOSE, task))
    told, message = _queue_news(workspace, account, request, op) if coordination else (None, "")  # 2
    outcome = _call_close(workspace, account, op, task, request._replace(note=note))  # 3
    title = _find_title(workspace, task, known, outcome)
    if outcome is None:
        account = update_ledger(workspace, account, list_left(task, title, request.reason, note)).account
    result = CloseResult(account=account, outcome=outcome, note=note, task=task, title=title)
    is_unfenced = isinstance(outcome, TaskClosed) and outcome.is_unfenced
    if coordination is not None and not is_unfenced:
        with TrackerFallback(workspace):
            return _release(workspace, coordination, result, told, message)
    drop(workspace, message)
    return _leave_unreleased(workspace, result, request.message)  # 4


def _queue_news(
    workspace: Workspace, account: Account, request: CloseRequest, op: Operation
) -> tuple[NewMessage | None, str]:
    """Return the message to the team and its id; it is recorded with the close and sent after it."""
    if not request.message:
        return None, ""
    told = NewMessage(account.session, ALL, request.message, kind="closed")
    return told, queue_message(workspace, told, op.id)


def _find_repeated(workspace: Workspace) -> str:
    """Return the task of a repeated command, which the session may no longer hold."""
    repeated = workspace.verb.find_known(OperationAction.CLOSE)
    return repeated.task if repeated else ""


def _call_close(
    workspace: Workspace, account: Account, op: Operation, task: str, request: CloseRequest
) -> TaskClosed | Lost | Held | None:
    """Close a task in the tracker; return None if that is queued."""
    held = Fenced(Resource(TASK, task), account.claims.get(task, 0))
    with suppress(TrackerQueuedError):
        worker = find_worker(workspace, account)
        return workspace.tracker.close(op, worker, held, request.reason, request.note)
    return None


def _release(
    workspace: Workspace, coordination: Coordination, result: CloseResult, told: NewMessage | None, op: str
) -> CloseResult:
    """Record what the session holds after a close, and tell the team."""
    account, task = result.account, result.task
    if result.outcome is None:
        release_task(workspace, account, coordination, task)
    is_over = not isinstance(result.outcome, Lost | Held)
    account = record_holdings(workspace, account, coordination, over=task if is_over else "")
    if told and is_over:
        deliver(workspace, coordination, told, op)
    return replace(result, account=account)


def _leave_unreleased(workspace: Workspace, result: CloseResult, message: str) -> CloseResult:
    """Record that a task was closed without releasing its lease."""
    account = read_account(workspace, result.account.session)
    if not isinstance(result.outcome, Lost | Held):
        account = record_unfenced_close(workspace, account, result.task)
    if message:
        workspace.warn("your message to the team was not sent")
    return replace(result, account=account, is_unfenced=True)


def _make_note(
    workspace: Workspace, account: Account, request: CloseRequest, task: str, known: TaskState | None
) -> str:
    """Return the note of the seed: the closing text, and what the session stated while it held the task."""
    stated = find_stated(task, workspace.journals.read(account.session), account)
    waits_for = known.waits_for if known else ()
    return make_note(request.reason, request.text, _title(known, task), waits_for, stated)


def _title(known: TaskState | None, task: str) -> str:
    return known.task.title if known else task


def _find_title(
    workspace: Workspace, task: str, known: TaskState | None, outcome: TaskClosed | Lost | Held | None
) -> str:
    """Return the title of a closed task, if possible from the outcome; its id if it is unknown."""
    if isinstance(outcome, TaskClosed):
        return outcome.task.title or task
    return _title(known or _find_task(workspace, task), task)


def _find_task(workspace: Workspace, task: str) -> TaskState | None:
    """Return a task; None if the tracker does not answer."""
    with suppress(TrackerError):  # closing it gives a better error
        return workspace.tracker.find(task)
    return None


def give_back_task(workspace: Workspace, account: Account, task: str) -> TaskStored | Lost | None:
    """Give up a task that the session holds; return None if that is queued for the tracker."""
    with changing(workspace, account, with_tracker=True):
        coordination = join_project(workspace, account)
        held = Fenced(Resource(TASK, task), account.claims.get(task, 0))
        op = Operation(next_operation(workspace, OperationAction.GIVE_BACK, task))
        outcome: TaskStored | Lost | None = None
        with suppress(TrackerQueuedError):
            outcome = workspace.tracker.give_back(op, find_worker(workspace, account), held)
        record_holdings(workspace, account, coordination, over="" if isinstance(outcome, Lost) else task)
        return outcome
