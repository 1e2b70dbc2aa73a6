"""End a session: archive its ledger, update the view, and commit our files (C36)."""

from typing import Annotated

from passdown.core.sessions.session_facts import Account
from passdown.errors import PassdownError, StorageError
from passdown.ports.repository import Committed, Skipped
from passdown.records import record
from passdown.services.log.commits import CommitTrigger, NotDue, list_uncommitted
from passdown.services.log.events import WrittenEvent
from passdown.services.log.synthesis import synthesize
from passdown.services.log.views import WrittenView
from passdown.services.sessions.archives import SESSION_END, ArchivedLedger, archive_ledger
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.ledgers import open_ledger, write_back
from passdown.services.sessions.pending_commits import commit_events
from passdown.services.sessions.sessions import publish_end
from passdown.services.workspace.workspaces import Workspace


@record
class ClosedSession:
    """A session that ended, and what was done for it."""

    account: Annotated[Account, "Its last account."]
    written: Annotated[WrittenEvent | None, "The event; None if there was nothing new to publish."]
    archived: Annotated[ArchivedLedger | None, "The record of its ledger; None if it could not be written."]
    committed: Annotated[
        Committed | Skipped | NotDue | None,
        "Whether our files were committed; None if there was nothing to publish.",
    ]
    view: Annotated[
        WrittenView | None, "The result of updating the view; None if it was not or could not be written."
    ]
    troubles: Annotated[tuple[PassdownError, ...], "What failed; the next start or end retries it."]


def close_session(
    workspace: Workspace, account: Account, reason: str = SESSION_END, *, keep: bool = False
) -> ClosedSession:
    """End a session completely; with `keep`, its ledger stays until the next start (C37).

    The event is written first, so that everything the session knew is safe. Later failures are reported and
    retried next time; if the view fails, the commit is made without it.
    """
    is_here = account.start.checkout == workspace.root
    opened = open_ledger(workspace, account) if is_here else None
    written = publish_end(workspace, account, reason)
    ended = read_account(workspace, account.session)
    troubles: list[PassdownError] = []
    archived: ArchivedLedger | None = None
    try:
        if opened is not None and keep:
            write_back(workspace, opened)
        elif opened is not None and opened.reading.text:
            archived = archive_ledger(workspace, ended, SESSION_END, opened=opened)
    except StorageError as found:
        troubles.append(found)
    committed: Committed | Skipped | NotDue | None = None
    view: WrittenView | None = None
    # A session with nothing to publish changes no view and causes no commit (C163).
    if written or (archived and archived.path):
        try:
            made = synthesize(workspace, trigger=CommitTrigger.SESSION_END, to_commit=True)
            committed, view = made.committed, made.written
        except PassdownError as found:
            troubles.append(found)
            committed = commit_events(workspace, CommitTrigger.SESSION_END, list_uncommitted(workspace))
    return ClosedSession(
        account=ended,
        written=written,
        archived=archived,
        committed=committed,
        view=view,
        troubles=tuple(troubles),
    )
