"""The summary of a session, its heartbeat, and its end."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from passdown.actions.answers import HIDDEN, INLINE, NoticeKind, describe
from passdown.actions.callers import Caller, find_running, need_session
from passdown.core.formats.journal import Scope
from passdown.core.sessions.session_facts import Account
from passdown.errors import PassdownError, UnreadError, UsageError
from passdown.ports.repository import Committed
from passdown.records import record
from passdown.services.log.local_view import mark_outdated, update_local_view
from passdown.services.sessions.journals import KEPT_LIVE

if TYPE_CHECKING:  # most actions neither publish nor commit
    from passdown.services.log.commits import CommitTrigger
    from passdown.services.log.views import WrittenView
    from passdown.services.sessions.pending_commits import CommitOutcome


@record
class SessionSummary:
    """A session, as every answer describes it."""

    session: Annotated[str, "Its id."]
    agent: Annotated[str, "The name of its agent."]
    host: Annotated[str, "The program that the agent runs in."]
    checkout: Annotated[str, "The folder that it works in."]
    branch: Annotated[str, "The branch that it works on."]
    ledger: Annotated[str, "The path of its ledger."]
    continues: Annotated[str | None, "The session that it continues."]
    started_at: Annotated[datetime | None, "When it started."]
    touched_at: Annotated[datetime | None, "When it was last seen."]
    ended_at: Annotated[datetime | None, "When it ended."]
    goal: Annotated[str | None, "Its goal."]
    now: Annotated[str | None, "Its current work."]
    track: Annotated[str | None, "The track that it works on."]
    task: Annotated[str | None, "The task that it works on."]


def summarize(account: Account) -> SessionSummary:
    """Return the summary of a session."""
    goal = account.goal.text if account.goal else None
    now = account.now.text if account.now else None
    return describe(SessionSummary, account, account.start, goal=goal, now=now)


def update_view(caller: Caller) -> None:
    """Update the local view after a start or an event, or leave it to the next hook (R131, R132).

    1. While some events are not read yet, no view is written: it must not leave any out.
    2. Without the cache, a slower process could overwrite a newer view.
    """
    if caller.around.limits.is_cached:  # 2
        try:
            update_local_view(caller.workspace)
        except PassdownError as found:
            if not isinstance(found, UnreadError):  # 1
                caller.note(NoticeKind.VIEW_NOT_UPDATED, reason=found.message)
        else:
            return
    mark_outdated(caller.workspace)


def refresh_stream(caller: Caller, account: Account) -> None:
    """Update the document of the session's track (R76)."""
    if account.track:
        from passdown.services.handover import streams  # few sessions have a track

        if trouble := streams.refresh_stream(caller.workspace, account):
            caller.note_trouble(trouble)


def commit_waiting(caller: Caller, triggers: "Sequence[CommitTrigger]") -> str | None:
    """Commit what sessions published, if the settings say so; return the commit, if one was made.

    Only problems that the user must fix are reported.
    """
    from passdown.services.sessions import pending_commits

    if find_pause(caller):
        return None
    try:
        committed = pending_commits.commit_waiting(caller.workspace, triggers, note=caller.warn)
        trouble = pending_commits.find_trouble(committed)
    except PassdownError as found:  # the session has started, or the event is written
        committed, trouble = None, found.message
    if trouble:
        caller.note(NoticeKind.NOT_COMMITTED, reason=trouble)
    return committed.commit if isinstance(committed, Committed) else None


def put_away_ended(caller: Caller) -> None:
    """Archive a portion of the journals of ended sessions, if there are many (C129)."""
    if len(caller.workspace.journals.sessions(Scope.LIVE)) > KEPT_LIVE:
        from passdown.services.sessions import ended_sessions  # usually there are few journals

        ended_sessions.put_away_ended(caller.workspace)


def find_pause(caller: Caller) -> str:
    """Return what pauses Passdown here, or an empty string if it is not paused."""
    from passdown.services.project.pauses import find_pauses  # few actions ask for it

    return ", ".join(pause.by for pause in find_pauses(caller.workspace, caller.around.variables))


# --- the heartbeat ------------------------------------------------------------------------------------


def send_heartbeat(caller: Caller, _request: None = None) -> SessionSummary:
    """Record a heartbeat, and update the ledger."""
    from passdown.services.sessions.sessions import touch

    return summarize(touch(caller.workspace, need_session(caller)))


# --- the end ----------------------------------------------------------------------------------------------


@record
class EndRequest:
    """How a session ends."""

    reason: Annotated[str, "Why: clear, logout, done, …"] = "session-end"
    keeps_ledger: Annotated[bool, "Whether its ledger stays where it is."] = False


@record
class EndResult:
    """A session that ended."""

    session: Annotated[SessionSummary, "The session.", INLINE]
    event: Annotated[str | None, "The event that was published at its end."]
    record: Annotated[str | None, "The archived record of its ledger."]
    commit: Annotated[str | None, "The commit, if one was made."]
    troubles: Annotated[tuple[str, ...], "What could not be done; the next start or end does it."]
    committed: Annotated["CommitOutcome", "Why there is no commit.", HIDDEN]
    view: Annotated["WrittenView | None", "What happened to the view.", HIDDEN]


def end(caller: Caller, request: EndRequest) -> EndResult:
    """End a session: publish, archive and commit as configured, and release what it holds."""
    from passdown.services.sessions.session_end import close_session
    from passdown.services.work.session_contexts import save_if_complete

    account = find_running(caller)
    if account is None:
        raise UsageError("no session is running here", hint="`passdown status` lists the sessions")
    if why := save_if_complete(caller.workspace, account):
        caller.warn(why)
    closed = close_session(caller.workspace, account, request.reason, keep=request.keeps_ledger)
    _leave(caller, account)
    for trouble in closed.troubles:
        caller.warn(trouble.message, trouble.hint)
    caller.after.append(lambda: put_away_ended(caller))
    return EndResult(
        session=summarize(closed.account),
        event=closed.written.event.id if closed.written else None,
        record=(closed.archived.path if closed.archived else "") or None,
        commit=closed.committed.commit if isinstance(closed.committed, Committed) else None,
        troubles=tuple(trouble.message for trouble in closed.troubles),
        committed=closed.committed,
        view=closed.view,
    )


def _leave(caller: Caller, account: Account) -> None:
    """Release what an ended session holds; if that fails, it expires."""
    try:
        coordination = caller.workspace.find_coordination()
        if coordination is not None:
            from passdown.services.coordination.membership import leave_project  # few sessions coordinate

            leave_project(caller.workspace, account.session, coordination)
    except PassdownError as found:
        caller.note(NoticeKind.NOT_RELEASED, found.hint, agent=account.agent, reason=found.message)
