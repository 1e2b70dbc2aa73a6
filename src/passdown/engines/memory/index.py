"""An `Index` that lives as long as the process: for a single use, or if nothing can be written."""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from typing import Final

from passdown.core.facts import Fact, identify, identify_retracted, is_about, make_key
from passdown.core.formats.journal import NOT_PUBLISHED, PublishedExtent
from passdown.core.kinds import INHERITED, FactKind
from passdown.core.lazy_regex import pattern
from passdown.core.merge.event_facts import EventFacts, EventRank, all_retracted, is_retracted
from passdown.core.merge.merge import (
    Digest,
    Merged,
    OrderedEvents,
    hash_day,
    in_said_order,
    make_digest,
    merge_events,
    order_by,
    order_events,
)
from passdown.core.merge.named_files import name_files, read_name
from passdown.core.merge.ranks import (
    RECENT,
    SEEDS_AMONG,
    Head,
    choose_ahead,
    choose_heads,
    find_present,
    limit_of,
)
from passdown.ports.event_log import FileMark
from passdown.ports.index import (
    EVERY,
    NEAR_EVENTS,
    NEAR_SESSIONS,
    EventFile,
    EventFilter,
    EventLocation,
    LiveEvents,
    LogChange,
    NearFacts,
    Neighbourhood,
    NewestEvents,
    SingleFiles,
)

_DATED: Final = pattern("[0-9]{4}-")


class MemoryIndex:
    """Stores what was read and merges all of it on demand."""

    def __init__(self) -> None:
        self._folders: dict[str, int] = {}
        self._found: dict[str, dict[str, EventFile]] = {}
        self._merged: Merged | None = None
        self._notes: dict[str, str] = {}
        self._unread = 0
        self._committed: set[tuple[str, FileMark]] = set()

    @contextmanager
    def changing(self) -> Generator[None, None, None]:
        """Keep all changes made inside, or none; no other process sees this index."""
        found = {folder: files.copy() for folder, files in self._found.items()}
        before = self._folders.copy(), found, self._unread
        is_kept = False
        try:
            yield
            is_kept = True
        finally:
            if not is_kept:
                self._folders, self._found, self._unread = before
                self._merged = None

    def folders(self) -> Mapping[str, int]:
        return dict(self._folders)

    def files(self, folder: str) -> Mapping[str, FileMark]:
        return {name: found.mark for name, found in self._found.get(folder, {}).items()}

    def apply(self, change: LogChange) -> None:
        self._merged = None
        self._notes.clear()
        self._unread = change.unread
        for folder, name in change.gone:
            self._found.get(folder, {}).pop(name, None)
        for found in change.found:
            files = self._found.setdefault(found.folder, {})
            files[found.name] = files[found.name]._replace(mark=found.mark) if found.is_same else found
        for folder, mark in change.folders.items():
            if mark is None:
                self._folders.pop(folder, None)
                self._found.pop(folder, None)
            else:
                self._folders[folder] = mark

    def digest(self, limit: int, until: datetime | None = None) -> Digest:
        merged = self._merge() if until is None else merge_events(self._sources(), until)
        return make_digest(merged, sum(found.skipped for found in self._files()), limit)

    def retracted(self, kind: str, texts: Collection[str]) -> frozenset[str]:
        held = self._merge().tables.get(kind, {})
        heard = self._order().heard
        ended = {
            identify_retracted(fact)
            for source in heard
            for fact in source.facts
            if fact.kind == FactKind.RETRACTION and fact.key == kind
        }
        return frozenset(text for text in texts if make_key(text) in ended and make_key(text) not in held)

    def said(self, kind: str, name: str) -> Sequence[Fact]:
        heard = self._order().heard
        return [fact for fact in in_said_order(heard) if is_about(fact, kind, name)]

    def newest(self, now: datetime, session: str = "") -> NewestEvents:
        every = {source.rank.hash: source for source in self._sources()}
        ordered = self._order()
        heard = ordered.heard[::-1]
        newest: dict[str, datetime] = {}
        for source in heard[:RECENT]:
            name, at = source.session or source.rank.agent, min(source.rank.at, ordered.at(source))
            newest[name] = max(at, newest.get(name, at))
        present = find_present(now, newest.values())
        limit = limit_of(present)
        times = {source.rank.at for source in every.values()} | {ordered.at(source) for source in heard}
        since = ordered.at(heard[:SEEDS_AMONG][-1]) if heard else now
        heads = (
            Head(source.rank.hash, bool(source.session), ordered.at(source) >= since)
            for source in heard
            if source.rank.hash not in ordered.followed
        )
        ahead = [source for source in heard if source.rank.at > limit]
        own = [name for source in every.values() if source.session == session for name in source.ahead]
        return NewestEvents(
            present,
            max((at for at in times if at <= limit), default=None),
            choose_heads(heads),
            choose_ahead(ahead, own if session else ()),
        )

    def published(self, session: str) -> PublishedExtent:
        own = [source for source in self._sources() if source.session == session]
        if not own:
            return NOT_PUBLISHED
        every = self._order().heard
        heard = [source for source in every if source.session == session]
        line, at = max(source.covered for source in own), max(source.rank.at for source in own)
        return PublishedExtent(line, at, heard[-1].type if heard else "")

    def places(self, prefix: str = "", limit: int = EVERY) -> Sequence[EventLocation]:
        retracted = all_retracted(self._sources())
        ranked = self._order().places
        key = order_by(ranked)
        places = {
            source.rank: EventLocation(
                source.rank,
                source.branch,
                source.type,
                found.folder,
                found.name,
                is_retracted(source.rank, retracted),
                *key(source)[:2],
            )
            for found in sorted(self._files(), key=lambda one: (one.folder, one.name), reverse=True)
            for source in found.sources
            if source.rank.id.startswith(prefix) or source.rank.hash.startswith(prefix)
        }
        return sorted(places.values(), key=lambda place: place.order, reverse=True)[:limit]

    def matching(self, wanted: EventFilter, limit: int = EVERY) -> Sequence[EventLocation]:
        return [place for place in self.places() if wanted.takes(place)][:limit]

    def count(self, wanted: EventFilter) -> int:
        return len(self.matching(wanted))

    def days(self) -> Mapping[date, str]:
        days: dict[date, set[str]] = {}
        for source in self._sources():
            days.setdefault(source.rank.at.date(), set()).add(source.rank.hash)
        return {day: hash_day(hashes) for day, hashes in days.items()}

    def places_of(self, track: str, limit: int = EVERY) -> Sequence[EventLocation]:
        own = {source.rank for source in self._sources() if source.track and source.track == track}
        return [place for place in self.places() if place.rank in own][:limit]

    def stated(self, facts: Collection[Fact]) -> frozenset[Fact]:
        known = {(fact.kind, identify(fact), fact.text) for one in self._sources() for fact in one.facts}
        return frozenset(fact for fact in facts if (fact.kind, identify(fact), fact.text) in known)

    def shared_with(self, track: str, facts: Collection[Fact]) -> frozenset[Fact]:
        sources = {source.rank.hash: source for source in self._sources()}
        if all(source.track in {"", track} for source in sources.values()):
            return frozenset(facts)
        heard = [one for one in order_events(sources.values()).heard if one.track in {"", track}]
        known = {(fact.kind, identify(fact)) for source in heard for fact in source.facts}
        return frozenset(fact for fact in facts if (fact.kind, identify(fact)) in known)

    def skipped_files(self) -> Sequence[str]:
        return sorted("/".join(filter(None, (one.folder, one.name))) for one in self._files() if one.skipped)

    def near(self, place: Neighbourhood, until: datetime) -> NearFacts:
        tables = merge_events(self._sources(), until).tables
        known = [read_name(fact.text).name for fact in tables[FactKind.FILE].values()]
        files = name_files(place.files, lambda name: known.count(name) <= 1)
        heard = self._heard(until)
        of_track = [one.rank.hash for one in heard if one.track and one.track == place.track][:NEAR_EVENTS]
        of_branch = [one.rank.hash for one in heard if one.branch == place.branch][:NEAR_EVENTS]
        held = [fact for kind in INHERITED for fact in tables[kind].values()]
        named = [fact for fact in held if files.are_in(fact.text)]
        facts = [fact for fact in held if fact in named or fact.event in {*of_track, *of_branch}]
        facts.sort(key=lambda fact: fact.at, reverse=True)
        return NearFacts(
            tuple(facts),
            frozenset((fact.kind, fact.text) for fact in named),
            files,
            frozenset(of_track),
            frozenset(of_branch),
        )

    def files_of_last(self, track: str, branch: str, until: datetime) -> Sequence[str]:
        heard = self._heard(until)
        events = [one for one in heard if one.track and one.track == track]
        events = (events or [one for one in heard if one.branch == branch])[:NEAR_EVENTS]
        sessions = list(dict.fromkeys(one.session or one.rank.agent for one in events))[:NEAR_SESSIONS]
        told = (one for one in events if (one.session or one.rank.agent) in sessions)
        return list(
            dict.fromkeys(fact.text for one in told for fact in one.facts if fact.kind == FactKind.FILE)
        )

    def unread(self) -> int:
        return self._unread

    def uncommitted(self) -> Sequence[str]:
        return sorted(path for path, mark in self._marks() if (path, mark) not in self._committed)

    def is_held(self, folder: str, name: str, digest: str = "") -> bool:
        found = self._found.get(folder, {}).get(name)
        hashes = {source.rank.hash for source in found.sources} if found and not found.skipped else set[str]()
        return bool(hashes) if not digest else digest in hashes

    def live(self, most: int) -> LiveEvents:
        dated = [(one.name, one.folder) for one in self._files() if "0" <= one.name < ":"]
        return LiveEvents(min(len(dated), most), max(dated, default=("", ""))[1])

    def uncommitted_of(self, session: str) -> Sequence[str]:
        left = {*self.uncommitted()}
        held: dict[EventRank, list[str]] = {}
        for one in self._files():
            path = "/".join(filter(None, (one.folder, one.name)))
            for source in one.sources:
                if source.session == session:
                    held.setdefault(source.rank, []).append(path)
        return sorted(min(paths) for paths in held.values() if left.issuperset(paths))

    def note_committed(self, paths: Collection[str]) -> None:
        self._committed.update(one for one in self._marks() if one[0] in paths)

    def single_files(self) -> SingleFiles:
        names = sorted(one.name for one in self._single())
        return SingleFiles(len(names), names[0]) if names else SingleFiles()

    def oldest_single(self, most: int) -> Sequence[str]:
        ordered = sorted((one.name, one.folder) for one in self._single())
        return ["/".join(filter(None, (folder, name))) for name, folder in ordered[:most]]

    def single_sessions(self) -> frozenset[str]:
        return frozenset(source.session for one in self._single() for source in one.sources)

    def close(self) -> None:
        """Do nothing: nothing was opened."""

    def _marks(self) -> Iterator[tuple[str, FileMark]]:
        for one in self._files():
            yield "/".join(filter(None, (one.folder, one.name))), one.mark

    def recall(self, name: str) -> str | None:
        return self._notes.get(name)

    def remember(self, name: str, text: str) -> None:
        self._notes[name] = text

    def _heard(self, until: datetime) -> list[EventFacts]:
        """Return the events that count and do not rank later, the last one first."""
        ordered = self._order()
        return [source for source in reversed(ordered.heard) if ordered.at(source) <= until]

    def _single(self) -> Iterator[EventFile]:
        return (one for one in self._files() if _DATED.match(one.name))

    def _files(self) -> Iterator[EventFile]:
        for files in self._found.values():
            yield from files.values()

    def _sources(self) -> Iterator[EventFacts]:
        for found in self._files():
            yield from found.sources

    def _order(self) -> OrderedEvents:
        return order_events({source.rank.hash: source for source in self._sources()}.values())

    def _merge(self) -> Merged:
        if self._merged is None:
            self._merged = merge_events(self._sources())
        return self._merged
