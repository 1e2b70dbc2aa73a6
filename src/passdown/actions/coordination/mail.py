"""Send messages to other sessions, and read messages from them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from passdown.actions.answers import HIDDEN, Form, NoticeKind
from passdown.actions.callers import Caller, find_shown, find_speaker, is_person, need_author
from passdown.core.coordination.handoff_rules import HandoffState
from passdown.core.coordination.messages import (
    ALL,
    NORMAL_MESSAGE,
    URGENT_MESSAGE,
    NoRecipient,
    WaitingMessage,
)
from passdown.core.formats.addressed_handoffs import AddressedHandoff
from passdown.core.sessions.session_facts import Account
from passdown.errors import StorageError, UnansweredError, UnsureError, UnwritableError, UsageError
from passdown.records import record
from passdown.services.coordination.addressed_handoffs import find_handoffs, leave_message, settle_handoffs
from passdown.services.coordination.mail import acknowledge_mail, read_mail, send_message, wait_for_mail
from passdown.wiring.workspaces import open_checkouts, open_with_handoffs


def _list_handoffs(handoffs: Sequence[AddressedHandoff]) -> Sequence[object]:
    from passdown.core.schemas import to_data  # few answers have one

    return [to_data(one) for one in handoffs]


@record
class MessageRequest:
    """A message to send."""

    text: Annotated[str, "What it says."]
    to: Annotated[str, "An agent, a nickname, `role:NAME`, `task:ID` or `all`."] = ALL
    is_urgent: Annotated[bool, "Whether it is urgent."] = False


@record
class MessageAnswer:
    """A message that was sent, or left as a handoff."""

    message: Annotated[str | None, "Its id."]
    recipients: Annotated[tuple[str, ...], "The agents that get it; `name:…` for a future session."] = ()
    handoff: Annotated[str | None, "The handoff file, if it could not be sent."] = None
    trouble: Annotated[str, "Why it could not be sent.", HIDDEN] = ""


@record
class InboxRequest:
    """What to do with unread messages."""

    keeps_unread: Annotated[bool, "Whether they stay unread."] = False
    wait: Annotated[float, "How many seconds to wait for a message, if there is none."] = 0.0


@record
class InboxAnswer:
    """The unread messages and handoffs of a session."""

    messages: Annotated[Sequence[WaitingMessage], "The messages."]
    handoffs: Annotated[
        Sequence[AddressedHandoff], "The handoffs that are not among the messages.", Form(_list_handoffs)
    ]
    now: Annotated[datetime, "When it was read.", HIDDEN]


def send(caller: Caller, request: MessageRequest) -> MessageAnswer:
    """Send a message; if the coordination engine does not answer, leave it as a handoff (C86)."""
    if not request.text.strip():
        raise UsageError("the message is empty", hint='write `passdown msg "TEXT" --to AGENT`')
    account, workspace = need_author(caller), caller.workspace
    priority = URGENT_MESSAGE if request.is_urgent else NORMAL_MESSAGE
    try:
        sent = send_message(workspace, account, request.text, request.to, priority=priority)
    except (UnansweredError, UnsureError):  # it may have been sent
        raise
    except StorageError as trouble:
        left = leave_message(workspace, account, request.text, request.to, open_checkouts(workspace))
        if left is None:
            raise
        return MessageAnswer(message=left.handoff.id, handoff=left.path, trouble=trouble.message)
    if isinstance(sent, NoRecipient):
        missing = "no other session is running" if request.to == ALL else f"no session matches {request.to}"
        raise UsageError(missing, hint="run `passdown status` to list the sessions")
    return MessageAnswer(message=sent.message, recipients=sent.recipients)


def read_inbox(caller: Caller, request: InboxRequest) -> InboxAnswer:
    """Read messages and handoffs; they count as read once they were shown."""
    account, workspace = _find_reader(caller), caller.workspace
    if account is None:  # reading starts no session
        if not caller.notices:
            caller.note(NoticeKind.NO_SESSION)
        return InboxAnswer(messages=(), handoffs=(), now=workspace.now())
    own = find_handoffs(workspace, account, open_with_handoffs(workspace), HandoffState.OWN)
    if request.wait and not own:
        mail = wait_for_mail(workspace, account, request.wait)
    else:
        mail = read_mail(workspace, account)

    def settle() -> None:
        mark_as_read(caller, account, mail)
        for trouble in settle_handoffs(workspace, account, own):
            caller.warn(trouble)

    if not request.keeps_unread:
        caller.after.append(settle)
    known = {one.message.message for one in mail}
    handoffs = [one.handoff for one in own if one.handoff.id not in known]
    return InboxAnswer(messages=mail, handoffs=handoffs, now=workspace.now())


def _find_reader(caller: Caller) -> "Account | None":
    """Return whose messages are read: at their own terminal a person's."""
    return find_speaker(caller) if is_person(caller) else find_shown(caller)


def mark_as_read(caller: Caller, account: Account, mail: Sequence[WaitingMessage]) -> None:
    """Mark the shown messages as read; if nothing can be written, they stay unread (C87)."""
    try:
        acknowledge_mail(caller.workspace, account, mail)
    except UnwritableError as found:
        caller.note(NoticeKind.STAYS_UNREAD, found.hint, reason=found.message)
