"""Leases: one holder at a time, growing fences, expiry."""

import pytest

from passdown.core.coordination.leases import (
    GRACE,
    Granted,
    Held,
    Lost,
    Released,
    Resource,
)
from passdown.errors import UsageError
from passdown.testing.conformance.coordination.bench import (
    DEATH,
    LIFETIMES,
    MARGIN,
    CoordinationCase,
    SharedProject,
    about,
    expect,
    fenced,
)

OVERLAPPING = (
    ("src/a.py", "src/a.py"),
    ("src/", "src/a.py"),
    ("src/a.py", "src/"),
    ("src/", "src/deep/down/a.py"),
    ("src/*.py", "src/a.*"),
    ("src/**/a.py", "src/a.py"),
    ("**", "README.md"),
    ("src/[ab].py", "src/[bc].py"),
    ("src/?.py", "src/é.py"),
    ("src/", "src/**"),
)
APART = (
    ("src/a.py", "src/b.py"),
    ("src/", "srcs/a.py"),
    ("src/*.py", "src/deep/a.py"),
    ("src/[ab].py", "src/[cd].py"),
    ("docs/", "src/docs/a.md"),
    ("*.md", "docs/a.md"),
)


class LeasePromises(CoordinationCase):
    """The promises of `Leases` without the guard."""

    def test_a_second_session_is_refused_while_the_lease_lives(self, project: SharedProject) -> None:
        """The refusal names the holder, what it holds, and the time left."""
        project.join("a", "b")
        project.acquired("a", "src/")

        refused = expect(Held, project.acquire("b", "src/a.py"))

        assert (refused.kind, refused.name, refused.held) == ("path", "src/a.py", "src/")
        assert (refused.session, refused.agent) == ("a", "agent-a")
        assert refused.left == about(DEATH)
        assert project.held("b") == []

    @pytest.mark.parametrize(("one", "other"), OVERLAPPING)
    def test_patterns_that_overlap_are_not_held_by_two(
        self, project: SharedProject, one: str, other: str
    ) -> None:
        """The second session is refused."""
        project.join("a", "b")
        project.acquired("a", one)

        assert expect(Held, project.acquire("b", other)).held == one

    @pytest.mark.parametrize(("one", "other"), APART)
    def test_patterns_that_do_not_overlap_are_held_side_by_side(
        self, project: SharedProject, one: str, other: str
    ) -> None:
        """No session is refused without need."""
        project.join("a", "b")
        project.acquired("a", one)

        project.acquired("b", other)

        assert project.held() == sorted([one, other])

    def test_all_that_is_wanted_is_granted_or_nothing(self, project: SharedProject) -> None:
        """If one resource is held, all are refused."""
        project.join("a", "b")
        project.acquired("a", "src/b.py")

        assert isinstance(project.acquire("b", "src/a.py", "src/b.py", "src/c.py"), Held)
        assert project.held("b") == []

    def test_kinds_do_not_stand_in_each_others_way(self, project: SharedProject) -> None:
        """A task, a track and a path may have the same name."""
        project.join("a", "b", "c")
        for session, kind in (("a", "task"), ("b", "track"), ("c", "path")):
            wanted = [Resource(kind, "x")]
            expect(Granted, project.of(session).leases.acquire(project.op(), session, wanted, 600))

        assert [one.session for one in project.here.leases.leases()] == ["a", "b", "c"]
        project.leave("b")
        assert [one.session for one in project.here.leases.leases()] == ["a", "c"]

    def test_what_a_session_holds_already_keeps_its_fence(self, project: SharedProject) -> None:
        """Acquiring it again counts as use; new resources get a new fence."""
        project.join("a")
        (first,) = project.acquired("a", "src/")

        again, new = project.acquired("a", "src/", "docs/")

        assert again == first
        assert new.fence > first.fence
        assert project.held("a") == ["docs/", "src/"]

    def test_a_resource_that_is_wanted_twice_is_granted_once(self, project: SharedProject) -> None:
        """Duplicates in one call do no harm."""
        project.join("a")

        assert len(project.acquired("a", "src/", "src/")) == 1

    def test_a_session_may_hold_patterns_that_overlap(self, project: SharedProject) -> None:
        """A session does not conflict with itself."""
        project.join("a", "b")
        wide, _ = project.acquired("a", "src/", "src/a.py")
        project.of("a").leases.release(project.op(), "a", [wide])

        assert isinstance(project.acquire("b", "src/a.py"), Held)
        project.acquired("b", "src/b.py")

    def test_every_grant_has_a_greater_fence_than_all_before(self, project: SharedProject) -> None:
        """This holds for all resources and sessions of the project, also after a release."""
        project.join("a", "b")
        project.add("t")
        fences: list[int] = []
        for _ in range(3):
            for session in ("a", "b"):
                held = project.acquired(session, "src/")
                fences.append(held[0].fence)
                project.of(session).leases.release(project.op(), session, held)
            task = project.claimed("a", "t")
            fences.append(task.fence)
            project.of("a").tasks.give_back(project.op(), "a", task)

        assert fences == sorted(set(fences))

    def test_a_lease_lives_as_long_as_was_asked_for_and_the_grace(self, project: SharedProject) -> None:
        """After that another session may acquire it."""
        project.join("a", "b")
        project.acquired("a", "src/", ttl=100.0)

        project.bench.advance(100.0 + GRACE - MARGIN)
        project.beat("b")
        assert expect(Held, project.acquire("b", "src/")).left == about(MARGIN)
        project.bench.advance(2 * MARGIN)
        project.acquired("b", "src/")

    def test_a_lease_that_nobody_took_is_its_sessions_again(self, project: SharedProject) -> None:
        """A heartbeat revives it under the same fence."""
        project.join("a")
        held = project.acquired("a", "src/")
        project.die("a")
        assert project.held() == []

        renewed = project.of("a").leases.renew(project.op(), "a", held)

        assert fenced(renewed) == held
        assert project.held("a") == ["src/"]

    def test_what_the_dead_held_is_listed_without_time_until_somebody_has_it(
        self, project: SharedProject
    ) -> None:
        """So it can be found and taken over."""
        project.join("a", "b")
        (held,) = project.acquired("a", "src/")
        project.acquired("b", "docs/")
        project.die("a")

        found = {one.session: one for one in project.here.leases.leases()}

        assert (found["a"].resource, found["a"].fence, found["a"].agent) == (*held, "agent-a")
        assert found["a"].left == about(-MARGIN)
        assert found["b"].left == about(DEATH)
        assert [one.resource.name for one in project.here.leases.leases("a")] == ["src/"]
        project.acquired("b", "src/a.py")
        assert project.here.leases.leases("a") == []

    def test_a_path_ends_two_hours_after_its_last_use_whatever_its_session_does(
        self, project: SharedProject
    ) -> None:
        """Heartbeats do not extend this limit."""
        project.join("a", "b")
        project.acquired("a", "src/")
        project.bench.advance(LIFETIMES.unused - MARGIN)
        project.beat("a", "b")
        assert expect(Held, project.acquire("b", "src/")).left == about(MARGIN)

        project.bench.advance(2 * MARGIN)

        assert project.held("a") == []
        project.acquired("b", "src/")

    @pytest.mark.parametrize("use", ["acquire", "renew", "check"])
    def test_use_keeps_a_path(self, project: SharedProject, use: str) -> None:
        """Each use gives it another two hours."""
        project.join("a", "b")
        held = project.acquired("a", "src/")
        project.bench.advance(LIFETIMES.unused - MARGIN)
        project.beat("a", "b")

        if use == "acquire":
            project.acquired("a", "src/")
        elif use == "renew":
            project.of("a").leases.renew(project.op(), "a", held)
        else:
            project.check("a", "src/a.py", seconds=1.0)
        project.bench.advance(LIFETIMES.unused - MARGIN)
        project.beat("a", "b")

        assert isinstance(project.acquire("b", "src/"), Held)

    def test_a_task_has_no_such_limit(self, project: SharedProject) -> None:
        """Work on a task may take a day."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        project.bench.advance(LIFETIMES.unused + MARGIN)
        project.beat("a")

        assert isinstance(project.claim("b", "t"), Held)

    def test_what_is_released_is_free_at_once(self, project: SharedProject) -> None:
        """Only the named resources are released."""
        project.join("a", "b")
        first, _ = project.acquired("a", "src/", "docs/")

        released = project.of("a").leases.release(project.op(), "a", [first])

        assert released == Released(resources=(Resource("path", "src/"),))
        project.acquired("b", "src/")
        assert isinstance(project.acquire("b", "docs/"), Held)

    def test_a_task_that_is_released_is_on_the_board_again(self, project: SharedProject) -> None:
        """However a session releases it, others can claim it."""
        project.join("a", "b")
        project.add("t")
        task = project.claimed("a", "t")

        project.of("a").leases.release(project.op(), "a", [task])

        assert project.next_task("b") == "t"

    @pytest.mark.parametrize("verb", ["renew", "release"])
    def test_an_old_fence_is_refused(self, project: SharedProject, verb: str) -> None:
        """The session lost the path and acquired it again, so its old fence no longer counts."""
        project.join("a", "b")
        (old,) = project.acquired("a", "src/")
        stolen = fenced(project.take("b", "src/", force=True))
        project.of("b").leases.release(project.op(), "b", stolen)
        (new,) = project.acquired("a", "src/")

        refused = project.use(verb, "a", [old])

        assert refused == Lost(kind="path", name="src/", fence=old.fence, now=new.fence)
        assert project.held("a") == ["src/"]

    @pytest.mark.parametrize("verb", ["renew", "release"])
    @pytest.mark.parametrize("wanted", ["src/", "src/a.py"])
    def test_the_fence_of_what_was_taken_is_refused(
        self, project: SharedProject, verb: str, wanted: str
    ) -> None:
        """All or none: the session keeps the rest, and the answer has the newer fence."""
        project.join("a", "b")
        other, taken = project.acquired("a", "docs/", "src/")
        (thief,) = fenced(project.take("b", wanted, force=True))

        refused = project.use(verb, "a", [other, taken])

        assert refused == Lost(kind="path", name="src/", fence=taken.fence, now=thief.fence)
        assert project.held("a") == ["docs/"]
        assert project.held("b") == [wanted]

    @pytest.mark.parametrize("verb", ["renew", "release"])
    def test_the_fence_of_another_session_is_worth_nothing(self, project: SharedProject, verb: str) -> None:
        """The fence is right, but it is not the caller's."""
        project.join("a", "b")
        held = project.acquired("a", "src/")

        assert isinstance(project.use(verb, "b", held), Lost)
        assert project.held("a") == ["src/"]

    def test_what_was_released_cannot_be_renewed(self, project: SharedProject) -> None:
        """Nobody holds it, so the newest fence is 0."""
        project.join("a")
        held = project.acquired("a", "src/")
        project.of("a").leases.release(project.op(), "a", held)

        refused = project.of("a").leases.renew(project.op(), "a", held)

        assert refused == Lost(kind="path", name="src/", fence=held[0].fence, now=0)

    def test_nothing_is_taken_over_from_the_living(self, project: SharedProject) -> None:
        """Taking over from a live session needs force."""
        project.join("a", "b")
        project.acquired("a", "src/")

        assert isinstance(project.take("b", "src/"), Held)
        assert project.held("a") == ["src/"]

    def test_force_takes_from_the_living(self, project: SharedProject) -> None:
        """The new lease has a new fence."""
        project.join("a", "b")
        (old,) = project.acquired("a", "src/")

        (new,) = fenced(project.take("b", "src/a.py", force=True))

        assert new.fence > old.fence
        assert (project.held("a"), project.held("b")) == ([], ["src/a.py"])

    def test_a_task_is_taken_over_from_the_dead_and_stays_held(self, project: SharedProject) -> None:
        """No other session gets it, and its old fence closes nothing."""
        project.join("a", "b", "c")
        project.add("t")
        old = project.claimed("a", "t")
        project.die("a")

        expect(Granted, project.take_task("b", "t"))

        assert project.find("t").holder == "b"
        assert project.next_task("c") == ""
        assert isinstance(project.close("a", old), Lost)

    def test_a_closed_task_is_not_taken_over(self, project: SharedProject) -> None:
        """There is nothing left to do."""
        project.join("a", "b")
        project.add("t")
        project.close("a", project.claimed("a", "t"))

        with pytest.raises(UsageError):
            project.take_task("b", "t", force=True)
        assert project.held() == []

    def test_a_task_that_is_held_without_the_board_is_not_given_away(self, project: SharedProject) -> None:
        """A task that was acquired counts as claimed: others get the next one."""
        project.join("a", "b")
        project.add("t", "u")
        wanted = [Resource("task", "t")]
        project.of("a").leases.acquire(project.op(), "a", wanted, LIFETIMES.silent)

        assert project.next_task("b") == "u"

    def test_a_pattern_that_is_none_is_refused(self, project: SharedProject) -> None:
        """Nothing else in the call is granted either."""
        project.join("a")

        for pattern in ("", "/etc", "../up", "a\\b", "src/[a"):
            with pytest.raises(UsageError):
                project.acquire("a", pattern)
            with pytest.raises(UsageError):
                project.acquire("a", "docs/", pattern)
        assert project.held() == []
