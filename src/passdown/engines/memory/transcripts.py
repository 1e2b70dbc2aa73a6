"""The `Transcripts` in this process's memory."""

import re
from collections.abc import Sequence

from passdown.core.transcripts import MAX_LINE


class MemoryTranscripts:
    """Files by path; a test adds to them as a host would."""

    def __init__(self) -> None:
        """Begin without a file."""
        self.files: dict[str, bytes] = {}

    def find(self, patterns: Sequence[str]) -> Sequence[str]:
        """Give the paths of the files that match any of the patterns."""
        wanted = [re.compile(re.escape(one).replace(r"\*", "[^/]*")) for one in patterns]
        return sorted(path for path in self.files if any(one.fullmatch(path) for one in wanted))

    def size(self, path: str) -> int:
        """Give how long a file is."""
        return len(self.files.get(path, b""))

    def read(self, path: str, offset: int) -> bytes:
        """Give what a file holds from an offset on."""
        return self.files.get(path, b"")[offset : offset + MAX_LINE]
