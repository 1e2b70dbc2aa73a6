"""The tracker, with every change recorded before it is made and tried three times (C99, C142, R189).

All changes to tasks through a workspace come here, so that none is missed. The board is part of the engine
that sessions share; an outside tracker may not answer, and then changes that are safe to repeat are queued.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Final, TypeVar, cast

from passdown.core.coordination.leases import Fenced, Held, Lost
from passdown.core.coordination.operations import Operation, fingerprint
from passdown.core.coordination.outcomes import dump_outcome
from passdown.core.coordination.tasks import (
    Claimed,
    Listing,
    NothingReady,
    Task,
    TaskClosed,
    TaskState,
    TaskStored,
)
from passdown.core.formats.journal import JournalLine
from passdown.core.json_text import dump
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import (
    REPLAYED,
    WAITS,
    OperationAction,
    Outcome,
    SharedOperation,
    make_before,
    make_text_safe,
)
from passdown.errors import (
    PassdownError,
    StorageError,
    TrackerError,
    TrackerQueuedError,
    TrackerRefusedError,
    TrackerSpentError,
    TrackerUnsureError,
    UsageError,
)
from passdown.ports.tracker import NOBODY, TaskSelection, Tracker, TrackerInfo, Worker
from passdown.records import replace
from passdown.services.operations.operations import abandon, journal_of, next_operation, settle, write_down
from passdown.services.operations.recorded_coordination import Recorder
from passdown.services.workspace.workspaces import Workspace

BOARD: Final = "board"
"""The kind of the tracker that is part of the engine."""

LONGEST_NOTE: Final = 60_000
"""The most bytes of a note: more does not fit into every tracker or every command line."""

_QUEUED: Final = MappingProxyType(
    {
        OperationAction.UPDATE: "the note on ",
        OperationAction.CLOSE: "the close of ",
        OperationAction.GIVE_BACK: "the release of ",
        OperationAction.MOVE: "the takeover of ",
        OperationAction.SYNC: "the sync",
    }
)
"""The words for a queued change, before its task."""

T = TypeVar("T")


class RecordedTracker:
    """A `Tracker` that records its changes and their outcomes."""

    def __init__(self, workspace: Workspace) -> None:
        """Record changes to the tracker of a workspace; one that cannot be opened counts as unavailable."""
        self._workspace = workspace
        self._found: dict[str, TaskState] = {}

    @property
    def _tracker(self) -> Tracker:
        return self._workspace.open_tracker()

    @property
    def about(self) -> TrackerInfo:
        """Its kind and name, and what it can do."""
        return self._tracker.about

    def tasks(self, listing: Listing, worker: Worker = NOBODY) -> Sequence[TaskState]:
        """List tasks."""
        return self._tracker.tasks(listing, worker)

    def find(self, task: str) -> TaskState | None:
        """Return a task with its holder."""
        found = self._tracker.find(task)
        if found is not None:
            self._found[task] = found
        return found

    def create(self, op: Operation, worker: Worker, task: Task, after: Sequence[str] = ()) -> Task:
        """Add a task, unless an interrupted command has added it."""
        wanted = self._wanted(OperationAction.CREATE, op, worker, task.task)
        values = f'{{"task":{dump_outcome(task)},"after":{dump(list(after))}}}'
        wanted = replace(wanted, values=values)
        return self._perform(wanted, lambda op: self._tracker.create(op, worker, task, after))

    def claim(self, op: Operation, worker: Worker, wish: TaskSelection) -> Claimed | Held | NothingReady:
        """Claim tasks."""
        wanted = self._wanted(OperationAction.CLAIM, op, worker, " ".join(wish.tasks))
        wanted = replace(wanted, values=dump(wish._asdict()))
        return self._perform(wanted, lambda op: self._tracker.claim(op, worker, wish))

    def note(self, op: Operation, worker: Worker, task: str, text: str) -> TaskStored:
        """Add a text to the note of a task."""
        wanted = self._wanted(OperationAction.UPDATE, op, worker, task, text)
        return self._perform(wanted, lambda op: self._tracker.note(op, worker, task, wanted.note))

    def close(
        self, op: Operation, worker: Worker, held: Fenced, reason: str, note: str
    ) -> TaskClosed | Lost | Held:
        """Close a task that the session holds."""
        named = self._wanted(OperationAction.CLOSE, op, worker, held.resource.name, note)
        wanted = replace(named, fence=held.fence, reason=make_text_safe(reason))
        return self._perform(
            wanted, lambda op: self._tracker.close(op, worker, held, wanted.reason, wanted.note)
        )

    def give_back(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost:
        """Give up a task that the session holds, so that others can claim it."""
        wanted = self._wanted(OperationAction.GIVE_BACK, op, worker, held.resource.name)
        wanted = replace(wanted, fence=held.fence)
        return self._perform(wanted, lambda op: self._tracker.give_back(op, worker, held))

    def move(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost | Held:
        """Assign a task to the session, which already has its lease."""
        wanted = self._wanted(OperationAction.MOVE, op, worker, held.resource.name)
        wanted = replace(wanted, fence=held.fence)
        return self._perform(wanted, lambda op: self._tracker.move(op, worker, held))

    def sync(self, worker: Worker, *, push: bool = False) -> str:
        """Sync the tracker with its remote."""
        if self._is_board():
            return self._tracker.sync(worker, push=push)
        op = Operation(next_operation(self._workspace, OperationAction.SYNC, ""))
        wanted = self._wanted(OperationAction.SYNC, op, worker, "")
        return self._perform(wanted, lambda _: self._tracker.sync(worker, push=push))

    def _wanted(
        self, action: OperationAction, op: Operation, worker: Worker, task: str, note: str = ""
    ) -> SharedOperation:
        """Describe a change; raise a UsageError if its note is too long."""
        if len(note.encode("utf-8", "surrogatepass")) > LONGEST_NOTE:
            raise UsageError(
                f"the note is longer than {LONGEST_NOTE:,} bytes",
                hint="Put the text into a file and name it.",
            )
        return SharedOperation(
            id=op.id,
            action=action,
            at=self._workspace.now(),
            agent=worker.agent,
            session=worker.session,
            task=make_text_safe(task),
            note=make_text_safe(note),
        )

    def _perform(self, wanted: SharedOperation, act: Callable[[Operation], T]) -> T:
        """Make a change: once on the board; in an outside tracker at once, after 1 s and after 2 s."""
        if self._is_board():
            recorder = Recorder(self._workspace, self._workspace.open_engine().history)
            return recorder.perform(wanted, lambda: act(Operation(wanted.id)))
        known = self._found.get(wanted.task) if wanted.note else None
        self._found.clear()
        before = fingerprint(known.task.note) if known else ""
        operation = write_down(self._workspace, replace(wanted, before=before))
        made = self._find_made(operation)
        return cast("T", made) if made is not None else self._try_all(operation, act)

    def _is_board(self) -> bool:
        try:
            return self.about.kind == BOARD
        except TrackerError:  # the board always answers
            return False

    def _find_made(self, operation: SharedOperation) -> Task | None:
        """Return the task that an interrupted command has already added."""
        if operation.action is not OperationAction.CREATE or operation.outcome != Outcome.DONE:
            return None
        found = self._tracker.find(operation.result)
        return found.task if found else None

    def _try_all(self, operation: SharedOperation, act: Callable[[Operation], T]) -> T:
        """Try at most three times.

        1. A refusal settles the operation and is raised.
        2. A change that failed three times is queued if it is safe to repeat: the operation stays open.
        3. A claim or a new task is not repeated later: the last error is raised with exit code 1 (C16, R197).
           If a new task may have been made, the hint says so, even if a later attempt only failed to look.
        4. All attempts end when the time for the tracker is used up (C148).
        """
        workspace = self._workspace
        was_begun, found = bool(operation.tries) or operation in workspace.verb.known, None
        for number, seconds in enumerate(WAITS):
            if seconds:
                workspace.wait(seconds)
            try:
                operation = note_before(workspace, self._tracker, operation)
                answer = act(Operation(operation.id, operation.before, is_repeat=was_begun or number > 0))
            except (TrackerError, StorageError, UsageError) as error:
                found = _pick_told(operation.action, found, error)
                operation = settle(workspace, operation, judge(error), error=error.message)
                if not operation.is_open:  # 1
                    raise
                if isinstance(error, TrackerSpentError) or not _may_try_again(operation.action, error):  # 4
                    break
                workspace.report(f"{operation.said}: attempt {number + 1} failed: {operation.error}")
            else:
                Recorder(workspace).record(operation, answer)
                return answer
        if operation.action in REPLAYED:  # 2
            raise TrackerQueuedError(
                f"{name_tracker(workspace)} did not answer; {_QUEUED[operation.action]}{operation.task} "
                f"is queued ({operation.key}); the next command sends it"
            )
        operation = abandon(workspace, operation, operation.agent)  # 3
        tries = operation.tries - 1
        raise TrackerError(
            f"{operation.said} failed after {tries} attempt{'s' * (tries > 1)}: {operation.error}",
            hint=(found.hint if found else "") or "Check the task before you try again.",
        )


def name_tracker(workspace: Workspace) -> str:
    """Return the name of the tracker for messages, without its version."""
    with suppress(TrackerError, StorageError):  # the name is only shown
        about = workspace.open_tracker().about
        return "the board" if about.kind == BOARD else about.name.partition(" ")[0]
    return "the tracker"


def note_before(workspace: Workspace, tracker: Tracker, operation: SharedOperation) -> SharedOperation:
    """Record the earlier note, which shows later whether a text was added, for a tracker without marks.

    If the note cannot be read, there is no attempt: otherwise the text could be added twice, or never.
    """
    if operation.before or not operation.note or tracker.about.has_marks:
        return operation
    found = tracker.find(operation.task)
    operation = replace(operation, before=fingerprint(found.task.note if found else ""))
    fact = make_before(operation, workspace.now(), operation.agent)
    workspace.journals.append(journal_of(operation.session), lambda seq: JournalLine(seq=seq, fact=fact))
    return operation


def describe_move(workspace: Workspace, account: Account, op: str, task: str, after: str) -> SharedOperation:
    """Describe the change that assigns a task in the tracker, after the operation that moved its lease."""
    return SharedOperation(
        id=op,
        action=OperationAction.MOVE,
        at=workspace.now(),
        agent=account.agent,
        session=account.session,
        task=make_text_safe(task),
        after=after,
    )


def judge(error: PassdownError) -> Outcome:
    """Return the outcome that a tracker error means for an operation."""
    return Outcome.REFUSED if isinstance(error, TrackerRefusedError | UsageError) else Outcome.FAILED


def _pick_told(action: OperationAction, before: PassdownError | None, error: PassdownError) -> PassdownError:
    """Return the error whose hint is shown: the latest, unless an earlier attempt may have added a task."""
    is_recoverable = isinstance(error, TrackerError) and error.is_recoverable
    if action is OperationAction.CREATE and isinstance(before, TrackerUnsureError) and is_recoverable:
        return before
    return error


def _may_try_again(action: OperationAction, error: PassdownError) -> bool:
    """Return whether to try again at once; a new task is looked for before it is added again."""
    if action in {OperationAction.CLAIM, OperationAction.CREATE}:
        return isinstance(error, TrackerError) and error.is_recoverable
    return True
