"""Reserve files before they are edited, use them again, release them, and take over from the dead."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from passdown.core.coordination.leases import PATH, TASK, Fenced, Granted, Held, Lost, Released, Resource
from passdown.core.coordination.operations import Operation
from passdown.core.coordination.patterns import escape_path, matches, parse_pattern
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.ports.coordination import Coordination, HeldResource
from passdown.ports.tracker import ClaimWish, Worker
from passdown.services.coordination.membership import as_worker, join_project, new_operation, record_holdings
from passdown.services.workspace.workspaces import Workspace


class ReservationRequest(NamedTuple):
    """Which files are reserved, and for how long without a sign of life."""

    patterns: Sequence[str]
    seconds: float
    everything: bool = False


def reserve_files(workspace: Workspace, account: Account, request: ReservationRequest) -> Granted | Held:
    """Reserve all files that match the patterns, or none if another session holds one of them (R212)."""
    wanted = [Resource(PATH, name) for name in _clean(workspace, request)]
    coordination = join_project(workspace, account)
    outcome = coordination.leases.acquire(new_operation(workspace), account.session, wanted, request.seconds)
    record_holdings(workspace, account, coordination)
    return outcome


def renew_reservations(workspace: Workspace, account: Account, patterns: Sequence[str]) -> Granted | Lost:
    """Use reservations again: the named ones, or all."""
    coordination = join_project(workspace, account)
    held = _choose(account, patterns)
    outcome = coordination.leases.renew(new_operation(workspace), account.session, held)
    record_holdings(workspace, account, coordination)
    return outcome


def renew_edited(
    workspace: Workspace, account: Account, coordination: Coordination, paths: Sequence[str]
) -> None:
    """Use the reservations of a session again whose files it edited (C80)."""
    found = [
        Fenced(one.resource, one.fence)
        for one in coordination.leases.leases(account.session)
        if one.resource.kind == PATH and one.left > 0 and _covers(one.resource.name, paths)
    ]
    if found:
        coordination.leases.renew(new_operation(workspace), account.session, found)


def _covers(name: str, paths: Sequence[str]) -> bool:
    pattern = parse_pattern(name, ignores_case=True)  # one's own may be used a little more than needed
    return any(matches(pattern, path) for path in paths)


def release_files(workspace: Workspace, account: Account, patterns: Sequence[str]) -> Released | Lost:
    """Release reservations: the named ones, or all."""
    coordination = join_project(workspace, account)
    held = _choose(account, patterns)
    outcome = coordination.leases.release(new_operation(workspace), account.session, held)
    record_holdings(workspace, account, coordination)
    return outcome


def take_over(workspace: Workspace, account: Account, name: str, *, force: bool = False) -> Granted | Held:
    """Take a task, or all that an agent holds, from a session without signs of life (C82).

    Only a person may take it from a session that is alive. A tracker outside is told whose its tasks are now.
    """
    coordination = join_project(workspace, account)
    wanted = _find_held(coordination, name)
    outcome = coordination.leases.take_over(new_operation(workspace), account.session, wanted, force=force)
    if isinstance(outcome, Granted):
        for grant in outcome.grants:
            if grant.kind == TASK:
                move_task(workspace, account, coordination, Fenced(Resource(TASK, grant.name), grant.fence))
    record_holdings(workspace, account, coordination)
    return outcome


def move_task(workspace: Workspace, account: Account, coordination: Coordination, held: Fenced) -> None:
    """Tell a tracker outside whose a task is now: give it back for the agent that had it, and claim it."""
    task = held.resource.name
    if coordination.tasks.find(task) is not None:  # it is on the board
        return
    tracker, worker = workspace.tracker, as_worker(account)
    found = tracker.find(task)
    if found is not None and found.agent != worker.agent:
        before = Worker(worker.session, found.agent)
        tracker.give_back(Operation(new_operation(workspace)), before, held)
        tracker.claim(Operation(new_operation(workspace)), worker, ClaimWish((task,)))


def list_reservations(coordination: Coordination) -> Sequence[HeldResource]:
    """List the files that are held now, by path."""
    found = [one for one in coordination.leases.leases() if one.resource.kind == PATH and one.left > 0]
    return sorted(found, key=lambda one: one.resource.name)


def _clean(workspace: Workspace, request: ReservationRequest) -> Sequence[str]:
    """Return the patterns in their usual form; the name of a file that exists is no pattern."""
    if not request.patterns:
        raise UsageError("name the files to reserve", hint="like `passdown reserve src/app.py docs/`")
    found = [parse_pattern(_escape_existing(workspace, text)) for text in request.patterns]
    if not request.everything and any(one.is_everything for one in found):
        raise UsageError("this reserves every file of the project", hint="confirm it with --all")
    return list(dict.fromkeys(one.text for one in found))


def _escape_existing(workspace: Workspace, text: str) -> str:
    special = any(character in text for character in "*?[")
    return escape_path(text) if special and workspace.documents.exists(text) else text


def _choose(account: Account, patterns: Iterable[str]) -> Sequence[Fenced]:
    """Return the fences of the named reservations, or of all."""
    names = [parse_pattern(text).text for text in patterns] or list(account.reservations)
    return [Fenced(Resource(PATH, name), account.reservations.get(name, 0)) for name in names]


def _find_held(coordination: Coordination, name: str) -> Sequence[Resource]:
    """Return what a name stands for: a task, or all that an agent holds."""
    is_leased = any(one.resource == Resource(TASK, name) for one in coordination.leases.leases())
    if is_leased or coordination.tasks.find(name) is not None:
        return [Resource(TASK, name)]
    sessions = {one.session for one in coordination.members.members() if name in {one.agent, one.session}}
    if not sessions:
        raise UsageError(f"there is no task or agent {name}", hint="`passdown status` lists both")
    return [one.resource for session in sessions for one in coordination.leases.leases(session)]
