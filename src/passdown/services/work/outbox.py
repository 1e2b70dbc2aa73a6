"""Change the tracker so that each change happens once, though it, or we, may die at any moment (C99).

The journal says what is wanted before the first attempt. Whoever finds it open later tries again, and the
tracker looks for the effect first. Hooks never get here: what they want waits for the next verb.
"""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, TypeVar, cast

from passdown import layout
from passdown.core.coordination.leases import TASK, Fenced, Held, Lost, Resource
from passdown.core.coordination.operations import Operation, fingerprint
from passdown.core.coordination.tasks import TaskState
from passdown.core.formats.journal import JournalLine
from passdown.core.json_text import dump
from passdown.core.kinds import FactKind
from passdown.core.safe_text import one_line
from passdown.core.sessions.session_facts import Account
from passdown.core.work.outbox import (
    REPLAYED,
    WAITS,
    Outcome,
    TrackerAction,
    TrackerOperation,
    as_repeat,
    make_before,
    make_outcome,
    make_wish,
    plan_replay,
    read_operations,
)
from passdown.errors import (
    PassdownError,
    StorageError,
    TrackerBusyError,
    TrackerError,
    TrackerRefusedError,
    UsageError,
)
from passdown.ports.tracker import Tracker, Worker
from passdown.records import record, replace
from passdown.services.coordination.membership import find_worker
from passdown.services.sessions.journals import read_account
from passdown.services.workspace.local_files import list_places, write_local
from passdown.services.workspace.workspaces import Workspace

OWN_WAIT: Final = 30.0
"""Seconds to wait for another command of the same session."""

_LONGEST_ERROR: Final = 300
_FEW: Final = 8
_SETTLE_SECONDS: Final = 10.0
_KIND: Final = f'"kind":{dump(FactKind.OPERATION.value)}'
_NANOS: Final = 1_000_000_000

Answer = TypeVar("Answer")
Act = Callable[[Operation], Answer]


@record
class Replay:
    """What came of operations that waited."""

    done: tuple[TrackerOperation, ...] = ()
    refused: tuple[TrackerOperation, ...] = ()
    waiting: tuple[TrackerOperation, ...] = ()


# --- one change ---------------------------------------------------------------------------------------


@contextmanager
def hold_outbox(workspace: Workspace, session: str) -> Generator[None, None, None]:
    """Let no other command of the session write to the tracker; raise a StorageError if one does for long."""
    with workspace.locks.held(session, OWN_WAIT) as is_held:
        if not is_held:
            message = f"another command of this session wrote to the tracker for {OWN_WAIT:g} s"
            raise StorageError(message, hint="Nothing was changed; try again.")
        yield


def perform(
    workspace: Workspace, account: Account, wish: TrackerOperation, act: "Act[Answer]"
) -> tuple[TrackerOperation, Answer | None]:
    """Change the tracker: write down what is wanted, then try at once, after 1 s and after 2 s (R189).

    1. What the tracker refuses is settled, and raised.
    2. What failed three times waits, if it is safe to repeat: the operation is open, and there is no answer.
    3. A claim or a new task is not repeated later; the last error is raised, with exit code 1 (C16, R197).

    The caller holds the session's outbox.
    """
    want(workspace, wish)
    operation, found = wish, None
    for number, seconds in enumerate(WAITS):
        if seconds:
            workspace.wait(seconds)
        op = Operation(wish.id, wish.before, is_repeat=number > 0)
        try:
            answer = act(op)
        except (TrackerError, StorageError, UsageError) as error:
            found = error
            operation = _settle(workspace, operation, _judge(error), account.agent, error.message)
            if not operation.is_open:  # 1
                raise
            if not _may_try_again(wish.action, error):
                break
            workspace.warn(f"{wish.action} {wish.task}: attempt {number + 1} failed: {operation.error}")
        else:
            outcome = Outcome.REFUSED if isinstance(answer, Lost | Held) else Outcome.DONE
            return _settle(workspace, operation, outcome, account.agent), answer
    if wish.action in REPLAYED:  # 2
        return operation, None
    operation = abandon(workspace, operation, account.agent)  # 3
    tries = operation.tries - 1
    raise TrackerError(
        f"{wish.action} {wish.task} failed after {tries} attempt{'s' * (tries > 1)}: {operation.error}",
        hint=(found.hint if found else "") or "Look at the task before you try again.",
    )


def _judge(error: PassdownError) -> Outcome:
    return Outcome.REFUSED if isinstance(error, TrackerRefusedError | UsageError) else Outcome.FAILED


def _may_try_again(action: TrackerAction, error: PassdownError) -> bool:
    """Return whether an attempt may follow at once; a new task only if nothing was made."""
    if action is TrackerAction.CREATE:
        return isinstance(error, TrackerBusyError)
    if action is TrackerAction.CLAIM:
        return isinstance(error, TrackerError) and error.is_recoverable
    return True


def want(workspace: Workspace, wish: TrackerOperation) -> None:
    """Write down what is wanted of the tracker; from here on it is not lost.

    A hook calls nothing else: the next verb that calls the tracker does the rest.
    """

    def make(seq: int) -> Sequence[JournalLine]:
        return [JournalLine(seq=seq + number, fact=fact) for number, fact in enumerate(make_wish(wish))]

    workspace.journals.extend(wish.session, make)


def abandon(workspace: Workspace, operation: TrackerOperation, agent: str) -> TrackerOperation:
    """Write down that nobody tries an operation again."""
    return _settle(workspace, operation, Outcome.ABANDONED, agent)


def _settle(
    workspace: Workspace, operation: TrackerOperation, outcome: Outcome, agent: str, error: str = ""
) -> TrackerOperation:
    """Write down what came of an attempt."""
    shown = one_line(error)[:_LONGEST_ERROR]
    fact = make_outcome(operation, outcome, workspace.now(), agent, shown)
    workspace.journals.append(operation.session, lambda seq: JournalLine(seq=seq, fact=fact))
    return replace(
        operation, tries=operation.tries + 1, outcome=outcome.value, error=shown or operation.error
    )


def find_fingerprint(workspace: Workspace, task: str, known: TaskState | None = None) -> str:
    """Return what tells later whether a note was added, for a tracker that stores no marks.

    The tracker is asked if the task is not known. If it does not tell how the note begins, the text is looked
    for in all of it.
    """
    with suppress(TrackerError, StorageError):
        if workspace.tracker.about.has_marks:
            return ""
        found = known or workspace.tracker.find(task)
        return fingerprint(found.task.note if found else "")
    return fingerprint("")


def call_tracker(workspace: Workspace, operation: TrackerOperation, *, own: bool = True) -> "Act[object]":
    """Return the call that does what an operation wants.

    What another session or tool wanted is done without that session, which may be gone: whose a task is, the
    tracker itself says.
    """
    worker = Worker(operation.session if own and not operation.record else "", operation.agent)

    def act(op: Operation) -> object:
        tracker: Tracker = workspace.tracker
        if operation.action is TrackerAction.UPDATE:
            return tracker.note(op, worker, operation.task, operation.note)
        if operation.action is TrackerAction.CLOSE:
            held = Fenced(Resource(TASK, operation.task), operation.fence)
            known = read_account(workspace, operation.session)
            closer = worker._replace(former=find_worker(workspace, known).former)
            return tracker.close(op, closer, held, operation.reason, operation.note)
        return tracker.sync(worker, push=workspace.settings.tracker.push)

    return act


# --- what waits ---------------------------------------------------------------------------------------


def replay(workspace: Workspace, account: Account | None) -> Replay:
    """Try again what waits, of all sessions of the clone: updates, then closes, then a sync, each by age.

    1. What belongs to a session whose outbox is in use is left to that.
    2. The first that the tracker does not answer ends it: the rest waits.

    The caller holds the session's outbox.
    """
    waiting = find_waiting(workspace)
    if not waiting:
        return Replay()
    own = {account.session} if account else set[str]()
    with ExitStack() as stack:
        ours = own | {
            session
            for session in sorted({one.session for one in waiting} - own)
            if stack.enter_context(workspace.locks.held(session, 0.0))  # 1
        }
        open_ones = [one for session in sorted(ours) for one in _read(workspace, session)]
        done: list[TrackerOperation] = []
        planned = [*plan_replay(open_ones)]
        while planned:
            tried = _try_again(workspace, planned[0], account)
            if tried.is_open:  # 2
                break
            done.append(tried)
            planned.pop(0)
    return Replay(
        done=tuple(one for one in done if one.outcome == Outcome.DONE),
        refused=tuple(one for one in done if one.outcome != Outcome.DONE),
        waiting=tuple(planned),
    )


def _try_again(
    workspace: Workspace, operation: TrackerOperation, account: Account | None
) -> TrackerOperation:
    agent = account.agent if account else ""
    own = account is not None and account.session == operation.session
    try:
        operation = _note_before(workspace, operation, agent)
        answer = call_tracker(workspace, operation, own=own)(as_repeat(operation, workspace.now()))
    except (TrackerError, StorageError, UsageError) as error:
        return _settle(workspace, operation, _judge(error), agent, error.message)
    if isinstance(answer, Lost | Held):
        return _settle(workspace, operation, Outcome.REFUSED, agent, "another session has the task")
    return _settle(workspace, operation, Outcome.DONE, agent)


def _note_before(workspace: Workspace, operation: TrackerOperation, agent: str) -> TrackerOperation:
    """Write down how a note begins before a tracker without marks is first called for what a hook wanted."""
    if operation.before or not operation.note or workspace.tracker.about.has_marks:
        return operation
    found = workspace.tracker.find(operation.task)
    operation = replace(operation, before=fingerprint(found.task.note if found else ""))
    fact = make_before(operation, workspace.now(), agent)
    workspace.journals.append(operation.session, lambda seq: JournalLine(seq=seq, fact=fact))
    return operation


def find_waiting(workspace: Workspace) -> Sequence[TrackerOperation]:
    """Return what waits for the tracker in all journals of the clone, in the order in which it is tried.

    A journal that had nothing left and has not grown since is not read again.
    """
    journals = workspace.journals
    known = _read_settled(workspace)
    changed = {session: journals.changed(session) for session in journals.sessions()}
    fresh = [session for session, at in changed.items() if known.get(session) != at]
    read = {*fresh}
    if len(fresh) > _FEW:
        read &= {*journals.mentioning(_KIND)}
    waiting = {session: plan_replay(_read(workspace, session)) for session in sorted(read)}
    if len(fresh) > _FEW:
        _write_settled(workspace, {name: at for name, at in changed.items() if not waiting.get(name)})
    return plan_replay(one for some in waiting.values() for one in some)


def _read(workspace: Workspace, session: str) -> Sequence[TrackerOperation]:
    return read_operations(session, workspace.journals.read(session))


def read_all(workspace: Workspace) -> Sequence[TrackerOperation]:
    """Return all operations of all journals."""
    return [one for session in workspace.journals.mentioning(_KIND) for one in _read(workspace, session)]


def _read_settled(workspace: Workspace) -> Mapping[str, int]:
    for documents, path, _ in list_places(workspace, layout.SETTLED):
        with suppress(StorageError, ValueError, RecursionError):  # it only saves reading
            if documents.exists(path):
                found: object = json.loads(documents.read(path))
                members = cast("dict[str, object]", found) if isinstance(found, dict) else {}
                return {name: at for name, at in members.items() if isinstance(at, int)}
    return {}


def _write_settled(workspace: Workspace, settled: Mapping[str, int]) -> None:
    """Remember which journals have nothing left; one that grew just now may grow at the same instant."""
    latest = int((workspace.clock.now().timestamp() - _SETTLE_SECONDS) * _NANOS)
    old = {name: at for name, at in settled.items() if at < latest}
    with suppress(StorageError):  # it only saves reading
        write_local(workspace, layout.SETTLED, dump(old).encode())
