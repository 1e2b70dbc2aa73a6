"""Claim a task that no other session has, and close it."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Annotated, Final

from passdown.actions.answers import HIDDEN, describe
from passdown.actions.callers import Caller, need_author, refuse_without_holding
from passdown.actions.coordination.mail import mark_as_read
from passdown.actions.work.preflight import prepare
from passdown.core.coordination.leases import Held, Lost
from passdown.core.coordination.messages import WaitingMessage
from passdown.core.coordination.tasks import COMPLETED, Claimed, NothingReady, TaskState
from passdown.core.sessions.session_facts import Account
from passdown.errors import StorageError
from passdown.ports.tracker import TaskSelection
from passdown.records import record
from passdown.services.coordination.claims import CloseRequest, CloseResult
from passdown.services.coordination.tasks import require_task
from passdown.services.work import tracker_changes
from passdown.services.work.tdd import choose_cycle, end_cycle

_MAIL: Final = 5
"""How many messages a claim shows (C150)."""


@record
class ClaimRequest:
    """The tasks to claim."""

    tasks: Annotated[tuple[str, ...], "The tasks, all or none; empty for the first that is ready."] = ()
    role: Annotated[str, "Only tasks for this role or for anybody."] = ""
    is_another: Annotated[bool, "Whether to claim one more although the session has one."] = False
    follows_tdd: Annotated[bool | None, "Whether to follow the test-first cycle; null as configured."] = None
    skips_preflight: Annotated[bool, "Whether to skip the preflight."] = False


@record
class ClaimedTask:
    """A task that the session has now."""

    id: Annotated[str, "The task."]
    title: Annotated[str, "Its title."]
    fence: Annotated[int, "The fence of its lease; 0 if there is none yet."]
    left: Annotated[float, "How many seconds the lease lasts."]
    unfenced: Annotated[bool, "Whether there is no lease yet."]
    orphaned_by: Annotated[str, "The agent that had it and went silent.", HIDDEN] = ""


@record
class ClaimAnswer:
    """The outcome of a claim."""

    session: Annotated[str, "The session."]
    claimed: Annotated[tuple[ClaimedTask, ...], "The tasks that it has now."]
    held: Annotated[Held | None, "Who holds a named task."]
    waiting: Annotated[Sequence[TaskState], "The open tasks, if none can be claimed."]
    mail: Annotated[int, "How many unread messages there are."]
    messages: Annotated[Sequence[WaitingMessage], "The newest of them."]


@record
class CloseTaskRequest:
    """The task to close."""

    task: Annotated[str, "The task; empty for the one that the session works on."] = ""
    reason: Annotated[str, "Why: completed, or another reason of the tracker."] = COMPLETED
    text: Annotated[str, "What was done, or why not."] = ""
    message: Annotated[str, "A message to the team."] = ""


@record
class CloseAnswer:
    """The outcome of closing a task."""

    session: Annotated[str, "The session."]
    closed: Annotated[str | None, "The task, if it is closed."] = None
    reason: Annotated[str | None, "Why, as the tracker calls it."] = None
    waiting: Annotated[str | None, "The task, if a later command closes it."] = None
    note: Annotated[str | None, "What was added to its notes."] = None
    released: Annotated[tuple[str, ...], "The files that were released with it."] = ()
    ready: Annotated[tuple[str, ...], "The tasks that waited for it and are ready now."] = ()
    unfenced: Annotated[bool, "Whether its lease is not released yet."] = False
    lost: Annotated[Lost | None, "The lease that the session no longer has."] = None
    held: Annotated[Held | None, "Who holds the task."] = None
    title: Annotated[str, "The title of the task.", HIDDEN] = ""


def claim(caller: Caller, request: ClaimRequest) -> ClaimAnswer:
    """Claim the named tasks, or the first that is ready; messages count as read once shown (R169)."""
    account = need_author(caller, partial(_need_tasks, caller, request.tasks))
    account = prepare(caller, account, is_skipped=request.skips_preflight)
    wish = TaskSelection(request.tasks, request.role, request.is_another)
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
    """Mark the shown messages as read; if that fails, they are shown again, but the claim stands."""
    with suppress(StorageError):
        mark_as_read(caller, account, mail)


def _need_tasks(caller: Caller, names: Sequence[str]) -> None:
    for name in names:
        require_task(caller.workspace.tracker, name)


def close(caller: Caller, request: CloseTaskRequest) -> CloseAnswer:
    """Close a task that the session has, and release its files."""
    account = need_author(caller, refuse_without_holding)
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
