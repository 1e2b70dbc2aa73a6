"""Whether a file lies on a disk of this machine: SQLite's write-ahead log needs memory that readers share."""

import os
from typing import Final

from passdown.core.patterns import pattern

MOUNTS: Final = "/proc/self/mountinfo"

_LOCAL: Final = frozenset(
    {"ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs", "overlay", "bcachefs", "jfs", "reiserfs"}
)
_ESCAPE: Final = pattern(r"\\([0-7]{3})")
_MIDDLE: Final = " - "
_POINT: Final = 4


def is_local(path: str, platform: str, mounts: str = MOUNTS) -> bool:
    """Say whether a path is known to lie on a local disk; what is not known is taken for a network."""
    if platform == "win32":
        return not path.startswith(("\\\\", "//"))
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123 - one read
            lines = file.readlines()
    except OSError:
        return False
    return _type_of(os.path.realpath(path), lines) in _LOCAL


def _type_of(path: str, lines: list[str]) -> str:
    """Find the type of the file system with the longest mount point above a path; the last one covers."""
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
