"""Look for handoffs to a session that starts; usually there are none, and nothing more is loaded."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from passdown.core.sessions.session_facts import Account
from passdown.errors import PassdownError
from passdown.services.workspace.workspaces import Workspace

if TYPE_CHECKING:
    from passdown.faces.hooks.handoff_news import HandoffReport


def find_news(
    workspace: Workspace, account: Account, checkouts: Sequence[Workspace], room: int | None = None
) -> "HandoffReport | None":
    """Return what others handed to a session; `checkouts` are those in which handoffs lie."""
    # The join says that the engine does not answer; what could not be told is told by the next start.
    with suppress(PassdownError):
        if checkouts or workspace.find_coordination() is not None:
            from passdown.faces.hooks.handoff_news import read_news

            return read_news(workspace, account, checkouts, room)
    return None


def settle_news(workspace: Workspace, account: Account, report: "HandoffReport") -> Sequence[str]:
    """Mark handoffs as read after they were shown; return what could not be done."""
    if not report.told:
        return ()
    from passdown.services.coordination.addressed_handoffs import settle_handoffs

    return settle_handoffs(workspace, account, report.told)
