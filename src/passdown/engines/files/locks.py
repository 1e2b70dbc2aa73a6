"""The `Locks` of a clone: empty files in one folder."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress

from passdown import layout
from passdown.engines.files import read, write
from passdown.engines.files.system_calls import lock_in_turn
from passdown.errors import StorageError


class FileLocks:
    """Locks files that stay: whoever removed one could let two others in."""

    def __init__(self, folder: str) -> None:
        """Name the folder; it is created when a lock is first held."""
        self._folder = folder
        self._held: list[int] = []

    @contextmanager
    def held(self, name: str, wait: float) -> Generator[bool, None, None]:
        handle = self._open(name)
        if handle is None:
            yield True
            return
        self._held.append(handle)
        try:
            yield _lock(handle, wait)
        finally:
            self._held.remove(handle)
            os.close(handle)

    def _open(self, name: str) -> int | None:
        path = os.path.join(self._folder, layout.lock_name(name))
        with suppress(StorageError):  # a folder that may only be read can have the file
            write.make_folder(self._folder)
        write.make_private(path)
        with suppress(OSError):
            return read.open_trusted(path)
        return None

    def handles(self) -> tuple[int, ...]:
        return tuple(self._held)


def _lock(handle: int, wait: float) -> bool:
    with suppress(OSError):  # a file system without locks
        return lock_in_turn(handle, wait)
    return True
