"""Join the sessions of a project, and record what a session holds."""

import json
from collections.abc import Sequence

from passdown.core.coordination.handoff_rules import nickname_of
from passdown.core.coordination.holding_facts import find_changes, rebind
from passdown.core.coordination.leases import PATH, TASK, Fenced, KnownHolder, Resource
from passdown.core.coordination.members import ANY_ROLE, DEFAULT_TEAM, Member
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import NO_PROCESS, Account
from passdown.ports.coordination import Coordination, HeldResource
from passdown.ports.tracker import NOBODY, Worker
from passdown.services.operations.operations import make_id, read_recorded
from passdown.services.sessions.journals import read_account, read_before, read_open
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.liveness import list_live
from passdown.services.workspace.workspaces import Workspace, list_other_roots


def as_worker(account: Account | None) -> Worker:
    """Return the worker for a session; without one, a person."""
    return Worker(account.session, account.agent) if account else NOBODY


def find_worker(workspace: Workspace, account: Account) -> Worker:
    """Return the worker for a session, with the agents of the dead sessions that it continues.

    An outside tracker still names those agents, since a hook that takes over does not call it (C82).
    """
    former: list[str] = []
    for one in read_before(workspace, account.start.continues) if account.start.continues else ():
        if not any(name in one.host_sessions for name in account.host_sessions):
            break
        former.append(one.agent)
    return as_worker(account)._replace(former=tuple(former))


def join_project(
    workspace: Workspace, account: Account, *, role: str = "", is_alone: bool = False
) -> Coordination:
    """Join a session to coordination if needed, and record that it is alive, at most once a minute.

    Live sessions of the clone that started before coordination was used join too, so that they can be reached
    (C150), unless `is_alone` is set, as for a hook, which has little time.
    """
    coordination = workspace.coordination
    coordination.members.join(make_id(workspace), make_member(workspace, account, role))
    if not is_alone:
        _enrol_others(workspace, account, coordination)
    return coordination


def _enrol_others(workspace: Workspace, account: Account, coordination: Coordination) -> None:
    """Join the live sessions of the clone that the engine does not know."""
    others = [one for one in list_live(workspace) if one.session != account.session]
    if not others:
        return
    known = {one.session for one in coordination.members.members()}
    roots = {workspace.root, *(root for root, _ in list_other_roots(workspace.repository))}
    for one in others:
        if one.session not in known and one.start.checkout in roots:
            coordination.members.join(make_id(workspace), make_member(workspace, one))


def leave_project(workspace: Workspace, session: str, coordination: Coordination) -> None:
    """Release what an ended session holds, except what it has offered."""
    coordination.members.leave(make_id(workspace), session)


def make_member(workspace: Workspace, account: Account, role: str = "") -> Member:
    """Return a session as a member, with its own team and role (C150), or the role that it claims for."""
    process = account.start.process
    return Member(
        session=account.session,
        agent=account.agent,
        name=nickname_of(account),
        team=account.start.team or workspace.settings.coordination.team or DEFAULT_TEAM,
        role=account.start.role or role or ANY_ROLE,
        process=json.dumps(list(process)) if process != NO_PROCESS else "",
    )


def list_holders(workspace: Workspace) -> Sequence[KnownHolder]:
    """Return the open sessions of the project with what they hold according to their journals."""
    roots = {workspace.root, *(root for root, _ in list_other_roots(workspace.repository))}
    found: list[KnownHolder] = []
    for account in [one for one in read_open(workspace) if one.start.checkout in roots]:
        kinds = ((TASK, account.claims), (PATH, account.reservations))
        held = [Fenced(Resource(kind, name), at) for kind, names in kinds for name, at in names.items()]
        position = max((one.position for one in read_recorded(workspace, account.session)), default=0)
        found.append(KnownHolder(make_member(workspace, account), tuple(held), position))
    return found


def record_holdings(
    workspace: Workspace, account: Account, coordination: Coordination, *, over: str = ""
) -> Account:
    """Record in journal, ledger and state file what a session holds according to the engine.

    This finds everything that was granted or lost since, so a grant that a killed process did not record is
    picked up by the next command or start. `over` is a task that the session just closed or gave back.
    """
    account = read_account(workspace, account.session)
    held = coordination.leases.leases(account.session)
    return update_ledger(workspace, account, find_held_changes(account, held, over=over)).account


def record_held(workspace: Workspace, account: Account, held: Sequence[HeldResource]) -> Account:
    """Record what a session holds, as far as it is not known yet."""
    new_facts = find_held_changes(account, held)
    return update_ledger(workspace, account, new_facts).account if new_facts else account


def find_held_changes(account: Account, held: Sequence[HeldResource], *, over: str = "") -> Sequence[NewFact]:
    """Return the facts that a session does not know yet about what it holds.

    A task that it claimed without a lease stays its own, and the lease of a task that it closed without
    releasing it does not bind it any more (C86).
    """
    unfenced = (name for name, fence in account.claims.items() if not fence and name != over)
    fences: dict[str, dict[str, int]] = {TASK: dict.fromkeys(unfenced, 0), PATH: {}}
    for lease in held:
        kind, name = lease.resource
        if lease.left > 0 and kind in fences and not (kind == TASK and name in account.unreleased):
            fences[kind][name] = lease.fence
    return [
        *find_changes(FactKind.CLAIM, account.claims, fences[TASK]),
        *find_changes(FactKind.RESERVATION, account.reservations, fences[PATH]),
        *rebind(account, fences[TASK]),
    ]
