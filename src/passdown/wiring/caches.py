"""Opens the caches of a checkout and the indexes in them."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from passdown import layout
from passdown.core.digests import sha256
from passdown.core.lazy_regex import pattern
from passdown.engines import system
from passdown.engines.files import archive, read, write
from passdown.engines.git.git_folder import list_registered
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

_EVENTS: Final = "events"
SEARCH: Final = "search"
"""What the cache of the search index is called."""
_DIGEST: Final = 12
_UNUSED: Final = 30 * 86_400
_NAME: Final = pattern(rf"(?P<what>[a-z]+)-(?P<digest>[0-9a-f]{{{_DIGEST}}})\.(?:sqlite|txt)(?P<part>.*)")
"""The names of caches, of their parts and unfinished copies, and of the notes whose they are."""


class CachePlace(NamedTuple):
    """The checkout whose caches are opened."""

    root: Path
    settings: Settings
    common: str | None
    """The git folder that all checkouts share."""
    tracking: "Tracking"
    largest_copy: int | None = None
    """The size of the largest cache that is copied from another checkout; None means any."""


def open_index(place: CachePlace, wait: float | None = None) -> "Index":
    """Open the index of a checkout's events, in memory if no cache can be used."""
    return open_cached(place, wait) or open_memory_index()


def open_cached(place: CachePlace, wait: float | None = None) -> "Index | None":
    """Open the cached index of a checkout's events, or return None if no cache can be used."""
    from passdown.engines.sqlite.event_index import open_index  # loaded on demand

    return open_first(place, _EVENTS, lambda path: open_index(path, wait=wait))


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

        def begin(path: str, folder: str = str(folder)) -> T:
            if folder == _shared_folder(place):
                _begin_cache(place, what, folder, path)
            return build(path)

        opened = _open_in(place, folder, cache_name(place.root, what), begin)
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


def _shared_folder(place: CachePlace) -> str:
    return os.path.join(place.common, CACHE) if place.common else ""


def _begin_cache(place: CachePlace, what: str, folder: str, path: str) -> None:
    """Note whose caches these are; let a new index begin as a copy (C131).

    The largest one has the most events, and so the most in common with any checkout.
    """
    note = os.path.join(folder, layout.cache_owner(_digest(place.root)))
    if not os.path.lexists(note):
        write.replace(note, f"{place.root}\n".encode("utf-8", "surrogateescape"), local=True, root=folder)
    if what != _EVENTS or os.path.lexists(path):
        return
    others = (os.path.join(folder, name) for name in _list(folder) if _cache_of(name) == _EVENTS)
    sizes = {one: known.st_size for one in others if one != path and (known := _stat(one))}
    may_be = [one for one, size in sizes.items() if place.largest_copy is None or size <= place.largest_copy]
    if may_be:
        from passdown.engines.sqlite.event_copy import copy_index  # only a new checkout needs it

        copy_index(max(may_be, key=sizes.__getitem__), path)


def remove_caches(place: CachePlace) -> int:
    """Remove the caches of checkouts that are gone; return of how many (C131).

    1. A checkout that git lists is not gone, nor one whose folder exists: it may be on a disk that is not
       mounted, or hold another project of the repository.
    2. Older versions did not note whose a cache was; such a cache goes when it was not used for 30 days.
    """
    folder = _shared_folder(place)
    names = {name: found for name in _list(folder) if (found := _NAME.fullmatch(name))} if folder else {}
    parts: dict[str, list[str]] = {}
    for name, found in names.items():
        parts.setdefault(found["digest"], []).append(name)
    parts.pop(_digest(place.root), None)
    checkouts = list_registered(place.common) if parts and place.common else ()
    gone = [digest for digest, some in parts.items() if _is_gone(folder, digest, checkouts, some)]
    for name in (name for digest in gone for name in parts[digest]):
        archive.remove_cache(os.path.join(folder, name))
    return len(gone)


def remove_search_indexes(place: CachePlace) -> None:
    """Remove the search indexes of all checkouts, with every word that was ever in them."""
    for folder in map(str, cache_folders(place)):
        for name in _list(folder):
            found = _NAME.fullmatch(name)
            if found and found["what"] == SEARCH:
                archive.remove_cache(os.path.join(folder, name))


def _is_gone(folder: str, digest: str, checkouts: Sequence[str], names: Sequence[str]) -> bool:
    try:
        note = os.path.join(folder, layout.cache_owner(digest))
        root = os.fsdecode(read.read(folder, note, read.DOCUMENT)).strip("\n")
    except OSError:
        used = max(
            (known.st_mtime for name in names if (known := _stat(os.path.join(folder, name)))), default=0
        )
        return used < system.SystemClock().now().timestamp() - _UNUSED  # 2
    is_listed = any(root == one or root.startswith(f"{one}/") for one in checkouts)
    return not is_listed and not os.path.isdir(root)  # 1


def _list(folder: str) -> Sequence[str]:
    """Return the names of the files in a folder of ours."""
    return next((names for _, names in read.walk(folder, folder, lambda _path, _name: False)), ())


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path, follow_symlinks=False)
    except OSError:
        return None


def _cache_of(name: str) -> str:
    found = _NAME.fullmatch(name)
    return found["what"] if found and not found["part"] else ""


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
    return layout.cache(what, _digest(root))


def _digest(root: Path) -> str:
    return sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST]
