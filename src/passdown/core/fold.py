"""Folding: decides which of several facts hold. Session, event, view, brief and certificate use this.

Facts are taken in order, oldest first; facts with the same identity (`core.facts.identify`) are one fact.

1. Register (goal, now): the last one holds. In a journal, a fact that was only observed, or carried on from
   another session, does not replace a stated one, and a prompt replaces nothing but a prompt.
2. Steps (next): a list replaces the previous list; added steps are appended.
3. Set and map (done, questions, decisions, …): the last of each identity holds and moves to the end. A test
   without a known result does not replace one with a known result.
4. Phases (checkpoints, gates, the test-first cycle): the last of each phase holds; the history is kept too.
5. A retraction removes the fact it names, until that is stated again. In an event it names a goal or now by
   its text, because another may hold by then. A retracted receipt removes the test with that name too.
6. An answer removes the question or feedback it names, by text or id, and itself holds. An answer in an event
   only holds: the event lists separately what it removes.
7. A step that is done is no longer the current step.
8. A decision, or a retraction of one, removes the statements under its key that it names (`core.statements`).
   Of those that remain, the newest holds, and the others are kept beside it.
9. What a session holds or has started (claims, reservations, operations, results) is in a separate table from
   the line that starts it to the line that ends it (`core.holds`). The last line of a session ends all its
   claims and reservations.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from passdown.core.facts import ADD, PROMPTED, Fact, Provenance, identify, identify_retracted, make_key
from passdown.core.holds import LET_GO, PUBLISHED, read_changes
from passdown.core.kinds import FactKind, Merging
from passdown.core.lazy_regex import pattern
from passdown.core.statements import list_other_words, list_replaced, name_statement, read_name

Table = dict[str, Fact]
Tables = dict[str, Table]
"""The facts that hold: by kind, then by identity, oldest first."""

Ended = Callable[[Fact, Fact], None]
"""Called with a fact that no longer holds, and the fact that replaced or removed it."""


class Statement(NamedTuple):
    """A decision in force, and its position among all decisions."""

    number: int
    fact: Fact


class InForce:
    """The decisions in force under one key, oldest first, by name."""

    def __init__(self) -> None:
        """Start with none."""
        self._by_name: dict[str, Statement] = {}
        self._by_session: dict[str, list[tuple[int, str]]] = {}

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._by_name)

    def __iter__(self) -> Iterator[Statement]:
        """Yield them, oldest first."""
        return iter(self._by_name.values())

    @property
    def last(self) -> Statement:
        """The newest one."""
        return next(reversed(self._by_name.values()))

    def add(self, statement: Statement, name: str) -> None:
        """Add a statement; one without a name can only be removed together with all others."""
        self._by_name[name or f" {statement.number}"] = statement
        origin = read_name(name)
        if origin is not None:
            insort(self._by_session.setdefault(origin.session, []), (origin.number, name))

    def take_out(self, by: Fact) -> list[Fact]:
        """Remove what a statement or retraction replaces, and return it."""
        names = list_replaced(by)
        if names is None:
            gone = [one.fact for one in self]
            self._by_name.clear()
            self._by_session.clear()
            return gone
        if by.kind == _DECISION:
            own = name_statement(by)
            names = (*names, own, *self._earlier(own))
        found = (self._by_name.pop(name, None) for name in names)
        return [one.fact for one in found if one is not None]

    def _earlier(self, name: str) -> Sequence[str]:
        """Return the names of the earlier statements of a statement's session."""
        origin = read_name(name)
        known = self._by_session.get(origin.session, []) if origin else []
        count = bisect_left(known, (origin.number, "")) if origin else 0
        earlier = [one for _, one in known[:count]]
        del known[:count]
        return earlier


class Folded:
    """The facts that hold so far, and the history of phases."""

    def __init__(self, ended: Ended | None = None, own: str = "") -> None:
        """Start with nothing."""
        self.own = own
        self.tables: Tables = {}
        self.phases: dict[str, list[Fact]] = {}
        self.statements: dict[str, InForce] = {}
        self.held: Tables = {}
        self.ended = ended
        self._number = 0
        self._is_disordered = False

    def of(self, kind: str) -> tuple[Fact, ...]:
        """Return the facts of a kind that hold, oldest first."""
        return tuple(self.tables.get(kind, {}).values())

    def held_of(self, name: str) -> Mapping[str, Fact]:
        """Return what a session holds or has started, of one sort, by key (9)."""
        return self.held.get(name, {})

    def hold(self, fact: Fact, key: str) -> None:
        """Let a fact hold, replacing the one with the same key."""
        table = self.tables.get(fact.kind)
        if table is None:
            table = self.tables[fact.kind] = {}
        if key in table:
            old = table.pop(key)
            if self.ended is not None:
                self.ended(old, fact)
        table[key] = fact

    def end(self, kind: str, key: str, by: Fact) -> None:
        """Remove a fact that no longer holds."""
        old = self.tables.get(kind, {}).pop(key, None)
        if old is not None and self.ended is not None:
            self.ended(old, by)

    def list_contested(self) -> tuple[tuple[Fact, ...], ...]:
        """Return the decisions of each key with several in force; keys and decisions are newest first."""
        several = [one for one in self.statements.values() if len(one) > 1]
        several.sort(key=_place_of, reverse=True)
        shown = (list_other_words([one.fact for one in statements]) for statements in several)
        return tuple(facts for facts in shown if len(facts) > 1)

    def state(self, fact: Fact, key: str) -> None:
        """Put a decision in force, and remove those that it replaces (8)."""
        known = self._take_out(fact, key)
        self._number += 1
        if known and self.own and fact.session != self.own and known.last.fact.session == self.own:
            # A decision that is carried on does not overrule one that the session itself stated.
            if self.ended is not None:
                self.ended(fact, known.last.fact)
        else:
            known.add(Statement(self._number, fact), name_statement(fact))
        self._settle(key, known)

    def take_back(self, fact: Fact, key: str) -> None:
        """Remove the decisions that a retraction names (8)."""
        known = self._take_out(fact, key)
        self._is_disordered |= bool(known)
        self._settle(key, known)

    def _take_out(self, by: Fact, key: str) -> InForce:
        known = self.statements.get(key)
        if known is None or not (by.others or self.ended):  # without names it replaces all of them
            return InForce()
        for old in known.take_out(by):
            if self.ended is not None:
                self.ended(old, by)
        return known

    def _settle(self, key: str, known: InForce) -> None:
        table = self.tables.setdefault(_DECISION, {})
        table.pop(key, None)
        self.statements.pop(key, None)
        if known:
            self.statements[key] = known
            table[key] = known.last.fact

    def put_in_order(self) -> None:
        """Sort decisions by when they were stated."""
        if self._is_disordered:
            table = self.tables[_DECISION]
            keys = sorted(table, key=lambda key: _place_of(self.statements[key]))
            self.tables[_DECISION] = {key: table[key] for key in keys}


def _place_of(in_force: InForce) -> int:
    return in_force.last.number


def fold(facts: Iterable[Fact], ended: Ended | None = None, own: str = "") -> Folded:
    """Return which facts hold; see the cases above. `ended` is called for every fact that no longer holds.

    `own` is the session whose journal is folded; it is empty for the facts of several sessions.
    """
    folded = Folded(ended, own)
    take_of = dict(_TAKE).get  # a log has a million facts; a view of a mapping is slower
    for fact in facts:
        take = take_of(fact.kind)
        if take is not None:
            take(folded, fact)
    folded.put_in_order()
    return folded


def _take_register(folded: Folded, fact: Fact) -> None:  # 1
    known = folded.tables.get(fact.kind, {}).get("")
    if known is None or not _is_weaker(fact, known, folded.own):
        folded.hold(fact, "")
    elif folded.ended is not None:
        folded.ended(fact, known)


def _is_weaker(fact: Fact, known: Fact, own: str) -> bool:
    """Return whether a goal or now in a journal is too weak to replace the known one (1)."""
    if fact.event:
        return False
    is_prompt = fact.key == PROMPTED and known.key != PROMPTED
    return is_prompt or (not _is_stated(fact, own) and _is_stated(known, own))


def _is_stated(fact: Fact, own: str) -> bool:
    is_carried = bool(own) and fact.session != own
    return not is_carried and fact.provenance is not Provenance.OBSERVED


def _take_steps(folded: Folded, fact: Fact) -> None:  # 2
    if fact.key != ADD:
        for key in list(folded.tables.get(fact.kind, ())):
            folded.end(fact.kind, key, fact)
    for step in fact.steps:
        folded.hold(fact._replace(text=step), make_key(step))


def _take_one(folded: Folded, fact: Fact) -> None:  # 3
    name = identify(fact)
    if fact.kind == FactKind.TEST.value and not fact.key:
        known = folded.tables.get(fact.kind, {}).get(name)
        if known is not None and known.key:
            if folded.ended is not None:
                folded.ended(fact, known)
            return
    folded.hold(fact, name)
    if fact.kind == FactKind.DONE.value:
        _end_now(folded, fact)


def _take_decision(folded: Folded, fact: Fact) -> None:  # 8
    folded.state(fact, identify(fact))


def _take_phase(folded: Folded, fact: Fact) -> None:  # 4
    folded.phases.setdefault(fact.kind, []).append(fact)
    folded.hold(fact, identify(fact))


def _end_now(folded: Folded, fact: Fact) -> None:  # 7
    if _is_held(folded, FactKind.NOW.value, fact.text):
        folded.end(FactKind.NOW.value, "", fact)


def _is_held(folded: Folded, register: str, text: str) -> bool:
    known = folded.tables.get(register, {}).get("")
    return known is not None and make_key(known.text) == make_key(text)


def _take_retraction(folded: Folded, fact: Fact) -> None:  # 5
    name = identify_retracted(fact)
    if fact.key == _DECISION:
        folded.take_back(fact, name)
    elif name or not fact.event or _is_held(folded, fact.key, fact.text):
        folded.end(fact.key, name, fact)
        if fact.key == FactKind.RECEIPT.value:
            folded.end(FactKind.TEST.value, name, fact)


def _take_answer(folded: Folded, fact: Fact) -> None:  # 6
    for kind in () if fact.event else ANSWERED:
        table = folded.tables.get(kind, {})
        name = make_key(fact.key)
        if name not in table and _ID.fullmatch(name):
            name = next((key for key, one in table.items() if one.id == fact.key), name)
        folded.end(kind, name, fact)
    folded.hold(fact, identify(fact))


def _take_held(folded: Folded, fact: Fact) -> None:  # 9
    for change in read_changes(fact):
        table = folded.held.setdefault(change.table, {})
        table.pop(fact.key, None)
        if change.is_held:
            table[fact.key] = fact


def _take_end(folded: Folded, fact: Fact) -> None:  # 9
    for name in LET_GO if fact.key == PUBLISHED else ():
        folded.held.pop(name, None)


_DECISION: Final = FactKind.DECISION.value
_ID: Final = pattern(r"[0-9a-f]{12}")
ANSWERED: Final = (FactKind.QUESTION.value, FactKind.FEEDBACK.value)
_BY_MERGING: Final[Mapping[Merging, Callable[[Folded, Fact], None]]] = MappingProxyType(
    {
        Merging.REGISTER: _take_register,
        Merging.STEPS: _take_steps,
        Merging.SET: _take_one,
        Merging.MAP: _take_decision,
        Merging.PHASES: _take_phase,
        Merging.HELD: _take_held,
    }
)
_TAKE: Final[Mapping[str, Callable[[Folded, Fact], None]]] = MappingProxyType(
    {
        **{
            kind.value: _BY_MERGING[kind.row.merging]
            for kind in FactKind
            if kind.row.merging is not Merging.NONE
        },
        FactKind.ANSWER.value: _take_answer,
        FactKind.RETRACTION.value: _take_retraction,
        FactKind.END.value: _take_end,
    }
)
