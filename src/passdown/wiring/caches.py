"""Opens the caches of a checkout and the indexes in them."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from passdown import layout
from passdown.engines.files import read, write
from passdown.engines.sqlite.database import PARTS
from passdown.errors import StorageError
from passdown.settings import Settings

if TYPE_CHECKING:  # everything built here is loaded on demand
    from passdown.ports.index import Index
    from passdown.ports.journals import EndedIndex
    from passdown.ports.tracking import Tracking

T = TypeVar("T")

CACHE: Final = layout.in_git(layout.CACHE)
"""The folder of caches in git's folder."""


class CachePlace(NamedTuple):
    """The checkout whose caches are opened."""

    root: Path
    settings: Settings
    common: str | None
    """The git folder that all checkouts share."""
    tracking: "Tracking"


def open_index(place: CachePlace, wait: float | None = None) -> "Index":
    """Open the index of a checkout's events, in memory if no cache can be used."""
    return open_cached(place, wait) or open_memory_index()


def open_cached(place: CachePlace, wait: float | None = None) -> "Index | None":
    """Open the cached index of a checkout's events, or return None if no cache can be used."""
    from passdown.engines.sqlite.event_index import open_index  # loaded on demand

    return open_first(place, "events", lambda path: open_index(path, wait=wait))


def open_ended(place: CachePlace, wait: float | None = None) -> "EndedIndex | None":
    """Open the index of ended journals, one for all checkouts; None if it cannot be used.

    It lies next to the journals and nowhere else: two could contradict each other.
    """
    from passdown.engines.sqlite.ended_index import open_ended as build  # few calls need it

    first = next(cache_folders(place), None)
    if first is None:
        return None
    return _open_in(place, first, layout.ENDED_INDEX, lambda path: build(path, wait=wait))


def open_memory_index() -> "Index":
    """Return an index that lives as long as the process."""
    from passdown.engines.memory.index import MemoryIndex  # loaded on demand

    return MemoryIndex()


def open_first(place: CachePlace, what: str, build: Callable[[str], T]) -> T | None:
    """Open a cache in the first folder that works, or return None; callers then use memory."""
    for folder in cache_folders(place):
        opened = _open_in(place, folder, cache_name(place.root, what), build)
        if opened is not None:
            return opened
    return None


def _open_in(place: CachePlace, folder: Path, name: str, build: Callable[[str], T]) -> T | None:
    roots = [str(place.root), *([place.common] if place.common else [])]
    base = read.root_of(str(folder), roots)
    path = str(folder / name)
    # If a cache cannot be used, try the next folder; if none works, do without.
    with suppress(StorageError, OSError):
        write.make_folder(folder, root=base)
        for end in PARTS:  # SQLite opens them itself, and would follow a link
            read.require_plain(base, path + end)
        _refuse_tracked(place, [f"{path}{end}" for end in PARTS])
        return build(path)
    return None


def _refuse_tracked(place: CachePlace, paths: Sequence[str]) -> None:
    """Raise a StorageError if git tracks a file of the cache, because others could have written it."""
    runtime = place.settings.paths.runtime
    if os.path.dirname(paths[0]) != str(place.root / runtime):
        return
    files = [path for path in paths if os.path.lexists(path)]
    tracked = place.tracking.tracked(runtime) if files else None
    if tracked and any(tracked.holds(f"{runtime}/{os.path.basename(one)}") for one in files):
        raise StorageError(
            f"could not use {paths[0]}: git tracks it", hint="run `passdown doctor` to see what to do"
        )


def cache_folders(place: CachePlace) -> Iterator[Path]:
    """Yield the folders that may hold a cache.

    1. Git's own folder, so that no file appears in the working tree.
    2. The folder of local state, if it exists, because a sandbox may forbid the first.
    """
    if place.common is not None:  # 1
        yield Path(place.common) / CACHE
    runtime = place.root / place.settings.paths.runtime
    if os.path.isdir(runtime):  # is_dir() raises without permission
        yield runtime  # 2


def cache_name(root: Path, what: str) -> str:
    """Return the file name of a cache, different for each checkout, because all share git's folder."""
    digest = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()
    return f"{what}-{digest[:12]}.sqlite"
