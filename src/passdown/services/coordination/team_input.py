"""What a brief says about coordination: what the session holds, its mail, and tasks of sessions that died."""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from passdown.core.briefs.brief_input import HeldName, OrphanedTask, TeamInput, UnreadMessage
from passdown.core.coordination.leases import PATH, TASK
from passdown.core.coordination.messages import URGENT_MESSAGE
from passdown.ports.coordination import Coordination, HeldResource
from passdown.services.workspace.workspaces import Workspace

_NAMES: Final = MappingProxyType({TASK: "task", PATH: "file"})


def read_team(
    workspace: Workspace,
    session: str,
    coordination: Coordination,
    *,
    told: Collection[str] = (),
    held: Sequence[HeldResource] | None = None,
) -> TeamInput:
    """Return what concerns a session, except messages it is told otherwise; nothing is marked as read.

    Whoever knows what it holds says so.
    """
    if held is None:
        held = coordination.leases.leases(session)
    tasks = coordination.tasks.tasks()
    orphans = (one for one in tasks if one.is_orphaned and one.holder != session)
    titles = {one.task.task: one.task.title for one in tasks if one.holder == session}
    return TeamInput(
        holdings=_describe_holdings(held, titles),
        messages=read_messages(workspace, session, coordination, told),
        orphans=tuple(OrphanedTask(one.task.task, one.task.title, one.agent) for one in orphans),
    )


def read_messages(
    workspace: Workspace, session: str, coordination: Coordination, told: Collection[str] = ()
) -> tuple[UnreadMessage, ...]:
    """Return what a session has not read, the newest first; nothing is marked as read.

    `told` are the ids of messages that it is told otherwise.
    """
    now = workspace.now()
    found = [
        UnreadMessage(
            position=one.position,
            agent=one.message.agent,
            text=one.message.content,
            at=now - timedelta(seconds=one.age),
            is_urgent=one.message.priority == URGENT_MESSAGE,
        )
        for one in coordination.messages.waiting(session)
        if one.message.message not in told
    ]
    return tuple(reversed(found))


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
