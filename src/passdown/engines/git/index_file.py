"""The paths in git's index, read without running git.

If the file may not be fully understood, the answer is None, and the caller asks git.
"""

import os
from typing import Final

from passdown.engines.files.read import read_trusted

MOST_BYTES: Final = 67_108_864
"""A larger index is left to git."""

_HEAD: Final = 12
_ENTRY: Final = 62
"""The bytes of an entry before its path: times, numbers, the hash, and two bytes of flags."""
_HASH: Final = 20
_LENGTH: Final = 0x0F
_LONG: Final = 0xFFF
_EXTENDED: Final = 0x40
_VERSIONS: Final = (2, 3, 4)
_SPARSE: Final = b"sdir"
_MORE: Final = 0x80

Mark = tuple[int, int, int]


def mark_of(path: str) -> Mark | None:
    """Return the values that change when the index does: inode, size and time; None if there is no index."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError:  # then git is asked each time
        return (0, 0, 0)
    return (found.st_ino, found.st_size, found.st_mtime_ns)


def read_index(path: str, folder: str = "", *, has_short_names: bool = False) -> list[str] | None:
    """Return the paths of an index that may be in a folder, and possibly some others.

    Without a folder, return all paths.

    We read versions 2 to 4 with hashes of 20 bytes. An index that refers to another one, or has extensions
    that a reader must know, is left to git.
    """
    try:
        data = read_trusted(path, MOST_BYTES)
    except OSError:
        return None
    # Names that a file system treats as equal have the same first letter, or one that is not ASCII.
    letter = os.fsencode(folder[:1])
    others = range(256) if has_short_names or not folder else range(0x80, 256)
    first = frozenset((*letter.lower(), *letter.upper(), *others))
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:_HEAD], "big")
    if data[:4] != b"DIRC" or version not in _VERSIONS:
        return None
    try:
        read = _read_whole if version < _VERSIONS[-1] else _read_shortened
        found, offset = read(data, count, first)
        return [os.fsdecode(one) for one in found] if _ends_well(data, offset) else None
    except (IndexError, ValueError):
        return None


def _read_whole(data: bytes, count: int, first: frozenset[int]) -> tuple[list[bytes], int]:
    """Read entries with full paths; return the paths with one of these first letters, and the offset.

    This loop is what makes a large repository slow, so it does no more than it must.
    """
    found: list[bytes] = []
    offset = _HEAD
    for _ in range(count):
        flags = data[offset + 60]
        begin = offset + (_ENTRY + 2 if flags & _EXTENDED else _ENTRY)
        length = (flags & _LENGTH) << 8 | data[offset + 61]
        end = begin + length if length < _LONG else data.index(0, begin)
        if data[begin] in first:
            found.append(data[begin:end])
        offset += (end - offset + 8) & ~7
    return found, offset


def _read_shortened(data: bytes, count: int, first: frozenset[int]) -> tuple[list[bytes], int]:
    """Read entries with paths relative to the entry before; otherwise like `_read_whole`."""
    found: list[bytes] = []
    offset, path = _HEAD, b""
    for _ in range(count):
        begin = offset + (_ENTRY + 2 if data[offset + 60] & _EXTENDED else _ENTRY)
        stripped, begin = _read_number(data, begin)
        end = data.index(0, begin)
        path = path[: max(0, len(path) - stripped)] + data[begin:end]
        if path[0] in first:
            found.append(path)
        offset = end + 1
    return found, offset


def _read_number(data: bytes, offset: int) -> tuple[int, int]:
    """Read a number of variable length; return it and the offset behind it."""
    byte = data[offset]
    value = byte & ~_MORE
    while byte & _MORE:
        offset += 1
        byte = data[offset]
        value = ((value + 1) << 7) | (byte & ~_MORE)
    return value, offset + 1


def _ends_well(data: bytes, offset: int) -> bool:
    """Return whether the extensions end at the final hash, and none is one that a reader must know."""
    end = len(data) - _HASH
    while offset < end:
        name = data[offset : offset + 4]
        if not name[:1].isupper() and name != _SPARSE:
            return False
        offset += 8 + int.from_bytes(data[offset + 4 : offset + 8], "big")
    return offset == end
