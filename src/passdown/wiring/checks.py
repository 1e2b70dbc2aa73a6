"""Checks a view that is up to date, the usual case, and loads almost nothing for it."""

import os
from collections.abc import Mapping
from pathlib import Path

from passdown.engines.files import read
from passdown.engines.files.folders import list_marks
from passdown.engines.git.repository import GitRepository
from passdown.engines.sqlite.peek import Peek, peek
from passdown.engines.system import SystemClock
from passdown.services.log.views import NOTE, count_if_current, view_place
from passdown.settings import Settings
from passdown.wiring.caches import CACHE, cache_name


def peek_view(root: Path, settings: Settings, variables: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the tracked view's path and its number of events, if it is certainly current.

    This only reads what the cache in git's folder remembers, so a check that finds nothing new costs almost
    nothing.
    """
    repository = GitRepository(root, variables=variables)
    common = repository.common_folder()
    found = _peek(common, cache_name(root, "events")) if common else None
    place = view_place(repository, settings)
    if found is None or not place.is_tracked:
        return None
    now = SystemClock().now().timestamp()
    there = list_marks(str(root / settings.paths.events), found.folders, now, root=str(root))
    count = count_if_current(found.note, found.folders, there, _read(root, place.path))
    return None if count is None else (place.path, count)


def _peek(common: str, name: str) -> Peek | None:
    """Look into a cache in git's folder that is reached without a link."""
    path = os.path.join(common, CACHE, name)
    try:
        read.require_plain(common, path)
    except OSError:
        return None
    return peek(path, NOTE)


def _read(root: Path, path: str) -> bytes | None:
    try:
        return read.read(root, root / path, read.DOCUMENT)
    except OSError:
        return None
