"""What holds for a session: its own account, those of the sessions it goes on from, and the events of all.

1. Events are merged already; what they hold is the ground.
2. Lines of journals that no event covers are laid over it, by their time: a later one states or takes back.
3. Feedback that was answered is done with, and so is a receipt that a journal takes back.
4. Goal, now and next are those of one line of work (C59): the session itself and those it goes on from, else
   the same track, else the same branch, else the project. A session that still runs may lend its goal to
   others of its track or branch; what it does now stays its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple, cast

from passdown.core.accounts import Account, Entry, entry_key
from passdown.core.events import Event
from passdown.core.facts import Fact, FactKind, Provenance, make_key
from passdown.core.ids import FactId, fact_id
from passdown.core.journal import JournalLine
from passdown.core.merge import Digest, Held
from passdown.core.sources import (
    CHECKPOINTS,
    CONSTRAINTS,
    DECISIONS,
    DONE,
    FEEDBACK,
    QUESTIONS,
    RECEIPTS,
    Checkpoint,
    Section,
    command_of,
    show_test,
)
from passdown.records import field, record

_EVER: Final = datetime.max.replace(tzinfo=UTC)


class Known(NamedTuple):
    """One fact that holds, with who said it, when, and where it can be looked up."""

    kind: FactKind
    text: str
    at: datetime
    agent: str
    provenance: Provenance = Provenance.STATED
    key: str = ""
    event: str = ""
    branch: str = ""

    @property
    def id(self) -> FactId:
        """The fact's id."""
        return fact_id(self.kind, self.text)


class Aim(NamedTuple):
    """What a session is to achieve, does, and will do: one line of work."""

    goal: Known | None = None
    now: Known | None = None
    next: tuple[Known, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether it says anything about the work."""
        return self.goal is not None or self.now is not None

    @property
    def at(self) -> datetime | None:
        """When it was last stated."""
        return max((known.at for known in (self.goal, self.now) if known), default=None)


NO_AIM: Final = Aim()


class Peer(NamedTuple):
    """Another session that runs."""

    agent: str
    branch: str
    text: str
    at: datetime


Table = dict[str, Known]
Tables = dict[FactKind, Table]
Settled = Mapping[tuple[FactKind, str], datetime]
"""Feedback and receipts that are done with, by text or id, and since when."""

KINDS: Final[Mapping[Section, FactKind]] = MappingProxyType(
    {
        DONE: FactKind.DONE,
        DECISIONS: FactKind.DECISION,
        CONSTRAINTS: FactKind.CONSTRAINT,
        QUESTIONS: FactKind.QUESTION,
        RECEIPTS: FactKind.RECEIPT,
        FEEDBACK: FactKind.FEEDBACK,
        CHECKPOINTS: FactKind.CHECKPOINT,
    }
)
"""The kind of fact that a section of the merged events holds."""

TOLD_AS: Final[Mapping[str, FactKind]] = MappingProxyType(
    {
        FactKind.DONE: FactKind.DONE,
        FactKind.DECISION: FactKind.DECISION,
        FactKind.CONSTRAINT: FactKind.CONSTRAINT,
        FactKind.QUESTION: FactKind.QUESTION,
        FactKind.FEEDBACK: FactKind.FEEDBACK,
        FactKind.RECEIPT: FactKind.RECEIPT,
        FactKind.COMMIT: FactKind.RECEIPT,
        FactKind.TEST: FactKind.RECEIPT,
    }
)
"""What a line of a journal counts as; a commit and a test that was run are receipts."""


_LASTING: Final = (FactKind.FEEDBACK, FactKind.RECEIPT)
"""What events can state and not take back."""


@record
class Standing:
    """All that a session can be told."""

    agent: Annotated[str, "Who is told; what it said itself needs no name."] = ""
    aim: Annotated[Aim, "Goal, now and next."] = NO_AIM
    tables: Annotated[Mapping[FactKind, Mapping[str, Known]], "The other facts, oldest first."] = field(
        default_factory=dict[FactKind, Mapping[str, Known]]
    )
    beyond: Annotated[Mapping[FactKind, int], "How many older facts were not even looked at."] = field(
        default_factory=dict[FactKind, int]
    )
    task: Annotated[str, "The task the session has claimed."] = ""
    track: Annotated[str, "The track it is bound to."] = ""
    ledger: Annotated[str, "The ledger's path from the root."] = ""
    peers: Annotated[tuple[Peer, ...], "Other sessions that run."] = ()

    def of(self, kind: FactKind) -> tuple[Known, ...]:
        """Give the facts of a kind, the newest first."""
        return tuple(sorted(self.tables.get(kind, {}).values(), key=_newest_first))

    def all(self) -> tuple[Known, ...]:
        """Give every fact."""
        one = [known for known in (self.aim.goal, self.aim.now) if known]
        return (*one, *self.aim.next, *(known for kind in self.tables for known in self.of(kind)))


def _newest_first(known: Known) -> tuple[float, str, str]:
    return -known.at.timestamp(), known.agent, known.text


def gather(
    digest: Digest,
    elsewhere: Iterable[Tables],
    lines: Iterable[JournalLine],
    settled: Settled,
) -> Tables:
    """Put together what holds: of the events here, of other checkouts, of lines no event covers (1 to 3)."""
    tables = tables_of(digest)
    for other in elsewhere:
        add_elsewhere(tables, other)
    lay_over(tables, lines)
    drop_settled(tables, settled)
    return tables


# --- events ---------------------------------------------------------------------------------------


def tables_of(digest: Digest, branch: str = "") -> Tables:
    """Give what merged events hold (1); with the branch they are marked with, if it is not ours."""
    tables: Tables = {}
    for section, kind in KINDS.items():
        found = [_from_held(kind, held, branch) for held in reversed(digest.sections[section].held)]
        tables[kind] = {known.key: known for known in found}
    return tables


def beyond_of(digest: Digest) -> Mapping[FactKind, int]:
    """Count what the digest knows of and does not hold."""
    sections = {kind: digest.sections[section] for section, kind in KINDS.items()}
    return {kind: newest.total - len(newest.held) for kind, newest in sections.items()}


def _from_held(kind: FactKind, held: Held, branch: str) -> Known:
    text = str(held.value)
    key = make_key(text)
    if kind is FactKind.DECISION:
        name, text = cast("tuple[str, str]", held.value)
        key = make_key(name)
    elif kind is FactKind.CHECKPOINT:
        one = Checkpoint._make(held.value)
        text = checkpoint_text(one)
        key = f"{one.task or one.agent}\n{one.phase or one.name}"
    return Known(kind, text, held.at, held.rank.agent, key=key, event=held.rank.hash, branch=branch)


def checkpoint_text(one: Checkpoint) -> str:
    """Say in one line how far a phase is."""
    of = f" of {one.task}" if one.task else ""
    name = f" ({one.name})" if one.name else ""
    return f"Phase {one.phase or '?'}{name}{of}: {one.status or 'pending'}"


def add_elsewhere(tables: Tables, elsewhere: Tables) -> None:
    """Add what another checkout holds and ours does not; of one that both have, the later counts."""
    for kind, table in elsewhere.items():
        ours = tables.setdefault(kind, {})
        for key, known in table.items():
            if key not in ours or ours[key].at < known.at:
                ours[key] = known


def mark_observed(tables: Tables, events: Mapping[str, Event]) -> None:
    """Take over how facts are known from the events that state them, by the events' hashes."""
    marks = {name: {pair.key: pair.value for pair in event.provenance} for name, event in events.items()}
    for table in tables.values():
        for key, known in table.items():
            found = marks.get(known.event, {})
            kinds = [kind for kind, told in TOLD_AS.items() if told is known.kind]
            # Of a test the command alone is the fact; an event shows its exit code too.
            texts = dict.fromkeys((known.text, command_of(known.text)))
            values = [
                found[name] for kind in kinds for text in texts if (name := fact_id(kind, text)) in found
            ]
            if values and values[0] in set(Provenance):
                table[key] = known._replace(provenance=Provenance(values[0]))


# --- journals -------------------------------------------------------------------------------------


def lay_over(tables: Tables, lines: Iterable[JournalLine]) -> None:
    """Apply lines that no event covers, in the order of their time (2)."""
    for line in sorted(lines, key=lambda one: (one.fact.at, one.seq)):
        fact = line.fact
        if fact.kind == FactKind.RETRACTION:
            kind = TOLD_AS.get(fact.key or "")
            if kind is not None:
                _drop(tables, kind, make_key(fact.text), fact.at)
        elif fact.kind == FactKind.ANSWER:
            _drop(tables, FactKind.QUESTION, make_key(fact.key or ""), fact.at)
        elif fact.kind in TOLD_AS:
            _state(tables, fact)


def _drop(tables: Tables, kind: FactKind, key: str, at: datetime) -> None:
    table = tables.get(kind, {})
    if key in table and table[key].at <= at:
        del table[key]


def _state(tables: Tables, fact: Fact) -> None:
    kind = TOLD_AS[fact.kind]
    table, key = tables.setdefault(kind, {}), entry_key(fact.kind, fact)
    if key not in table or table[key].at <= fact.at:
        table[key] = Known(kind, _told(fact), fact.at, fact.agent, fact.provenance, key)


def _told(fact: Fact) -> str:
    """Say a fact as an event would: a decision with its reason, a test with its exit code."""
    if fact.kind == FactKind.DECISION and fact.because:
        return f"{fact.text} ({fact.because})"
    return show_test(fact.text, fact.key or "") if fact.kind == FactKind.TEST else fact.text


def settled_of(lines: Iterable[JournalLine]) -> Settled:
    """Give the feedback that lines answer and the feedback and receipts they take back, with the last time.

    Events cannot say so. Where the lines also tell when it was stated, and that was before, it is settled for
    all times: an event that publishes both is later than either. What is stated again waits again.
    """
    settled: dict[tuple[FactKind, str], datetime] = {}
    stated: set[tuple[FactKind, str]] = set()
    for line in sorted(lines, key=lambda one: (one.fact.at, one.seq)):
        fact = line.fact
        told = TOLD_AS.get(fact.kind)
        void = _voided(fact)
        if told is not None and told in _LASTING:
            for key in ((told, make_key(fact.text)), (told, str(fact.id))):
                stated.add(key)
                settled.pop(key, None)
        elif void is not None:
            settled[void] = _EVER if void in stated else fact.at
    return settled


def _voided(fact: Fact) -> tuple[FactKind, str] | None:
    """Name the feedback that is answered, or the feedback or receipt that is taken back."""
    if fact.kind == FactKind.ANSWER:
        return FactKind.FEEDBACK, make_key(fact.key or "")
    kind = TOLD_AS.get(fact.key or "") if fact.kind == FactKind.RETRACTION else None
    return (kind, make_key(fact.text)) if kind is not None and kind in _LASTING else None


def touches(tables: Tables, settled: Settled) -> bool:
    """Say whether anything that is done with stands in tables at all."""
    return any(
        (kind, name) in settled
        for kind in _LASTING
        for key, known in tables.get(kind, {}).items()
        for name in (key, known.id)
    )


def drop_settled(tables: Tables, settled: Settled) -> None:
    """Take out what was answered or taken back after it was stated (3)."""
    for kind in _LASTING:
        table = tables.get(kind, {})
        for key, known in list(table.items()):
            times = [settled[kind, name] for name in (key, known.id) if (kind, name) in settled]
            if times and max(times) >= known.at:
                del table[key]


# --- aims -----------------------------------------------------------------------------------------


def aim_of(account: Account, before: Sequence[Account] = ()) -> Aim:
    """Give what an account says of its work, or the first of those before it that says anything.

    What it only carried on is said to be of whom it comes from, with the time it was stated.
    """
    chain = (account, *before)
    first = next((number for number, one in enumerate(chain) if one.goal or one.now), len(chain))
    if first == len(chain):
        return Aim()
    goal, now, following = (
        [_origin(kind, entry, chain[first:]) for entry in _entries(chain[first], kind)]
        for kind in (FactKind.GOAL, FactKind.NOW, FactKind.NEXT)
    )
    return Aim(goal[0] if goal else None, now[0] if now else None, tuple(following))


def _entries(account: Account, kind: FactKind) -> tuple[Entry, ...]:
    registers = {FactKind.GOAL: account.goal, FactKind.NOW: account.now}
    if kind not in registers:
        return account.of(kind)
    entry = registers[kind]
    return (entry,) if entry else ()


def _origin(kind: FactKind, entry: Entry, chain: Sequence[Account]) -> Known:
    """Follow a fact that was only carried on to the session that stated it."""
    found = Known(kind, entry.text, entry.at, chain[0].agent, entry.provenance, entry.key)
    for one in chain[1:]:
        same = [before for before in _entries(one, kind) if before.text == found.text]
        if found.provenance is not Provenance.OBSERVED or not same:
            break
        found = Known(kind, found.text, same[0].at, one.agent, same[0].provenance, same[0].key)
    return found


def aims_of_events(events: Iterable[tuple[str, Event]]) -> Mapping[str, Aim]:
    """Give what events say of the work of each agent; the newest event comes first, with its hash."""
    aims: dict[str, Aim] = {}
    for name, event in events:
        if event.ts is None or event.agent is None:
            continue
        at, agent = event.ts, event.agent
        aim = aims.get(agent, Aim())
        if aim.goal is None and event.goal:
            aim = aim._replace(goal=Known(FactKind.GOAL, event.goal, at, agent, event=name))
        if aim.now is None and event.now:
            aim = aim._replace(now=Known(FactKind.NOW, event.now, at, agent, event=name))
        if not aim.next and event.next:
            following = (Known(FactKind.NEXT, text, at, agent, event=name) for text in event.next)
            aim = aim._replace(next=tuple(following))
        aims[agent] = aim
    return aims


def newest_aim(aims: Iterable[Aim]) -> Aim | None:
    """Choose the line of work that was stated last."""
    known = [(aim.at, aim) for aim in aims if aim.at is not None]
    return max(known, key=lambda pair: pair[0])[1] if known else None


def lend_goal(aims: Iterable[Aim]) -> Aim | None:
    """Take the newest goal of sessions that run, and nothing else of theirs (4)."""
    return newest_aim(Aim(goal=aim.goal) for aim in aims)


def known_of(account: Account) -> tuple[Known, ...]:
    """Give every fact that an account holds, of whatever kind."""
    return tuple(
        Known(kind, entry.text, entry.at, account.agent, entry.provenance, entry.key)
        for kind in FactKind
        for entry in _entries(account, kind)
    )
