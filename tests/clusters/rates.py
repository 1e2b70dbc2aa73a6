"""How much processes get done in a second on a server: claims, reservations and messages."""

import os
from collections.abc import Callable, Mapping
from itertools import count
from typing import Final, NamedTuple

from bench.coordination import ACTS, Act
from bench.processes import time_at_once
from passdown.core.coordination.members import Member
from passdown.core.coordination.operations import RANDOM_BYTES, make_operation
from passdown.engines.system import SystemClock
from tests.proofs.coordination.shared_calls import SharedClock, SharedPlace

MEASURED: Final = ("claim and close", "reserve, renew, release", "message")
WORKERS: Final = 8
PROJECTS: Final = 64
TIMES: Final = 640
"""How often each thing is done, by all processes together."""
_MEMBERS: Final = (Member(session="s-0", agent="agent"), Member(session="to-s-0", agent="agent-to-s-0"))


class _Process(NamedTuple):
    """One process, which acts in each of its projects in turn."""

    place: SharedPlace
    projects: list[str]
    act: Act
    times: int

    def run(self, start: Callable[[], None]) -> None:
        opened = [self.place.open(project) for project in self.projects]
        used = [one.__enter__()[0] for one in opened]
        ids = (make_operation(SystemClock().now(), os.urandom(RANDOM_BYTES)) for _ in count())
        for on in used:
            for member in _MEMBERS:
                on.members.join(next(ids), member)
        start()
        for number in range(self.times):
            self.act(used[number % len(used)], "s-0", ids)
        for one in opened:
            one.__exit__(None, None, None)


def measure_rates(address: str, name: str) -> Mapping[str, float]:
    """Return how often a second each thing was done, all processes together."""
    place = SharedPlace(address, SharedClock())
    rates = {}
    for what in MEASURED:
        projects = [f"{name}-{what[:2]}-{number}" for number in range(PROJECTS)]
        with place.open(name):
            for project in projects:
                place.add_tasks(project, [f"t-{number}" for number in range(TIMES // PROJECTS + 1)])
        times = TIMES // WORKERS
        processes = [
            _Process(place, projects[number::WORKERS], ACTS[what], times) for number in range(WORKERS)
        ]
        rates[what] = WORKERS * times / time_at_once([one.run for one in processes])
    return rates
