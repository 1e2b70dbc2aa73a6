"""The log: each change once, in commit order, without gaps; repeated operations act once."""

import pytest

from passdown.core.coordination.leases import Fenced, Resource
from passdown.core.coordination.members import Member
from passdown.core.coordination.operations import REMEMBERED
from passdown.errors import UsageError
from passdown.testing.conformance.coordination.bench import (
    MARGIN,
    CoordinationCase,
    SharedProject,
    about,
)
from passdown.testing.conformance.coordination.changes import (
    CHANGES,
    REFUSALS,
    KnownState,
    describe,
    without_times,
)


class HistoryPromises(CoordinationCase):
    """The promises of `History`."""

    def test_positions_are_dense_and_in_the_order_of_changes(self, project: SharedProject) -> None:
        """Refusals, reads and beats take no position."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        project.claim("b", "t")
        project.beat("a")
        project.send("a", "agent-b")
        project.mail("b")
        project.acquired("b", "src/", "docs/")

        log = project.here.history.since(0, 100)

        assert [one.position for one in log] == [1, 2, 3, 4, 5, 6]
        assert [one.verb for one in log] == ["join", "join", "add", "claim", "send", "acquire"]
        assert [one.session for one in log] == ["a", "b", "", "a", "a", "b"]
        assert [one.subject for one in log[2:]] == ["t", "t", "agent-b", "path/src/ path/docs/"]
        assert project.here.history.position() == 6
        assert len({one.op for one in log}) == 6

    def test_changes_are_read_from_a_position_on(self, project: SharedProject) -> None:
        """At most that many are returned, the oldest first."""
        project.add("t", "u", "v", "w")
        history = project.here.history

        assert [one.subject for one in history.since(1, 2)] == ["u", "v"]
        assert [one.subject for one in history.since(3, 100)] == ["w"]
        assert list(history.since(4, 100)) == []

    def test_a_change_tells_its_age_and_never_an_instant(self, project: SharedProject) -> None:
        """The age is by the engine's clock."""
        project.add("t")
        project.bench.advance(100.0)

        assert [one.age for one in project.here.history.since(0, 10)] == [about(100.0)]

    def test_every_handle_sees_the_same_history(self, project: SharedProject) -> None:
        """Changes are visible as soon as they are made."""
        project.join("a", "b")

        seen = [project.of(one).history.position() for one in ("a", "b", "c")]

        assert seen == [2, 2, 2]

    def test_waiting_for_a_change_that_is_there_ends_at_once(self, project: SharedProject) -> None:
        """It returns the newest position."""
        project.add("t", "u")

        assert project.here.history.wait(1, 3_600.0) == 2

    def test_waiting_always_ends(self, project: SharedProject) -> None:
        """Without a change, the position stays the same."""
        project.add("t")

        assert project.here.history.wait(1, 0.05) == 1
        assert project.here.history.wait(1, 0.0) == 1

    def test_old_changes_go_and_positions_never_begin_again(self, project: SharedProject) -> None:
        """The remaining log has no gaps."""
        project.add("t", "u")
        project.bench.advance(REMEMBERED + MARGIN)
        project.add("v")

        project.join("a")

        assert [one.position for one in project.here.history.since(0, 10)] == [3, 4]
        assert project.here.history.position() == 4
        project.add("w")
        assert project.here.history.position() == 5


class RepeatPromises(CoordinationCase):
    """A repeated operation acts once; a refusal leaves no trace."""

    @pytest.mark.parametrize("name", CHANGES)
    def test_a_repeated_change_acts_once_and_has_the_same_outcome(
        self, project: SharedProject, name: str
    ) -> None:
        """The repeat is made on another handle, because the first answer was lost."""
        call = CHANGES[name](KnownState(project))
        op = project.op()
        before = project.here.history.position()

        first = call(project.of("first"), op)
        after = describe(project)
        second = call(project.of("second"), op)

        assert project.here.history.position() == before + 1
        assert second == first
        assert describe(project) == after
        (entry,) = project.here.history.since(before, 10)
        assert entry.op == op
        assert entry.verb

    @pytest.mark.parametrize("name", CHANGES)
    def test_a_change_is_repeated_without_harm_when_others_went_on(
        self, project: SharedProject, name: str
    ) -> None:
        """A grant may have been taken over since; the repeat does not change that."""
        call = CHANGES[name](KnownState(project))
        op = project.op()
        first = call(project.of("first"), op)
        for session in ("a", "dead", "b"):
            project.leave(session)
        project.join("late")
        project.next_task("late")
        project.acquire("late", "**")
        after = describe(project)

        assert call(project.of("second"), op) == first
        assert describe(project) == after

    @pytest.mark.parametrize("name", REFUSALS)
    def test_a_refusal_leaves_no_trace(self, project: SharedProject, name: str) -> None:
        """There is no position and no change, so the same id can be used again."""
        call = REFUSALS[name](KnownState(project))
        op = project.op()
        before = describe(project)

        outcomes = [call(project.of("first"), op) for _ in range(2)]

        assert without_times(outcomes[0]) == without_times(outcomes[1])
        assert describe(project) == before

    def test_a_refused_operation_can_be_tried_again_with_its_id(self, project: SharedProject) -> None:
        """It succeeds once nothing conflicts."""
        project.join("a", "b")
        held = project.acquired("a", "src/")
        op = project.op()
        wanted = [Resource("path", "src/")]
        project.of("b").leases.acquire(op, "b", wanted, 600.0)
        project.use("release", "a", held)

        project.of("b").leases.acquire(op, "b", wanted, 600.0)

        assert project.held("b") == ["src/"]

    @pytest.mark.parametrize("name", ["inherit", "acquire", "take over", "claim", "accept"])
    def test_a_cancelled_grant_is_never_made(self, project: SharedProject, name: str) -> None:
        """The sender is gone, and the engine receives the call late."""
        call = CHANGES[name](KnownState(project))
        op = project.op()

        assert project.of("second").history.cancel(op) is None
        after = describe(project)
        with pytest.raises(UsageError):
            call(project.of("first"), op)

        assert project.here.history.cancel(op) is None
        assert describe(project) == after
        assert project.here.history.find(op) == 0

    def test_a_grant_that_was_made_is_not_cancelled(self, project: SharedProject) -> None:
        """The caller gets its outcome instead."""
        project.join("a")
        op = project.op()
        made = project.of("a").leases.acquire(op, "a", [Resource("path", "src/")], 600.0)
        position = project.here.history.position()

        assert project.here.history.cancel(op) == made
        assert project.here.history.find(op) == project.here.history.position() == position
        assert project.held("a") == ["src/"]

    def test_an_error_leaves_no_trace(self, project: SharedProject) -> None:
        """A usage error in the middle of a change undoes all of it."""
        project.join("a")
        project.add("t")
        before = describe(project)

        with pytest.raises(UsageError):
            project.claim("a", "t", "none")
        assert describe(project) == before

    def test_nothing_stays_of_what_was_granted_before_an_error(self, project: SharedProject) -> None:
        """A file was granted before the task turned out to be closed."""
        project.join("a")
        project.add("t")
        project.close("a", project.claimed("a", "t"))
        before = describe(project)
        wanted = [Resource("path", "src/"), Resource("task", "t")]

        with pytest.raises(UsageError):
            project.here.leases.acquire(project.op(), "a", wanted, 600.0)
        assert describe(project) == before

    def test_an_id_is_remembered_for_two_days(self, project: SharedProject) -> None:
        """After that it is unknown whether it acted, so it is refused because of its age."""
        old, known = project.op(age=REMEMBERED + MARGIN), project.op(age=REMEMBERED - MARGIN)
        member = Member(session="a", agent="agent-a")

        with pytest.raises(UsageError):
            project.here.members.join(old, member)
        assert project.here.members.members() == []
        assert project.here.members.join(known, member).is_new
        assert project.here.members.join(known, member).is_new

    def test_an_id_that_is_none_is_refused(self, project: SharedProject) -> None:
        """It is refused before anything happens."""
        project.join("a")

        for op in ("", "x", project.op().upper() + "0"):
            with pytest.raises(UsageError):
                project.of("a").leases.acquire(op, "a", [Resource("path", "src/")], 600.0)
        assert project.held() == []

    def test_an_id_is_not_shared_by_two_kinds_of_change(self, project: SharedProject) -> None:
        """The outcome of one kind is no answer to the other."""
        project.join("a")
        op = project.op()
        project.of("a").leases.acquire(op, "a", [Resource("path", "src/")], 600.0)

        with pytest.raises(UsageError):
            project.of("a").leases.release(op, "a", [Fenced(Resource("path", "src/"), 2)])
        assert project.held("a") == ["src/"]
