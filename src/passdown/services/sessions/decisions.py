"""Find the decisions under a key, in events and in the journals of this clone (C151)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from passdown.core.facts import Fact, find_named, is_about, make_key, tell
from passdown.core.formats.journal import Scope, facts_of
from passdown.core.ids import slug
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.merge.ranks import limit_of
from passdown.core.sessions.decisions import (
    KeyHistory,
    choose_key,
    is_own,
    keep_reason,
    read_history,
    says_same,
    speak_after,
)
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account
from passdown.core.statements import REPLACES, UNSEEN, name_statement, write_replaced
from passdown.core.times import age_words
from passdown.errors import CacheError, HeldError
from passdown.services.log.events import update_index
from passdown.services.sessions.journals import read_account, read_open
from passdown.services.workspace.workspaces import Workspace

_NOBODY: Final = Account()
_MOST: Final = 1_000


class Decisions:
    """The decisions that a session knows; each key is looked up once."""

    def __init__(self, workspace: Workspace, account: Account, *, only_own: bool = False) -> None:
        """Update the index; raise a CacheError if it cannot be used.

        With `only_own`, unpublished decisions of other sessions are left out: this session does not know
        them.
        """
        self._workspace = workspace
        self._account = account
        self._known: dict[str, KeyHistory] = {}
        self._only = {account.session, *self._before()} if only_own else None
        update_index(workspace.log, workspace.index)

    def find(self, key: str) -> KeyHistory:
        """Return the decision in force under a key, and the one it replaced."""
        name = make_key(key)
        if name not in self._known:
            self._known[name] = read_history(self._read(name))
        return self._known[name]

    def _read(self, key: str) -> Sequence[Fact]:
        """Read everything said under a key, except facts that are dated too far ahead to count."""
        index = self._workspace.index
        facts = [*index.said(FactKind.DECISION.value, key)]
        for session in self._workspace.journals.mentioning(Scope.LIVE, dump(key)):
            if self._only is not None and session not in self._only:
                continue
            covered = index.published(session).line  # events have those lines, possibly with other times
            lines = (line for line in self._workspace.journals.read(session) if line.seq > covered)
            said = map(tell, facts_of(session, lines))
            facts += [fact for fact in said if is_about(fact, FactKind.DECISION.value, key)]
        limit = limit_of(index.newest(self._workspace.now()).present)
        counted = [fact for fact in facts if fact.at <= limit]
        return sorted(counted, key=lambda fact: (fact.at, fact.session == self._account.session))

    def find_others(self, new: NewFact) -> Fact | None:
        """Return the decision of another session that a new one would replace."""
        held = self.find(new.key).held
        if held is None or says_same(new, held):
            return None
        return None if is_own(held, self._account, [*self._before()]) else held

    def choose_key(self, new: NewFact) -> str:
        """Return a key under which the decision replaces nothing."""
        return choose_key(new, lambda key: self.find(key).held)

    def _before(self) -> Iterator[str]:
        """Yield all sessions that this one continues, up to a fresh one."""
        seen, start = set[str](), self._account.start
        while start.continues and not start.is_fresh and start.continues not in seen:
            seen.add(start.continues)
            yield start.continues
            start = read_account(self._workspace, start.continues).start


class PlannedDecision(NamedTuple):
    """What a decision would do if it were recorded."""

    fact: NewFact
    """The decision with its key; if it repeats the one in force, with the known reason."""
    replaces: tuple[Fact, ...] = ()
    """The different decisions it replaces, newest first: more than one if they contradict each other."""
    free_key: str = ""
    """If it would replace another session's decision: a key under which it replaces nothing."""
    speaker: Account = _NOBODY
    """The deciding session, with a time later than everything said about the key."""


def plan_decision(workspace: Workspace, account: Account, new: NewFact) -> PlannedDecision:
    """Find what a decision would replace; one without a key gets a key under which it replaces nothing."""
    decisions = Decisions(workspace, account)
    if not new.key:
        new = new._replace(key=slug(new.text))
        new = new._replace(key=decisions.choose_key(new))
    history = decisions.find(new.key)
    held, speaker = history.held, speak_after(account, history, workspace.now())
    new = new._replace(others=(*new.others, *write_replaced(history.names)))
    if held is None:
        return PlannedDecision(new, speaker=speaker)
    if says_same(new, held):
        return PlannedDecision(keep_reason(new, held), history.contested, speaker=speaker)
    is_others = decisions.find_others(new) is not None
    told = tuple(one for one in (held, *history.contested) if not says_same(new, one))
    return PlannedDecision(new, told, decisions.choose_key(new) if is_others else "", speaker)


def need_replaceable(workspace: Workspace, planned: PlannedDecision) -> None:
    """Raise a HeldError if a decision would replace another session's."""
    if not planned.replaces or not planned.free_key:
        return
    what = "it" if len(planned.replaces) == 1 else "them"
    shown = UNSEEN.join(
        f"{one.text} ({one.agent}, {age_words(workspace.now() - one.at)} ago)" for one in planned.replaces
    )
    raise HeldError(
        f"{planned.fact.key} is already decided: {shown}",
        hint=f"add --replace to replace {what}, or choose another key, such as {planned.free_key}",
    )


def find_history(workspace: Workspace, account: Account, key: str) -> KeyHistory:
    """Return the decision in force under a key, and the one it replaced; nothing without a cache."""
    try:
        return Decisions(workspace, account).find(key)
    except CacheError:
        return KeyHistory()


def retract_only(new: NewFact, gone: Iterable[Fact]) -> NewFact:
    """Limit the retraction of a decision to these statements of its key."""
    return new._replace(others=(*new.others, *write_replaced(filter(None, map(name_statement, gone)))))


def read_contested(workspace: Workspace) -> Sequence[Sequence[Fact]]:
    """Return the contested decisions of each key, newest key first.

    Unpublished decisions of sessions here count too. Without a cache there are none.
    """
    try:
        decisions = Decisions(workspace, _NOBODY)
        until = limit_of(workspace.index.newest(workspace.now()).present)
        told = [facts[0].key for facts in workspace.index.digest(_MOST, until).contested]
        said = (fact.key for account in read_open(workspace) for fact in account.of(FactKind.DECISION))
        shown = [decisions.find(key).shown for key in dict.fromkeys(map(make_key, (*told, *said)))]
    except CacheError:
        return ()
    contested = [facts for facts in shown if len(facts) > 1]
    return sorted(contested, key=lambda facts: facts[0].at, reverse=True)


def find_contested_key(workspace: Workspace, text: str) -> str:
    """Return the only contested key that a text names, or whose decision starts with it; else empty."""
    contested = [(facts[0].key, [one.text for one in facts]) for facts in read_contested(workspace)]
    found = find_named(text, [(key, (key, *texts)) for key, texts in contested])
    return found[0] if len(found) == 1 else ""


def name_replaced(workspace: Workspace, account: Account, said: Sequence[NewFact]) -> Sequence[NewFact]:
    """Add to decisions, and retractions of them, the names of what is in force for their session (C162).

    A carried-on decision replaces what its original replaced. Without a cache, nothing is named. Unpublished
    decisions of others are not in force for the session, unless a command showed them and named them.
    """
    wanted = {one: key for one in said if (key := _key_to_name(one))}
    if not wanted:
        return said
    try:
        decisions = Decisions(workspace, account, only_own=True)
        named = {one: write_replaced(decisions.find(key).names) for one, key in wanted.items()}
    except CacheError:
        return said
    return [one._replace(others=(*one.others, *named[one])) if one in named else one for one in said]


def _key_to_name(new: NewFact) -> str:
    """Return the key of a decision or its retraction that does not name yet what it replaces; else empty."""
    if new.origin is not None or any(name == REPLACES for name, _ in new.others):
        return ""
    if new.kind is FactKind.DECISION:
        return new.key or slug(new.text)
    return new.text if new.kind is FactKind.RETRACTION and new.key == FactKind.DECISION else ""


def keep_apart(workspace: Workspace, account: Account, edits: Sequence[NewFact]) -> Sequence[NewFact]:
    """Move decisions that were written into a ledger under another session's key to a free key.

    The old text of such a row is not retracted: that would retract the other session's decision.
    """
    decisions = Decisions(workspace, account)
    taken = {
        one.key for one in edits if one.kind is FactKind.DECISION and decisions.find_others(one) is not None
    }
    kept = [
        one
        for one in edits
        if not (one.kind is FactKind.RETRACTION and one.key == FactKind.DECISION and one.text in taken)
    ]
    return [
        one._replace(key=decisions.choose_key(one))
        if one.kind is FactKind.DECISION and one.key in taken
        else one
        for one in kept
    ]
