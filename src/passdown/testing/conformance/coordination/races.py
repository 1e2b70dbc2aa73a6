"""Races: there is always one holder, each fence is granted once, and the log has no gaps."""

from collections.abc import Sequence
from functools import partial
from typing import Final, cast

import pytest

from passdown.core.coordination.leases import PATH, TASK, Fenced, Granted, Held, Lost, Resource
from passdown.core.coordination.messages import NewMessage
from passdown.core.coordination.offers import Accepted, OfferGone
from passdown.core.coordination.tasks import Claimed, NothingReady, TaskClosed
from passdown.errors import UsageError
from passdown.ports.coordination import Coordination
from passdown.testing.conformance.coordination.bench import CoordinationCase, SharedProject

RACERS: Final = 6
_ROUNDS: Final = 4
_TTL: Final = 600.0


# Racers are functions of this module, so that they can be sent to another process.


def claim(on: Coordination, session: str, tasks: Sequence[str], ops: Sequence[str]) -> list[object]:
    """Claim once for each id."""
    return [on.tasks.claim(op, session, tasks, another=True) for op in ops]


def acquire(on: Coordination, session: str, path: str, op: str) -> object:
    """Reserve a path."""
    return on.leases.acquire(op, session, [Resource(PATH, path)], _TTL)


def take_and_release(on: Coordination, session: str, ops: Sequence[str]) -> list[int]:
    """Reserve a path and release it again, once for each pair of ids; return the fences."""
    fences: list[int] = []
    for first, second in zip(ops[::2], ops[1::2], strict=True):
        granted = on.leases.acquire(first, session, [Resource(PATH, "src/")], _TTL)
        if isinstance(granted, Granted):
            fences.append(granted.grants[0].fence)
            held = [Fenced(Resource(PATH, "src/"), fences[-1])]
            assert not isinstance(on.leases.release(second, session, held), Lost)
    return fences


def force(on: Coordination, session: str, op: str) -> object:
    """Take a task by force."""
    return on.leases.take_over(op, session, [Resource(TASK, "t")], force=True)


def close(on: Coordination, session: str, held: Fenced, op: str) -> object:
    """Close a task."""
    return on.tasks.close(op, session, held, "completed", "")


def accept(on: Coordination, session: str, offer: str, op: str) -> object:
    """Accept an offer."""
    return on.offers.accept(op, session, offer)


def withdraw(on: Coordination, session: str, offer: str, op: str) -> object:
    """Withdraw an offer."""
    return on.offers.withdraw(op, session, offer)


def send(on: Coordination, session: str, to: str, ops: Sequence[str]) -> list[object]:
    """Send a message for each id."""
    return [on.messages.send(op, NewMessage(session, to, f"{session} {op}")) for op in ops]


def acknowledge(on: Coordination, session: str, positions: Sequence[int], op: str) -> int:
    """Read messages."""
    return on.messages.acknowledge(op, session, positions).count


def join_racers(project: SharedProject) -> list[str]:
    """Make as many sessions join as there are racers."""
    names = [f"r{number}" for number in range(RACERS)]
    project.join(*names)
    return names


class RacePromises(CoordinationCase):
    """The promises when several sessions act at once."""

    @pytest.fixture
    def racers(self, project: SharedProject) -> list[str]:
        """Make the racing sessions join."""
        return join_racers(project)

    def test_of_all_that_claim_a_task_one_has_it(self, project: SharedProject, racers: list[str]) -> None:
        """The others learn which session has it."""
        for number in range(_ROUNDS):
            task = f"t{number}"
            project.add(task)
            acts = [partial(_claim_one, session=one, task=task, op=project.op()) for one in racers]

            outcomes = project.bench.race(acts)

            winners = [one for one in outcomes if isinstance(one, Claimed)]
            assert len(winners) == 1
            holders = {one.session for one in outcomes if isinstance(one, Held)}
            assert holders == {project.find(task).holder}

    def test_whoever_claims_what_is_ready_is_given_a_task_of_its_own(
        self, project: SharedProject, racers: list[str]
    ) -> None:
        """No task is given twice or left over; the rest learn that nothing is ready."""
        tasks = [f"t{number}" for number in range(RACERS * _ROUNDS - 4)]
        project.add(*tasks)
        acts = [
            partial(claim, session=one, tasks=[], ops=[project.op() for _ in range(_ROUNDS)])
            for one in racers
        ]

        outcomes = [one for found in project.bench.race(acts) for one in _listed(found)]

        claims = [one for one in outcomes if isinstance(one, Claimed)]
        assert sorted(one.tasks[0].task for one in claims) == sorted(tasks)
        assert len({one.grants[0].fence for one in claims}) == len(tasks)
        assert sum(isinstance(one, NothingReady) for one in outcomes) == 4
        _check_log(project)

    def test_of_all_that_reserve_overlapping_patterns_one_has_them(
        self, project: SharedProject, racers: list[str]
    ) -> None:
        """This holds however differently they write the patterns."""
        patterns = ["src/", "src/a.py", "src/*.py", "**/a.py", "src/**", "src/[ab].py"]
        for _ in range(_ROUNDS):
            acts = [
                partial(acquire, session=one, path=path, op=project.op())
                for one, path in zip(racers, patterns, strict=True)
            ]

            outcomes = project.bench.race(acts)

            assert sum(isinstance(one, Granted) for one in outcomes) == 1
            (held,) = project.here.leases.leases()
            fence = Fenced(held.resource, held.fence)
            project.use("release", held.session, [fence])

    def test_a_path_that_goes_round_has_a_fence_for_each_turn(
        self, project: SharedProject, racers: list[str]
    ) -> None:
        """No fence is granted twice."""
        acts = [
            partial(take_and_release, session=one, ops=[project.op() for _ in range(2 * _ROUNDS)])
            for one in racers
        ]

        fences = [one for found in project.bench.race(acts) for one in _listed(found)]

        assert fences
        assert len(fences) == len(set(map(str, fences)))
        assert project.held() == []
        _check_log(project)

    def test_a_repeated_operation_acts_once_even_at_the_same_time(
        self, project: SharedProject, racers: list[str]
    ) -> None:
        """All callers get the same outcome."""
        project.add("t", "u")
        op = project.op()
        position = project.here.history.position()

        outcomes = project.bench.race([partial(claim, session=racers[0], tasks=[], ops=[op])] * RACERS)

        assert all(one == outcomes[0] for one in outcomes)
        assert project.here.history.position() == position + 1
        assert project.held() == ["t"]

    def test_of_all_that_force_a_task_the_last_one_has_it(
        self, project: SharedProject, racers: list[str]
    ) -> None:
        """Each has its own fence."""
        project.add("t")
        project.claimed(racers[0], "t")

        outcomes = project.bench.race([partial(force, session=one, op=project.op()) for one in racers[1:]])

        fences = sorted(one.grants[0].fence for one in outcomes if isinstance(one, Granted))
        assert len(set(fences)) == RACERS - 1
        assert project.find("t").fence == fences[-1]
        _check_log(project)

    def test_a_task_is_closed_by_its_holder_or_taken_before(
        self, project: SharedProject, racers: list[str]
    ) -> None:
        """Never both: a closed task is not held, and a taken one is open."""
        holder, thief = racers[:2]
        for number in range(_ROUNDS):
            task = f"t{number}"
            project.add(task)
            held = project.claimed(holder, task)
            acts = [
                partial(close, session=holder, held=held, op=project.op()),
                partial(_force_quietly, session=thief, task=task, op=project.op()),
            ]

            closed, taken = project.bench.race(acts)

            found = project.find(task)
            if isinstance(closed, TaskClosed):
                assert taken is None
                assert (found.task.state, found.holder) == ("closed", "")
            else:
                assert isinstance(closed, Lost)
                assert isinstance(taken, Granted)
                assert (found.task.state, found.holder) == ("open", thief)

    def test_of_all_that_accept_an_offer_one_has_it_unless_it_was_withdrawn(
        self, project: SharedProject, racers: list[str]
    ) -> None:
        """The owner is the giver or the one that accepted."""
        giver, *takers = racers
        for number in range(_ROUNDS):
            task = f"t{number}"
            project.add(task)
            project.claimed(giver, task)
            offer = project.offer(giver, task)
            acts = [partial(accept, session=one, offer=offer, op=project.op()) for one in takers]

            *answers, ended = project.bench.race(
                [*acts, partial(withdraw, session=giver, offer=offer, op=project.op())]
            )

            accepted = [one for one in answers if isinstance(one, Accepted)]
            assert len(accepted) + (not isinstance(ended, OfferGone)) == 1
            holder = project.find(task).holder
            assert (holder in takers) is bool(accepted)
            assert holder in racers

    def test_positions_stay_dense_and_every_message_arrives(
        self, project: SharedProject, racers: list[str]
    ) -> None:
        """All readers see them in the same order."""
        acts = [
            partial(send, session=one, to=f"agent-{racers[0]}", ops=[project.op() for _ in range(_ROUNDS)])
            for one in racers
        ]

        project.bench.race(acts)

        waiting = project.here.messages.waiting(racers[0])
        assert len(waiting) == RACERS * _ROUNDS
        positions = [one.position for one in waiting]
        assert positions == sorted(set(positions))
        log = {one.position: one.op for one in project.here.history.since(0, 1_000)}
        assert [one.message.message for one in waiting] == [log[one] for one in positions]
        _check_log(project)

    def test_a_message_is_read_once_however_many_say_so(
        self, project: SharedProject, racers: list[str]
    ) -> None:
        """The counts add up."""
        for _ in range(_ROUNDS):
            project.send(racers[0], f"agent-{racers[1]}")
        positions = [one.position for one in project.here.messages.waiting(racers[1])]
        acts = [partial(acknowledge, session=racers[1], positions=positions, op=project.op()) for _ in racers]

        counts = project.bench.race(acts)

        assert sorted(map(str, counts)) == [*["0"] * (RACERS - 1), str(_ROUNDS)]


def _claim_one(on: Coordination, session: str, task: str, op: str) -> object:
    return on.tasks.claim(op, session, [task])


def _force_quietly(on: Coordination, session: str, task: str, op: str) -> object:
    """Take a task by force; do nothing if it is closed."""
    try:
        return on.leases.take_over(op, session, [Resource(TASK, task)], force=True)
    except UsageError:
        return None


def _listed(found: object) -> list[object]:
    assert isinstance(found, list)
    return cast("list[object]", found)


def _check_log(project: SharedProject) -> None:
    """Check that positions are dense, and that each operation is in the log once."""
    log = project.here.history.since(0, 10_000)
    assert [one.position for one in log] == list(range(1, project.here.history.position() + 1))
    assert len({one.op for one in log}) == len(log)
