"""Find the session to which a new conversation of a host, or a start at a terminal, belongs."""

from collections.abc import Sequence
from itertools import chain

from passdown.core.sessions.session_facts import Account


def find_cleared(accounts: Sequence[Account]) -> Account | None:
    """Return the session of a process that continues after a clear: the one cleared last (C153).

    If the host did not report a clear, it is the only session; with several, the answer is unknown.
    """
    cleared = [(one.cleared_at, number) for number, one in enumerate(accounts) if one.cleared_at]
    if cleared:
        return accounts[max(cleared)[1]]
    return accounts[0] if len(accounts) == 1 else None


def is_empty(account: Account) -> bool:
    """Return whether a session has done nothing yet: no facts of its own, nothing held.

    It also has no name from a user or a host. Carried-on facts are not its own.
    """
    facts = (account.goal, account.now, *chain.from_iterable(account.lists.values()))
    is_silent = not any(fact and fact.session == account.session for fact in facts)
    held = (account.track, account.task, account.claims, account.unreleased, account.reservations)
    is_free = not any(held) and not account.unfinished and not account.results
    return is_silent and is_free and not account.host_sessions
