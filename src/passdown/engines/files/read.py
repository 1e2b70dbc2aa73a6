"""The one module that opens files for reading and lists folders; nothing else in the project does.

A repository can contain links, FIFOs and files of any size, so everything below a root (a checkout, git's own
folder, the user's data) is opened like this:

1. Every component below the root is opened on its own, relative to the one above it, and none may be a link.
   The path of the root itself may contain links: it is resolved once, when the root is opened.
2. Only regular files are read. A FIFO or a device is refused without waiting for it.
3. A read has a limit, which is enforced while reading: the size in the file's status is not trusted.

On a system without folder handles (Windows), every component is checked before the file is opened, and what
was opened is compared with what was checked. Files that no repository can contain, such as git's own and
those of the system, may be reached through links; 2 and 3 hold for them too (`read_trusted`).

All functions raise an OSError: ELOOP for a link, EINVAL for anything but a regular file, EFBIG for too much.
`unreadable` turns it into a StorageError that says what happened and what to do.
"""

import errno
import os
import stat
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Final, Self

from passdown.errors import StorageError

FilePath = str | os.PathLike[str]

DOCUMENT: Final = 33_554_432
"""The limit of a document and of any other file of a project, in bytes; parsers have far lower limits."""
SETTINGS: Final = 1_048_576
EVENT: Final = 1_048_576
JOURNAL: Final = 67_108_864
ROLLUP: Final = 268_435_456
NOTES: Final = 1_048_576
"""The limit of our own small files: logs of hooks, measurements, notices."""
MACHINE: Final = 16_777_216
"""The limit of files that belong to the system, to git or to this package."""
DEEPEST: Final = 64
"""How deeply nested folders are listed."""

_NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
_READ: Final[int] = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_ROOT: Final[int] = os.O_RDONLY | _DIRECTORY
_CHUNK: Final = 1_048_576
_PART: Final = 65_536
_KEPT: Final = 8
_NAME_SURROGATE: Final = 0x2000_0000
"""The bit of a Windows reparse tag that links and junctions have, but cloud files do not."""
_REFUSED: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK, errno.ENXIO, errno.EOPNOTSUPP})

HAS_HANDLES: Final = bool(
    _NOFOLLOW and _DIRECTORY and os.open in os.supports_dir_fd and os.scandir in os.supports_fd
)

_HINTS: Final = MappingProxyType(
    {
        errno.ELOOP: "Passdown does not follow links inside a project: put a real file or folder there.",
        errno.ENOTDIR: "A part of the path is a file and not a folder: move it away.",
        errno.EINVAL: "It is a folder, FIFO or device; name a regular file.",
        errno.EFBIG: "Move it away, or split it.",
    }
)


class OpenFolder:
    """An open folder: even if its path is replaced, it stays the same; closed when no longer needed."""

    __slots__ = ("handle", "path")

    def __init__(self, path: str, handle: int | None) -> None:
        """Store the path for messages, and the handle if the system has folder handles."""
        self.path = path
        self.handle = handle

    def __enter__(self) -> Self:
        """Return the folder itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the folder."""
        self.close()

    def __del__(self) -> None:
        """Close the folder if it is still open."""
        self.close()

    def close(self) -> None:
        """Close the folder, unless it is already closed."""
        handle, self.handle = self.handle, None
        if handle is not None:
            os.close(handle)

    def at(self, name: str) -> str:
        """Return the path of a file in the folder, for calls that also take its handle as ``dir_fd``."""
        return os.path.join(self.path, name) if self.handle is None else name

    def status(self, name: str) -> os.stat_result:
        """Return the status of the file or folder with a name in the folder; raise ELOOP for a link."""
        found = os.stat(self.at(name), dir_fd=self.handle, follow_symlinks=False)
        if is_link(found):
            raise linked(os.path.join(self.path, name))
        return found

    def enter(self, name: str) -> "OpenFolder":
        """Open a folder in the folder."""
        path = os.path.join(self.path, name)
        if self.handle is None:
            if not stat.S_ISDIR(self.status(name).st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
            return OpenFolder(path, None)
        try:
            return OpenFolder(path, os.open(name, _ROOT | _NOFOLLOW, dir_fd=self.handle))
        except OSError as error:
            raise self._explain(name, error) from error

    def open_file(self, name: str) -> int:
        """Open a regular file in the folder; the caller must close it."""
        seen = self.status(name) if self.handle is None else None
        if seen is not None and not stat.S_ISREG(seen.st_mode):
            raise _odd()  # without O_NONBLOCK, opening a FIFO may block
        try:
            handle = os.open(self.at(name), _READ | _NOFOLLOW, dir_fd=self.handle)
        except OSError as error:
            raise self._explain(name, error) from error
        try:
            found = _require_regular(handle)
            if seen is not None and not os.path.samestat(seen, found):
                raise linked(os.path.join(self.path, name))
        except OSError:
            os.close(handle)
            raise
        return handle

    @contextmanager
    def opened(self, name: str) -> Generator[int, None, None]:
        """Open a regular file in the folder, and close it at the end."""
        handle = self.open_file(name)
        try:
            yield handle
        finally:
            os.close(handle)

    def read(self, name: str, most: int) -> bytes:
        """Return the content of a regular file in the folder."""
        handle = self.open_file(name)
        try:
            return read_handle(handle, most)
        finally:
            os.close(handle)

    def scan(self) -> "Iterator[os.DirEntry[str]]":
        """Yield the entries of the folder; see `is_file` and `is_folder`."""
        with os.scandir(self.path if self.handle is None else self.handle) as found:
            yield from found

    def _explain(self, name: str, error: OSError) -> OSError:
        """Return the error for a link or an odd file if that is the reason, else the error itself."""
        if error.errno in _REFUSED:
            # If it no longer exists, the original error is reported.
            with suppress(FileNotFoundError):
                try:
                    found = self.status(name)
                except OSError as link:
                    return link
                if not stat.S_ISREG(found.st_mode) and error.errno != errno.ENOTDIR:
                    return _odd()
        return error


MakeFolder = Callable[[OpenFolder, str], None]
"""Creates a missing folder."""


def open_folder(
    root: FilePath, path: FilePath, *, by_handle: bool = HAS_HANDLES, make: MakeFolder | None = None
) -> OpenFolder:
    """Open a folder that is a root or below it, component by component; `make` creates what is missing."""
    top = os.path.normpath(root)
    names = _names_below(top, os.path.normpath(path))
    folder = _open_root(top, by_handle=by_handle)
    for name in names:
        with folder as above:
            try:
                folder = above.enter(name)
            except FileNotFoundError:
                if make is None:
                    raise
                make(above, name)
                folder = above.enter(name)
    return folder


def _open_root(path: str, *, by_handle: bool) -> OpenFolder:
    if by_handle:
        return OpenFolder(path, os.open(path, _ROOT))
    if not stat.S_ISDIR(os.stat(path).st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    return OpenFolder(path, None)


def _names_below(root: str, path: str) -> list[str]:
    if path == root:
        return []
    start = os.path.join(root, "")
    if root == os.curdir and not os.path.isabs(path):
        start = ""
    names = path[len(start) :].split(os.sep)
    if not path.startswith(start) or os.pardir in names:
        raise linked(path)
    return names


@contextmanager
def parent_of(
    root: FilePath, path: FilePath, *, by_handle: bool = HAS_HANDLES
) -> Generator[tuple[OpenFolder, str], None, None]:
    """Open the folder of a path below a root, and yield it with the name of the file in it."""
    above, name = os.path.split(os.path.normpath(path))
    with open_folder(root, above, by_handle=by_handle) as folder:
        yield folder, name


def read(root: FilePath, path: FilePath, most: int, *, by_handle: bool = HAS_HANDLES) -> bytes:
    """Return the content of a regular file below a root."""
    with parent_of(root, path, by_handle=by_handle) as (folder, name):
        return folder.read(name, most)


def status(root: FilePath, path: FilePath, *, by_handle: bool = HAS_HANDLES) -> os.stat_result:
    """Return the status of a root, or of a file or folder below it."""
    if os.path.normpath(path) == os.path.normpath(root):
        return os.stat(root)
    with parent_of(root, path, by_handle=by_handle) as (folder, name):
        return folder.status(name)


def names(root: FilePath, path: FilePath, *, by_handle: bool = HAS_HANDLES) -> list[str]:
    """Return the names in a folder, in no order."""
    with open_folder(root, path, by_handle=by_handle) as folder:
        return [entry.name for entry in folder.scan()]


def require_plain(root: FilePath, path: FilePath, *, by_handle: bool = HAS_HANDLES) -> None:
    """Raise an OSError unless a path is free or a regular file, and has no link in it."""
    # A database creates its file.
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(status(root, path, by_handle=by_handle).st_mode):
            raise _odd()


class FolderCache:
    """Keeps folders open for further reads, as long as their paths name the same folders."""

    def __init__(self, root: str, *, by_handle: bool = HAS_HANDLES) -> None:
        self._root = root
        self._by_handle = by_handle
        self._kept: dict[str, OpenFolder] = {}

    def get(self, path: str) -> OpenFolder:
        """Return an open folder; the cache closes it."""
        kept = self._kept.get(path)
        if kept is not None and _is_same(kept):
            return kept
        return self.renew(path)

    def renew(self, path: str) -> OpenFolder:
        """Open a folder again, and keep it."""
        folder = open_folder(self._root, path, by_handle=self._by_handle)
        self._kept.pop(path, None)
        if len(self._kept) >= _KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[path] = folder
        return folder

    def close(self) -> None:
        """Close all kept folders."""
        while self._kept:
            self._kept.popitem()[1].close()


def _is_same(folder: OpenFolder) -> bool:
    """Return whether the path of an open folder still names that folder; False without a handle."""
    try:
        return folder.handle is not None and os.path.samestat(os.stat(folder.path), os.fstat(folder.handle))
    except OSError:
        return False


def walk(
    root: FilePath, top: FilePath, enters: Callable[[str, str], bool], *, by_handle: bool = HAS_HANDLES
) -> Iterator[tuple[str, list[str]]]:
    """Yield a folder and those below it, each with the names of its regular files; skip unreadable ones.

    `enters` decides from a folder's path and a subfolder's name whether the subfolder is searched too.
    """
    waiting = [(os.path.normpath(top), 0)]
    while waiting:
        path, depth = waiting.pop()
        # A folder that cannot be read, or is a link, holds no files of ours.
        with suppress(OSError):
            with open_folder(root, path, by_handle=by_handle) as folder:
                entries = [(entry.name, is_folder(entry), is_file(entry)) for entry in folder.scan()]
            yield path, sorted(name for name, _, is_one in entries if is_one)
            below = sorted((name for name, is_one, _ in entries if is_one), reverse=True)
            inner = [name for name in below if depth < DEEPEST and enters(path, name)]
            waiting.extend((os.path.join(path, name), depth + 1) for name in inner)


# --- files that no repository can contain ------------------------------------------------------------


def open_trusted(path: FilePath) -> int:
    """Open a regular file that no repository can contain; links are followed. The caller must close it."""
    handle = os.open(path, _READ)
    try:
        _require_regular(handle)
    except OSError:
        os.close(handle)
        raise
    return handle


def read_trusted(path: FilePath, most: int = MACHINE) -> bytes:
    """Return the content of a file that no repository can contain: of git, the system, the user or ours."""
    handle = open_trusted(path)
    try:
        return read_handle(handle, most)
    finally:
        os.close(handle)


def read_start(path: FilePath, most: int) -> bytes:
    """Return the first bytes of a file that no repository can contain."""
    handle = open_trusted(path)
    try:
        return os.read(handle, most)
    finally:
        os.close(handle)


def read_end(path: FilePath, most: int) -> bytes:
    """Return the last bytes of a file that no repository can contain."""
    handle = open_trusted(path)
    try:
        return read_tail(handle, most)
    finally:
        os.close(handle)


def find_files(pattern: str, *, folder: str = "", recursive: bool = False) -> list[str]:
    """Return the paths of regular files in a folder that match a pattern; opening them checks them again."""
    import glob  # few calls need it

    names = glob.iglob(pattern, root_dir=folder or None, recursive=recursive)
    return sorted(path for name in names if _is_regular(path := os.path.join(folder, name)))


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False


# --- open files -------------------------------------------------------------------------------------


def read_handle(handle: int, most: int, start: int = 0) -> bytes:
    """Return the content of an open file from its position on, which is `start`.

    Raises EFBIG if that is longer than allowed; the size in the file's status is not trusted.
    """
    said = os.fstat(handle).st_size - start
    if said > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    while True:
        part = os.read(handle, min(said - size + 1 if said > size else _PART, _CHUNK))
        parts.append(part)
        size += len(part)
        if size > most:
            raise _too_large(most)
        if not part or size == said:
            return b"".join(parts)


def read_tail(handle: int, most: int) -> bytes:
    """Return the last bytes of an open file."""
    size = os.lseek(handle, 0, os.SEEK_END)
    os.lseek(handle, max(0, size - most), os.SEEK_SET)
    return os.read(handle, most)


def _require_regular(handle: int) -> os.stat_result:
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise _odd()
    return found


# --- judging what was found -------------------------------------------------------------------------


def is_link(found: os.stat_result) -> bool:
    """Return whether a status, taken without following links, is that of a link or a Windows junction."""
    return stat.S_ISLNK(found.st_mode) or bool(getattr(found, "st_reparse_tag", 0) & _NAME_SURROGATE)


def is_folder(entry: "os.DirEntry[str]") -> bool:
    """Return whether a folder's entry is a folder and no link; False if it no longer exists."""
    try:
        return entry.is_dir(follow_symlinks=False) and not (
            os.name == "nt" and is_link(entry.stat(follow_symlinks=False))
        )
    except OSError:
        return False


def is_file(entry: "os.DirEntry[str]") -> bool:
    """Return whether a folder's entry is a regular file and no link; False if it no longer exists."""
    try:
        return entry.is_file(follow_symlinks=False)
    except OSError:
        return False


def root_of(path: str, roots: Sequence[str]) -> str:
    """Return the nearest of the roots that contains a path; a path in none of them is its own root."""
    inside = [root for root in roots if path == root or path.startswith(os.path.join(root, ""))]
    return max(inside, key=len, default=path)


def linked(path: str) -> OSError:
    """Return the error for a link where none may be."""
    return OSError(errno.ELOOP, "it is a symbolic link", path)


def _odd() -> OSError:
    return OSError(errno.EINVAL, "it is not a regular file")


def _too_large(most: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most} bytes")


def unreadable(path: str, error: OSError) -> StorageError:
    """Return the error for a file or folder that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return StorageError(f"{path}: no such file", hint="Check the name and the folder.")
    hint = _HINTS.get(error.errno or 0, "Check its owner and permissions.")
    return StorageError(f"could not read {path}: {reason(error)}", hint=hint)


def reason(error: OSError) -> str:
    """Return why a file cannot be used; for a link, also which one it is."""
    if error.errno == errno.ELOOP and error.filename:
        return f"{os.fsdecode(error.filename)} is a symbolic link"
    return error.strerror or str(error)
