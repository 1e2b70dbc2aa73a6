"""The points at which a host calls us, what it sends, and what we reply."""

from enum import StrEnum
from typing import NamedTuple


class HookPoint(StrEnum):
    """The point in the life of a session at which a host calls."""

    START = "start"
    PROMPT = "prompt"
    TURN_END = "turn-end"
    BEFORE_COMPACTION = "before-compaction"
    SUBAGENT_START = "subagent-start"
    SUBAGENT_END = "subagent-end"
    END = "end"


class HookCall(NamedTuple):
    """What a host sends when it calls; a value that it does not send is empty."""

    point: HookPoint
    event: str
    """The host's own name for the event; the reply repeats it."""
    session: str
    """The host's id for the session."""
    cwd: str
    cause: str = ""
    """Why it starts or ends: startup, resume, clear, compact, fork, logout, …"""
    transcript: str = ""
    subagent: str = ""


class HookReply(NamedTuple):
    """The reply to a host; empty texts are not sent."""

    context: str = ""
    """What the model reads."""
    notice: str = ""
    """What the user sees."""


FORK = "fork"
KEPT_BY = frozenset({"clear", "resume", "compact"})
"""The causes that give the host's session another id, or continue it, while ours stays the same (C52)."""
