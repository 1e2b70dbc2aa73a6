"""Messages between sessions: to an agent, a nickname, a role, the holder of a task, or all."""

from typing import Annotated, Final, NamedTuple

from passdown.records import record

ALL: Final = "all"
TO_ROLE: Final = "role:"
TO_TASK: Final = "task:"
TO_NAME: Final = "name:"
"""A nickname that nobody bears yet: the next session of that name gets the message."""

NORMAL_MESSAGE: Final = "normal"
URGENT_MESSAGE: Final = "urgent"

READ_KEPT: Final = 7 * 86_400.0
"""Seconds that a message is kept after it was read."""
EXPIRY: Final = 7 * 86_400.0
"""Seconds until a message that nobody read expires, unless the sender said otherwise."""


class NewMessage(NamedTuple):
    """What a session sends."""

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

    message: Annotated[str, "Its id: that of the operation that sent it."]
    sender: Annotated[str, "The session that sent it."]
    agent: Annotated[str, "The agent that sent it."]
    to: Annotated[str, "The address as it was given."]
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
    """The message is in these inboxes."""

    message: str
    recipients: Annotated[tuple[str, ...], "The agents that will get it; `name:…` for one to come."]


@record
class NobodyThere:
    """Refused: no session has this address."""

    to: str


@record
class Acknowledged:
    """How many messages are read now."""

    count: int


@record
class Expired:
    """Messages that nobody read in time, and that are gone now."""

    messages: tuple[Message, ...] = ()


def count_unread(count: int) -> str:
    """Say how many unread messages there are."""
    return f"{count} unread message{'' if count == 1 else 's'}"
