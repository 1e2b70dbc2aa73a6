"""Sessions: they join, give heartbeats, leave, die, and inherit from dead sessions."""

from collections.abc import Callable

import pytest

from passdown.core.coordination.leases import GRACE, LOST, PATH, Fenced, Held, Lost, Resource
from passdown.core.coordination.members import Inherited, Joined, Left, Member, StillAlive
from passdown.errors import UsageError
from passdown.testing.conformance.coordination.bench import (
    DEATH,
    LIFETIMES,
    MARGIN,
    CoordinationCase,
    SharedProject,
    about,
    agent_of,
    expect,
)


class MemberPromises(CoordinationCase):
    """The promises of `Members`."""

    def test_nobody_takes_part_in_a_new_project(self, project: SharedProject) -> None:
        """No setup is needed."""
        assert project.here.members.members() == []
        assert project.here.history.position() == 0

    def test_a_session_that_joined_is_seen_by_all(self, project: SharedProject) -> None:
        """Every handle returns the same sessions."""
        project.join("a", name="amber", team="red", role="be")

        for handle in (project.of("a"), project.of("b")):
            (found,) = handle.members.members()
            assert (found.session, found.agent, found.name) == ("a", "agent-a", "amber")
            assert (found.team, found.role, found.is_live) == ("red", "be", True)
            assert found.silent == about(0)

    def test_joining_twice_is_joining_once(self, project: SharedProject) -> None:
        """The second call is only a heartbeat."""
        member = Member(session="a", agent="agent-a")
        first = project.of("a").members.join(project.op(), member)
        project.bench.advance(DEATH - MARGIN)
        position = project.here.history.position()

        second = project.of("a").members.join(project.op(), member)

        assert (first, second) == (Joined(session="a", is_new=True), Joined(session="a", is_new=False))
        assert project.here.history.position() == position
        assert [one.silent for one in project.here.members.members()] == [about(0)]

    def test_joining_again_changes_name_team_and_role(self, project: SharedProject) -> None:
        """The session keeps what it holds."""
        project.join("a", name="amber")
        project.acquired("a", "src/")

        project.join("a", name="basil", team="red", role="be")

        (found,) = project.here.members.members()
        assert (found.name, found.team, found.role) == ("basil", "red", "be")
        assert project.held("a") == ["src/"]

    def test_who_names_no_role_keeps_the_one_it_had(self, project: SharedProject) -> None:
        """Most commands do not name a role."""
        project.join("a", role="be")

        project.join("a")
        project.join("a", name="basil")

        assert [(one.name, one.role) for one in project.here.members.members()] == [("basil", "be")]

    def test_a_session_counts_as_live_for_its_lifetime_and_the_grace(self, project: SharedProject) -> None:
        """After that it is still listed, but not as live."""
        project.join("a")

        project.bench.advance(DEATH - MARGIN)
        assert project.live() == ["a"]
        project.bench.advance(2 * MARGIN)
        assert project.live() == []
        assert [one.silent for one in project.here.members.members()] == [about(DEATH + MARGIN)]

    def test_a_beat_is_a_sign_of_life_of_each_session_named(self, project: SharedProject) -> None:
        """Other sessions stay silent, and nothing is logged."""
        project.join("a", "b", "c")
        project.bench.advance(DEATH - MARGIN)
        position = project.here.history.position()

        project.here.members.beat(["a", "b", "nobody"])
        project.bench.advance(2 * MARGIN)

        assert project.live() == ["a", "b"]
        assert project.here.history.position() == position

    def test_a_beat_keeps_leases_without_touching_them(self, project: SharedProject) -> None:
        """A lease depends on the heartbeats of its session."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")

        for _ in range(3):
            project.bench.advance(DEATH - MARGIN)
            project.beat("a", "b")

        assert isinstance(project.claim("b", "t"), Held)

    def test_a_beat_does_not_bring_an_ended_session_back(self, project: SharedProject) -> None:
        """The session has ended for good."""
        project.join("a")
        project.leave("a")

        project.beat("a")

        assert project.here.members.members() == []

    def test_a_changing_call_is_a_sign_of_life(self, project: SharedProject) -> None:
        """The session need not beat."""
        project.join("a")
        project.bench.advance(DEATH - MARGIN)

        project.acquired("a", "src/")
        project.bench.advance(2 * MARGIN)

        assert project.live() == ["a"]

    def test_who_leaves_releases_all_it_holds(self, project: SharedProject) -> None:
        """Its paths, tasks and tracks are free at once."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        project.acquired("a", "src/", "docs/")
        track = Resource("track", "t")
        project.of("a").leases.acquire(project.op(), "a", [track], LIFETIMES.silent)

        left = project.of("a").members.leave(project.op(), "a")

        assert left.session == "a"
        wanted = [("path", "docs/"), ("path", "src/"), ("task", "t"), ("track", "t")]
        assert sorted(left.released) == wanted
        assert project.held() == []
        assert project.next_task("b") == "t"
        project.acquired("b", "src/a.py")
        project.of("b").leases.acquire(project.op(), "b", [track], LIFETIMES.silent)

    def test_who_left_takes_part_no_more(self, project: SharedProject) -> None:
        """A call in its name is a usage error; leaving again changes nothing."""
        project.join("a")
        project.leave("a")
        position = project.here.history.position()

        with pytest.raises(UsageError):
            project.acquire("a", "src/")
        assert project.of("a").members.leave(project.op(), "a") == Left(session="a")
        assert project.here.history.position() == position

    def test_a_session_that_never_joined_can_hold_nothing(self, project: SharedProject) -> None:
        """Every call that grants something requires a session that has joined."""
        project.add("t")
        held = Fenced(Resource("task", "t"), 1)

        acts: tuple[Callable[[], object], ...] = (
            lambda: project.acquire("ghost", "src/"),
            lambda: project.take("ghost", "src/", force=True),
            lambda: project.claim("ghost", "t"),
            lambda: project.close("ghost", held),
            lambda: project.use("renew", "ghost", [held]),
            lambda: project.use("release", "ghost", [held]),
            lambda: project.of("ghost").tasks.give_back(project.op(), "ghost", held),
            lambda: project.offer("ghost", "t"),
            lambda: project.send("ghost", "all"),
            lambda: project.accept("ghost", "none"),
        )
        for act in acts:
            with pytest.raises(UsageError):
                act()
        assert project.held() == []

    def test_another_boot_means_dead(self, project: SharedProject) -> None:
        """What a session of an earlier boot held can be taken at once; a heartbeat revives it."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        project.acquired("a", "src/")
        project.acquired("b", "docs/")
        if not project.bench.reboot():
            return

        assert project.live() == []
        assert project.held() == []
        project.join("c")
        project.acquired("c", "src/a.py")
        project.beat("b")
        assert project.live() == ["b", "c"]
        assert isinstance(project.acquire("c", "docs/"), Held)
        assert project.verdicts("a", "src/a.py") == ["held"]
        project.acquired("a", "a.md")
        assert project.live() == ["a", "b", "c"]

    def test_a_task_of_another_boot_is_kept_for_its_session_for_a_while(self, project: SharedProject) -> None:
        """An unnamed claim gets it only once it was orphaned for long enough."""
        project.join("a")
        project.add("t")
        project.claimed("a", "t")
        if not project.bench.reboot():
            return
        project.join("b")

        assert project.find("t").is_orphaned
        assert project.next_task("b") == ""
        project.bench.advance(DEATH + LIFETIMES.orphaned + MARGIN)
        assert project.next_task("b") == "t"

    def test_a_process_that_runs_is_a_sign_of_life_when_the_time_is_over(
        self, project: SharedProject
    ) -> None:
        """It keeps the session and its tasks alive until it ends."""
        is_known = project.bench.run("1:1")
        project.join("a", process="1:1")
        project.join("b")
        project.add("t")
        project.claimed("a", "t")
        project.die("a")

        assert ("a" in project.live()) is is_known
        assert isinstance(project.take_task("b", "t"), Held) is is_known
        project.bench.kill("1:1")
        assert project.live() == ["b"]
        assert not isinstance(project.take_task("b", "t"), Held)

    def test_a_process_that_runs_does_not_keep_an_unused_path_for_ever(self, project: SharedProject) -> None:
        """Two hours after its last use it is free."""
        project.bench.run("1:1")
        project.join("a", process="1:1")
        project.join("b")
        project.acquired("a", "src/")
        project.bench.advance(LIFETIMES.unused + MARGIN)

        project.acquired("b", "src/")

    def test_a_process_of_an_ended_session_is_no_sign_of_life(self, project: SharedProject) -> None:
        """The session has ended."""
        project.bench.run("1:1")
        project.join("a", process="1:1")
        project.join("b")
        project.leave("a")

        assert project.live() == ["b"]
        assert isinstance(project.of("b").members.inherit(project.op(), "b", "a"), Inherited)

    def test_a_process_of_another_boot_is_no_sign_of_life(self, project: SharedProject) -> None:
        """Another process has its number now."""
        project.bench.run("1:1")
        project.join("a", process="1:1")
        if not project.bench.reboot():
            return

        assert project.live() == []

    def test_a_session_without_a_process_is_not_asked_for_one(self, project: SharedProject) -> None:
        """Its process is unknown."""
        project.bench.run("")
        project.join("a")
        project.die("a")

        assert project.live() == []


class InheritancePromises(CoordinationCase):
    """The promises of `Members.inherit`."""

    def test_an_heir_goes_on_with_all_of_the_dead_under_new_fences(self, project: SharedProject) -> None:
        """Claims, reservations and unread mail move in one change."""
        project.join("a", "b")
        project.add("t")
        task = project.claimed("a", "t")
        (path,) = project.acquired("a", "src/")
        project.send("b", "agent-a", "read")
        project.read("a")
        project.send("b", "agent-a", "unread")
        project.die("a")
        position = project.here.history.position()

        inherited = expect(Inherited, project.of("b").members.inherit(project.op(), "b", "a"))

        assert sorted(inherited.resources) == [("path", "src/"), ("task", "t")]
        assert inherited.messages == 1
        assert inherited.fence == project.here.history.position() == position + 1
        assert project.mail("b") == ["unread"]
        assert project.mail("a") == []
        held = {one.resource.name: (one.session, one.fence) for one in project.here.leases.leases()}
        assert held == {"src/": ("b", inherited.fence), "t": ("b", inherited.fence)}
        assert inherited.fence > max(task.fence, path.fence)
        assert [one.session for one in project.here.members.members()] == ["b"]

    def test_nobody_inherits_from_the_living(self, project: SharedProject) -> None:
        """The refusal says for how long; a session cannot inherit from itself either."""
        project.join("a", "b")
        project.acquired("a", "src/")
        project.bench.advance(DEATH - MARGIN)

        refused = project.of("b").members.inherit(project.op(), "b", "a")

        assert expect(StillAlive, refused).agent == agent_of("a")
        assert expect(StillAlive, refused).left == about(MARGIN)
        assert isinstance(project.of("a").members.inherit(project.op(), "a", "a"), StillAlive)
        assert project.held("a") == ["src/"]

    def test_nobody_inherits_while_the_process_runs(self, project: SharedProject) -> None:
        """The session is alive, however silent it is."""
        is_known = project.bench.run("1:1")
        project.join("a", process="1:1")
        project.join("b")
        project.die("a")

        outcome = project.of("b").members.inherit(project.op(), "b", "a")

        assert isinstance(outcome, StillAlive) is is_known

    def test_a_process_that_is_gone_is_inherited_from_however_short_the_silence(
        self, project: SharedProject
    ) -> None:
        """Its host restarts at once and continues; other sessions wait until it expires."""
        is_known = project.bench.run("1:1")
        project.join("a", process="1:1")
        project.join("b")
        project.acquired("a", "src/")
        project.bench.kill("1:1")

        taken = project.of("b").leases.take_over(project.op(), "b", [Resource(PATH, "src/")], force=False)
        outcome = project.of("b").members.inherit(project.op(), "b", "a")

        assert isinstance(taken, Held)
        assert isinstance(outcome, Inherited) is is_known
        assert (project.held("b") == ["src/"]) is is_known

    def test_the_fences_of_the_dead_are_lost(self, project: SharedProject) -> None:
        """If the dead session comes back, it can neither close nor renew nor commit."""
        project.join("a", "b")
        project.add("t")
        task = project.claimed("a", "t")
        (path,) = project.acquired("a", "src/")
        project.die("a")
        project.of("b").members.inherit(project.op(), "b", "a")

        project.join("a")

        assert isinstance(project.close("a", task), Lost)
        assert isinstance(project.of("a").leases.renew(project.op(), "a", [path]), Lost)
        assert project.verdicts("a", "src/a.py") == ["held"]
        assert project.verdicts("b", "src/a.py") == ["mine"]
        project.leave("b")
        assert project.verdicts("a", "src/a.py") == ["lost"]

    def test_what_was_taken_from_the_dead_stays_known_as_taken(self, project: SharedProject) -> None:
        """The heir has the files as the dead session edited them before they were taken."""
        project.join("a", "b", "thief")
        project.acquired("a", "src/a.py", "src/b.py")
        project.die("a")
        stolen = project.acquired("thief", "src/a.py")
        project.of("thief").leases.release(project.op(), "thief", stolen)

        project.of("b").members.inherit(project.op(), "b", "a")

        assert project.verdicts("b", "src/a.py", "src/b.py") == [LOST, "mine"]

    def test_what_the_heir_had_after_it_was_taken_from_the_dead_is_not_lost(
        self, project: SharedProject
    ) -> None:
        """The heir knows the newest state of the file."""
        project.join("a", "b", "thief")
        project.acquired("a", "src/a.py")
        project.take("thief", "src/a.py", force=True)
        project.leave("thief")
        held = project.acquired("b", "src/a.py")
        project.use("release", "b", held)
        project.die("a")

        project.of("b").members.inherit(project.op(), "b", "a")

        assert project.verdicts("b", "src/a.py") == ["free"]

    def test_nothing_is_inherited_from_a_session_that_nobody_knows(self, project: SharedProject) -> None:
        """That session has never joined."""
        project.join("a")

        inherited = expect(Inherited, project.of("a").members.inherit(project.op(), "a", "never"))

        assert (inherited.resources, inherited.messages) == ((), 0)
        assert project.live() == ["a"]

    def test_an_offer_moves_to_the_heir_of_its_giver(self, project: SharedProject) -> None:
        """The offer stays open; the heir can withdraw it, and others can accept it."""
        project.join("a", "b", "c")
        project.add("t")
        project.claimed("a", "t")
        offer = project.offer("a", "t", taker="agent-c")
        project.die("a")

        project.of("b").members.inherit(project.op(), "b", "a")

        (stands,) = project.here.offers.offers()
        assert (stands.offer.offer, stands.offer.giver) == (offer, "b")
        assert project.find("t").holder == "b"
        project.die("b")
        assert isinstance(project.take_task("c", "t"), Held)
        project.accept("c", offer)
        assert project.find("t").holder == "c"

    def test_mail_of_an_ended_session_goes_to_the_one_that_continues_it(self, project: SharedProject) -> None:
        """No mail is lost when a session ends."""
        project.join("a", "b")
        project.send("b", "agent-a", "unread")
        project.leave("a")
        project.join("c")

        inherited = expect(Inherited, project.of("c").members.inherit(project.op(), "c", "a"))

        assert (inherited.resources, inherited.messages) == ((), 1)
        assert project.mail("c") == ["unread"]

    def test_a_session_of_an_earlier_boot_can_be_inherited_from_at_once(self, project: SharedProject) -> None:
        """After a reboot nobody has to wait ten minutes."""
        project.join("a")
        project.add("t")
        project.claimed("a", "t")
        if not project.bench.reboot():
            return
        project.join("b")

        assert isinstance(project.of("b").members.inherit(project.op(), "b", "a"), Inherited)
        assert project.find("t").holder == "b"

    def test_a_path_that_was_inherited_counts_as_used(self, project: SharedProject) -> None:
        """The heir has two hours, as the dead session had."""
        project.join("a", "b", "c")
        project.acquired("a", "src/")
        project.bench.advance(LIFETIMES.unused - MARGIN)
        project.beat("b", "c")
        project.of("b").members.inherit(project.op(), "b", "a")
        project.bench.advance(LIFETIMES.unused - GRACE)
        project.beat("b", "c")

        assert isinstance(project.acquire("c", "src/"), Held)
