"""The places of events in the SQLite index, kept up to date event by event (C115).

1. As long as every event names only events with earlier stamps, each event is placed by its stamp.
2. An event that no other follows is placed after the events it names, unless it moves them.
3. Anything else is rare, and all events are ranked again (`core.merge.ranks`).
"""

import json
from abc import abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from passdown.core.merge.event_facts import ID_SIZE, EventRank, Texts
from passdown.core.merge.ranks import RankPlace, rank_events, said_at
from passdown.core.times import to_micros
from passdown.engines.sqlite.database import RebuildableDatabase
from passdown.engines.sqlite.event_rows import to_instant

_STEP = 1_000
_AUTHOR = 5
"""The index of the author in `facts.more`."""


class StoredEvent(NamedTuple):
    """An event as ranking needs it."""

    rank: EventRank
    after: Texts
    ahead: Texts


def make_stored(row: Sequence[Any]) -> StoredEvent:
    """Return an event from the first columns of a row: stamp, `after` and `ahead`."""
    ts, agent, name, digest, after, ahead = row[:6]
    rank = EventRank(to_instant(ts), agent, name, digest)
    return StoredEvent(rank, split_names(after), split_names(ahead))


class _Named(NamedTuple):
    """An event that another names."""

    number: int
    hash: str
    name: str
    ts: int
    rank: int
    cause: int


def join_names(names: Iterable[str]) -> str:
    """Write names as one text; empty for none."""
    known = [*names]
    return json.dumps(known, ensure_ascii=False) if known else ""


def split_names(text: str) -> Texts:
    """Read names from one text."""
    return tuple(json.loads(text)) if text else ()


class RankedDatabase(RebuildableDatabase):
    """The part of the index that places events."""

    def _begin_ranking(self) -> None:
        self._joined: dict[int, None] = {}
        self._is_odd = self._one("has_odd") is not None
        self._is_doubtful = False

    @abstractmethod
    def _touch_facts(self, number: int) -> None:
        """Remember which of an event's facts hold, before they change."""

    def _join(self, number: int) -> None:
        """Record that an event counts from now on."""
        self._joined[number] = None

    def _leave(self, number: int) -> None:
        """Stop counting an event: it is placed by its stamp, and others may move."""
        self._joined.pop(number, None)
        _, digest, name, ts, agent, after, ahead, is_odd, _ = self._one("links_of_source", number)
        self._is_doubtful |= self._is_odd
        if is_odd:
            self._set_place(number, agent, ts, None)
        for follower, *_ in self._followers(number, digest, name):  # the name may mean another event now
            self._join(follower)
        for ref in dict.fromkeys((*split_names(after), *split_names(ahead))):
            for other in self._named(ref, number):
                if not any(one != number and by_hash for one, _, by_hash, _ in self._followers(*other[:3])):
                    self._run("set_followed", 0, other.number)

    def _named(self, name: str, number: int) -> list[_Named]:
        rows = self._connection.execute(self._queries["named_links"], {"name": name}).fetchall()
        found = [_Named(*row) for row in rows if row[0] != number]
        by_hash = [one for one in found if one.hash[:ID_SIZE] == name]
        return by_hash or [one for one in found if one.name == name]

    def _followers(self, number: int, digest: str, name: str) -> list[tuple[int, int, int, int]]:
        """Return the events that name one: number, stamp, whether by hash, whether they name later ones."""
        values = {"name": name, "hash": digest[:ID_SIZE], "source": number}
        return self._connection.execute(self._queries["followers"], values).fetchall()

    # --- new events ---------------------------------------------------------------------------

    def _rank_joined(self) -> None:
        """Place the events that joined, or all events if others may move."""
        rows = sorted(
            (self._one("links_of_source", number) for number in self._joined), key=lambda row: row[3]
        )
        if self._is_doubtful or not all(self._place(row) for row in rows):
            self._rank_all()

    def _place(self, row: Sequence[Any]) -> bool:
        """Place an event; return False if others may move."""
        number, digest, name, ts, _, after, ahead, _, is_followed = row
        followers = self._followers(number, digest, name)
        named_ahead = {one.number for ref in split_names(ahead) for one in self._named(ref, number)}
        refs = dict.fromkeys((*split_names(after), *split_names(ahead)))
        named = {one.number: one for ref in refs for one in self._named(ref, number)}
        for other in (one.number for one in named.values() if one.hash[:ID_SIZE] in refs):
            self._run("set_followed", 1, other)
        if any(by_hash for _, _, by_hash, _ in followers) != bool(is_followed):
            self._run("set_followed", 1 - is_followed, number)
        is_plain = not named_ahead and all(ts - one.ts >= _STEP for one in named.values())
        is_plain = is_plain and all(later - ts >= _STEP and not ahead for _, later, _, ahead in followers)
        if is_plain and not self._is_odd:  # 1
            return True
        if followers or any(one.ts >= ts and one.number in self._joined for one in named.values()):
            return False
        if any(ts - named[other].rank < _STEP for other in named_ahead):
            return False
        self._place_last(row, [*named.values()], named_ahead)  # 2
        return True

    def _place_last(self, row: Sequence[Any], named: Sequence[_Named], ahead: Container[int]) -> None:
        number, _, _, ts, agent, *_ = row
        at = max([ts, *(one.rank for one in named)])
        cause = max([ts, *(one.cause + _STEP for one in named if one.rank == at)])
        lifts = [one.rank for one in named if one.ts >= ts or one.rank > ts or one.number in ahead]
        lift = max(lifts, default=None)
        if (at, cause, lift) != (ts, ts, None):
            lifted = None if lift is None else to_instant(lift)
            self._set_place(number, agent, ts, RankPlace(to_instant(at), cause, lifted))
            self._is_odd = True

    def _rank_all(self) -> None:  # 3
        rows = self._all("all_links")
        events = [make_stored(row) for row in rows]
        places, followed = rank_events(events)
        for ts, agent, _, digest, _, _, number, is_odd, is_followed in rows:
            place = places.get(digest)
            if is_odd or place is not None:
                self._set_place(number, agent, ts, place)
            if bool(is_followed) != (digest in followed):
                self._run("set_followed", int(digest in followed), number)

    def _set_place(self, number: int, agent: str, ts: int, place: RankPlace | None) -> None:
        """Store the place of an event and its facts."""
        self._touch_facts(number)
        at, cause = (ts, ts) if place is None else (to_micros(place.at), place.cause)
        self._run("set_place", at, cause, int(place is not None), number)
        for fact, said, known, more in self._all("said_of_source", number):
            author = agent if more is None else json.loads(more)[_AUTHOR]
            moved = said
            if place is not None:
                moved = to_micros(said_at(to_instant(said), place, is_own=author == agent))
            if moved != known:
                self._run("set_said", moved, fact)
            if moved == said:
                self._run("drop_said", fact)
            else:
                self._run("save_said", fact, said)


def newest_by_session(rows: Iterable[Sequence[Any]]) -> Mapping[str, datetime]:
    """Return the newest time of each session, from rows of a session and a time."""
    newest: dict[str, int] = {}
    for session, at, *_ in rows:
        newest[session] = max(at, newest.get(session, at))
    return {session: to_instant(at) for session, at in newest.items()}
