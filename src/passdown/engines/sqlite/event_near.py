"""What is near a session's work, in the SQLite index: facts that name its files, of its track and branch."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from passdown.core.merge.named_files import NamedFiles, last_word, name_files, read_name
from passdown.core.times import to_micros
from passdown.engines.sqlite.event_rows import (
    FILES,
    KIND_OF,
    LASTING,
    ORDER,
    ROW_ID,
    TEXT,
    hash_file_name,
    hash_name,
    make_fact,
)
from passdown.engines.sqlite.event_statements import StatedDatabase
from passdown.ports.index import NEAR_EVENTS, NEAR_FACTS, NEAR_SESSIONS, NearFacts, Neighbourhood

_SEVERAL: Final = 2
_SECTION: Final = 12
"""The column of a fact's section; `make_fact` reads those before it."""

Row = tuple[Any, ...]


class NearDatabase(StatedDatabase):
    """The part of the index that finds what is near."""

    def _is_empty(self) -> bool:
        made = "SELECT 1 FROM sqlite_master WHERE name = 'facts_by_source'"
        return self._connection.execute(made).fetchone() is None

    def near(self, place: Neighbourhood, until: datetime) -> NearFacts:
        with self._looking():
            if self._is_empty():
                return NearFacts()
            last = to_micros(until)
            files = name_files(place.files, self._is_unique)
            of_track = self._newest_events("newest_of_track", place.track, last)
            of_branch = self._newest_events("newest_of_branch", place.branch, last)
            named = self._find_named(files, last)
            rows = {row[ROW_ID]: row for row in named}
            for number, _, _ in (*of_track, *of_branch):
                rows |= {row[ROW_ID]: row for row in self._all("held_of_source", number)}
        lasting = [row for row in rows.values() if row[_SECTION] in LASTING]
        lasting.sort(key=lambda row: row[:ORDER], reverse=True)
        return NearFacts(
            tuple([make_fact(KIND_OF[row[_SECTION]], row[:_SECTION]) for row in lasting]),
            frozenset((KIND_OF[row[_SECTION]], row[TEXT]) for row in named),
            files,
            frozenset(digest for _, digest, _ in of_track),
            frozenset(digest for _, digest, _ in of_branch),
        )

    def _find_named(self, files: NamedFiles, last: int) -> Sequence[Row]:
        """Find the newest facts that name one of some files; a hash may be that of another name."""
        hashes = sorted({hash_name(last_word(name)) for name in files.wanted})
        values = {"until": last, "limit": NEAR_FACTS}
        found = [row for name in hashes for row in self._select("facts_named", {**values, "name": name})]
        found.sort(key=lambda row: row[:ORDER], reverse=True)
        return [row for row in found if row[_SECTION] in LASTING and files.are_in(row[TEXT])][:NEAR_FACTS]

    def _is_unique(self, name: str) -> bool:
        """Return whether at most one file that events tell of has this name."""
        found = self._all("files_with_name", hash_file_name(name), FILES, NEAR_FACTS)
        paths = [path for (path,) in found if read_name(path).name == name]
        return len(paths) < _SEVERAL

    def _newest_events(self, query: str, value: str, last: int) -> Sequence[Row]:
        values = {"value": value, "until": last, "limit": NEAR_EVENTS}
        return self._select(query, values) if value else ()

    def files_of_last(self, track: str, branch: str, until: datetime) -> Sequence[str]:
        with self._looking():
            if self._is_empty():
                return ()
            last = to_micros(until)
            events = self._newest_events("newest_of_track", track, last)
            events = events or self._newest_events("newest_of_branch", branch, last)
            sessions = list(dict.fromkeys(session for _, _, session in events))[:NEAR_SESSIONS]
            numbers = [number for number, _, session in events if session in sessions]
            found = [path for number in numbers for (path,) in self._all("files_of_source", number, FILES)]
        return list(dict.fromkeys(found))
