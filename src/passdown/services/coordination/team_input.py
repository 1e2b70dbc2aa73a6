"""The coordination part of a brief: the session's holds and messages, and what the team does."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from passdown.core.briefs.brief_input import (
    HeldName,
    NamedTask,
    OrphanedTask,
    TeamInput,
    TeamMember,
    UnreadMessage,
    holdings_of,
)
from passdown.core.coordination.leases import PATH, TASK
from passdown.core.coordination.members import MemberState
from passdown.core.coordination.messages import URGENT_MESSAGE
from passdown.core.coordination.tasks import MOST_READY, TaskState
from passdown.core.sessions.session_facts import Account
from passdown.ports.coordination import Coordination, HeldResource
from passdown.services.coordination.edits import find_age
from passdown.services.sessions.journals import read_open
from passdown.services.sessions.liveness import is_live
from passdown.services.workspace.workspaces import Workspace

_NAMES: Final = MappingProxyType({TASK: "task", PATH: "file"})
_OLDEST: Final = 86_400.0
"""The greatest age in seconds of a copy of a server's state; who worked yesterday is not news."""


def read_team(
    workspace: Workspace,
    session: str,
    coordination: Coordination,
    *,
    told: Collection[str] = (),
    leases: Sequence[HeldResource] | None = None,
) -> TeamInput:
    """Return the news for a session, except messages that it is shown in another way; none is marked as read.

    `leases` saves a query if the caller has them. Without a session, return the news for everybody.
    """
    if leases is None:
        leases = coordination.leases.leases()
    tasks = coordination.tasks.summary(MOST_READY)
    orphans = (one for one in tasks.taken if one.is_orphaned and one.holder != session)
    titles = {one.task.task: one.task.title for one in tasks.taken if one.holder == session}
    others = [one for one in coordination.members.members() if one.session != session]
    working = [one for one in others if one.is_live]
    now = workspace.now()
    waiting = coordination.messages.waiting(session) if session else ()
    messages = [
        UnreadMessage(
            position=one.position,
            agent=one.message.agent,
            text=one.message.content,
            at=now - timedelta(seconds=one.age),
            is_urgent=one.message.priority == URGENT_MESSAGE,
        )
        for one in reversed(waiting)
        if one.message.message not in told
    ]
    return TeamInput(
        holdings=_describe_holdings([one for one in leases if one.session == session], titles),
        messages=tuple(messages),
        orphans=tuple(OrphanedTask(one.task.task, one.task.title, one.agent) for one in orphans),
        members=tuple(_describe_members(workspace, working, leases, tasks.taken)),
        ready=_name_ready(workspace, tasks.first_ready),
    )


def read_copied_team(workspace: Workspace, account: Account | None) -> TeamInput | None:
    """Return the last known state of the team from the copy of a server's state in this clone (C77).

    Sessions and holds are as they were then; the brief says how long ago that was. The session's own holds
    are from its journal. None if there is no server, or no copy that is recent enough.
    """
    coordination = workspace.read_coordination() if workspace.has_server else None
    age = find_age(coordination) if coordination else None
    if coordination is None or age is None or age > _OLDEST:
        return None
    session = account.session if account else ""
    leases = [one._replace(left=one.left + age) for one in coordination.leases.leases()]
    holders = {one.session for one in leases if one.left > 0}
    silent = workspace.settings.coordination.lease_minutes * 60.0 + age
    others = [one for one in coordination.members.members() if one.session != session]
    working = [one for one in others if one.silent < silent or one.session in holders]
    tasks = coordination.tasks.summary(MOST_READY)
    return TeamInput(
        holdings=holdings_of(account) if account else (),
        members=tuple(_describe_members(workspace, working, leases, tasks.taken)),
        ready=_name_ready(workspace, tasks.first_ready),
        said_at=workspace.now() - timedelta(seconds=age),
    )


def _describe_members(
    workspace: Workspace,
    working: Iterable[MemberState],
    leases: Sequence[HeldResource],
    taken: Sequence[TaskState],
) -> Iterator[TeamMember]:
    """Describe sessions, the last seen first; sessions of this clone only if they are live."""
    gone = {one.session for one in read_open(workspace) if not is_live(workspace, one)}
    titles = {one.task.task: one.task.title for one in taken}
    now = workspace.now()
    for one in sorted(working, key=lambda one: (one.silent, one.session)):
        if one.session in gone:
            continue
        own = [lease.resource for lease in leases if lease.session == one.session and lease.left > 0]
        yield TeamMember(
            session=one.session,
            agent=one.agent,
            at=now - timedelta(seconds=one.silent),
            tasks=tuple(NamedTask(name, titles.get(name, "")) for kind, name in own if kind == TASK),
            files=tuple(name for kind, name in own if kind == PATH),
        )


def _name_ready(workspace: Workspace, ready: Sequence[TaskState]) -> tuple[NamedTask, ...]:
    """Return the first ready tasks; an outside tracker is not asked here (C82)."""
    named = tuple(NamedTask(one.task.task, one.task.title, one.task.role) for one in ready)
    return () if named and workspace.has_outside_tracker else named


def _describe_holdings(held: Sequence[HeldResource], titles: Mapping[str, str]) -> tuple[HeldName, ...]:
    return tuple(
        HeldName(
            kind=_NAMES[one.resource.kind],
            name=one.resource.name,
            left=timedelta(seconds=one.left),
            title=titles.get(one.resource.name, "") if one.resource.kind == TASK else "",
        )
        for one in held
        if one.left > 0 and one.resource.kind in _NAMES
    )
