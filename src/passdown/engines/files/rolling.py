"""Line-based files with a size limit, for notes about ourselves that are not needed for long."""

import os
from contextlib import suppress
from typing import Final

from passdown.engines.files import read, write
from passdown.records import replace

MOST_BYTES: Final = 262_144
"""A longer file is cut to the newest half of this size."""


def _stay(handle: int) -> None:
    """Let the system decide when a file reaches the disk."""


_UNSYNCED: Final = replace(write.HERE, sync=_stay)


def add_line(path: str, line: str, most: int = MOST_BYTES, *, root: str | None = None) -> None:
    """Add a line that a power cut may lose; raise a StorageError if that is not possible.

    If two processes cut the file at the same time, lines may be lost. No link is followed below the root, by
    default the folder of the file.
    """
    write.append(path, f"{line}\n".encode(), local=True, operations=_UNSYNCED, root=root)
    # A file that cannot be read is cut by the next process that can read it.
    with suppress(OSError):
        with read.parent_of(root or os.path.dirname(path), path) as (folder, name):
            if folder.status(name).st_size <= most:
                return
            data = _newest(folder, name, most // 2)
        write.replace(path, data, local=True, operations=_UNSYNCED, root=root)


def _newest(folder: read.OpenFolder, name: str, size: int) -> bytes:
    """Return complete lines from the end of a file."""
    handle = folder.open_file(name)
    try:
        return read.read_tail(handle, size).partition(b"\n")[2]
    finally:
        os.close(handle)
