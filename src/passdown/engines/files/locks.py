"""Locks on empty files: a gate for a file that another library writes, and the `Locks` of a clone."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

from passdown import layout
from passdown.engines.files.read import open_trusted
from passdown.engines.files.system_calls import lock_in_turn
from passdown.engines.files.write import make_folder, make_private
from passdown.engines.patience import Patience
from passdown.errors import AwayError, StorageError

_MOST_GATES: Final = 5
"""How often the file may be removed while we wait for it."""


class Gate:
    """A lock that one process passes at a time. The system releases it when the process that holds it ends.

    If files cannot be locked, or this one cannot be created, every process passes: the gate only keeps the
    order and shortens the wait. For safety, what is behind the gate must be locked too.
    """

    def __init__(self, path: str, *, lock: Callable[[int, float], bool] = lock_in_turn) -> None:
        """Store the path of the file, which is created when the gate is first passed."""
        self._path = path
        self._lock = lock
        self._handle: int | None = None

    @contextmanager
    def passed(self, wait: float | Patience) -> Generator[None, None, None]:
        """Keep others out; raise an AwayError if others hold the lock for longer than that many seconds."""
        patience = wait if isinstance(wait, Patience) else Patience(wait)
        is_free = True
        try:
            with suppress(OSError):  # a read-only folder, a file system without locks
                is_free = self._open_and_enter(patience)
            if not is_free:
                span = f"{patience.seconds:g} s"
                message = f"{self._path} is locked: other processes did not release it within {span}"
                raise AwayError(message, hint="Nothing was changed; try again.")
            yield
        finally:
            self._close()

    def is_kept(self) -> bool:
        """Return whether the locked file still has its name, so that no other process can pass."""
        if self._handle is None:
            return True
        with suppress(OSError):
            return os.path.samestat(os.fstat(self._handle), os.stat(self._path))
        return False

    def _open_and_enter(self, patience: Patience) -> bool:
        """Lock the file; if it was removed while we waited, it keeps nobody out, so lock the new one."""
        for _ in range(_MOST_GATES):
            self._close()
            make_private(self._path)
            self._handle = open_trusted(self._path)
            if not self._enter(self._handle, patience):
                return False
            if self.is_kept():
                break
        return True

    def _close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _enter(self, handle: int, patience: Patience) -> bool:
        """Wait for the lock; later waits keep the place in the queue, because the file stays open."""
        what = f"another process to release {self._path}"
        return any(self._lock(handle, seconds) for seconds in patience.waits(what))


class FileLocks:
    """Locks files that are never removed: removing one could let two processes in."""

    def __init__(self, folder: str) -> None:
        """Store the path of the folder, which is created when a lock is first held."""
        self._folder = folder
        self._held: list[int] = []

    @contextmanager
    def held(self, name: str, wait: float) -> Generator[bool, None, None]:
        handle = self._open(name)
        if handle is None:
            yield True
            return
        self._held.append(handle)
        is_locked = True
        try:
            with suppress(OSError):  # a file system without locks
                is_locked = lock_in_turn(handle, wait)
            yield is_locked
        finally:
            self._held.remove(handle)
            os.close(handle)

    def _open(self, name: str) -> int | None:
        path = os.path.join(self._folder, layout.lock_name(name))
        with suppress(StorageError):  # a read-only folder can still have the file
            make_folder(self._folder)
        make_private(path)
        with suppress(OSError):
            return open_trusted(path)
        return None

    def handles(self) -> tuple[int, ...]:
        return tuple(self._held)
