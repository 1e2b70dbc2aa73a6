"""Files of lines that stay small: what we note about ourselves, and nobody needs for long."""

import os
from contextlib import suppress
from typing import Final

from passdown.engines.files import write
from passdown.records import replace

MOST_BYTES: Final = 262_144
"""A file that is longer is cut to the newest half of that."""


def _stay(handle: int) -> None:
    """Leave it to the system when a file reaches the disk."""


_UNSYNCED: Final = replace(write.HERE, sync=_stay)


def add_line(path: str, line: str, most: int = MOST_BYTES) -> None:
    """Add a line, which a power cut may take; raise a StorageError when that is not possible.

    When two cut the file at once, lines may be lost.
    """
    write.append(path, f"{line}\n".encode(), local=True, ways=_UNSYNCED)
    # One that cannot be read is cut by the next who can.
    with suppress(OSError):
        if os.path.getsize(path) > most:  # noqa: PTH202 - as text
            write.replace(path, _newest(path, most // 2), local=True, ways=_UNSYNCED)


def _newest(path: str, size: int) -> bytes:
    """Give whole lines from the end of a file."""
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        file.seek(-size, os.SEEK_END)
        return file.read().partition(b"\n")[2]
