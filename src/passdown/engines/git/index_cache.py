"""Remembers which paths of a large index may be in a folder: it is read again only after it has changed.

An index ends with the hash of its content, so what is known of it never becomes wrong.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, TypeGuard, cast

from passdown.engines.files import read, write
from passdown.engines.files.system_calls import leave_unsynced
from passdown.engines.git.index_file import read_index
from passdown.errors import StorageError
from passdown.records import replace

LARGE: Final = 1_048_576
"""The size from which an index takes longer to read than what is remembered of it."""
MOST_INDEXES: Final = 8
MOST_PATHS: Final = 100
"""If more paths have the first letter of the folder, they are not remembered."""

_HASH: Final = 20
_UNSYNCED: Final = replace(write.HERE, sync=leave_unsynced)


def read_remembered(path: str, folder: str, cache: str) -> list[str] | None:
    """Return the same as `read_index`; the file at `cache` holds what was found in large indexes."""
    key = _identify(path, folder)
    known: Mapping[str, list[str]] = _load(cache) if key else {}
    if key in known:
        return known[key]
    names = read_index(path, folder)
    is_same = key != "" and key == _identify(path, folder)  # git may have replaced it meanwhile
    if is_same and names is not None and len(names) <= MOST_PATHS:
        newest = [*known.items()][1 - MOST_INDEXES :]
        with suppress(StorageError):  # then it is read again
            data = json.dumps({**dict(newest), key: names}).encode()
            write.replace(cache, data, local=True, operations=_UNSYNCED)
    return names


def _identify(path: str, folder: str) -> str:
    """Return what stands for the content of a large index; empty for a small one, or one without a hash.

    Of the folder, only the first letter decides what `read_index` returns.
    """
    try:
        size = os.stat(path).st_size
        end = read.read_end(path, _HASH) if size >= LARGE else b""
    except OSError:
        return ""
    return f"{end.hex()} {size} {folder[:1]}" if any(end) else ""


def _load(cache: str) -> Mapping[str, list[str]]:
    """Return what is remembered; nothing if the file is missing or damaged."""
    try:
        found: object = json.loads(read.read_trusted(cache))
    except (OSError, ValueError):
        return {}
    indexes = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    return {key: names for key, names in indexes.items() if _is_list_of_texts(names)}


def _is_list_of_texts(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in cast("list[object]", value))
