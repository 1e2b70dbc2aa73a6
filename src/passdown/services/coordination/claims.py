"""Claim tasks, close them and give them back."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from passdown.core.coordination.leases import TASK, Fenced, Held, Lost, Resource
from passdown.core.coordination.messages import ALL, NewMessage, WaitingMessage
from passdown.core.coordination.notes import make_note
from passdown.core.coordination.tasks import (
    COMPLETED,
    Claimed,
    NothingReady,
    TaskClosed,
    TaskStored,
)
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.records import record
from passdown.services.coordination.mail import deliver
from passdown.services.coordination.membership import join_project, new_operation, record_holdings
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
    outcome: TaskClosed | Lost
    note: str = ""


class CloseRequest(NamedTuple):
    """How a task is closed."""

    task: str
    reason: str = COMPLETED
    text: str = ""
    """What was done, why it is not needed, or what it waits for."""
    message: str = ""
    """A message to the team."""


def claim_tasks(
    workspace: Workspace, account: Account, tasks: Sequence[str], *, role: str = "", another: bool = False
) -> ClaimResult:
    """Claim the named tasks, or the first that is ready: one session is given it, and no other.

    1. Take part, and look at the mail (R169).
    2. Claim.
    3. Write down what was granted, and bind the session to it (R166).
    """
    coordination = join_project(workspace, account, role=role)  # 1
    mail = coordination.messages.waiting(account.session)
    outcome = coordination.tasks.claim(  # 2
        new_operation(workspace), account.session, tasks, role=role, another=another
    )
    account = record_holdings(workspace, account, coordination)  # 3
    return ClaimResult(account=account, outcome=outcome, mail=mail)


def close_task(workspace: Workspace, account: Account, request: CloseRequest) -> CloseResult:
    """Close a task that the session holds; with it all its files are released (R187, R215).

    1. The notes of the seed are written with it (R182 to R184).
    2. What was completed is a fact that others see.
    3. The team is told, if there is something to tell.
    """
    coordination = join_project(workspace, account)
    task = request.task or account.task
    if not task:
        raise UsageError("the session holds no task", hint="name one: `passdown close ID`")
    found = coordination.tasks.find(task)
    title = found.task.title if found else task
    note = make_note(request.reason, title, request.text, account)  # 1
    held = Fenced(Resource(TASK, task), account.claims.get(task, 0))
    outcome = coordination.tasks.close(new_operation(workspace), account.session, held, request.reason, note)
    if isinstance(outcome, TaskClosed) and request.reason == COMPLETED:
        done = NewFact(FactKind.DONE, f"{title} ({task})")  # 2
        account = update_ledger(workspace, account, [done]).account
    account = record_holdings(workspace, account, coordination)
    if isinstance(outcome, TaskClosed) and request.message:  # 3
        deliver(workspace, coordination, NewMessage(account.session, ALL, request.message, kind="closed"))
    return CloseResult(account=account, outcome=outcome, note=note)


def give_back_task(workspace: Workspace, account: Account, task: str) -> TaskStored | Lost:
    """Let others claim a task that the session holds."""
    coordination = join_project(workspace, account)
    held = Fenced(Resource(TASK, task), account.claims.get(task, 0))
    outcome = coordination.tasks.give_back(new_operation(workspace), account.session, held)
    record_holdings(workspace, account, coordination)
    return outcome
