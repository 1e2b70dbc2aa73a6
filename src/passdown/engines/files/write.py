"""The three ways to write a file: `create`, `append` and `replace`; nothing else in the project writes one.

All three promise: when the call returns, what was written survives a power cut; when it raises a
StorageError, no file holds a mixture of old and new. If the last part of a path is a symbolic link, it is
never followed. With a ``root``, no link is followed at any component below it (`read.open_folder`); without
one, the folder of the file is the root. If the system allows it, the folder is opened once and every step is
relative to it, so that replacing the folder with a link in between cannot redirect the write. Missing folders
are created.

A ``local`` file is accessible only to its owner (0600, new folders 0700); a shared one follows the umask.
"""

import errno
import os
import stat
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import Final, Protocol

from passdown.engines.files import read
from passdown.engines.files.displaced_names import displaced_name, mark_both
from passdown.engines.files.read import FilePath, OpenFolder
from passdown.engines.files.system_calls import exchange_names, is_unused, lock_file
from passdown.engines.system import SystemEntropy, pause
from passdown.errors import StorageError, UnsureError
from passdown.records import record

F_FULLFSYNC: Final = 51
"""The macOS request to flush the drive's own cache, which `fsync` does not flush there."""

_NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK: Final[int] = getattr(os, "O_NONBLOCK", 0)
_BINARY: Final[int] = getattr(os, "O_BINARY", 0)
_NEW: Final = os.O_CREAT | os.O_EXCL | _NOFOLLOW | _BINARY
_APPEND: Final = os.O_RDWR | os.O_APPEND | _NOFOLLOW | _NONBLOCK | _BINARY

_LOCAL_MODE: Final = 0o600
_SHARED_MODE: Final = 0o644
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
_NO_FOLDER_SYNC: Final = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
_FIRST_PAUSE: Final = 0.005
_END: Final = 524_288
_MOST_TRIES: Final = 16

_LATER: Final = "The change may be lost; try again later."
_HINTS: Final = MappingProxyType(
    {
        errno.ENOSPC: "Free some disk space and try again; what was saved is unchanged.",
        errno.EDQUOT: "Your disk quota is full: free some space and try again; what was saved is unchanged.",
        errno.EACCES: "Check the owner and permissions of the folder.",
        errno.EPERM: "Check the owner and permissions of the folder.",
        errno.EROFS: "The file system is read-only: mount it for writing, or work in another checkout.",
        errno.ENOTDIR: "A part of the path is a file and not a folder: move it away.",
        errno.ELOOP: "Passdown does not follow links inside a project: put a real file or folder there.",
    }
)


class MoveFile(Protocol):
    """Moves a file to another name in the same folder: `os.rename`, `os.replace`."""

    def __call__(self, src: str, dst: str, /, *, src_dir_fd: int | None, dst_dir_fd: int | None) -> None:
        """Move the file, or raise an OSError."""
        ...


MakeLine = Callable[[bytes], bytes]


@record
class FileOperations:
    """The operations that differ between systems; `operations_for` chooses, and tests pass their own."""

    folder_handles: bool
    """Whether folders can be opened: then steps are relative to them, and they can be synced."""
    publish: "Callable[[OpenFolder, str, str, FileOperations], None]"
    """Renames a finished temporary file to its final name, or raises FileExistsError."""
    sync: Callable[[int], None] = os.fsync
    write: Callable[[int, memoryview], int] = os.write
    rename: MoveFile = os.rename
    replace: MoveFile = os.replace
    lock: Callable[[int, float | None], bool] = lock_file
    """Keeps out other processes that lock the same file, until it is closed."""
    exchange: Callable[[int | None, str, str], bool] = exchange_names
    """Exchanges two files of a folder atomically, or returns False if the system cannot."""
    is_unused: Callable[[int], bool | None] = is_unused
    """Returns whether no process has a file open for writing; None if the system cannot report that."""
    attempts: int = 1
    """How often to try a move: on Windows, any process that has the file open can briefly block it."""
    pause: Callable[[float], None] = pause
    token: Callable[[int], bytes] = SystemEntropy().token


def operations_for(platform: str) -> FileOperations:
    """Return the operations for a system, named as in `sys.platform`."""
    if platform == "win32":
        return FileOperations(folder_handles=False, publish=publish_by_rename, attempts=8)
    if platform == "darwin":
        return FileOperations(folder_handles=True, publish=publish_by_link, sync=full_sync)
    return FileOperations(folder_handles=True, publish=publish_by_link)


def full_sync(handle: int, control: Callable[[int, int], object] | None = None) -> None:
    """Sync a file, including the drive's own cache, as far as the file system allows."""
    if control is None:
        import fcntl  # does not exist on Windows

        control = fcntl.fcntl
    try:
        control(handle, F_FULLFSYNC)
    except OSError:
        os.fsync(handle)


def publish_by_link(folder: OpenFolder, temporary: str, name: str, operations: FileOperations) -> None:
    """Link the finished file to its name; if the file system has no hard links, claim the name instead."""
    handle = folder.handle
    try:
        os.link(folder.at(temporary), folder.at(name), src_dir_fd=handle, dst_dir_fd=handle)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        publish_by_claim(folder, temporary, name, operations)


def publish_by_claim(folder: OpenFolder, temporary: str, name: str, operations: FileOperations) -> None:
    """Create an empty file with that name, which only one process can, and move the finished file over it.

    A crash in between leaves the empty file: never partial content, but the name is taken.
    """
    os.close(os.open(folder.at(name), os.O_WRONLY | _NEW, _LOCAL_MODE, dir_fd=folder.handle))
    try:
        _move(operations.replace, folder, temporary, name, operations)
    except OSError:
        _remove(folder, name)
        raise


def publish_by_rename(folder: OpenFolder, temporary: str, name: str, operations: FileOperations) -> None:
    """Rename the finished file: on Windows, and only there, this fails if the name exists."""
    _move(operations.rename, folder, temporary, name, operations)


HERE: Final = operations_for(sys.platform)
"""The operations for the current system."""


def create(
    path: FilePath,
    data: bytes,
    *,
    local: bool = False,
    operations: FileOperations = HERE,
    root: FilePath | None = None,
) -> bool:
    """Create a file with this content and return True; if the name exists, change nothing and return False.

    If several processes create the same name, exactly one gets True. The file appears complete under its name
    or not at all. After a StorageError, the complete file may or may not be there.
    """
    with reporting(path), _parent(path, root, local=local, operations=operations) as (folder, name):
        mode = _LOCAL_MODE if local else _SHARED_MODE | (0o111 if data.startswith(b"#!") else 0)
        with _temporary(folder, data, mode=mode, operations=operations) as temporary:
            try:
                operations.publish(folder, temporary, name, operations)
            except FileExistsError:
                return False
        try:
            _sync_folder(folder, operations)
        except OSError:
            # A process that finds the file would take it for durable.
            _remove(folder, name)
            raise
        return True


def append(
    path: FilePath,
    line: bytes | MakeLine,
    *,
    local: bool = True,
    is_locked: bool = False,
    operations: FileOperations = HERE,
    root: FilePath | None = None,
) -> bytes:
    """Add one line, which must end in its only line feed, in a single write; create the file if needed.

    Lines of several processes are never mixed or lost (on Windows this needs one writer at a time). If a
    crash or a full disk left half a line at the end, the new line starts on a line of its own. Readers must
    skip empty lines: one may appear if another process was in the middle of its write.

    `line` may also be a function that makes the line from the end of the file, at most its last 512 KiB; no
    other process can add to the file in the meantime. It may make several lines (any text for a shared file),
    which are added in a single write, or none. Returns what was added. `is_locked` says that the caller holds
    the lock of the file.

    Raises an UnsureError if lines were written that may not be durable; they are removed again if possible.
    """
    if isinstance(line, bytes):
        _require_line(line)
    with reporting(path), _parent(path, root, local=local, operations=operations) as (folder, name):
        known = _regular(folder, name, path)
        mode = _LOCAL_MODE if local else _SHARED_MODE
        handle = os.open(folder.at(name), _APPEND | os.O_CREAT, mode, dir_fd=folder.handle)
        try:
            _require_same(known, os.fstat(handle), folder, path)
            if not isinstance(line, bytes):
                is_locked = is_locked or _lock(handle, operations)
                made = line(read.read_tail(handle, _END))
                line = _require_lines(made) if local else made
                if not line:
                    return line
            size = os.lseek(handle, 0, os.SEEK_END)
            written = line
            if size == 0:
                # A process that finds a line in the file may rely on the file's directory entry being
                # durable.
                _sync_folder(folder, operations)
            elif not _ends_line(handle, size):
                written = b"\n" + line
            _write_at_end(path, handle, written, size if is_locked else None, operations)
        finally:
            os.close(handle)
    return line


def _write_at_end(
    path: FilePath, handle: int, data: bytes, size: int | None, operations: FileOperations
) -> None:
    """Write and sync; on failure cut the file to its old size, unless others may have added to it."""
    written = 0
    try:
        written = operations.write(handle, memoryview(data))
        if written != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # noqa: TRY301
        operations.sync(handle)
    except OSError as error:
        if size is not None:
            # If it cannot be cut, the lines stay, but the caller gets an error.
            with suppress(OSError):
                os.ftruncate(handle, size)
        if not written:
            raise
        message = f"could not write {os.fspath(path)} reliably: {error.strerror or error}"
        raise UnsureError(message, hint=hint_for(error)) from error


def _lock(handle: int, operations: FileOperations) -> bool:
    # Without file locks there is only one writer, or readers accept two lines with the same number.
    with suppress(OSError):
        return operations.lock(handle, None)
    return False


@contextmanager
def locked(
    roots: Mapping[str, str], wait: float | None, *, operations: FileOperations = HERE
) -> Generator[Mapping[str, bool], None, None]:
    """Lock those of the files that exist, and yield for each of them whether that worked.

    `roots` maps each file to the root that it is below. All callers lock in the same order. Waits at most
    `wait` seconds for each; None waits forever.
    """
    with ExitStack() as stack:
        held: dict[str, bool] = {}
        while list(held) != (there := [path for path in sorted(roots) if os.path.lexists(path)]):
            stack.close()  # one of them is new
            held = {path: _hold(path, roots[path], wait, stack, operations) for path in there}
        yield held


def _hold(path: str, root: str, wait: float | None, stack: ExitStack, operations: FileOperations) -> bool:
    """Lock a file until the stack is closed, even if it is read-only."""
    for flags in (_APPEND, _APPEND & ~(os.O_RDWR | os.O_APPEND) | os.O_RDONLY):
        # A read-only folder, or a file system without locks: the caller decides.
        with (
            suppress(OSError),
            read.parent_of(root, path, by_handle=operations.folder_handles) as (
                folder,
                name,
            ),
        ):
            handle = os.open(folder.at(name), flags, dir_fd=folder.handle)
            stack.callback(os.close, handle)
            return operations.lock(handle, wait)
    return False


def replace(
    path: FilePath,
    data: bytes,
    *,
    local: bool = False,
    expected: bytes | None = None,
    operations: FileOperations = HERE,
    root: FilePath | None = None,
) -> None:
    """Make a file hold exactly this content; readers find the old content or the new, never a mixture.

    A shared file keeps its mode. Raises a StorageError if the path is anything but a regular file.

    `expected` is for files that others may edit at any moment: the new file is exchanged with the old one,
    which is kept for `displaced.find_displaced` under a hidden name that identifies the expected content. If
    the system cannot exchange files, the old file is renamed first, so for a moment there is no file.
    """
    with reporting(path), _parent(path, root, local=local, operations=operations) as (folder, name):
        old = _regular(folder, name, path)
        mode = _LOCAL_MODE if local else _SHARED_MODE
        keep = None if old is None or local else stat.S_IMODE(old.st_mode) & 0o777
        with _temporary(folder, data, mode=mode, keep=keep, operations=operations) as temporary:
            if expected is None:
                _move(operations.replace, folder, temporary, name, operations)
            else:
                marks = mark_both(expected, data), mark_both(expected, expected)
                _exchange(folder, temporary, name, marks, operations)
        _sync_folder(folder, operations)


def _exchange(
    folder: OpenFolder, temporary: str, name: str, marks: tuple[str, str], operations: FileOperations
) -> None:
    """Put a finished file into place, and keep the old one under a name with one of these marks.

    The finished file gets the name with the first mark before it is exchanged: a crash can leave a complete
    text under that name, never half of one. The name with the second mark says that the exchange is done.
    """
    moving = displaced_name(name, marks[0], operations.token(8))
    kept = displaced_name(name, marks[1], operations.token(8))
    _move(operations.rename, folder, temporary, moving, operations)
    # Without a file there is nothing to exchange it with.
    with suppress(FileNotFoundError):
        if operations.exchange(folder.handle, folder.at(moving), folder.at(name)):
            return _move(operations.rename, folder, moving, kept, operations)
    _move(operations.rename, folder, moving, temporary, operations)
    for _ in range(_MOST_TRIES):
        # There may be no file.
        with suppress(FileNotFoundError):
            _move(operations.rename, folder, name, kept, operations)
        try:
            return operations.publish(folder, temporary, name, operations)
        except FileExistsError:  # another process has put a file there
            kept = displaced_name(name, marks[1], operations.token(8))
    raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))


def move(path: str, to: str, *, operations: FileOperations = HERE, root: FilePath) -> None:
    """Give a file a free name in another folder, created if missing; after a power cut it has one of the two.

    Raises a StorageError if it could not be moved, as on Windows while it is open.
    """
    with (
        reporting(path),
        read.parent_of(root, path, by_handle=operations.folder_handles) as (here, name),
        _parent(to, root, local=True, operations=operations) as (there, new),
    ):
        if _regular(there, new, to) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), to)
        operations.rename(here.at(name), there.at(new), src_dir_fd=here.handle, dst_dir_fd=there.handle)


def make_folder(
    path: FilePath, *, local: bool = True, operations: FileOperations = HERE, root: FilePath | None = None
) -> None:
    """Create a folder and its parents, durably, for a database that creates its own files."""
    with reporting(path), _opened(path, root, local=local, operations=operations):
        return


def make_private(path: FilePath) -> None:
    """Make a file that another library writes readable only by its owner; create it, empty, if it is missing.

    An existing file is not opened: closing any handle of a file ends SQLite's locks on it. If the permissions
    cannot be changed, as on a file system without any, the file stays as it is.
    """
    with suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) & ~_LOCAL_MODE:
            os.chmod(path, _LOCAL_MODE)
        return
    with suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | _NEW, _LOCAL_MODE))


def link(
    path: FilePath, to: FilePath, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
) -> None:
    """Give a complete file a second name; raise an OSError if that is taken, or impossible here.

    The name is durable once its folder is synced.
    """
    try:
        os.link(path, to, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd, follow_symlinks=False)
    except NotImplementedError as error:
        raise OSError(errno.ENOSYS, "this system cannot link files that way") from error


def sync_folder(folder: OpenFolder, *, operations: FileOperations = HERE) -> None:
    """Make the names in a folder durable, so that removed files stay removed."""
    with reporting(folder.path):
        _sync_folder(folder, operations)


@contextmanager
def _parent(
    path: FilePath, root: FilePath | None, *, local: bool, operations: FileOperations
) -> Generator[tuple[OpenFolder, str], None, None]:
    """Open the folder of a path, created if missing, and yield it with the name of the file in it."""
    text: str = os.fspath(path)
    parent, name = os.path.split(text)
    if name in {"", os.curdir, os.pardir}:
        raise odd_file(path)
    with _opened(parent or os.curdir, root, local=local, operations=operations) as folder:
        yield folder, name


def _opened(path: FilePath, root: FilePath | None, *, local: bool, operations: FileOperations) -> OpenFolder:
    """Open a folder, created if missing; no component below the root may be a link."""
    top = os.path.abspath(path if root is None else root)
    make = partial(_make_below, local=local, operations=operations)
    opening = partial(
        read.open_folder, top, os.path.abspath(path), by_handle=operations.folder_handles, make=make
    )
    try:
        return opening()
    except FileNotFoundError:  # the root itself is missing
        if not os.path.lexists(top):
            with _opened(os.path.dirname(top), None, local=local, operations=operations) as above:
                make(above, os.path.basename(top))
        return opening()


def _make_below(folder: OpenFolder, name: str, *, local: bool, operations: FileOperations) -> None:
    """Create a folder in a folder, durably."""
    # Another process may create the same folder at the same time; all we need is that it exists.
    with suppress(FileExistsError):
        os.mkdir(folder.at(name), 0o700 if local else 0o777, dir_fd=folder.handle)
    _sync_folder(folder, operations)


@contextmanager
def _temporary(
    folder: OpenFolder, data: bytes, *, mode: int, operations: FileOperations, keep: int | None = None
) -> Generator[str, None, None]:
    """Write data durably under an unpredictable name, which is removed at the end."""
    name = f".passdown-{os.getpid()}-{operations.token(8).hex()}.tmp"
    first_mode = mode if keep is None else keep & mode
    handle = os.open(folder.at(name), os.O_WRONLY | _NEW, first_mode, dir_fd=folder.handle)
    try:
        try:
            if keep is not None and folder.handle is not None:
                os.chmod(handle, keep)
            _write_all(handle, data, operations)
            operations.sync(handle)
        finally:
            os.close(handle)
        yield name
    finally:
        _remove(folder, name)


def _write_all(handle: int, data: bytes, operations: FileOperations) -> None:
    """Write all of the data: the system may accept only part of it at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[operations.write(handle, rest) :]


def _remove(folder: OpenFolder, name: str) -> None:
    """Remove a temporary file, if it is still there."""
    # An error here must not hide the outcome of the write: readers skip leftovers, and `sweep` removes them.
    with suppress(OSError):
        os.unlink(folder.at(name), dir_fd=folder.handle)


def _move(move: MoveFile, folder: OpenFolder, temporary: str, name: str, operations: FileOperations) -> None:
    """Move the temporary file to its name; retry a limited number of times if access is denied."""
    handle = folder.handle
    act = partial(move, folder.at(temporary), folder.at(name), src_dir_fd=handle, dst_dir_fd=handle)
    for attempt in range(operations.attempts - 1):
        try:
            return act()
        except PermissionError:
            operations.pause(_FIRST_PAUSE * 2**attempt)
    return act()


def _require_line(line: bytes) -> None:
    if line.count(b"\n") != 1 or not line.endswith(b"\n"):
        message = "a line must end in its only line feed"
        raise ValueError(message)


def _require_lines(lines: bytes) -> bytes:
    if lines and (not lines.endswith(b"\n") or b"\n\n" in lines or lines.startswith(b"\n")):
        message = "lines must each end in a line feed and not be empty"
        raise ValueError(message)
    return lines


def _ends_line(handle: int, size: int) -> bool:
    """Return whether the last byte of a file is a line feed; this may move the position of the handle."""
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1) == b"\n"


def _regular(folder: OpenFolder, name: str, path: FilePath) -> os.stat_result | None:
    """Return the status of a regular file, or None if it is missing; raise a StorageError otherwise."""
    try:
        known = os.stat(folder.at(name), dir_fd=folder.handle, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(known.st_mode) or read.is_link(known):
        raise odd_file(path)
    return known


def _require_same(
    known: os.stat_result | None, found: os.stat_result, folder: OpenFolder, path: FilePath
) -> None:
    """Raise a StorageError if an open file is not regular, or was swapped (without folder handles)."""
    is_swapped = folder.handle is None and known is not None and not os.path.samestat(known, found)
    if is_swapped or not stat.S_ISREG(found.st_mode):
        raise odd_file(path)


def _sync_folder(folder: OpenFolder, operations: FileOperations) -> None:
    """Make the names in a folder durable, if folders can be synced."""
    if folder.handle is None:
        return
    try:
        operations.sync(folder.handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


# --- errors of failed writes: the file, the reason, and what to do next


@contextmanager
def reporting(path: FilePath) -> Generator[None, None, None]:
    """Turn an OSError into a StorageError that names the file and says what to do."""
    try:
        yield
    except OSError as error:
        message = f"could not write {os.fspath(path)}: {read.reason(error)}"
        raise StorageError(message, hint=hint_for(error)) from error


def hint_for(error: OSError) -> str:
    """Return a hint about what to do about an error of the system."""
    return _HINTS.get(error.errno or 0, _LATER)


def odd_file(path: FilePath) -> StorageError:
    """Return the error for a path that we must not write to."""
    message = f"could not write {os.fspath(path)}: it is not a regular file"
    return StorageError(message, hint="It is a link, folder, FIFO or device: move it away, then try again.")
