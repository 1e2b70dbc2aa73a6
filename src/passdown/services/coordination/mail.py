"""Send messages to other sessions, and read those that came."""

from collections.abc import Sequence

from passdown.core.coordination.messages import (
    ALL,
    EXPIRY,
    NORMAL_MESSAGE,
    NewMessage,
    NobodyThere,
    Sent,
    WaitingMessage,
)
from passdown.core.sessions.secrets import redact
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.services.coordination.membership import join_project, new_operation
from passdown.services.workspace.workspaces import Workspace


def send_message(
    workspace: Workspace, account: Account, text: str, to: str = ALL, *, priority: str = NORMAL_MESSAGE
) -> Sent | NobodyThere:
    """Send a message to an agent, a nickname, `role:…`, `task:…` or all; secrets do not leave (C90)."""
    if not text.strip():
        raise UsageError("there is nothing to send", hint='say it like `passdown msg "TEXT" --to AGENT`')
    coordination = join_project(workspace, account)
    message = NewMessage(account.session, to, redact(text.strip()).text, priority=priority, seconds=EXPIRY)
    return coordination.messages.send(new_operation(workspace), message)


def read_mail(workspace: Workspace, account: Account) -> Sequence[WaitingMessage]:
    """Return what the session has not read; it stays unread until somebody acknowledges it."""
    return join_project(workspace, account).messages.waiting(account.session)


def acknowledge_mail(workspace: Workspace, account: Account, mail: Sequence[WaitingMessage]) -> None:
    """Mark messages as read; call this only after they were shown."""
    if mail:
        positions = [one.position for one in mail]
        workspace.coordination.messages.acknowledge(new_operation(workspace), account.session, positions)


def wait_for_mail(workspace: Workspace, account: Account, seconds: float) -> Sequence[WaitingMessage]:
    """Return what the session has not read; wait for a message if there is none."""
    coordination = join_project(workspace, account)
    position = coordination.history.position()
    left = seconds
    while not (mail := coordination.messages.waiting(account.session)) and left > 0:
        started = workspace.clock.monotonic()
        position = coordination.history.wait(position, left)
        left -= max(workspace.clock.monotonic() - started, 0.001)
    return mail
