"""Where a session's ledger is."""

from passdown import layout
from passdown.core.ids import fold_id
from passdown.core.paths import is_below
from passdown.core.sessions.session_facts import Account
from passdown.records import replace


def with_safe_ledger(account: Account, folder: str) -> Account:
    """Return the account with a ledger in the folder of ledgers: its own, or else the usual one of its agent.

    The path comes from the journal, which somebody else may have written.
    """
    ledger = account.start.ledger
    if not ledger or (is_below(ledger, folder) and ledger.endswith(f"/{layout.LEDGER}")):
        return account
    usual = f"{folder}/{fold_id(account.agent or account.session)}/{layout.LEDGER}"
    return replace(account, start=replace(account.start, ledger=usual))
