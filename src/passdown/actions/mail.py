"""Send messages to other sessions, and read theirs."""

from collections.abc import Sequence

from passdown.actions.answers import NoticeKind
from passdown.actions.callers import Caller
from passdown.core.coordination.messages import WaitingMessage
from passdown.core.sessions.session_facts import Account
from passdown.errors import UnwritableError
from passdown.services.coordination.mail import acknowledge_mail


def mark_as_read(caller: Caller, account: Account, mail: Sequence[WaitingMessage]) -> None:
    """Mark messages as read that were shown; where nothing can be written they stay unread (C87)."""
    try:
        acknowledge_mail(caller.workspace, account, mail)
    except UnwritableError as found:
        caller.note(NoticeKind.STAYS_UNREAD, found.hint, reason=found.message)
