"""Where Claude Code keeps transcripts: a folder for each working folder, and in it a file for each session.

The transcripts of subagents are below a folder named by their session. Lines that queue a prompt or describe
a request do not name the working folder.
"""

from typing import Final

from passdown.core.hosts.past_sessions import LONGEST, TranscriptName, TranscriptOrigin, TranscriptStore
from passdown.core.hosts.transcripts import MessageReader, Object
from passdown.core.json_text import list_at, number_at, text_at
from passdown.hosts.claude.transcripts import NO_MODEL, join_texts

_ENDING: Final = ".jsonl"
_SUBAGENTS: Final = "subagents"
_KEPT_DAYS: Final = 30
"""After how many days Claude Code deletes a transcript, where its settings do not say."""


def _identify(path: str) -> TranscriptName | None:
    folder, _, rest = path.partition("/")
    if not folder or not rest.endswith(_ENDING):
        return None
    match rest.removesuffix(_ENDING).split("/"):
        case [session] if session:
            return TranscriptName(session)
        case [session, part, *_, agent] if part == _SUBAGENTS and agent:
            return TranscriptName(f"{session}-{agent}", session)
        case _:
            return None


def _find_origin(line: Object) -> TranscriptOrigin | None:
    folder = text_at(line, "cwd")
    return TranscriptOrigin(folder) if folder else None


def _may_say(line: bytes) -> bool:
    return b'"type":"text"' in line and b'"type":"assistant"' in line


def _say(line: Object) -> str:
    """Return the agent's text in a line, also a subagent's; text that the host wrote has no model."""
    if line.get("type") != "assistant" or text_at(line, "message", "model") == NO_MODEL:
        return ""
    blocks = list_at(line, "message", "content")
    return join_texts([block for block in blocks if text_at(block, "type") == "text"]).strip()


def read_kept_days(settings: object) -> int:
    """Return after how many days Claude Code deletes a transcript; a value it would refuse does not count."""
    days = number_at(settings, "cleanupPeriodDays")
    return days if days is not None and days > 0 else _KEPT_DAYS


STORE: Final = TranscriptStore(
    folder="projects",
    identify=_identify,
    find_origin=_find_origin,
    messages=MessageReader(_may_say, _say, LONGEST),
    kept_days=read_kept_days,
)
