"""The board: each task has one holder; which tasks are ready, in which order, and what waits for what."""

import pytest

from passdown.core.coordination.leases import Fenced, Held, Lost, Resource
from passdown.core.coordination.tasks import (
    Claimed,
    DependencyCycle,
    NothingReady,
    Task,
    TaskClosed,
    TaskStored,
    is_ready,
)
from passdown.errors import UsageError
from passdown.records import replace
from passdown.testing.conformance.coordination.bench import (
    DEATH,
    LIFETIMES,
    MARGIN,
    CoordinationCase,
    SharedProject,
    about,
    expect,
)


class ClaimPromises(CoordinationCase):
    """The promises of `Tasks.claim` and of the ways to give up a task."""

    def test_a_claimed_task_is_its_sessions_and_everybody_sees_it(self, project: SharedProject) -> None:
        """The claim returns the task, the fence and the time."""
        project.join("a")
        project.add("t")

        claim = expect(Claimed, project.claim("a", "t"))

        (grant,) = claim.grants
        assert [one.task for one in claim.tasks] == ["t"]
        assert claim.orphaned_by == ("",)
        assert (grant.kind, grant.name, grant.left) == ("task", "t", about(DEATH))
        assert grant.fence == project.here.history.position()
        found = project.find("t")
        assert (found.holder, found.agent, found.fence) == ("a", "agent-a", grant.fence)
        assert (found.left, found.is_orphaned, found.task.is_held) == (about(DEATH), False, True)

    def test_a_second_claim_is_refused_while_the_lease_lives(self, project: SharedProject) -> None:
        """The refusal names the holder."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")

        refused = expect(Held, project.claim("b", "t"))

        assert (refused.kind, refused.name, refused.session) == ("task", "t", "a")
        assert project.find("t").holder == "a"

    def test_several_tasks_are_claimed_all_or_none(self, project: SharedProject) -> None:
        """If one is held, all are refused."""
        project.join("a", "b")
        project.add("t", "u", "v")
        project.claimed("a", "u")

        assert isinstance(project.claim("b", "t", "u", "v"), Held)
        assert project.held("b") == []
        claim = expect(Claimed, project.claim("b", "t", "v"))
        assert [one.name for one in claim.grants] == ["t", "v"]

    def test_a_task_that_is_not_there_cannot_be_claimed(self, project: SharedProject) -> None:
        """Neither can a closed one."""
        project.join("a")
        project.add("t", "u")
        project.close("a", project.claimed("a", "t"))

        for task in ("none", "t"):
            with pytest.raises(UsageError):
                project.claim("a", "u", task)
        assert project.held() == []

    def test_the_first_ready_task_is_the_most_urgent_then_the_oldest(self, project: SharedProject) -> None:
        """Ids do not influence the order."""
        project.join("a")
        project.add("z", "y", priority=2)
        project.add("x", priority=4)
        project.add("w", priority=0)
        project.add("v", priority=2)

        assert [project.next_task("a") for _ in range(6)] == ["w", "z", "y", "v", "x", ""]

    def test_tasks_are_listed_by_priority_then_by_age(self, project: SharedProject) -> None:
        """Closed tasks are listed only on request."""
        project.join("a")
        project.add("z", "y", priority=2)
        project.add("x", priority=0)
        project.close("a", project.claimed("a", "z"))

        assert [one.task.task for one in project.here.tasks.tasks()] == ["x", "y"]
        assert [one.task.task for one in project.here.tasks.tasks(closed=True)] == ["x", "z", "y"]

    def test_a_summary_counts_as_the_list_does_and_names_what_is_held(self, project: SharedProject) -> None:
        """What a dead session holds is named; what waits is only counted."""
        project.join("a", "b")
        project.add("late", "gone", "kept", "urgent", "blocked", "free", priority=2)
        project.add("first", "over", priority=0)
        project.wait_for("blocked", "free")
        project.claimed("a", "kept")
        project.claimed("b", "gone")
        project.close("a", project.claimed("a", "over"))
        project.die("b")

        summary, listed = project.here.tasks.summary(3), project.here.tasks.tasks()

        assert (summary.ready, summary.held, summary.waiting) == (4, 2, 1)
        assert summary.ready == sum(map(is_ready, listed))
        taken = [(one.task.task, one.agent, one.is_orphaned) for one in summary.taken]
        assert taken == [("gone", "agent-b", True), ("kept", "agent-a", False)]
        assert [one.task for one in summary.taken] == [one.task for one in listed if one.holder]
        assert [one.task.task for one in summary.first_ready] == ["first", "late", "urgent"]
        assert project.here.tasks.summary().first_ready == ()

    def test_a_task_whose_offer_expired_is_ready_in_a_summary(self, project: SharedProject) -> None:
        """The session that offered it has ended, and nobody took it."""
        project.join("a", "b")
        project.add("old", "new")
        project.claimed("a", "old")
        project.offer("a", "old", seconds=60.0)
        project.leave("a")
        assert project.here.tasks.summary().held == 1
        project.bench.advance(60.0 + MARGIN)

        summary = project.here.tasks.summary(1)

        assert (summary.ready, summary.held, summary.waiting) == (2, 0, 0)
        assert [one.task.task for one in summary.first_ready] == ["old"]

    def test_who_claims_again_is_given_what_it_holds(self, project: SharedProject) -> None:
        """Repeating a command does no harm; another task is given only on request."""
        project.join("a")
        project.add("t", "u")
        task = project.claimed("a", "t")

        again = expect(Claimed, project.of("a").tasks.claim(project.op(), "a", []))

        assert again.orphaned_by == ("",)
        assert [(one.name, one.fence) for one in again.grants] == [("t", task.fence)]
        assert project.find("u").holder == ""
        assert [one.name for one in expect(Claimed, project.claim("a", another=True)).grants] == ["u"]
        assert len(expect(Claimed, project.claim("a")).grants) == 2

    def test_what_is_held_outside_of_the_board_does_not_keep_a_session_from_claiming(
        self, project: SharedProject
    ) -> None:
        """A task of an outside tracker does not count."""
        project.join("a")
        project.add("t")
        wanted = [Resource("task", "tracked-1")]
        project.of("a").leases.acquire(project.op(), "a", wanted, LIFETIMES.silent)

        assert [one.name for one in expect(Claimed, project.claim("a")).grants] == ["t"]

    def test_a_role_is_given_its_tasks_and_those_for_anybody(self, project: SharedProject) -> None:
        """Without a role, or with `any`, every task counts."""
        project.join("a", "b", "c")
        project.add("fe", role="fe", priority=0)
        project.add("be", role="be", priority=1)
        project.add("any", priority=2)

        assert [project.next_task("a", role="be") for _ in range(3)] == ["be", "any", ""]
        assert project.next_task("b", role="any") == "fe"

    def test_a_named_task_is_given_to_any_role(self, project: SharedProject) -> None:
        """A session that names a task means it."""
        project.join("a")
        project.add("fe", role="fe")

        assert isinstance(project.claim("a", "fe", role="be"), Claimed)

    def test_nothing_ready_says_what_is_held_and_what_waits(self, project: SharedProject) -> None:
        """So a session knows whom to ask."""
        project.join("a", "b")
        project.add("t", "u")
        project.wait_for("u", "t")
        project.claimed("a", "t")

        nothing = expect(NothingReady, project.claim("b"))

        found = {one.task.task: (one.holder, one.waits_for) for one in nothing.waiting}
        assert found == {"t": ("a", ()), "u": ("", ("t",))}
        assert expect(NothingReady, project.claim("b", "u")).waiting[0].waits_for == ("t",)

    def test_a_task_that_was_given_back_is_ready(self, project: SharedProject) -> None:
        """The session keeps its files."""
        project.join("a", "b")
        project.add("t")
        task = project.claimed("a", "t")
        project.acquired("a", "src/")

        stored = expect(TaskStored, project.of("a").tasks.give_back(project.op(), "a", task))

        assert not stored.task.is_held
        assert project.held("a") == ["src/"]
        assert project.next_task("b") == "t"

    @pytest.mark.parametrize("verb", ["close", "give_back"])
    def test_an_old_fence_closes_nothing_and_gives_nothing_back(
        self, project: SharedProject, verb: str
    ) -> None:
        """The task was taken over meanwhile, or is held again under a new fence."""
        project.join("a", "b")
        project.add("t")
        old = project.claimed("a", "t")
        project.take_task("b", "t", force=True)
        act = project.of("a").tasks.give_back

        def try_it() -> object:
            return project.close("a", old) if verb == "close" else act(project.op(), "a", old)

        assert expect(Lost, try_it()).now == project.find("t").fence
        project.take_task("a", "t", force=True)
        assert expect(Lost, try_it()).fence == old.fence
        found = project.find("t")
        assert (found.holder, found.task.state) == ("a", "open")

    @pytest.mark.parametrize("verb", ["close", "give_back"])
    def test_the_fence_of_another_session_closes_nothing(self, project: SharedProject, verb: str) -> None:
        """The fence is right, but it is not the caller's."""
        project.join("a", "b")
        project.add("t")
        held = project.claimed("a", "t")
        act = project.of("b").tasks.give_back

        refused = project.close("b", held) if verb == "close" else act(project.op(), "b", held)

        assert isinstance(refused, Lost)
        assert project.find("t").holder == "a"

    def test_an_orphan_is_passed_over_for_half_an_hour(self, project: SharedProject) -> None:
        """Its session may come back; later it is handed out, and the claim names the former holder."""
        project.join("a", "b")
        project.add("orphan", priority=0)
        project.add("t", priority=3)
        old = project.claimed("a", "orphan")
        project.die("a")

        found = project.find("orphan")
        assert (found.holder, found.is_orphaned, found.left) == ("a", True, 0.0)
        assert project.next_task("b") == "t"
        project.bench.advance(LIFETIMES.orphaned - 2 * MARGIN)
        project.beat("b")
        assert project.next_task("b") == ""
        assert isinstance(project.claim("b", "orphan"), Held)
        project.bench.advance(2 * MARGIN)
        claim = expect(Claimed, project.claim("b", another=True))
        assert ([one.task for one in claim.tasks], claim.orphaned_by) == (["orphan"], ("agent-a",))
        assert isinstance(project.close("a", old), Lost)

    def test_an_orphan_is_claimed_by_its_name_when_the_half_hour_is_over(
        self, project: SharedProject
    ) -> None:
        """An unnamed claim gets it then too."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        project.bench.advance(DEATH + LIFETIMES.orphaned + MARGIN)

        assert expect(Claimed, project.claim("b", "t")).orphaned_by == ("agent-a",)

    def test_an_orphan_that_comes_back_has_its_task(self, project: SharedProject) -> None:
        """No other session took it."""
        project.join("a", "b")
        project.add("t")
        task = project.claimed("a", "t")
        project.die("a")

        assert isinstance(project.close("a", task), TaskClosed)

    def test_orphans_and_ready_tasks_are_handed_out_in_one_order(self, project: SharedProject) -> None:
        """By priority, then by age; a role gets no orphan of another role."""
        project.join("a", "b", "c")
        project.add("late", priority=1)
        project.add("orphan", priority=1, role="fe")
        project.add("urgent", priority=0)
        project.claimed("a", "orphan")
        project.bench.advance(DEATH + LIFETIMES.orphaned + MARGIN)
        project.beat("b", "c")

        assert [project.next_task("c", role="be") for _ in range(3)] == ["urgent", "late", ""]
        assert [project.next_task("b") for _ in range(2)] == ["orphan", ""]

    def test_orphans_come_before_what_is_younger(self, project: SharedProject) -> None:
        """They come after older tasks."""
        project.join("a", "b")
        project.add("old", "orphan", "new")
        project.claimed("a", "orphan")
        project.bench.advance(DEATH + LIFETIMES.orphaned + MARGIN)

        assert [project.next_task("b") for _ in range(4)] == ["old", "orphan", "new", ""]

    def test_who_holds_a_task_that_waits_by_now_still_has_it(self, project: SharedProject) -> None:
        """Claiming it again by name succeeds."""
        project.join("a")
        project.add("t", "u")
        task = project.claimed("a", "t")
        project.wait_for("t", "u")

        assert project.claimed("a", "t") == task

    def test_an_orphan_that_waits_is_not_handed_out(self, project: SharedProject) -> None:
        """A task that waits is not ready."""
        project.join("a", "b")
        project.add("t", "u")
        project.claimed("a", "t")
        project.wait_for("t", "u")
        project.claimed("b", "u")
        project.bench.advance(DEATH + LIFETIMES.orphaned + MARGIN)
        project.beat("b")

        assert project.next_task("b") == ""


class BoardPromises(CoordinationCase):
    """The promises of `Tasks` about the tasks on the board."""

    def test_a_note_is_added_once_for_each_operation(self, project: SharedProject) -> None:
        """It comes before the note with which the task is closed."""
        project.join("a")
        project.add("t")
        held, op = project.claimed("a", "t"), project.op()
        assert project.here.history.find(op) == 0

        for _ in range(2):
            assert project.here.tasks.note(op, "a", "t", "first").task.note == "first"
        project.here.tasks.note(project.op(), "", "t", "second")
        closed = expect(TaskClosed, project.here.tasks.close(project.op(), "a", held, "completed", "last"))

        assert closed.task.note == "first\nsecond\nlast"
        assert 0 < project.here.history.find(op) <= project.here.history.position()
        with pytest.raises(UsageError):
            project.here.tasks.note(project.op(), "a", "none", "text")

    def test_what_was_added_is_found_as_it_was_said(self, project: SharedProject) -> None:
        """A new task is open and free and waits for nothing, whatever the caller says."""
        task = Task(task="t", title="Tïtle", body="a\nb", priority=0, role="be", waits=3, is_held=True)

        stored = project.here.tasks.add(project.op(), "", task)

        wanted = replace(task, waits=0, is_held=False, added=project.here.history.position())
        assert stored == TaskStored(task=wanted)
        assert project.find("t").task == wanted
        assert project.here.tasks.find("none") is None

    def test_an_id_is_added_once(self, project: SharedProject) -> None:
        """Adding it again is a usage error and changes nothing."""
        project.add("t")
        before = project.find("t")

        with pytest.raises(UsageError):
            project.here.tasks.add(project.op(), "", Task(task="t", title="other"))
        assert project.find("t") == before

    def test_closing_releases_the_paths_of_the_session_in_the_same_change(
        self, project: SharedProject
    ) -> None:
        """There is one position, and the session keeps its other tasks."""
        project.join("a", "b")
        project.add("t", "u")
        task = project.claimed("a", "t")
        project.claimed("a", "u")
        project.acquired("a", "src/", "docs/")
        project.acquired("b", "tests/")
        position = project.here.history.position()

        closed = expect(TaskClosed, project.of("a").tasks.close(project.op(), "a", task, "completed", "done"))

        assert (closed.task.state, closed.task.reason, closed.task.note) == ("closed", "completed", "done")
        assert sorted(closed.released) == ["docs/", "src/"]
        assert project.here.history.position() == position + 1
        assert (project.held("a"), project.held("b")) == (["u"], ["tests/"])
        assert project.find("t").task.state == "closed"

    def test_closing_frees_who_waited_in_the_same_change(self, project: SharedProject) -> None:
        """A task that waits for several keeps waiting."""
        project.join("a", "b")
        project.add("t", "u", "both", "one")
        project.wait_for("both", "t")
        project.wait_for("both", "u")
        project.wait_for("one", "t")
        task = project.claimed("a", "t")

        closed = expect(TaskClosed, project.close("a", task))

        assert closed.freed == ("one",)
        assert project.find("both").waits_for == ("u",)
        assert expect(TaskClosed, project.close("a", project.claimed("a", "u"))).freed == ("both",)
        assert [project.next_task("b") for _ in range(3)] == ["both", "one", ""]

    def test_a_task_that_waits_is_not_ready(self, project: SharedProject) -> None:
        """This holds however urgent it is."""
        project.join("a")
        project.add("urgent", priority=0)
        project.add("t", priority=4)
        project.wait_for("urgent", "t")

        assert project.next_task("a") == "t"
        assert project.next_task("a") == ""

    def test_waiting_twice_is_waiting_once(self, project: SharedProject) -> None:
        """Waiting for a closed task does not count."""
        project.join("a")
        project.add("t", "u", "closed")
        project.close("a", project.claimed("a", "closed"))

        project.wait_for("u", "t")
        project.wait_for("u", "t")
        project.wait_for("u", "closed")
        assert project.find("u").task.waits == 1
        project.close("a", project.claimed("a", "t"))

        assert project.find("u").task.waits == 0
        assert project.next_task("a") == "u"

    def test_a_circle_is_refused(self, project: SharedProject) -> None:
        """Circles of any length are refused, and nothing of the call stays."""
        project.join("a")
        project.add("t", "u", "v")
        project.wait_for("u", "t")
        project.wait_for("v", "u")

        assert expect(DependencyCycle, project.wait_for("t", "v")).tasks == ("t", "v", "u", "t")
        assert expect(DependencyCycle, project.wait_for("t", "t")).tasks == ("t", "t")
        assert project.next_task("a") == "t"

    def test_a_circle_through_a_closed_task_is_none(self, project: SharedProject) -> None:
        """No task waits for a closed one."""
        project.join("a")
        project.add("t", "u", "v")
        project.wait_for("v", "u")
        task = project.claimed("a", "u")
        project.wait_for("u", "t")
        project.close("a", task)

        assert isinstance(project.wait_for("t", "v"), TaskStored)

    def test_waiting_needs_two_tasks(self, project: SharedProject) -> None:
        """An unknown task is a usage error."""
        project.add("t")

        for pair in (("t", "none"), ("none", "t")):
            with pytest.raises(UsageError):
                project.wait_for(*pair)

    def test_a_blocked_task_frees_nobody_and_is_opened_again(self, project: SharedProject) -> None:
        """It stays off the board until it is reopened."""
        project.join("a")
        project.add("t", "u")
        project.wait_for("u", "t")
        closed = expect(TaskClosed, project.close("a", project.claimed("a", "t"), "blocked"))
        assert (closed.task.state, closed.task.reason, closed.freed) == ("blocked", "blocked", ())
        assert project.next_task("a") == ""

        project.here.tasks.change(project.op(), "", replace(closed.task, state="open"))

        assert project.next_task("a") == "t"
        assert project.find("t").task.reason == ""

    def test_a_skipped_task_frees_who_waited(self, project: SharedProject) -> None:
        """A skipped task is closed."""
        project.join("a")
        project.add("t", "u")
        project.wait_for("u", "t")

        assert expect(TaskClosed, project.close("a", project.claimed("a", "t"), "skipped")).freed == ("u",)

    def test_a_reason_that_is_none_is_refused(self, project: SharedProject) -> None:
        """The task stays open."""
        project.join("a")
        project.add("t")
        task = project.claimed("a", "t")

        with pytest.raises(UsageError):
            project.close("a", task, "forgotten")
        assert project.find("t").holder == "a"

    def test_what_a_task_says_can_be_changed_while_somebody_holds_it(self, project: SharedProject) -> None:
        """Its holder and age stay the same."""
        project.join("a")
        project.add("t")
        held = project.claimed("a", "t")
        said = Task(task="t", title="new", body="more", priority=0, role="fe")

        stored = expect(TaskStored, project.here.tasks.change(project.op(), "b", said))

        found = project.find("t")
        assert stored.task == found.task
        assert (found.task.title, found.task.body, found.task.priority, found.task.role) == (
            *("new", "more", 0, "fe"),
        )
        assert (found.holder, found.fence, found.task.is_held) == ("a", held.fence, True)

    def test_a_change_closes_nothing(self, project: SharedProject) -> None:
        """Closed tasks cannot be changed."""
        project.join("a")
        project.add("t", "u")
        project.close("a", project.claimed("a", "u"))

        with pytest.raises(UsageError):
            project.here.tasks.change(project.op(), "", Task(task="t", title="t", state="closed"))
        for task in ("u", "none"):
            with pytest.raises(UsageError):
                project.here.tasks.change(project.op(), "", Task(task=task, title="new"))
        assert project.find("t").task.state == "open"

    def test_a_task_is_closed_once(self, project: SharedProject) -> None:
        """The second time its fence no longer counts."""
        project.join("a")
        project.add("t")
        task = project.claimed("a", "t")
        project.close("a", task)

        assert isinstance(project.close("a", task), Lost)
        assert isinstance(project.close("a", Fenced(Resource("task", "none"), 1)), Lost)
