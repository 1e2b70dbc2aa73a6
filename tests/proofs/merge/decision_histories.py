"""Random histories of writers who decide the same few keys, and an oracle of what each had been told (C162).

A writer pulls, decides, takes back, is handed a decision, corrects its clock and publishes, on one of two
branches: by the real `make_event` and `write_event`. Beside that the history notes, by object and not by
name, what was in force for whoever spoke. Nothing of the oracle reads `replaces`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from passdown.core.documents.key_value import Pair
from passdown.core.facts import Fact, is_about, tell
from passdown.core.formats.journal import JournalLine, facts_of
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.merge import in_said_order, order_events
from passdown.core.merge.ranks import limit_of
from passdown.core.sessions.decisions import KeyHistory, read_history
from passdown.core.sessions.publications import make_event
from passdown.core.sessions.session_facts import Account
from passdown.core.statements import carry, name_statement, write_replaced
from passdown.core.times import next_instant
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.engines.memory.index import MemoryIndex
from passdown.records import replace
from passdown.services.log.events import update_index, write_event
from tests.support.events import MovedClock, make_text

TODAY: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
KEYS: Final = ("store", "port")
WORDS: Final = ("SQLite", "Postgres", "Redis", "DuckDB", "files")
DECISION: Final = FactKind.DECISION.value


@dataclass(slots=True, eq=False)
class Spoken:
    """A decision, or a retraction of some, as it was really said."""

    key: str
    text: str
    """Empty for a retraction."""
    told: frozenset["Spoken"] | None
    """What was in force for its writer; None for one that does not tell."""


@dataclass(slots=True)
class Place:
    """What stands at one place of an event: a statement, and all that is said with it."""

    statement: Spoken | None
    acts: tuple[Spoken, ...]


@dataclass(slots=True)
class Branch:
    """A checkout's events."""

    log: MemoryEventLog = field(default_factory=MemoryEventLog)
    index: MemoryIndex = field(default_factory=MemoryIndex)


@dataclass(slots=True)
class Writer:
    """A clone with two branches and one journal."""

    name: str
    clock: MovedClock
    is_older: bool
    """Whether it runs a version that does not name what it replaces."""
    session: str = ""
    branches: list[Branch] = field(default_factory=lambda: [Branch(), Branch()])
    at: int = 0
    lines: list[JournalLine] = field(default_factory=list[JournalLine])
    spoken: dict[int, Spoken] = field(default_factory=dict[int, Spoken])
    """What each line of its journal says."""
    carried: set[int] = field(default_factory=set[int])
    touched: datetime | None = None

    @property
    def here(self) -> Branch:
        """Give the branch that it works on."""
        return self.branches[self.at]


@dataclass(slots=True)
class History:
    """All events of a history, and what really was said in each."""

    random: Random
    writers: list[Writer] = field(default_factory=list[Writer])
    events: dict[str, EventFacts] = field(default_factory=dict[str, EventFacts])
    data: dict[str, bytes] = field(default_factory=dict[str, bytes])
    places: dict[str, list[Place | None]] = field(default_factory=dict[str, list[Place | None]])
    """By event, one for each of its facts."""

    def add(self, data: bytes) -> EventFacts:
        """Take in an event."""
        source = parse_event_facts(data, "event.md")
        assert source is not None
        self.events[source.rank.hash], self.data[source.rank.hash] = source, data
        return source


def make_history(random: Random, steps: int) -> History:
    """Make a random history of two to five writers."""
    history = History(random)
    is_wild = random.random() < 0.3
    for number in range(random.randint(2, 5)):
        offset = timedelta(hours=random.uniform(0, 20))
        if is_wild and random.random() < 0.5:
            offset = timedelta(days=random.uniform(-900, 900))
        writer = Writer(f"w{number}", MovedClock(TODAY + offset), random.random() < 0.15)
        writer.session = f"s-{writer.name}-0"
        history.writers.append(writer)
    for step in range(steps):
        for writer in history.writers:
            writer.clock.at += timedelta(seconds=random.randint(1, 900))
        _take_step(history, random.choice(history.writers), step)
    for writer in history.writers:
        publish(history, writer)
    return history


def _take_step(history: History, writer: Writer, step: int) -> None:
    random = history.random
    match random.choices(range(9), (26, 5, 18, 14, 5, 3, 2, 2, 1))[0]:
        case 0:
            decide(history, writer)
        case 1:
            retract(history, writer)
        case 2:
            publish(history, writer)
        case 3:
            pull(history, writer, random.choice(history.writers))
        case 4:
            receive(history, writer)
        case 5:
            writer.at = 1 - writer.at
        case 6:
            writer.clock.at = TODAY + timedelta(hours=random.uniform(0, 20), minutes=step)  # corrected
        case 7:
            publish(history, writer)
            writer.session = f"s-{writer.name}-{step}"
            writer.lines, writer.spoken, writer.carried = [], {}, set()
        case _:
            write_by_hand(history, writer)


# --- what writers do ------------------------------------------------------------------------------


def read_key(writer: Writer, key: str) -> KeyHistory:
    """Give what a writer knows of a key, as `services.sessions.decisions` reads it."""
    index = writer.here.index
    covered = index.published(writer.session).line
    lines = (line for line in writer.lines if line.seq > covered)
    own = [fact for fact in map(tell, facts_of(writer.session, lines)) if is_about(fact, DECISION, key)]
    limit = limit_of(index.newest(writer.clock.now()).present)
    said = [fact for fact in (*index.said(DECISION, key), *own) if fact.at <= limit]
    return read_history(sorted(said, key=lambda fact: (fact.at, fact.session == writer.session)))


def decide(history: History, writer: Writer) -> None:
    """State a decision."""
    key, text = history.random.choice(KEYS), history.random.choice(WORDS)
    known = read_key(writer, key)
    told = frozenset((*find_in_force(history, writer, key), *_own_before(writer, key)))
    members = write_replaced(known.names)
    fact = Fact(DECISION, text, TODAY, writer.name, key, others=members)
    if history.random.random() < 0.03:  # nobody could look, as without a cache
        _say(writer, known, fact._replace(others=()), None)
    else:
        _say(writer, known, fact, told)


def retract(history: History, writer: Writer) -> None:
    """Take back what is in force under a key, or the statements of one wording."""
    key = history.random.choice(KEYS)
    known, in_force = read_key(writer, key), find_in_force(history, writer, key)
    members, told = write_replaced(known.names), frozenset(in_force)
    if known.contested and history.random.random() < 0.6:
        words = history.random.choice(known.shown).text
        gone = known.choose(words)
        members = write_replaced(filter(None, map(name_statement, gone)))
        told = frozenset(one for one in in_force if one.text == words)
    fact = Fact(FactKind.RETRACTION.value, key, TODAY, writer.name, DECISION, others=members)
    _say(writer, known, fact, told)


def _own_before(writer: Writer, key: str) -> Iterator[Spoken]:
    return (one for seq, one in writer.spoken.items() if one.key == key and seq not in writer.carried)


def _say(writer: Writer, known: KeyHistory, fact: Fact, told: frozenset[Spoken] | None) -> None:
    now = writer.clock.now()
    at = next_instant(now, [known.at]) if known.at else now
    at = max(at, writer.touched or at)
    seq = len(writer.lines) + 1
    writer.touched = at
    writer.lines.append(JournalLine(seq=seq, fact=fact._replace(at=at)))
    is_statement = fact.kind == DECISION
    key, text = (fact.key, fact.text) if is_statement else (fact.text, "")
    writer.spoken[seq] = Spoken(key, text, None if writer.is_older else told)


def receive(history: History, writer: Writer) -> None:
    """Carry on a decision that a handoff passes on."""
    key = history.random.choice(KEYS)
    index = writer.here.index
    update_index(writer.here.log, index)
    held = read_history(index.said(DECISION, key)).held
    if held is None or writer.is_older:
        return
    first = _find_spoken(history, held)
    seq = len(writer.lines) + 1
    origin = Fact(DECISION, held.text, held.at, held.agent, key, session=held.session, others=carry(held))
    at = max(writer.clock.now(), writer.touched or writer.clock.now())
    writer.lines.append(JournalLine(seq=seq, fact=origin, at=at, agent=writer.name))
    writer.spoken[seq] = first
    writer.carried.add(seq)


def _find_spoken(history: History, fact: Fact) -> Spoken:
    source = history.events[fact.event]
    pairs = zip(source.facts, history.places[fact.event], strict=True)
    return next(
        place.statement
        for one, place in pairs
        if place and place.statement and (one.kind, one.key, one.seq) == (fact.kind, fact.key, fact.seq)
    )


def pull(history: History, writer: Writer, other: Writer) -> None:
    """Take over the events of a branch, in any order."""
    branch = history.random.choice(other.branches)
    names = [*branch.log.files("")]
    history.random.shuffle(names)
    for name in names[: len(names) if history.random.random() < 0.8 else len(names) // 2]:
        writer.here.log.create("", name, branch.log.read("", name) or b"")
    update_index(writer.here.log, writer.here.index)


def publish(history: History, writer: Writer) -> None:
    """Publish what no event of the branch covers."""
    here = writer.here
    update_index(here.log, here.index)
    published = here.index.published(writer.session)
    account = Account(session=writer.session, agent=writer.name, branch="main")
    event = make_event(account, writer.lines, published, kind="checkpoint", reason="")
    if event is None:
        return
    if writer.is_older:
        pairs = (Pair(key=one.key, value=_strip(one.value)) for one in event.origins)
        event = replace(event, origins=tuple(pairs) if history.random.random() < 0.7 else ())
    written = write_event(here.log, here.index, writer.clock, event)
    assert written is not None
    source = history.add(here.log.read("", written.name) or b"")
    history.places[source.rank.hash] = [
        _place(writer, fact, published.line) if fact.seq else _place_unnumbered(fact) for fact in source.facts
    ]


def _strip(text: str) -> str:
    """Leave out what an older version does not write."""
    entries = []
    for entry in text.split(", "):
        words = entry.split(" ")
        for name in ("of", "replaces"):
            if name in words:
                place = words.index(name)
                del words[place : place + 2]
        entries.append(" ".join(words))
    return ", ".join(entries)


def _place_unnumbered(fact: Fact) -> Place:
    """Note what an event says that tells no origin: nobody can know whether another event says it again."""
    is_void = fact.kind == FactKind.RETRACTION
    one = Spoken(fact.text, "", None) if is_void else Spoken(fact.key, fact.text, None)
    return Place(None if is_void else one, (one,))


def _place(writer: Writer, fact: Fact, covered: int) -> Place:
    """Note what was really said at a place of an event: with it, all that was said before and not told."""
    one = writer.spoken[fact.seq]
    statement = one if fact.kind == DECISION else None
    if fact.seq in writer.carried:
        return Place(statement, (one,))
    acts = tuple(
        other
        for seq, other in writer.spoken.items()
        if covered < seq <= fact.seq and other.key == one.key and seq not in writer.carried
    )
    return Place(statement, acts)


def write_by_hand(history: History, writer: Writer) -> None:
    """Edit an event by hand, take one back, or write one, as an edited view becomes one."""
    random, here = history.random, writer.here
    names = [*here.log.files("")]
    chance = random.random()
    if names and chance < 0.4:
        _edit(history, writer, random.choice(names))
        return
    more: dict[str, list[str] | dict[str, str] | str]
    key, text = random.choice(KEYS), random.choice(WORDS)
    known = sorted(history.events)
    if known and chance < 0.6:
        more = {"retracted_events": [random.choice(known)[:16]]}
    elif chance < 0.7:
        more = {"retracted_decisions": [key]}
    else:
        more = {"decisions": {key: text}}
    at = TODAY + timedelta(hours=random.uniform(0, 20), microseconds=len(history.events))
    source = history.add(make_text(at.isoformat(), "person", **more).encode())
    statement = Spoken(key, text if "decisions" in more else "", None)
    place = Place(statement if "decisions" in more else None, (statement,))
    history.places[source.rank.hash] = [place for _ in source.facts]
    here.log.create("", f"{source.rank.hash}.md", history.data[source.rank.hash])
    update_index(here.log, here.index)


def _edit(history: History, writer: Writer, name: str) -> None:
    """Change the words of a decision in one event; it stays what its session said under that number."""
    here = writer.here
    data = here.log.read("", name) or b""
    source = parse_event_facts(data, name)
    assert source is not None
    told = [(fact, place) for fact, place in zip(source.facts, history.places[source.rank.hash], strict=True)]
    if not any(fact.kind == DECISION and fact.seq for fact, _ in told) or b"hand" in data:
        return
    text = data.decode()
    for word in WORDS:
        text = text.replace(f": {word}\n", f": {word} by hand\n")
    edited = history.add(text.encode())
    if len(edited.facts) != len(source.facts):
        raise AssertionError(text)
    history.places[edited.rank.hash] = history.places[source.rank.hash]
    here.log.archive("", [name], "2026-03-01")
    here.log.create("", f"e{edited.rank.hash}.md", text.encode())
    update_index(here.log, here.index)


# --- the oracle -----------------------------------------------------------------------------------


@dataclass(slots=True)
class Standing:
    """A statement at its newest place."""

    spoken: Spoken
    place: int
    fact: Fact


def survive(history: History, facts: Sequence[Fact], key: str) -> list[Standing]:
    """Give the statements of a key that nobody replaced, the oldest first; facts come in their order."""
    standing: dict[int, Standing] = {}
    acts: list[tuple[int, Spoken]] = []
    for at, fact in enumerate(facts):
        place = _place_in(history, fact)
        if place is None or not any(one.key == key for one in place.acts):
            continue
        acts += [(at, one) for one in place.acts]
        if place.statement is not None:
            standing[id(place.statement)] = Standing(place.statement, at, fact)
    return sorted(
        (one for one in standing.values() if not any(_ends(at, by, one) for at, by in acts)),
        key=lambda one: one.place,
    )


def _ends(at: int, by: Spoken, one: Standing) -> bool:
    return at > one.place and by is not one.spoken and (by.told is None or one.spoken in by.told)


def _place_in(history: History, fact: Fact) -> Place | None:
    source = history.events[fact.event]
    for other, place in zip(source.facts, history.places[fact.event], strict=True):
        if (other.kind, other.key, other.text, other.seq) == (fact.kind, fact.key, fact.text, fact.seq):
            return place
    return None


def find_in_force(history: History, writer: Writer, key: str) -> list[Spoken]:
    """Give what is in force for a writer: the events of its checkout, then what it has not published."""
    here = writer.here
    update_index(here.log, here.index)
    limit = limit_of(here.index.newest(writer.clock.now()).present)
    facts = [fact for fact in here.index.said(DECISION, key) if fact.at <= limit]
    covered = here.index.published(writer.session).line
    steps: list[tuple[datetime, bool, Spoken | None, tuple[Spoken, ...]]] = []
    for fact in facts:
        place = _place_in(history, fact)
        assert place is not None
        steps.append((fact.at, fact.session == writer.session, place.statement, place.acts))
    for line in writer.lines:
        one = writer.spoken[line.seq]
        if line.seq > covered and one.key == key and line.fact.at <= limit:
            is_own = (line.fact.session or writer.session) == writer.session
            steps.append((line.fact.at, is_own, one if one.text else None, (one,)))
    steps.sort(key=lambda step: step[:2])
    alive: list[Spoken] = []
    for _, _, statement, acts in steps:
        alive = [one for one in alive if one is not statement and not any(_knew(by, one) for by in acts)]
        alive += [statement] if statement else []
    return alive


def _knew(by: Spoken, one: Spoken) -> bool:
    return by is not one and (by.told is None or one in by.told)


def shown_of(standing: Iterable[Standing]) -> list[str]:
    """Give the words that are shown, the newest first."""
    return [*dict.fromkeys(one.fact.text for one in reversed([*standing]))]


def expect(history: History, sources: Iterable[EventFacts]) -> Mapping[str, list[str]]:
    """Give for each key what the oracle leaves of some events."""
    unique = {source.rank.hash: source for source in sources}
    facts = in_said_order(order_events(unique.values()).heard)
    found = {key: shown_of(survive(history, facts, key)) for key in KEYS}
    return {key: words for key, words in found.items() if words}


def find_newest(sources: Iterable[EventFacts]) -> Mapping[str, str]:
    """Give for each key that nobody retracts the words of the decision that was stated last."""
    unique = {source.rank.hash: source for source in sources}
    facts = in_said_order(order_events(unique.values()).heard)
    newest = {fact.key: fact.text for fact in facts if fact.kind == DECISION}
    retracted = {fact.text for fact in facts if fact.kind == FactKind.RETRACTION}
    return {key: text for key, text in newest.items() if key not in retracted}


def without_names(source: EventFacts) -> EventFacts:
    """Give an event as an older version would have written it."""
    return source._replace(facts=tuple(fact._replace(others=()) for fact in source.facts))
