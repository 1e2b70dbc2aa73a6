"""Beads as the tracker: first the lease of a task, then `bd`, whose answer decides (C98)."""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final, cast

from passdown.core.coordination.leases import TASK, Fenced, Granted, Held, Lost, Resource
from passdown.core.coordination.operations import Operation, is_added, operation_time
from passdown.core.coordination.tasks import (
    OPEN,
    Claimed,
    Listing,
    NothingReady,
    Task,
    TaskClosed,
    TaskState,
    TaskStored,
    is_listed,
    join_notes,
)
from passdown.core.lazy_regex import pattern
from passdown.core.safe_text import one_line
from passdown.errors import (
    TrackerError,
    TrackerRefusedError,
    TrackerSyncError,
    TrackerUnsureError,
    UsageError,
)
from passdown.ports.programs import ProgramResult
from passdown.ports.tracker import NOBODY, TaskSelection, TrackerInfo, Worker
from passdown.records import replace
from passdown.trackers.beads.calls import UNNAMED, Calls, UnknownTaskError, clean, require_id
from passdown.trackers.beads.holdings import Holdings
from passdown.trackers.beads.issues import IN_PROGRESS, MARK, Issue

_HOLDER: Final = pattern(r'already claimed by ([^"{}]+?)\s*(?:["{}]|$)|assignee is "([^"]+)"')
_MOST_TRIED: Final = 50
"""How many ready tasks a claim without a name tries."""
_RENEWED_BEFORE: Final = timedelta(minutes=2, seconds=30)
"""A lease of `bd` lasts for five minutes; it is renewed when less than this is left."""


class Beads:
    """Implements `Tracker` with an installed `bd`."""

    def __init__(self, calls: Calls, holdings: Holdings) -> None:
        self._calls = calls
        self._holdings = holdings
        build = calls.build
        self.about = TrackerInfo(
            "beads",
            f"Beads {build.version}",
            names_tasks=True,
            has_marks=build.has_metadata,
        )

    # --- reading ------------------------------------------------------------------------------------

    def tasks(self, listing: Listing, worker: Worker = NOBODY) -> Sequence[TaskState]:
        """List tasks, as `bd ready`, `bd blocked` or `bd list` do."""
        if listing is Listing.READY:
            return self._holdings.describe(one.state for one in self._ready(worker))
        with self._calls.alone():
            waiting = {one.id: one for one in self._calls.read("blocked")}
            if listing is Listing.BLOCKED:
                return self._holdings.describe(one.state for one in waiting.values())
            every = ("--all",) if listing is Listing.ALL else ()
            found = self._calls.read("list", "--limit=0", *every)
        states = self._holdings.describe(waiting.get(one.id, one).state for one in found)
        listed = [one for one in states if is_listed(one, listing)]
        return sorted(listed, key=lambda one: one.task.priority)

    def _ready(self, worker: Worker) -> list[Issue]:
        """Return the ready tasks; some builds also list tasks in progress or of other agents."""
        found = self._calls.read("ready", "--limit=0", "--sort=priority")
        return [one for one in found if one.status == OPEN and not one.is_anothers(worker)]

    def find(self, task: str) -> TaskState | None:
        with suppress(UnknownTaskError):  # an invalid id belongs to no task
            found = self._calls.show(task)
            return None if found is None else self._holdings.describe([found.state])[0]
        return None

    # --- adding -------------------------------------------------------------------------------------

    def create(self, op: Operation, worker: Worker, task: Task, after: Sequence[str] = ()) -> Task:
        """Add a task; a given id is looked up first, since some builds would overwrite an existing task.

        `bd create` stores no marks, so a repeat looks for a task like the one that may have been added, and
        adds a task only if there is none.
        """
        for other in after:
            require_id(other)
        with self._calls.alone():
            made = self._find_made(op, worker, task) if op.is_repeat else None
            if made is None and task.task:
                require_id(task.task)
                if self._calls.show(task.task) is not None:
                    raise UsageError(f"task {task.task} already exists", hint="Choose another id, or none.")
            made = made or next(iter(self._calls.change(worker.agent, *_make_words(task, after))), None)
        if made is None or not made.id:
            raise TrackerUnsureError(
                "bd did not return the new task", hint="Check with `passdown task list`."
            )
        return replace(made.task, waits=len(after))

    def _find_made(self, op: Operation, worker: Worker, task: Task) -> Issue | None:
        """Return the task that an earlier attempt added: same title and agent, not older than the attempt.

        Some builds store whole seconds. If several tasks match, it is unknown which one it is.
        """
        since = int(operation_time(op.id))
        found = [
            one
            for one in self._calls.read("list", "--limit=0", "--all")
            if one.task.title == clean(task.title)
            and one.creator == (worker.agent or UNNAMED)
            and (one.created_at is None or one.created_at.timestamp() >= since)
        ]
        if len(found) > 1:
            names = " ".join(sorted(one.id for one in found))
            hint = "Check them before you add it again: `passdown task show ID`."
            raise TrackerError(f"{names} have this title; one of them may be the new task", hint=hint)
        return found[0] if found else None

    # --- claiming -----------------------------------------------------------------------------------

    def claim(self, op: Operation, worker: Worker, wish: TaskSelection) -> Claimed | Held | NothingReady:
        named = wish.tasks
        if not named and not wish.another:
            named = tuple(self._still_held(op, worker))
        if named:
            return self._claim_named(op, worker, tuple(dict.fromkeys(named)))
        for number, issue in enumerate(self._ready(worker)[:_MOST_TRIED]):
            if wish.role in {"", "any"} or issue.task.role in {"", wish.role}:
                outcome = self._claim_named(op, worker, (issue.id,), first_part=3 * number)
                if isinstance(outcome, Claimed):
                    return outcome
        waiting: Sequence[TaskState] = ()
        with suppress(TrackerError):  # the list is only shown
            waiting = self.tasks(Listing.OPEN)
        return NothingReady(waiting=tuple(waiting))

    def _still_held(self, op: Operation, worker: Worker) -> list[str]:
        """Return the tasks that the session still has; release those closed or taken with `bd`."""
        kept: list[str] = []
        for number, held in enumerate(self._holdings.of(worker, TASK)):
            issue = self._calls.show(held.resource.name)
            if issue is not None and issue.is_of(worker):
                kept.append(issue.id)
            else:
                self._holdings.release(op, -1 - number, worker, [held])
        return kept

    def _keep_alive(self, worker: Worker, issue: Issue) -> None:
        """Renew the lease of `bd` itself before others may reclaim a task in progress."""
        if issue.lease_ends is None or not issue.is_of(worker):
            return
        if issue.lease_ends - self._calls.now() < _RENEWED_BEFORE:
            with suppress(
                TrackerError, UnknownTaskError
            ):  # an expired lease does not release the task by itself
                self._calls.change(issue.assignee, "heartbeat", issue.id)

    def _claim_named(
        self, op: Operation, worker: Worker, names: Sequence[str], first_part: int = 0
    ) -> Claimed | Held:
        """Claim tasks, all or none: first the leases, then each in `bd`; if one is refused, undo all."""
        for name in names:
            require_id(name)
        granted = self._holdings.acquire(op, first_part, worker, names)
        if isinstance(granted, Held):
            return granted
        claimed: list[Issue] = []
        refused: Held | None = None
        try:
            for name in names:
                outcome = self._claim_one(worker, name)
                if isinstance(outcome, Held):
                    refused = outcome
                    break
                self._keep_alive(worker, outcome)
                claimed.append(outcome)
        except (TrackerError, UsageError):
            self._undo((op, first_part + 1), worker, granted, claimed)
            raise
        if refused is not None:
            self._undo((op, first_part + 1), worker, granted, claimed)
            return refused
        return Claimed(
            tasks=tuple(one.task for one in claimed),
            grants=granted.grants,
            orphaned_by=("",) * len(claimed),
        )

    def _undo(
        self, step: tuple[Operation, int], worker: Worker, granted: Granted, claimed: Sequence[Issue]
    ) -> None:
        """Undo claims and their leases; raise a TrackerUnsureError if `bd` may still have a claim."""
        kept: list[str] = []
        for issue in claimed:
            try:
                self._let_go(worker, issue.id)
            except TrackerError:
                kept.append(issue.id)
        fenced = [Fenced(Resource(one.kind, one.name), one.fence) for one in granted.grants]
        self._holdings.release(*step, worker, fenced)
        if kept:
            hint = "Claim it again, or give it back with `passdown task give-back ID`."
            raise TrackerUnsureError(
                f"bd may still list {' '.join(kept)} as claimed by {worker.agent}", hint=hint
            )

    def _claim_one(self, worker: Worker, task: str) -> Issue | Held:
        """Let `bd` decide who gets a task.

        1. The task is read first with builds that reopen closed tasks or refuse the task's own holder, and
           for a session that continues a dead one, whose agent the task is assigned to.
        2. The answer counts if it says who has the task, and that it is in progress.
        3. Otherwise the task is read again.
        """
        with self._calls.alone():
            is_asked = self._calls.build.needs_lock or bool(worker.former)  # 1
            known = self._judge_claim(worker, task) if is_asked else None
            if known is not None:
                return known
            found: Issue | Held | None = None
            try:
                found = self._try_claim(worker, task)  # 2
                error: TrackerError = TrackerUnsureError(f"bd did not say who has {task}", hint="Try again.")
            except TrackerRefusedError as raised:
                holder = _HOLDER.search(raised.message)
                found, error = _held(task, holder[1] or holder[2]) if holder else None, raised
            except TrackerUnsureError as raised:
                error = raised
            found = found or self._judge_claim(worker, task)  # 3
            if found is None:
                raise error
            return found

    def _try_claim(self, worker: Worker, task: str) -> Issue | None:
        """Claim a task in `bd`; return it if the agent has it then.

        Some builds accept the beginning of an id, and some leave a task open that was already assigned to the
        agent.
        """
        try:
            issue = next(iter(self._calls.change(worker.agent, "update", task, "--claim")), None)
        except UnknownTaskError:
            raise _unknown(task) from None
        if issue is not None and issue.id != task:
            self._let_go(worker, issue.id)
            raise _unknown(task, f"did you mean {issue.id}?")
        if issue is not None and issue.assignee == worker.agent and issue.status == OPEN:
            found = self._calls.change(worker.agent, "update", task, f"--status={IN_PROGRESS}")
            issue = next(iter(found), None)
        return issue if issue is not None and issue.is_of(worker) else None

    def _judge_claim(self, worker: Worker, task: str) -> Issue | Held | None:
        """Return a task if the agent has it, `Held` if another agent has it, and None if it is free."""
        found = self._require(task)
        if found.is_closed:
            raise UsageError(
                f"task {task} is closed", hint="`passdown task ready` lists the tasks that you can claim."
            )
        if found.is_of(worker):
            return found
        return _held(task, found.assignee) if found.is_anothers(worker) else None

    # --- notes --------------------------------------------------------------------------------------

    def note(self, op: Operation, worker: Worker, task: str, text: str) -> TaskStored:
        """Add a text to the note of a task, together with the mark of the operation."""
        require_id(task)
        with self._calls.alone():
            must_look = op.is_repeat or self._calls.build.needs_lock
            known = self._require(task) if must_look else None
            if op.is_repeat and known is not None and _has_note(known, op, text):
                return TaskStored(task=known.task)
            noted = self._add_note(op, worker, task, known, text)
            self._keep_alive(worker, noted)
            return TaskStored(task=noted.task)

    def _add_note(self, op: Operation, worker: Worker, task: str, known: Issue | None, text: str) -> Issue:
        text = clean(text)
        build = self._calls.build
        note = join_notes(known.task.note, text) if known is not None else text
        if len(note.encode()) > build.longest_note:
            hint = (
                f"bd {build.version} stores at most {build.longest_note:,} bytes; newer versions store more."
            )
            raise TrackerRefusedError(f"the notes of {task} would be too long", hint=hint)
        words = [f"--append-notes={text}"] if build.can_append else [f"--notes={note}"]
        words += [f"--set-metadata={MARK}{op.mark}=1"] if build.has_metadata else []
        try:
            found = self._calls.change(worker.agent, "update", task, *words)
        except UnknownTaskError:
            raise _unknown(task) from None
        issue = next((one for one in found if one.id == task), None) or self._require(task)
        if text not in issue.task.note:
            raise TrackerUnsureError(f"bd did not add the note to {task}", hint="Try again.")
        return issue

    def _require(self, task: str) -> Issue:
        found = self._calls.show(task)
        if found is None:
            raise _unknown(task)
        return found

    # --- closing ------------------------------------------------------------------------------------

    def close(
        self, op: Operation, worker: Worker, held: Fenced, reason: str, note: str
    ) -> TaskClosed | Lost | Held:
        """Close a task.

        1. The fence tells whether the session still holds it; without a fence, `bd` may say that the agent
           has it. A close without a session needs no fence.
        2. A task that is already closed is done, no matter who closed it.
        3. A task of another agent is not closed, although most builds would do it. A task of the agent of a
           dead session that this one continues is closed under that name.
        4. The note is added first, then the task is closed; its state afterwards counts.
        """
        task = held.resource.name
        require_id(task)
        with self._calls.alone():
            known = self._require(task)
            lost = self._holdings.renew(op.part(1), worker, held) if worker.session else None  # 1
            if lost is not None and not known.is_of(worker) and not (op.is_repeat and known.is_closed):
                return _held(task, known.assignee) if known.is_anothers(worker) else lost
            if not known.is_closed:  # 2
                if known.is_anothers(worker):  # 3
                    self._holdings.release(op, 2, worker, [held])
                    return _held(task, known.assignee)
                actor = known.find_actor(worker)
                if note and not _has_close_note(known, op, note):
                    self._add_note(op, actor, task, known, note)
                known = self._close(actor, task, reason)  # 4
        released = self._holdings.release_all(op, 3, worker, task)
        closed = replace(known.task, is_held=False)
        return TaskClosed(task=closed, released=released, is_unfenced=self._holdings.is_away)

    def _close(self, worker: Worker, task: str, reason: str) -> Issue:
        """Close a task in `bd`; if the answer is unclear, read the task again."""
        try:
            found = self._calls.change(worker.agent, "close", task, f"--reason={clean(reason)}")
        except (TrackerRefusedError, TrackerUnsureError):
            known = self._require(task)
            if not known.is_closed:
                raise
            return known
        except UnknownTaskError:  # one build does not find a task that it has just closed
            found = ()
        issue = next((one for one in found if one.id == task and one.is_closed), None)
        known = issue or self._require(task)
        if not known.is_closed:
            raise TrackerUnsureError(f"bd did not close {task}", hint=f"Check with `bd show {task}`.")
        return known

    def give_back(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost:
        """Give up a task that the session holds, or that the agent has only in `bd` (C86)."""
        task = held.resource.name
        require_id(task)
        lost = self._holdings.renew(op.part(1), worker, held)
        with self._calls.alone():
            known = self._require(task)
            if lost is not None and not known.is_of(worker):
                return lost
            if worker.is_called(known.assignee) and not known.is_closed:
                known = self._let_go(worker._replace(agent=known.assignee), task)
        self._holdings.release(op, 2, worker, [held])
        return TaskStored(task=replace(known.task, is_held=False))

    def _let_go(self, worker: Worker, task: str) -> Issue:
        found = self._calls.change(worker.agent, "update", task, "--status=open", "--assignee=")
        issue = next((one for one in found if one.id == task), None)
        return issue or self._require(task)

    def move(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost | Held:
        """Reassign a task from another agent to this one, which has the lease.

        If somebody else claims the task between the two calls of `bd`, the lease is released too.
        """
        task = held.resource.name
        require_id(task)
        self._holdings.require_engine()
        if held not in self._holdings.of(worker, TASK):
            return Lost(kind=TASK, name=task, fence=held.fence)
        with self._calls.alone():
            known = self._require(task)
            if known.is_closed or known.assignee == worker.agent:
                return TaskStored(task=known.task)
            if known.assignee:
                self._let_go(worker._replace(agent=known.assignee), task)
            claimed = self._claim_one(worker, task)
        if isinstance(claimed, Held):
            self._holdings.release(op, 2, worker, [held])
            return claimed
        return TaskStored(task=claimed.task)

    def sync(self, worker: Worker, *, push: bool = False) -> str:
        return _sync(self._calls, worker.agent, push=push)


def _make_words(task: Task, after: Sequence[str]) -> Sequence[str]:
    """Return the arguments of `bd` for adding a task."""
    words = ["create", f"--title={clean(task.title)}", f"--priority={task.priority}"]
    words += [f"--description={clean(task.body)}"] if task.body else []
    words += [f"--labels=role:{clean(task.role)}"] if task.role else []
    words += [f"--deps={','.join(after)}"] if after else []
    return [*words, f"--id={task.task}"] if task.task else words


def _has_note(issue: Issue, op: Operation, text: str) -> bool:
    """Return whether a note was added, by its mark, or by its text if the build stores no marks."""
    return op.mark in issue.marks or (bool(op.before) and is_added(issue.task.note, clean(text), op.before))


def _has_close_note(issue: Issue, op: Operation, note: str) -> bool:
    """Return whether the note of a close is there, from this close or from one that got no further.

    After an incomplete close, the task is open and its note ends with that text.
    """
    lines = clean(note).splitlines()
    return (op.is_repeat and _has_note(issue, op, note)) or issue.task.note.splitlines()[
        -len(lines) :
    ] == lines


def _unknown(task: str, hint: str = "`passdown task list` lists them") -> UsageError:
    return UsageError(f"there is no task {task}", hint=hint)


def _held(task: str, agent: str) -> Held:
    return Held(kind=TASK, name=task, held=task, session="", agent=agent, left=0.0)


# --- syncing ------------------------------------------------------------------------------------


def _sync(calls: Calls, agent: str, *, push: bool) -> str:
    """Sync as far as the build can; commit to git or push only if `push` is set.

    1. A build with a file of lines writes that file; its full sync also commits and pushes with git.
    2. A build without `sync` can only push its database.
    3. Other builds pull and push their own remote, and never adopt a remote of git.
    """
    build = calls.build
    actor = f"--actor={agent or UNNAMED}"
    if build.has_imports:  # 1
        _require_done(calls.run("sync", actor) if push else calls.run("sync", "--flush-only", actor))
        return "committed, pulled and pushed" if push else "exported the tasks to the file that git tracks"
    if not build.has_sync:  # 2
        if not push:
            return f"nothing to do: bd {build.version} syncs only with `push = true` under [tracker]"
        _require_done(calls.run("dolt", "push", actor))
        return "pushed the database"
    done = calls.run("sync", "--no-adopt", "--json", actor)  # 3
    status = _read_status(done)
    if status not in {"ok", "no-remote"}:
        raise _failed(done, status)
    return "pulled and pushed" if status == "ok" else "nothing to do: Beads has no remote"


def _require_done(done: ProgramResult) -> None:
    if not done.is_done:
        raise _failed(done, "")


def _failed(done: ProgramResult, status: str) -> TrackerSyncError:
    said = one_line(" ".join((status or done.errors or done.text).split()))[:300]
    return TrackerSyncError(f"bd could not sync: {said}", hint="Nothing is lost; run `passdown sync` again.")


def _read_status(done: ProgramResult) -> str:
    try:
        found: object = json.loads(done.text)
    except ValueError:
        return ""
    values = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    inner = values.get("data")
    values = cast("dict[str, object]", inner) if isinstance(inner, dict) else values
    status = values.get("status")
    return status if isinstance(status, str) else ""
