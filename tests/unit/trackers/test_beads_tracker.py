"""What the tracker makes of a `bd` that refuses, dies, hangs, is busy, or says something else."""

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from passdown.core.coordination.leases import Held
from passdown.core.coordination.operations import Operation, fingerprint, is_added, make_operation
from passdown.core.coordination.tasks import Claimed, Listing, NothingReady, Task, TaskClosed
from passdown.errors import (
    StorageError,
    TrackerAnswerError,
    TrackerBusyError,
    TrackerError,
    TrackerMissingError,
    TrackerRefusedError,
    TrackerSpentError,
    TrackerSyncError,
    TrackerUnsureError,
    UsageError,
)
from passdown.ports.programs import NOT_STARTED, TIMED_OUT, ProgramResult
from passdown.ports.tracker import TaskSelection, Worker
from passdown.testing.conformance.tracker.bench import TrackedProject, expect
from passdown.trackers.beads.builds import Binary, probe
from passdown.trackers.beads.holdings import Holdings
from passdown.trackers.beads.issues import parse_answer
from passdown.trackers.beads.tracker import Beads
from tests.support.sessions import NOON
from tests.trackers import fake_bd
from tests.trackers.beads import BUILDS, BeadsBench, FakePrograms, make_real

LOCKED = ProgramResult(1, "", '{"error": "another process holds the exclusive lock on x"}')
FORGOTTEN = ProgramResult(1, '{"error": "issue not found"}')
OUT_OF_SYNC = ProgramResult(1, '{"error": "Database out of sync with JSONL. Run \'bd sync --import-only\'"}')


class ScriptedPrograms(FakePrograms):
    """The stand-in, which does something else at the calls that a test names."""

    def __init__(self, version: str, folder: Path) -> None:
        """Begin without anything special."""
        super().__init__(version, folder)
        self.instead: dict[str, list[ProgramResult]] = {}
        self.after: dict[str, list[ProgramResult]] = {}
        self.calls: list[str] = []

    def run(self, command: Sequence[str]) -> ProgramResult:
        """Give the next answer that was named for this verb, before or after its effect."""
        verb = command[1]
        self.calls.append(verb)
        if self.instead.get(verb):
            return self.instead[verb].pop(0)
        done = super().run(command)
        return self.after[verb].pop(0) if self.after.get(verb) else done


class Stage:
    """A project with one task, and a `bd` of one build."""

    def __init__(self, version: str, folder: Path) -> None:
        """Let one session take part."""
        self.programs = ScriptedPrograms(version, folder)
        self.bench = BeadsBench(self.programs)
        self.project = TrackedProject(self.bench)
        self.worker = self.project.join("a")
        self.task = self.project.add("one")
        self.programs.calls.clear()


@pytest.fixture(params=["0.44.0", "1.0.0", "1.3.0"])
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    """Give a project for each build."""
    return Stage(request.param, tmp_path)


@pytest.fixture
def newest(tmp_path: Path) -> Stage:
    """Give a project with the newest build."""
    return Stage("1.3.0", tmp_path)


LEASE_ENDS = datetime.fromisoformat(fake_bd.LEASE_ENDS)
"""When the lease of the stand-in ends."""


@pytest.mark.requirement("C98")
@pytest.mark.parametrize(("minutes", "beats"), [(4, 0), (2, 1), (-60, 1)])
def test_a_lease_of_bd_that_is_half_over_is_renewed_with_the_next_note_or_claim(
    newest: Stage, minutes: int, beats: int
) -> None:
    project, worker = newest.project, newest.worker
    project.claim(worker, newest.task)
    newest.bench.clock = LEASE_ENDS - timedelta(minutes=minutes)

    newest.bench.tracker.note(project.op(), worker, newest.task, "half done")
    newest.bench.tracker.note(project.op(), worker, newest.task, "nearly done")
    expect(Claimed, project.claim(worker))

    assert newest.programs.calls.count("heartbeat") == beats + (2 if minutes < 0 else 0)
    assert "half done\nnearly done" in project.find(newest.task).task.note


def test_a_lease_that_is_anothers_or_cannot_be_renewed_stops_nothing(newest: Stage) -> None:
    project, worker = newest.project, newest.worker
    project.claim(worker, newest.task)
    newest.bench.clock = LEASE_ENDS
    newest.programs.instead["heartbeat"] = [FORGOTTEN]

    newest.bench.tracker.note(project.op(), worker, newest.task, "half done")
    newest.bench.tracker.note(project.op(), project.join("b"), newest.task, "seen")

    assert newest.programs.calls.count("heartbeat") == 1
    assert "half done\nseen" in project.find(newest.task).task.note


@pytest.mark.beads
@pytest.mark.requirement("C98")
@pytest.mark.parametrize("version", BUILDS)
def test_a_real_build_that_gives_leases_renews_them(tmp_path: Path, version: str) -> None:
    bench = make_real(version, tmp_path, tmp_path / "template")
    project = TrackedProject(bench)
    worker, task = project.join("a"), project.add("one")
    project.claim(worker, task)
    (claimed,) = (found,) = bench.calls.read("show", task)
    bench.clock = claimed.lease_ends or NOON

    bench.tracker.note(project.op(), worker, task, "at it")
    while found.lease_ends is not None and found.lease_ends == claimed.lease_ends:  # bd counts whole seconds
        bench.tracker.note(project.op(), worker, task, "still at it")
        (found,) = bench.calls.read("show", task)

    assert (claimed.lease_ends is not None) == (version == "1.3.0")


@pytest.mark.requirement("G6")
@pytest.mark.parametrize("how", [ProgramResult(TIMED_OUT, "it took too long"), ProgramResult(-9, "")])
def test_a_claim_that_was_cut_off_is_judged_by_the_task(stage: Stage, how: ProgramResult) -> None:
    stage.programs.after["update"] = [how]

    outcome = expect(Claimed, stage.project.claim(stage.worker, stage.task))

    assert outcome.tasks[0].task == stage.task
    assert stage.project.held(stage.worker) == [stage.task]


@pytest.mark.requirement("G6")
def test_a_claim_that_did_not_happen_leaves_no_lease(stage: Stage) -> None:
    stage.programs.instead["update"] = [ProgramResult(TIMED_OUT, "it took too long")]

    with pytest.raises(TrackerUnsureError) as found:
        stage.project.claim(stage.worker, stage.task)

    assert (found.value.is_recoverable, found.value.exit_code) == (True, 5)
    assert stage.project.held(stage.worker) == []
    assert stage.project.find(stage.task).agent == ""


def test_a_claim_that_is_tried_again_takes_the_lease_again(stage: Stage) -> None:
    op, wish = stage.project.op(), TaskSelection((stage.task,))
    stage.programs.instead["update"] = [ProgramResult(TIMED_OUT, "late"), ProgramResult(TIMED_OUT, "late")]
    for number in range(2):
        with pytest.raises(TrackerUnsureError):
            stage.project.tracker.claim(op._replace(is_repeat=number > 0), stage.worker, wish)
        assert stage.project.held(stage.worker) == []

    third = expect(Claimed, stage.project.tracker.claim(op._replace(is_repeat=True), stage.worker, wish))

    assert stage.project.held(stage.worker) == [stage.task]
    assert stage.project.find(stage.task).fence == third.grants[0].fence


def test_a_claim_whose_answer_says_nothing_is_judged_by_the_task(stage: Stage) -> None:
    stage.programs.after["update"] = [ProgramResult(0, "[]")]

    assert isinstance(stage.project.claim(stage.worker, stage.task), Claimed)

    stage.project.add("two")
    stage.programs.instead["update"] = [ProgramResult(0, "[]")]
    with pytest.raises(TrackerUnsureError):
        stage.project.claim(stage.worker, another=True)


def test_the_start_of_an_id_claims_nothing(newest: Stage) -> None:
    short = newest.task.removeprefix("tp-")

    with pytest.raises(UsageError) as found:
        newest.project.claim(newest.worker, short)

    assert found.value.hint == f"did you mean {newest.task}?"
    assert newest.project.find(newest.task).agent == ""
    assert newest.project.held(newest.worker) == []


@pytest.mark.requirement("G6")
@pytest.mark.parametrize("how", [ProgramResult(TIMED_OUT, "late"), FORGOTTEN])
def test_a_close_that_was_cut_off_is_judged_by_the_task(stage: Stage, how: ProgramResult) -> None:
    held = stage.project.claimed(stage.worker, stage.task)
    stage.programs.after["close"] = [how]

    done = stage.project.tracker.close(stage.project.op(), stage.worker, held, "completed", "note")

    assert isinstance(done, TaskClosed)
    assert stage.project.find(stage.task).task.note == "note"
    assert stage.project.held(stage.worker) == []


def test_a_close_that_did_not_happen_is_an_error(stage: Stage) -> None:
    held = stage.project.claimed(stage.worker, stage.task)
    for how, error in (
        (ProgramResult(1, '{"error": "validation failed: no"}'), TrackerRefusedError),
        (ProgramResult(-9, ""), TrackerUnsureError),
        (ProgramResult(0, "[]"), TrackerUnsureError),
    ):
        stage.programs.instead["close"] = [how]
        with pytest.raises(error):
            stage.project.tracker.close(stage.project.op(), stage.worker, held, "completed", "")
    assert stage.project.held(stage.worker) == [stage.task]


def test_a_task_that_somebody_took_with_bd_is_theirs_and_its_lease_goes(stage: Stage) -> None:
    held = stage.project.claimed(stage.worker, stage.task)
    stage.programs.run(["bd", "update", stage.task, "--assignee=person"])

    outcome = expect(
        Held, stage.project.tracker.close(stage.project.op(), stage.worker, held, "completed", "")
    )

    assert outcome.agent == "person"
    assert stage.project.held(stage.worker) == []
    assert stage.project.find(stage.task).task.state == "open"


def test_a_lock_of_another_program_is_waited_for_and_then_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("tests.trackers.beads.pause", pauses.append)
    stage = Stage("1.0.0", tmp_path)
    stage.programs.instead["ready"] = [LOCKED] * 3
    assert stage.project.listed(Listing.READY) == ["one"]
    assert pauses == [0.05, 0.1, 0.2]

    stage.programs.instead["ready"] = [LOCKED] * 99
    with pytest.raises(TrackerBusyError) as found:
        stage.project.listed(Listing.READY)
    assert found.value.is_recoverable


def test_a_database_that_is_out_of_sync_is_imported_once(tmp_path: Path) -> None:
    stage = Stage("0.44.0", tmp_path)
    stage.programs.instead["ready"] = [OUT_OF_SYNC]

    assert stage.project.listed(Listing.READY) == ["one"]
    assert stage.programs.calls == ["ready", "sync", "ready"]


def test_a_lock_of_ours_that_is_not_released_is_busy(tmp_path: Path) -> None:
    is_free = True

    @contextmanager
    def lock(_: float) -> Generator[None, None, None]:
        if not is_free:
            raise StorageError("held", hint="Try again.")
        yield

    bench = BeadsBench(FakePrograms("1.0.0", tmp_path), lock)
    assert bench.tracker.tasks(Listing.READY) == []
    is_free = False

    with pytest.raises(TrackerBusyError, match="Beads is busy with calls of other sessions"):
        bench.tracker.tasks(Listing.READY)


@pytest.mark.requirement("G6")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ProgramResult(NOT_STARTED, "no such file"), TrackerMissingError),
        (ProgramResult(0, "hello"), TrackerAnswerError),
        (ProgramResult(0, "[1, 2]"), TrackerAnswerError),
        (ProgramResult(1, "", "Error: unknown flag: --sort"), TrackerRefusedError),
        (ProgramResult(1, '{"error": "no beads database found"}'), TrackerUnsureError),
        (ProgramResult(1, "", "Error: something"), TrackerUnsureError),
        (ProgramResult(0, "", "Error: something"), TrackerUnsureError),
        (ProgramResult(1, '{"error": ""}', ""), TrackerUnsureError),
    ],
)
def test_each_failure_has_an_error_that_says_whether_to_try_again(
    newest: Stage, answer: ProgramResult, error: type[TrackerError]
) -> None:
    newest.programs.instead["ready"] = [answer]

    with pytest.raises(error) as found:
        newest.project.listed(Listing.READY)

    assert found.value.is_recoverable == (error is TrackerUnsureError)
    assert found.value.hint


def test_a_task_that_is_not_there_is_named_and_nothing_else(stage: Stage) -> None:
    with pytest.raises(UsageError, match=r"^there is no task tp-none$"):
        stage.project.claim(stage.worker, "tp-none")
    with pytest.raises(UsageError, match=r"^there is no task tp-none$"):
        stage.project.tracker.note(stage.project.op(), stage.worker, "tp-none", "text")


def test_answers_are_read_bare_and_in_an_envelope() -> None:
    row = {"id": "tp-1", "status": "open", "metadata": {"pd_op_abc": 1, "x": 2}, "labels": ["a", "role:be"]}
    for text in (
        json.dumps(row),
        json.dumps([row]),
        json.dumps({"data": [row], "schema_version": 1, "pagination": {"total": 1}}),
    ):
        (issue,) = parse_answer(text).issues
        assert (issue.id, issue.marks, issue.task.role) == ("tp-1", frozenset({"abc"}), "be")
    assert parse_answer("null").issues == ()
    assert parse_answer("").error == "it said nothing"
    assert not parse_answer("3").is_readable


def test_a_note_that_would_not_fit_is_refused(tmp_path: Path) -> None:
    old = Stage("1.0.0", tmp_path)
    old.project.tracker.note(old.project.op(), old.worker, old.task, "x" * 59_000)

    with pytest.raises(TrackerRefusedError, match="would be too long"):
        old.project.tracker.note(old.project.op(), old.worker, old.task, "y" * 2_000)
    with pytest.raises(TrackerRefusedError, match="too long for `bd`"):
        old.project.add("two", body="z" * 130_000)
    assert old.project.find(old.task).task.note == "x" * 59_000


def test_a_note_that_is_not_there_afterwards_is_an_error(newest: Stage) -> None:
    newest.programs.instead["update"] = [ProgramResult(0, "[]")]

    with pytest.raises(TrackerUnsureError, match="did not add the note"):
        newest.project.tracker.note(newest.project.op(), newest.worker, newest.task, "text")


def test_texts_that_no_argument_can_hold_are_cleaned(newest: Stage) -> None:
    newest.project.tracker.note(newest.project.op(), newest.worker, newest.task, "a\0b\udc80c")

    assert newest.project.find(newest.task).task.note == "a\ufffdb?c"


def test_a_new_task_with_an_id_of_its_own(stage: Stage) -> None:
    made = stage.project.tracker.create(stage.project.op(), Worker(), Task(task="tp-own", title="own"))
    stage.programs.instead["create"] = [ProgramResult(0, "[]")]

    assert made.task == "tp-own"
    with pytest.raises(TrackerUnsureError):
        stage.project.add("lost")


@pytest.mark.requirement("C148")
def test_a_create_that_may_have_been_done_is_looked_for_before_it_is_repeated(stage: Stage) -> None:
    project, failed = (
        stage.project,
        ProgramResult(1, "", "Error: failed to add label: sqlite3: disk I/O error"),
    )
    op, task = project.op(), Task(task="", title="new one")

    stage.programs.after["create"] = [failed]
    with pytest.raises(TrackerUnsureError):
        project.tracker.create(op, stage.worker, task)
    made = project.tracker.create(op._replace(is_repeat=True), stage.worker, task)

    assert project.listed(Listing.ALL).count("new one") == 1
    assert made.title == "new one"


@pytest.mark.requirement("C148")
def test_a_create_that_did_nothing_is_repeated_and_tasks_of_others_do_not_count(stage: Stage) -> None:
    project, other = stage.project, stage.project.join("b")
    task = Task(task="", title="new one")
    project.tracker.create(project.op(), other, task)
    op = project.op()

    stage.programs.instead["create"] = [ProgramResult(1, "", "Error: sqlite3: disk I/O error")]
    with pytest.raises(TrackerUnsureError):
        project.tracker.create(op, stage.worker, task)
    stage.programs.instead["list"] = [ProgramResult(1, "", "Error: sqlite3: disk I/O error")]
    with pytest.raises(TrackerUnsureError):  # who cannot look does not add it again
        project.tracker.create(op._replace(is_repeat=True), stage.worker, task)
    project.tracker.create(op._replace(is_repeat=True), stage.worker, task)

    assert project.listed(Listing.ALL).count("new one") == 2


@pytest.mark.requirement("C148")
def test_a_create_that_several_tasks_may_come_from_is_told_and_not_repeated(stage: Stage) -> None:
    project, task = stage.project, Task(task="", title="new one")
    for _ in range(2):
        project.tracker.create(project.op(), stage.worker, task)

    with pytest.raises(TrackerError, match="have this title") as found:
        project.tracker.create(project.op()._replace(is_repeat=True), stage.worker, task)

    assert not found.value.is_recoverable
    assert project.listed(Listing.ALL).count("new one") == 2


@pytest.mark.requirement("C148")
def test_a_close_that_was_refused_and_is_made_again_adds_its_note_once(stage: Stage) -> None:
    held = stage.project.claimed(stage.worker, stage.task)
    stage.programs.instead["close"] = [ProgramResult(1, "", "Error: validation failed: not yet")]
    with pytest.raises(TrackerRefusedError) as found:
        stage.project.tracker.close(
            stage.project.op(), stage.worker, held, "completed", "COMPLETED: it\nNEXT: x"
        )
    assert "othing was changed" not in found.value.hint

    stage.project.tracker.close(stage.project.op(), stage.worker, held, "completed", "COMPLETED: it\nNEXT: x")

    assert stage.project.find(stage.task).task.note == "COMPLETED: it\nNEXT: x"


@pytest.mark.requirement("C148")
def test_a_close_that_does_not_know_an_open_task_may_pass(stage: Stage) -> None:
    held = stage.project.claimed(stage.worker, stage.task)
    stage.programs.instead["close"] = [FORGOTTEN]

    with pytest.raises(TrackerUnsureError, match="did not close"):
        stage.project.tracker.close(stage.project.op(), stage.worker, held, "completed", "")


@pytest.mark.requirement("C148")
def test_after_ten_seconds_of_failures_bd_is_not_called_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [0.0]
    monkeypatch.setattr("tests.trackers.beads.BenchClock.monotonic", lambda _: seconds[0])
    stage = Stage("1.3.0", tmp_path)
    stage.bench.limits.clear()
    seconds[0] = 60.0  # without a failure, any time may pass
    stage.programs.instead["ready"] = [ProgramResult(1, "", "Error: disk I/O error")] * 9
    for passed in (60.0, 64.0, 69.5):
        seconds[0] = passed
        with pytest.raises(TrackerUnsureError):
            stage.project.listed(Listing.READY)
    assert stage.bench.limits == [10.0, 6.0, 0.5]

    seconds[0] = 70.0
    with pytest.raises(TrackerSpentError, match="kept failing for 10 seconds"):
        stage.project.listed(Listing.READY)
    assert stage.programs.calls.count("ready") == 3


@pytest.mark.requirement("C148")
def test_a_claim_of_two_that_fails_gives_back_the_first_or_says_that_it_could_not(stage: Stage) -> None:
    project, other = stage.project, stage.project.add("two")
    failed = ProgramResult(1, "", "Error: sqlite3: disk I/O error")

    def fail_second(command: Sequence[str]) -> ProgramResult:
        return failed if other in command else FakePrograms.run(stage.programs, command)

    stage.programs.run = fail_second  # type: ignore[method-assign]  # for this test alone
    with pytest.raises(TrackerUnsureError):
        project.claim(stage.worker, stage.task, other)
    del stage.programs.run
    assert project.find(stage.task).agent == ""
    assert project.held(stage.worker) == []

    def fail_undo(command: Sequence[str]) -> ProgramResult:
        return failed if "--assignee=" in command else fail_second(command)

    stage.programs.run = fail_undo  # type: ignore[method-assign]  # for this test alone
    with pytest.raises(TrackerUnsureError, match=f"may still list {stage.task} as claimed by"):
        project.claim(stage.worker, stage.task, other)
    assert project.held(stage.worker) == []


@pytest.mark.requirement("C148")
def test_a_claim_that_finds_nothing_is_not_stopped_by_a_list_that_is_only_shown(stage: Stage) -> None:
    expect(Claimed, stage.project.claim(stage.worker, stage.task))
    stage.programs.instead["blocked"] = [ProgramResult(1, "", "Error: sqlite3: disk I/O error")]

    outcome = expect(NothingReady, stage.project.claim(stage.project.join("b")))

    assert outcome.waiting == ()


@pytest.mark.requirement("R188", "G6")
def test_sync_pushes_only_if_it_is_wanted_and_says_when_it_fails(stage: Stage) -> None:
    tracker, worker = stage.project.tracker, stage.worker
    version = tracker.about.name.removeprefix("Beads ")
    stage.programs.instead["dolt"] = [ProgramResult(0, "pushed")]
    said = {"0.44.0": "committed, pulled and pushed", "1.0.0": "pushed the database"}
    assert tracker.sync(worker, push=True) == said.get(version, "nothing to do: Beads has no remote")

    stage.programs.instead["sync"] = [ProgramResult(1, "no", "conflict")]
    stage.programs.instead["dolt"] = [ProgramResult(1, "no", "conflict")]
    with pytest.raises(TrackerSyncError) as found:
        tracker.sync(worker, push=True)
    assert found.value.is_recoverable


def test_sync_reads_the_status_in_an_envelope(newest: Stage) -> None:
    told = {"data": {"status": "ok"}, "schema_version": 1}
    newest.programs.instead["sync"] = [ProgramResult(0, json.dumps(told))]

    assert newest.project.tracker.sync(newest.worker) == "pulled and pushed"


def test_without_an_engine_bd_alone_decides(newest: Stage) -> None:
    def away() -> object:
        raise StorageError("away", hint="Try later.")

    away_engine: Callable[[], object] = away
    tracker = Beads(newest.bench.calls, Holdings(away_engine, 600.0))  # type: ignore[arg-type]  # never returns
    newest.project.tracker = tracker

    held = newest.project.claimed(newest.worker, newest.task)
    done = tracker.close(newest.project.op(), newest.worker, held, "completed", "note")

    assert held.fence == 0
    assert isinstance(done, TaskClosed)
    assert newest.project.find(newest.task).task.state == "closed"


def test_what_is_not_bd_is_refused_when_it_is_probed(tmp_path: Path) -> None:
    programs = ScriptedPrograms("1.3.0", tmp_path)
    for answer, error in (
        (ProgramResult(127, "", "not found"), TrackerMissingError),
        (ProgramResult(0, "another bd"), TrackerAnswerError),
        (ProgramResult(TIMED_OUT, "late"), TrackerUnsureError),
    ):
        programs.instead["version"] = [answer]
        with pytest.raises(error):
            probe(programs, Binary("bd", 0, 0))


def test_a_note_is_known_by_how_it_began() -> None:
    before = fingerprint("one")

    assert is_added("one\ntwo", "two", before)
    assert not is_added("one", "one", before)
    assert is_added("replaced: two", "two", before)
    assert not is_added("replaced", "two", before)
    op = Operation(make_operation(NOON, b"\x01" * 10))
    assert op.mark == op.id[-12:]
    assert op.part(0) == op.id
    assert len({op.part(number) for number in range(5)}) == 5
