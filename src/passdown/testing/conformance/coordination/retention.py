"""What ended long ago is deleted, and nobody who comes back is granted anything for it (C78, C90, C92)."""

from collections.abc import Callable, Sequence
from typing import Final

import pytest

from passdown.core.coordination.leases import FREE, HELD, PATH, Lost, Released, Resource
from passdown.core.coordination.members import KEPT_ENDED, Inherited, Member
from passdown.core.coordination.messages import NewMessage
from passdown.core.coordination.offers import Accepted, OfferGone
from passdown.errors import UsageError
from passdown.testing.conformance.coordination.bench import (
    CoordinationCase,
    SharedProject,
    agent_of,
    expect,
    fenced,
)

_DAY: Final = 86_400.0
_SRC: Final = Resource(PATH, "src/")


class RetentionPromises(CoordinationCase):
    """The promises about sessions that ended, and offers that were settled."""

    def test_an_ended_session_is_kept_for_thirty_days(self, project: SharedProject) -> None:
        """29 days after its end it is known when it joins again, 31 days after it is a new one."""
        project.join("a", "b")
        project.leave("a")
        project.leave("b")
        project.bench.advance(29 * _DAY)
        project.join("other")
        assert not rejoin(project, "a")
        project.bench.advance(2 * _DAY)
        project.join("another")

        assert rejoin(project, "b")

    @pytest.mark.parametrize("settled", ["accepted", "declined", "withdrawn", "over"])
    def test_an_offer_is_kept_for_thirty_days_after_it_was_settled(
        self, project: SharedProject, settled: str
    ) -> None:
        """29 days later its state is known, 31 days later there is no such offer."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        offer = project.offer("a", "t", seconds=_DAY if settled == "over" else 90 * _DAY)
        settle(project, offer, settled)
        project.bench.advance(29 * _DAY)
        project.join("c")
        assert project.accept("c", offer) == OfferGone(offer=offer, state=settled)
        project.bench.advance(2 * _DAY)
        project.join("d")

        assert project.accept("d", offer) == OfferGone(offer=offer, state="")

    def test_an_open_offer_keeps_itself_its_giver_and_what_is_offered(self, project: SharedProject) -> None:
        """However long it is open, and although the giver ended long ago."""
        project.join("a")
        project.add("t")
        project.claimed("a", "t")
        offer = project.offer("a", "t", seconds=90 * _DAY)
        project.leave("a")
        project.bench.advance(2 * KEPT_ENDED + _DAY)
        project.join("b")

        (held,) = project.here.leases.leases()
        assert (held.session, held.agent) == ("a", agent_of("a"))
        assert [one.offer.agent for one in project.here.offers.offers()] == [agent_of("a")]
        assert not rejoin(project, "a")
        taken = expect(Accepted, project.accept("b", offer))
        assert [(one.name, one.fence > held.fence) for one in taken.grants] == [("t", True)]

    def test_unread_mail_keeps_its_addressee_and_its_sender(self, project: SharedProject) -> None:
        """It is delivered when the addressee comes back, with the agent that sent it."""
        project.join("a", "b")
        project.send("b", agent_of("a"), "wait for me", seconds=90 * _DAY)
        project.leave("a")
        project.leave("b")
        project.bench.advance(KEPT_ENDED + _DAY)
        project.join("c")

        assert not rejoin(project, "b")
        assert not rejoin(project, "a")
        (mail,) = project.of("a").messages.waiting("a")
        assert (mail.message.agent, mail.message.content) == (agent_of("b"), "wait for me")

    def test_mail_that_was_read_keeps_nobody(self, project: SharedProject) -> None:
        """The message itself still names the agent that sent it."""
        project.join("a", "b")
        project.send("b", agent_of("a"), seconds=90 * _DAY)
        project.read("a")
        project.leave("a")
        project.leave("b")
        project.bench.advance(KEPT_ENDED + _DAY)
        project.join("c")

        assert [rejoin(project, "a"), rejoin(project, "b")] == [True, True]

    def test_mail_of_a_deleted_session_names_its_agent(self, project: SharedProject) -> None:
        """The addressee is a name that no session had while the sender was known."""
        project.join("a")
        message = NewMessage("a", "name:Nora", "for you", seconds=90 * _DAY)
        project.of("a").messages.send(project.op(), message)
        project.leave("a")
        project.bench.advance(KEPT_ENDED + _DAY)
        project.join("late", name="Nora")

        assert [one.message.agent for one in project.of("late").messages.waiting("late")] == [agent_of("a")]

    def test_fences_go_on_after_their_sessions_were_deleted(self, project: SharedProject) -> None:
        """What is granted next has a greater fence than all before."""
        project.join("a")
        project.add("t")
        old = [*project.acquired("a", "src/"), project.claimed("a", "t")]
        project.leave("a")
        project.bench.advance(KEPT_ENDED + _DAY)
        project.join("b")

        new = [*project.acquired("b", "src/"), project.claimed("b", "t")]

        assert min(one.fence for one in new) > max(one.fence for one in old)
        assert project.here.history.position() == max(one.fence for one in new)

    def test_a_deleted_session_is_granted_nothing_before_it_joins(self, project: SharedProject) -> None:
        """Whatever it asks for is refused with the command to run; a heartbeat does not bring it back."""
        project.join("a")
        project.add("t")
        (path,) = project.acquired("a", "src/")
        task = project.claimed("a", "t")
        project.leave("a")
        project.bench.advance(KEPT_ENDED + _DAY)
        project.join("b")
        project.beat("a")
        before = project.here.history.position()

        acts: Sequence[Callable[[], object]] = (
            lambda: project.acquire("a", "docs/"),
            lambda: project.use("renew", "a", [path]),
            lambda: project.use("release", "a", [path]),
            lambda: project.take("a", "src/", force=True),
            lambda: project.claim("a", "t"),
            lambda: project.close("a", task),
            lambda: project.send("a", "all"),
        )
        for act in acts:
            with pytest.raises(UsageError, match="session a has not joined") as refused:
                act()
            assert "passdown start" in refused.value.hint
        assert project.held() == []
        assert project.live() == ["b"]
        assert project.here.history.position() == before

    def test_a_deleted_session_that_joins_again_holds_nothing_of_before(self, project: SharedProject) -> None:
        """Its old fences are worth nothing, and its commits are judged by who holds the files now."""
        project.join("a")
        project.add("t")
        (path,) = project.acquired("a", "src/")
        task = project.claimed("a", "t")
        project.leave("a")
        project.bench.advance(KEPT_ENDED + _DAY)
        project.join("b")
        (now,) = project.acquired("b", "src/")
        assert rejoin(project, "a")

        assert project.use("renew", "a", [path]) == Lost(
            kind="path", name="src/", fence=path.fence, now=now.fence
        )
        assert expect(Lost, project.use("release", "a", [path])).now == now.fence
        assert expect(Lost, project.close("a", task)).fence == task.fence
        assert project.verdicts("a", "src/a.py", "docs/b.md") == [HELD, FREE]
        assert project.held("a") == []
        assert isinstance(project.use("release", "b", [now]), Released)
        assert [one.fence > now.fence for one in project.acquired("a", "src/")] == [True]

    def test_nothing_is_inherited_from_a_deleted_session(self, project: SharedProject) -> None:
        """The outcome says so: no resources and no messages."""
        project.join("a")
        project.acquired("a", "src/")
        project.leave("a")
        project.bench.advance(KEPT_ENDED + _DAY)
        project.join("b")

        outcome = expect(Inherited, project.of("b").members.inherit(project.op(), "b", "a"))

        assert (outcome.resources, outcome.messages) == ((), 0)
        assert project.held() == []
        assert rejoin(project, "a")

    def test_an_operation_of_a_deleted_session_is_not_made_again(self, project: SharedProject) -> None:
        """Its id is older than the log, so it is refused, and what it was granted stays free."""
        project.join("a")
        project.acquired("a", "src/")
        project.leave("a")
        project.bench.advance(KEPT_ENDED + _DAY)
        project.join("b")
        assert rejoin(project, "a")
        op = project.op(KEPT_ENDED + _DAY)

        with pytest.raises(UsageError, match="too old to be repeated"):
            project.of("a").leases.acquire(op, "a", [_SRC], 600.0)

        assert project.held() == []

    def test_an_operation_that_deleted_is_repeated_without_effect(self, project: SharedProject) -> None:
        """The join that deletes has one outcome, and what was deleted may have come back since."""
        project.join("a")
        project.leave("a")
        project.bench.advance(KEPT_ENDED + _DAY)
        op = project.op()
        member = Member(session="b", agent=agent_of("b"))
        first = project.of("b").members.join(op, member)
        assert rejoin(project, "a")
        project.leave("a")

        assert project.of("c").members.join(op, member) == first
        assert not rejoin(project, "a")

    def test_a_session_that_died_counts_as_ended_after_thirty_days(self, project: SharedProject) -> None:
        """Its reserved files are free then, and 30 days later it is deleted."""
        project.join("dead", "late")
        (old,) = project.acquired("dead", "src/")
        live_on(project, 29)
        assert members(project) == ["dead", "late"]
        live_on(project, 2)
        assert members(project) == []
        assert project.here.leases.leases("dead") == []
        assert not rejoin(project, "late")
        live_on(project, 31)

        assert rejoin(project, "dead")
        assert not rejoin(project, "late")
        assert expect(Lost, project.use("renew", "dead", [old])).fence == old.fence

    def test_work_of_a_session_that_died_waits_for_somebody_however_long(
        self, project: SharedProject
    ) -> None:
        """The session that takes it over is told whose it was."""
        project.join("dead")
        project.add("t")
        old = project.claimed("dead", "t")
        live_on(project, 31)
        live_on(project, 31)

        (held,) = project.here.leases.leases()
        assert (held.session, held.agent, held.fence) == ("dead", agent_of("dead"), old.fence)
        project.join("b")
        assert fenced(project.take_task("b", "t"))[0].fence > old.fence

    def test_nobody_ends_because_nobody_could_be_heard_for_long(self, project: SharedProject) -> None:
        """As when a machine was off: all are alive when the first one is heard again."""
        project.join("a")
        project.acquired("a", "src/")
        project.bench.advance(KEPT_ENDED + _DAY, quiet=True)
        project.join("b")

        assert project.live() == ["a", "b"]
        assert project.held("a") == ["src/"]

    def test_a_session_whose_process_runs_does_not_end(self, project: SharedProject) -> None:
        """However long it is silent."""
        if not project.bench.run("p-1"):
            return
        project.join("a", process="p-1")
        live_on(project, 31)

        assert "a" in project.live()


def rejoin(project: SharedProject, session: str) -> bool:
    """Make a session join; return whether it is new to the project."""
    member = Member(session=session, agent=agent_of(session))
    return project.of(session).members.join(project.op(), member).is_new


def settle(project: SharedProject, offer: str, how: str) -> None:
    """Bring an offer of `a` into a state in which it is no longer open."""
    if how == "accepted":
        project.accept("b", offer)
    elif how == "declined":
        project.decline("b", offer)
    elif how == "withdrawn":
        project.withdraw("a", offer)
    else:
        project.bench.advance(_DAY)


def members(project: SharedProject) -> list[str]:
    """Return the sessions that have not ended."""
    return [one.session for one in project.here.members.members()]


def live_on(project: SharedProject, days: int) -> None:
    """Let days pass, on each of which another session joins and ends."""
    for _ in range(days):
        project.bench.advance(_DAY)
        project.join("daily")
        project.leave("daily")
