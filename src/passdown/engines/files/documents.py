"""The `Documents` below a folder of this machine."""

# ruff: noqa: PTH100, PTH110, PTH112, PTH116, PTH118, PTH120 (pathlib is slow on 100,000 files)

import os
import stat
from collections.abc import Iterator, Sequence
from typing import Final

from passdown.engines.files import archive, write
from passdown.errors import StorageError

SKIPPED: Final = frozenset({".git", "node_modules", ".venv"})
"""What listing never enters: it belongs to other tools and can be huge."""

_READ: Final[int] = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class FileDocuments:
    """The files below one root folder; it need not exist yet."""

    def __init__(self, root: str | os.PathLike[str], *, ways: write.Ways = write.HERE) -> None:
        """Keep the root, made absolute now, so that a later change of folder does not move it."""
        self._root = os.path.abspath(root)
        self._ways = ways

    def read(self, path: str) -> bytes:
        """Give the whole content of a regular file; never waits for a FIFO or device."""
        try:
            handle = os.open(self._locate(path), _READ)
            try:
                _require_regular(path, handle)
                with open(handle, "rb", closefd=False) as file:
                    return file.read()
            finally:
                os.close(handle)
        except OSError as error:
            raise _unreadable(path, error) from error

    def list(self, folder: str) -> Iterator[str]:
        """Name the regular files below a folder in the order of their paths; a missing folder holds none."""
        top = os.path.relpath(self._locate(folder), self._root).replace(os.sep, "/")
        return self._walk("" if top == os.curdir else top + "/")

    def replace(self, path: str, data: bytes, *, local: bool = False) -> None:
        """Make a file hold exactly these bytes, durably and at once."""
        write.replace(self._locate_inside(path), data, local=local, ways=self._ways)

    def create(self, path: str, data: bytes) -> bool:
        """Make a file that must not exist, durably and at once."""
        return write.create(self._locate_inside(path), data, ways=self._ways)

    def remove(self, path: str, data: bytes) -> bool:
        """Remove a file that holds exactly these bytes."""
        return archive.remove_file(self._locate_inside(path), data, ways=self._ways)

    def folders(self, folder: str) -> Sequence[str]:
        """Name the folders that lie directly in a folder."""
        try:
            with os.scandir(self._locate(folder)) as found:
                return sorted(entry.name for entry in found if entry.is_dir(follow_symlinks=False))
        except OSError:
            return ()

    def exists(self, path: str) -> bool:
        """Say whether the path names a file or folder that can be reached."""
        return os.path.exists(self._locate(path))

    def is_folder(self, path: str) -> bool:
        """Say whether the path names a folder."""
        return os.path.isdir(self._locate(path))

    def size(self, path: str) -> int:
        """Give the size of a file in bytes."""
        try:
            return os.stat(self._locate(path)).st_size
        except OSError as error:
            raise _unreadable(path, error) from error

    def _locate(self, path: str) -> str:
        """Give the full path of a file, or raise a StorageError if it leads out of the root."""
        full = os.path.abspath(os.path.join(self._root, path))
        if not _is_a_name(path) or not _is_within(full, self._root):
            raise _outside(path)
        return full

    def _locate_inside(self, path: str) -> str:
        """Give the full path of a file that is written; no link on the way may lead out of the root."""
        full = self._locate(path)
        if not _is_within(os.path.realpath(os.path.dirname(full)), os.path.realpath(self._root)):
            raise _outside(path)
        return full

    def _walk(self, prefix: str) -> Iterator[str]:
        """Name the files below a folder, given as a path that ends in ``/``, or ``""`` for the root."""
        try:
            with os.scandir(os.path.join(self._root, prefix)) as found:
                entries = [(_sort_name(entry), entry.is_file(follow_symlinks=False)) for entry in found]
        except FileNotFoundError:
            return  # removed since its folder was read, or never made
        except OSError as error:
            raise _unreadable(prefix or ".", error) from error
        for name, is_file in sorted(entries):
            if name.removesuffix("/") in SKIPPED or write.is_leftover(name):
                continue
            if name.endswith("/"):
                yield from self._walk(prefix + name)
            elif is_file:
                yield prefix + name


def _sort_name(entry: os.DirEntry[str]) -> str:
    """Give a name that sorts as the paths below it do: folders, but not links to them, end in ``/``."""
    return entry.name + "/" if entry.is_dir(follow_symlinks=False) else entry.name


def _is_a_name(path: str) -> bool:
    """Say whether the system can have a file of this name at all."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def _is_within(path: str, root: str) -> bool:
    """Say whether an absolute path is the root or lies below it."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _require_regular(path: str, handle: int) -> None:
    """Raise a StorageError if what was opened is not a regular file."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        message = f"could not read {path}: it is not a regular file"
        raise StorageError(message, hint="It is a folder, FIFO or device: name a file.")


def _unreadable(path: str, error: OSError) -> StorageError:
    """Describe a file or folder that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return StorageError(f"{path}: no such file", hint="Check the name and the folder it should lie in.")
    message = f"could not read {path}: {error.strerror or error}"
    return StorageError(message, hint="Check who owns it and whether you may read it.")


def _outside(path: str) -> StorageError:
    """Describe a path that leads out of the root."""
    message = f"{path}: lies outside the project"
    return StorageError(message, hint="Name a path below the project's folder that passes no link out of it.")
