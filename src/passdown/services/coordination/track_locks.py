"""The lock of a track: a lease that the session working on the track holds (C107)."""

from enum import StrEnum
from typing import Final

from passdown.core.coordination.leases import TRACK, Fenced, Granted, Held, Resource
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction
from passdown.services.coordination.finishing import changing
from passdown.services.coordination.membership import join_project
from passdown.services.operations.operations import next_operation
from passdown.services.workspace.workspaces import Workspace

POLL_SECONDS: Final = 5.0
LONGEST_WAIT: Final = 600.0
"""How many seconds to wait for another session."""


class LockChoice(StrEnum):
    """The choice for a track that another session works on."""

    CONTINUE = "continue"
    WAIT = "wait"
    FORCE = "force"


def lock_track(
    workspace: Workspace, account: Account, track: str, choice: LockChoice | None = None
) -> Granted | Held:
    """Lock a track for a session; it keeps a lock that it has, and a silent session loses its lock.

    If another session has the lock, `choice` decides: wait for it, take it by force, or continue beside that
    session without the lock.
    """
    wanted = [Resource(TRACK, track)]
    if choice is LockChoice.FORCE:
        with changing(workspace, account):
            leases = join_project(workspace, account).leases
            op = next_operation(workspace, OperationAction.TAKE_OVER, track)
            return leases.take_over(op, account.session, wanted, force=True)
    seconds = workspace.settings.coordination.lease_minutes * 60.0
    waited = 0.0
    while True:
        with changing(workspace, account):
            leases = join_project(workspace, account).leases
            op = next_operation(workspace, OperationAction.RESERVE, track)
            outcome = leases.acquire(op, account.session, wanted, seconds)
        if isinstance(outcome, Granted) or choice is not LockChoice.WAIT or waited >= LONGEST_WAIT:
            return outcome
        workspace.wait(POLL_SECONDS)
        waited += POLL_SECONDS


def unlock_tracks(workspace: Workspace, account: Account, *, but: str = "") -> None:
    """Release the tracks that a session has locked, except one; without coordination there are none."""
    coordination = workspace.find_coordination()
    if coordination is None:
        return
    held = [
        Fenced(one.resource, one.fence)
        for one in coordination.leases.leases(account.session)
        if one.resource.kind == TRACK and one.resource.name != but and one.left > 0
    ]
    if held:
        with changing(workspace, account):
            op = next_operation(
                workspace, OperationAction.RELEASE, " ".join(one.resource.name for one in held)
            )
            join_project(workspace, account).leases.release(op, account.session, held)
