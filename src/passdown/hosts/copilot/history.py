"""Where Copilot CLI keeps transcripts: a folder for each session, with its events in one file."""

from typing import Final

from passdown.core.hosts.past_sessions import LONGEST, TranscriptName, TranscriptOrigin, TranscriptStore
from passdown.core.hosts.transcripts import MessageReader, Object
from passdown.core.json_text import text_at
from passdown.hosts.copilot.transcripts import may_say, say

_FILE: Final = "events.jsonl"


def _identify(path: str) -> TranscriptName | None:
    session, _, name = path.partition("/")
    return TranscriptName(session) if session and name == _FILE else None


def _find_origin(line: Object) -> TranscriptOrigin | None:
    folder = text_at(line, "data", "context", "cwd")
    return TranscriptOrigin(folder) if line.get("type") == "session.start" and folder else None


STORE: Final = TranscriptStore(
    folder="session-state",
    identify=_identify,
    find_origin=_find_origin,
    messages=MessageReader(may_say, say, LONGEST),
)
