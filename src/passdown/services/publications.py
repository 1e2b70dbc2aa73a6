"""Publish what a session knows and no event says yet (C57)."""

from passdown.core.accounts import Account, fold_journal
from passdown.core.publications import make_event
from passdown.core.secrets import redact_lines
from passdown.ports.repository import UNKNOWN
from passdown.records import replace
from passdown.services.events import Written, take_in, write_event
from passdown.services.journals import Project
from passdown.settings import EventLayout


def publish(project: Project, session: str, *, kind: str, reason: str) -> Written | None:
    """Write what is open as one event into this checkout; None when nothing is open.

    What an event of this checkout covers is not open. A secret in what was said is redacted, with a mark.
    Raises a StorageError when the event could not be written; the facts stay in the journal, and the next
    time publishes them.
    """
    checkout = project.checkout
    take_in(checkout.log, checkout.index)
    lines, _ = redact_lines(project.journals.read(session))
    event = make_event(
        _where_it_is(project, fold_journal(session, lines)),
        lines,
        checkout.index.published(session).line,
        kind=kind,
        reason=reason,
    )
    if event is None:
        return None
    by_day = checkout.settings.events.layout is EventLayout.DAY
    return write_event(checkout.log, checkout.index, checkout.clock, event, by_day=by_day)


def _where_it_is(project: Project, account: Account) -> Account:
    """Let a session that works here name the branch it is on now."""
    if account.start.checkout != project.root or account.ended_at is not None:
        return account
    branch = project.checkout.repository.branch()
    start = account.start if branch == UNKNOWN else replace(account.start, branch=branch)
    return replace(account, start=start)
