"""How a write that failed is reported: the file, the reason, and what to do next."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Final

from passdown.engines.files.read import reason
from passdown.errors import StorageError

_LATER: Final = "Nothing was acknowledged; try again later."
_HINTS: Final = MappingProxyType(
    {
        errno.ENOSPC: "Free some space and repeat; what was there before is unchanged.",
        errno.EDQUOT: "Your quota is used up: free some space, then repeat; what was there is unchanged.",
        errno.EACCES: "Check who owns the folder and whether you may write to it.",
        errno.EPERM: "Check who owns the folder and whether you may write to it.",
        errno.EROFS: "The file system is read-only: mount it for writing, or work in another checkout.",
        errno.ENOTDIR: "A part of the path is a file where a folder is needed: move it away.",
        errno.ELOOP: "Passdown follows no link below a project: put a real file or folder there.",
    }
)


@contextmanager
def reporting(path: str | os.PathLike[str]) -> Generator[None, None, None]:
    """Turn an OSError into a StorageError that names the file and says what to do."""
    try:
        yield
    except OSError as error:
        message = f"could not write {os.fspath(path)}: {reason(error)}"
        raise StorageError(message, hint=hint_for(error)) from error


def hint_for(error: OSError) -> str:
    """Return what to do about an error of the system."""
    return _HINTS.get(error.errno or 0, _LATER)


def odd_file(path: str | os.PathLike[str]) -> StorageError:
    """Return the error for a path that we must not write to."""
    message = f"could not write {os.fspath(path)}: it is not a regular file"
    return StorageError(message, hint="It is a link, folder, FIFO or device: move it away, then repeat.")
