"""Continue with an outside tracker while coordination is unavailable, and settle it later (C86)."""

from contextlib import suppress

from passdown.core.coordination.holding_facts import list_closed_unfenced, make_lost
from passdown.core.coordination.leases import PATH, TASK, Fenced, Held, Resource
from passdown.core.coordination.refusals import tell_holder
from passdown.core.coordination.tasks import CLOSED
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction
from passdown.errors import StorageError, is_away
from passdown.ports.coordination import Coordination
from passdown.ports.tracker import TaskSelection
from passdown.services.coordination.finishing import changing
from passdown.services.coordination.membership import find_worker, join_project, record_holdings
from passdown.services.coordination.tasks import is_outside
from passdown.services.operations.operations import next_operation
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.workspace.workspaces import Workspace


class TrackerFallback:
    """Suppresses a failure of the engine if an outside tracker can decide alone, with a warning.

    A process that may not write the engine's file is granted nothing, as on the board (C87).
    """

    def __init__(self, workspace: Workspace) -> None:
        """Keep the workspace."""
        self._workspace = workspace

    def __enter__(self) -> None:
        """Start using the engine."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Return whether to continue after an error."""
        if not is_away(error) or not is_outside(self._workspace):
            return False
        self._workspace.warn(f"only the tracker decides for now: {error}")
        return True


def name_held(workspace: Workspace, account: Account, wish: TaskSelection) -> TaskSelection:
    """Fill in the tasks of a session that names none, as the engine would; only those that it still has."""
    if wish.tasks or wish.another:
        return wish
    worker = find_worker(workspace, account)
    names = sorted(account.claims, key=lambda name: name != account.task)  # the current task stays first
    found = [state for task in names if (state := workspace.tracker.find(task)) is not None]
    own = [one.task for one in found if worker.is_called(one.agent) and one.task.state != CLOSED]
    return wish._replace(tasks=tuple(one.task for one in own))


def record_unfenced_close(workspace: Workspace, account: Account, task: str) -> Account:
    """Record that a task was closed while its lease and the session's files could not be released."""
    known = () if task in account.unreleased else list_closed_unfenced(account, task)
    return update_ledger(workspace, account, known).account


def settle_unfenced(workspace: Workspace, account: Account) -> Account:
    """Get the leases of tasks that a session claimed without them, and release what it closed.

    If another session holds such a task, every command says so until the task is closed or given back. While
    the engine is unavailable, nothing changes.
    """
    with (
        suppress(StorageError),
        changing(workspace, account),
    ):  # a command that needs the engine reports this itself
        coordination = join_project(workspace, account)
        for task in account.unreleased:
            released = release_task(workspace, account, coordination, task)
            workspace.warn(f"released now: {', '.join((task, *released))}")
            over = make_lost(FactKind.CLAIM, task)
            account = update_ledger(workspace, account, [over]).account
        for task in account.unfenced:
            workspace.warn(_ask(workspace, account, coordination, task))
        return record_holdings(workspace, account, coordination)
    return account


def _ask(workspace: Workspace, account: Account, coordination: Coordination, task: str) -> str:
    """Ask for the lease of a task; return the outcome in words."""
    seconds = workspace.settings.coordination.lease_minutes * 60.0
    wanted = [Resource(TASK, task)]
    op = next_operation(workspace, OperationAction.RESERVE, task)
    found = coordination.leases.acquire(op, account.session, wanted, seconds)
    if isinstance(found, Held):
        holder = tell_holder(found.name, found.held, found.agent, found.left)
        return f"{holder}; you have it only in the tracker"
    return f"your claim of {task} is confirmed"


def release_task(
    workspace: Workspace, account: Account, coordination: Coordination, task: str
) -> tuple[str, ...]:
    """Release a task and the files of its session, as a close does; return the paths."""
    released: list[str] = []
    for lease in coordination.leases.leases(account.session):
        kind, name = lease.resource
        if lease.left > 0 and (kind == PATH or (kind == TASK and name == task)):
            held = Fenced(lease.resource, lease.fence)
            op = next_operation(workspace, OperationAction.RELEASE, name)
            coordination.leases.release(op, account.session, [held])
            released += [name] if kind == PATH else []
    return tuple(released)
