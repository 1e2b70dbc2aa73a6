"""The `Transcripts` on this machine."""

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from passdown.core.hosts.transcripts import MAX_LINE
from passdown.engines.files import read
from passdown.engines.system import pause
from passdown.ports.transcripts import TranscriptFile

_TRIES: Final = 50
_SECONDS: Final = 0.02
_PART: Final = 1_048_576


class FileTranscripts:
    """Files that hosts write, in any folder; they are only read."""

    def __init__(self, wait: Callable[[float], None] | None = None) -> None:
        self._wait = wait or pause

    def find(self, patterns: Sequence[str]) -> Sequence[str]:
        return sorted({path for pattern in patterns for path in read.find_files(pattern)})

    def list(self, folder: str) -> Sequence[TranscriptFile]:
        found: list[TranscriptFile] = []
        for above, names in read.walk(folder, folder, lambda _path, _name: True):
            for name in names:
                # It was removed meanwhile.
                with suppress(OSError):
                    known = read.status(folder, os.path.join(above, name))
                    path = os.path.relpath(os.path.join(above, name), folder).replace(os.sep, "/")
                    found.append(
                        TranscriptFile(path, known.st_size, datetime.fromtimestamp(known.st_mtime, UTC))
                    )
        return sorted(found)

    def size(self, path: str) -> int:
        # The size of a missing file is 0, and so is that of anything but a file.
        with suppress(OSError):
            return read.status(os.path.dirname(path), path).st_size
        return 0

    def await_line(self, path: str, offset: int, is_it: Callable[[bytes], bool]) -> None:
        """Wait, for at most a second, until a file holds a matching line after an offset."""
        for _ in range(_TRIES):
            if any(map(is_it, self.read(path, offset).split(b"\n"))):
                return
            self._wait(_SECONDS)

    def read(self, path: str, offset: int, most: int = MAX_LINE) -> bytes:
        try:
            with (
                read.parent_of(os.path.dirname(path), path) as (folder, name),
                folder.opened(name) as handle,
            ):
                os.lseek(handle, offset, os.SEEK_SET)
                return _read_part(handle, most)
        except FileNotFoundError:
            return b""
        except (OSError, ValueError) as found:
            error = found if isinstance(found, OSError) else OSError(errno.EINVAL, "it is not a valid path")
            raise read.unreadable(path, error) from found


def _read_part(handle: int, most: int) -> bytes:
    """Return at most that many bytes from the position of an open file."""
    parts: list[bytes] = []
    size = 0
    while size < most and (part := os.read(handle, min(most - size, _PART))):
        parts.append(part)
        size += len(part)
    return b"".join(parts)
