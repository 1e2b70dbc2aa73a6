"""Claim a task that no other session has, and close it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, describe
from passdown.actions.callers import Caller, need_session
from passdown.actions.coordination.mail import mark_as_read
from passdown.actions.work.preflight import prepare
from passdown.core.coordination.leases import Held, Lost
from passdown.core.coordination.messages import WaitingMessage
from passdown.core.coordination.tasks import COMPLETED, Claimed, NothingReady, TaskState
from passdown.core.sessions.session_facts import Account
from passdown.errors import StorageError
from passdown.ports.tracker import ClaimWish
from passdown.records import record
from passdown.services.coordination.claims import CloseRequest, CloseResult
from passdown.services.work import tracker_changes
from passdown.services.work.tdd import choose_cycle, end_cycle

_MAIL: Final = 5
"""How many messages a claim shows (C150)."""


@record
class ClaimRequest:
    """The tasks to claim."""

    tasks: Annotated[tuple[str, ...], "The tasks, all or none; empty for the first that is ready."] = ()
    role: Annotated[str, "Only tasks for this role, or for anybody."] = ""
    is_another: Annotated[bool, "Whether to claim one more, though the session has one."] = False
    follows_tdd: Annotated[bool | None, "Whether to follow the test-first cycle; null as configured."] = None
    skips_preflight: Annotated[bool, "Whether not to look at what can be in the way."] = False


@record
class ClaimedTask:
    """A task that the session has now."""

    id: Annotated[str, "The task."]
    title: Annotated[str, "Its title."]
    fence: Annotated[int, "The fence of its lease; 0 if there is none yet."]
    left: Annotated[float, "How many seconds the lease lasts."]
    unfenced: Annotated[bool, "Whether the lease is still to be asked for."]
    orphaned_by: Annotated[str, "The agent that had it and gave no sign of life.", HIDDEN] = ""


@record
class ClaimAnswer:
    """What a claim came to."""

    session: Annotated[str, "The session."]
    claimed: Annotated[tuple[ClaimedTask, ...], "The tasks that it has now."]
    held: Annotated[Held | None, "Who has a named task."]
    waiting: Annotated[Sequence[TaskState], "The open tasks, if none can be claimed."]
    mail: Annotated[int, "How many messages wait."]
    messages: Annotated[Sequence[WaitingMessage], "The newest of them."]


@record
class CloseTaskRequest:
    """The task to close."""

    task: Annotated[str, "The task; empty for the one that the session works on."] = ""
    reason: Annotated[str, "Why: completed, or another reason of the tracker."] = COMPLETED
    text: Annotated[str, "What was done, or why not."] = ""
    message: Annotated[str, "What the team is told."] = ""


@record
class CloseAnswer:
    """What closing a task came to."""

    session: Annotated[str, "The session."]
    closed: Annotated[str | None, "The task, if it is closed."] = None
    reason: Annotated[str | None, "Why, in the words of the tracker."] = None
    waiting: Annotated[str | None, "The task, if a later command closes it."] = None
    note: Annotated[str | None, "What was added to its notes."] = None
    released: Annotated[tuple[str, ...], "The files that were released with it."] = ()
    ready: Annotated[tuple[str, ...], "The tasks that waited for it and are ready now."] = ()
    unfenced: Annotated[bool, "Whether its lease is still to be released."] = False
    lost: Annotated[Lost | None, "Which lease the session no longer has."] = None
    held: Annotated[Held | None, "Who has the task."] = None
    title: Annotated[str, "The title of the task.", HIDDEN] = ""


def claim(caller: Caller, request: ClaimRequest) -> ClaimAnswer:
    """Claim the named tasks, or the first that is ready; mail counts as read once it was shown (R169)."""
    account = prepare(caller, need_session(caller), is_skipped=request.skips_preflight)
    wish = ClaimWish(request.tasks, request.role, request.is_another)
    found = tracker_changes.claim(caller.workspace, account, wish)
    outcome = found.outcome
    claimed = outcome if isinstance(outcome, Claimed) else None
    if claimed:
        title = next((one.title for one in claimed.tasks if one.task == found.account.task), "")
        _, skipped = choose_cycle(caller.workspace, found.account, choice=request.follows_tdd, title=title)
        if skipped:
            caller.warn(skipped)
    shown = found.mail[-_MAIL:]
    caller.after.append(lambda: _mark_as_read(caller, account, shown))
    return ClaimAnswer(
        session=found.account.session,
        claimed=tuple(_list_claimed(claimed)) if claimed else (),
        held=outcome if isinstance(outcome, Held) else None,
        waiting=outcome.waiting if isinstance(outcome, NothingReady) else (),
        mail=len(found.mail),
        messages=shown,
    )


def _list_claimed(claimed: Claimed) -> Iterator[ClaimedTask]:
    for task, grant, before in zip(claimed.tasks, claimed.grants, claimed.orphaned_by, strict=True):
        is_unfenced = not grant.fence
        yield describe(ClaimedTask, task, grant, id=task.task, unfenced=is_unfenced, orphaned_by=before)


def _mark_as_read(caller: Caller, account: Account, mail: Sequence[WaitingMessage]) -> None:
    """Mark messages as read that were shown; the task is claimed, so what cannot be marked is shown again."""
    with suppress(StorageError):
        mark_as_read(caller, account, mail)


def close(caller: Caller, request: CloseTaskRequest) -> CloseAnswer:
    """Close a task that the session has, and release its files."""
    account = need_session(caller)
    ended = end_cycle(caller.workspace, account) if account.tdd else ()
    wanted = CloseRequest(request.task, request.reason, request.text, request.message)
    found = tracker_changes.close(caller.workspace, account, wanted)
    if ended and not found.account.task:
        from passdown.services.project.metrics import make_phase_metrics  # few tasks end a phase

        caller.workspace.record_metrics(make_phase_metrics(ended))
    return _describe_close(found)


def _describe_close(found: CloseResult) -> CloseAnswer:
    session, outcome = found.account.session, found.outcome
    if isinstance(outcome, Lost):
        return CloseAnswer(session=session, lost=outcome)
    if isinstance(outcome, Held):
        return CloseAnswer(session=session, held=outcome)
    if outcome is None:
        return CloseAnswer(
            session=session,
            waiting=found.task,
            note=found.note,
            unfenced=found.is_unfenced,
            title=found.title,
        )
    return CloseAnswer(
        session=session,
        closed=outcome.task.task,
        reason=outcome.task.reason,
        note=found.note,
        released=tuple(outcome.released),
        ready=tuple(outcome.freed),
        unfenced=found.is_unfenced,
        title=outcome.task.title,
    )
