"""Let processes call one project at once, and check what they were told.

It is a process of its own, with one thread, so that it may fork. Its argument is an `Order` as JSON: races of
claims or of reservations, or histories, in which processes are killed, or stopped until their leases are
over. It prints one JSON object: figures, and what was wrong.
"""

import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from passdown.core.coordination.leases import GRACE, PATH, TASK, Fenced, Lease, Lifetimes, Resource
from passdown.engines.coordination import leases, tasks
from passdown.engines.coordination.changes import Judge
from passdown.engines.coordination.transactions import Transaction
from tests.proofs.coordination.call_checker import check_calls
from tests.proofs.coordination.shared_calls import (
    LOSING,
    SERVER,
    Call,
    Caller,
    SharedClock,
    SharedPlace,
    read_calls,
)
from tests.stores.servers import Postgres

SHORT: Final = Lifetimes(silent=10.0, unused=60.0, orphaned=5.0)
"""How long leases live in histories."""
LEAP: Final = SHORT.silent + GRACE + SHORT.orphaned + 1.0
"""Seconds after which whatever gave no sign of life is over."""
OVERLAPPING: Final = (
    *(f"{folder}{path}" for folder in "abcdef" for path in ("/", "/*.py", "/x.py", "/b/x.py", "/**/x.py")),
    *("**/x.py", "a/b/", "*/b/"),
)
BOARD: Final = ("t-1", "t-2", "t-3", "t-4")
PATHS: Final = ("src/", "src/a.py", "*/a.py", "docs/")
WORKERS: Final = 8
CALLS: Final = 4
"""How many calls each process makes in a history, beside joining."""
PATIENCE: Final = 0.02
"""Seconds without a report after which a stopped process goes on: it may hold what all others wait for."""
LONGEST: Final = 600
"""Seconds after which a process is ended, beside a fifth of a second for each thing it may have to do."""
MARGIN: Final = 4
"""How many times the longest wait of a change a lease lives."""

Act = Callable[[Caller, random.Random], None]


class Order(NamedTuple):
    """What to do."""

    what: str
    address: str
    size: int
    workers: int
    seed: int
    project: str = "p"
    """A project that nobody uses yet; histories have it before their number."""
    fault: str = ""
    """What is broken on purpose, to see that it is noticed."""
    server: str = ""
    """The folder of the server, which is restarted in every history; empty for none."""
    standby: str = ""
    """The folder of the server that takes over instead, each time from the other; empty for none."""
    admin: str = ""
    """The URL of whoever may change all rows of the server."""


# --- processes --------------------------------------------------------------------------------------


class Pool:
    """Processes that act on a project when they are told to, each on connections of its own."""

    def __init__(
        self, place: SharedPlace, act: Act, workers: int, *, size: int = 0, repeats: bool = False
    ) -> None:
        """Start them; they wait. `repeats` makes calls again that the engine did not answer."""
        self.place = place
        self._longest = LONGEST + size // 5
        self._repeats = repeats
        self._act = act
        self._report, self._theirs = os.pipe()
        self._orders: list[int] = []
        self._children: list[int] = []
        self.lines: list[str] = []
        """What was reported about the project."""
        self.resting: set[int] = set()
        """Who has nothing more to do."""
        self._rest = b""
        for number in range(workers):
            self._start(number)

    def _start(self, number: int) -> None:
        orders, ours = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            self._run(number, orders)
        os.close(orders)
        if number == len(self._children):
            self._children.append(child)
            self._orders.append(ours)
        else:
            os.close(self._orders[number])
            self._children[number], self._orders[number] = child, ours

    def _run(self, number: int, orders: int) -> NoReturn:
        """Act whenever that is asked for, and end without running any handler of the parent."""
        code = 70
        try:
            signal.alarm(self._longest)
            with self.place.open("kept open"), open(orders, encoding="utf-8") as lines:
                for line in lines:
                    project, seed = json.loads(line)
                    if not project:
                        break
                    with self.place.open(project) as (on, _):
                        caller = Caller(on, f"s-{number}", self._theirs, repeats=self._repeats)
                        caller.join()
                        self._act(caller, random.Random(seed))
                    os.write(self._theirs, f"[{number}]\n".encode())
            code = 0
        finally:
            os._exit(code)

    def begin(self, project: str, numbers: random.Random) -> None:
        """Let all act on a project."""
        self.lines.clear()
        self.resting.clear()
        for number in range(len(self._orders)):
            self.begin_one(number, project, numbers)

    def begin_one(self, number: int, project: str, numbers: random.Random) -> None:
        """Let one act on a project."""
        self.resting.discard(number)
        os.write(self._orders[number], f"{json.dumps([project, numbers.getrandbits(32)])}\n".encode())

    def read(self, wait: float | None = None) -> bool:
        """Read what was reported; return False when all have acted, or after so many seconds."""
        if len(self.resting) == len(self._children):
            return False
        if wait is not None and not select.select([self._report], [], [], wait)[0]:
            return False
        *lines, self._rest = (self._rest + os.read(self._report, 65_536)).split(b"\n")
        for line in lines:
            if line.endswith(b"]") and line[1:-1].isdigit():
                self.resting.add(int(line[1:-1]))
            else:
                self.lines.append(line.decode())
        return True

    def signal(self, number: int, what: signal.Signals) -> None:
        """Send a signal to a process."""
        os.kill(self._children[number], what)

    def kill(self, number: int) -> None:
        """Kill a process."""
        self.signal(number, signal.SIGKILL)
        os.waitpid(self._children[number], 0)
        self.resting.add(number)

    def replace(self, number: int) -> None:
        """Start another process in the place of one that was killed."""
        self._start(number)

    def end(self) -> list[int]:
        """End all; return how each ended."""
        self.begin("", random.Random(0))
        return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in self._children]


# --- races ------------------------------------------------------------------------------------------


def claim_all(caller: Caller, numbers: random.Random) -> None:
    """Claim and close until nothing is ready."""
    del numbers
    while claimed := caller.claim():
        (grant,) = claimed.grants
        caller.close(Fenced(Resource(grant.kind, grant.name), grant.fence))


def reserve_often(caller: Caller, numbers: random.Random, count: int) -> None:
    """Reserve one of several patterns that overlap, and release it."""
    for _ in range(count):
        wanted = [Resource(PATH, name) for name in numbers.sample(OVERLAPPING, numbers.choice((1, 1, 2)))]
        if granted := caller.acquire(wanted, Lifetimes().silent):
            for grant in granted.grants:
                caller.release(Fenced(Resource(grant.kind, grant.name), grant.fence))


def run_race(order: Order) -> dict[str, object]:
    """Let all processes race until the work is done."""
    place = SharedPlace(order.address, SharedClock())
    is_claims = order.what == "claims"
    names = [f"t-{number}" for number in range(order.size if is_claims else 1)]
    place.add_tasks(order.project, names)
    act: Act = claim_all if is_claims else partial(reserve_often, count=order.size // order.workers)
    pool = Pool(place, act, order.workers, size=order.size)
    began = time.monotonic()
    pool.begin(order.project, random.Random(order.seed))
    while pool.read():
        continue
    seconds = time.monotonic() - began
    calls = read_calls(pool.lines)
    codes = pool.end()
    log = place.read_log(order.project)
    wrong = check_calls(log, calls, names, place.lifetimes)
    wrong += [f"ended with {code}" for code in codes if code]
    won = [call for call in calls if call.verb in {"claim", "acquire"} and call.granted]
    if is_claims:
        given = [name for call in won for _, name, _ in call.granted]
        wrong += [f"given {len(given)} tasks, {len(set(given))} different ones, of {len(names)}"] * (
            sorted(given) != sorted(names)
        )
    waits = sorted(call.ended - call.began for call in calls if call.verb != "join")
    wrong += check_waits(waits)
    return {
        "calls": len(waits),
        "granted": len(won),
        "refused": sum(call.answer in LOSING for call in calls),
        "errors": sum(call.answer.startswith("StorageError") for call in calls),
        "seconds": round(seconds, 2),
        "granted a second": round(len(won) / seconds),
        "calls a second": round(len(waits) / seconds),
        "median wait ms": round(waits[len(waits) // 2] * 1000),
        "worst wait ms": round(waits[-1] * 1000),
        "wrong": wrong[:20],
    }


def check_waits(waits: Sequence[float]) -> list[str]:
    """Refuse waits beside which a lease is short: whoever waits must not lose what it holds (C80)."""
    longest = max(waits)
    return [f"a lease is short beside {longest} s"] * (MARGIN * longest > Lifetimes().silent)


# --- histories --------------------------------------------------------------------------------------


def act_at_random(caller: Caller, numbers: random.Random) -> None:
    """Make some calls; what was ever granted is used again, whether it is still held or not."""
    for _ in range(CALLS):
        way = numbers.choice(("claim", "claim named", "acquire", "acquire", "use", "use", "use"))
        if way == "claim":
            caller.claim()
        elif way == "claim named":
            caller.claim(numbers.choice(BOARD))
        elif way == "acquire" or not caller.grants:
            wanted = [Resource(PATH, numbers.choice(PATHS))]
            caller.acquire([*wanted, Resource("track", "k")][: numbers.choice((1, 1, 2))], SHORT.silent)
        else:
            _use(caller, numbers.choice(caller.grants), numbers)


def _use(caller: Caller, held: Fenced, numbers: random.Random) -> None:
    if held.resource.kind == TASK and numbers.random() < 0.3:
        caller.close(held)
    else:
        numbers.choice((caller.renew, caller.renew, caller.release))(held)


class Disturbance(NamedTuple):
    """What happens to a process after so many reports."""

    after: int
    what: str
    worker: int


def plan(numbers: random.Random, order: Order) -> list[Disturbance]:
    """Choose what happens, in the order in which it does: one process is killed, two are stopped."""
    reports = 2 * order.workers * CALLS
    last = "fail over" if order.standby else "restart"
    kinds = ("kill", "stop", "stop", last)[: 4 if order.server else 3]
    chosen = numbers.sample(range(order.workers), len(kinds))
    begin = 2 * order.workers
    return sorted(
        Disturbance(numbers.randrange(begin, begin + reports // 2), *pair)
        for pair in zip(kinds, chosen, strict=True)
    )


def restart(folder: str, how: str) -> None:
    """Stop a server and start it again."""
    server = Postgres(Path(folder))
    server.stop(how)
    server.start()


class ServerPair:
    """Two servers, one of which follows the other: no change is acknowledged before both have it."""

    def __init__(self, primary: str, follower: str) -> None:
        """Take the folders of two servers that run."""
        self._primary, self._follower = Postgres(Path(primary)), Postgres(Path(follower))
        self.seconds: list[float] = []
        """How long each failover took, until the pair was whole again."""

    def fail_over(self) -> None:
        """Let the first server crash, the second take over, and the first follow it from the beginning."""
        began = time.monotonic()
        self._primary.stop("immediate")
        self._follower.promote()
        self._primary.follow(self._follower)
        self._primary, self._follower = self._follower, self._primary
        self.seconds.append(time.monotonic() - began)


def run_history(
    pool: Pool, project: str, order: Order, numbers: random.Random, pair: ServerPair
) -> "History":
    """Make one history, and check it."""
    place = pool.place
    place.add_tasks(project, BOARD)
    pool.begin(project, numbers)
    killed: list[int] = []
    stopped = 0
    for one in plan(numbers, order):
        while len(pool.lines) < one.after and pool.read():
            continue
        if one.what == "restart":
            restart(order.server, numbers.choice(("fast", "immediate")))
        elif one.what == "fail over":
            pair.fail_over()
        if one.worker in pool.resting or one.what in {"restart", "fail over"}:
            continue
        if one.what == "kill":
            pool.kill(one.worker)
            killed.append(one.worker)
            continue
        pool.signal(one.worker, signal.SIGSTOP)
        stopped += 1
        move_clock(place, project, order.admin)
        until = len(pool.lines) + numbers.randrange(4, 30)
        while len(pool.lines) < until and pool.read(PATIENCE):
            continue
        pool.signal(one.worker, signal.SIGCONT)
    while pool.read():
        continue
    calls = read_calls(pool.lines)
    for number in killed:
        pool.replace(number)
    wrong = check_calls(place.read_log(project), calls, BOARD, SHORT)
    return History(calls, len(killed), stopped, wrong)


class History(NamedTuple):
    """What one history was."""

    calls: list[Call]
    kills: int
    stops: int
    wrong: list[str]


def move_clock(place: SharedPlace, project: str, admin: str) -> None:
    """Let so much time pass that all leases are over; a server's clock cannot be moved, so its rows are."""
    if not place.address.startswith(SERVER):
        place.clock.advance(LEAP)
        return
    import psycopg

    # Whoever was stopped may have the project's row, and would keep it until the server ends its transaction.
    with suppress(psycopg.errors.LockNotAvailable), psycopg.connect(admin) as connection:
        for statement in (
            b"SET LOCAL lock_timeout = 100",
            b"SELECT pos FROM passdown.projects WHERE project = %(project)s FOR UPDATE",
            b"UPDATE passdown.sessions SET seen = seen - %(leap)s WHERE project = %(project)s",
            b"UPDATE passdown.leases SET used = used - %(leap)s WHERE project = %(project)s",
            b"UPDATE passdown.log SET made_at = made_at - %(leap)s WHERE project = %(project)s",
        ):
            named = {"project": project, "leap": LEAP} if b"%" in statement else None
            connection.execute(statement, named)


def run_histories(order: Order) -> dict[str, object]:
    """Make many histories."""
    plant(order.fault)
    place = SharedPlace(order.address, SharedClock(), SHORT)
    numbers = random.Random(order.seed)
    began = time.monotonic()
    # A history with a server takes seconds.
    size = order.size * (100 if order.server else 1)
    pool = Pool(place, act_at_random, order.workers, size=size, repeats=bool(order.server))
    pair = ServerPair(order.server, order.standby)
    projects = [f"{order.project}-{number}" for number in range(order.size)]
    made = [run_history(pool, project, order, numbers, pair) for project in projects]
    codes = pool.end()
    calls = [call for history in made for call in history.calls]
    wrong = [f"{number}: {one}" for number, history in enumerate(made) for one in history.wrong]
    wrong += [f"ended with {code}" for code in codes if code]
    return {
        "histories": len(made),
        "calls": len(calls),
        "kills": sum(history.kills for history in made),
        "stops": sum(history.stops for history in made),
        "unanswered": sum(not call.answer for call in calls),
        "granted": sum(bool(call.granted) for call in calls),
        "held": sum(call.answer == "Held" for call in calls),
        "stale refused": sum(call.answer == "Lost" for call in calls),
        "failovers": len(pair.seconds),
        "seconds a failover": round(sum(pair.seconds) / max(1, len(pair.seconds)), 2),
        "seconds": round(time.monotonic() - began, 1),
        "wrong": wrong[:20],
    }


def plant(fault: str) -> None:
    """Break the coordinator, to see that the checker notices."""
    if fault == "no fences":

        def find(
            change: Transaction, judge: Judge, own: Sequence[Lease], held: Sequence[Fenced]
        ) -> list[Lease]:
            del judge, own
            return [lease for one in held for lease in change.leases_on(*one.resource)[-1:]]

        leases.require_fences = tasks.require_fences = find  # type: ignore[attr-defined]
    if fault == "no lifetimes":
        Judge.is_live = lambda *_: False  # type: ignore[method-assign]


WAYS: Final = {"claims": run_race, "reservations": run_race, "histories": run_histories}


def main() -> None:
    """Do what was asked."""
    order = Order(**json.loads(sys.argv[1]))
    sys.stdout.write(json.dumps(WAYS[order.what](order)))


if __name__ == "__main__":
    main()
