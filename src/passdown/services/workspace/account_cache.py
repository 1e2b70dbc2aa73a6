"""Cache the accounts of journals."""

from collections.abc import Sequence

from passdown import layout
from passdown.core.formats.journal import JournalLine
from passdown.core.ids import fold_id
from passdown.core.paths import is_below
from passdown.core.sessions.session_facts import Account, fold_journal
from passdown.records import replace


class AccountCache:
    """Accounts by session, each with the lines from which it was folded."""

    def __init__(self, ledgers: str = layout.LEDGERS) -> None:
        """Start empty; `ledgers` is the folder in which ledgers must be."""
        self._ledgers = ledgers
        self._known: dict[str, tuple[Sequence[JournalLine], Account]] = {}

    def fold(self, session: str, lines: Sequence[JournalLine]) -> Account:
        """Return the account of a journal's lines; it is only folded again if they are another object.

        Its ledger is always in the folder of ledgers, whatever the journal says.
        """
        known = self._known.get(session)
        if known is None or known[0] is not lines:
            account = with_safe_ledger(fold_journal(session, lines), self._ledgers)
            known = self._known[session] = (lines, account)
        return known[1]


def with_safe_ledger(account: Account, folder: str) -> Account:
    """Return the account with a ledger in the folder of ledgers: its own, or else its agent's default one.

    The path comes from the journal, which somebody else may have written.
    """
    ledger = account.start.ledger
    if not ledger or (is_below(ledger, folder) and ledger.endswith(f"/{layout.LEDGER}")):
        return account
    usual = f"{folder}/{fold_id(account.agent or account.session)}/{layout.LEDGER}"
    return replace(account, start=replace(account.start, ledger=usual))
