"""Reads files that people edit, and finds the old files that `write.replace` displaced.

An editor may rename a new file into place at any moment, or write to a file that it has open, which may be
the displaced one. So the displaced file is kept beside the new one, under a hidden name, until it is certain
that no program can write to it any more and that we have read all of it.
"""

import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Final

from passdown.engines.files import read, write
from passdown.engines.files.displaced_names import Displaced, judge_displaced, seen_name
from passdown.engines.files.read import OpenFolder
from passdown.engines.system import SystemClock

SETTLED: Final = 0.2
"""Seconds without a change after which a file is complete, if the system does not say who has it open."""

KEPT: Final = 30.0
"""Seconds for which a displaced file is then kept, because an editor may still have it open."""

_PATIENCE: Final = 8
_FIRST_PAUSE: Final = 0.002


def read_settled(handle: int, operations: write.FileOperations, patience: int = _PATIENCE) -> bytes | None:
    """Return the content of a file; None if another program is still writing to it after some attempts.

    The file is read before and after asking who has it open: if both are equal, it holds no partial write.
    """
    for attempt in range(patience):
        before = _read(handle)
        unused = operations.is_unused(handle)
        if unused is None and _age(os.fstat(handle).st_mtime) < SETTLED:
            operations.pause(SETTLED)
        elif unused is False:
            operations.pause(_FIRST_PAUSE * 2**attempt)
            continue
        if _read(handle) == before:
            return before
    return None


def find_displaced(
    folder: OpenFolder,
    names: Iterable[str],
    seen: Collection[bytes] = (),
    *,
    operations: write.FileOperations = write.HERE,
) -> list[bytes]:
    """Return displaced contents that differ from what their writer expected, in the order of the names.

    1. A content that is in `seen`, or is as expected, is known. Its file is removed as soon as no program can
       write to it; until then, it is returned only if it changes.
    2. A file that another program is still writing to is returned by a later call.
    3. A file that holds the new content belongs to a replacement that is not finished, or never will be.
    """
    found = (_look(folder, name, seen, operations) for name in names)
    return [data for data in found if data is not None]


def _look(
    folder: OpenFolder, name: str, seen: Collection[bytes], operations: write.FileOperations
) -> bytes | None:
    """Return the content of one displaced file if it is new; otherwise remove the file if that is safe."""
    try:
        handle = folder.open_file(name)
    except OSError:  # another process has removed it, or it is not ours
        return None
    try:
        known = os.fstat(handle)
        is_kept = _age(max(known.st_mtime, known.st_ctime)) < KEPT
        data = read_settled(handle, operations, 1)
        can_go = operations.is_unused(handle)
    except OSError:  # too large for a text that people edit
        return None
    finally:
        os.close(handle)
    if data is None:  # 2
        return None
    state = judge_displaced(name, data)
    if state is Displaced.CHANGED and data not in seen:
        return data
    if state is Displaced.UNFINISHED:  # 3
        can_go = not is_kept
    # Another process may remove it at the same moment; a file that stays is read again, without effect.
    with suppress(OSError):
        if can_go or (can_go is None and not is_kept):  # 1
            os.unlink(folder.at(name), dir_fd=folder.handle)
        elif state is Displaced.CHANGED:
            known_as = folder.at(seen_name(name, data))
            os.rename(folder.at(name), known_as, src_dir_fd=folder.handle, dst_dir_fd=folder.handle)
    return None


def _read(handle: int) -> bytes:
    os.lseek(handle, 0, os.SEEK_SET)
    return read.read_handle(handle, read.DOCUMENT)


def _age(changed_at: float) -> float:
    """Return how many seconds ago a file changed; for a time in the future, how far ahead it is."""
    return abs(SystemClock().now().timestamp() - changed_at)
