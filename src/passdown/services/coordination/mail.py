"""Send messages to other sessions, and read messages from them."""

from collections.abc import Sequence
from contextlib import suppress

from passdown import layout
from passdown.core.coordination.messages import (
    ALL,
    EXPIRY,
    NORMAL_MESSAGE,
    NewMessage,
    NoRecipient,
    Sent,
    WaitingMessage,
)
from passdown.core.sessions.secrets import redact
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import OperationAction
from passdown.errors import UnwritableError
from passdown.ports.coordination import Coordination
from passdown.records import replace
from passdown.services.coordination.finishing import changing
from passdown.services.coordination.membership import join_project
from passdown.services.handover.deliveries import drop_mail_notice, notify_recipients
from passdown.services.operations.operations import make_id, next_operation, owe
from passdown.services.operations.recorded_coordination import describe_message
from passdown.services.workspace.workspaces import Workspace


def send_message(
    workspace: Workspace, account: Account, text: str, to: str = ALL, *, priority: str = NORMAL_MESSAGE
) -> Sent | NoRecipient:
    """Send a message to an agent, a nickname, `role:…`, `task:…` or `all`; secrets are redacted (C90)."""
    message = NewMessage(account.session, to, text.strip(), priority=priority, seconds=EXPIRY)
    with changing(workspace, account):
        return deliver(workspace, join_project(workspace, account), message)


def deliver(
    workspace: Workspace, coordination: Coordination, message: NewMessage, op: str = ""
) -> Sent | NoRecipient:
    """Put a message into inboxes, under `op` if given; sessions of this clone see it at their next prompt."""
    message = message._replace(content=redact(message.content).text)
    op = op or next_operation(workspace, OperationAction.MESSAGE, message.to)
    sent = coordination.messages.send(op, message)
    if isinstance(sent, Sent):
        notify_recipients(workspace, sent.recipients)
    return sent


def queue_message(workspace: Workspace, message: NewMessage, after: str) -> str:
    """Record a message together with the operation that it must follow; return its id."""
    message = message._replace(content=redact(message.content).text)
    op = next_operation(workspace, OperationAction.MESSAGE, message.to)
    owe(workspace, replace(describe_message(workspace, op, message), after=after))
    return op


def read_mail(workspace: Workspace, account: Account) -> Sequence[WaitingMessage]:
    """Return the unread messages of the session; they stay unread until they are acknowledged."""
    return _join_to_read(workspace, account).messages.waiting(account.session)


def _join_to_read(workspace: Workspace, account: Account) -> Coordination:
    """Join a session, or only open the engine if it is read-only (C87)."""
    with suppress(UnwritableError):
        return join_project(workspace, account)
    return workspace.coordination


def acknowledge_mail(workspace: Workspace, account: Account, mail: Sequence[WaitingMessage]) -> None:
    """Mark messages as read; call this only after they were shown."""
    if mail:
        acknowledge(workspace, account, [one.position for one in mail])


def acknowledge(workspace: Workspace, account: Account, positions: Sequence[int]) -> None:
    """Mark the messages at these positions as read."""
    messages = workspace.coordination.messages
    messages.acknowledge(make_id(workspace), account.session, positions)
    if not messages.waiting(account.session):
        for name in account.host_sessions:
            drop_mail_notice(workspace, layout.session_file(name))


def wait_for_mail(workspace: Workspace, account: Account, seconds: float) -> Sequence[WaitingMessage]:
    """Return the unread messages of the session; wait for one if there is none."""
    coordination = _join_to_read(workspace, account)
    position = coordination.history.position()
    left = seconds
    while not (mail := coordination.messages.waiting(account.session)) and left > 0:
        started = workspace.clock.monotonic()
        position = coordination.history.wait(position, left)
        left -= max(workspace.clock.monotonic() - started, 0.001)
    return mail
