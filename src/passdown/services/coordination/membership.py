"""Take part in a project, and write down what the session holds."""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from passdown.core.coordination.leases import PATH, TASK
from passdown.core.coordination.members import ANY_ROLE, DEFAULT_TEAM, Member
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.core.kinds import FactKind
from passdown.core.sessions import ledger_sync
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import GRANTED, NO_PROCESS, Account
from passdown.ports.coordination import Coordination
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.workspace.workspaces import Workspace

_SIGN_EVERY: Final = 60.0


def new_operation(workspace: Workspace) -> str:
    """Make the id of an operation, before its first try (C79)."""
    return make_operation(workspace.clock.now(), workspace.entropy.token(RANDOM_BYTES))


def join_project(workspace: Workspace, account: Account, *, role: str = "") -> Coordination:
    """Let a session take part, if it does not yet, and give a sign of life."""
    coordination = workspace.coordination
    coordination.members.join(new_operation(workspace), make_member(workspace, account, role))
    return coordination


def give_sign(workspace: Workspace, account: Account, coordination: Coordination) -> None:
    """Give a sign of life, at most once in a minute; take part if the session does not yet (C80)."""
    members = coordination.members.members()
    known = next((one for one in members if one.session == account.session), None)
    if known is None:
        join_project(workspace, account)
    elif known.silent >= _SIGN_EVERY:
        coordination.members.beat([account.session])


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


def record_holdings(workspace: Workspace, account: Account, coordination: Coordination) -> Account:
    """Write down what the engine says that a session holds, in journal, ledger and state file.

    Whatever was granted or lost since is found here, so a grant that a killed process did not write down is
    adopted by the next verb or start.
    """
    held: dict[str, dict[str, int]] = {TASK: {}, PATH: {}}
    for lease in coordination.leases.leases(account.session):
        if lease.left > 0 and lease.resource.kind in held:
            held[lease.resource.kind][lease.resource.name] = lease.fence
    new_facts = [
        *_changes(FactKind.CLAIM, account.claims, held[TASK]),
        *_changes(FactKind.RESERVATION, account.reservations, held[PATH]),
        *_bind(account, held[TASK]),
    ]
    return update_ledger(workspace, account, new_facts).account if new_facts else account


def _changes(kind: FactKind, known: Mapping[str, int], held: Mapping[str, int]) -> Iterator[NewFact]:
    for name, fence in held.items():
        if known.get(name) != fence:
            yield NewFact(kind, f"{GRANTED}{fence}", name)
    for name in known:
        if name not in held:
            yield NewFact(kind, "no longer held", name)


def _bind(account: Account, tasks: Mapping[str, int]) -> Iterator[NewFact]:
    """Bind the session to a task that it holds, and unbind it from one that it held (R34, R35)."""
    if tasks and account.task not in tasks:
        yield NewFact(FactKind.BINDING, next(iter(tasks)), ledger_sync.TASK)
    elif account.task in account.claims and account.task not in tasks:
        yield NewFact(FactKind.BINDING, "", ledger_sync.TASK)
