"""Random histories of machines whose clocks differ, with hostile events, and what must hold of them.

A machine pulls, is told what it has read, says something, and publishes: by the real `write_event`, over a
log and an index in memory. Beside that the history notes what each writer had really read.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from random import Random

from passdown.core.documents.key_value import Pair
from passdown.core.facts import Fact
from passdown.core.formats.events import Event
from passdown.core.formats.origins import render_origins
from passdown.core.formats.views import render_view
from passdown.core.merge.event_facts import EventFacts, all_retracted, is_retracted, parse_event_facts
from passdown.core.merge.merge import Digest, Merged, make_digest, merge_events, order_events
from passdown.core.merge.projections import LIMIT, make_view
from passdown.core.times import FOLLOW_LIMIT
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.memory.index import MemoryIndex
from passdown.records import replace
from passdown.services.log.events import update_index, write_event
from tests.support.events import MovedClock, make_text

TODAY = datetime(2026, 3, 1, 12, tzinfo=UTC)
YEARS = timedelta(days=3650)
KEYS = ("port", "engine", "name")
DATES = ("2999-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z")

Merge = Callable[[Sequence[EventFacts]], Merged]


@dataclass(slots=True, kw_only=True)
class Machine:
    """A clone with a clock that may be wrong, and one session at work."""

    name: str
    clock: MovedClock
    log: MemoryEventLog = field(default_factory=MemoryEventLog)
    index: MemoryIndex = field(default_factory=MemoryIndex)
    session: str = ""
    touched: datetime | None = None
    told: frozenset[str] = frozenset()
    ahead: tuple[str, ...] = ()
    seq: int = 0


@dataclass(slots=True, kw_only=True)
class Statement:
    """A decision that was stated, and the events its session had been told."""

    event: str
    key: str
    session: str
    seq: int
    told: frozenset[str]


@dataclass(slots=True, kw_only=True)
class History:
    """All events of a history, and what really happened."""

    random: Random
    machines: list[Machine] = field(default_factory=list)
    texts: dict[str, bytes] = field(default_factory=dict)
    events: dict[str, EventFacts] = field(default_factory=dict)
    read: dict[str, frozenset[str]] = field(default_factory=dict)
    """For each honest event the hashes of all that its writer had read."""
    hostile: set[str] = field(default_factory=set)
    stated: list[Statement] = field(default_factory=list)
    is_plausible: bool = True
    """Whether all clocks are within 24 hours of each other, and nobody names what he did not have to."""

    def add(self, data: bytes) -> str:
        """Take in an event; give its hash."""
        source = parse_event_facts(data, "event.md")
        assert source is not None
        self.texts[source.rank.hash] = data
        self.events[source.rank.hash] = source
        return source.rank.hash

    def live(self) -> list[EventFacts]:
        """Give the events that nobody retracts."""
        retracted = all_retracted(self.events.values())
        return [one for one in self.events.values() if not is_retracted(one.rank, retracted)]


def make_history(random: Random, steps: int) -> History:
    """Make a random history of two to five machines."""
    history = History(random=random)
    is_wild = random.random() < 0.6
    has_hostile = random.random() < 0.5
    for number in range(random.randint(2, 5)):
        offset = timedelta(hours=random.uniform(0, 23))
        if is_wild and random.random() < 0.5:
            offset = YEARS * random.choice((-1, 1, random.uniform(-1, 1), 0.001, -0.001))
            history.is_plausible = False
        clock = MovedClock(TODAY + offset)
        history.machines.append(Machine(name=f"m{number}", clock=clock, session=f"m{number}-s0"))
    for step in range(steps):
        machine = random.choice(history.machines)
        for one in history.machines:
            one.clock.at += timedelta(seconds=random.randint(1, 900))
        _take_step(history, machine, step, is_wild=is_wild, has_hostile=has_hostile)
    for one in history.machines:
        pull(history, one, history.machines)
    return history


def _take_step(history: History, machine: Machine, step: int, *, is_wild: bool, has_hostile: bool) -> None:
    random = history.random
    chance = random.random()
    if chance < 0.35:
        pull(history, machine, random.sample(history.machines, random.randint(1, 2)))
    elif chance < 0.42:
        machine.session, machine.touched, machine.seq = f"{machine.name}-s{step}", None, 0
        machine.ahead = ()
        pull(history, machine, ())
    elif chance < 0.47 and is_wild:
        machine.clock.at = TODAY + timedelta(hours=random.uniform(0, 23), minutes=step)  # corrected
    elif chance < 0.55 and has_hostile:
        attack(history, machine)
    else:
        publish(history, machine, step)


def pull(history: History, machine: Machine, others: Sequence[Machine]) -> None:
    """Take over what others have, in any order, and be told of all of it."""
    for other in others:
        names = [*other.log.files("")]
        history.random.shuffle(names)
        for name in names:
            machine.log.create("", name, other.log.read("", name) or b"")
    update_index(machine.log, machine.index)
    machine.told = frozenset(place.rank.hash for place in machine.index.places())
    known = max(machine.clock.at, machine.touched or machine.clock.at)
    read = machine.index.newest(known, machine.session)
    newest = read.at
    machine.ahead = (*machine.ahead, *read.ahead)
    # The line of the journal that notes what was sent is no older than that.
    machine.touched = max(known, newest or known)


def publish(history: History, machine: Machine, step: int) -> None:
    """Say something, perhaps pull, and publish it."""
    machine.seq += 1
    said_at = max(machine.clock.at, machine.touched or machine.clock.at)
    machine.touched, told, key = said_at, machine.told, history.random.choice(KEYS)
    ahead, machine.ahead = machine.ahead, ()
    if history.random.random() < 0.2:
        pull(history, machine, [history.random.choice(history.machines)])
    since = machine.index.published(machine.session).at
    fact = Fact("decision", f"{machine.name} {step}", max(said_at, since or said_at), machine.name, key)
    fact = fact._replace(seq=machine.seq)
    pairs = render_origins([("decisions", [fact])], machine.name) if history.random.random() < 0.8 else ()
    event = Event(
        agent=machine.name,
        session=machine.session,
        decisions=(Pair(key=key, value=fact.text),),
        this_session=(fact.text,),
        now=fact.text,
        origins=tuple(Pair(key=name, value=text) for name, text in pairs),
        ahead=tuple(dict.fromkeys(ahead)),
    )
    update_index(machine.log, machine.index)
    read = frozenset(place.rank.hash for place in machine.index.places())
    written = write_event(machine.log, machine.index, machine.clock, event)
    assert written is not None
    digest = history.add(machine.log.read("", written.name) or b"")
    history.read[digest] = read
    if not pairs:  # it lends its facts its own rank: they count as said when it was written
        told = read
    history.stated.append(
        Statement(event=digest, key=key, session=machine.session, seq=machine.seq, told=told)
    )


def attack(history: History, machine: Machine) -> None:
    """Put events of somebody who does not follow the rules into a log: of any date, naming anything."""
    random = history.random
    known = [*history.events.values()]
    some = [one.rank.hash[:16] for one in random.sample(known, min(len(known), random.randint(0, 4)))]
    ids = [f"evil-{len(history.texts)}", f"evil-{len(history.texts)}b"]
    if known and random.random() < 0.3:
        ids[0] = random.choice(known).rank.id  # the name of another
    keys: list[dict[str, list[str] | dict[str, str] | str]] = [{}, {}]
    match random.choice((0, 0, 1, 2, 3)):
        case 0:
            keys = [{}]
        case 1:
            keys = [{"ahead": some, "after": some[:1]}]
        case 2:
            keys = [{"after": some}]
        case _:
            keys = [{"after": [ids[1], *some]}, {"after": [ids[0]], "ahead": [ids[0], *some[:1]]}]
    history.is_plausible = history.is_plausible and keys == [{}]
    for name, more in zip(ids, keys, strict=False):
        ts = random.choice((*DATES, TODAY.isoformat(), (TODAY + YEARS * random.uniform(-1, 1)).isoformat()))
        said = {"id": name, "decisions": {random.choice(KEYS): name}, "now": name, **more}
        data = make_text(ts, "evil", **{key: value for key, value in said.items() if value}).encode()
        digest = history.add(data)
        history.hostile.add(digest)
        machine.log.create("", f"{digest}.md", data)


# --- what must hold -------------------------------------------------------------------------------


def find_fault(history: History, merge: Merge = merge_events) -> str | None:
    """Give the first promise that a history breaks, or None."""
    return next(_find_faults(history, merge), None)


def _find_faults(history: History, merge: Merge) -> Iterator[str]:
    live = history.live()
    merged = merge(live)
    yield from _find_cause_faults(history, live)
    yield from _find_winner_faults(history, merged)
    if history.is_plausible:
        yield from _find_clock_faults(history, live)
    yield from _find_order_faults(history, merge)
    yield from _find_retraction_faults(history, merge)


def _find_cause_faults(history: History, live: Sequence[EventFacts]) -> Iterator[str]:
    """(a) No event ranks before anything its writer had read; sessions keep their own order."""
    place = {source.rank.hash: number for number, source in enumerate(order_events(live).heard)}
    for event, read in history.read.items():
        for other in read:
            if event in place and other in place and place[other] > place[event]:
                yield f"a: {event[:8]} ranks before {other[:8]}, which its writer had read"
    for one, two in combinations((one for one in history.stated if one.event in place), 2):
        if one.session == two.session and (one.seq < two.seq) != (place[one.event] < place[two.event]):
            yield f"a: session {one.session} is out of order"


def _find_winner_faults(history: History, merged: Merged) -> Iterator[str]:
    """(b) What anybody stated who had read an event is not replaced by what that event says."""
    for key, fact in merged.tables["decision"].items():
        for one in history.stated:
            if one.key != key or one.event == fact.event:
                continue
            if fact.event in one.told:
                yield f"b: {key} of {fact.event[:8]} wins against {one.event[:8]}, which had read it"
            if fact.session == one.session and _seq_of(history, fact.event) < one.seq:
                yield f"b: {key} of session {one.session} is not its last"


def _seq_of(history: History, event: str) -> int:
    return next(one.seq for one in history.stated if one.event == event)


def _find_clock_faults(history: History, live: Sequence[EventFacts]) -> Iterator[str]:
    """(c) Among machines within 24 hours of each other, the stamp decides between events."""
    ordered = order_events(live)
    for source in ordered.heard:
        if source.rank.hash in history.read and ordered.at(source) != source.rank.at:
            yield f"c: {source.rank.hash[:8]} of {source.rank.at} ranks {ordered.at(source)}"
        if source.rank.hash in history.read and source.rank.at - TODAY > 2 * FOLLOW_LIMIT:
            yield f"c: {source.rank.hash[:8]} is dated {source.rank.at}"


def _find_order_faults(history: History, merge: Merge) -> Iterator[str]:
    """(d) The same events in any order, some of them twice, give the same bytes."""
    events = [*history.events.values()]
    first = render_view(make_view(make_digest(merge(events), 0, LIMIT)))
    for _ in range(2):
        history.random.shuffle(events)
        again = [*events, *history.random.sample(events, len(events) // 3)]
        if render_view(make_view(make_digest(merge(again), 0, LIMIT))) != first:
            yield "d: another order gives another view"


def _find_retraction_faults(history: History, merge: Merge) -> Iterator[str]:
    """Retracting hostile events gives the view of a history in which they never were.

    Both have the event that retracts them; only the count and the hash of all events differ.
    """
    if not history.hostile:
        return
    names = sorted(name[:16] for name in history.hostile)
    back = parse_event_facts(
        make_text("2026-03-03T00:00:00Z", "person", id="back", retracted_events=names).encode(), "event.md"
    )
    assert back is not None
    honest = [one for name, one in history.events.items() if name not in history.hostile]
    if _content(merge([*history.events.values(), back])) != _content(merge([*honest, back])):
        yield "retracting the hostile events does not give the view without them"


def _content(merged: Merged) -> Digest:
    return replace(make_digest(merged, 0, LIMIT), event_count=0, events_sha256="")


def count_pairs(history: History) -> tuple[int, int]:
    """Count concurrent honest events of plausible dates, and how many of those pairs the stamp decides."""
    ordered = order_events(history.live())
    near = [
        source
        for source in ordered.heard
        if source.rank.hash in history.read and abs(source.rank.at - TODAY) <= 2 * FOLLOW_LIMIT
    ]
    pairs = [
        one.rank.at <= two.rank.at
        for one, two in combinations(near, 2)
        if one.rank.hash not in history.read[two.rank.hash]
        and two.rank.hash not in history.read[one.rank.hash]
    ]
    return len(pairs), sum(pairs)
