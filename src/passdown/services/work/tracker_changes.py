"""Claim and close tasks, add notes, add tasks and sync: through the outbox if the tracker is outside."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar, cast

from passdown import layout
from passdown.core.coordination.leases import Held, Lost
from passdown.core.coordination.operations import Operation
from passdown.core.coordination.tasks import Task, TaskClosed
from passdown.core.project.metrics import Metric, MetricKind
from passdown.core.sessions.session_facts import Account
from passdown.core.work.outbox import (
    WAITS,
    Outcome,
    TrackerAction,
    TrackerOperation,
    make_text_safe,
    plan_replay,
    read_operations,
)
from passdown.errors import TrackerError, TrackerRefusedError, UsageError
from passdown.ports.tracker import ClaimWish
from passdown.records import replace
from passdown.services.coordination.claims import (
    ClaimOutcome,
    ClaimResult,
    ClosePlan,
    CloseRequest,
    CloseResult,
    claim_tasks,
    close_task,
)
from passdown.services.coordination.membership import as_worker, find_worker, new_operation
from passdown.services.coordination.tasks import add_task, is_outside
from passdown.services.work.outbox import (
    Act,
    Replay,
    call_tracker,
    find_fingerprint,
    hold_outbox,
    perform,
    read_all,
    replay,
)
from passdown.services.work.pending_files import take_in_files, update_files
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import TrackerChoice

NO_SESSION: Final = "-"
"""The outbox of whoever has no session."""

LONGEST_NOTE: Final = 60_000
"""How many bytes a note may have: more does not fit into every tracker, nor into every command line."""

_NOTHING: Final = Replay()
Answer = TypeVar("Answer")


@contextmanager
def catch_up(workspace: Workspace, account: Account | None) -> Generator[Replay, None, None]:
    """Do first what waits for the tracker, and keep the session's outbox until the context ends.

    Without a session nothing is written down, so only what others left is tried again.
    """
    if not is_outside(workspace):
        yield _add_notes(workspace, account) if account else _NOTHING
        return
    with hold_outbox(workspace, account.session if account else NO_SESSION):
        take_in_files(workspace, account)
        found = replay(workspace, account)
        _tell(workspace, found)
        try:
            yield found
        finally:
            update_files(workspace, account)


def _add_notes(workspace: Workspace, account: Account) -> Replay:
    """Write down on the board what hooks of this session left to be noted; nobody else does it."""
    waiting = plan_replay(read_operations(account.session, workspace.journals.read(account.session)))
    if not waiting or workspace.settings.tracker.kind is TrackerChoice.NONE:
        return _NOTHING
    with hold_outbox(workspace, account.session):
        return replay(workspace, account)


def _tell(workspace: Workspace, found: Replay) -> None:
    for one in found.done:
        workspace.warn(f"the tracker now has what waited for it: {one.key}")
    for one in found.refused:
        workspace.warn(f"the tracker refused what waited for it: {one.key}: {one.error}")
    if found.done:
        closes = sum(one.action is TrackerAction.CLOSE for one in found.done)
        counts = {"updates": len(found.done) - closes, "closes": closes}
        workspace.record_metrics([Metric(MetricKind.PENDING_RECOVERY, workspace.now(), counts)])


def claim(workspace: Workspace, account: Account, wish: ClaimWish) -> ClaimResult:
    """Claim tasks; what fails three times is not tried again (C16)."""

    def call(wish: ClaimWish) -> ClaimOutcome:
        operation = _make(workspace, account, TrackerAction.CLAIM, " ".join(wish.tasks))
        worker = find_worker(workspace, account)
        found = _change(workspace, account, operation, lambda op: workspace.tracker.claim(op, worker, wish))
        return cast("ClaimOutcome", found)

    with catch_up(workspace, account):
        return claim_tasks(workspace, account, wish, call)


def close(workspace: Workspace, account: Account, request: CloseRequest) -> CloseResult:
    """Close a task; if the tracker is away, it is closed by a later verb."""

    def call(plan: ClosePlan) -> TaskClosed | Lost | Held | None:
        if _is_in_outbox(workspace, plan.op):
            return None
        operation = _make(workspace, account, TrackerAction.CLOSE, plan.task, plan.note, plan.op)
        before = find_fingerprint(workspace, plan.task, plan.known) if plan.note else ""
        operation = replace(operation, reason=make_text_safe(plan.reason), fence=plan.fence, before=before)
        found = _change(workspace, account, operation, call_tracker(workspace, operation))
        return cast("TaskClosed | Lost | Held | None", found)

    with catch_up(workspace, account):
        return close_task(workspace, account, request, call)


def add_note(
    workspace: Workspace, account: Account, task: str, text: str, op: Operation | None = None
) -> bool:
    """Add a text to the notes of a task; return False if it waits, and a later verb adds it.

    An operation whose id was made before is not begun again if it is in an outbox.
    """
    with catch_up(workspace, account):
        if _is_in_outbox(workspace, op):
            return False
        operation = _make(workspace, account, TrackerAction.UPDATE, task, text, op)
        operation = replace(operation, before=find_fingerprint(workspace, task) if text else "")
        return _change(workspace, account, operation, call_tracker(workspace, operation)) is not None


def create(workspace: Workspace, account: Account | None, task: Task, after: Sequence[str] = ()) -> Task:
    """Add a task; what fails three times is not tried again (R197)."""

    def call(task: Task) -> Task:
        operation = _make(workspace, account, TrackerAction.CREATE, task.task)
        worker = as_worker(account)
        made = _change(
            workspace, account, operation, lambda op: workspace.tracker.create(op, worker, task, after)
        )
        return cast("Task", made)

    with catch_up(workspace, account):
        return add_task(workspace, task, after, call)


def sync(workspace: Workspace, account: Account | None) -> str:
    """Exchange tasks with others; return in words what was done.

    Raises a TrackerError if it failed three times; then it is owed, and a later verb does it (R190).
    """
    with catch_up(workspace, account):
        operation = _make(workspace, account, TrackerAction.SYNC, "")
        done = _change(workspace, account, operation, call_tracker(workspace, operation))
    if done is None:
        saved = f"{workspace.settings.paths.runtime}/{layout.UNSYNCED}"
        raise TrackerError(
            f"sync failed after {len(WAITS)} attempts; what is owed is in {saved}",
            hint="Run `passdown sync` when the remote is back; every other verb tries it again, too.",
        )
    return str(done)


def _is_in_outbox(workspace: Workspace, op: Operation | None) -> bool:
    """Return whether an operation that was begun before is done, or will be; raise a TrackerError if refused.

    The board knows by itself what it did.
    """
    if op is None or not op.is_repeat or not is_outside(workspace):
        return False
    known = next((one for one in read_all(workspace) if one.id == op.id), None)
    if known is not None and known.outcome in {Outcome.REFUSED, Outcome.ABANDONED}:
        raise TrackerRefusedError(known.error or "the tracker refused it before")
    return known is not None


def _make(
    workspace: Workspace,
    account: Account | None,
    action: TrackerAction,
    task: str,
    text: str = "",
    op: Operation | None = None,
) -> TrackerOperation:
    if len(text.encode("utf-8", "surrogatepass")) > LONGEST_NOTE:
        raise UsageError(f"the note has over {LONGEST_NOTE} bytes", hint="Put longer text into a file.")
    return TrackerOperation(
        id=op.id if op else new_operation(workspace),
        action=action,
        at=workspace.now(),
        agent=account.agent if account else "",
        session=account.session if account else "",
        task=make_text_safe(task),
        note=make_text_safe(text),
    )


def _change(
    workspace: Workspace, account: Account | None, operation: TrackerOperation, act: "Act[Answer]"
) -> Answer | None:
    """Change the tracker: through the outbox if it is outside and a session has a journal for it.

    None means that it waits.
    """
    if account is None or not is_outside(workspace):
        return act(Operation(operation.id, operation.before))
    operation, answer = perform(workspace, account, operation, act)
    if operation.is_open:
        workspace.warn(f"{operation.action} waits for the tracker: {operation.key}")
    return answer
