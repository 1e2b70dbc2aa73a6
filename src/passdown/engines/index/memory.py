"""The `Index` that lives as long as the process: for one look, and where nothing can be written."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from passdown.core.merge import Digest, Merged, make_digest, merge
from passdown.core.sources import Source, all_retracted, is_retracted
from passdown.ports.event_log import FileMark
from passdown.ports.index import EVERY, Change, Found, Place, Published


class MemoryIndex:
    """Keeps what was read and merges all of it when asked."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._folders: dict[str, int] = {}
        self._found: dict[str, dict[str, Found]] = {}
        self._merged: Merged | None = None
        self._notes: dict[str, str] = {}

    @contextmanager
    def changing(self) -> Generator[None, None, None]:
        """Keep all that is applied within, or nothing; nobody else sees this index."""
        before = self._folders.copy(), {folder: files.copy() for folder, files in self._found.items()}
        is_kept = False
        try:
            yield
            is_kept = True
        finally:
            if not is_kept:
                self._folders, self._found = before
                self._merged = None

    def folders(self) -> Mapping[str, int]:
        """Give the mark that each folder had when it was last listed."""
        return dict(self._folders)

    def files(self, folder: str) -> Mapping[str, FileMark]:
        """Give the files of a folder that were read, as they were then."""
        return {name: found.mark for name, found in self._found.get(folder, {}).items()}

    def apply(self, change: Change) -> None:
        """Take a change in."""
        self._merged = None
        self._notes.clear()
        for folder, name in change.gone:
            self._found.get(folder, {}).pop(name, None)
        for found in change.found:
            self._found.setdefault(found.folder, {})[found.name] = found
        for folder, mark in change.folders.items():
            if mark is None:
                self._folders.pop(folder, None)
                self._found.pop(folder, None)
            else:
                self._folders[folder] = mark

    def digest(self, limit: int) -> Digest:
        """Give what a view needs."""
        return make_digest(self._merge(), sum(found.skipped for found in self._files()), limit)

    def newest(self, until: datetime) -> datetime | None:
        """Give the time of the newest event that is not later than this."""
        return max((rank.at for rank in self._merge().ranks if rank.at <= until), default=None)

    def published(self, session: str) -> Published:
        """Give how far the events of a session go."""
        own = [source for source in self._sources() if source.session == session]
        line = max((source.covered for source in own), default=0)
        return Published(line, max((source.rank.at for source in own), default=None))

    def places(self, prefix: str = "", limit: int = EVERY) -> Sequence[Place]:
        """Give events, or those whose id or hash begins so, the newest first and no more than asked for."""
        retracted = all_retracted(self._sources())
        places = {
            source.rank: Place(
                source.rank,
                source.branch,
                source.type,
                found.folder,
                found.name,
                is_retracted(source.rank, retracted),
            )
            for found in sorted(self._files(), key=lambda one: (one.folder, one.name), reverse=True)
            for source in found.sources
            if source.rank.id.startswith(prefix) or source.rank.hash.startswith(prefix)
        }
        return [places[rank] for rank in sorted(places, reverse=True)[:limit]]

    def recall(self, name: str) -> str | None:
        """Give what was remembered since the last change."""
        return self._notes.get(name)

    def remember(self, name: str, text: str) -> None:
        """Keep a text until the next change."""
        self._notes[name] = text

    def _files(self) -> Iterator[Found]:
        for files in self._found.values():
            yield from files.values()

    def _sources(self) -> Iterator[Source]:
        for found in self._files():
            yield from found.sources

    def _merge(self) -> Merged:
        if self._merged is None:
            self._merged = merge(self._sources())
        return self._merged
