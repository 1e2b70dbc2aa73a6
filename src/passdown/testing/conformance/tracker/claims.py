"""Ready tasks and their holders: each task has one holder, decided by lease and tracker together."""

import pytest

from passdown.core.coordination.leases import Held, Lost
from passdown.core.coordination.tasks import Claimed, Listing, NothingReady, TaskStored
from passdown.errors import UsageError
from passdown.ports.tracker import TaskSelection
from passdown.testing.conformance.tracker.bench import TrackedProject, TrackerCase, expect


class ClaimingPromises(TrackerCase):
    """The promises of `tasks`, `find`, `claim` and `give_back`."""

    def test_a_new_task_is_ready_and_says_what_it_was_given(self, project: TrackedProject) -> None:
        """Title, text, priority and role come back as they were."""
        task = project.add("Sign in", priority=1, role="fe", body="first line\nsecond line")

        found = project.find(task).task
        assert (found.task, found.title, found.body) == (task, "Sign in", "first line\nsecond line")
        assert (found.priority, found.role, found.state, found.is_held) == (1, "fe", "open", False)
        assert project.listed(Listing.READY) == ["Sign in"]

    def test_the_most_urgent_task_comes_first(self, project: TrackedProject) -> None:
        """The order in which they were added does not matter."""
        for title, priority in (("later", 3), ("first", 0), ("then", 1)):
            project.add(title, priority=priority)

        assert project.listed(Listing.READY) == ["first", "then", "later"]

    def test_what_waits_is_blocked_until_the_other_is_closed(self, project: TrackedProject) -> None:
        """It names the task it waits for."""
        worker = project.join("a")
        one = project.add("one")
        two = project.add("two", one)

        assert (project.listed(Listing.READY), project.listed(Listing.BLOCKED)) == (["one"], ["two"])
        (blocked,) = project.tracker.tasks(Listing.BLOCKED)
        assert blocked.waits_for == (one,)
        held = project.claimed(worker, one)
        project.tracker.close(project.op(), worker, held, "completed", "")
        assert (project.listed(Listing.READY), project.listed(Listing.BLOCKED)) == (["two"], [])
        assert project.listed(Listing.OPEN) == ["two"]
        assert sorted(project.listed(Listing.ALL)) == ["one", "two"]
        assert project.find(two).task.waits == 0

    def test_a_claimed_task_is_its_sessions_and_everybody_sees_it(self, project: TrackedProject) -> None:
        """It is no longer ready, and the session holds its lease."""
        worker = project.join("a")
        task = project.add("one")

        claim = expect(Claimed, project.claim(worker))

        assert [one.task for one in claim.tasks] == [task]
        assert project.held(worker) == [task]
        found = project.find(task)
        assert (found.holder, found.agent, found.fence) == (
            worker.session,
            worker.agent,
            claim.grants[0].fence,
        )
        assert found.task.is_held
        assert project.listed(Listing.READY) == []

    def test_a_second_claim_is_refused_and_names_the_holder(self, project: TrackedProject) -> None:
        """The first session keeps the task."""
        first, second = project.join("a"), project.join("bb")
        task = project.add("one")
        project.claimed(first, task)

        refused = expect(Held, project.claim(second, task))

        assert (refused.name, refused.agent) == (task, first.agent)
        assert project.find(task).agent == first.agent
        assert project.held(second) == []

    def test_several_tasks_are_claimed_all_or_none(self, project: TrackedProject) -> None:
        """If one is held, all are refused."""
        first, second = project.join("a"), project.join("bb")
        one, two, three = (project.add(title) for title in ("one", "two", "three"))
        project.claimed(first, two)

        assert isinstance(project.claim(second, one, two, three), Held)
        assert project.held(second) == []
        assert project.find(one).agent == ""
        claim = expect(Claimed, project.claim(second, one, three))
        assert [grant.name for grant in claim.grants] == [one, three]

    def test_whoever_claims_again_is_given_the_same_task(self, project: TrackedProject) -> None:
        """Another task is given on request."""
        worker = project.join("a")
        one = project.add("one", priority=0)
        two = project.add("two")

        assert project.claimed(worker) == project.claimed(worker)
        assert project.claimed(worker).resource.name == one
        another = expect(Claimed, project.claim(worker, another=True))
        assert [task.task for task in another.tasks] == [two]

    def test_a_role_is_given_its_tasks_and_those_for_anybody(self, project: TrackedProject) -> None:
        """It does not get those of another role."""
        worker = project.join("a")
        project.add("design", role="fe", priority=0)
        task = project.add("store", role="be", priority=1)

        claim = expect(Claimed, project.claim(worker, role="be"))

        assert [one.task for one in claim.tasks] == [task]

    def test_nothing_to_claim_names_what_waits(self, project: TrackedProject) -> None:
        """It lists held tasks and those that wait for them."""
        first, second = project.join("a"), project.join("bb")
        one = project.add("one")
        two = project.add("two", one)
        project.claimed(first, one)

        nothing = expect(NothingReady, project.claim(second))

        assert sorted(state.task.task for state in nothing.waiting) == sorted([one, two])
        assert {state.agent for state in nothing.waiting} == {first.agent, ""}

    @pytest.mark.parametrize("name", ["none", "-rf", "--all", "a\nb", "tp-zzzz9", "$(id)"])
    def test_a_task_that_is_not_there_cannot_be_claimed(self, project: TrackedProject, name: str) -> None:
        """This holds for any id, even next to existing ones."""
        worker = project.join("a")
        task = project.add("one")

        with pytest.raises(UsageError):
            project.claim(worker, task, name)

        assert project.tracker.find(name) is None
        assert project.held(worker) == []
        assert project.find(task).agent == ""

    def test_a_closed_task_cannot_be_claimed(self, project: TrackedProject) -> None:
        """It is not reopened."""
        worker = project.join("a")
        task = project.add("one")
        project.tracker.close(project.op(), worker, project.claimed(worker, task), "completed", "")

        with pytest.raises(UsageError):
            project.claim(worker, task)

        assert project.find(task).task.state == "closed"
        assert project.held(worker) == []

    def test_a_task_that_was_given_back_is_ready(self, project: TrackedProject) -> None:
        """An old fence gives nothing back."""
        first, second = project.join("a"), project.join("bb")
        task = project.add("one")
        held = project.claimed(first, task)

        expect(TaskStored, project.tracker.give_back(project.op(), first, held))

        assert (project.listed(Listing.READY), project.held(first)) == (["one"], [])
        project.claimed(second, task)
        assert isinstance(project.tracker.give_back(project.op(), first, held), Lost)
        assert project.find(task).agent == second.agent

    def test_a_repeated_claim_is_given_the_same_outcome(self, project: TrackedProject) -> None:
        """The repeat has the id of the first claim."""
        worker = project.join("a")
        task = project.add("one")
        op, wish = project.op(), TaskSelection((task,))

        first = expect(Claimed, project.tracker.claim(op, worker, wish))
        again = expect(Claimed, project.tracker.claim(op._replace(is_repeat=True), worker, wish))

        assert [one.fence for one in again.grants] == [one.fence for one in first.grants]
