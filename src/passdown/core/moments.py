"""The moments at which a host calls us, what it tells, and what it is answered."""

from enum import StrEnum
from typing import NamedTuple


class Moment(StrEnum):
    """When in the life of a session a host calls."""

    START = "start"
    PROMPT = "prompt"
    TURN_END = "turn-end"
    BEFORE_COMPACTION = "before-compaction"
    SUBAGENT_START = "subagent-start"
    SUBAGENT_END = "subagent-end"
    END = "end"


class Call(NamedTuple):
    """What a host tells when it calls; a text that it does not tell is empty."""

    moment: Moment
    event: str
    """What the host calls the moment; its answer names it again."""
    session: str
    """The id that the host gave the session."""
    cwd: str
    cause: str = ""
    """Why it starts or ends: startup, resume, clear, compact, fork, logout, …"""
    transcript: str = ""
    subagent: str = ""


class Reply(NamedTuple):
    """What a host is answered; an empty text is not said."""

    context: str = ""
    """What the model reads."""
    notice: str = ""
    """What the person sees, in one line."""


FORK = "fork"
KEPT_BY = frozenset({"clear", "resume", "compact"})
"""The causes by which a host's session gets another id, or goes on, and ours stays the same (C52)."""
