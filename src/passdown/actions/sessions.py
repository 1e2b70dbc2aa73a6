"""Start a session, give a sign of life, publish, end it."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from passdown.actions.answers import NoticeKind
from passdown.actions.callers import Caller
from passdown.core.sessions.session_facts import Account
from passdown.errors import PassdownError
from passdown.records import record

if TYPE_CHECKING:  # most actions neither publish nor commit
    from passdown.services.log.commits import CommitTrigger


@record
class SessionSummary:
    """A session, as every answer that names one describes it."""

    session: Annotated[str, "Its id."]
    agent: Annotated[str, "What it is called."]
    host: Annotated[str, "The program that the agent runs in."]
    checkout: Annotated[str, "The folder that it works in."]
    branch: Annotated[str, "The branch that it works on."]
    ledger: Annotated[str, "The path of its ledger."]
    continues: Annotated[str | None, "The session that it goes on from."]
    started_at: Annotated[datetime | None, "When it started."]
    touched_at: Annotated[datetime | None, "When it last gave a sign of life."]
    ended_at: Annotated[datetime | None, "When it ended."]
    goal: Annotated[str | None, "What it is to achieve."]
    now: Annotated[str | None, "What it is doing."]
    track: Annotated[str | None, "The track that it works on."]
    task: Annotated[str | None, "The task that it works on."]


def summarize(account: Account) -> SessionSummary:
    """Return the summary of a session."""
    return SessionSummary(
        session=account.session,
        agent=account.agent,
        host=account.start.host,
        checkout=account.start.checkout,
        branch=account.branch,
        ledger=account.start.ledger,
        continues=account.start.continues or None,
        started_at=account.started_at,
        touched_at=account.touched_at,
        ended_at=account.ended_at,
        goal=account.goal.text if account.goal else None,
        now=account.now.text if account.now else None,
        track=account.track or None,
        task=account.task or None,
    )


def update_view(caller: Caller) -> None:
    """Update the local view after a start or an event; say what is in the way, and go on (R131, R132)."""
    from passdown.services.log.local_view import update_local_view  # most actions do not publish

    try:
        update_local_view(caller.workspace)
    except PassdownError as found:
        caller.note(NoticeKind.VIEW_NOT_UPDATED, reason=found.message)


def commit_waiting(caller: Caller, triggers: "Sequence[CommitTrigger]") -> str | None:
    """Commit what sessions published, if the settings say so; return the commit, if one was made.

    Only what the user must mend is told.
    """
    from passdown.ports.repository import Committed  # most actions do not commit
    from passdown.services.sessions import owed_commits

    if find_pause(caller):
        return None
    try:
        committed = owed_commits.commit_waiting(caller.workspace, triggers, note=caller.warn)
        trouble = owed_commits.find_trouble(committed)
    except PassdownError as found:  # the session has started, or the event is written
        committed, trouble = None, found.message
    if trouble:
        caller.note(NoticeKind.NOT_COMMITTED, reason=trouble)
    return committed.commit if isinstance(committed, Committed) else None


def find_pause(caller: Caller) -> str:
    """Return what pauses Passdown here, or an empty string if it is not paused."""
    from passdown.services.project.pauses import find_pauses  # few actions ask for it

    return ", ".join(pause.by for pause in find_pauses(caller.workspace, caller.around.variables))
