"""The points at which a host calls Passdown, what it sends, and the reply."""

from enum import StrEnum
from typing import NamedTuple


class HookPoint(StrEnum):
    """The point in a session's life at which a host calls."""

    START = "start"
    PROMPT = "prompt"
    TURN_END = "turn-end"
    BEFORE_TOOL = "before-tool"
    BEFORE_COMPACTION = "before-compaction"
    SUBAGENT_START = "subagent-start"
    SUBAGENT_END = "subagent-end"
    END = "end"


class HookCall(NamedTuple):
    """The data that a host sends with a call; a value that it does not send is empty."""

    point: HookPoint
    event: str
    """The host's own name for the event; the reply repeats it."""
    session: str
    """The host's id for the session."""
    cwd: str
    cause: str = ""
    """Why the session starts or ends: startup, resume, clear, compact, fork, logout, …"""
    transcript: str = ""
    subagent: str = ""
    """The host's id for the subagent that calls; empty for the session's own agent."""
    subagent_type: str = ""
    message: str = ""
    """The last message of a subagent that ends."""
    paths: tuple[str, ...] = ()
    """The files that the tool would change, as the host names them; a relative path starts at `cwd`."""
    command: str = ""
    """The command that the tool would run in a shell."""


class HookReply(NamedTuple):
    """The reply to a host; empty texts are not sent."""

    context: str = ""
    """What the model reads."""
    notice: str = ""
    """What the user sees."""
    refusal: str = ""
    """Why the tool must not run, for the model to read; only a call before a tool can be refused."""


FORK = "fork"
GOES_ON = frozenset({"clear", "compact"})
"""The causes that start a new conversation in the same session, possibly under a new id (C52, C153)."""
KEPT_BY = GOES_ON | {"resume"}
"""The causes of an end that do not end our session: the host continues it, or may come back to it."""
