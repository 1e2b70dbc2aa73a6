"""Whether a file is on a local disk, because SQLite's write-ahead log needs shared memory."""

import os
from typing import Final

from passdown.core.lazy_regex import pattern
from passdown.engines.files.read import read_trusted

MOUNTS: Final = "/proc/self/mountinfo"

_LOCAL: Final = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs", "overlay", "bcachefs", "jfs", "reiserfs"}
)
_ESCAPE: Final = pattern(r"\\([0-7]{3})")
_MIDDLE: Final = " - "
_POINT: Final = 4


def is_local(path: str, platform: str, mounts: str = MOUNTS) -> bool:
    """Return whether a path is known to be on a local disk; anything unknown counts as a network."""
    if platform == "win32":
        return not path.startswith(("\\\\", "//"))
    try:
        lines = read_trusted(mounts).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return False
    return _type_of(os.path.realpath(path), lines) in _LOCAL


def _type_of(path: str, lines: list[str]) -> str:
    """Return the file system type of the longest mount point above a path; the last mount wins."""
    best, found = -1, ""
    for line in lines:
        left, _, right = line.partition(_MIDDLE)
        fields = left.split(" ")
        point = (
            _ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[_POINT]) if len(fields) > _POINT else ""
        )
        inside = path == point or path.startswith(point.rstrip("/") + "/")
        if point and inside and len(point) >= best:
            best, found = len(point), right.split(" ")[0]
    return found
