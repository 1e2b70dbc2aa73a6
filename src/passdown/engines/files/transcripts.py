"""The `Transcripts` of this machine."""

# ruff: noqa: PTH202, PTH207 (paths come and go as text)

import glob
import os
from collections.abc import Sequence
from contextlib import suppress

from passdown.core.transcripts import MAX_LINE
from passdown.errors import StorageError


class FileTranscripts:
    """Files that hosts write, wherever they lie; they are only read."""

    def find(self, patterns: Sequence[str]) -> Sequence[str]:
        """Give the paths of the files that match any of the patterns."""
        return sorted({path for pattern in patterns for path in glob.iglob(pattern) if os.path.isfile(path)})  # noqa: PTH113

    def size(self, path: str) -> int:
        """Give how long a file is."""
        # One that is not there has nothing in it.
        with suppress(OSError):
            return os.path.getsize(path)
        return 0

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
