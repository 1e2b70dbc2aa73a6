"""Cache what journals add up to."""

from collections.abc import Sequence

from passdown import layout
from passdown.core.formats.journal import JournalLine
from passdown.core.sessions.ledger_paths import with_safe_ledger
from passdown.core.sessions.session_facts import Account, fold_journal


class AccountCache:
    """Accounts by session, each with the lines from which it was folded."""

    def __init__(self, ledgers: str = layout.LEDGERS) -> None:
        """Start empty; `ledgers` is the folder in which a session may keep its ledger."""
        self._ledgers = ledgers
        self._known: dict[str, tuple[Sequence[JournalLine], Account]] = {}

    def fold(self, session: str, lines: Sequence[JournalLine]) -> Account:
        """Return the account of a journal's lines; it is only recomputed if they are another object.

        Its ledger is below the folder of ledgers, whatever the journal says.
        """
        known = self._known.get(session)
        if known is None or known[0] is not lines:
            account = with_safe_ledger(fold_journal(session, lines), self._ledgers)
            known = self._known[session] = (lines, account)
        return known[1]
