"""System calls that Python's `os` lacks: locks, exchanging two names, and whether a file is open elsewhere.

Each may be missing on a system or file system; the function then says so in its result.
"""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from passdown.engines.system import SystemClock, pause

_LOCKED_BYTE: Final = 0x7FFF_FFF0
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.016
_EXCHANGE: Final = 2
"""RENAME_EXCHANGE on Linux and RENAME_SWAP on macOS."""
_CANNOT: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM})
_BUSY: Final = frozenset({errno.EAGAIN, errno.EACCES, errno.EDEADLK})


def leave_unsynced(handle: int) -> None:
    """Do nothing instead of a sync: what is written need not survive a power cut."""


def lock_file(handle: int, wait: float | None = None) -> bool:
    """Lock an open file, and return whether that worked within `wait` seconds; None waits forever.

    The system releases the lock when the file is closed, at the latest when the process ends. Raises an
    OSError if the file system has no locks.
    """
    try:
        import fcntl  # does not exist on Windows
    except ModuleNotFoundError:
        return _try_for(wait, handle, _lock_byte)
    if wait is None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        return True
    return _try_for(wait, handle, lambda one: fcntl.flock(one, fcntl.LOCK_EX | fcntl.LOCK_NB))


def lock_in_turn(handle: int, wait: float) -> bool:
    """Lock an open file as `lock_file` does, but wait in the system's queue if there is one.

    A process that retries can be overtaken for seconds while many others do the same.
    """
    if lock_file(handle, 0.0):
        return True
    if sys.platform == "win32" or wait <= 0:
        return lock_file(handle, wait)
    import threading  # needed only to wait

    is_over = threading.Event()
    locked: list[bool] = []
    own = os.dup(handle)  # the same lock; it outlives neither of the two

    def lock() -> None:
        with suppress(OSError):  # then it is not locked
            locked.append(lock_file(own))
        os.close(own)
        is_over.set()

    threading.Thread(target=lock, daemon=True).start()
    is_over.wait(wait)
    return bool(locked)


def _lock_byte(handle: int) -> None:
    """Lock a file on Windows: one byte far beyond its end, because locked bytes cannot be read."""
    import msvcrt  # exists only on Windows

    os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
    msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]


def _try_for(wait: float | None, handle: int, lock: Callable[[int], object]) -> bool:
    """Try to lock until it works or the time is up; raise every error except that another process has it."""
    clock = SystemClock()
    until = None if wait is None else clock.monotonic() + wait
    rest = _FIRST_PAUSE
    while True:
        try:
            lock(handle)
        except OSError as error:
            if error.errno not in _BUSY:
                raise
        else:
            return True
        if until is not None and clock.monotonic() >= until:
            return False
        pause(rest)
        rest = min(rest * 2, _LONGEST_PAUSE)


def exchange_names(folder: int | None, first: str, second: str) -> bool:
    """Exchange two files of an open folder atomically; return False if the system cannot.

    Raises an OSError if it can, but one of the files is missing or may not be renamed.
    """
    if folder is None:
        return False
    import ctypes  # few calls write files that people edit

    try:
        library = ctypes.CDLL(None, use_errno=True)
        act = library.renameatx_np if sys.platform == "darwin" else library.renameat2
    except (AttributeError, OSError, TypeError):  # an old library, or Windows
        return False
    if act(folder, os.fsencode(first), folder, os.fsencode(second), _EXCHANGE) == 0:
        return True
    reason = ctypes.get_errno()
    if reason in _CANNOT:
        return False
    raise OSError(reason, os.strerror(reason), second)


def is_unused(handle: int) -> bool | None:
    """Return whether no process has a file open for writing; None if the system cannot report that.

    The file must be open for reading only. Linux answers by granting a lease, which is released at once.
    """
    try:
        import fcntl
        import signal

        # A program that opens the file at this very moment makes the system send us a signal, which by
        # default ends a process; this one is ignored by default.
        fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except (ModuleNotFoundError, AttributeError):  # another system
        return None
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return True
