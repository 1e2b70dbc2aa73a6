"""Find what is decided under a key, in events and in the journals of this clone (C151)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from passdown.core.facts import Fact, find_named, is_about, make_key, tell
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
from passdown.core.statements import REPLACES, UNSEEN, name_statement, write_replaced
from passdown.core.times import age_words
from passdown.errors import CacheError, HeldError
from passdown.services.log.events import update_index
from passdown.services.sessions.journals import read_account, read_open
from passdown.services.workspace.workspaces import Workspace

_NOBODY: Final = Account()
_MOST: Final = 1_000


class Decisions:
    """What is decided, as a session knows it: each key is looked up once."""

    def __init__(self, workspace: Workspace, account: Account, *, only_own: bool = False) -> None:
        """Bring the index up to date; raise a CacheError if it cannot be used.

        With `only_own`, what other sessions have not published is left out: nobody told this one of it.
        """
        self._workspace = workspace
        self._account = account
        self._known: dict[str, KeyHistory] = {}
        self._only = {account.session, *self._before()} if only_own else None
        update_index(workspace.log, workspace.index)

    def find(self, key: str) -> KeyHistory:
        """Return the decision that holds under a key, and the one that it replaced."""
        name = make_key(key)
        if name not in self._known:
            self._known[name] = read_history(self._read(name))
        return self._known[name]

    def _read(self, key: str) -> Sequence[Fact]:
        """Read all that was said under a key, without what is dated so far ahead that it counts nowhere."""
        index = self._workspace.index
        facts = [*index.said(FactKind.DECISION.value, key)]
        for session in self._workspace.journals.mentioning(dump(key)):
            if self._only is not None and session not in self._only:
                continue
            covered = index.published(session).line  # events tell of those lines, and may move them in time
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
    replaces: tuple[Fact, ...] = ()
    """What it replaces and says in other words, the newest first: more than one if they contradict."""
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
    """Return the decision that holds under a key, and the one that it replaced; nothing without a cache."""
    try:
        return Decisions(workspace, account).find(key)
    except CacheError:
        return KeyHistory()


def retract_only(new: NewFact, gone: Iterable[Fact]) -> NewFact:
    """Let a retraction of a decision take out these statements and no others of its key."""
    return new._replace(others=(*new.others, *write_replaced(filter(None, map(name_statement, gone)))))


def read_contested(workspace: Workspace) -> Sequence[Sequence[Fact]]:
    """Return the decisions of each key that did not know of each other, the newest key first.

    Those that sessions here have not published yet count, too. Without a cache there are none.
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
    """Return the only contested key that a text names, or whose decision begins so; else an empty text."""
    contested = [(facts[0].key, [one.text for one in facts]) for facts in read_contested(workspace)]
    found = find_named(text, [(key, (key, *texts)) for key, texts in contested])
    return found[0] if len(found) == 1 else ""


def name_replaced(workspace: Workspace, account: Account, said: Sequence[NewFact]) -> Sequence[NewFact]:
    """Let decisions, and retractions of them, name what is in force for the session that says them (C162).

    What is carried on replaces what the first statement replaced. Where nobody can look, nothing is named.
    What others here have not published is not in force for it, unless a command showed it and named it.
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
    """Return the key of a decision that is stated or taken back and does not say yet what it replaces."""
    if new.origin is not None or any(name == REPLACES for name, _ in new.others):
        return ""
    if new.kind is FactKind.DECISION:
        return new.key or slug(new.text)
    return new.text if new.kind is FactKind.RETRACTION and new.key == FactKind.DECISION else ""


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
