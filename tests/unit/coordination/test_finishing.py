"""A command that ends before or after any of its writes and changes: what it began happens once (C142)."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from passdown.core.coordination.leases import PATH, TASK, Fenced, Held, Resource
from passdown.core.coordination.members import EngineTime
from passdown.core.coordination.messages import NewMessage
from passdown.core.coordination.operations import VerbCall
from passdown.core.coordination.tasks import CLOSED, Claimed, Task
from passdown.core.formats.journal import JournalLine, Scope
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.core.work.operations import GRANTS, OperationAction, Outcome, SharedOperation
from passdown.engines.coordination.coordinator import Coordinator
from passdown.errors import (
    AwayError,
    StorageError,
    TrackerError,
    TrackerRefusedError,
    UnansweredError,
    UsageError,
)
from passdown.ports.coordination import Coordination
from passdown.ports.programs import ProgramResult
from passdown.ports.tracker import TaskSelection, Tracker
from passdown.records import replace
from passdown.services.coordination.claims import CloseRequest, give_back_task
from passdown.services.coordination.finishing import changing, finish_dead
from passdown.services.coordination.mail import send_message
from passdown.services.coordination.membership import join_project
from passdown.services.coordination.offers import (
    accept_again,
    accept_offer,
    decline_offer,
    offer_task,
    review_offer,
    withdraw_offer,
)
from passdown.services.coordination.reservations import (
    ReservationRequest,
    release_files,
    reserve_files,
    take_over,
)
from passdown.services.coordination.tasks import (
    TaskChange,
    block_task,
    change_task,
    import_tasks,
)
from passdown.services.operations.operations import (
    NO_SESSION,
    append,
    drop,
    note_answered,
    owe,
    write_down,
)
from passdown.services.operations.recorded_coordination import Recorder, describe_message
from passdown.services.operations.waiting import read_all
from passdown.services.sessions.journals import read_account
from passdown.services.work import tracker_changes
from passdown.services.workspace.verbs import VerbRun
from passdown.services.workspace.workspaces import Workspace
from passdown.testing.memory.coordination import MemoryStore, MemoryTransaction
from passdown.testing.memory.journals import MemoryJournals
from passdown.trackers.beads.holdings import Holdings
from passdown.trackers.beads.tracker import Beads
from passdown.trackers.board import Board
from tests.support.sessions import MemoryLocks, MemoryWorkspace, make_place, with_parts
from tests.trackers.beads import BeadsBench, FakePrograms
from tests.unit.coordination.test_outbox import Faults, FaultyTracker


class KilledError(BaseException):
    """The process is gone."""


class Fate:
    """Ends the process before or after its n-th write or change."""

    def __init__(self) -> None:
        """Let everything happen."""
        self.left = -1
        self.count = 0
        self.is_before = True

    @contextmanager
    def met(self) -> Generator[None, None, None]:
        """Do something that may be the last thing."""
        self.count += 1
        self.left -= 1
        if self.left == 0 and self.is_before:
            raise KilledError
        yield
        if self.left == 0:
            raise KilledError


class FatefulJournals(MemoryJournals):
    """Journals after whose lines a process may be gone."""

    def __init__(self, fate: Fate) -> None:
        """Keep what may happen."""
        super().__init__()
        self._fate = fate

    def extend(
        self,
        session: str,
        make: Callable[[int], Sequence[JournalLine]],
        *,
        alone: bool = False,
        durable: bool = True,
    ) -> Sequence[JournalLine]:
        """Add lines."""
        del durable
        with self._fate.met():
            return super().extend(session, make, alone=alone)


class FatefulStore(MemoryStore):
    """Rows after whose change a process may be gone, or an answer lost."""

    def __init__(self, clock: Callable[[], EngineTime], fate: Fate) -> None:
        """Keep what may happen."""
        super().__init__(clock)
        self._fate = fate
        self.error: StorageError | None = None
        self.is_lost_afterwards = False

    @contextmanager
    def changing(self) -> Generator[MemoryTransaction, None, None]:
        """Change rows."""
        with self._fate.met():
            if self.error is not None and not self.is_lost_afterwards:
                raise self.error
            with super().changing() as change:
                yield change
            if self.error is not None:
                raise self.error


class FatefulPrograms(FakePrograms):
    """A `bd` after whose call a process may be gone."""

    def __init__(self, fate: Fate, folder: Path) -> None:
        """Keep what may happen."""
        super().__init__("1.3.0", folder)
        self._fate = fate

    def run(self, command: Sequence[str]) -> ProgramResult:
        """Run a command."""
        with self._fate.met():
            return super().run(command)


class Stage:
    """A project whose commands are cut off; each command has a workspace of its own."""

    def __init__(self, *, is_outside: bool = False) -> None:
        """Begin with two sessions."""
        self.fate, self.faults = Fate(), Faults()
        self.steps = 0
        """How many writes, changes and calls the command made."""
        self.told: list[str] = []
        self.place = make_place(FatefulJournals(self.fate))
        self.store = FatefulStore(lambda: EngineTime(self.place.clock.now().timestamp()), self.fate)
        self.engine: Coordination = Coordinator(self.store, "memory")
        self.is_outside = is_outside
        self.project: MemoryWorkspace = with_parts(
            self.place,
            coordination=self.engine,
            make_tracker=self.make_tracker if is_outside else Board,
            has_outside_tracker=is_outside,
            warn=self.told.append,
            locks=MemoryLocks(),
        )
        self.place = replace(self.place, project=self.project)
        self.amber = self.place.start(nickname="amber").session
        self.birch = self.place.start(nickname="birch", is_new=True).session

    def make_tracker(self, coordination: Coordination) -> Tracker:
        """Make a tracker outside."""
        return FaultyTracker(coordination, self.faults)

    def use_beads(self, folder: Path) -> None:
        """Keep the tasks in a stand-in for `bd`."""
        folder.mkdir()
        bench = BeadsBench(FatefulPrograms(self.fate, folder))
        self.project = replace(
            self.project,
            make_tracker=lambda found: Beads(bench.calls, Holdings(lambda: found, 600.0)),
            has_outside_tracker=True,
        )
        self.place = replace(self.place, project=self.project)

    def command(self, *words: str, is_again: bool = False, **parts: object) -> Workspace:
        """Give the workspace of a new command."""
        verb = VerbRun(VerbCall(words, "/project"), is_again=is_again)
        return replace(self.project, verb=verb, locks=MemoryLocks(), **parts)

    def account(self, session: str) -> Account:
        """Read what a session knows."""
        return read_account(self.project, session)

    def operations(self, *words: str) -> list[SharedOperation]:
        """Read the operations of commands of these words."""
        return [one for one in read_all(self.project) if one.call.words == words]


Act = Callable[[Stage, Workspace], object]
Count = Callable[[Stage], int]


class Case(NamedTuple):
    """A command, what comes before it, and how often its effect is there."""

    act: Act
    effects: Count
    before: tuple[Act, ...] = ()


def add(stage: Stage, workspace: Workspace) -> object:
    return tracker_changes.create(workspace, stage.account(stage.amber), Task(task="t-1", title="Form"))


def claim(stage: Stage, workspace: Workspace) -> object:
    return tracker_changes.claim(workspace, stage.account(stage.amber), TaskSelection(("t-1",)))


def close(stage: Stage, workspace: Workspace) -> object:
    request = CloseRequest("" if stage.account(stage.amber).task else "t-1", message="finished")
    return tracker_changes.close(workspace, stage.account(stage.amber), request)


def reserve(stage: Stage, workspace: Workspace) -> object:
    return reserve_files(workspace, stage.account(stage.amber), ReservationRequest(("src/",), 600.0))


def release(stage: Stage, workspace: Workspace) -> object:
    return release_files(workspace, stage.account(stage.amber), ())


def give_back(stage: Stage, workspace: Workspace) -> object:
    return give_back_task(workspace, stage.account(stage.amber), "t-1")


def note(stage: Stage, workspace: Workspace) -> object:
    return tracker_changes.add_note(workspace, stage.account(stage.amber), "t-1", "halfway")


def send(stage: Stage, workspace: Workspace) -> object:
    return send_message(workspace, stage.account(stage.amber), "hello", "birch")


def change(stage: Stage, workspace: Workspace) -> object:
    return change_task(workspace, stage.account(stage.amber), "t-1", TaskChange(title="Better"))


def block(stage: Stage, workspace: Workspace) -> object:
    return block_task(workspace, stage.account(stage.amber), "t-1", "t-2")


def import_two(stage: Stage, workspace: Workspace) -> object:
    lines = ['{"id": "t-8", "title": "Eight"}', '{"id": "t-9", "title": "Nine"}']
    return import_tasks(workspace, stage.account(stage.amber), lines)


def add_other(stage: Stage, workspace: Workspace) -> object:
    return tracker_changes.create(workspace, stage.account(stage.amber), Task(task="t-2", title="Docs"))


def offer(stage: Stage, workspace: Workspace) -> object:
    return offer_task(workspace, stage.account(stage.amber), "t-1", "birch")


def claim_other(stage: Stage, workspace: Workspace) -> object:
    return tracker_changes.claim(workspace, stage.account(stage.birch), TaskSelection(("t-1",)))


def offer_other(stage: Stage, workspace: Workspace) -> object:
    return offer_task(workspace, stage.account(stage.birch), "t-1", "")


def accept(stage: Stage, workspace: Workspace) -> object:
    account = stage.account(stage.amber)
    again = accept_again(workspace, account)
    return again or accept_offer(workspace, account, review_offer(workspace, ""))


def decline(stage: Stage, workspace: Workspace) -> object:
    return decline_offer(workspace, stage.account(stage.amber), "")


def withdraw(stage: Stage, workspace: Workspace) -> object:
    return withdraw_offer(workspace, stage.account(stage.amber), "")


def take(stage: Stage, workspace: Workspace) -> object:
    return take_over(workspace, stage.account(stage.amber), "t-1", force=True)


def join_birch(stage: Stage, workspace: Workspace) -> object:
    return join_project(workspace, stage.account(stage.birch))


def state_of(stage: Stage, name: str) -> str:
    found = stage.project.open_tracker().find(name)
    return found.task.state if found else ""


def count_log(verb: str) -> Count:
    return lambda stage: sum(one.verb == verb for one in stage.engine.history.since(0, 1_000))


def count_mail(text: str) -> Count:
    return lambda stage: sum(
        one.message.content == text for one in stage.engine.messages.waiting(stage.birch)
    )


def count_closed(stage: Stage) -> int:
    return int(state_of(stage, "t-1") == CLOSED) * count_mail("finished")(stage)


def count_holder(stage: Stage) -> int:
    found = stage.project.open_tracker().find("t-1")
    held = [one for one in stage.engine.leases.leases(stage.amber) if one.resource == Resource(TASK, "t-1")]
    return int(found is not None and found.agent == stage.account(stage.amber).agent and bool(held))


_CLAIMED: Final = (add, join_birch, claim, reserve)
_OFFERED: Final = (add, claim_other, offer_other)
CASES: Final = {
    "add": Case(add, lambda stage: int(bool(state_of(stage, "t-1")))),
    "claim": Case(claim, count_log("claim"), (add,)),
    "close": Case(close, count_closed, _CLAIMED),
    "reserve": Case(reserve, count_log("acquire")),
    "release": Case(release, count_log("release"), _CLAIMED),
    "give back": Case(give_back, count_log("give-back"), _CLAIMED),
    "note": Case(note, count_log("note"), (add,)),
    "message": Case(send, count_mail("hello"), (join_birch,)),
    "change": Case(change, count_log("change"), (add,)),
    "block": Case(block, count_log("wait"), (add, add_other)),
    "import": Case(import_two, lambda stage: min(int(bool(state_of(stage, one))) for one in ("t-8", "t-9"))),
    "offer": Case(offer, count_log("offer"), _CLAIMED),
    "accept": Case(accept, count_holder, _OFFERED),
    "decline": Case(decline, count_log("decline"), _OFFERED),
    "withdraw": Case(withdraw, count_log("withdraw"), (*_CLAIMED, offer)),
    "takeover": Case(take, count_holder, (add, claim_other)),
}


def other_command(stage: Stage) -> None:
    """Run another command of the same session."""
    workspace = stage.command("now", "x")
    with changing(workspace, stage.account(stage.amber), with_tracker=True):
        pass


def play(
    case: Case, *, is_outside: bool = False, at: int = -1, is_before: bool = True, folder: Path | None = None
) -> tuple[Stage, bool]:
    """Run a command that ends at some point; return whether it did. With a folder, `bd` keeps the tasks."""
    stage = Stage(is_outside=is_outside)
    if folder is not None:
        stage.use_beads(folder)
    for number, act in enumerate(case.before):
        act(stage, stage.command("before", str(number)))
    stage.told.clear()
    stage.fate.count, stage.fate.left, stage.fate.is_before = 0, at, is_before
    try:
        case.act(stage, stage.command("verb"))
    except KilledError:
        return stage, True
    finally:
        stage.fate.left, stage.steps = -1, stage.fate.count
    return stage, False


def check_once(stage: Stage, case: Case, *, is_same: bool) -> None:
    """The effect is there once, nothing is open, and a grant that was not made is told."""
    found, begun = case.effects(stage), stage.operations("verb")
    assert not any(one.is_open for one in begun), begun
    dropped = [one for one in begun if one.outcome in {Outcome.NOT_MADE, Outcome.ABANDONED}]
    if is_same or (begun and not dropped):
        assert found == 1, (begun, stage.told)
    else:
        assert found == 0, (begun, stage.told)
        assert all(one.action in GRANTS or one.after for one in dropped), dropped
        assert any("a command was interrupted" in one for one in stage.told) == bool(dropped), stage.told


def check_known(stage: Stage, case: Case) -> None:
    """The session knows what it holds, and what is done."""
    account = stage.account(stage.amber)
    held = {one.resource: one.fence for one in stage.engine.leases.leases(stage.amber) if one.left > 0}
    known = {Resource(TASK, name): fence for name, fence in account.claims.items()}
    known |= {Resource(PATH, name): fence for name, fence in account.reservations.items()}
    assert known == held
    done = [fact.text for fact in account.of(FactKind.DONE)]
    assert done == (["Form (t-1)"] if case.act is close and state_of(stage, "t-1") == CLOSED else [])


def check_finished(stage: Stage, case: Case, *, is_same: bool) -> None:
    """After the same command, or another, the effect is there once, and the session knows of it."""
    if is_same:
        case.act(stage, stage.command("verb"))
    else:
        other_command(stage)
    check_once(stage, case, is_same=is_same)
    other_command(stage)
    check_known(stage, case)


ON_THE_BOARD: Final = frozenset({"change", "block", "import"})
"""A tracker outside has commands of its own for these."""
WAYS: Final = [
    (name, is_outside, is_same)
    for name in CASES
    for is_outside in (False, True)
    for is_same in (False, True)
    # What another command finishes of an import is the task that was being added, not the rest.
    if not (is_outside and name in ON_THE_BOARD) and (is_same or name != "import")
]


@pytest.mark.slow
@pytest.mark.requirement("C142")
@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(("name", "is_outside", "is_same"), WAYS)
def test_whatever_was_cut_off_happens_once(
    name: str, is_outside: bool, is_before: bool, is_same: bool
) -> None:
    case = CASES[name]
    whole, _ = play(case, is_outside=is_outside)
    assert case.effects(whole) == 1
    check_known(whole, case)

    for at in range(1, whole.steps + 1):
        stage, was_cut = play(case, is_outside=is_outside, at=at, is_before=is_before)
        assert was_cut
        check_finished(stage, case, is_same=is_same)


def play_open(name: str, *, is_outside: bool = False) -> Stage:
    """Cut a command off as soon as it has written down what it wants."""
    for at in range(1, 20):
        stage, _ = play(CASES[name], is_outside=is_outside, at=at, is_before=False)
        if stage.account(stage.amber).unfinished:
            return stage
    raise AssertionError(name)


def count_notes(text: str) -> Count:
    def count(stage: Stage) -> int:
        found = stage.project.open_tracker().find("t-1")
        return found.task.note.count(text) if found else 0

    return count


def count_free(stage: Stage) -> int:
    found = stage.project.open_tracker().find("t-1")
    return int(found is not None and not found.agent and state_of(stage, "t-1") != CLOSED)


BEADS: Final = {
    "claim": Case(claim, count_holder, (add,)),
    "close": Case(close, count_closed, (add, join_birch, claim, reserve)),
    "give back": Case(give_back, count_free, (add, claim)),
    "note": Case(note, count_notes("halfway"), (add,)),
    "accept": Case(accept, count_holder, (add, claim_other, offer_other)),
    "takeover": Case(take, count_holder, (add, claim_other)),
}


@pytest.mark.slow
@pytest.mark.requirement("C142", "C98")
@pytest.mark.parametrize("is_same", [True, False], ids=["same", "other"])
@pytest.mark.parametrize("is_before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("name", BEADS)
def test_whatever_was_cut_off_happens_once_in_beads(
    tmp_path: Path, name: str, is_before: bool, is_same: bool
) -> None:
    case = BEADS[name]
    whole, _ = play(case, folder=tmp_path / "whole")
    assert case.effects(whole) == 1
    check_known(whole, case)

    for at in range(1, whole.steps + 1):
        stage, was_cut = play(case, at=at, is_before=is_before, folder=tmp_path / str(at))
        assert was_cut
        check_finished(stage, case, is_same=is_same)


@pytest.mark.requirement("C142")
def test_a_command_that_was_answered_is_meant_anew_and_so_is_one_with_again() -> None:
    stage = Stage()
    join_birch(stage, stage.command("start"))
    for is_again in (False, False, True, True):
        workspace = stage.command("msg", "hello", is_again=is_again)
        send(stage, workspace)
        if not is_again:
            note_answered(workspace)
    assert count_mail("hello")(stage) == 4

    send(stage, stage.command("msg", "hello"))  # nobody saw the answer of the last one
    assert count_mail("hello")(stage) == 4
    assert "the same command was interrupted at" in stage.told[-1]
    stage.place.pass_time(minutes=11)
    send(stage, stage.command("msg", "hello"))
    assert count_mail("hello")(stage) == 5
    note_answered(stage.command("nothing"))  # it began nothing


@pytest.mark.requirement("C142")
@pytest.mark.parametrize("is_lost_afterwards", [False, True])
def test_an_answer_that_is_lost_leaves_the_operation_open_until_the_next_command(
    is_lost_afterwards: bool,
) -> None:
    stage = Stage()
    join_birch(stage, stage.command("start"))
    join_project(stage.project, stage.account(stage.amber))
    stage.store.error, stage.store.is_lost_afterwards = UnansweredError("no answer"), is_lost_afterwards
    workspace = stage.command("msg", "hello")
    with pytest.raises(UnansweredError) as found:
        workspace.coordination.messages.send(
            "0197c0de-0000-7000-8000-00000000ffff".replace("0197c0de-0000", "019baced-6e00"),
            NewMessage(stage.amber, "birch", "hello"),
        )
    assert "the same command again" in found.value.hint
    if not is_lost_afterwards:
        other_command(stage)  # the engine still does not answer
        assert stage.told[-1].startswith("cannot finish an interrupted command yet: msg hello")

    stage.store.error = None
    other_command(stage)

    assert count_mail("hello")(stage) == 1
    assert stage.told[-1] == "finished an interrupted command: msg hello"


@pytest.mark.requirement("C142", "C86")
def test_what_was_never_sent_was_not_made_and_what_is_refused_is_settled() -> None:
    stage = Stage()
    join_project(stage.project, stage.account(stage.amber))
    workspace = stage.command("reserve", "src/")
    stage.store.error = AwayError("away")
    with pytest.raises(AwayError):
        workspace.coordination.leases.acquire(
            "019baced-6e00-7000-8000-00000000ffff", stage.amber, [Resource(PATH, "src/")], 600.0
        )
    stage.store.error = None
    with pytest.raises(UsageError):
        change(stage, stage.command("task", "change"))

    other_command(stage)

    assert [one.outcome for one in stage.operations("reserve", "src/")] == [Outcome.NOT_MADE]
    assert stage.told == []


@pytest.mark.requirement("C142")
def test_what_a_session_that_is_gone_began_is_finished_by_any_command_and_by_a_start() -> None:
    for finish in (other_command, lambda stage: finish_dead(stage.project)):
        stage = play_open("close")
        finish_dead(stage.project)  # it lives
        assert stage.account(stage.amber).unfinished
        stage.amber, stage.birch = stage.birch, stage.amber
        stage.place.pass_time(minutes=20)

        finish(stage)

        assert not stage.account(stage.birch).unfinished
        assert state_of(stage, "t-1") == CLOSED


@pytest.mark.requirement("C142")
def test_a_hook_calls_no_tracker_outside_and_asks_no_server() -> None:
    stage = play_open("note", is_outside=True)
    stage.place.pass_time(minutes=20)
    stage.faults.calls.clear()

    finish_dead(replace(stage.project, is_hook=True))
    finish_dead(replace(stage.project, has_server=True))
    assert stage.faults.calls == []
    finish_dead(stage.project)

    assert stage.faults.calls == ["note halfway"]


@pytest.mark.requirement("C142")
def test_what_the_engine_may_have_forgotten_is_not_sent_twice() -> None:
    for name, is_abandoned in (("message", True), ("release", False)):
        stage = play_open(name)
        stage.place.pass_time(hours=49)

        other_command(stage)

        (found,) = stage.operations("verb")
        assert (found.outcome == Outcome.ABANDONED) is is_abandoned
        assert not found.is_open
        assert any("too old to tell" in one for one in stage.told) is is_abandoned


def test_a_command_without_a_session_finishes_what_the_last_one_without_a_session_began() -> None:
    stage = Stage()
    stage.fate.left, stage.fate.is_before = 1, False
    with pytest.raises(KilledError):
        tracker_changes.create(stage.command("task", "add"), None, Task(task="t-7", title="Seven"))
    assert stage.project.journals.sessions(Scope.ALL).count(NO_SESSION) == 1

    with changing(stage.command("task", "list"), None):
        pass

    assert state_of(stage, "t-7") == "open"
    assert stage.told == ["finished an interrupted command: task add"]


def test_another_command_of_the_session_is_waited_for_and_then_refused() -> None:
    stage = Stage()
    workspace = stage.command("reserve", "src/")
    with workspace.locks.held(stage.amber, 0.0), pytest.raises(StorageError, match="another command of this"):
        reserve(stage, workspace)


def test_what_belongs_to_a_command_that_runs_is_left_alone() -> None:
    stage = play_open("message")
    workspace = stage.command("now")
    stage.amber, stage.birch = stage.birch, stage.amber
    stage.place.pass_time(minutes=20)
    with workspace.locks.held(stage.birch, 0.0), changing(workspace, stage.account(stage.amber)):
        pass

    assert stage.account(stage.birch).unfinished


def test_a_new_task_that_a_tracker_outside_does_not_make_is_told_and_given_up() -> None:
    stage = Stage(is_outside=True)
    stage.fate.left, stage.fate.is_before = 1, False
    with pytest.raises(KilledError):
        add(stage, stage.command("task", "add"))
    stage.faults.plan = ["before"]

    other_command(stage)

    (made,) = stage.operations("task", "add")
    assert made.outcome == Outcome.ABANDONED
    assert stage.told[-1] == "a command was interrupted: task add: the tracker died"


def test_a_task_that_was_made_is_found_when_its_command_is_repeated() -> None:
    stage = Stage(is_outside=True)
    add(stage, stage.command("task", "add"))
    stage.faults.calls.clear()

    assert add(stage, stage.command("task", "add")) == stage.engine.tasks.find("t-1").task  # type: ignore[union-attr]  # it is there
    assert stage.faults.calls == []


def test_nothing_else_waits_when_the_tracker_cannot_be_opened() -> None:
    stage = Stage(is_outside=True)
    add(stage, stage.command("task", "add"))
    stage.faults.plan = ["before"] * 3
    note(stage, stage.command("note"))

    def miss(_: Coordination) -> Tracker:
        raise TrackerError("there is no bd")

    stage.project = replace(stage.project, make_tracker=miss)
    stage.told.clear()
    other_command(stage)

    assert stage.told == []


@pytest.mark.requirement("C142")
def test_the_session_that_continues_repeats_the_command_of_the_one_before() -> None:
    stage = play_open("message")
    stage.place.pass_time(minutes=1)
    ended = replace(stage.account(stage.amber).start, continues=stage.amber)
    heir = stage.place.started(is_new=True, nickname="heir").account
    heir = replace(heir, start=replace(heir.start, continues=ended.continues))
    workspace = stage.command("verb")

    with changing(workspace, heir):
        assert [one.action for one in workspace.verb.known] == [OperationAction.MESSAGE]


def test_a_change_within_a_change_is_part_of_it() -> None:
    stage = Stage()
    workspace = stage.command("verb")
    with changing(workspace, stage.account(stage.amber)), changing(workspace, None) as found:
        assert found.waiting == ()


@pytest.mark.requirement("C142")
def test_each_task_of_an_import_that_was_cut_off_is_added_once() -> None:
    stage = play_open("import")

    other_command(stage)

    assert [state_of(stage, one) for one in ("t-8", "t-9")] == ["open", ""]
    import_two(stage, stage.command("verb"))
    assert [state_of(stage, one) for one in ("t-8", "t-9")] == ["open", "open"]


def test_what_cannot_be_done_any_more_is_told() -> None:
    stage = play_open("import")
    op = "019baced-6e00-7000-8000-00000000ffff"
    stage.engine.tasks.add(op, "", Task(task="t-8", title="Another"))

    other_command(stage)

    assert stage.told[-1].startswith("cannot finish an interrupted command: verb: ")
    assert [one.outcome for one in stage.operations("verb")] == [Outcome.REFUSED]


def test_what_must_follow_waits_as_long_as_what_it_follows() -> None:
    for is_outside in (False, True):
        stage = play_open("close", is_outside=is_outside)
        if is_outside:
            stage.faults.plan = ["before"]
        else:
            stage.store.error = AwayError("away")

        other_command(stage)

        stage.store.error = None
        waiting = [one.action for one in stage.operations("verb") if one.is_open]
        assert sorted(waiting) == [OperationAction.CLOSE, OperationAction.MESSAGE]
        other_command(stage)
        assert count_closed(stage) == 1


def test_every_change_of_the_engine_is_written_down_whoever_makes_it() -> None:
    stage = Stage()
    add(stage, stage.command("task", "add"))
    join_project(stage.project, stage.account(stage.amber))
    tasks = stage.project.coordination.tasks

    def op(number: int) -> str:
        return f"019baced-6e00-7000-8000-{number:012x}"

    granted = tasks.claim(op(1), stage.amber, ["t-1"])
    assert isinstance(granted, Claimed)
    held = Fenced(Resource(TASK, "t-1"), granted.grants[0].fence)
    tasks.note(op(2), stage.amber, "t-1", "half")
    tasks.give_back(op(3), stage.amber, held)
    again = tasks.claim(op(4), stage.amber, ["t-1"])
    assert isinstance(again, Claimed)
    tasks.close(op(5), stage.amber, Fenced(held.resource, again.grants[0].fence), "completed", "")

    made = {one.id: (one.action.value, one.outcome) for one in read_all(stage.project)}
    assert [made[op(number)] for number in range(1, 6)] == [
        ("claim", "done"),
        ("update", "done"),
        ("give-back", "done"),
        ("claim", "done"),
        ("close", "done"),
    ]
    assert [fact.text for fact in stage.account(stage.amber).of(FactKind.DONE)] == ["Form (t-1)"]


def test_a_position_that_cannot_be_read_is_left_out() -> None:
    stage = Stage()
    join_project(stage.project, stage.account(stage.amber))

    class Blind:
        def find(self, op: str) -> int:
            raise AwayError(op)

    recorder = Recorder(stage.project, Blind())  # type: ignore[arg-type]  # nothing else is asked
    wanted = recorder.wanted(OperationAction.RELEASE, "019baced-6e00-7000-8000-00000000ffff", stage.amber)
    recorder.perform(wanted, lambda: stage.engine.leases.release(wanted.id, stage.amber, []))

    assert [(one.outcome, one.position) for one in read_all(stage.project)] == [("done", 0)]


@pytest.mark.requirement("C142")
def test_whose_a_task_is_by_now_is_told_after_a_takeover(tmp_path: Path) -> None:
    stage = Stage()
    stage.use_beads(tmp_path / "bd")
    for act in (add, claim_other):
        act(stage, stage.command("before"))
    tracker = stage.project.make_tracker

    class Quicker:
        """Somebody else claims the task in `bd` at that moment, or `bd` refuses."""

        def __init__(self, shared: Coordination) -> None:
            self._inner = tracker(shared)

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

        def move(self, *_: object) -> Held:
            return Held(kind=TASK, name="t-1", held="t-1", session="", agent="ann", left=0.0)

    stage.project = replace(stage.project, make_tracker=Quicker)
    take(stage, stage.command("takeover", "t-1"))
    assert "t-1 now belongs to ann in the tracker" in stage.told

    class Refusing(Quicker):
        def move(self, *_: object) -> Held:
            raise TrackerRefusedError("not possible")

    stage = Stage()
    stage.use_beads(tmp_path / "other")
    for act in (add, claim_other, offer_other):
        act(stage, stage.command("before"))
    tracker = stage.project.make_tracker
    stage.project = replace(stage.project, make_tracker=Refusing)
    accept(stage, stage.command("accept"))
    assert "run `passdown takeover t-1` when the tracker answers again" in stage.told


class Unused:
    """A workspace in which nobody has used what sessions share."""

    def __init__(self, workspace: Workspace) -> None:
        """Keep the rest."""
        self._workspace = workspace

    def __getattr__(self, name: str) -> object:
        """Give any other part."""
        return getattr(self._workspace, name)

    def find_coordination(self) -> None:
        """Give nothing."""


def test_where_nobody_holds_anything_nothing_is_looked_up() -> None:
    stage = play_open("note", is_outside=True)

    with changing(Unused(stage.command("now")), stage.account(stage.amber)):  # type: ignore[arg-type]  # it has all parts
        assert count_notes("halfway")(stage) == 1


def test_what_a_command_does_not_do_after_all_is_dropped() -> None:
    stage = Stage()
    workspace = stage.command("close")
    op = "019baced-6e00-7000-8000-00000000ffff"
    write_down(workspace, describe_message(workspace, op, NewMessage(stage.amber, "all", "finished")))

    drop(workspace, op)
    drop(workspace, op)
    drop(workspace, "another")

    assert [one.outcome for one in read_all(stage.project)] == [Outcome.NOT_MADE]


@pytest.mark.requirement("C142")
def test_what_follows_a_change_that_was_refused_does_not_happen() -> None:
    stage = Stage()
    for act in (add, claim_other):
        act(stage, stage.command("before"))
    close(stage, stage.command("close"))

    other_command(stage)

    assert {one.action: one.outcome for one in stage.operations("close")} == {
        OperationAction.CLOSE: Outcome.REFUSED,
        OperationAction.MESSAGE: Outcome.NOT_MADE,
    }
    assert count_mail("finished")(stage) == 0
    assert stage.told == []


def count_wishes(stage: Stage, action: OperationAction) -> int:
    """Count how often it is written down that something is wanted, done or not."""
    lines = stage.project.journals.read(stage.amber)
    return sum(one.fact.kind == FactKind.OPERATION and one.fact.text == action for one in lines)


@pytest.mark.requirement("C142")
def test_what_must_follow_is_written_down_once_though_its_command_is_repeated() -> None:
    stage = play_open("close", is_outside=True)
    stage.faults.plan = ["before"] * 3

    close(stage, stage.command("verb"))

    assert count_wishes(stage, OperationAction.RELEASE) == 2  # they came later, when the close was queued
    assert count_wishes(stage, OperationAction.MESSAGE) == 1
    assert count_mail("finished")(stage) == 1


@pytest.mark.requirement("C142")
def test_what_must_follow_is_not_written_down_again_if_only_that_was_written() -> None:
    stage, _ = play(CASES["close"])
    (message,) = [one for one in stage.operations("verb") if one.action is OperationAction.MESSAGE]
    stage = Stage()
    for act in CASES["close"].before:
        act(stage, stage.command("before"))
    append(stage.project, stage.amber, [replace(message, session=stage.amber)])

    close(stage, stage.command("verb"))

    assert count_wishes(stage, OperationAction.MESSAGE) == 1
    check_once(stage, CASES["close"], is_same=True)


@pytest.mark.requirement("C142")
def test_what_must_follow_and_was_not_written_down_before_is_written_by_the_repeated_command() -> None:
    stage = Stage()
    first, again = stage.command("verb"), stage.command("verb")
    before = SharedOperation(
        id="019baced-6e00-7000-8000-00000000fff1",
        action=OperationAction.CLOSE,
        at=stage.project.now(),
        session=stage.amber,
    )
    write_down(first, before)
    message = describe_message(again, f"{before.id[:-1]}2", NewMessage(stage.amber, "all", "finished"))
    with changing(again, stage.account(stage.amber)):
        owe(again, replace(message, after=before.id))
        write_down(again, before)
        drop(again, message.id)

    assert count_wishes(stage, OperationAction.CLOSE) == 1
    assert [(one.id, one.outcome) for one in stage.operations("verb")] == [
        (before.id, ""),
        (message.id, Outcome.NOT_MADE),
    ]


def test_what_cannot_be_written_down_is_not_made() -> None:
    stage = Stage()
    join_project(stage.project, stage.account(stage.amber))

    class Full(MemoryJournals):
        def extend(self, *_: object, **__: object) -> Sequence[JournalLine]:
            raise StorageError("the disk is full")

    workspace = replace(stage.project, journals=Full(), verb=VerbRun())
    with pytest.raises(StorageError, match="the disk is full"):
        workspace.coordination.leases.acquire(
            "019baced-6e00-7000-8000-00000000ffff", stage.amber, [Resource(PATH, "src/")], 600.0
        )

    assert stage.engine.leases.leases(stage.amber) == []
