"""Lets sessions work on one server for an hour, and looks whether anything grows.

    python -m tests.clusters.soak [--minutes 60] [--kept 600] [--json FILE]

500 sessions in 50 projects claim and close, reserve and release, and write to each other; sessions end and
others begin, and every half minute the process of some of them is killed. The log and what ended are kept
for ten minutes instead of days, so that they are as large as they get after a third of the hour; shorter runs
keep them for less. Memory, sizes of tables and dead rows of the last third are compared with those of the
second.
"""

import argparse
import json
import os
import random
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import psycopg

from passdown.core.coordination.leases import PATH, Fenced, Granted, Resource
from passdown.core.coordination.members import Member
from passdown.core.coordination.messages import TO_NAME, NewMessage
from passdown.core.coordination.tasks import Claimed, Task
from passdown.engines.coordination import changes, messages, retention
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.postgres.migrate import migrate
from passdown.engines.system import pause
from passdown.errors import StorageError, UsageError
from tests.proofs.coordination.shared_calls import SharedClock, SharedPlace, make_op
from tests.stores.servers import ADMIN, APP, Postgres, started_postgres

PROJECTS: Final = 50
PROCESSES: Final = 10
SESSIONS: Final = 500
KEPT: Final = 600.0
"""How many seconds the log and what ended are kept."""
LIFE: Final = 20
"""How many things a session does before it ends and another begins."""
REST: Final = 0.5
"""How many seconds a process rests after each thing that one of its sessions did."""
CLOSED: Final = 0.2
"""How many of the tasks that are claimed are closed; the others are given back."""
RECORDS: Final = "tasks"
"""The table that keeps what was done, so that it grows with it."""
KILL_EVERY: Final = 30.0
MOST_GROWTH: Final = 1.1
"""How many times as large as in the second third something may be in the last."""
SMALL: Final = 1_000_000
"""What has fewer bytes is not compared."""
_SIZES: Final = (
    "SELECT relname, pg_total_relation_size(relid), n_live_tup, n_dead_tup "
    "FROM pg_stat_user_tables WHERE schemaname = 'passdown'"
)


class Sample(NamedTuple):
    """What was seen at one time."""

    minute: float
    memory: int
    """The bytes of the process that has most."""
    sizes: Mapping[str, int]
    dead: Mapping[str, int]
    rows: Mapping[str, int]
    done: int
    """How many things were done since the beginning."""


# --- processes --------------------------------------------------------------------------------------


def keep_less(seconds: float) -> None:
    """Keep for minutes what is otherwise kept for days."""
    for module, names in (
        (retention, ("KEPT", "REMEMBERED", "KEPT_ENDED")),
        (changes, ("KEPT_ENDED",)),
        (messages, ("READ_KEPT",)),
    ):
        for name in names:
            setattr(module, name, seconds)


class Session:
    """One session, which does one thing after the other."""

    def __init__(self, on: Coordinator, name: str) -> None:
        """Take part, and remove old messages, as a session that starts does."""
        self._on, self._name, self.age = on, name, 0
        on.members.join(make_op(), Member(session=name, agent=name))
        on.messages.expire(make_op())

    def act(self, numbers: random.Random) -> bool:
        """Do something; return whether it goes on. One that was silent for long counts as ended."""
        self.age += 1
        acts = (self._work, self._work, self._reserve, self._reserve, self._write, self._beat)
        try:
            numbers.choice(acts)(numbers)
        except UsageError:
            return False
        if self.age < LIFE:
            return True
        self._on.members.leave(make_op(), self._name)
        return False

    def _work(self, numbers: random.Random) -> None:
        claimed = self._on.tasks.claim(make_op(), self._name, [])
        if not isinstance(claimed, Claimed):
            name = f"t-{numbers.getrandbits(48):x}"
            self._on.tasks.add(make_op(), self._name, Task(task=name, title="Do it."))
            return
        (grant,) = claimed.grants
        held = Fenced(Resource(grant.kind, grant.name), grant.fence)
        if numbers.random() < CLOSED:
            self._on.tasks.close(make_op(), self._name, held, "completed", "")
        else:
            self._on.tasks.give_back(make_op(), self._name, held)

    def _reserve(self, numbers: random.Random) -> None:
        wanted = Resource(PATH, f"src/{numbers.randrange(40)}/")
        granted = self._on.leases.acquire(make_op(), self._name, [wanted], 600.0)
        if isinstance(granted, Granted):
            self._on.leases.release(make_op(), self._name, [Fenced(wanted, granted.grants[0].fence)])

    def _write(self, numbers: random.Random) -> None:
        del numbers
        self._on.messages.send(make_op(), NewMessage(self._name, f"{TO_NAME}{self._name}", "hello"))
        found = self._on.messages.waiting(self._name)
        if found:
            self._on.messages.acknowledge(make_op(), self._name, [one.position for one in found])

    def _beat(self, numbers: random.Random) -> None:
        del numbers
        self._on.members.beat([self._name])


def work(address: str, number: int, report: int, kept: float) -> None:
    """Let sessions of several projects work until the process is killed."""
    keep_less(kept)
    numbers = random.Random()
    place = SharedPlace(address, SharedClock())
    with ExitStack() as stack:
        opened = [
            stack.enter_context(place.open(f"p-{one}"))[0] for one in range(number, PROJECTS, PROCESSES)
        ]
        sessions = [_begin(numbers, opened) for _ in range(SESSIONS // PROCESSES)]
        while True:
            place_of = numbers.randrange(len(sessions))
            session = sessions[place_of]
            with suppress(StorageError):
                if not session.act(numbers):
                    sessions[place_of] = _begin(numbers, opened)
            os.write(report, b".")
            pause(REST)


def _begin(numbers: random.Random, opened: Sequence[Coordinator]) -> Session:
    return Session(numbers.choice(opened), f"s-{numbers.getrandbits(64):x}")


class Crowd:
    """The processes."""

    def __init__(self, address: str, kept: float) -> None:
        """Start them."""
        self._address, self._kept = address, kept
        self._reports, self._theirs = os.pipe()
        os.set_blocking(self._reports, False)
        self._processes = [self._start(number) for number in range(PROCESSES)]
        self.done = 0

    def count(self) -> int:
        """Return how many things were done."""
        with suppress(BlockingIOError):
            while said := os.read(self._reports, 65_536):
                self.done += len(said)
        return self.done

    def kill_one(self, number: int) -> None:
        """Kill a process, and start another in its place."""
        os.kill(self._processes[number], signal.SIGKILL)
        os.waitpid(self._processes[number], 0)
        self._processes[number] = self._start(number)

    def memory(self) -> int:
        """Return the bytes of the process that has most."""
        return max(_read_memory(process) for process in self._processes)

    def end(self) -> None:
        """Kill all."""
        for process in self._processes:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)

    def _start(self, number: int) -> int:
        child = os.fork()
        if child:
            return child
        try:
            work(self._address, number, self._theirs, self._kept)
        finally:
            os._exit(70)


def _read_memory(process: int) -> int:
    text = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(text.partition("VmRSS:")[2].split()[0]) * 1024


# --- what is seen -----------------------------------------------------------------------------------


def watch(server: Postgres, minutes: float, kept: float, say: Callable[[str], object]) -> Iterator[Sample]:
    """Let the crowd work, and yield what is seen every minute."""
    crowd = Crowd(server.address.url(APP), kept)
    began = killed = time.monotonic()
    try:
        for minute in range(1, int(minutes) + 1):
            while time.monotonic() < began + 60.0 * minute:
                crowd.count()
                pause(1.0)
                if time.monotonic() - killed > KILL_EVERY:
                    killed = time.monotonic()
                    crowd.kill_one(random.randrange(PROCESSES))
            sample = look(server, crowd, float(minute))
            size, dead = sum(sample.sizes.values()), sum(sample.dead.values())
            say(f"{minute} min: {sample.done:,} done, {size / 1e6:.1f} MB, {dead:,} dead rows\n")
            yield sample
    finally:
        crowd.end()


def look(server: Postgres, crowd: Crowd, minute: float) -> Sample:
    """Look at everything once."""
    with psycopg.connect(server.address.url(ADMIN), autocommit=True) as connection:
        rows: list[tuple[Any, ...]] = connection.execute(_SIZES).fetchall()
    return Sample(
        minute=minute,
        memory=crowd.memory(),
        sizes={str(name): int(size) for name, size, _, _ in rows},
        dead={str(name): int(dead) for name, _, _, dead in rows},
        rows={str(name): int(live) for name, _, live, _ in rows},
        done=crowd.count(),
    )


def judge(samples: Sequence[Sample]) -> Iterator[tuple[str, float, float, bool]]:
    """Yield for everything that was seen: its name, its means in both thirds, and whether it is flat."""
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[2 * third :]

    def compare(name: str, read: Callable[[Sample], float], least: float) -> tuple[str, float, float, bool]:
        before, after = (statistics.mean(map(read, part)) for part in (middle, last))
        return name, before, after, after <= max(before * MOST_GROWTH, before + least)

    yield compare("memory of a process, MB", lambda one: one.memory / 1e6, SMALL / 1e6)
    yield compare("all tables but tasks, MB", lambda one: _sum_others(one) / 1e6, SMALL / 1e6)
    yield compare("dead rows", lambda one: float(sum(one.dead.values())), 2_000.0)
    for table in sorted({*samples[-1].sizes} - {RECORDS}):
        yield compare(f"{table}, MB", lambda one, table=table: one.sizes[table] / 1e6, SMALL / 1e6)  # type: ignore[misc]


def _sum_others(sample: Sample) -> int:
    return sum(sample.sizes.values()) - sample.sizes[RECORDS]


def _grow_log(sample: Sample, kept: float) -> float:
    """Return how many bytes the log grows in an hour: what it has is what was written while rows are kept."""
    return sample.sizes["log"] * 3_600.0 / min(kept, 60.0 * sample.minute)


def main(arguments: Sequence[str]) -> int:
    """Let them work, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--kept", type=float, default=KEPT)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    with started_postgres() as server:
        if server is None:
            sys.stdout.write("not run: PostgreSQL is not installed\n")
            return 0
        migrate(server.address.url())
        samples = [*watch(server, options.minutes, options.kept, sys.stderr.write)]
    if options.json:
        options.json.write_text(json.dumps([one._asdict() for one in samples], indent=1), encoding="utf-8")
    is_flat = True
    for name, before, after, flat in judge(samples):
        is_flat &= flat
        sys.stdout.write(f"{name:<28} {before:>10.1f} {after:>10.1f}  {'flat' if flat else 'GROWS'}\n")
    seconds = 60.0 * samples[-1].minute
    first, last = samples[0], samples[-1]
    grown, rows = (getattr(last, kind)[RECORDS] - getattr(first, kind)[RECORDS] for kind in ("sizes", "rows"))
    sys.stdout.write(f"tasks: {rows:,} more rows, {grown / 1e6:.1f} MB more, because they are kept\n")
    sys.stdout.write(
        f"log: {_grow_log(last, options.kept) / 1e6:.1f} MB an hour, which is kept for two days\n"
    )
    sys.stdout.write(f"{last.done:,} things done, {last.done / seconds:.1f} a second\n")
    return 0 if is_flat else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
