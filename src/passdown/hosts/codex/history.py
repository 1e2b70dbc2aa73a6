"""Where Codex keeps transcripts: a file for each session, in a folder for the day on which it began.

The first line says where the session works, which session started a subagent, and the remote of the
repository.
"""

import re
from typing import Final

from passdown.core.hosts.past_sessions import LONGEST, TranscriptName, TranscriptOrigin, TranscriptStore
from passdown.core.hosts.transcripts import MessageReader, Object
from passdown.core.json_text import object_at, text_at
from passdown.core.lazy_regex import pattern
from passdown.hosts.codex.transcripts import may_say, say

_PATH: Final = pattern(r"\d{4}/\d{2}/\d{2}/rollout-(?P<name>[^/]+)\.jsonl", re.ASCII)
_STAMPED: Final = pattern(r"\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}-(?P<id>.+)", re.ASCII)


def _identify(path: str) -> TranscriptName | None:
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    stamped = _STAMPED.fullmatch(found["name"])
    return TranscriptName(stamped["id"] if stamped else found["name"])


def _find_origin(line: Object) -> TranscriptOrigin | None:
    if line.get("type") != "session_meta":
        return None
    payload = object_at(line, "payload")
    return TranscriptOrigin(
        text_at(payload, "cwd"),
        text_at(payload, "git", "repository_url"),
        text_at(payload, "parent_thread_id"),
    )


STORE: Final = TranscriptStore(
    folder="sessions",
    identify=_identify,
    find_origin=_find_origin,
    messages=MessageReader(may_say, say, LONGEST),
)
