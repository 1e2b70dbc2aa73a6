"""Which session a conversation belongs to that a host begins under a new id."""

from collections.abc import Sequence

from passdown.core.sessions.session_facts import Account


def find_cleared(accounts: Sequence[Account]) -> Account | None:
    """Return which of the sessions of one process goes on after a clear: the one that it ended last (C153).

    If the host did not report that end, it is the only session there is; of several, nobody knows which.
    """
    cleared = [(one.cleared_at, number) for number, one in enumerate(accounts) if one.cleared_at]
    if cleared:
        return accounts[max(cleared)[1]]
    return accounts[0] if len(accounts) == 1 else None
