"""Deletes what ended sessions leave behind: small files and empty folders that nothing reads any more."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

from passdown.engines.files import read

MOST: Final = 500
"""How many files one call deletes, so that a start does not take long where none was ever deleted."""


def find_old(root: str, folder: str, before: float, *, folders: bool = False) -> Sequence[str]:
    """Return the names of the files, or folders, in a folder that last changed before an instant.

    No link is followed below the root. A folder that cannot be read has none.
    """
    is_wanted = read.is_folder if folders else read.is_file
    with suppress(OSError), read.open_folder(root, folder) as opened:
        entries = [entry for entry in opened.scan() if is_wanted(entry)]
        return [entry.name for entry in entries if opened.status(entry.name).st_mtime < before]
    return ()


def delete_old_files(root: str, folder: str, before: float, is_ours: Callable[[str], bool]) -> int:
    """Delete files directly in a folder that were last written before an instant; return how many.

    `is_ours` says by its name whether a file may be deleted.
    """
    names = [name for name in find_old(root, folder, before) if is_ours(name)]
    return _delete(root, folder, names, os.unlink)


def delete_empty_folders(root: str, folder: str, before: float) -> int:
    """Delete empty folders directly in a folder that last changed before an instant; return how many."""
    return _delete(root, folder, find_old(root, folder, before, folders=True), os.rmdir)


def _delete(root: str, folder: str, names: Sequence[str], act: Callable[..., None]) -> int:
    deleted = 0
    if names:
        with suppress(OSError), read.open_folder(root, folder) as opened:
            for name in names[:MOST]:
                # A folder that is not empty stays; another start may delete it at the same time.
                with suppress(OSError):
                    act(opened.at(name), dir_fd=opened.handle)
                    deleted += 1
    return deleted
