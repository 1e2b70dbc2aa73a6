"""Which session a conversation belongs to that a host begins under a new id, or a start at a terminal."""

from collections.abc import Sequence
from itertools import chain

from passdown.core.sessions.session_facts import Account


def find_cleared(accounts: Sequence[Account]) -> Account | None:
    """Return which of the sessions of one process goes on after a clear: the one that it ended last (C153).

    If the host did not report that end, it is the only session there is; of several, nobody knows which.
    """
    cleared = [(one.cleared_at, number) for number, one in enumerate(accounts) if one.cleared_at]
    if cleared:
        return accounts[max(cleared)[1]]
    return accounts[0] if len(accounts) == 1 else None


def is_empty(account: Account) -> bool:
    """Return whether a session has done nothing yet: what it carried on is not its own, and it holds nothing.

    Nobody named it either, neither a user nor a host.
    """
    facts = (account.goal, account.now, *chain.from_iterable(account.lists.values()))
    is_silent = not any(fact and fact.session == account.session for fact in facts)
    held = (account.track, account.task, account.claims, account.unreleased, account.reservations)
    is_free = not any(held) and not account.unfinished and not account.results
    return is_silent and is_free and not account.host_sessions
