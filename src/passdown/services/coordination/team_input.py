"""What a brief says about coordination: what the session holds, its mail, and tasks of sessions that died."""

from datetime import timedelta
from types import MappingProxyType
from typing import Final

from passdown.core.briefs.brief_input import HeldName, OrphanedTask, TeamInput, UnreadMessage
from passdown.core.coordination.leases import PATH, TASK
from passdown.core.coordination.messages import URGENT_MESSAGE
from passdown.ports.coordination import Coordination
from passdown.services.workspace.workspaces import Workspace

_NAMES: Final = MappingProxyType({TASK: "task", PATH: "file"})


def read_team(workspace: Workspace, session: str, coordination: Coordination) -> TeamInput:
    """Return what concerns a session; nothing is marked as read."""
    orphans = (one for one in coordination.tasks.tasks() if one.is_orphaned and one.holder != session)
    return TeamInput(
        holdings=_read_holdings(session, coordination),
        messages=read_messages(workspace, session, coordination),
        orphans=tuple(OrphanedTask(one.task.task, one.task.title, one.agent) for one in orphans),
    )


def read_messages(
    workspace: Workspace, session: str, coordination: Coordination
) -> tuple[UnreadMessage, ...]:
    """Return what a session has not read, the newest first; nothing is marked as read."""
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
    ]
    return tuple(reversed(found))


def _read_holdings(session: str, coordination: Coordination) -> tuple[HeldName, ...]:
    return tuple(
        HeldName(_NAMES[one.resource.kind], one.resource.name, timedelta(seconds=one.left))
        for one in coordination.leases.leases(session)
        if one.left > 0 and one.resource.kind in _NAMES
    )
