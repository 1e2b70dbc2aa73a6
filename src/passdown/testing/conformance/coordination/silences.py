"""Time in which no session could be heard, as when the engine was away, expires nothing (C143)."""

from passdown.core.coordination.leases import Granted, Held
from passdown.core.coordination.members import Inherited, StillAlive
from passdown.testing.conformance.coordination.bench import (
    DEATH,
    MARGIN,
    CoordinationCase,
    SharedProject,
    about,
    expect,
)

_OUTAGE = 1_800.0
_SHORT = 100.0
"""A time without heartbeats that is too short to matter."""


class SilencePromises(CoordinationCase):
    """The promises after the engine was away and is back."""

    def test_nothing_is_taken_from_anybody_after_a_time_in_which_nobody_was_heard(
        self, project: SharedProject
    ) -> None:
        """The first session that is heard finds all others alive; the answer says when they expire."""
        project.join("a", "b")
        project.add("t-1")
        project.claimed("a", "t-1")
        project.acquired("a", "src/**")
        project.bench.advance(_OUTAGE, quiet=True)
        project.beat("b")

        assert expect(Held, project.take("b", "src/**")).left == about(DEATH)
        assert expect(Held, project.take_task("b", "t-1")).left == about(DEATH)
        assert expect(Held, project.acquire("b", "src/a.py")).left == about(DEATH)
        assert project.next_task("b") == ""
        assert project.live() == ["a", "b"]
        assert expect(StillAlive, project.of("b").members.inherit(project.op(), "b", "a")).left == about(
            DEATH
        )

    def test_who_is_heard_again_in_time_keeps_what_it_holds(self, project: SharedProject) -> None:
        """From then on its heartbeats count as before."""
        project.join("a", "b")
        project.acquired("a", "src/**")
        project.bench.advance(_OUTAGE, quiet=True)
        project.beat("b")
        project.bench.advance(DEATH - MARGIN)
        project.beat("a")
        project.bench.advance(DEATH - MARGIN)

        expect(Held, project.take("b", "src/**"))
        project.bench.advance(2 * MARGIN)
        expect(Granted, project.take("b", "src/**"))

    def test_what_is_really_dead_can_be_taken_afterwards(self, project: SharedProject) -> None:
        """The time starts again when the first session is heard."""
        project.join("a", "b")
        project.acquired("a", "src/**")
        project.bench.advance(_OUTAGE, quiet=True)
        project.beat("b")
        project.bench.advance(DEATH - MARGIN)
        expect(Held, project.take("b", "src/**"))
        project.bench.advance(2 * MARGIN)

        expect(Granted, project.take("b", "src/**"))

    def test_who_looks_before_anybody_is_heard_finds_all_alive(self, project: SharedProject) -> None:
        """Reading is no heartbeat and ends no silence."""
        project.join("a")
        project.acquired("a", "src/**")
        project.bench.advance(_OUTAGE, quiet=True)

        assert project.live() == ["a"]
        assert project.held("a") == ["src/**"]

    def test_only_the_longest_silence_is_spared(self, project: SharedProject) -> None:
        """Otherwise a session that rarely asks would never get what a dead one holds."""
        project.join("a", "b")
        project.acquired("a", "src/**")
        for outcome in (Held, Granted):
            project.bench.advance(900.0, quiet=True)
            project.beat("b")
            expect(outcome, project.take("b", "src/**"))

    def test_a_short_silence_is_none(self, project: SharedProject) -> None:
        """Sessions are not heard at every moment."""
        project.join("a", "b")
        project.acquired("a", "src/**")
        while project.held("a"):
            expect(Held, project.take("b", "src/**"))
            project.bench.advance(_SHORT, quiet=True)
            project.beat("b")
            assert project.here.members.members()[0].silent < DEATH + _SHORT + MARGIN

        expect(Granted, project.take("b", "src/**"))

    def test_one_who_could_not_be_heard_while_others_were_is_dead(self, project: SharedProject) -> None:
        """A machine that was cut off looks the same as one that was switched off."""
        project.join("a", "b")
        project.acquired("a", "src/**")
        project.bench.advance(DEATH + MARGIN)
        project.beat("b")

        expect(Inherited, project.of("b").members.inherit(project.op(), "b", "a"))

    def test_force_needs_no_silence(self, project: SharedProject) -> None:
        """A person decides to use force."""
        project.join("a", "b")
        project.acquired("a", "src/**")
        project.bench.advance(_OUTAGE, quiet=True)

        expect(Granted, project.take("b", "src/**", force=True))
