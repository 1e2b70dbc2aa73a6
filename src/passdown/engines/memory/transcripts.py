"""The `Transcripts` in this process's memory."""

import re
from collections.abc import Callable, Sequence

from passdown.core.transcripts import MAX_LINE


class MemoryTranscripts:
    """Files by path; a test adds to them as a host would."""

    def __init__(self) -> None:
        """Begin without a file."""
        self.files: dict[str, bytes] = {}
        self.late: dict[str, bytes] = {}
        """What a host writes as soon as somebody waits for it."""

    def find(self, patterns: Sequence[str]) -> Sequence[str]:
        """Give the paths of the files that match any of the patterns."""
        wanted = [re.compile(re.escape(one).replace(r"\*", "[^/]*")) for one in patterns]
        return sorted(path for path in self.files if any(one.fullmatch(path) for one in wanted))

    def size(self, path: str) -> int:
        """Give how long a file is."""
        return len(self.files.get(path, b""))

    def await_line(self, path: str, offset: int, is_it: Callable[[bytes], bool]) -> None:
        """Let come what is late, unless such a line is there already."""
        if not any(map(is_it, self.read(path, offset).split(b"\n"))):
            self.files[path] = self.read(path, 0) + self.late.pop(path, b"")

    def read(self, path: str, offset: int) -> bytes:
        """Give what a file holds from an offset on."""
        return self.files.get(path, b"")[offset : offset + MAX_LINE]
