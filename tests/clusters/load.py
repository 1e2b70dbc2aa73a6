"""Processes that claim and close in many projects of a server at once, and what they were told, checked.

Each project is visited by some of the processes, which race for its tasks until none is left; a call that
was not answered is made again with its id. Then `call_checker.py` says for each project whether anything was
given twice or lost.
"""

import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise
from typing import Final, NamedTuple

from passdown.core.coordination.leases import Fenced, Lifetimes, Resource
from passdown.core.coordination.outcomes import load_outcome
from passdown.core.coordination.tasks import TaskClosed
from passdown.engines.system import pause
from tests.proofs.coordination.call_checker import check_calls
from tests.proofs.coordination.call_runs import Pool
from tests.proofs.coordination.shared_calls import Call, Caller, SharedClock, SharedPlace, read_calls

GLANCE: Final = 0.2
_REST: Final = 0.5
"""How many seconds pass until a call is made again, so that several clusters can be tried at once."""
PATIENCE: Final = 10.0
"""How many seconds a statement may take, which is what commands use."""
LIMIT: Final = PATIENCE + 5.0
"""How many seconds a call may take until it is answered or given up: connecting has a limit of its own."""
_APART: Final = "@"


class Work(NamedTuple):
    """What is done."""

    address: str
    """Where the processes connect, as the application's role."""
    projects: int
    tasks: int
    """How many tasks each project has."""
    workers: int = 8
    visitors: int = 4
    """How many processes work in each project."""
    name: str = "p"
    """What the names of the projects begin with."""
    patience: float = PATIENCE
    pace: float = 0.0
    """How many seconds a process rests after each task."""
    seed: int = 20261119

    def list_projects(self) -> list[str]:
        """Return the names of the projects."""
        return [f"{self.name}-{number}" for number in range(self.projects)]


class Found(NamedTuple):
    """What came of it."""

    calls: int
    granted: int
    seconds: float
    quiet: float
    """For how many seconds at most nothing was granted after a fault."""
    slowest: float
    """How many seconds a call took at most until it was answered or given up."""
    wrong: Sequence[str]


class Load:
    """The processes at work."""

    def __init__(self, work: Work) -> None:
        """Put the tasks on the boards, and let everybody begin."""
        self.work = work
        self._place = SharedPlace(work.address, SharedClock(), patience=work.patience)
        self._names = [f"t-{number}" for number in range(work.tasks)]
        with self._place.open(work.name):
            for project in work.list_projects():
                self._place.add_tasks(project, self._names)
        visit_all = partial(visit, work=work, place=self._place)
        self._pool = Pool(self._place, visit_all, work.workers, size=work.projects * work.tasks, repeats=True)
        self._began = time.monotonic()
        self._faults: list[float] = []
        self._pool.begin(work.name, random.Random(work.seed))

    def wait(self, share: float) -> bool:
        """Wait until this share of the tasks was granted; return whether anybody still works."""
        while self._count() < share * self.work.projects * self.work.tasks:
            if not self._pool.read():
                return False
        return True

    def go_on(self, seconds: float) -> None:
        """Let them work for so long."""
        until = time.monotonic() + seconds
        while True:
            self._pool.read(GLANCE)
            if time.monotonic() >= until:
                return

    def note_fault(self) -> None:
        """Remember that something was broken now."""
        self._faults.append(time.monotonic())

    def is_granted_again(self) -> bool:
        """Return whether a call that began after the last fault was granted something."""
        return any(call.granted and call.began > self._faults[-1] for call in read_calls(self._pool.lines))

    def finish(self, repair: Callable[[], object]) -> Found:
        """Let them work until nothing is left; check all that they were told once the server is repaired."""
        while self._pool.read():
            continue
        seconds = time.monotonic() - self._began
        calls = read_calls(self._pool.lines)
        wrong = [f"ended with {code}" for code in self._pool.end() if code]
        repair()
        with self._place.open(self.work.name):
            wrong += self._check(calls)
        granted = sorted(call.ended for call in calls if call.granted)
        return Found(
            calls=len(calls),
            granted=len(granted),
            seconds=seconds,
            quiet=max((_find_quiet(granted, fault) for fault in self._faults), default=0.0),
            slowest=max(call.slowest for call in calls),
            wrong=wrong,
        )

    def abandon(self) -> None:
        """End the processes, whatever they do."""
        for number in range(self.work.workers):
            self._pool.kill(number)

    def _count(self) -> int:
        return sum('"Claimed"' in line for line in self._pool.lines)

    def _check(self, calls: Sequence[Call]) -> Iterator[str]:
        """Compare what callers were told with the log of each project."""

        def find_project(call: Call) -> str:
            return call.session.partition(_APART)[0]

        by_project = {
            project: [*found] for project, found in groupby(sorted(calls, key=find_project), find_project)
        }
        for project in self.work.list_projects():
            log = self._place.read_log(project)
            told = by_project.get(project, [])
            yield from (f"{project}: {text}" for text in check_calls(log, told, self._names, Lifetimes()))
            outcomes = [load_outcome(row.data) for row in log if row.verb == "close"]
            closed = sorted(one.task.task for one in outcomes if isinstance(one, TaskClosed))
            if closed != sorted(self._names):
                yield f"{project}: closed {closed}"


def visit(caller: Caller, numbers: random.Random, work: Work, place: SharedPlace) -> None:
    """Claim and close in each of one's projects until nothing is ready there."""
    own = int(caller.session.removeprefix("s-"))
    mine = [
        project
        for number, project in enumerate(work.list_projects())
        if (number + own) % work.workers < work.visitors
    ]
    numbers.shuffle(mine)
    for project in mine:
        with place.open(project) as (on, _):
            visitor = Caller(
                on, f"{project}{_APART}{caller.session}", caller.report, repeats=True, rest=_REST
            )
            visitor.join()
            claim_slowly(visitor, work.pace)


def claim_slowly(caller: Caller, pace: float) -> None:
    """Claim and close until nothing is ready, with a rest after each task."""
    while claimed := caller.claim():
        (grant,) = claimed.grants
        caller.close(Fenced(Resource(grant.kind, grant.name), grant.fence))
        pause(pace)


def _find_quiet(granted: Sequence[float], fault: float) -> float:
    """Return the longest time without a grant that ended after a fault."""
    return max((late - early for early, late in pairwise(granted) if late > fault), default=0.0)


def run_load(
    work: Work,
    disturb: Callable[[Load], None] = lambda _: None,
    repair: Callable[[], object] = lambda: None,
) -> Found:
    """Let the processes work while something is done to the server, which is repaired when they are done."""
    load = Load(work)
    try:
        disturb(load)
        return load.finish(repair)
    except BaseException:
        load.abandon()
        raise
