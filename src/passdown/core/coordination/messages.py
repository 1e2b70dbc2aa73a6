"""Messages between sessions: to an agent, a nickname, a role, the holder of a task, or everybody."""

from typing import Annotated, Final, NamedTuple

from passdown.records import record

ALL: Final = "all"
TO_ROLE: Final = "role:"
TO_TASK: Final = "task:"
TO_NAME: Final = "name:"
"""A nickname that nobody has yet: the next session of that name gets the message."""

NORMAL_MESSAGE: Final = "normal"
URGENT_MESSAGE: Final = "urgent"

READ_KEPT: Final = 7 * 86_400.0
"""Seconds that a message is kept after it was read."""
EXPIRY: Final = 7 * 86_400.0
"""Seconds until an unread message expires, unless the sender chose another time."""


class NewMessage(NamedTuple):
    """A message to send."""

    sender: str
    to: str
    content: str
    context: str = ""
    priority: str = NORMAL_MESSAGE
    kind: str = "message"
    seconds: float = EXPIRY


@record
class Message:
    """A message as it is stored."""

    message: Annotated[str, "Its id, which is the id of the operation that sent it."]
    sender: Annotated[str, "The session that sent it."]
    agent: Annotated[str, "The agent that sent it."]
    to: Annotated[str, "The address as the sender wrote it."]
    content: str
    context: Annotated[str, "Task, track and files, as JSON."] = ""
    priority: str = NORMAL_MESSAGE
    kind: str = "message"
    sent: float = 0.0
    expires: float = 0.0


@record
class WaitingMessage:
    """A message that a session has not read."""

    position: int
    message: Message
    age: Annotated[float, "Seconds since it was sent."]


@record
class Sent:
    """The message was delivered to these inboxes."""

    message: str
    recipients: Annotated[
        tuple[str, ...], "The agents that get it; `name:…` for an agent that has not started yet."
    ]


@record
class NoRecipient:
    """Refused: no session has this address."""

    to: str


@record
class Acknowledged:
    """How many messages were marked as read."""

    count: int


@record
class Expired:
    """Unread messages that expired and were deleted."""

    messages: tuple[Message, ...] = ()


def count_unread(count: int) -> str:
    """Return the number of unread messages in words."""
    return f"{count} unread message{'' if count == 1 else 's'}"
