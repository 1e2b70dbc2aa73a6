"""What follows the end of a session: archive of its ledger, view, and a commit of our files (C36)."""

from collections.abc import Sequence
from typing import Annotated

from passdown.core.accounts import Account
from passdown.errors import PassdownError, StorageError
from passdown.ports.repository import Committed, Skipped
from passdown.records import record
from passdown.services.archives import SESSION_END, Archived, archive_ledger
from passdown.services.commits import NotDue, Trigger
from passdown.services.events import Written
from passdown.services.journals import Project, read_account
from passdown.services.sessions import end_session
from passdown.services.synthesis import synthesize


@record
class Closed:
    """A session that ended, and what came of it."""

    account: Annotated[Account, "What it knew."]
    written: Annotated[Written | None, "The event; None when everything was published already."]
    archived: Annotated[Archived | None, "The record of its ledger; None when it could not be written."]
    committed: Annotated[Committed | Skipped | NotDue | None, "Whether our files were committed."]
    troubles: Annotated[tuple[PassdownError, ...], "What could not be done; the next start or end does it."]


def close_session(
    project: Project, account: Account, reason: str = SESSION_END, *, keep: bool = False
) -> Closed:
    """End a session and do all that follows; with `keep` its ledger stays until the next start (C37).

    The event comes first: what was known is safe with it. What fails after it is told and left to the next.
    """
    written = end_session(project, account, reason)
    ended = read_account(project, account.session)
    troubles: list[PassdownError] = []
    archived: Archived | None = None
    try:
        if not keep and _is_here(project, ended):
            archived = archive_ledger(project, ended, SESSION_END)
    except StorageError as found:
        troubles.append(found)
    committed: Committed | Skipped | NotDue | None = None
    try:
        committed = bring_up_to_date(project, Trigger.SESSION_END)
    except PassdownError as found:
        troubles.append(found)
    return Closed(
        account=ended, written=written, archived=archived, committed=committed, troubles=tuple(troubles)
    )


def _is_here(project: Project, account: Account) -> bool:
    return account.start.checkout == project.root and project.checkout.documents.exists(account.start.ledger)


def bring_up_to_date(
    project: Project, trigger: Trigger, also: Sequence[str] = ()
) -> Committed | Skipped | NotDue | None:
    """Make the view from what is published, and commit it where the settings say so (R131 to R135)."""
    return synthesize(project.checkout, trigger=trigger, to_commit=True, also=also).committed
