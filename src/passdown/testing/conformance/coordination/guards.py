"""The guard: what a session may do with paths, and how long an allowed commit holds them."""

from passdown.core.coordination.leases import FREE, HELD, LOST, MINE, Held
from passdown.testing.conformance.coordination.bench import (
    DEATH,
    MARGIN,
    CoordinationCase,
    SharedProject,
    about,
    expect,
    fenced,
)


class GuardPromises(CoordinationCase):
    """The promises of `Leases.check`."""

    def test_a_path_is_mine_free_or_held(self, project: SharedProject) -> None:
        """The verdicts are in the order of the paths, and name the holders."""
        project.join("a", "b")
        project.acquired("a", "src/")
        project.acquired("b", "docs/")

        checked = project.check("a", "docs/x.md", "README", "src/deep/a.py")

        held, free, mine = checked.verdicts
        assert (held.verdict, held.path, held.session) == (HELD, "docs/x.md", "b")
        assert (held.agent, held.held, held.left) == ("agent-b", "docs/", about(DEATH))
        assert (free.verdict, free.path, free.session) == (FREE, "README", "")
        assert (mine.verdict, mine.path, mine.held) == (MINE, "src/deep/a.py", "src/")
        assert not checked.is_passed

    def test_judging_says_what_a_check_says_and_changes_nothing(self, project: SharedProject) -> None:
        """An edit is judged by the same rules as its commit, but judging extends no lease."""
        project.join("a", "b")
        project.acquired("a", "src/")
        project.acquired("b", "docs/")
        paths = ("docs/x.md", "README", "src/deep/a.py")
        position = project.here.history.position()

        judged = project.here.leases.judge("a", paths)

        assert [one.verdict for one in judged] == project.verdicts("a", *paths) == [HELD, FREE, MINE]
        assert (judged[0].session, judged[0].held, judged[0].left) == ("b", "docs/", about(DEATH))
        assert project.here.history.position() == position

    def test_nobody_in_particular_owns_nothing(self, project: SharedProject) -> None:
        """A person without a session sees what is held."""
        project.join("a")
        project.acquired("a", "src/")

        assert project.verdicts("", "src/a.py", "README") == [HELD, FREE]

    def test_what_is_over_is_free_for_others_and_mine_for_me(self, project: SharedProject) -> None:
        """The lease has expired, but nobody has taken it."""
        project.join("a", "b")
        project.acquired("a", "src/")
        project.die("a")

        assert project.verdicts("b", "src/a.py") == [FREE]
        assert project.verdicts("a", "src/a.py") == [MINE]

    def test_a_pass_holds_what_is_mine_for_a_while_even_when_its_time_was_over(
        self, project: SharedProject
    ) -> None:
        """Nobody can take the path of a commit that was allowed."""
        project.join("a", "b")
        project.acquired("a", "src/")
        project.die("a")

        assert project.check("a", "src/a.py", seconds=300.0).is_passed

        assert expect(Held, project.acquire("b", "src/a.py")).left == about(300.0)
        project.bench.advance(300.0 - MARGIN)
        assert isinstance(project.take("b", "src/a.py"), Held)
        assert isinstance(project.take("b", "src/a.py", force=True), Held)
        project.bench.advance(2 * MARGIN)
        project.acquired("b", "src/a.py")

    def test_a_pass_holds_nothing_else(self, project: SharedProject) -> None:
        """It extends neither the session's other leases nor those of a dead session."""
        project.join("a", "b", "c")
        project.acquired("a", "src/", "docs/")
        project.die("a")
        project.check("b", "docs/a.md", seconds=300.0)
        project.check("a", "src/a.py", seconds=300.0)

        project.acquired("c", "docs/")
        assert isinstance(project.acquire("c", "src/"), Held)

    def test_a_pass_does_not_shorten_what_another_pass_promised(self, project: SharedProject) -> None:
        """The longer promise counts."""
        project.join("a", "b")
        project.acquired("a", "src/")
        project.die("a")
        project.check("a", "src/a.py", seconds=300.0)
        project.check("a", "src/b.py", seconds=1.0)
        project.bench.advance(200.0)

        assert isinstance(project.acquire("b", "src/a.py"), Held)

    def test_a_check_that_does_not_pass_changes_nothing(self, project: SharedProject) -> None:
        """It renews nothing, promises nothing and takes no position."""
        project.join("a", "b")
        project.acquired("a", "src/")
        project.acquired("b", "docs/")
        project.die("a")
        position = project.here.history.position()

        assert not project.check("a", "src/a.py", "docs/a.md", seconds=300.0).is_passed

        assert project.here.history.position() == position
        project.acquired("b", "src/a.py")

    def test_a_pass_is_logged_with_what_it_is_about(self, project: SharedProject) -> None:
        """So a late commit can be found in the log."""
        project.join("a")
        position = project.here.history.position()

        project.of("a").leases.check(project.op(), "a", ["README"], 60.0, "commit 4f2")

        (entry,) = project.here.history.since(position, 10)
        assert (entry.session, entry.verb, entry.subject) == ("a", "check", "commit 4f2")

    def test_an_edit_from_before_a_theft_is_lost(self, project: SharedProject) -> None:
        """This holds even if the thief has released the path; a path the thief never held is not lost."""
        project.join("a", "b")
        project.acquired("a", "src/")
        stolen = fenced(project.take("b", "src/a.py", force=True))
        assert project.verdicts("a", "src/a.py", "src/b.py") == [HELD, FREE]

        project.of("b").leases.release(project.op(), "b", stolen)

        (lost, free) = project.check("a", "src/a.py", "src/b.py").verdicts
        assert (lost.verdict, lost.session, lost.agent) == (LOST, "b", "agent-b")
        assert free.verdict == FREE
        judged = project.here.leases.judge("a", ["src/a.py", "src/b.py"])
        assert [one.verdict for one in judged] == [LOST, FREE]
        project.leave("b")
        (lost,) = project.check("a", "src/a.py").verdicts
        assert (lost.verdict, lost.session, lost.agent) == (LOST, "b", "agent-b")

    def test_an_edit_is_lost_when_the_lease_was_over_and_another_session_had_the_path(
        self, project: SharedProject
    ) -> None:
        """Another session reserved, committed and ended: the first session must not overwrite that."""
        project.join("a", "b")
        project.acquired("a", "src/")
        project.die("a")
        project.acquired("b", "src/a.py")
        project.leave("b")

        assert project.verdicts("a", "src/a.py") == [LOST]

    def test_what_was_lost_can_be_reserved_anew(self, project: SharedProject) -> None:
        """The path is the session's again; after a release it is free under any pattern."""
        project.join("a", "b")
        project.acquired("a", "src/a.py")
        project.take("b", "src/a.py", force=True)
        project.leave("b")
        assert project.verdicts("a", "src/a.py") == [LOST]

        held = project.acquired("a", "src/")

        assert project.verdicts("a", "src/a.py") == [MINE]
        project.of("a").leases.release(project.op(), "a", held)
        assert project.verdicts("a", "src/a.py") == [FREE]

    def test_what_was_released_and_held_by_another_since_is_not_lost(self, project: SharedProject) -> None:
        """A session that releases a path gives up nothing."""
        project.join("a", "b")
        held = project.acquired("a", "src/a.py")
        project.of("a").leases.release(project.op(), "a", held)
        project.acquired("b", "src/a.py")
        project.leave("b")

        assert project.verdicts("a", "src/a.py") == [FREE]

    def test_a_lost_path_is_forgotten_after_a_day(self, project: SharedProject) -> None:
        """Ended leases are kept for 24 hours and removed when a session joins."""
        project.join("a", "b")
        project.acquired("a", "src/a.py")
        project.take("b", "src/a.py", force=True)
        project.leave("b")
        project.bench.advance(86_400.0 - MARGIN)
        project.join("c")
        assert project.verdicts("a", "src/a.py") == [LOST]

        project.bench.advance(2 * MARGIN)
        project.join("d")

        assert project.verdicts("a", "src/a.py") == [FREE]
