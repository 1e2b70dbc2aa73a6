"""Random operations of several sessions: never two holders, never two fences alike, nothing lost."""

from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from passdown.core.coordination.leases import PATH, TASK, Fenced, Granted, Lost, Resource
from passdown.core.coordination.members import KEPT_ENDED, Inherited
from passdown.core.coordination.offers import Accepted, NewOffer
from passdown.core.coordination.patterns import overlap, parse_pattern
from passdown.core.coordination.tasks import Claimed, TaskClosed
from passdown.errors import UsageError
from passdown.ports.coordination import HeldResource
from passdown.records import replace
from passdown.testing.conformance.coordination.bench import DEATH, LIFETIMES, MARGIN, SharedProject
from tests.proof import proof_count
from tests.proofs.conftest import Tell
from tests.stores.coordination_benches import MemoryBench
from tests.stores.coordination_bugs import (
    Plant,
    do_not_see_overlap,
    free_what_is_offered,
    ignore_the_fence_when_closing,
    keep_the_fence_of_what_moves,
    release_without_a_fence,
)

HISTORIES: Final = proof_count(fast=40, ci=300, long=20_000)
STEPS: Final = 60
SESSIONS: Final = ("a", "b", "c", "d")
PATHS: Final = ("src/", "src/a.py", "src/*.py", "docs/", "**/a.py", "docs/a.md")
TASKS: Final = ("t0", "t1", "t2", "t3")
WAITS: Final = (
    MARGIN,
    120.0,
    DEATH + MARGIN,
    LIFETIMES.orphaned,
    LIFETIMES.unused,
    90_000.0,
    KEPT_ENDED + MARGIN,
)


class History:
    """One random history, and what must hold after each of its steps."""

    def __init__(self, random: Random) -> None:
        """Begin with four sessions and four tasks."""
        self.random = random
        self.project = SharedProject(MemoryBench())
        self.project.join(*SESSIONS)
        self.project.add(*TASKS)
        self.known: dict[str, list[Fenced]] = {one: [] for one in SESSIONS}
        self.newest = 0
        self.said: list[str] = []
        self.position = self.project.here.history.position()

    def step(self) -> None:
        """Let somebody do something, and check what holds."""
        session = self.random.choice(SESSIONS)
        name, act = self.random.choice([*ACTS.items()])
        before = self.look()
        self.said.append(f"{session} {name}")
        try:
            outcome = act(self, session)
        except UsageError:  # by a session that ended, or on a closed task
            outcome = None
        self.learn(session, outcome)
        self.check(before, outcome)

    def look(self) -> list[HeldResource]:
        """Return what sessions hold that are not dead."""
        return [one for one in self.project.here.leases.leases() if one.left > 0]

    def learn(self, session: str, outcome: object) -> None:
        """Remember the fences that a session was given; it never forgets one."""
        if isinstance(outcome, Granted | Claimed | Accepted):
            self.known[session] += [Fenced(Resource(one.kind, one.name), one.fence) for one in outcome.grants]
        elif isinstance(outcome, Inherited):
            self.known[session] += [Fenced(Resource(*one), outcome.fence) for one in outcome.resources]

    def check(self, before: list[HeldResource], outcome: object) -> None:
        """Check what must always hold.

        1. A resource has one holder, and paths of two sessions do not overlap.
        2. Whoever holds anew holds under a greater fence than any before.
        3. A refusal has no position; a change has one.
        4. An offer that stands is of a task that its giver holds.
        5. A task of the board that nobody holds is ready, closed, or waits.
        """
        held = self.look()
        self.check_holders(held)
        new = {(one.resource, one.session, one.fence) for one in held} - {
            (one.resource, one.session, one.fence) for one in before
        }
        position = self.project.here.history.position()
        for resource, session, fence in new:  # 2
            is_revived = Fenced(resource, fence) in self.known[session]
            assert fence > self.newest or is_revived, self.said
        self.newest = max([self.newest, *(one.fence for one in held)])
        assert position - self.position in {0, 1} or outcome is None, self.said  # 3
        if isinstance(outcome, Lost):
            assert position == self.position, self.said
        self.position = position
        holders = {one.resource.name: one.session for one in held}
        for one in self.project.here.offers.offers():  # 4
            assert holders.get(one.offer.task) == one.offer.giver, self.said
        for task in self.project.here.tasks.tasks():  # 5
            assert task.task.is_held == bool(task.holder), self.said

    def check_holders(self, held: list[HeldResource]) -> None:
        """Check that nobody holds what another holds."""
        for at, one in enumerate(held):
            for other in held[at + 1 :]:
                if one.session == other.session or one.resource.kind != other.resource.kind:
                    continue
                assert one.resource != other.resource, self.said
                if one.resource.kind == PATH:
                    patterns = parse_pattern(one.resource.name), parse_pattern(other.resource.name)
                    assert not overlap(*patterns), self.said

    def any_fence(self, session: str, kind: str) -> list[Fenced]:
        """Return a fence that the session was once given, old or new; or one that it made up."""
        known = [one for one in self.known[session] if one.resource.kind == kind]
        name = self.random.choice(PATHS if kind == PATH else TASKS)
        return [self.random.choice(known) if known else Fenced(Resource(kind, name), 1)]

    def any_offer(self) -> str:
        """Return an offer that stands, if there is one."""
        found = [one.offer.offer for one in self.project.here.offers.offers()]
        return self.random.choice(found) if found else "none"


def acquire(on: History, session: str) -> object:
    paths = on.random.sample(PATHS, on.random.choice((1, 1, 2)))
    return on.project.acquire(session, *paths, ttl=on.random.choice((100.0, 600.0)))


def renew(on: History, session: str) -> object:
    return use(on, session, "renew")


def release(on: History, session: str) -> object:
    return use(on, session, "release")


def use(on: History, session: str, verb: str) -> object:
    (held,) = on.any_fence(session, on.random.choice((PATH, TASK)))
    before = [Fenced(one.resource, one.fence) for one in on.project.here.leases.leases(session)]
    outcome = on.project.use(verb, session, [held])
    assert (held in before) is not isinstance(outcome, Lost), on.said
    return outcome


def check(on: History, session: str) -> object:
    return on.project.check(session, on.random.choice(("src/a.py", "docs/a.md", "docs/b.md")))


def take_over(on: History, session: str) -> object:
    force = on.random.random() < 0.3
    if on.random.random() < 0.5:
        return on.project.take(session, on.random.choice(PATHS), force=force)
    return on.project.take_task(session, on.random.choice(TASKS), force=force)


def claim(on: History, session: str) -> object:
    tasks = on.random.sample(TASKS, on.random.choice((0, 0, 1, 2)))
    return on.project.claim(session, *tasks, another=on.random.random() < 0.5)


def close(on: History, session: str) -> object:
    (held,) = on.any_fence(session, TASK)
    before = on.project.here.tasks.find(held.resource.name)
    outcome = on.project.close(session, held, on.random.choice(("blocked", "blocked", "completed")))
    if isinstance(outcome, TaskClosed):
        assert before is not None
        assert (before.holder, before.fence) == (session, held.fence), on.said
    return outcome


def reopen(on: History, session: str) -> object:
    task = on.project.find(on.random.choice(TASKS)).task
    return on.project.of(session).tasks.change(on.project.op(), session, replace(task, state="open"))


def give_back(on: History, session: str) -> object:
    (held,) = on.any_fence(session, TASK)
    return on.project.of(session).tasks.give_back(on.project.op(), session, held)


def offer(on: History, session: str) -> object:
    seconds = on.random.choice((300.0, 5_000.0, 86_400.0))
    new = NewOffer(session, "", on.random.choice(TASKS), seconds=seconds)
    return on.project.of(session).offers.offer(on.project.op(), new)


def accept(on: History, session: str) -> object:
    return on.project.accept(session, on.any_offer())


def decline(on: History, session: str) -> object:
    return on.project.decline(session, on.any_offer())


def withdraw(on: History, session: str) -> object:
    return on.project.withdraw(session, on.any_offer())


def inherit(on: History, session: str) -> object:
    dead = on.random.choice(SESSIONS)
    return on.project.of(session).members.inherit(on.project.op(), session, dead)


def leave(on: History, session: str) -> None:
    on.project.leave(session)


def join(on: History, session: str) -> None:
    on.project.join(session)


def wait(on: History, session: str) -> None:
    """Let time pass, in which some give signs of life."""
    on.project.bench.advance(on.random.choice(WAITS))
    on.project.beat(session, *(one for one in SESSIONS if on.random.random() < 0.5))


def reboot(on: History, session: str) -> None:
    if on.random.random() < 0.3:
        on.project.bench.reboot()
    on.project.beat(session)


ACTS: Final[dict[str, Callable[[History, str], object]]] = {
    act.__name__: act
    for act in (
        *(acquire, renew, release, check, take_over, claim, close, reopen, give_back),
        *(offer, accept, decline, withdraw, inherit, leave, join, wait, reboot),
    )
}


def run(numbers: range) -> None:
    """Go through histories; a failure tells its steps."""
    for number in numbers:
        history = History(Random(f"coordination {number}"))  # repeatable on purpose
        for _ in range(STEPS):
            history.step()


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("C78", "C80", "C82", "C92")
def test_in_random_histories_nothing_is_held_by_two(tell: Tell) -> None:
    run(range(HISTORIES))

    tell(HISTORIES * STEPS)


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    "bug",
    [
        do_not_see_overlap,
        free_what_is_offered,
        ignore_the_fence_when_closing,
        keep_the_fence_of_what_moves,
        release_without_a_fence,
    ],
    ids=lambda bug: bug.__name__,
)
def test_random_histories_find_the_bug(bug: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)

    with pytest.raises(AssertionError):
        run(range(200))
