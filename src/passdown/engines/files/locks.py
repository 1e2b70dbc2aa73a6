"""Locks on empty files: a gate for a file that another library writes, and the `Locks` of a clone."""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

from passdown import layout
from passdown.engines.files.ended_files import MOST, find_old
from passdown.engines.files.read import open_trusted
from passdown.engines.files.system_calls import lock_in_turn
from passdown.engines.files.write import make_folder, make_private
from passdown.engines.patience import Patience
from passdown.errors import AwayError, StorageError

_MOST_GATES: Final = 5
"""How often the file may be removed while we wait for it."""
_MOST_LOCKS: Final = 1_000
"""The same for a lock, for which nobody goes on without it."""


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
    """Locks files that only a process that holds their lock deletes, so that two never hold the same lock."""

    def __init__(self, folder: str) -> None:
        """Store the path of the folder, which is created when a lock is first held."""
        self._folder = folder
        self._held: list[int] = []

    @contextmanager
    def held(self, name: str, wait: float) -> Generator[bool, None, None]:
        handle, is_locked = self._enter(name, wait)
        if handle is None:
            yield is_locked
            return
        self._held.append(handle)
        try:
            yield is_locked
        finally:
            self._held.remove(handle)
            os.close(handle)

    def _enter(self, name: str, wait: float) -> tuple[int | None, bool]:
        """Open and lock a file; return its handle, and whether we may go on.

        1. A file that was deleted before we opened it is created again; if it cannot be, everybody goes on.
        2. One that was deleted before we locked it keeps nobody out, so the new one is locked.
        """
        missing = 0
        for _ in range(_MOST_LOCKS):
            handle, is_locked = self._open(name), True
            if handle is None:  # 1
                missing += 1
                if missing == _MOST_GATES:
                    return None, True
                continue
            missing = 0
            with suppress(OSError):  # a file system without locks
                is_locked = lock_in_turn(handle, wait)
            if not is_locked or self._is_kept(handle, name):
                return handle, is_locked
            os.close(handle)  # 2
        return None, False

    def _open(self, name: str) -> int | None:
        path = self._path(name)
        with suppress(StorageError):  # a read-only folder can still have the file
            make_folder(self._folder)
        make_private(path)
        with suppress(OSError):
            return open_trusted(path)
        return None

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, layout.lock_name(name))

    def _is_kept(self, handle: int, name: str) -> bool:
        """Return whether a locked file still has its name."""
        with suppress(OSError):
            return os.path.samestat(os.fstat(handle), os.stat(self._path(name)))
        return False

    def handles(self) -> tuple[int, ...]:
        return tuple(self._held)

    def delete_unused(self, before: float) -> int:
        """Delete files that were created before an instant and that nobody holds; return how many."""
        suffix = layout.lock_name("")
        names = [one for one in find_old(self._folder, self._folder, before) if one.endswith(suffix)]
        return sum(self._delete(name.removesuffix(suffix)) for name in names[:MOST])

    def _delete(self, name: str) -> bool:
        """Delete a file while we hold its lock: a process that opened it meanwhile finds that it is gone."""
        with suppress(OSError), self.held(name, 0.0) as is_held:
            if is_held and self._held:
                os.unlink(self._path(name))
                return True
        return False
