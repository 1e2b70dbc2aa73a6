"""Opens the transcripts that hosts write."""

import os
from pathlib import Path

from passdown.engines.files.transcripts import FileTranscripts
from passdown.errors import UsageError
from passdown.ports.host import Host
from passdown.services.sessions.observations import TranscriptSource


def open_source(root: Path, path: Path, host: Host, *, may_come: bool = False) -> TranscriptSource | None:
    """Build what reads a session's transcript, or return None if the host has no transcript reader.

    Raises a UsageError if there is no transcript, unless it may be written later.
    """
    if not may_come and not os.path.isfile(path):
        hint = "give the path that the host passes to its hooks"
        raise UsageError(f"there is no transcript {path}", hint=hint)
    if host.load_transcripts is None:
        return None
    return TranscriptSource(
        path=str(path),
        reader=host.load_transcripts(),
        transcripts=FileTranscripts(),
        roots=(str(root), os.path.realpath(root)),
    )
