"""The facts that a change of what sessions share states, for the session that made it."""

from collections.abc import Sequence

from passdown.core.coordination.holding_facts import list_closed, list_granted, list_released
from passdown.core.coordination.leases import TASK, Grant, Granted, Released, Resource
from passdown.core.coordination.members import Inherited
from passdown.core.coordination.offers import Accepted
from passdown.core.coordination.tasks import Claimed, TaskClosed, TaskStored
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction, SharedOperation
from passdown.services.sessions.journals import read_account
from passdown.services.workspace.workspaces import Workspace


def list_facts(workspace: Workspace, operation: SharedOperation, outcome: object) -> Sequence[NewFact]:
    """Return the facts that an outcome states: what the session holds now, or no longer, and what is done."""
    account = read_account(workspace, operation.session)
    return _list(account, operation, outcome) if account.started_at is not None else ()


def _list(account: Account, operation: SharedOperation, outcome: object) -> Sequence[NewFact]:
    match outcome:
        case Granted() | Claimed() | Accepted():
            tasks = outcome.tasks if isinstance(outcome, Claimed) else ()
            named = operation.task.partition(" ")[0] if tasks else ""
            return list_granted(account, outcome.grants, tasks, named)
        case Inherited():
            grants = [_grant(kind, name, outcome.fence) for kind, name in outcome.resources]
            return list_granted(account, grants)
        case Released():
            return list_released(account, outcome.resources)
        case TaskClosed():
            return list_closed(account, outcome, operation.reason, operation.note)
        case TaskStored() if operation.action is OperationAction.GIVE_BACK:
            return list_released(account, [Resource(TASK, operation.task)])
        case _:
            return ()


def _grant(kind: str, name: str, fence: int) -> Grant:
    return Grant(kind=kind, name=name, fence=fence, left=0.0)


def state_before(workspace: Workspace, operation: SharedOperation, outcome: object) -> None:
    """State what an accepted offer passes on, as often as it is needed: what is known is not said again."""
    if isinstance(outcome, Accepted):
        from passdown.services.handover.handoffs import make_offer_review, resume_handoff  # few calls need it

        account = read_account(workspace, operation.session)
        resume_handoff(workspace, make_offer_review(workspace, outcome.offer), account)
