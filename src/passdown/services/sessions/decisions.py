"""Find what is decided under a key, in events and in the journals of this clone (C151)."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from passdown.core.facts import Fact, is_about, make_key, tell
from passdown.core.formats.journal import facts_of
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
from passdown.errors import CacheError
from passdown.services.log.events import update_index
from passdown.services.sessions.journals import read_account
from passdown.services.workspace.workspaces import Workspace

_NOBODY: Final = Account()


class Decisions:
    """What is decided, as a session knows it: each key is looked up once."""

    def __init__(self, workspace: Workspace, account: Account) -> None:
        """Bring the index up to date; raise a CacheError if it cannot be used."""
        self._workspace = workspace
        self._account = account
        self._known: dict[str, KeyHistory] = {}
        update_index(workspace.log, workspace.index)

    def find(self, key: str) -> KeyHistory:
        """Return the decision that holds under a key, and the one that it replaced."""
        name = make_key(key)
        if name not in self._known:
            self._known[name] = read_history(self._read(name))
        return self._known[name]

    def _read(self, key: str) -> Sequence[Fact]:
        """Read all that was said under a key, without what is dated so far ahead that it counts nowhere."""
        facts = [*self._workspace.index.said(FactKind.DECISION.value, key)]
        for session in self._workspace.journals.mentioning(dump(key)):
            said = map(tell, facts_of(session, self._workspace.journals.read(session)))
            facts += [fact for fact in said if is_about(fact, FactKind.DECISION.value, key)]
        limit = limit_of(self._workspace.index.newest(self._workspace.now()).present)
        counted = [fact for fact in facts if fact.at <= limit]
        return sorted(counted, key=lambda fact: (fact.at, fact.session == self._account.session))

    def find_others(self, new: NewFact) -> Fact | None:
        """Return the decision of another session that a new one would replace."""
        held = self.find(new.key).held
        if held is None or says_same(new, held):
            return None
        return None if is_own(held, self._account, [*self._before()]) else held

    def choose_key(self, new: NewFact) -> str:
        """Return the key of a decision under which it replaces nothing."""
        return choose_key(new, lambda key: self.find(key).held)

    def _before(self) -> Iterator[str]:
        """Name the sessions that this one continues, however many there are; one that is fresh does not."""
        seen, start = set[str](), self._account.start
        while start.continues and not start.is_fresh and start.continues not in seen:
            seen.add(start.continues)
            yield start.continues
            start = read_account(self._workspace, start.continues).start


class PlannedDecision(NamedTuple):
    """What a decision would do."""

    fact: NewFact
    """The decision with its key, and with the reason that is known if it says the same."""
    replaces: Fact | None = None
    free_key: str = ""
    """If what it replaces is another session's: a key under which it replaces nothing."""
    speaker: Account = _NOBODY
    """The session that decides, which speaks after all that was said of the key."""


def plan_decision(workspace: Workspace, account: Account, new: NewFact) -> PlannedDecision:
    """Find what a decision replaces; one without a key gets one under which it replaces nothing."""
    decisions = Decisions(workspace, account)
    if not new.key:
        new = new._replace(key=slug(new.text))
        new = new._replace(key=decisions.choose_key(new))
    history = decisions.find(new.key)
    held, speaker = history.held, speak_after(account, history, workspace.now())
    if held is None:
        return PlannedDecision(new, speaker=speaker)
    if says_same(new, held):
        return PlannedDecision(keep_reason(new, held), speaker=speaker)
    is_others = decisions.find_others(new) is not None
    return PlannedDecision(new, held, decisions.choose_key(new) if is_others else "", speaker)


def find_history(workspace: Workspace, account: Account, key: str) -> KeyHistory:
    """Return the decision that holds under a key, and the one that it replaced; nothing without a cache."""
    try:
        return Decisions(workspace, account).find(key)
    except CacheError:
        return KeyHistory()


def keep_apart(workspace: Workspace, account: Account, edits: Sequence[NewFact]) -> Sequence[NewFact]:
    """Keep decisions that were written into a ledger under another session's key under a free one.

    What the row said before is not retracted then: that would take out the other's decision.
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
