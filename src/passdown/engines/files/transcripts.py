"""The `Transcripts` of this machine."""

# ruff: noqa: PTH202, PTH207 (paths come and go as text)

import glob
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from passdown.core.transcripts import MAX_LINE
from passdown.engines.system import pause
from passdown.errors import StorageError

_TRIES: Final = 50
_SECONDS: Final = 0.02


class FileTranscripts:
    """Files that hosts write, wherever they lie; they are only read."""

    def __init__(self, wait: Callable[[float], None] | None = None) -> None:
        """Wait in this way."""
        self._wait = wait or pause

    def find(self, patterns: Sequence[str]) -> Sequence[str]:
        """Give the paths of the files that match any of the patterns."""
        return sorted({path for pattern in patterns for path in glob.iglob(pattern) if os.path.isfile(path)})  # noqa: PTH113

    def size(self, path: str) -> int:
        """Give how long a file is."""
        # One that is not there has nothing in it.
        with suppress(OSError):
            return os.path.getsize(path)
        return 0

    def await_line(self, path: str, offset: int, is_it: Callable[[bytes], bool]) -> None:
        """Wait, for a second at most, until a file holds a line of a kind from an offset on."""
        for _ in range(_TRIES):
            if any(map(is_it, self.read(path, offset).split(b"\n"))):
                return
            self._wait(_SECONDS)

    def read(self, path: str, offset: int) -> bytes:
        """Give what a file holds from an offset on."""
        try:
            with open(path, "rb") as file:  # noqa: PTH123 - one read
                file.seek(offset)
                return file.read(MAX_LINE)
        except FileNotFoundError:
            return b""
        except OSError as found:
            hint = "check who owns it and whether you may read it"
            raise StorageError(f"could not read {path}: {found.strerror}", hint=hint) from found
