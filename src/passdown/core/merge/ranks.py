"""Order events whatever their clocks say: cause comes before clock (C115).

An event names what its writer had read: in `after` the last events, in `ahead` those dated so far ahead of
the writer's present that it does not follow them.

1. An edge leads from an event to each event it names, by the start of its hash, else by its id. Edges from or
   to missing or retracted events do not count, nor do edges by id that are part of a cycle: an id can be
   chosen so that it closes a cycle, a hash cannot.
2. An event that is named in `ahead`, and everything it came after, ranks before the stamp of the event that
   names it. Otherwise its own stamp counts.
3. The rank of an event is the latest of that time and every rank it came after. Among equal ranks, an event
   that came after another is later; otherwise the stamps decide: time, agent, id, hash.
4. A fact is as old as its origin says, but never later than the rank of its event. The author's own facts in
   an event are no older than the events it names in `ahead`, or in `after` despite a later stamp: they had
   been read.

With plausible clocks, every edge leads to an earlier stamp, and every rank is the stamp.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from passdown.core.merge.event_facts import ID_SIZE, EventFacts, EventRank, Texts
from passdown.core.times import FOLLOW_LIMIT, to_micros

_STEP: Final = timedelta(milliseconds=1)
_STEP_MICROS: Final = 1_000
_FIRST: Final = datetime.min.replace(tzinfo=UTC) + _STEP
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_FEWEST_SESSIONS: Final = 3
SESSIONS: Final = 10
"""How many of the newest sessions are used to judge the present time."""

RECENT: Final = 500
"""How many of the newest events are searched for those sessions."""
SEEDS_AMONG: Final = 64
"""How many of the newest events are searched for events without a session, to name them as read."""
_MOST: Final = 256
_MOST_SEEDS: Final = 16


class EventLinks(Protocol):
    """What ranking needs to know about an event."""

    @property
    def rank(self) -> EventRank:
        """Its stamp."""
        ...

    @property
    def after(self) -> Texts:
        """The last events that its writer had read."""
        ...

    @property
    def ahead(self) -> Texts:
        """The read events that are dated too far ahead."""
        ...


class RankPlace(NamedTuple):
    """The place of an event that does not simply rank at its stamp."""

    at: datetime
    """Its rank."""
    cause: int
    """Orders events of equal rank: greater than that of every one of them it came after."""
    lift: datetime | None = None
    """Its author's own facts are no older than this (4)."""


Places = Mapping[str, RankPlace]
"""Places by the hashes of events; an event without one ranks at its stamp."""

_NO_PLACES: Final[Places] = MappingProxyType({})


def find_present(now: datetime, newest: Iterable[datetime]) -> datetime:
    """Return the present time, judged by the clock and the newest ranks of the newest sessions.

    With fewer than three sessions, it is the clock. Otherwise it is the later of the clock and the median of
    the sessions, so that a slow clock follows the others and no single session can move it.
    """
    times = sorted(newest, reverse=True)[:SESSIONS]
    return now if len(times) < _FEWEST_SESSIONS else max(now, times[len(times) // 2])


def limit_of(present: datetime) -> datetime:
    """Return the latest time that does not count as dated ahead."""
    return present + min(FOLLOW_LIMIT, _LAST - present)


def said_at(at: datetime, place: RankPlace, *, is_own: bool) -> datetime:
    """Return the time at which a fact counts as said (4)."""
    if is_own and place.lift is not None and place.lift > at:
        at = place.lift
    return min(at, place.at)


def place_facts(source: EventFacts, place: RankPlace) -> EventFacts:
    """Return an event with its facts at the times at which they count."""
    agent = source.rank.agent
    times = [said_at(fact.at, place, is_own=fact.agent == agent) for fact in source.facts]
    facts = [
        fact if at == fact.at else fact._replace(at=at) for fact, at in zip(source.facts, times, strict=True)
    ]
    return source._replace(facts=tuple(facts))


class Ranking(NamedTuple):
    """The order of events."""

    places: Places
    """The places of the events that do not simply rank at their stamps."""
    followed: frozenset[str]
    """The hashes of events that another one names by hash: an id may turn out to mean another event."""


def rank_events(events: Sequence[EventLinks]) -> Ranking:
    """Rank distinct events, none of which is retracted."""
    named = _name(events)
    if not any(named):
        return Ranking(_NO_PLACES, frozenset())
    followed: set[str] = set()
    is_plain = True
    for event in events:
        at = event.rank.at
        is_plain = is_plain and not any(map(named.find, event.ahead))
        for name in (*event.after, *event.ahead):
            for other in named.find(name):
                if other.rank.hash[:ID_SIZE] == name:
                    followed.add(other.rank.hash)
                is_plain = is_plain and (at - other.rank.at >= _STEP or other.rank.hash == event.rank.hash)
    if is_plain:
        return Ranking(_NO_PLACES, frozenset(followed))
    graph = _Graph(events, named)
    return Ranking(graph.places(), graph.followed())


class Head(NamedTuple):
    """An event that no other comes after."""

    hash: str
    is_ours: bool
    """Whether it names its session; events of other tools name nothing, so each of them stays a head."""
    is_recent: bool
    """Whether it is among the newest events."""


def choose_heads(heads: Iterable[Head]) -> Texts:
    """Choose the heads, given newest first, that a writer names as read: nearly always all of them.

    The writer's next events name the rest. Until then, only its stamp ranks its event after them.
    """
    ours: list[str] = []
    seeds: list[str] = []
    for head in heads:
        if head.is_ours:
            ours.append(head.hash[:ID_SIZE])
        elif head.is_recent:
            seeds.append(head.hash[:ID_SIZE])
    return (*ours[:_MOST], *seeds[:_MOST_SEEDS])


def choose_ahead(events: Sequence[EventLinks], named: Iterable[str]) -> Texts:
    """Choose the events dated ahead that a writer names, without those it named before."""
    followed = rank_events(events).followed
    names = [event.rank.hash[:ID_SIZE] for event in events if event.rank.hash not in followed]
    return tuple(sorted(set(names) - set(named)))[:_MOST]


class _Named(NamedTuple):
    """Events, by the names that other events use for them."""

    by_hash: dict[str, list[EventLinks]]
    by_id: dict[str, list[EventLinks]]

    def find(self, name: str) -> Sequence[EventLinks]:
        """Return the events with a name; hashes come first, because nobody can choose one."""
        return self.by_hash.get(name) or self.by_id.get(name) or ()


def _name(events: Iterable[EventLinks]) -> _Named:
    wanted = {name for event in events for names in (event.after, event.ahead) for name in names}
    named = _Named({}, {})
    for event in events if wanted else ():
        rank = event.rank
        if rank.id in wanted:
            named.by_id.setdefault(rank.id, []).append(event)
        if rank.hash[:ID_SIZE] in wanted:
            named.by_hash.setdefault(rank.hash[:ID_SIZE], []).append(event)
    return named


def _read_by(event: EventLinks, named: _Named) -> Iterable[EventLinks]:
    for name in (*event.after, *event.ahead):
        for other in named.find(name):
            if other.rank.hash != event.rank.hash:
                yield other


class _Graph:
    """The graph of events: each with the events it came after."""

    def __init__(self, events: Sequence[EventLinks], named: _Named) -> None:
        """Find the edges that count, and an order in which every event follows the ones it came after."""
        self._events = {event.rank.hash: event for event in events}
        self._named = named
        edges: dict[str, Sequence[str]] = {
            event.rank.hash: list(dict.fromkeys(other.rank.hash for other in _read_by(event, named)))
            for event in events
        }
        # Two events cannot name each other by hash, so every cycle contains a name by id.
        edges = self._without_circles(edges, kept=self._by_hash)
        self._edges = self._without_circles(edges, kept=lambda _: frozenset())
        self._order = [name for circle in _find_circles(self._edges) for name in circle]

    def _without_circles(
        self, edges: Mapping[str, Sequence[str]], kept: Callable[[str], frozenset[str]]
    ) -> dict[str, Sequence[str]]:
        number = {name: at for at, circle in enumerate(_find_circles(edges)) for name in circle}
        return {
            name: others
            if all(number[other] != number[name] for other in others)
            else [other for other in others if number[other] != number[name] or other in kept(name)]
            for name, others in edges.items()
        }

    def _by_hash(self, name: str) -> frozenset[str]:
        event = self._events[name]
        found = (self._named.by_hash.get(one, ()) for one in (*event.after, *event.ahead))
        return frozenset(other.rank.hash for others in found for other in others)

    def followed(self) -> frozenset[str]:
        return frozenset(
            other
            for name, others in self._edges.items()
            for other in self._by_hash(name).intersection(others)
        )

    def places(self) -> Places:
        stamps = {name: event.rank.at for name, event in self._events.items()}
        caps = self._find_caps(stamps)
        at: dict[str, datetime] = {}
        cause: dict[str, int] = {}
        places: dict[str, RankPlace] = {}
        for name in self._order:
            stamp, others = stamps[name], self._edges[name]
            own = min(stamp, caps.get(name, stamp))
            at[name] = max([own, *(at[other] for other in others)])  # 3
            later = [cause[other] + _STEP_MICROS for other in others if at[other] == at[name]]
            usual = to_micros(stamp)
            cause[name] = max([usual, *later])
            ahead = self._ahead(name)
            lifts = [
                at[other] for other in others if stamps[other] >= stamp or at[other] > stamp or other in ahead
            ]  # 4
            if at[name] != stamp or cause[name] != usual or lifts:
                places[name] = RankPlace(at[name], cause[name], max(lifts, default=None))
        return places

    def _find_caps(self, stamps: Mapping[str, datetime]) -> Mapping[str, datetime]:
        """Find the latest rank of each event named in `ahead`, and of all it came after (2)."""
        caps: dict[str, datetime] = {}
        for name in reversed(self._order):
            before = stamps[name] - _STEP if stamps[name] >= _FIRST else stamps[name]
            for other in self._ahead(name):
                caps[other] = min(before, caps.get(other, before))
            if name in caps:
                for other in self._edges[name]:
                    caps[other] = min(caps[name], caps.get(other, caps[name]))
        return caps

    def _ahead(self, name: str) -> frozenset[str]:
        """Return the events that an event names as dated ahead, by edges that count."""
        ahead = self._events[name].ahead
        found = frozenset(one.rank.hash for other in ahead for one in self._named.find(other))
        return found.intersection(self._edges[name])


def _find_circles(edges: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the cycles of a graph, most of a single node, each after everything its edges lead to.

    This is Tarjan's algorithm without recursion.
    """
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    is_open: set[str] = set()
    found: list[list[str]] = []
    for start in edges:
        work = [(start, iter(edges[start]))] if start not in number else []
        while work:
            name, rest = work[-1]
            if name not in number:
                number[name] = low[name] = len(number)
                stack.append(name)
                is_open.add(name)
            for other in rest:
                if other not in number:
                    work.append((other, iter(edges[other])))
                    break
                if other in is_open:
                    low[name] = min(low[name], number[other])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[name])
                if low[name] == number[name]:
                    found.append(_pop_circle(stack, name))
                    is_open.difference_update(found[-1])
    return found


def _pop_circle(stack: list[str], last: str) -> list[str]:
    circle: list[str] = []
    while not circle or circle[-1] != last:
        circle.append(stack.pop())
    return circle
