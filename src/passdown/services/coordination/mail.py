"""Send messages to other sessions, and read those that came."""

from collections.abc import Sequence
from contextlib import suppress

from passdown import layout
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
from passdown.errors import StorageError, UnwritableError, UsageError
from passdown.ports.coordination import Coordination
from passdown.services.coordination.membership import join_project, new_operation
from passdown.services.handover.deliveries import drop_mail_notice, leave_mail_notice
from passdown.services.sessions.journals import read_open
from passdown.services.workspace.workspaces import Workspace


def send_message(
    workspace: Workspace, account: Account, text: str, to: str = ALL, *, priority: str = NORMAL_MESSAGE
) -> Sent | NobodyThere:
    """Send a message to an agent, a nickname, `role:…`, `task:…` or all; secrets do not leave (C90)."""
    if not text.strip():
        raise UsageError("there is nothing to send", hint='say it like `passdown msg "TEXT" --to AGENT`')
    coordination = join_project(workspace, account)
    message = NewMessage(account.session, to, text.strip(), priority=priority, seconds=EXPIRY)
    return deliver(workspace, coordination, message)


def deliver(
    workspace: Workspace, coordination: Coordination, message: NewMessage, op: str = ""
) -> Sent | NobodyThere:
    """Put a message into inboxes, and let sessions of this machine know at their next prompt (C90).

    `op` is the id that it gets, if it must be known before.
    """
    message = message._replace(content=redact(message.content).text)
    sent = coordination.messages.send(op or new_operation(workspace), message)
    told = [one for one in read_open(workspace) if isinstance(sent, Sent) and one.agent in sent.recipients]
    for name in [name for account in told for name in _notices_of(account)]:
        with suppress(StorageError):  # it is told at the next start
            leave_mail_notice(workspace, name)
    return sent


def _notices_of(account: Account) -> Sequence[str]:
    """Name the files that the prompts of a session look for: one for each id that its host gave it."""
    return [layout.session_file(name) for name in account.host_sessions]


def read_mail(workspace: Workspace, account: Account) -> Sequence[WaitingMessage]:
    """Return what the session has not read; it stays unread until somebody acknowledges it."""
    return _join_to_read(workspace, account).messages.waiting(account.session)


def _join_to_read(workspace: Workspace, account: Account) -> Coordination:
    """Let a session take part, or only look where nothing can be written (C87)."""
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
    messages.acknowledge(new_operation(workspace), account.session, positions)
    if not messages.waiting(account.session):
        for name in _notices_of(account):
            drop_mail_notice(workspace, name)


def wait_for_mail(workspace: Workspace, account: Account, seconds: float) -> Sequence[WaitingMessage]:
    """Return what the session has not read; wait for a message if there is none."""
    coordination = _join_to_read(workspace, account)
    position = coordination.history.position()
    left = seconds
    while not (mail := coordination.messages.waiting(account.session)) and left > 0:
        started = workspace.clock.monotonic()
        position = coordination.history.wait(position, left)
        left -= max(workspace.clock.monotonic() - started, 0.001)
    return mail
