"""The outbox: each change of the tracker happens once, whatever dies in between, and nothing is lost."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.coordination.leases import Fenced, Held, Lost
from passdown.core.coordination.operations import Operation, is_operation, make_operation, operation_time
from passdown.core.coordination.tasks import (
    Claimed,
    Listing,
    NothingReady,
    Task,
    TaskClosed,
    TaskState,
    TaskStored,
)
from passdown.core.facts import Fact
from passdown.core.formats.journal import JournalLine, parse_line, render_line
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account, fold_journal
from passdown.core.work.operations import (
    OperationAction,
    Outcome,
    SharedOperation,
    as_repeat,
    describe_operation,
    list_unsynced,
    make_before,
    make_outcome,
    make_text_safe,
    make_wish,
    plan_replay,
    read_operations,
)
from passdown.errors import (
    StorageError,
    TrackerBusyError,
    TrackerError,
    TrackerRefusedError,
    TrackerSpentError,
    TrackerUnsureError,
    UsageError,
)
from passdown.ports.coordination import Coordination
from passdown.ports.tracker import NOBODY, ClaimWish, Tracker, TrackerInfo, Worker
from passdown.records import replace
from passdown.services.coordination.claims import CloseRequest
from passdown.services.coordination.membership import as_worker, join_project
from passdown.services.coordination.reservations import ReservationRequest, reserve_files
from passdown.services.coordination.tasks import is_outside
from passdown.services.operations.operations import append, journal_of, make_id
from passdown.services.operations.waiting import find_waiting, read_all
from passdown.services.sessions.journals import read_account
from passdown.services.work import tracker_changes
from passdown.settings import Settings, TrackerChoice, TrackerSettings
from passdown.trackers.board import Board
from tests.support.sessions import NOON, MemoryLocks, MemoryWorkspace, Place, make_place, with_parts

Fault = Callable[[], Exception | None]


@dataclass
class Faults:
    """What a tracker does wrong: one entry for each call that changes it, `before` or `after` its effect."""

    plan: list[str] = field(default_factory=list[str])
    calls: list[str] = field(default_factory=list[str])
    repeats: list[bool] = field(default_factory=list[bool])
    noted_by: list[str] = field(default_factory=list[str])
    befores: list[str] = field(default_factory=list[str])
    error: type[TrackerError] = TrackerUnsureError
    blind: int = 0
    """How often it does not tell a task."""
    hint: str = "Look at the task."
    errors: list[TrackerError] = field(default_factory=list[TrackerError])
    """What the next calls fail with, instead."""
    about: TrackerInfo = TrackerInfo("outside", "Outside 1.0")  # noqa: RUF009  # it is never changed

    def fail_with(self, *errors: TrackerError) -> None:
        """Let the next calls fail, each with its own error."""
        self.plan, self.errors = ["before"] * len(errors), [*errors]

    def meet(self, moment: str, call: str) -> None:
        """Fail if this is the moment to."""
        if moment == "before":
            self.calls.append(call)
            self.plan = self.plan or [""]
        if self.plan[0] == moment:
            self.plan.pop(0)
            raise self.errors.pop(0) if self.errors else self.error("the tracker died", hint=self.hint)
        if moment == "after":
            self.plan.pop(0)


def _renew(op: Operation) -> Operation:
    """Give an operation the time at which all tests happen: the board forgets ids after two days."""
    return op._replace(id=make_operation(NOON, b"0123456789")[:13] + op.id[13:])


class FaultyTracker:
    """The board in the place of a tracker that is outside, with faults."""

    def __init__(self, coordination: Coordination, faults: Faults) -> None:
        """Keep the tasks on the board."""
        self._board = Board(coordination)
        self._faults = faults
        self.about = faults.about

    def tasks(self, listing: Listing, worker: Worker = NOBODY) -> Sequence[TaskState]:
        """List tasks."""
        return self._board.tasks(listing, worker)

    def find(self, task: str) -> TaskState | None:
        """Find a task."""
        self._faults.blind -= 1
        if self._faults.blind >= 0:
            raise TrackerUnsureError("the tracker died", hint=self._faults.hint)
        return self._board.find(task)

    def create(self, op: Operation, worker: Worker, task: Task, after: Sequence[str] = ()) -> Task:
        """Add a task."""
        self._begin(op, "create")
        made = self._board.create(op, worker, task, after)
        self._faults.meet("after", "create")
        return made

    def claim(self, op: Operation, worker: Worker, wish: ClaimWish) -> Claimed | Held | NothingReady:
        """Claim tasks."""
        self._begin(op, "claim")
        found = self._board.claim(op, worker, wish)
        self._faults.meet("after", "claim")
        return found

    def note(self, op: Operation, worker: Worker, task: str, text: str) -> TaskStored:
        """Add a note."""
        self._begin(op, f"note {text[:20]}")
        self._faults.noted_by.append(worker.session)
        found = self._board.note(_renew(op), worker, task, text)
        self._faults.meet("after", "note")
        return found

    def close(
        self, op: Operation, worker: Worker, held: Fenced, reason: str, note: str
    ) -> TaskClosed | Lost | Held:
        """Close a task."""
        self._begin(op, f"close {held.resource.name}")
        found = self._board.close(_renew(op), worker, held, reason, note)
        self._faults.meet("after", "close")
        return found

    def give_back(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost:
        """Give a task back."""
        return self._board.give_back(op, worker, held)

    def move(self, op: Operation, worker: Worker, held: Fenced) -> TaskStored | Lost | Held:
        """Tell whose a task is."""
        self._begin(op, f"move {held.resource.name}")
        found = self._board.move(op, worker, held)
        self._faults.meet("after", "move")
        return found

    def sync(self, worker: Worker, *, push: bool = False) -> str:
        """Sync."""
        del worker, push
        self._begin(Operation(""), "sync")
        self._faults.meet("after", "sync")
        return "ok"

    def _begin(self, op: Operation, call: str) -> None:
        self._faults.meet("before", call)
        self._faults.repeats.append(op.is_repeat)
        self._faults.befores.append(op.before)


def _miss(_: Coordination) -> FaultyTracker:
    """Make no tracker."""
    raise TrackerError("there is no bd")


class Desk:
    """A project whose tracker is outside, and a session that works in it."""

    def __init__(self) -> None:
        """Begin with one task."""
        self.place: Place = make_place()
        self.faults = Faults()
        self.waits: list[float] = []
        self.told: list[str] = []
        self.workspace: MemoryWorkspace = with_parts(
            self.place,
            make_tracker=self.make_tracker,
            wait=self.waits.append,
            warn=self.told.append,
            report=self.told.append,
            coordination=self.place.project.shared,
            locks=MemoryLocks(),
        )
        self.place = replace(self.place, project=self.workspace)
        self.account = self.place.start(nickname="amber")
        self.task = self.add("Sign in form")

    def make_tracker(self, coordination: Coordination) -> Tracker:
        """Make the tracker."""
        return FaultyTracker(coordination, self.faults)

    def add(self, title: str) -> str:
        """Add a task."""
        return tracker_changes.create(self.workspace, self.account, Task(task="", title=title)).task

    def claim(self) -> None:
        """Claim the task."""
        self.account = tracker_changes.claim(self.workspace, self.account, ClaimWish((self.task,))).account

    def note(self, text: str) -> bool:
        """Add a note to the task."""
        return tracker_changes.add_note(self.workspace, self.account, self.task, text)

    def notes(self) -> list[str]:
        """Give the notes of the task, line by line."""
        return self.text().split("\n")

    def text(self) -> str:
        """Give the notes of the task."""
        found = self.workspace.tracker.find(self.task)
        assert found is not None
        return found.task.note

    def operations(self) -> Sequence[SharedOperation]:
        """Give all operations of the journals."""
        return read_all(self.workspace)

    def file(self, name: str) -> list[dict[str, Any]]:
        """Read the records of a file."""
        path = f".conductor/{name}"
        if not self.workspace.documents.exists(path):
            return []
        return [json.loads(line) for line in self.place.read(path).splitlines()]


@pytest.fixture
def desk() -> Desk:
    """Give a project whose tracker is outside."""
    return Desk()


def make(action: OperationAction = OperationAction.UPDATE, **more: Any) -> SharedOperation:
    """Make an operation."""
    values: dict[str, Any] = {"id": "op-1", "at": NOON, "agent": "amber", "session": "s-1", "task": "bd-1"}
    return SharedOperation(action=action, **{**values, **more})


def lines_of(*facts: Fact) -> list[JournalLine]:
    """Write facts as lines, and read them back."""
    lines = [JournalLine(seq=seq, fact=fact) for seq, fact in enumerate(facts, 1)]
    return [parse_line(render_line(line).removesuffix("\n")) for line in lines]


# --- the journal ------------------------------------------------------------------------------------


@given(
    note=st.text(max_size=200).map(make_text_safe),
    reason=st.text(max_size=50).map(make_text_safe),
    fence=st.integers(0, 9),
)
def test_an_operation_is_read_back_as_it_was_written(note: str, reason: str, fence: int) -> None:
    operation = make(
        OperationAction.CLOSE, note=note, reason=reason, fence=fence, before="3:abc", record="x_1"
    )

    assert read_operations("s-1", lines_of(*make_wish(operation))) == [operation]


@pytest.mark.parametrize("size", [32_768, 32_769, 60_000, 100_000])
def test_a_long_note_is_written_in_parts_that_fit_even_escaped(size: int) -> None:
    operation = make(note="\x01" * size)

    lines = lines_of(*make_wish(operation))

    assert read_operations("s-1", lines) == [operation]
    assert read_operations("s-1", lines[1:]) == []
    assert read_operations("s-1", lines[:-1]) == []


def test_an_outcome_settles_an_operation_once_and_what_nobody_knows_changes_nothing() -> None:
    operation = make()
    wish = make_wish(operation)
    failed = make_outcome(operation, Outcome.FAILED, NOON, "birch", "no answer")
    done = make_outcome(operation, Outcome.DONE, NOON, "birch")
    newer = done._replace(text="teleported", others=(("outcome", '"teleported"'),))
    other = done._replace(key="op-2")

    (found,) = read_operations("s-1", lines_of(*wish, newer, other, failed, done, failed, *wish))

    assert (found.tries, found.outcome, found.error, found.is_open) == (2, "done", "", False)
    (waiting,) = read_operations("s-1", lines_of(*wish, failed))
    assert (waiting.tries, waiting.error, waiting.is_waiting) == (1, "no answer", True)


def test_how_the_note_began_is_taken_from_the_first_who_says_so() -> None:
    operation = make()
    first, second = (
        make_before(replace(operation, before=before), NOON, "birch") for before in ("3:abc", "9:def")
    )
    newer = first._replace(text="teleported")

    (found,) = read_operations("s-1", lines_of(*make_wish(operation), newer, first, second))

    assert found.before == "3:abc"


def test_a_text_that_no_program_can_be_given_is_written_with_escapes() -> None:
    assert make_text_safe("a\0b\udcffc ä") == "a\\x00b\\udcffc ä"


def test_members_of_another_type_are_left_out() -> None:
    (wish,) = make_wish(make(note="a"))
    odd = wish._replace(others=(("task", "1"), ("note", "[]"), ("fence", '"x"')))

    (found,) = read_operations("s-1", lines_of(odd))

    assert (found.task, found.note, found.fence) == ("", "", 0)


def test_updates_are_repeated_before_closes_and_claims_never() -> None:
    later = NOON + timedelta(seconds=1)
    found = plan_replay(
        [
            make(OperationAction.SYNC, id="5"),
            make(OperationAction.CLOSE, id="3"),
            make(OperationAction.UPDATE, id="2", at=later),
            make(OperationAction.UPDATE, id="1"),
            make(OperationAction.CLAIM, id="6"),
            make(OperationAction.CREATE, id="7"),
            make(OperationAction.CLOSE, id="4", outcome="done"),
        ]
    )

    assert [one.id for one in found] == ["1", "2", "3", "5"]


def test_what_was_changed_since_the_last_sync_is_not_synced() -> None:
    later = NOON + timedelta(seconds=5)
    found = list_unsynced(
        [
            make(task="bd-2", at=later),
            make(task="bd-1"),
            make(OperationAction.SYNC, task="", at=NOON + timedelta(seconds=1), outcome="done"),
            make(OperationAction.SYNC, task="", at=later),
        ]
    )

    assert found == ["bd-2"]


def test_what_others_write_into_a_journal_is_no_sign_of_life() -> None:
    start = Fact(kind="start", text="started", at=NOON, agent="amber")
    operation = make()
    settled = make_outcome(operation, Outcome.DONE, NOON + timedelta(hours=2), "birch")

    account = fold_journal("s-1", lines_of(start, *make_wish(operation), settled))

    assert (account.touched_at, account.agent, account.last_seq) == (NOON, "amber", 3)


def test_a_published_session_stays_published_when_its_operations_are_settled() -> None:
    start = Fact(kind="start", text="started", at=NOON, agent="amber")
    end = Fact(kind="end", text="session-end", at=NOON, agent="amber", key="published")
    settled = make_outcome(make(), Outcome.DONE, NOON, "birch")

    assert fold_journal("s-1", lines_of(start, end, settled)).is_published


# --- one change -------------------------------------------------------------------------------------


@pytest.mark.requirement("R189")
@pytest.mark.requirement("R195")
@pytest.mark.requirement("R199")
@pytest.mark.requirement("R201")
@pytest.mark.requirement("R202")
def test_a_note_is_tried_at_once_after_one_second_and_after_two_then_it_waits(desk: Desk) -> None:
    desk.faults.plan = ["before", "before", "before"]

    assert not desk.note("IN_PROGRESS: RED")

    assert desk.waits == [1.0, 2.0]
    (operation,) = [one for one in desk.operations() if one.action is OperationAction.UPDATE]
    assert (operation.tries, operation.is_waiting, is_operation(operation.id)) == (3, True, True)
    (record,) = desk.file("pending_updates.jsonl")
    key = f"{desk.account.agent}_{int(NOON.timestamp())}_update_{desk.task}"
    assert record == {
        "op": "update",
        "id": desk.task,
        "idempotencyKey": key,
        "args": ["--append-notes", "IN_PROGRESS: RED"],
        "ts": "2026-01-11T12:00:00Z",
        "retries": 3,
        "operation": operation.id,
    }
    assert desk.told[-1] == (
        f"Outside did not answer; the note on {desk.task} is queued ({key}); the next command sends it"
    )


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_tracker_that_dies_before_or_after_its_effect_acts_once(desk: Desk, moment: str) -> None:
    desk.faults.plan = [moment]
    desk.faults.repeats.clear()

    assert desk.note("once")

    assert desk.notes() == ["once"]
    assert desk.faults.repeats == ([True] if moment == "before" else [False, True])
    assert desk.file("pending_updates.jsonl") == []


def test_what_waits_is_done_once_by_the_next_verb_and_its_record_goes(desk: Desk) -> None:
    desk.faults.plan = ["after", "before", "before"]
    desk.note("one")
    assert desk.notes() == ["one"]
    desk.faults.repeats.clear()

    desk.note("two")

    assert desk.notes() == ["one", "two"]
    assert desk.faults.repeats == [True, False]
    assert set(desk.faults.noted_by) == {desk.account.session}
    assert desk.file("pending_updates.jsonl") == []
    assert any("sent 1 queued change to Outside" in one for one in desk.told)
    assert find_waiting(desk.workspace) == []


def test_what_a_killed_process_left_open_is_done_by_the_next_verb(desk: Desk) -> None:
    op = make_operation(NOON, b"0123456789")
    wish = make(id=op, session=desk.account.session, task=desk.task, note="left")
    append(desk.workspace, desk.account.session, [wish])

    desk.note("new")

    assert desk.notes() == ["left", "new"]


@pytest.mark.requirement("R196")
@pytest.mark.requirement("R200")
def test_a_close_that_waits_ends_the_session_s_work_on_the_task(desk: Desk) -> None:
    desk.claim()
    desk.faults.plan = ["before"] * 3

    found = tracker_changes.close(desk.workspace, desk.account, CloseRequest(desk.task, text="it works"))

    assert found.outcome is None
    assert (found.account.task, found.account.claims) == ("", {})
    assert [fact.text for fact in found.account.of(FactKind.DONE)] == [f"Sign in form ({desk.task})"]
    (record,) = desk.file("pending_closes.jsonl")
    assert (record["op"], record["args"]) == ("close", ["--reason", "completed"])
    assert record["notes"].startswith("COMPLETED: it works")


@pytest.mark.requirement("R172")
def test_a_claim_is_tried_three_times_and_never_repeated(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 3

    with pytest.raises(TrackerError, match="failed after 3 attempts: the tracker died") as found:
        desk.claim()

    assert (found.value.exit_code, found.value.hint) == (1, "Look at the task.")
    assert find_waiting(desk.workspace) == []
    (claim,) = [one for one in desk.operations() if one.action is OperationAction.CLAIM]
    assert claim.outcome == Outcome.ABANDONED


def test_a_claim_is_not_tried_again_where_that_cannot_help_but_a_note_is(desk: Desk) -> None:
    desk.faults.plan, desk.faults.error, desk.faults.hint = ["before"], TrackerError, ""
    with pytest.raises(TrackerError, match="failed after 1 attempt: the tracker died") as found:
        desk.claim()
    assert found.value.hint == "Check the task before you try again."

    desk.faults.plan = ["before", "before"]
    assert desk.note("kept")

    assert (desk.notes(), desk.waits) == (["kept"], [1.0, 2.0])


def test_a_long_note_is_written_down_in_lines_that_follow_each_other(desk: Desk) -> None:
    text = "x" * 60_000

    assert desk.note(text)

    assert desk.text() == text
    lines = desk.workspace.journals.read(desk.account.session)
    assert [line.seq for line in lines] == [*range(1, len(lines) + 1)]


@pytest.mark.requirement("R197")
def test_a_new_task_is_tried_three_times_and_made_once(desk: Desk) -> None:
    desk.faults.plan, desk.faults.error = ["before"] * 3, TrackerBusyError
    with pytest.raises(TrackerError, match="failed after 3 attempts") as found:
        desk.add("one")
    assert found.value.exit_code == 1

    desk.faults.plan, desk.faults.error = ["after"], TrackerError
    with pytest.raises(TrackerError, match="failed after 1 attempt: the tracker died"):
        desk.add("two")

    assert [one.task.title for one in desk.workspace.tracker.tasks(Listing.OPEN)] == ["Sign in form", "two"]


def test_what_the_tracker_refuses_is_not_tried_again(desk: Desk) -> None:
    desk.faults.plan, desk.faults.error = ["before"], TrackerRefusedError

    with pytest.raises(TrackerRefusedError):
        desk.note("no")

    assert (desk.waits, find_waiting(desk.workspace)) == ([], [])


def test_a_replay_that_is_refused_is_told_and_settled(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 3
    desk.note("one")
    desk.faults.plan, desk.faults.error = ["before", ""], TrackerRefusedError

    desk.note("two")

    assert desk.notes() == ["two"]
    assert any("Outside refused a queued change" in one for one in desk.told)
    assert desk.file("pending_updates.jsonl") == []


def test_a_close_that_another_session_overtook_is_refused_at_replay(desk: Desk) -> None:
    desk.claim()
    desk.faults.plan = ["before"] * 3
    tracker_changes.close(desk.workspace, desk.account, CloseRequest(desk.task))
    birch = desk.place.start(nickname="birch", is_new=True)
    tracker_changes.claim(desk.workspace, birch, ClaimWish((desk.task,)))

    assert [one.outcome for one in desk.operations() if one.action is OperationAction.CLOSE] == [
        Outcome.REFUSED
    ]


def test_a_close_of_a_task_that_is_anothers_by_now_is_refused_at_the_sessions_own_replay(desk: Desk) -> None:
    desk.claim()
    desk.faults.plan = ["before"] * 3
    tracker_changes.close(desk.workspace, desk.account, CloseRequest(desk.task))
    birch = desk.place.start(nickname="birch", is_new=True)
    op = Operation(make_id(desk.workspace))
    join_project(desk.workspace, birch)
    desk.workspace.tracker.claim(op, as_worker(birch), ClaimWish((desk.task,)))

    desk.note("one")

    assert [one.outcome for one in desk.operations() if one.action is OperationAction.CLOSE] == [
        Outcome.REFUSED
    ]


@pytest.mark.requirement("R188")
@pytest.mark.requirement("R190")
@pytest.mark.requirement("R192")
@pytest.mark.requirement("R193")
@pytest.mark.requirement("R198")
def test_a_sync_that_fails_three_times_is_owed(desk: Desk) -> None:
    desk.note("one")
    desk.faults.plan = ["before"] * 3

    with pytest.raises(TrackerError, match="sync failed after 3 attempts") as found:
        tracker_changes.sync(desk.workspace, desk.account)

    assert found.value.exit_code == 1
    assert sum("attempt" in one for one in desk.told) == 3
    unsynced = json.loads(desk.place.read(".conductor/unsynced.json"))
    assert unsynced["agentId"] == desk.account.agent
    assert (unsynced["timestamp"], unsynced["reason"]) == (
        "2026-01-11T12:00:00Z",
        "sync_failed_after_retries",
    )
    assert desk.place.read(".conductor/unsynced_beads.txt") == f"{desk.task}\n"

    assert tracker_changes.sync(desk.workspace, desk.account) == "ok"
    assert not desk.workspace.documents.exists(".conductor/unsynced.json")
    assert not desk.workspace.documents.exists(".conductor/unsynced_beads.txt")


@pytest.mark.requirement("R190", "R198", "C99")
def test_one_waiting_sync_is_enough(desk: Desk) -> None:
    birch = desk.place.start(nickname="birch", is_new=True)
    for account in (desk.account, None, birch, desk.account):
        desk.faults.plan = ["before"] * 3
        with pytest.raises(TrackerError, match="sync failed after 3 attempts"):
            tracker_changes.sync(desk.workspace, account)
        assert desk.faults.plan == []  # the sync that waited was not tried beside this one
        assert [one.said for one in find_waiting(desk.workspace)] == ["sync"]

    desk.told.clear()
    desk.note("one")

    assert desk.told == ["sent 1 queued change to Outside"]
    assert find_waiting(desk.workspace) == []


@pytest.mark.requirement("R190", "R198", "C99")
def test_a_sync_that_is_done_settles_the_one_that_waited(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 3
    with pytest.raises(TrackerError):
        tracker_changes.sync(desk.workspace, None)
    desk.told.clear()
    desk.faults.repeats.clear()

    assert tracker_changes.sync(desk.workspace, desk.account) == "ok"

    assert (len(desk.faults.repeats), desk.told) == (1, [])
    assert find_waiting(desk.workspace) == []


@pytest.mark.requirement("R190", "R198", "C99")
def test_a_waiting_sync_of_a_session_that_is_busy_is_left_to_it(desk: Desk) -> None:
    birch = desk.place.start(nickname="birch", is_new=True)
    desk.faults.plan = ["before"] * 3
    with pytest.raises(TrackerError):
        tracker_changes.sync(desk.workspace, birch)

    with desk.workspace.locks.held(journal_of(birch.session), 0.0):
        assert tracker_changes.sync(desk.workspace, desk.account) == "ok"

    assert [one.session for one in find_waiting(desk.workspace)] == [birch.session]


@pytest.mark.requirement("R190", "R198", "C99")
def test_a_waiting_sync_that_is_refused_is_told_in_words(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 3
    with pytest.raises(TrackerError):
        tracker_changes.sync(desk.workspace, desk.account)
    desk.told.clear()
    desk.faults.fail_with(TrackerRefusedError("no remote"))

    desk.note("one")

    assert desk.told == ["Outside refused a queued change, sync: no remote"]


@pytest.mark.requirement("R190", "R191", "R192", "R193")
def test_a_sync_that_is_owed_without_a_session_is_in_the_files_until_it_is_done(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 3
    saved = ".conductor/unsynced.json and .conductor/unsynced_beads.txt"

    with pytest.raises(TrackerError, match=f"after 3 attempts; unsynced changes are listed in {saved}"):
        tracker_changes.sync(desk.workspace, None)

    unsynced = json.loads(desk.place.read(".conductor/unsynced.json"))
    assert (unsynced["agentId"], unsynced["reason"]) == ("", "sync_failed_after_retries")
    assert desk.place.read(".conductor/unsynced_beads.txt") == f"{desk.task}\n"

    assert tracker_changes.sync(desk.workspace, None) == "ok"
    assert not desk.workspace.documents.exists(".conductor/unsynced.json")
    assert not desk.workspace.documents.exists(".conductor/unsynced_beads.txt")


@pytest.mark.requirement("R193")
@pytest.mark.parametrize("text", ["mine\n", '{"reason": "another tool failed"}\n'])
def test_without_a_session_a_file_that_others_wrote_is_left_alone_and_not_named(
    desk: Desk, text: str
) -> None:
    desk.place.write(text, ".conductor/unsynced.json")
    desk.faults.plan = ["before"] * 3

    with pytest.raises(TrackerError, match="sync failed after 3 attempts; a later command tries again"):
        tracker_changes.sync(desk.workspace, None)

    assert desk.place.read(".conductor/unsynced.json") == text
    assert not desk.workspace.documents.exists(".conductor/unsynced_beads.txt")


@pytest.mark.requirement("R193")
def test_a_file_of_another_kind_is_left_alone_and_not_named(desk: Desk) -> None:
    desk.place.write("mine\n", ".conductor/unsynced.json")
    desk.faults.plan = ["before"] * 3

    with pytest.raises(TrackerError, match="sync failed after 3 attempts; a later command tries again"):
        tracker_changes.sync(desk.workspace, desk.account)

    assert desk.place.read(".conductor/unsynced.json") == "mine\n"


@pytest.mark.requirement("R197")
@pytest.mark.parametrize("then", [TrackerUnsureError, TrackerBusyError, TrackerSpentError])
def test_a_task_that_may_have_been_made_is_told_though_only_the_look_failed_since(
    desk: Desk, then: type[TrackerError]
) -> None:
    failures = [
        TrackerUnsureError("bd died", hint="It may have been done."),
        then("no answer", hint="Later."),
    ]
    desk.faults.fail_with(*failures, then("no answer", hint="Later."))

    with pytest.raises(TrackerError, match=r"failed after [23] attempts: no answer") as found:
        desk.add("one")

    assert found.value.hint == "It may have been done."


@pytest.mark.requirement("R197")
def test_the_hint_of_a_new_task_is_that_of_the_latest_error_if_nothing_can_have_been_made(desk: Desk) -> None:
    desk.faults.fail_with(
        TrackerBusyError("busy", hint="Later."), TrackerError("two have this title", hint="Look at them.")
    )

    with pytest.raises(TrackerError, match="failed after 2 attempts: two have this title") as found:
        desk.add("one")

    assert found.value.hint == "Look at them."


def test_operations_of_a_session_that_ended_are_found_by_another(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 3
    desk.note("left behind")
    birch = desk.place.start(nickname="birch", is_new=True)

    tracker_changes.add_note(desk.workspace, birch, desk.task, "mine")

    assert desk.notes() == ["left behind", "mine"]
    assert desk.faults.noted_by == ["", birch.session]
    before = read_account(desk.workspace, desk.account.session)
    assert before.agent == desk.account.agent


def test_an_outbox_in_use_is_left_to_its_session(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 3
    desk.note("left behind")
    birch = desk.place.start(nickname="birch", is_new=True)

    with desk.workspace.locks.held(desk.account.session, 0.0):
        tracker_changes.add_note(desk.workspace, birch, desk.task, "mine")
        with pytest.raises(StorageError, match="another command of this session"):
            desk.note("x")

    assert desk.notes() == ["mine"]


def test_a_tracker_that_is_still_away_leaves_the_rest_waiting(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 3
    desk.note("one")
    desk.faults.plan = ["before"] * 4

    assert not desk.note("two")

    assert [one.note for one in find_waiting(desk.workspace)] == ["one", "two"]
    assert [record["retries"] for record in desk.file("pending_updates.jsonl")] == [4, 3]


def test_whoever_has_no_session_repeats_what_others_left_and_writes_nothing_down(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 3
    desk.note("left")

    with tracker_changes.catch_up(desk.workspace, None) as found:
        assert [one.note for one in found.done] == ["left"]

    assert tracker_changes.sync(desk.workspace, None) == "ok"
    assert desk.notes() == ["left"]


def test_what_is_done_on_the_board_is_written_down_and_settled_at_once(desk: Desk) -> None:
    workspace = with_parts(desk.place, make_tracker=Board)

    assert tracker_changes.add_note(workspace, desk.account, desk.task, "plain")
    assert tracker_changes.sync(workspace, desk.account).startswith("nothing to sync")

    assert desk.notes() == ["plain"]
    assert [one.action for one in desk.operations()] == [OperationAction.CREATE, OperationAction.UPDATE]
    assert not any(one.is_open for one in desk.operations())


def test_a_tracker_without_marks_is_told_how_the_note_began(desk: Desk) -> None:
    desk.note("first")
    desk.faults.about = desk.faults.about._replace(has_marks=False)

    desk.note("second")

    assert desk.operations()[-1].before.startswith("5:")


def test_how_a_note_begins_is_written_down_before_a_tracker_without_marks_adds_what_a_hook_wanted(
    desk: Desk,
) -> None:
    desk.note("first")
    desk.faults.about = desk.faults.about._replace(has_marks=False)
    op = make_operation(NOON, b"0123456789")
    append(
        desk.workspace,
        desk.account.session,
        [make(id=op, session=desk.account.session, task=desk.task, note="hooked")],
    )
    desk.faults.plan = ["after", "before", "before", "before"]
    desk.faults.befores.clear()

    desk.note("mine")

    hooked = next(one for one in desk.operations() if one.id == op)
    assert (hooked.before.partition(":")[0], hooked.is_open) == ("5", True)
    with tracker_changes.catch_up(desk.workspace, desk.account):
        assert desk.notes() == ["first", "hooked", "mine"]
    assert desk.faults.befores[:2] == [hooked.before, hooked.before]  # not how it began after the first try


@pytest.mark.requirement("C148")
def test_a_tracker_that_does_not_tell_how_a_note_begins_is_not_given_it(desk: Desk) -> None:
    """Nobody could tell later whether an equal text that was there before is the new one."""
    desk.note("IN_PROGRESS: RED")
    desk.faults.about = desk.faults.about._replace(has_marks=False)
    desk.faults.blind = 3
    desk.faults.calls.clear()

    assert not desk.note("IN_PROGRESS: RED")
    assert desk.faults.calls == []
    desk.note("next")

    assert desk.notes() == ["IN_PROGRESS: RED", "IN_PROGRESS: RED", "next"]


@pytest.mark.requirement("C148")
def test_what_fails_holds_up_its_own_task_and_no_other(desk: Desk) -> None:
    first, second = desk.task, desk.add("Docs")
    session = desk.account.session
    for number, (task, text) in enumerate([(first, "one"), (first, "two"), (second, "three")]):
        op = make_operation(NOON, bytes([number]) * 10)
        append(desk.workspace, session, [make(id=op, session=session, task=task, note=text)])
    desk.faults.plan = ["before"]
    desk.faults.calls.clear()

    with tracker_changes.catch_up(desk.workspace, desk.account) as found:
        assert [one.note for one in found.done] == ["three"]
        assert [(one.note, one.tries) for one in found.waiting] == [("one", 1), ("two", 0)]
    assert desk.faults.calls == ["note one", "note three"]

    with tracker_changes.catch_up(desk.workspace, desk.account):
        assert desk.notes() == ["one", "two"]


@pytest.mark.requirement("C148")
def test_a_change_that_failed_twenty_times_is_told_with_a_way_to_drop_it(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 99
    desk.note("never")
    for _ in range(16):
        with tracker_changes.catch_up(desk.workspace, desk.account):
            pass
    assert not any("failed" in one and "times" in one for one in desk.told)

    with tracker_changes.catch_up(desk.workspace, desk.account) as found:
        (waiting,) = found.waiting
    assert desk.told[-1] == (
        f"update {desk.task} failed 20 times (last error: the tracker died); "
        f"to drop it: `passdown sync --drop {waiting.id}`"
    )

    assert tracker_changes.drop_change(desk.workspace, desk.account, waiting.key).note == "never"
    assert find_waiting(desk.workspace) == []
    assert desk.file("pending_updates.jsonl") == []
    desk.faults.plan = []
    with tracker_changes.catch_up(desk.workspace, None):
        assert desk.text() == ""


@pytest.mark.requirement("C148")
def test_a_tracker_that_cannot_be_opened_is_no_try_of_what_waits(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 3
    desk.note("kept")

    with tracker_changes.catch_up(with_parts(desk.place, make_tracker=_miss), desk.account) as found:
        assert [(one.note, one.tries) for one in found.waiting] == [("kept", 3)]
    assert [one.tries for one in find_waiting(desk.workspace)] == [3]


@pytest.mark.requirement("R191")
def test_the_list_of_tasks_is_that_of_when_the_sync_failed(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 99
    with pytest.raises(TrackerError, match="sync failed"):
        tracker_changes.sync(desk.workspace, desk.account)
    listed = desk.place.read(".conductor/unsynced_beads.txt")
    desk.faults.plan = ["before", "", "before", ""]

    desk.note("seen")

    assert listed == desk.place.read(".conductor/unsynced_beads.txt") == f"{desk.task}\n"


@pytest.mark.requirement("C148")
def test_a_key_that_two_changes_have_drops_neither(desk: Desk) -> None:
    desk.faults.plan = ["before"] * 99
    desk.note("one")
    desk.note("two")
    one, two = find_waiting(desk.workspace)

    with pytest.raises(UsageError, match="2 queued changes have the key"):
        tracker_changes.drop_change(desk.workspace, desk.account, one.key)
    with pytest.raises(UsageError, match="no queued change has the key op-9"):
        tracker_changes.drop_change(desk.workspace, desk.account, "op-9")
    tracker_changes.drop_change(desk.workspace, None, two.id)

    assert [one.note for one in find_waiting(desk.workspace)] == ["one"]


@pytest.mark.requirement("C148")
def test_a_tracker_that_has_no_time_left_is_not_waited_for(desk: Desk) -> None:
    desk.faults.plan, desk.faults.error = ["before"] * 99, TrackerSpentError
    desk.waits.clear()

    assert not desk.note("one")
    with pytest.raises(TrackerError, match="failed after 1 attempt"):
        desk.claim()
    with pytest.raises(TrackerError, match="sync failed after 1 attempt; a later command tries again"):
        tracker_changes.sync(desk.workspace, desk.account)

    assert desk.waits == []
    (note,) = [one for one in find_waiting(desk.workspace) if one.note]
    assert note.tries == 1  # the replays of the other verbs did not reach it


def test_an_operation_that_is_older_than_the_engine_remembers_is_given_a_new_time() -> None:
    operation = make(id=make_operation(NOON, b"0123456789"))

    soon, late = (as_repeat(operation, NOON + timedelta(days=days)) for days in (1, 3))

    assert soon == Operation(operation.id, operation.before, is_repeat=True)
    assert late.id != operation.id
    assert late.id[13:] == operation.id[13:]
    assert (late.mark, operation_time(late.id)) == (soon.mark, (NOON + timedelta(days=3)).timestamp())


def test_a_note_that_fits_no_tracker_is_refused_before_anything_is_written(desk: Desk) -> None:
    with pytest.raises(UsageError, match="longer than 60,000 bytes"):
        desk.note("ä" * 30_001)

    assert [one.action for one in desk.operations()] == [OperationAction.CREATE]


def test_journals_that_are_settled_are_not_read_again(desk: Desk) -> None:
    for number in range(12):
        desk.place.start(nickname=f"n{number}", is_new=True)
    desk.faults.plan = ["before"] * 3
    desk.note("left")

    assert [one.note for one in find_waiting(desk.workspace)] == ["left"]
    known = json.loads(desk.place.read(".conductor/outbox.json"))
    assert len(known) == 13
    assert known[desk.account.session] < desk.workspace.journals.changed(desk.account.session)
    desk.place.write("[1", ".conductor/outbox.json")
    assert [one.note for one in find_waiting(desk.workspace)] == ["left"]


def test_a_journal_that_grew_just_now_is_read_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = [desk.place.start(nickname=f"n{number}", is_new=True).session for number in range(12)][:3]
    ages = dict(zip(fresh, (0, 9, 11), strict=True))

    def changed(_: object, session: str) -> int:
        return int(NOON.timestamp() - ages.get(session, 60)) * 1_000_000_000

    monkeypatch.setattr(type(desk.workspace.journals), "changed", changed)
    find_waiting(desk.workspace)

    known = json.loads(desk.place.read(".conductor/outbox.json"))
    assert set(fresh) - set(known) == set(fresh[:2])  # it may grow at the same instant
    assert len(known) == 11


def test_a_tracker_that_cannot_even_be_opened_loses_nothing(desk: Desk) -> None:
    away = with_parts(desk.place, make_tracker=_miss)
    assert not tracker_changes.add_note(away, desk.account, desk.task, "kept")

    desk.note("later")

    assert desk.notes() == ["kept", "later"]


def test_a_close_of_which_nobody_tells_the_title_is_done_by_its_id(desk: Desk) -> None:
    desk.claim()
    away = with_parts(desk.place, make_tracker=_miss)

    found = tracker_changes.close(away, desk.account, CloseRequest(desk.task, text="it works"))

    assert (found.outcome, found.title) == (None, desk.task)
    assert [fact.text for fact in found.account.of(FactKind.DONE)] == [desk.task]


def test_a_board_that_is_named_is_never_outside(desk: Desk) -> None:
    settings = replace(Settings(), tracker=TrackerSettings(kind=TrackerChoice.BOARD))

    assert not is_outside(with_parts(desk.place, settings=settings))


def test_a_close_that_waits_leaves_other_tasks_with_the_session_and_releases_its_files(desk: Desk) -> None:
    desk.claim()
    other = desk.add("Docs")
    desk.account = tracker_changes.claim(
        desk.workspace, desk.account, ClaimWish((other,), another=True)
    ).account
    reserve_files(desk.workspace, desk.account, ReservationRequest(["src/"], 600.0))
    desk.faults.plan = ["before"] * 3

    found = tracker_changes.close(desk.workspace, desk.account, CloseRequest(desk.task))

    assert (list(found.account.claims), found.account.reservations) == ([other], {})


def test_status_describes_what_waits() -> None:
    operation = make(OperationAction.SYNC, task="", tries=3, error="no remote")

    assert describe_operation(operation, NOON + timedelta(minutes=2)) == {
        "id": "op-1",
        "op": "sync",
        "task": None,
        "agent": "amber",
        "at": "2026-01-11T12:00:00.000Z",
        "age_seconds": 120,
        "tries": 3,
        "error": "no remote",
    }


def test_an_account_without_operations_has_none() -> None:
    assert Account().task == ""
    assert read_operations("s", []) == []
