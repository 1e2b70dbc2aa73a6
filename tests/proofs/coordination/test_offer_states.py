"""All that can happen to an offer, in every order: at each instant giver, taker or board owns the task.

At the desk without files, which only go along.
"""

from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from math import ceil
from typing import Final, NamedTuple

import pytest

from passdown.core.coordination.leases import Fenced, Granted, Held, Lease, Lifetimes, Resource
from passdown.core.coordination.offers import NewOffer
from passdown.core.coordination.tasks import Claimed
from passdown.engines.coordination.coordinator import Coordinator
from passdown.errors import UsageError
from passdown.testing.conformance.coordination.bench import DEATH, MARGIN, SharedProject
from passdown.testing.memory.coordination import MemoryRows, MemoryStore
from tests.proof import LEVEL, Level
from tests.proofs.conftest import Tell
from tests.stores.coordination_benches import MemoryBench
from tests.stores.coordination_bugs import (
    Plant,
    free_what_is_offered,
    give_a_declined_offer_to_the_board,
    let_force_take_what_is_promised,
)

TICK: Final = DEATH + MARGIN
"""Time passes in steps; whoever gives no sign of life for one of them is dead."""
LIFETIMES: Final = Lifetimes(unused=2.5 * TICK, orphaned=1.5 * TICK)
OFFERED: Final = 1.5 * TICK
LONG: Final = 3
"""After so many steps nothing changes any more."""
PAIR: Final = ("a", "b")
WITNESS: Final = "c"
TASK: Final = Resource("task", "t")

Act = Callable[[SharedProject], object]


class State(NamedTuple):
    """A state of the project, and how it came about."""

    rows: MemoryRows
    now: float
    way: tuple[str, ...]


class Explorer:
    """Makes every step from every state."""

    def __init__(self) -> None:
        """Begin with a task that nobody holds, two sessions, and one that only watches."""
        self.bench = MemoryBench(coordinate=lambda store: Coordinator(store, "memory", LIFETIMES))
        self.project = SharedProject(self.bench)
        self.project.join(*PAIR, WITNESS)
        self.project.add("t")

    @property
    def store(self) -> MemoryStore:
        """The rows."""
        assert isinstance(self.bench.store, MemoryStore)
        return self.bench.store

    def save(self, way: tuple[str, ...]) -> State:
        """Take what can still matter of the present state."""
        rows = self.store._rows.copy()
        rows.log = {}
        rows.offers = {key: one for key, one in rows.offers.items() if one.state == "offered"}
        rows.leases = {key: one for key, one in rows.leases.items() if one.ended is None}
        return State(rows, self.bench.time.seconds, way)

    def restore(self, state: State) -> None:
        """Return to a state."""
        self.store._rows = state.rows  # changes work on copies
        self.bench.time.seconds = state.now

    def explore(self) -> dict[object, State]:
        """Return every state that can be reached."""
        first = self.save(())
        found: dict[object, State] = {name_state(first): first}
        open_ones = deque([first])
        while open_ones:
            state = open_ones.popleft()
            self.restore(state)
            before = self.project.find("t").holder
            for step, act in STEPS.items():
                self.restore(state)
                with suppress(UsageError):  # by a session that has ended
                    act(self.project)
                reached = self.save((*state.way, step))
                owner = self.project.find("t").holder
                assert owner in may_own(step, before, state), reached.way
                if found.setdefault(name_state(reached), reached) is reached:
                    open_ones.append(reached)
        return found


# --- what can happen ------------------------------------------------------------------------------


def claim(on: SharedProject, one: str, other: str) -> None:
    del other
    on.claim(one, "t")


def reserve(on: SharedProject, one: str, other: str) -> None:
    del other
    on.acquire(one, "src/")


def offer(on: SharedProject, one: str, other: str) -> None:
    del other
    on.of(one).offers.offer(on.op(), NewOffer(one, "", "t", seconds=OFFERED))


def accept(on: SharedProject, one: str, other: str) -> None:
    del other
    on.accept(one, find_offer(on))


def decline(on: SharedProject, one: str, other: str) -> None:
    del other
    on.decline(one, find_offer(on))


def withdraw(on: SharedProject, one: str, other: str) -> None:
    del other
    on.withdraw(one, find_offer(on))


def give_back(on: SharedProject, one: str, other: str) -> None:
    del other
    on.of(one).tasks.give_back(on.op(), one, Fenced(TASK, on.find("t").fence))


def take_over(on: SharedProject, one: str, other: str) -> None:
    del other
    on.take_task(one, "t")


def force(on: SharedProject, one: str, other: str) -> None:
    del other
    on.take_task(one, "t", force=True)


def inherit(on: SharedProject, one: str, other: str) -> None:
    on.of(one).members.inherit(on.op(), one, other)


def end(on: SharedProject, one: str, other: str) -> None:
    del other
    on.leave(one)


def start(on: SharedProject, one: str, other: str) -> None:
    del other
    on.join(one)


def pass_time(on: SharedProject, living: str) -> None:
    """Let one step of time pass, in which some give signs of life."""
    on.bench.advance(TICK)
    on.beat(*living, WITNESS)


def find_offer(on: SharedProject) -> str:
    """Return the offer, also when its time is over."""
    assert isinstance(on.bench, MemoryBench)
    with on.bench.store.looking() as reading:
        return next((one.offer for one in reading.open_offers()), "none")


TAKING: Final = (claim, accept, take_over, force, inherit)
"""After these the task may be another session's."""
KEEPING: Final = (reserve, offer, decline, withdraw, start)
"""After these it is whose it was, or on the board if that session has ended."""
STEPS: Final[Mapping[str, Act]] = {
    f"{one} {act.__name__}": partial(act, one=one, other=other)
    for one, other in (PAIR, PAIR[::-1])
    for act in (*TAKING, *KEEPING, give_back, end)
    if LEVEL is Level.LONG or act is not reserve
} | {f"{living or 'nobody'} lives": partial(pass_time, living=living) for living in ("", "a", "b", "ab")}


def may_own(step: str, before: str, state: State) -> set[str]:
    """Return who may own the task after a step from a state."""
    one, _, act = step.partition(" ")
    is_offered = any(each.expires > state.now for each in state.rows.offers.values())
    has_ended = before != "" and state.rows.members[before].ended is not None
    if act in {each.__name__ for each in TAKING}:
        return {before, one}
    if act == "give_back":
        return {before, ""}
    if act == "end" and before == one:
        return {before} if is_offered or has_ended else {""}
    return {before, ""} if has_ended else {before}


def name_state(state: State) -> object:
    """Name all that decides what can happen next: two states with one name go on alike."""
    rows, now = state.rows, state.now

    def age(since: float) -> int:
        return min(ceil((now - since) / TICK), LONG)

    def left(until: float) -> int:
        return max(ceil((until - now) / TICK), 0)

    def lease(one: Lease) -> object:
        return one.name, one.session, bool(one.offer), left(one.until), age(one.used)

    return (
        tuple((one.session, one.ended is None, age(one.seen)) for one in rows.members.values()),
        tuple(sorted(map(str, map(lease, rows.leases.values())))),
        tuple((one.giver, left(one.expires)) for one in rows.offers.values()),
        rows.tasks["t"].is_held,
    )


def check_owner(explorer: Explorer, state: State) -> None:
    """Check that a state has one owner, whom everybody sees and nobody else can replace.

    1. No more than one session holds the task, or the path.
    2. What is offered is the giver's: nobody claims it, takes it over, or forces it.
    3. What a living session holds is its own.
    4. What is on the board can be claimed at once.
    5. Whatever happened, the task is not lost: in the end somebody can claim it.
    """
    project = explorer.project
    explorer.restore(state)
    for name in ("t", "src/"):  # 1
        assert sum(one.name == name for one in state.rows.leases.values()) <= 1, state.way
    found = project.find("t")
    offers = project.here.offers.offers()
    if offers:  # 2
        assert [one.offer.giver for one in offers] == [found.holder], state.way
        assert isinstance(project.take_task(WITNESS, "t", force=True), Held), state.way
    if found.holder:  # 3
        wanted = Claimed if found.is_orphaned and is_long_dead(state, found.holder) else Held
        assert isinstance(project.claim(WITNESS, "t"), wanted), state.way
    else:  # 4
        assert isinstance(project.claim(WITNESS, "t"), Claimed), state.way
    explorer.restore(state)
    for _ in range(2 * LONG):  # 5
        pass_time(project, "")
    assert isinstance(project.claim(WITNESS), Claimed), state.way
    assert isinstance(project.acquire(WITNESS, "src/"), Granted), state.way


def is_long_dead(state: State, session: str) -> bool:
    """Return whether others are given what a session held."""
    return state.now - state.rows.members[session].seen >= DEATH + LIFETIMES.orphaned


def check_all(explorer: Explorer) -> dict[object, State]:
    """Go to every state, and check each."""
    found = explorer.explore()
    for state in found.values():
        check_owner(explorer, state)
    return found


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C92")
def test_in_every_state_of_an_offer_there_is_one_owner(tell: Tell) -> None:
    found = check_all(Explorer())

    print(f"{len(found):,} states, {len(found) * len(STEPS):,} steps")
    assert any(state.rows.offers for state in found.values())
    tell(len(found))


@pytest.mark.proof
@pytest.mark.requirement("C92")
@pytest.mark.parametrize(
    "bug",
    [free_what_is_offered, give_a_declined_offer_to_the_board, let_force_take_what_is_promised],
    ids=lambda bug: bug.__name__,
)
def test_the_proof_finds_the_bug(bug: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)

    with pytest.raises(AssertionError):
        check_all(Explorer())
