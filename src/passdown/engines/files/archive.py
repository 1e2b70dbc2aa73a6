"""The one that moves and deletes: what goes to the archive, and what killed processes left behind.

A file is durably in the archive before it is gone here.
"""

# ruff: noqa: PTH108, PTH114, PTH116, PTH118, PTH120, PTH123 (pathlib is slow on 100,000 files)

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress

from passdown.engines.files import write
from passdown.errors import StorageError


def move_files(folder: str, names: Sequence[str], archive: str, *, ways: write.Ways = write.HERE) -> int:
    """Move files into the archive folder; answer how many are gone from here.

    1. A file that stands there with the same content is only removed here.
    2. One that stands there with other content stays here: nothing is overwritten.
    3. One that is gone meanwhile was moved by somebody else.

    Raises a StorageError when the archive cannot be written; then nothing is removed.
    """
    there = [name for name in names if _is_there(folder, name, archive, ways)]
    moved = 0
    for name in there:
        # 3: whoever removed it first had it in the archive first, too.
        with suppress(FileNotFoundError):
            _remove(os.path.join(folder, name))
            moved += 1
    write.sync_folder(folder, ways=ways)
    return moved


def remove_file(path: str, data: bytes, *, ways: write.Ways = write.HERE) -> bool:
    """Remove a file that holds exactly these bytes, which nobody misses; say whether it is gone.

    Raises a StorageError when it cannot be removed.
    """
    if os.path.islink(path) or _read(path) != data:
        return False
    try:
        _remove(path)
    except FileNotFoundError:  # somebody else removed it
        return False
    write.sync_folder(os.path.dirname(path), ways=ways)
    return True


def remove_empty_folders(folder: str) -> None:
    """Remove the folders below a folder in which nothing lies, and then itself."""
    for path, _, _ in os.walk(folder, topdown=False):
        # One that is not empty, or not ours to remove, stays.
        with suppress(OSError):
            os.rmdir(path)  # noqa: PTH106 - as above


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = f"could not remove {path}: {error.strerror}"
        hint = "If it was to be archived, it is in both places now, which does no harm."
        raise StorageError(reason, hint=hint) from error


def _is_there(folder: str, name: str, archive: str, ways: write.Ways) -> bool:
    """Copy a file to the archive unless it is there; say whether the archive now holds the same bytes."""
    data = _read(os.path.join(folder, name))
    if data is None:  # 3
        return False
    target = os.path.join(archive, name)
    return write.create(target, data, ways=ways) or _read(target) == data  # 1, 2


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def sweep(
    folders: Iterable[str], is_gone: Callable[[int], bool], *, flat: Iterable[str] = (), since: float = 0
) -> int:
    """Remove the unfinished writes of processes that are gone, at any depth; answer how many there were.

    One whose process may still run stays, and so does what cannot be removed: readers skip it. Below `flat`
    folders only the files that lie directly in them are looked at. The folder of a day, of which there may be
    a thousand, is looked at when it has changed since then.
    """
    swept = 0
    for path in find_leftovers(folders, is_gone, flat=flat, since=since):
        # Another start may sweep at the same moment.
        with suppress(OSError):
            os.unlink(path)
            swept += 1
    return swept


def find_leftovers(
    folders: Iterable[str], is_gone: Callable[[int], bool], *, flat: Iterable[str] = (), since: float = 0
) -> list[str]:
    """Name the unfinished writes that `sweep` would remove, in order."""
    every = [path for folder in _highest(folders) for path in _leftovers(folder, since)]
    every += [path for folder in flat for path in _leftovers(folder, since, is_flat=True)]
    return sorted(
        path
        for path in set(every)
        if is_gone(write.leftover_pid(os.path.basename(path)))  # noqa: PTH119 - as above
    )


def _highest(folders: Iterable[str]) -> list[str]:
    """Leave out the folders that lie in another one."""
    found: list[str] = []
    for folder in sorted({os.path.join(folder, "") for folder in folders}):
        if not found or not folder.startswith(found[-1]):
            found.append(folder)
    return found


def _leftovers(folder: str, since: float, *, is_flat: bool = False) -> Iterator[str]:
    """Find unfinished writes below a folder; links are not followed, and what cannot be read has none."""
    for place, folders, names in os.walk(folder):
        yield from (os.path.join(place, name) for name in names if write.is_leftover(name))
        folders[:] = [] if is_flat else [one for one in folders if not _is_old_day(place, one, since)]


def _is_old_day(place: str, name: str, since: float) -> bool:
    from passdown.engines.files.folders import DAY  # noqa: PLC0415 - a verb sweeps nothing

    if since <= 0 or not DAY.fullmatch(name):
        return False
    try:
        return os.stat(os.path.join(place, name)).st_mtime < since
    except OSError:
        return True
