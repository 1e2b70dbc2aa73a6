"""Take part in a project, and write down what the session holds."""

import json
from collections.abc import Iterator, Mapping, Sequence

from passdown.core.coordination.leases import PATH, TASK
from passdown.core.coordination.members import ANY_ROLE, DEFAULT_TEAM, Member
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.core.kinds import FactKind
from passdown.core.sessions import ledger_sync
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import GRANTED, NO_PROCESS, Account
from passdown.ports.coordination import Coordination, HeldResource
from passdown.ports.tracker import NOBODY, Worker
from passdown.services.sessions.journals import read_before
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.workspace.workspaces import Workspace


def new_operation(workspace: Workspace) -> str:
    """Make the id of an operation, before its first try (C79)."""
    return make_operation(workspace.clock.now(), workspace.entropy.token(RANDOM_BYTES))


def as_worker(account: Account | None) -> Worker:
    """Return who changes a task; without a session it is a person."""
    return Worker(account.session, account.agent) if account else NOBODY


def find_worker(workspace: Workspace, account: Account) -> Worker:
    """Return who changes a task, with the agents of sessions that died and whose work this one goes on with.

    A tracker outside still names them: whoever inherits may be a hook, which does not call it (C82).
    """
    former: list[str] = []
    for one in read_before(workspace, account.start.continues) if account.start.continues else ():
        if not any(name in one.host_sessions for name in account.host_sessions):
            break
        former.append(one.agent)
    return as_worker(account)._replace(former=tuple(former))


def join_project(workspace: Workspace, account: Account, *, role: str = "") -> Coordination:
    """Let a session take part, if it does not yet, and give a sign of life, at most once in a minute."""
    coordination = workspace.coordination
    coordination.members.join(new_operation(workspace), make_member(workspace, account, role))
    return coordination


def leave_project(workspace: Workspace, session: str, coordination: Coordination) -> None:
    """Let a session that ended release what it holds, except what it offered."""
    coordination.members.leave(new_operation(workspace), session)


def make_member(workspace: Workspace, account: Account, role: str = "") -> Member:
    """Describe a session to the others."""
    process = account.start.process
    return Member(
        session=account.session,
        agent=account.agent,
        name=account.agent.rpartition("-")[0],
        team=workspace.settings.coordination.team or DEFAULT_TEAM,
        role=role or ANY_ROLE,
        process=json.dumps(list(process)) if process != NO_PROCESS else "",
    )


def record_holdings(
    workspace: Workspace, account: Account, coordination: Coordination, *, over: str = ""
) -> Account:
    """Write down what the engine says that a session holds, in journal, ledger and state file.

    Whatever was granted or lost since is found here, so a grant that a killed process did not write down is
    adopted by the next verb or start. `over` is a task that the session just closed or gave back.
    """
    return record_held(workspace, account, coordination.leases.leases(account.session), over=over)


def record_held(
    workspace: Workspace, account: Account, held: Sequence[HeldResource], *, over: str = ""
) -> Account:
    """Write down what a session holds, as far as that is not known yet.

    What it claimed without a lease stays its own, and the lease of what it closed without one binds it no
    more (C86).
    """
    unfenced = (name for name, fence in account.claims.items() if not fence and name != over)
    fences: dict[str, dict[str, int]] = {TASK: dict.fromkeys(unfenced, 0), PATH: {}}
    for lease in held:
        kind, name = lease.resource
        if lease.left > 0 and kind in fences and not (kind == TASK and name in account.unreleased):
            fences[kind][name] = lease.fence
    new_facts = [
        *_changes(FactKind.CLAIM, account.claims, fences[TASK]),
        *_changes(FactKind.RESERVATION, account.reservations, fences[PATH]),
        *rebind(account, fences[TASK]),
    ]
    return update_ledger(workspace, account, new_facts).account if new_facts else account


def _changes(kind: FactKind, known: Mapping[str, int], held: Mapping[str, int]) -> Iterator[NewFact]:
    for name, fence in held.items():
        if known.get(name) != fence:
            yield NewFact(kind, f"{GRANTED}{fence}", name)
    for name in known:
        if name not in held:
            yield NewFact(kind, "no longer held", name)


def rebind(account: Account, tasks: Mapping[str, int]) -> Iterator[NewFact]:
    """Bind the session to a task that it holds, and unbind it from one that it held (R34, R35)."""
    if tasks and account.task not in tasks:
        yield NewFact(FactKind.BINDING, next(iter(tasks)), ledger_sync.TASK)
    elif account.task in account.claims and account.task not in tasks:
        yield NewFact(FactKind.BINDING, "", ledger_sync.TASK)
