"""The three ways to write a file: `create`, `append` and `replace`; nothing else in the project writes one.

All three promise: when the call returns, what was written survives a power cut; when it raises a
StorageError, nothing was acknowledged and no file holds a mixture of old and new. The last part of a path is
never followed when it is a symbolic link. Where the system allows it the folder is opened once and every step
is relative to it, so that a folder swapped for a link in between cannot lead the write elsewhere. Missing
folders are made.

A ``local`` file is for its owner alone (0600, new folders 0700); a shared one follows the umask.
"""

# ruff: noqa: PTH101, PTH118, PTH119, PTH120 (pathlib has no dir_fd)

import errno
import os
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import Final, Protocol

from passdown.core.patterns import pattern
from passdown.engines.system import SystemEntropy, pause
from passdown.errors import StorageError
from passdown.records import record

FilePath = str | os.PathLike[str]

F_FULLFSYNC: Final = 51
"""The number of macOS's request to empty the drive's own cache, which `fsync` leaves alone there."""

_NOFOLLOW: Final[int] = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK: Final[int] = getattr(os, "O_NONBLOCK", 0)
_BINARY: Final[int] = getattr(os, "O_BINARY", 0)
_DIRECTORY: Final[int] = getattr(os, "O_DIRECTORY", 0)
_NEW: Final = os.O_CREAT | os.O_EXCL | _NOFOLLOW | _BINARY
_APPEND: Final = os.O_RDWR | os.O_APPEND | _NOFOLLOW | _NONBLOCK | _BINARY

_LOCAL_MODE: Final = 0o600
_SHARED_MODE: Final = 0o644
_NO_LINKS: Final = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
_NO_FOLDER_SYNC: Final = frozenset({errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP})
_FIRST_PAUSE: Final = 0.005
_END: Final = 524_288
_LOCKED_BYTE: Final = 0x7FFF_FFF0
_LEFTOVER: Final = pattern(r"\.passdown-[0-9]+-[0-9a-f]{16}\.tmp")

_HINTS: Final = MappingProxyType(
    {
        errno.ENOSPC: "Free some space and repeat; what was there before is unchanged.",
        errno.EDQUOT: "Your quota is used up: free some space, then repeat; what was there is unchanged.",
        errno.EACCES: "Check who owns the folder and whether you may write in it.",
        errno.EPERM: "Check who owns the folder and whether you may write in it.",
        errno.EROFS: "The file system is read-only: mount it for writing, or work in another checkout.",
        errno.ENOTDIR: "A part of the path is a file where a folder is needed: move it away.",
        errno.ELOOP: "A symbolic link stands in the way: put a real file or folder there.",
    }
)


class Move(Protocol):
    """Moves a file to another name of the same folder: `os.rename`, `os.replace`."""

    def __call__(self, src: str, dst: str, /, *, src_dir_fd: int | None, dst_dir_fd: int | None) -> None:
        """Move it, or raise an OSError."""
        ...


MakeLine = Callable[[bytes], bytes]


def lock_file(handle: int) -> None:
    """Wait until nobody else has locked the file; the system lets go of it with the process."""
    try:
        import fcntl  # noqa: PLC0415  there is no such module on Windows
    except ModuleNotFoundError:
        return lock_start(handle)
    # A file system without locks has one writer, or readers that bear two lines of the same number.
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX)
    return None


def lock_start(handle: int) -> None:
    """Lock a file as Windows does: a byte far behind its end, for what is locked there cannot be read."""
    import msvcrt  # noqa: PLC0415  only on Windows

    os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
    msvcrt.locking(handle, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined,unused-ignore]


@record
class Ways:
    """What differs between systems; `ways_for` chooses, tests pass their own."""

    folder_handles: bool
    """Folders can be opened: steps are relative to them, and they can be synced."""
    publish: "Callable[[Folder, str, str, Ways], None]"
    """Gives a finished temporary file its name, or raises FileExistsError."""
    sync: Callable[[int], None] = os.fsync
    write: Callable[[int, memoryview], int] = os.write
    rename: Move = os.rename
    replace: Move = os.replace
    lock: Callable[[int], None] = lock_file
    """Holds off others who lock the same file, until it is closed."""
    attempts: int = 1
    """How often to try a move that is denied: on Windows whoever has a file open can deny it for a moment."""
    pause: Callable[[float], None] = pause
    token: Callable[[int], bytes] = SystemEntropy().token


@record
class Folder:
    """A folder that stays the same one while we write in it."""

    path: str
    handle: int | None

    def at(self, name: str) -> str:
        """Give the path of a file in it, for calls that also take its handle as ``dir_fd``."""
        return os.path.join(self.path, name) if self.handle is None else name


def ways_for(platform: str) -> Ways:
    """Choose the ways of a system, named as in `sys.platform`."""
    if platform == "win32":
        return Ways(folder_handles=False, publish=publish_by_rename, attempts=8)
    if platform == "darwin":
        return Ways(folder_handles=True, publish=publish_by_link, sync=full_sync)
    return Ways(folder_handles=True, publish=publish_by_link)


def full_sync(handle: int, control: Callable[[int, int], object] | None = None) -> None:
    """Sync a file through the drive's own cache, or as far as the file system lets us."""
    if control is None:
        import fcntl  # noqa: PLC0415  there is no such module on Windows

        control = fcntl.fcntl
    try:
        control(handle, F_FULLFSYNC)
    except OSError:
        os.fsync(handle)


def publish_by_link(folder: Folder, temporary: str, name: str, ways: Ways) -> None:
    """Link the finished file to its name; where the file system has no hard links, claim the name instead."""
    handle = folder.handle
    try:
        os.link(folder.at(temporary), folder.at(name), src_dir_fd=handle, dst_dir_fd=handle)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        publish_by_claim(folder, temporary, name, ways)


def publish_by_claim(folder: Folder, temporary: str, name: str, ways: Ways) -> None:
    """Make an empty file of that name, which only one can, and move the finished one over it.

    A crash in between leaves the empty file: never a part of the content, but the name is used up.
    """
    os.close(os.open(folder.at(name), os.O_WRONLY | _NEW, _LOCAL_MODE, dir_fd=folder.handle))
    try:
        _move(ways.replace, folder, temporary, name, ways)
    except OSError:
        _remove(folder, name)
        raise


def publish_by_rename(folder: Folder, temporary: str, name: str, ways: Ways) -> None:
    """Rename the finished file: on Windows, and only there, that fails if the name exists."""
    _move(ways.rename, folder, temporary, name, ways)


HERE: Final = ways_for(sys.platform)
"""The ways of the system we run on."""


def create(path: FilePath, data: bytes, *, local: bool = False, ways: Ways = HERE) -> bool:
    """Create a file with this content and answer True; answer False, changing nothing, if the name exists.

    Of any number of processes that create the same name exactly one gets True. The file appears whole under
    its name or not at all. After a StorageError it may be there whole, or not.
    """
    with _reporting(path), _parent(path, local=local, ways=ways) as (folder, name):
        mode = _LOCAL_MODE if local else _SHARED_MODE
        with _temporary(folder, data, mode=mode, ways=ways) as temporary:
            try:
                ways.publish(folder, temporary, name, ways)
            except FileExistsError:
                return False
        _sync_folder(folder, ways)
        return True


def append(path: FilePath, line: bytes | MakeLine, *, local: bool = True, ways: Ways = HERE) -> bytes:
    """Add one line, which must end in its only line feed, by a single write; create the file if needed.

    Lines of several processes are never mixed or lost (on Windows this needs one writer at a time). If a
    crash or a full disk left half a line at the end, the new one starts on a line of its own. Readers must
    skip empty lines: one may appear where a neighbour was seen in the middle of its write.

    A line may also be made from the end of the file, at most its last 512 KiB, which then nobody else adds
    to meanwhile; several can be made at once, for the same single write, or none. Returns what was added.
    """
    if isinstance(line, bytes):
        _require_line(line)
    with _reporting(path), _parent(path, local=local, ways=ways) as (folder, name):
        _regular(folder, name, path)
        mode = _LOCAL_MODE if local else _SHARED_MODE
        handle = os.open(folder.at(name), _APPEND | os.O_CREAT, mode, dir_fd=folder.handle)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise _odd_file(path)
            if not isinstance(line, bytes):
                ways.lock(handle)
                line = _require_lines(line(_read_end(handle)))
                if not line:
                    return line
            size = os.lseek(handle, 0, os.SEEK_END)
            written = line
            if size == 0:
                # Whoever finds a line in the file may then rely on the file's own entry being durable.
                _sync_folder(folder, ways)
            elif not _ends_line(handle, size):
                written = b"\n" + line
            if ways.write(handle, memoryview(written)) != len(written):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            ways.sync(handle)
        finally:
            os.close(handle)
    return line


def replace(path: FilePath, data: bytes, *, local: bool = False, ways: Ways = HERE) -> None:
    """Make a file hold exactly this content; readers find the old content or the new, never a mixture.

    A shared file keeps its mode. Refused with a StorageError is whatever is not a regular file.
    """
    with _reporting(path), _parent(path, local=local, ways=ways) as (folder, name):
        old = _regular(folder, name, path)
        mode = _LOCAL_MODE if local else _SHARED_MODE
        keep = None if old is None or local else stat.S_IMODE(old.st_mode) & 0o777
        with _temporary(folder, data, mode=mode, keep=keep, ways=ways) as temporary:
            _move(ways.replace, folder, temporary, name, ways)
        _sync_folder(folder, ways)


def is_leftover(name: str) -> bool:
    """Say whether a file name is that of a temporary file of ours, which a killed process leaves behind."""
    return _LEFTOVER.fullmatch(name) is not None


def leftover_pid(name: str) -> int:
    """Give the number of the process that a leftover is from."""
    return int(name.split("-")[1])


def make_folder(path: FilePath, *, local: bool = True, ways: Ways = HERE) -> None:
    """Make a folder with all that it lies in, durably, for a database that makes its own files."""
    with _reporting(path):
        _make_folder(os.fspath(path), local=local, ways=ways)


def sync_folder(path: FilePath, *, ways: Ways = HERE) -> None:
    """Make the names in a folder durable: what was removed from it stays removed."""
    with _reporting(path), _opened(os.fspath(path), local=False, ways=ways) as folder:
        _sync_folder(folder, ways)


@contextmanager
def _reporting(path: FilePath) -> Generator[None, None, None]:
    """Turn what the system says into a StorageError that names the file and what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"could not write {os.fspath(path)}: {reason}"
        hint = _HINTS.get(error.errno or 0, "Nothing was acknowledged; try again later.")
        raise StorageError(message, hint=hint) from error


@contextmanager
def _parent(path: FilePath, *, local: bool, ways: Ways) -> Generator[tuple[Folder, str], None, None]:
    """Open the folder of a path, made if missing, and give it with the name of the file in it."""
    text: str = os.fspath(path)
    parent, name = os.path.split(text)
    if name in {"", os.curdir, os.pardir}:
        raise _odd_file(path)
    with _opened(parent or os.curdir, local=local, ways=ways) as folder:
        yield folder, name


@contextmanager
def _opened(path: str, *, local: bool, ways: Ways) -> Generator[Folder, None, None]:
    """Hold a folder, made if missing."""
    if not ways.folder_handles:
        _make_folder(path, local=local, ways=ways)
        yield Folder(path=path, handle=None)
        return
    try:
        handle = os.open(path, os.O_RDONLY | _DIRECTORY)
    except FileNotFoundError:
        _make_folder(path, local=local, ways=ways)
        handle = os.open(path, os.O_RDONLY | _DIRECTORY)
    try:
        yield Folder(path=path, handle=handle)
    finally:
        os.close(handle)


def _make_folder(path: str, *, local: bool, ways: Ways) -> None:
    """Make a folder with all that it lies in, durably; what exists is left as it is."""
    if os.path.lexists(path):
        return
    parent = os.path.dirname(path) or os.curdir
    with _opened(parent, local=local, ways=ways) as folder:
        # Another process may make the same folder at the same moment; then it is there, which is all we need.
        with suppress(FileExistsError):
            os.mkdir(folder.at(os.path.basename(path)), 0o700 if local else 0o777, dir_fd=folder.handle)
        _sync_folder(folder, ways)


@contextmanager
def _temporary(
    folder: Folder, data: bytes, *, mode: int, ways: Ways, keep: int | None = None
) -> Generator[str, None, None]:
    """Write data durably under a name that nobody can foresee; the name is free again at the end."""
    name = f".passdown-{os.getpid()}-{ways.token(8).hex()}.tmp"
    first_mode = mode if keep is None else keep & mode
    handle = os.open(folder.at(name), os.O_WRONLY | _NEW, first_mode, dir_fd=folder.handle)
    try:
        try:
            if keep is not None and folder.handle is not None:
                os.chmod(handle, keep)
            _write_all(handle, data, ways)
            ways.sync(handle)
        finally:
            os.close(handle)
        yield name
    finally:
        _remove(folder, name)


def _write_all(handle: int, data: bytes, ways: Ways) -> None:
    """Write all of it: the system may take less than it is given."""
    rest = memoryview(data)
    while rest:
        rest = rest[ways.write(handle, rest) :]


def _remove(folder: Folder, name: str) -> None:
    """Remove a temporary name, if it is still there."""
    # A failure must not hide the outcome of the write: readers skip leftovers, and a sweeper takes them.
    with suppress(OSError):
        os.unlink(folder.at(name), dir_fd=folder.handle)


def _move(move: Move, folder: Folder, temporary: str, name: str, ways: Ways) -> None:
    """Move the temporary file to its name; try again, a bounded number of times, while that is denied."""
    handle = folder.handle
    act = partial(move, folder.at(temporary), folder.at(name), src_dir_fd=handle, dst_dir_fd=handle)
    for attempt in range(ways.attempts - 1):
        try:
            return act()
        except PermissionError:
            ways.pause(_FIRST_PAUSE * 2**attempt)
    return act()


def _require_line(line: bytes) -> bytes:
    if line.count(b"\n") != 1 or not line.endswith(b"\n"):
        message = "a line must end in its only line feed"
        raise ValueError(message)
    return line


def _require_lines(lines: bytes) -> bytes:
    if lines and (not lines.endswith(b"\n") or b"\n\n" in lines or lines.startswith(b"\n")):
        message = "lines must each end in a line feed and not be empty"
        raise ValueError(message)
    return lines


def _read_end(handle: int) -> bytes:
    """Read the end of a file."""
    size = os.lseek(handle, 0, os.SEEK_END)
    os.lseek(handle, max(0, size - _END), os.SEEK_SET)
    return os.read(handle, _END)


def _ends_line(handle: int, size: int) -> bool:
    """Say whether the last byte of a file is a line feed; where an appending handle stands is free."""
    os.lseek(handle, size - 1, os.SEEK_SET)
    return os.read(handle, 1) == b"\n"


def _regular(folder: Folder, name: str, path: FilePath) -> os.stat_result | None:
    """Give what is known of a regular file; None if there is none; raise a StorageError for anything else."""
    try:
        known = os.stat(folder.at(name), dir_fd=folder.handle, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(known.st_mode):
        raise _odd_file(path)
    return known


def _odd_file(path: FilePath) -> StorageError:
    """Describe a path that we must not write to."""
    message = f"could not write {os.fspath(path)}: it is not a regular file"
    return StorageError(message, hint="It is a link, folder, FIFO or device: move it away, then repeat.")


def _sync_folder(folder: Folder, ways: Ways) -> None:
    """Make the names in a folder durable, where folders can be synced."""
    if folder.handle is None:
        return
    try:
        ways.sync(folder.handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
