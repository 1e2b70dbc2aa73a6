"""Claim tasks, close them and give them back."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated, NamedTuple

from passdown.core.coordination.leases import TASK, Fenced, Held, Lost, Resource
from passdown.core.coordination.messages import ALL, NewMessage, WaitingMessage
from passdown.core.coordination.notes import make_note
from passdown.core.coordination.operations import Operation
from passdown.core.coordination.tasks import (
    COMPLETED,
    Claimed,
    NothingReady,
    TaskClosed,
    TaskState,
    TaskStored,
)
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.errors import TrackerError, UsageError
from passdown.ports.coordination import Coordination
from passdown.ports.tracker import ClaimWish
from passdown.records import record, replace
from passdown.services.coordination.mail import deliver
from passdown.services.coordination.membership import (
    find_worker,
    join_project,
    new_operation,
    record_holdings,
)
from passdown.services.coordination.unfenced import (
    GoingOn,
    name_held,
    record_unfenced,
    record_unfenced_close,
    release_task,
)
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.workspace.workspaces import Workspace


@record
class ClaimResult:
    """What a claim came to."""

    account: Account
    outcome: Claimed | Held | NothingReady
    mail: Annotated[Sequence[WaitingMessage], "What the session has not read (R169)."] = ()


@record
class CloseResult:
    """What closing a task came to."""

    account: Account
    outcome: Annotated[TaskClosed | Lost | Held | None, "None if it waits for the tracker."]
    note: str = ""
    task: str = ""
    title: str = ""
    is_unfenced: Annotated[bool, "Whether no engine could be asked; the lease goes later (C86)."] = False


class CloseRequest(NamedTuple):
    """How a task is closed."""

    task: str
    reason: str = COMPLETED
    text: str = ""
    """What was done, why it is not needed, or what it waits for."""
    message: str = ""
    """A message to the team."""
    note: str = ""
    """What is added to the task's notes, if it is not made from the text."""
    op: Operation | None = None
    """The operation, if its id was made before."""


class ClosePlan(NamedTuple):
    """How the tracker is asked to close a task."""

    task: str
    fence: int
    reason: str
    note: str
    op: Operation | None = None
    """The operation, if its id was made before."""
    known: TaskState | None = None
    """The task as the tracker told it a moment ago."""


ClaimOutcome = Claimed | Held | NothingReady
CallClaim = Callable[[ClaimWish], ClaimOutcome]
CallClose = Callable[[ClosePlan], TaskClosed | Lost | Held | None]


def claim_tasks(workspace: Workspace, account: Account, wish: ClaimWish, call: CallClaim) -> ClaimResult:
    """Claim the named tasks, or the first that is ready: one session is given it, and no other.

    `call` asks the tracker.

    1. Take part, and look at the mail (R169).
    2. Claim.
    3. Write down what was granted, and bind the session to it (R166).

    Without the engine that sessions share, a tracker outside decides alone (C86).
    """
    coordination: Coordination | None = None
    mail: Sequence[WaitingMessage] = ()
    with GoingOn(workspace):
        coordination = join_project(workspace, account, role=wish.role)  # 1
        mail = coordination.messages.waiting(account.session)
    if coordination is None:
        wish = name_held(workspace, account, wish)
    outcome = call(wish)  # 2
    if isinstance(outcome, Claimed) and not all(one.fence for one in outcome.grants):
        account = record_unfenced(workspace, account, [one.name for one in outcome.grants])
    elif coordination is not None:
        with GoingOn(workspace):
            account = record_holdings(workspace, account, coordination)  # 3
    return ClaimResult(account=account, outcome=outcome, mail=mail)


def close_task(workspace: Workspace, account: Account, request: CloseRequest, call: CallClose) -> CloseResult:
    """Close a task that the session holds; with it all its files are released (R187, R215).

    1. The notes of the seed are written with it (R182 to R184). Only for those that contain the title is the
       tracker asked before.
    2. What was completed is a fact that others see.
    3. If the tracker is away, it closes the task later; the session is done with it now.
    4. The team is told, if there is something to tell.
    5. Without the engine that sessions share, a tracker outside decides alone; what the session holds is
       released when the engine is back (C86).

    `call` asks the tracker.
    """
    coordination: Coordination | None = None
    with GoingOn(workspace):
        coordination = join_project(workspace, account)
    task = request.task or account.task
    if not task:
        raise UsageError("the session holds no task", hint="name one: `passdown close ID`")
    known = _find_task(workspace, task) if _needs_title(request) else None
    note = request.note or make_note(request.reason, _title(known, task), request.text, account)  # 1
    plan = ClosePlan(task, account.claims.get(task, 0), request.reason, note, request.op, known)
    outcome = call(plan)
    title = _find_title(workspace, task, known, outcome)
    is_over = outcome is None or isinstance(outcome, TaskClosed)
    if is_over and request.reason == COMPLETED:
        done = NewFact(FactKind.DONE, f"{title} ({task})" if title != task else task)  # 2
        account = update_ledger(workspace, account, [done]).account
    result = CloseResult(account=account, outcome=outcome, note=note, task=task, title=title)
    message = request.message if is_over else ""
    if coordination is not None and not (isinstance(outcome, TaskClosed) and outcome.is_unfenced):
        with GoingOn(workspace):
            return _release(workspace, coordination, result, message)  # 3, 4
    return _leave_unreleased(workspace, result, message)  # 5


def _release(
    workspace: Workspace, coordination: Coordination, result: CloseResult, message: str
) -> CloseResult:
    """Write down what the session holds after a close, and tell the team."""
    account, task = result.account, result.task
    if result.outcome is None:
        release_task(workspace, account, coordination, task)
    over = "" if isinstance(result.outcome, Lost | Held) else task
    account = record_holdings(workspace, account, coordination, over=over)
    if message:
        deliver(workspace, coordination, NewMessage(account.session, ALL, message, kind="closed"))
    return replace(result, account=account)


def _leave_unreleased(workspace: Workspace, result: CloseResult, message: str) -> CloseResult:
    """Write down that a task is closed which nobody could release."""
    account = result.account
    if not isinstance(result.outcome, Lost | Held):
        account = record_unfenced_close(workspace, account, result.task)
    if message:
        workspace.warn("the message was not sent")
    return replace(result, account=account, is_unfenced=True)


def _needs_title(request: CloseRequest) -> bool:
    """Return whether the note about a close contains the title of the task."""
    return not request.note and (request.reason != COMPLETED or not request.text.strip())


def _title(known: TaskState | None, task: str) -> str:
    return known.task.title if known else task


def _find_title(
    workspace: Workspace, task: str, known: TaskState | None, outcome: TaskClosed | Lost | Held | None
) -> str:
    """Return the title of a task after a close, which may have told it; its id if nobody tells."""
    if isinstance(outcome, TaskClosed):
        return outcome.task.title or task
    return _title(known or _find_task(workspace, task), task)


def _find_task(workspace: Workspace, task: str) -> TaskState | None:
    """Return a task, or None if the tracker does not tell."""
    with suppress(TrackerError):  # closing it tells more
        return workspace.tracker.find(task)
    return None


def give_back_task(workspace: Workspace, account: Account, task: str) -> TaskStored | Lost:
    """Let others claim a task that the session holds."""
    coordination = join_project(workspace, account)
    held = Fenced(Resource(TASK, task), account.claims.get(task, 0))
    op = Operation(new_operation(workspace))
    outcome = workspace.tracker.give_back(op, find_worker(workspace, account), held)
    record_holdings(workspace, account, coordination, over="" if isinstance(outcome, Lost) else task)
    return outcome
