"""Find the decision in force under a key, and a free key for a new one, so that none is lost (C151).

Facts have the form they have in events: the text of a decision includes its reason.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime
from itertools import chain, count
from typing import NamedTuple

from passdown.core.facts import Fact, find_named, make_key, show_reason
from passdown.core.fold import fold
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account, NewFact
from passdown.core.statements import list_other_words, name_statement
from passdown.core.times import next_instant
from passdown.records import replace


class KeyHistory(NamedTuple):
    """The decision in force under a key, the one it replaced, and when the key last changed."""

    held: Fact | None = None
    replaced: Fact | None = None
    at: datetime | None = None
    in_force: tuple[Fact, ...] = ()
    """All decisions that nothing replaces, oldest first; the last one is in force (C162)."""

    @property
    def contested(self) -> tuple[Fact, ...]:
        """Decisions made without knowing of the one in force, newest first."""
        return self.shown[1:]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the statements in force."""
        return tuple(filter(None, map(name_statement, self.in_force)))

    @property
    def shown(self) -> tuple[Fact, ...]:
        """The decisions in force, each wording once, newest first."""
        return list_other_words(self.in_force)

    def choose(self, text: str) -> tuple[Fact, ...]:
        """Return the statements that a text retracts: the one with that wording, else all in force."""
        found = find_named(text, [(make_key(one.text), (one.text,)) for one in self.shown])
        if len(found) != 1:
            return self.in_force
        return tuple(one for one in self.in_force if make_key(one.text) == found[0])


def read_history(said: Iterable[Fact]) -> KeyHistory:
    """Read the history of one key, oldest first; repeating the same text replaces nothing."""
    facts = [*said]
    known = KeyHistory()
    for fact in facts:
        if fact.kind == FactKind.RETRACTION:
            known = KeyHistory(at=fact.at)
        elif known.held is None or make_key(known.held.text) == make_key(fact.text):
            known = known._replace(held=fact, at=fact.at)
        else:
            known = KeyHistory(fact, known.held, fact.at)
    in_force = tuple(one.fact for some in fold(facts).statements.values() for one in some)
    held = in_force[-1] if in_force else None
    replaced = known.replaced if held is known.held and known.replaced not in in_force else None
    return KeyHistory(held, replaced, known.at, in_force)


def says_same(new: NewFact, held: Fact) -> bool:
    """Return whether a decision repeats the one in force; if it has no reason, the reason does not matter."""
    told, known = make_key(_tell(new)), make_key(held.text)
    return told == known or (not new.because and known.startswith(f"{told} (") and known.endswith(")"))


def keep_reason(new: NewFact, held: Fact) -> NewFact:
    """Return a repeated decision with the known reason."""
    is_known = make_key(_tell(new)) == make_key(held.text)
    return new if is_known else new._replace(because=make_key(held.text)[len(make_key(new.text)) + 2 : -1])


def _tell(new: NewFact) -> str:
    return f"{new.text} ({new.because})" if new.because else new.text


def choose_key(new: NewFact, find_held: Callable[[str], Fact | None]) -> str:
    """Return a key under which a decision replaces nothing: its own key, or that with a number."""
    keys = chain([new.key], (f"{new.key}-{number}" for number in count(2)))
    return next(key for key in keys if (held := find_held(key)) is None or says_same(new, held))


def speak_after(account: Account, history: KeyHistory, now: datetime) -> Account:
    """Make the session's next fact later than anything said under a key, whatever its clock says (C120)."""
    if history.at is None:
        return account
    at = next_instant(now, [history.at])
    return replace(account, touched_at=max(at, account.touched_at or at))


def is_own(held: Fact, account: Account, before: Collection[str]) -> bool:
    """Return whether a decision is the session's own: stated or received by it or by one that it continues.

    `before` names the sessions that it continues. If an event has no session, its agent is compared.
    """
    if not held.session:
        return held.agent == account.agent
    received = {fact.session for fact in account.of(FactKind.DECISION) if show_reason(fact) == held.text}
    return held.session in {account.session, *before, *received}
