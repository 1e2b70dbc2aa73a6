"""Take in, at the start of a session, the documents that its brief would tell of (C147, R235)."""

from contextlib import suppress

from passdown.core.facts import Provenance
from passdown.core.formats.journal import facts_of
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact, fits_a_line
from passdown.core.sessions.session_facts import Account
from passdown.errors import PassdownError
from passdown.services.handover.intake import take_in_stream
from passdown.services.handover.streams import find_stream, read_stream
from passdown.services.sessions.ledgers import update_ledger
from passdown.services.sessions.other_documents import list_streams, read_other_context
from passdown.services.workspace.workspaces import Workspace


def take_in_documents(workspace: Workspace, account: Account) -> Account:
    """Take in stream documents that nobody knows, and edits of the one that the session keeps.

    What cannot be kept is left: a start never fails because of it, and the brief reads the document itself.
    """
    own = ""
    with suppress(PassdownError):
        own = find_stream(workspace, account)
    for name, path in list_streams(workspace):
        with suppress(PassdownError):
            stream = read_stream(workspace, path)
            account = take_in_stream(workspace, account, name, stream, is_own=path == own)
    return _take_in_context(workspace, account)


def _take_in_context(workspace: Workspace, account: Account) -> Account:
    """Let the first session that says something go on from the anchored context that lies here (R235)."""
    found = None if account.start.is_fresh else read_other_context(workspace, account)
    if found is None:
        return account
    said = [
        NewFact(FactKind(one.kind), one.text, one.key, one.because, origin=one)
        for one in facts_of(found.author, found.lines)
    ]
    said = [one for one in said if fits_a_line(one)]
    return update_ledger(workspace, account, said, provenance=Provenance.OBSERVED).account
