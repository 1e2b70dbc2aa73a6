"""Merge a set of events into the facts that hold now, regardless of the order of the events.

Events are sorted by rank (`core.merge.ranks`), their facts are sorted by the time they were stated, and then
folded (`core.fold`). An event that any other event retracts is ignored, whatever the time of either. The same
events produce the same result in any order, in any grouping and however often each is given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from itertools import islice
from typing import NamedTuple

from passdown.core.digests import sha256
from passdown.core.facts import Fact
from passdown.core.fold import Tables, fold
from passdown.core.formats.journal import SESSION_END
from passdown.core.kinds import AIMS, MERGED, FactKind
from passdown.core.merge.event_facts import EventFacts, EventRank, all_retracted, is_retracted
from passdown.core.merge.ranks import Places, place_facts, rank_events
from passdown.core.times import to_micros
from passdown.records import record


class NewestFacts(NamedTuple):
    """The newest facts of a kind, and how many there are in total; next steps keep their order."""

    facts: tuple[Fact, ...] = ()
    total: int = 0


class Writer(NamedTuple):
    """Who published a goal, now or next step, and whether that session's last event is its end."""

    agent: str
    session: str
    is_ended: bool


@record
class Digest:
    """What a view needs from the events: the newest facts of each kind, and the totals."""

    kinds: Mapping[str, NewestFacts]
    event_count: int
    latest: datetime | None
    events_sha256: str
    skipped: int
    writers: Mapping[str, Writer]
    """Who published goal, now and next, by the hash of the event."""
    contested: tuple[tuple[Fact, ...], ...] = ()
    """The contested decisions of each key (C162); keys and decisions newest first."""

    def one(self, kind: FactKind) -> Fact | None:
        """Return the newest fact of a kind, or None."""
        return next(iter(self.kinds[kind].facts), None)


@record
class Merged:
    """All facts that hold, by kind, each kind oldest first."""

    tables: Tables
    checkpoints: tuple[Fact, ...]
    ranks: tuple[EventRank, ...]
    latest: datetime | None
    writers: Mapping[str, Writer]
    contested: tuple[tuple[Fact, ...], ...] = ()


class OrderedEvents(NamedTuple):
    """The events that count, ordered by rank, and the places of those that do not rank at their stamps."""

    heard: list[EventFacts]
    """Their facts have the times at which they count."""
    places: Places
    followed: frozenset[str]
    """The hashes of events that another event comes after."""

    def at(self, source: EventFacts) -> datetime:
        """Return the rank of an event."""
        place = self.places.get(source.rank.hash)
        return source.rank.at if place is None else place.at


def merge_events(sources: Iterable[EventFacts], until: datetime | None = None) -> Merged:
    """Merge events; with `until`, later-ranking ones are ignored."""
    unique = {source.rank.hash: source for source in sources}
    ordered = order_events(unique.values())
    heard = ordered.heard
    if until is not None:
        heard = [source for source in heard if ordered.at(source) <= until]
    folded = fold(in_said_order(heard))
    return Merged(
        tables={kind.value: folded.tables.get(kind, {}) for kind in MERGED},
        checkpoints=_distinct(folded.phases.get(FactKind.CHECKPOINT, ())),
        ranks=tuple(sorted([source.rank for source in unique.values()])),
        latest=ordered.at(heard[-1]) if heard else None,
        writers=_find_writers(folded.tables, heard),
        contested=folded.list_contested(),
    )


def _find_writers(tables: Tables, heard: Sequence[EventFacts]) -> Mapping[str, Writer]:
    """Find who published goal, now and next; an event without a session speaks only for itself."""
    wanted = {fact.event for kind in AIMS for fact in tables.get(kind, {}).values()}
    told = {source.rank.hash: source for source in heard if source.rank.hash in wanted}
    sessions = {source.session for source in told.values() if source.session}
    last = {source.session: source.type for source in heard if source.session in sessions}
    return {
        name: Writer(source.rank.agent, source.session, last.get(source.session, source.type) == SESSION_END)
        for name, source in told.items()
    }


def order_events(sources: Iterable[EventFacts]) -> OrderedEvents:
    """Order distinct events by rank, without retracted ones."""
    heard = [*_without_retracted([*sources])]
    places, followed = rank_events(heard)
    if not places:
        heard.sort(key=_rank_of)
        return OrderedEvents(heard, places, followed)
    heard = [
        source if (place := places.get(source.rank.hash)) is None else place_facts(source, place)
        for source in heard
    ]
    heard.sort(key=order_by(places))
    return OrderedEvents(heard, places, followed)


def order_by(places: Places) -> Callable[[EventFacts], tuple[datetime, int, EventRank]]:
    """Return the function that gives the sort key of an event."""

    def key(source: EventFacts) -> tuple[datetime, int, EventRank]:
        place = places.get(source.rank.hash)
        at, cause = (source.rank.at, to_micros(source.rank.at)) if place is None else place[:2]
        return at, cause, source.rank

    return key


def _rank_of(source: EventFacts) -> EventRank:
    return source.rank


def _without_retracted(sources: list[EventFacts]) -> Iterable[EventFacts]:
    retracted = all_retracted(sources)
    if not retracted:
        return sources
    return [source for source in sources if not is_retracted(source.rank, retracted)]


def in_said_order(sources: Iterable[EventFacts]) -> list[Fact]:
    """Return the facts of ordered events, sorted by the time each was stated."""
    facts = [fact for source in sources for fact in source.facts]
    facts.sort(key=_said_at)
    return facts


def _said_at(fact: Fact) -> datetime:
    return fact.at


def _distinct(checkpoints: Iterable[Fact]) -> tuple[Fact, ...]:
    """Keep the first of equal checkpoints, because several events may contain the same one."""
    unique: dict[Fact, Fact] = {}
    for fact in checkpoints:
        unique.setdefault(fact._replace(event="", event_id="", session="", seq=0), fact)
    return tuple(unique.values())


def make_digest(merged: Merged, skipped: int, limit: int) -> Digest:
    """Return the newest facts of each kind, at most `limit`."""
    return Digest(
        kinds={kind.value: newest_of(kind, merged.tables[kind], limit) for kind in MERGED},
        event_count=len(merged.ranks),
        latest=merged.latest,
        events_sha256=hash_events(merged.ranks),
        skipped=skipped,
        writers=merged.writers,
        contested=merged.contested[:limit],
    )


def newest_of(kind: FactKind, table: Mapping[str, Fact], limit: int) -> NewestFacts:
    """Return the newest facts of a kind; next steps are always complete."""
    facts = tuple(table.values())
    if kind is FactKind.NEXT:
        return NewestFacts(facts, len(facts))
    return NewestFacts(tuple(islice(reversed(facts), limit)), len(facts))


def hash_events(ranks: Iterable[EventRank]) -> str:
    """Hash a set of events day by day, so that a new event costs only the hash of its day."""
    days: dict[date, list[str]] = {}
    for rank in ranks:
        days.setdefault(rank.at.date(), []).append(rank.hash)
    return join_days({day: hash_day(hashes) for day, hashes in days.items()})


def hash_day(hashes: Iterable[str]) -> str:
    """Hash the events of one day."""
    return sha256("\n".join(sorted(hashes)).encode()).hexdigest()


def join_days(days: Mapping[date, str]) -> str:
    """Hash the hashes of all days."""
    lines = "".join(f"{day.isoformat()} {digest}\n" for day, digest in sorted(days.items()))
    return sha256(lines.encode()).hexdigest()
