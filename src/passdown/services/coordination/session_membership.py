"""The start of a session where sessions coordinate: it joins, and takes over from one that died."""

from collections.abc import Collection

from passdown.core.briefs.brief_input import TeamInput
from passdown.core.coordination.members import Inherited
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction
from passdown.ports.coordination import Coordination
from passdown.records import record
from passdown.services.coordination.membership import join_project, leave_project, record_held
from passdown.services.coordination.team_input import read_team
from passdown.services.operations.operations import next_operation
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.sessions import RECOVERED, StartedSession
from passdown.services.workspace.workspaces import Workspace


@record
class SessionMembership:
    """A session that joined coordination at its start."""

    account: Account
    team: TeamInput
    inherited: Inherited | None = None


def arrive(
    workspace: Workspace, started: StartedSession, coordination: Coordination, told: Collection[str] = ()
) -> SessionMembership:
    """Let a starting session join (C82); `told` has the ids of messages that it is shown in another way.

    1. Recovered sessions that had ended leave; those that died keep what they hold.
    2. Before it is briefed, the session takes over from a dead session with the same host id.
    3. Its holds are recorded.
    """
    for one in started.recovered:  # 1
        if one.account.ended_at is not None:
            leave_project(workspace, one.account.session, coordination)
    join_project(workspace, started.account, is_alone=True)
    inherited = _inherit(workspace, started.account, coordination)  # 2
    leases = coordination.leases.leases()
    held = [one for one in leases if one.session == started.account.session]
    known = read_account(workspace, started.account.session) if inherited else started.account
    account = record_held(workspace, known, held)  # 3
    team = read_team(workspace, account.session, coordination, told=told, leases=leases)
    return SessionMembership(account=account, team=team, inherited=inherited)


def _inherit(workspace: Workspace, account: Account, coordination: Coordination) -> Inherited | None:
    """Take over from the session that this one continues: everything, or only its messages.

    1. If both share a host session id, it is the same work: everything, unless the other is still alive.
    2. Otherwise only the messages of a session that ended and holds nothing any more (C83).
    """
    before = account.start.continues
    if not before or account.start.is_fresh:
        return None
    earlier = read_account(workspace, before)
    held = coordination.leases.leases(before)
    mail = coordination.messages.waiting(before)
    is_same = any(name in earlier.host_sessions for name in account.host_sessions)  # 1
    is_mail_only = not held and earlier.end_reason != RECOVERED  # 2
    if not (held or mail) or not (is_same or is_mail_only):
        return None
    op = next_operation(workspace, OperationAction.INHERIT, before)
    outcome = coordination.members.inherit(op, account.session, before)
    return outcome if isinstance(outcome, Inherited) else None
