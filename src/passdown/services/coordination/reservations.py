"""Reserve files before editing, renew and release reservations, and take over from dead sessions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from passdown.core.coordination.leases import PATH, TASK, Fenced, Granted, Held, Lost, Released, Resource
from passdown.core.coordination.members import MemberState
from passdown.core.coordination.operations import Operation
from passdown.core.coordination.patterns import matches, parse_pattern
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction
from passdown.errors import TrackerQueuedError, UsageError
from passdown.ports.coordination import Coordination, HeldResource
from passdown.services.coordination.finishing import changing
from passdown.services.coordination.membership import as_worker, join_project, record_holdings
from passdown.services.coordination.tasks import is_outside
from passdown.services.operations.operations import make_id, next_operation, owe
from passdown.services.operations.recorded_tracker import describe_move
from passdown.services.sessions.journals import read_account
from passdown.services.workspace.workspaces import Workspace


class ReservationRequest(NamedTuple):
    """The files to reserve, and how long the session may then be silent."""

    patterns: Sequence[str]
    seconds: float
    everything: bool = False


def reserve_files(workspace: Workspace, account: Account, request: ReservationRequest) -> Granted | Held:
    """Reserve all files that match the patterns, or none if another session holds one of them (R212)."""
    wanted = [Resource(PATH, name) for name in _clean(request)]
    with changing(workspace, account):
        coordination = join_project(workspace, account)
        op = next_operation(workspace, OperationAction.RESERVE, "")
        outcome = coordination.leases.acquire(op, account.session, wanted, request.seconds)
        record_holdings(workspace, account, coordination)
        return outcome


def renew_reservations(workspace: Workspace, account: Account, patterns: Sequence[str]) -> Granted | Lost:
    """Renew reservations: the named ones, or all."""
    coordination = join_project(workspace, account)
    held = _choose(account, patterns)
    outcome = coordination.leases.renew(make_id(workspace), account.session, held)
    record_holdings(workspace, account, coordination)
    return outcome


def renew_edited(
    workspace: Workspace, account: Account, coordination: Coordination, paths: Sequence[str]
) -> None:
    """Renew the reservations of a session whose files it edited (C80)."""
    found = [
        Fenced(one.resource, one.fence)
        for one in coordination.leases.leases(account.session)
        if one.resource.kind == PATH and one.left > 0 and _covers(one.resource.name, paths)
    ]
    if found:
        coordination.leases.renew(make_id(workspace), account.session, found)


def _covers(name: str, paths: Sequence[str]) -> bool:
    pattern = parse_pattern(name, ignores_case=True)  # renewing a little more than needed is harmless
    return any(matches(pattern, path) for path in paths)


def release_files(workspace: Workspace, account: Account, patterns: Sequence[str]) -> Released | Lost:
    """Release reservations: the named ones, or all."""
    with changing(workspace, account):
        account = read_account(workspace, account.session)
        coordination = join_project(workspace, account)
        held = _choose(account, patterns)
        op = next_operation(workspace, OperationAction.RELEASE, "")
        outcome = coordination.leases.release(op, account.session, held)
        record_holdings(workspace, account, coordination)
        return outcome


def take_over(workspace: Workspace, account: Account, name: str, *, force: bool = False) -> Granted | Held:
    """Take a task, or everything that an agent holds, from a silent session (C82).

    Only a person may take it from a live session. An outside tracker is told who has its tasks now.
    """
    with changing(workspace, account):
        coordination = join_project(workspace, account)
        op = next_operation(workspace, OperationAction.TAKE_OVER, name)
        wanted = _find_held(coordination, name)
        tasks = [one.name for one in wanted if one.kind == TASK]
        moves = queue_moves(workspace, account, coordination, tasks, after=op)
        outcome = coordination.leases.take_over(op, account.session, wanted, force=force)
        if isinstance(outcome, Granted):
            fences = {one.name: one.fence for one in outcome.grants if one.kind == TASK}
            move_tasks(workspace, account, moves, fences)
        record_holdings(workspace, account, coordination)
        return outcome


def need_held(workspace: Workspace, name: str) -> None:
    """Raise a UsageError if nobody has a task or agent of this name."""
    coordination = workspace.find_coordination()
    if coordination is None:
        raise _unknown(name)
    _find_held(coordination, name)


def queue_moves(
    workspace: Workspace, account: Account, coordination: Coordination, tasks: Sequence[str], after: str
) -> Mapping[str, str]:
    """Record, with the operation that gives tasks to a session, that an outside tracker must be told.

    Return the ids of these operations by task. Tasks on the board need none.
    """
    found: dict[str, str] = {}
    for task in tasks if is_outside(workspace) else ():
        if coordination.tasks.find(task) is None:
            op = found[task] = next_operation(workspace, OperationAction.MOVE, task)
            owe(workspace, describe_move(workspace, account, op, task, after))
    return found


def move_tasks(
    workspace: Workspace, account: Account, moves: Mapping[str, str], fences: Mapping[str, int]
) -> None:
    """Assign tasks to this session in an outside tracker; if it does not answer, that is queued."""
    for task, op in moves.items():
        held = Fenced(Resource(TASK, task), fences.get(task, 0))
        try:
            found = workspace.tracker.move(Operation(op), as_worker(account), held)
        except TrackerQueuedError as error:
            workspace.warn(error.message)
            continue
        if isinstance(found, Held):
            workspace.warn(f"{task} now belongs to {found.agent} in the tracker")


def list_reservations(coordination: Coordination) -> Sequence[HeldResource]:
    """List the current reservations, sorted by path."""
    found = [one for one in coordination.leases.leases() if one.resource.kind == PATH and one.left > 0]
    return sorted(found, key=lambda one: one.resource.name)


def _clean(request: ReservationRequest) -> Sequence[str]:
    """Return the patterns in normal form."""
    found = [parse_pattern(text) for text in request.patterns]
    if not request.everything and any(one.is_everything for one in found):
        raise UsageError("this reserves every file of the project", hint="add --all to confirm")
    return list(dict.fromkeys(one.text for one in found))


def _choose(account: Account, patterns: Iterable[str]) -> Sequence[Fenced]:
    """Return the fences of the named reservations, or of all."""
    names = [parse_pattern(text).text for text in patterns] or list(account.reservations)
    return [Fenced(Resource(PATH, name), account.reservations.get(name, 0)) for name in names]


def _find_held(coordination: Coordination, name: str) -> Sequence[Resource]:
    """Return what a name stands for: a task, or everything that an agent holds."""
    is_leased = any(one.resource == Resource(TASK, name) for one in coordination.leases.leases())
    if is_leased or coordination.tasks.find(name) is not None:
        return [Resource(TASK, name)]
    members = coordination.members.members()
    sessions = {one.session for one in members if name in {one.agent, one.session}}
    sessions = sessions or _find_nicknamed(coordination, members, name)
    if not sessions:
        raise _unknown(name)
    return [one.resource for session in sessions for one in coordination.leases.leases(session)]


def _unknown(name: str) -> UsageError:
    return UsageError(f"there is no task or agent {name}", hint="`passdown status` lists both")


def _find_nicknamed(coordination: Coordination, members: Sequence[MemberState], name: str) -> set[str]:
    """Return the only session with a nickname, or the only one of them that holds something."""
    named = [one for one in members if one.name.casefold() == name.casefold()]
    holding = [one for one in named if coordination.leases.leases(one.session)]
    found = holding or named
    if len(found) > 1:
        agents = ", ".join(sorted(one.agent for one in found))
        raise UsageError(f"several agents are called {name}: {agents}", hint="pass one of these names")
    return {one.session for one in found}
