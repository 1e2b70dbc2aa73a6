"""Whether a file is on a local disk, because SQLite's write-ahead log needs memory that all processes share.

Network file systems, and those that a host shares with a virtual machine or a container, do not have it, and
their locks may work on one side only. FUSE counts as one of them, because what is behind it is unknown.
"""

import ntpath
import os
from enum import Enum
from typing import Final

from passdown.core.lazy_regex import pattern
from passdown.engines.files.read import read_trusted

MOUNTS: Final = "/proc/self/mountinfo"

_LOCAL: Final = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs", "overlay", "bcachefs", "jfs", "reiserfs"}
)
_REMOTE: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afpfs", "afs", "ncpfs", "coda", "webdav", "ftp", "9p", "fuse"}
    | {"ceph", "glusterfs", "lustre", "gpfs", "beegfs", "orangefs", "pvfs2", "gfs2", "ocfs2", "wekafs"}
    | {"virtiofs", "vboxsf", "vmhgfs", "prl_fs", "drvfs", "fakeowner", "macfuse", "osxfuse", "fusefs"}
)
"""`fakeowner` and `drvfs` are folders of the host in Docker Desktop and in WSL."""
_ESCAPE: Final = pattern(r"\\([0-7]{3})")
_MIDDLE: Final = " - "
_POINT: Final = 4

_IS_LOCAL: Final = 0x1000
"""MNT_LOCAL on macOS."""
_STATUS_BYTES: Final = 4096
"""More than `struct statfs` on macOS needs."""
_FLAGS: Final = slice(64, 68)
_TYPE: Final = slice(72, 88)

_LONG_PATH: Final = "\\\\?\\"
_REMOVABLE_DRIVE: Final = 2
_FIXED_DRIVE: Final = 3
_REMOTE_DRIVE: Final = 4
_RAM_DRIVE: Final = 6


class MountKind(Enum):
    """Where a file system keeps its files."""

    LOCAL = "local"
    REMOTE = "remote"
    """On another machine, or shared by the host of a virtual machine or container."""
    UNKNOWN = "unknown"


def find_mount(folder: str, platform: str, mounts: str = MOUNTS) -> MountKind:
    """Return the kind of file system that holds a folder, on a system named as in `sys.platform`.

    A folder that does not exist yet is judged by the one above it. If the check fails, or the folder is not
    listed, the kind is unknown.
    """
    if platform == "win32":
        return _find_drive(folder)
    path = os.path.realpath(folder)
    if platform == "darwin":
        return _find_status(path) or _find_listed(path)
    try:
        lines = read_trusted(mounts).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return MountKind.UNKNOWN
    name = _type_of(path, lines)
    if name in _LOCAL:
        return MountKind.LOCAL
    return MountKind.REMOTE if name.partition(".")[0] in _REMOTE else MountKind.UNKNOWN


def _type_of(path: str, lines: list[str]) -> str:
    """Return the file system type of the longest mount point above a path; the last mount wins."""
    best, found = -1, ""
    for line in lines:
        left, _, right = line.partition(_MIDDLE)
        fields = left.split(" ")
        point = (
            _ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[_POINT]) if len(fields) > _POINT else ""
        )
        if point and _is_inside(path, point) and len(point) >= best:
            best, found = len(point), right.split(" ")[0]
    return found


def _is_inside(path: str, point: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")


# --- macOS ----------------------------------------------------------------------------------------


def _find_status(path: str) -> MountKind | None:
    """Ask the kernel of macOS; None if it does not answer."""
    try:
        import ctypes  # not needed on Linux

        library = ctypes.CDLL(None)
        # On Intel the plain name is a call from the time of 32-bit file numbers, with another layout.
        ask = getattr(library, "statfs$INODE64", None) or library.statfs
    except (ImportError, AttributeError, OSError, TypeError):  # a Python without it, or another system
        return None
    while not os.path.lexists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    status = ctypes.create_string_buffer(_STATUS_BYTES)
    if ask(os.fsencode(path), status) != 0:
        return None
    name = status.raw[_TYPE].partition(b"\0")[0].decode("ascii", "replace")
    return _judge(name, is_local=bool(int.from_bytes(status.raw[_FLAGS], "little") & _IS_LOCAL))


def _find_listed(path: str) -> MountKind:
    """Look in what the program `mount` lists: `/dev/disk3s5 on /Volumes/My disk (apfs, local, journaled)`."""
    import subprocess  # slow to load, and rarely needed

    try:
        done = subprocess.run(["mount"], capture_output=True, check=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return MountKind.UNKNOWN
    best, found = -1, MountKind.UNKNOWN
    for line in os.fsdecode(done.stdout).splitlines():
        head, _, tail = line.rpartition(" (")
        point = head.partition(" on ")[2]
        name, *flags = tail.rstrip(")").split(", ")
        if point and _is_inside(path, point) and len(point) >= best:
            best, found = len(point), _judge(name, is_local="local" in flags)
    return found


def _judge(name: str, *, is_local: bool) -> MountKind:
    """Judge a file system on macOS; one that a host shares with a virtual machine may call itself local."""
    return MountKind.LOCAL if is_local and name not in _REMOTE else MountKind.REMOTE


# --- Windows --------------------------------------------------------------------------------------


def _find_drive(folder: str) -> MountKind:
    """Judge a folder on Windows by its path, and its drive by what the system reports."""
    if _is_share(folder):  # resolving it would ask another machine
        return MountKind.REMOTE
    path = ntpath.realpath(folder)  # a mapped drive becomes the share that it stands for
    if _is_share(path):
        return MountKind.REMOTE
    drive = ntpath.splitdrive(path.removeprefix(_LONG_PATH))[0]
    try:
        import ctypes

        load = getattr(ctypes, "WinDLL", ctypes.CDLL)  # only Windows has it
        ask = load("kernel32").GetDriveTypeW
    except (ImportError, AttributeError, OSError):  # a Python without it, or another system
        return MountKind.UNKNOWN
    kind = ask(ctypes.c_wchar_p(f"{drive}\\"))
    if kind in {_REMOVABLE_DRIVE, _FIXED_DRIVE, _RAM_DRIVE}:
        return MountKind.LOCAL
    return MountKind.REMOTE if kind == _REMOTE_DRIVE else MountKind.UNKNOWN


def _is_share(path: str) -> bool:
    """Return whether a Windows path begins with the name of a machine."""
    plain = path.replace("/", "\\")
    if plain.startswith(_LONG_PATH):
        return plain.removeprefix(_LONG_PATH).upper().startswith("UNC\\")
    return plain.startswith("\\\\")
