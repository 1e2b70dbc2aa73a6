"""Processes that claim and note tasks of real Beads at once: one winner, nothing lost, little time added.

Each racer is a process of its own with the tracker as the product opens it: our lease in the clone's SQLite
file, our lock where the build needs it, and `bd` itself.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Final, NamedTuple

import pytest

from passdown.core.coordination.leases import TASK, Fenced, Resource
from passdown.core.coordination.members import Member
from passdown.core.coordination.operations import RANDOM_BYTES, Operation, make_operation
from passdown.core.coordination.tasks import Claimed, Listing, Task, TaskClosed
from passdown.engines.process import SystemProcesses
from passdown.engines.programs import SystemPrograms
from passdown.engines.system import SystemClock, SystemEntropy
from passdown.ports.coordination import Coordination
from passdown.ports.programs import ProgramResult
from passdown.ports.tracker import TaskSelection, Tracker, Worker
from passdown.settings import Settings
from passdown.wiring import coordination as wiring
from passdown.wiring import trackers
from passdown.wiring.coordination import EngineFile, open_coordination
from passdown.wiring.trackers import TrackerPlace
from tests import timing
from tests.proof import proof_count
from tests.proofs.conftest import Figures
from tests.trackers.beads import BUILDS, environment, find_bd, make_database

ROUNDS: Final = proof_count(fast=3, ci=6, long=500)
ROUNDS_BY_HAND: Final = proof_count(fast=3, ci=4, long=500)
NOTES: Final = proof_count(fast=8, ci=8, long=200)
CALLERS: Final = 4
TIMED: Final = proof_count(fast=2, ci=4, long=50)
MOST_TIMED: Final = 5 * TIMED
VERBS: Final = ("claim", "note", "close")
MOST_ADDED: Final = 1.0
"""Usually next to nothing is added to the time of `bd`; a verb may take twice that time."""

pytestmark = [
    pytest.mark.proof,
    pytest.mark.beads,
    pytest.mark.timeout(0),
    pytest.mark.requirement("C98"),
    pytest.mark.parametrize("version", BUILDS),
    pytest.mark.skipif(sys.platform != "linux", reason="the builds of bd are for Linux"),
]


class Place(NamedTuple):
    """A project whose tasks a build keeps."""

    root: str
    program: str
    variables: tuple[tuple[str, str], ...]

    def open(self) -> tuple[Tracker, Coordination]:
        """Open it as a command does, but let nobody give up because this machine is busy."""
        os.environ.update(dict(self.variables))
        vars(wiring)["_PATIENCE"] = 30.0
        place = f"{self.root}/coordination.sqlite"
        file = EngineFile(place, f"{self.root}/copy", f"{self.root}/away", os.environ)
        shared = open_coordination(file, Settings(), SystemProcesses())
        tracker = trackers.open_tracker(Settings(), TrackerPlace(self.root, os.environ), lambda: shared)
        return tracker, shared

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Call `bd` by hand, and again as long as another process has the database."""
        variables = environment(Path(self.root, ".beads"))
        while True:
            command = [self.program, *words]
            done = subprocess.run(
                command, cwd=self.root, env=variables, capture_output=True, text=True, check=False
            )
            if "holds the exclusive lock" not in done.stderr + done.stdout:
                return done


@pytest.fixture
def place(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, version: str, monkeypatch: pytest.MonkeyPatch
) -> Place:
    """Give a project with a database of the build."""
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    make_database(version, root, tmp_path_factory.getbasetemp() / f"beads-{version}")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "bd").symlink_to(find_bd(version))
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    variables = (("PATH", path), ("HOME", os.environ["HOME"]))
    return Place(str(root), str(find_bd(version)), variables)


def _op() -> Operation:
    return Operation(make_operation(SystemClock().now(), SystemEntropy().token(RANDOM_BYTES)))


def _join(shared: Coordination, name: str) -> Worker:
    worker = Worker(f"s-{name}", f"{name}-00000000")
    shared.members.join(_op().id, Member(session=worker.session, agent=worker.agent))
    return worker


def _add(tracker: Tracker, title: str) -> str:
    """Add a task; 0.44.0 takes tasks of equal content for one."""
    return tracker.create(_op(), Worker(), Task(task="", title=title)).task


def _claim(place: Place, name: str, task: str) -> str:
    """Claim a task in a process of its own; say who is told to have it."""
    tracker, shared = place.open()
    worker = _join(shared, name)
    outcome = tracker.claim(_op(), worker, TaskSelection((task,)))
    return worker.agent if isinstance(outcome, Claimed) else ""


def _claim_by_hand(place: Place, name: str, task: str, looks: int) -> str:
    """Claim a task as a person does, who may look at it first: what ours do takes a few calls, too."""
    for _ in range(looks):
        place.call("show", task, "--json")
    done = place.call("--actor", name, "update", task, "--claim", "--json")
    return name if done.returncode == 0 and f'"assignee": "{name}"' in done.stdout else ""


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def _find_holders(tracker: Tracker) -> dict[str, str]:
    return {one.task.task: one.agent for one in tracker.tasks(Listing.OPEN)}


def test_two_agents_race_for_a_task_and_one_wins(place: Place, version: str, figures: Figures) -> None:
    tracker, _ = place.open()
    won_by: dict[str, str] = {}
    began = perf_counter()
    with _pool(2) as pool:
        for number in range(ROUNDS):
            task = _add(tracker, f"race {number}")
            racers = [pool.submit(_claim, place, name, task) for name in ("amber", "birch")]
            winners = [won for racer in racers if (won := racer.result())]
            assert len(winners) == 1, (number, winners)
            won_by[task] = winners[0]
    seconds = perf_counter() - began

    assert _find_holders(tracker) == won_by
    figures(f"bd {version}, two agents race", {"rounds": ROUNDS, "seconds": round(seconds)})


def test_a_person_who_calls_bd_races_too(place: Place, version: str, figures: Figures) -> None:
    """Whoever of ours says that it won has the task; 0.44.0 is not atomic, so there it is counted."""
    tracker, _ = place.open()
    by_hand = 0
    won_by: dict[str, str] = {}
    with _pool(3) as pool:
        for number in range(ROUNDS_BY_HAND):
            task = _add(tracker, f"race by hand {number}")
            ours = [pool.submit(_claim, place, name, task) for name in ("amber", "birch")]
            person = pool.submit(_claim_by_hand, place, "person", task, number % 4)
            winners = [won for racer in ours if (won := racer.result())]
            by_hand += bool(person.result())
            assert len(winners) <= 1, (number, winners)
            won_by.update((task, winner) for winner in winners)
    holders = _find_holders(tracker)
    wrong = sum(holders[task] != winner for task, winner in won_by.items())
    figures(
        f"bd {version}, two agents and a person race",
        {"rounds": ROUNDS_BY_HAND, "won by hand": by_hand, "won by ours": len(won_by), "told to two": wrong},
    )
    assert version == "0.44.0" or wrong == 0


def _work(place: Place, name: str, tasks: Sequence[str]) -> list[str]:
    """Claim tasks and note something about each; say what went wrong."""
    tracker, shared = place.open()
    worker = _join(shared, name)
    wrong: list[str] = []
    for task in tasks:
        outcome = tracker.claim(_op(), worker, TaskSelection((task,), another=True))
        wrong += [] if isinstance(outcome, Claimed) else [f"{task}: {outcome}"]
        tracker.note(_op(), worker, task, f"by {name}")
    return wrong


def test_four_callers_at_once_meet_no_lock(place: Place, version: str, figures: Figures) -> None:
    tracker, _ = place.open()
    count = max(NOTES // 2, 4)
    tasks = [_add(tracker, f"task {number}") for number in range(count)]
    began = perf_counter()
    with _pool(CALLERS) as pool:
        shares = [tasks[number::CALLERS] for number in range(CALLERS)]
        workers = [pool.submit(_work, place, f"w{number}", share) for number, share in enumerate(shares)]
        wrong = [text for worker in workers for text in worker.result()]
    seconds = perf_counter() - began

    assert wrong == []
    figures(f"bd {version}, {CALLERS} callers", {"claims and notes": 2 * count, "seconds": round(seconds)})


def _append(place: Place, name: str, task: str, count: int) -> None:
    tracker, shared = place.open()
    worker = _join(shared, name)
    for number in range(count):
        tracker.note(_op(), worker, task, f"{name} {number}")


def test_parallel_notes_are_all_kept_in_the_order_of_their_writers(
    place: Place, version: str, figures: Figures
) -> None:
    tracker, _ = place.open()
    task = _add(tracker, "noted")
    each = NOTES // CALLERS
    names = [f"w{number}" for number in range(CALLERS)]
    began = perf_counter()
    with _pool(CALLERS) as pool:
        for writer in [pool.submit(_append, place, name, task, each) for name in names]:
            writer.result()
    seconds = perf_counter() - began

    found = tracker.find(task)
    assert found is not None
    lines = found.task.note.split("\n")
    assert len(lines) == each * CALLERS
    for name in names:
        assert [line for line in lines if line.startswith(f"{name} ")] == [f"{name} {n}" for n in range(each)]
    figures(f"bd {version}, {CALLERS} writers", {"notes kept": len(lines), "seconds": round(seconds)})


Runner = Callable[[SystemPrograms, Sequence[str]], ProgramResult]


class Lap(NamedTuple):
    """What one verb took."""

    verb: str
    whole: float
    inside: float
    """What of it was in `bd`."""


class Added(NamedTuple):
    """What is added to `bd`: the least time of a verb beside the least of the same calls, run barely."""

    whole: float
    floor: float

    @property
    def share(self) -> float:
        """How much of the time of `bd` it is."""
        return self.whole / self.floor - 1


def _compare(laps: Mapping[bool, Sequence[Lap]], verb: str) -> Added:
    whole = min(lap.whole for lap in laps[False] if lap.verb == verb)
    return Added(whole, min(lap.inside for lap in laps[True] if lap.verb == verb))


def _run_bare(place: Place) -> Runner:
    """Return a way to run programs that does nothing more than that."""
    variables = environment(Path(place.root, ".beads"))

    def run(_programs: SystemPrograms, command: Sequence[str]) -> ProgramResult:
        done = subprocess.run(
            command, cwd=place.root, env=variables, capture_output=True, text=True, check=False
        )
        return ProgramResult(done.returncode, done.stdout, done.stderr)

    return run


def _measure(run: Runner, spent: list[float]) -> Runner:
    """Return the same way to run programs, which notes what each call took."""

    def measured(programs: SystemPrograms, command: Sequence[str]) -> ProgramResult:
        began = perf_counter()
        done = run(programs, command)
        spent.append(perf_counter() - began)
        return done

    return measured


def _live_through(tracker: Tracker, worker: Worker, title: str, spent: list[float]) -> Iterator[Lap]:
    """Claim, note and close a new task; `spent` grows with every call of `bd`."""
    task = _add(tracker, title)
    held = Fenced(Resource(TASK, task), 0)

    def claim() -> None:
        nonlocal held
        outcome = tracker.claim(_op(), worker, TaskSelection((task,)))
        assert isinstance(outcome, Claimed)
        held = Fenced(held.resource, outcome.grants[0].fence)

    def close() -> None:
        assert isinstance(tracker.close(_op(), worker, held, "completed", "done"), TaskClosed)

    acts: tuple[Callable[[], object], ...] = (
        claim,
        lambda: tracker.note(_op(), worker, task, "a note"),
        close,
    )
    for verb, act in zip(VERBS, acts, strict=True):
        spent.clear()
        began = perf_counter()
        act()
        timing.drag_here(perf_counter() - began)
        yield Lap(verb, perf_counter() - began, sum(spent))


@pytest.mark.timed
def test_little_is_added_to_the_time_of_bd(
    place: Place, version: str, figures: Figures, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours: Final = SystemPrograms.run
    spent: list[float] = []
    tracker, shared = place.open()
    worker = _join(shared, "amber")
    laps: dict[bool, list[Lap]] = {False: [], True: []}
    added: dict[str, Added] = {}
    for number in range(MOST_TIMED):
        for is_bare, found in laps.items():
            run = _measure(_run_bare(place) if is_bare else ours, spent)
            monkeypatch.setattr(SystemPrograms, "run", run)
            found.extend(_live_through(tracker, worker, f"timed {number} {is_bare}", spent))
        added = {verb: _compare(laps, verb) for verb in VERBS}
        if number + 1 >= TIMED and all(one.share <= MOST_ADDED for one in added.values()):
            break  # others work on this machine, too
    for verb, one in added.items():
        values = {"ms": round(one.whole * 1000), "ms of bd alone": round(one.floor * 1000)}
        figures(f"bd {version}, {verb}", {**values, "added": f"{one.share:.1%}"})
        timing.rule(one.share <= MOST_ADDED, f"bd {version}, {verb}: {one.share:.1%} added")
