"""Line-based files with a size limit, for logs of our own that are not needed for long."""

import os
from contextlib import suppress
from typing import Final

from passdown.engines.files import read, write
from passdown.engines.files.system_calls import leave_unsynced
from passdown.records import replace

MOST_BYTES: Final = 262_144
"""A longer file is cut to the newest half of this size."""


_UNSYNCED: Final = replace(write.HERE, sync=leave_unsynced)


def add_line(path: str, line: str, most: int = MOST_BYTES, *, root: str | None = None) -> None:
    """Add a line, which a power cut may lose; raise a StorageError if it cannot be written.

    If two processes cut the file at the same time, lines may be lost. No link is followed below the root,
    which is by default the folder of the file.
    """
    write.append(path, f"{line}\n".encode(), local=True, operations=_UNSYNCED, root=root)
    # A file that cannot be read is cut by the next process that can read it.
    with suppress(OSError):
        with read.parent_of(root or os.path.dirname(path), path) as (folder, name):
            if folder.status(name).st_size <= most:
                return
            with folder.opened(name) as handle:
                data = read.read_tail(handle, most // 2).partition(b"\n")[2]  # whole lines
        write.replace(path, data, local=True, operations=_UNSYNCED, root=root)
