"""`Transcripts` in the memory of this process."""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from passdown.core.hosts.transcripts import MAX_LINE
from passdown.ports.transcripts import TranscriptFile


class MemoryTranscripts:
    """Files by path; a test adds to them as a host would."""

    def __init__(self) -> None:
        """Start without files."""
        self.files: dict[str, bytes] = {}
        self.changed = datetime(2026, 1, 11, 12, tzinfo=UTC)
        """When each of them was last written."""
        self.late: dict[str, bytes] = {}
        """What the host writes as soon as `await_line` is called."""

    def find(self, patterns: Sequence[str]) -> Sequence[str]:
        """Return the paths of the files that match any of the patterns."""
        wanted = [re.compile(re.escape(one).replace(r"\*", "[^/]*")) for one in patterns]
        return sorted(path for path in self.files if any(one.fullmatch(path) for one in wanted))

    def list(self, folder: str) -> Sequence[TranscriptFile]:
        """Return the files below a folder, each as old as the others."""
        below = f"{folder}/"
        return [
            TranscriptFile(path.removeprefix(below), len(data), self.changed)
            for path, data in sorted(self.files.items())
            if path.startswith(below)
        ]

    def size(self, path: str) -> int:
        """Return the size of a file."""
        return len(self.files.get(path, b""))

    def await_line(self, path: str, offset: int, is_it: Callable[[bytes], bool]) -> None:
        """Add what is late, unless there is already a matching line."""
        if not any(map(is_it, self.read(path, offset).split(b"\n"))):
            self.files[path] = self.read(path, 0) + self.late.pop(path, b"")

    def read(self, path: str, offset: int, most: int = MAX_LINE) -> bytes:
        """Return the content of a file from an offset."""
        return self.files.get(path, b"")[offset : offset + most]
