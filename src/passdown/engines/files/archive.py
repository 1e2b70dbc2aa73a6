"""Moves files to the archive, and removes what killed processes left behind.

Nothing else moves or deletes the files of a project. A file is durable in the archive before it is removed
here.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress

from passdown import layout
from passdown.engines.files import read, write
from passdown.engines.files.displaced_names import (
    choose_displaced,
    displaced_name,
    is_leftover,
    leftover_pid,
    mark_both,
)
from passdown.engines.files.folders import DAY, MONTH
from passdown.engines.files.read import OpenFolder
from passdown.engines.files.write import reporting
from passdown.errors import StorageError


def move_files(
    folder: str,
    names: Sequence[str],
    archive: str,
    *,
    operations: write.FileOperations = write.HERE,
    roots: Sequence[str] = (),
) -> int:
    """Move files into the archive folder; return how many were removed here.

    1. A file that is already in the archive with the same content is only removed here.
    2. A file that is in the archive with other content stays here: nothing is overwritten.
    3. A file that disappeared in the meantime was moved by another process.

    No link is followed below the root that contains a folder. Raises a StorageError if the archive cannot be
    written; then nothing is removed.
    """
    try:
        here = _open(folder, roots, operations)
    except OSError as error:
        raise read.unreadable(folder, error) from error
    with here:
        there = _copy_or_link(here, names, archive, operations, roots)
        moved = 0
        for name in there:
            # 3: the process that removed it had archived it first.
            with suppress(FileNotFoundError):
                _remove(here, name)
                moved += 1
        write.sync_folder(here, operations=operations)
    return moved


def remove_files(
    folder: str,
    files: Mapping[str, bytes],
    *,
    operations: write.FileOperations = write.HERE,
    roots: Sequence[str] = (),
) -> Sequence[str]:
    """Remove the files of a folder that hold exactly these bytes; return their names.

    Raises a StorageError if one cannot be removed; what was removed before stays removed.
    """
    try:
        here = _open(folder, roots, operations)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise read.unreadable(folder, error) from error
    removed: list[str] = []
    with here:
        for name, data in files.items():
            if _read(here, name) == data:
                with suppress(FileNotFoundError):  # another process removed it
                    _remove(here, name)
                    removed.append(name)
        write.sync_folder(here, operations=operations)
    return removed


def remove_file(
    path: str,
    data: bytes,
    *,
    kept: bool = False,
    operations: write.FileOperations = write.HERE,
    root: str = "",
) -> bool:
    """Remove a file that holds exactly these bytes; return whether it was removed.

    `kept` is for files that people edit: the file is first renamed as a displaced file, and its content
    compared after that.

    Raises a StorageError if it cannot be removed, or if a link is in the way.
    """
    above, name = os.path.split(path)
    try:
        folder = _open(above, (root,) if root else (), operations)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unremovable(path, error) from error
    with folder:
        if _read(folder, name) != data:
            return False
        if kept:
            return _displace(folder, name, data, operations)
        try:
            _remove(folder, name)
        except FileNotFoundError:  # another process removed it
            return False
        write.sync_folder(folder, operations=operations)
    return True


def _displace(folder: OpenFolder, name: str, data: bytes, operations: write.FileOperations) -> bool:
    """Rename a file as a displaced one; return whether it still held these bytes and was removed."""
    from passdown.engines.files.displaced import find_displaced  # only ledgers are edited

    aside = displaced_name(name, mark_both(data, data), operations.token(8))
    with reporting(os.path.join(folder.path, name)):
        try:
            os.rename(folder.at(name), folder.at(aside), src_dir_fd=folder.handle, dst_dir_fd=folder.handle)
        except FileNotFoundError:  # another process removed it
            return False
    write.sync_folder(folder, operations=operations)
    names = choose_displaced((entry.name for entry in folder.scan()), name)
    return not find_displaced(folder, names, operations=operations)


def remove_cache(path: str) -> None:
    """Remove a file that can be made again; one that cannot be removed stays until the next time."""
    with suppress(OSError):
        os.unlink(path)


def remove_empty_folders(folder: str) -> None:
    """Remove all empty folders below a folder, and then the folder itself if it is empty."""
    for path, _ in reversed(list(read.walk(folder, folder, lambda _path, _name: True))):
        # A folder that is not empty, or that we may not remove, stays.
        with suppress(OSError):
            os.rmdir(path)


def remove_if_empty(folder: str) -> None:
    """Remove a folder if it is empty; git does not track it then."""
    with suppress(OSError):  # it is not empty, or we may not remove it
        os.rmdir(folder)


def _open(folder: str, roots: Sequence[str], operations: write.FileOperations) -> OpenFolder:
    return read.open_folder(read.root_of(folder, roots), folder, by_handle=operations.folder_handles)


def _remove(folder: OpenFolder, name: str) -> None:
    try:
        os.unlink(folder.at(name), dir_fd=folder.handle)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unremovable(os.path.join(folder.path, name), error) from error


def _unremovable(path: str, error: OSError) -> StorageError:
    hint = "If it was being archived, it is now in both places; that does no harm."
    return StorageError(f"could not remove {path}: {read.reason(error)}", hint=hint)


def _copy_or_link(
    here: OpenFolder,
    names: Sequence[str],
    archive: str,
    operations: write.FileOperations,
    roots: Sequence[str],
) -> Sequence[str]:
    """Bring files to the archive; return those whose bytes it now holds, durably.

    The first is copied, which makes the folder. The others are linked, so that there is one sync for all of
    them; where that is impossible, they are copied, too.
    """
    found: list[str] = []
    with ExitStack() as stack:
        there: OpenFolder | None = None
        for name in names:
            is_linked = there is not None and _link(here, there, name)
            if is_linked or _is_there(here, name, archive, operations, roots):
                found.append(name)
            if found and there is None and operations.folder_handles:
                there = stack.enter_context(_open(archive, roots, operations))
        if there is not None:
            write.sync_folder(there, operations=operations)
    return found


def _link(here: OpenFolder, there: OpenFolder, name: str) -> bool:
    """Give a regular file a second name in the archive; return False if that is taken or impossible."""
    try:
        if not stat.S_ISREG(here.status(name).st_mode):
            return False
        write.link(here.at(name), there.at(name), src_dir_fd=here.handle, dst_dir_fd=there.handle)
    except OSError:
        return False
    return True


def _is_there(
    here: OpenFolder,
    name: str,
    archive: str,
    operations: write.FileOperations,
    roots: Sequence[str],
) -> bool:
    """Copy a file to the archive unless it is there; return whether the archive now holds the same bytes."""
    data = _read(here, name)
    if data is None:  # 3
        return False
    root = read.root_of(archive, roots)
    target = os.path.join(archive, name)
    if write.create(target, data, operations=operations, root=root):
        return True
    with _open(archive, roots, operations) as there:
        return _read(there, name) == data  # 1, 2


def _read(folder: OpenFolder, name: str) -> bytes | None:
    try:
        return folder.read(name, read.ROLLUP)
    except OSError:
        return None


def sweep(
    folders: Iterable[str],
    is_gone: Callable[[int], bool],
    *,
    flat: Iterable[str] = (),
    since: float = 0,
    roots: Sequence[str] = (),
) -> int:
    """Remove the unfinished writes of processes that have ended, at any depth; return how many there were.

    A file stays if its process may still be running, or if it cannot be removed; readers skip it. In `flat`
    folders only the files directly in them are considered. Folders of days and months, of which there may
    be a thousand, are searched only if they changed after `since`. No link is followed below the root that
    contains a folder.
    """
    swept = 0
    for path in find_leftovers(folders, is_gone, flat=flat, since=since, roots=roots):
        above, name = os.path.split(path)
        # Another session start may sweep at the same time.
        with suppress(OSError), _open(above, roots, write.HERE) as folder:
            os.unlink(folder.at(name), dir_fd=folder.handle)
            swept += 1
    return swept


def find_leftovers(
    folders: Iterable[str],
    is_gone: Callable[[int], bool],
    *,
    flat: Iterable[str] = (),
    since: float = 0,
    roots: Sequence[str] = (),
) -> list[str]:
    """Return the paths of the unfinished writes that `sweep` would remove, sorted."""
    every = [path for folder in _highest(folders) for path in _leftovers(folder, roots, since)]
    every += [path for folder in flat for path in _leftovers(folder, roots, since, is_flat=True)]
    return sorted(path for path in set(every) if is_gone(leftover_pid(os.path.basename(path))))


def _highest(folders: Iterable[str]) -> list[str]:
    """Leave out folders that are inside another one."""
    found: list[str] = []
    for folder in sorted({os.path.join(folder, "") for folder in folders}):
        if not found or not folder.startswith(found[-1]):
            found.append(folder)
    return found


def _leftovers(folder: str, roots: Sequence[str], since: float, *, is_flat: bool = False) -> Iterator[str]:
    """Find unfinished writes below a folder; links are not followed, unreadable folders are skipped."""
    top = os.path.normpath(folder)
    found = read.walk(
        read.root_of(top, roots),
        top,
        lambda place, name: not (is_flat or _is_apart(place, name) or _is_old(place, name, since)),
        by_handle=write.HERE.folder_handles,
    )
    for place, names in found:
        yield from (os.path.join(place, name) for name in names if is_leftover(name))


def _is_apart(place: str, name: str) -> bool:
    """Return whether a folder may hold thousands of files that no session writes.

    These are the journals of ended sessions, and history, which `passdown import` sweeps itself.
    """
    above = os.path.basename(place)
    return (name, above) in {(layout.ENDED, layout.JOURNALS), (layout.HISTORY, layout.OURS)}


def _is_old(place: str, name: str, since: float) -> bool:
    if since <= 0 or not (DAY.fullmatch(name) or MONTH.fullmatch(name)):
        return False
    try:
        return os.stat(os.path.join(place, name), follow_symlinks=False).st_mtime < since
    except OSError:
        return True
