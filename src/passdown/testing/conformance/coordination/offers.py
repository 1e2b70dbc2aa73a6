"""Offers: the giver owns them until another session accepts; there is always exactly one owner."""

import pytest

from passdown.core.coordination.leases import Held, Lost
from passdown.core.coordination.offers import Accepted, NewOffer, Offered, OfferEnded, OfferGone
from passdown.core.coordination.tasks import TaskClosed
from passdown.testing.conformance.coordination.bench import (
    DEATH,
    LIFETIMES,
    MARGIN,
    CoordinationCase,
    SharedProject,
    about,
    expect,
)

_DAY = 86_400.0
_ANSWERS = ("decline", "withdraw", "over")


def _end_offer(project: SharedProject, offer: str, answer: str) -> None:
    """End an offer of `a` to `b` without accepting it."""
    if answer == "decline":
        assert expect(OfferEnded, project.decline("b", offer)).offer.state == "declined"
    elif answer == "withdraw":
        assert expect(OfferEnded, project.withdraw("a", offer)).offer.state == "withdrawn"
    else:
        project.bench.advance(_DAY + MARGIN)
        project.beat(*(one.session for one in project.here.members.members()))


class OfferPromises(CoordinationCase):
    """The promises of `Offers`."""

    def test_an_offer_stands_for_everybody_to_see(self, project: SharedProject) -> None:
        """It is listed with its facts and the time left."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        op = project.op()

        offered = project.of("a").offers.offer(op, NewOffer("a", "agent-b", "t", '{"commit":"4f2"}'))

        (found,) = project.of("b").offers.offers()
        assert found.offer == expect(Offered, offered).offer
        offer = found.offer
        assert (offer.offer, offer.giver, offer.agent, offer.taker) == (op, "a", "agent-a", "agent-b")
        assert (offer.task, offer.facts, offer.state) == ("t", '{"commit":"4f2"}', "offered")
        assert found.left == about(_DAY)

    def test_only_the_holder_of_a_task_can_offer_it(self, project: SharedProject) -> None:
        """The refusal has the fence under which the task is held."""
        project.join("a", "b")
        project.add("t", "u", "own")
        held = project.claimed("b", "t")
        project.claimed("a", "own")
        project.acquired("a", "t")

        def offer(task: str) -> object:
            return project.of("a").offers.offer(project.op(), NewOffer("a", "", task))

        assert offer("t") == Lost(kind="task", name="t", fence=0, now=held.fence)
        assert offer("u") == Lost(kind="task", name="u", fence=0, now=0)
        assert project.here.offers.offers() == []

    def test_the_giver_owns_until_somebody_accepts(self, project: SharedProject) -> None:
        """The giver may go on working: renew, pass the guard, close."""
        project.join("a", "b")
        project.add("t")
        task = project.claimed("a", "t")
        path = project.acquired("a", "src/")
        project.offer("a", "t")

        assert project.find("t").holder == "a"
        assert not isinstance(project.use("renew", "a", path), Lost)
        assert project.verdicts("a", "src/a.py") == ["mine"]
        assert expect(TaskClosed, project.close("a", task)).released == ("src/",)
        assert project.here.offers.offers() == []

    def test_accepting_moves_task_files_and_unread_mail_in_one_change(self, project: SharedProject) -> None:
        """The leases get new fences; the giver keeps everything else it holds."""
        project.join("a", "b")
        project.add("t", "u")
        task = project.claimed("a", "t")
        project.claimed("a", "u")
        (path,) = project.acquired("a", "src/")
        project.send("b", "agent-a", "unread")
        offer = project.offer("a", "t")
        position = project.here.history.position()

        accepted = expect(Accepted, project.accept("b", offer))

        assert project.here.history.position() == position + 1
        assert sorted((one.name, one.fence) for one in accepted.grants) == [
            ("src/", position + 1),
            ("t", position + 1),
        ]
        assert (accepted.messages, accepted.offer.state) == (1, "accepted")
        assert (project.held("a"), project.held("b")) == (["u"], ["src/", "t"])
        assert (project.mail("a"), project.mail("b")) == ([], ["unread"])
        assert isinstance(project.close("a", task), Lost)
        assert isinstance(project.use("renew", "a", [path]), Lost)
        assert project.verdicts("a", "src/a.py") == ["held"]
        assert project.here.offers.offers() == []
        project.leave("b")
        assert project.verdicts("a", "src/a.py") == ["lost"]

    def test_what_was_accepted_is_the_takers_like_everything_else(self, project: SharedProject) -> None:
        """It can be closed, and expires if its taker dies: the offer's time no longer protects it."""
        project.join("a", "b", "c")
        project.add("t")
        project.claimed("a", "t")
        project.acquired("a", "src/")
        project.accept("b", project.offer("a", "t"))
        assert isinstance(project.acquire("c", "src/"), Held)
        project.die("b")

        project.acquired("c", "src/")
        assert not isinstance(project.take_task("c", "t"), Held)

    def test_an_offer_is_accepted_once(self, project: SharedProject) -> None:
        """The second session learns its state."""
        project.join("a", "b", "c")
        project.add("t")
        project.claimed("a", "t")
        offer = project.offer("a", "t")
        project.accept("b", offer)

        assert project.accept("c", offer) == OfferGone(offer=offer, state="accepted")
        assert project.decline("c", offer) == OfferGone(offer=offer, state="accepted")
        assert project.withdraw("a", offer) == OfferGone(offer=offer, state="accepted")
        assert project.accept("c", "none") == OfferGone(offer="none", state="")
        assert project.find("t").holder == "b"

    @pytest.mark.parametrize(
        ("taker", "may"),
        [
            ("", "b c d"),
            ("all", "b c"),
            ("agent-b", "b"),
            ("basil", "b"),
            ("role:fe", "c"),
            ("agent-a", ""),
        ],
    )
    def test_only_those_with_the_address_can_accept_or_decline(
        self, project: SharedProject, taker: str, may: str
    ) -> None:
        """The giver itself cannot."""
        project.join("a", "b", name="basil", role="be")
        project.join("c", role="fe")
        project.join("d", team="other")
        project.add("t")
        project.claimed("a", "t")
        offer = project.offer("a", "t", taker)

        for session in "abcd":
            if session not in may.split():
                assert project.accept(session, offer) == OfferGone(offer=offer, state="other")
                assert project.decline(session, offer) == OfferGone(offer=offer, state="other")
        assert project.find("t").holder == "a"
        for session in may.split()[:1]:
            assert isinstance(project.accept(session, offer), Accepted)

    def test_only_the_giver_withdraws(self, project: SharedProject) -> None:
        """Other sessions are refused."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        offer = project.offer("a", "t")

        assert project.withdraw("b", offer) == OfferGone(offer=offer, state="other")
        assert isinstance(project.withdraw("a", offer), OfferEnded)

    @pytest.mark.parametrize("answer", _ANSWERS)
    def test_what_nobody_accepted_stays_with_the_giver(self, project: SharedProject, answer: str) -> None:
        """The fences are those from before the offer."""
        project.join("a", "b", "c")
        project.add("t")
        task = project.claimed("a", "t")
        project.acquired("a", "src/")
        offer = project.offer("a", "t")

        _end_offer(project, offer, answer)

        assert expect(OfferGone, project.accept("b", offer)).state in {"declined", "withdrawn", "over"}
        assert (project.find("t").holder, project.find("t").fence) == ("a", task.fence)
        assert project.here.offers.offers() == []
        project.die("a")
        project.acquired("c", "src/")
        assert project.find("t").is_orphaned
        assert isinstance(project.close("a", task), TaskClosed)

    @pytest.mark.parametrize("answer", ["decline", "over"])
    def test_what_nobody_accepted_goes_to_the_board_where_the_giver_ended(
        self, project: SharedProject, answer: str
    ) -> None:
        """This happens at once: the session will not come back."""
        project.join("a", "b", "c")
        project.add("t")
        project.claimed("a", "t")
        project.acquired("a", "src/")
        offer = project.offer("a", "t")
        project.leave("a")

        _end_offer(project, offer, answer)

        assert (project.find("t").holder, project.find("t").task.is_held) == ("", False)
        assert project.held() == []
        assert project.next_task("c") == "t"
        project.acquired("b", "src/a.py")

    def test_an_offer_that_is_over_does_not_outlive_the_end_of_its_giver(
        self, project: SharedProject
    ) -> None:
        """A giver that leaves afterwards releases it like everything else."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        project.offer("a", "t", seconds=100.0)
        project.bench.advance(100.0 + MARGIN)

        left = project.of("a").members.leave(project.op(), "a")

        assert left.released == (("task", "t"),)
        assert project.next_task("b") == "t"

    def test_a_giver_that_joins_again_has_nothing_of_what_went_to_the_board(
        self, project: SharedProject
    ) -> None:
        """It had ended, and its offer had expired."""
        project.join("a", "b")
        project.add("t")
        task = project.claimed("a", "t")
        project.offer("a", "t", seconds=100.0)
        project.leave("a")
        project.bench.advance(100.0 + MARGIN)

        project.join("a")

        assert project.find("t").holder == ""
        assert isinstance(project.close("a", task), Lost)

    def test_what_is_over_and_on_the_board_is_not_inherited(self, project: SharedProject) -> None:
        """The task was already back on the board."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        project.offer("a", "t", seconds=100.0)
        project.leave("a")
        project.bench.advance(100.0 + MARGIN)

        project.of("b").members.inherit(project.op(), "b", "a")

        assert project.find("t").holder == ""
        assert project.next_task("b") == "t"

    @pytest.mark.parametrize("end", ["leave", "die"])
    def test_the_end_of_the_giver_frees_nothing_that_is_offered(
        self, project: SharedProject, end: str
    ) -> None:
        """Nobody can claim, acquire or take it over before the offer ends; the taker can accept it."""
        project.join("a", "b", "c")
        project.add("t", "u")
        project.claimed("a", "t")
        project.claimed("a", "u")
        project.acquired("a", "src/")
        offer = project.offer("a", "t", "agent-b")

        if end == "leave":
            project.leave("a")
        else:
            project.die("a")
            project.bench.advance(LIFETIMES.unused + LIFETIMES.orphaned)
            project.beat("b", "c")

        assert project.find("t").holder == "a"
        assert isinstance(project.claim("c", "t"), Held)
        assert project.next_task("c") == "u"
        assert isinstance(project.acquire("c", "src/a.py"), Held)
        for force in (False, True):
            assert isinstance(project.take("c", "src/a.py", force=force), Held)
            assert isinstance(project.take_task("c", "t", force=force), Held)
        assert project.verdicts("c", "src/a.py") == ["held"]
        assert isinstance(project.accept("b", offer), Accepted)
        assert project.held("b") == ["src/", "t"]

    def test_nobody_takes_what_a_living_giver_offers(self, project: SharedProject) -> None:
        """Even force is refused: the giver has to withdraw first."""
        project.join("a", "b", "c")
        project.add("t")
        project.claimed("a", "t")
        offer = project.offer("a", "t", "agent-b")

        assert isinstance(project.take_task("c", "t", force=True), Held)
        project.withdraw("a", offer)
        assert not isinstance(project.take_task("c", "t", force=True), Held)

    def test_the_death_of_the_taker_changes_nothing(self, project: SharedProject) -> None:
        """The offer stays open; the taker may come back and accept."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        offer = project.offer("a", "t", "agent-b")
        project.die("b")
        assert len(project.here.offers.offers()) == 1

        assert isinstance(project.accept("b", offer), Accepted)

    def test_an_offer_is_over_when_its_time_is(self, project: SharedProject) -> None:
        """It does not expire earlier."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        offer = project.offer("a", "t", seconds=1_000.0)
        project.bench.advance(1_000.0 - MARGIN)
        assert [one.left for one in project.here.offers.offers()] == [about(MARGIN)]

        project.bench.advance(2 * MARGIN)

        assert project.here.offers.offers() == []
        assert project.accept("b", offer) == OfferGone(offer=offer, state="over")

    def test_a_task_that_is_offered_anew_has_one_offer(self, project: SharedProject) -> None:
        """The older offer is withdrawn."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        project.acquired("a", "src/")
        first = project.offer("a", "t")
        second = project.offer("a", "t", "agent-b")

        assert [one.offer.offer for one in project.here.offers.offers()] == [second]
        assert project.accept("b", first) == OfferGone(offer=first, state="withdrawn")
        assert len(expect(Accepted, project.accept("b", second)).grants) == 2

    def test_two_tasks_of_a_giver_are_offered_side_by_side(self, project: SharedProject) -> None:
        """The files go with the first offer."""
        project.join("a", "b", "c")
        project.add("t", "u")
        project.claimed("a", "t")
        project.claimed("a", "u")
        project.acquired("a", "src/")
        first, second = project.offer("a", "t"), project.offer("a", "u")

        project.accept("b", second)
        project.accept("c", first)

        assert (project.held("b"), project.held("c")) == (["u"], ["src/", "t"])

    def test_files_of_an_offer_that_is_over_go_with_the_next_one(self, project: SharedProject) -> None:
        """They had returned to the giver."""
        project.join("a", "b")
        project.add("t", "u")
        project.claimed("a", "t")
        project.claimed("a", "u")
        project.acquired("a", "src/")
        project.offer("a", "t", seconds=100.0)
        project.bench.advance(100.0 + MARGIN)

        project.accept("b", project.offer("a", "u"))

        assert (project.held("a"), project.held("b")) == (["t"], ["src/", "u"])

    def test_closing_one_task_does_not_free_files_that_are_offered_with_another(
        self, project: SharedProject
    ) -> None:
        """The files are part of the other offer."""
        project.join("a", "b")
        project.add("t", "u")
        project.claimed("a", "t")
        other = project.claimed("a", "u")
        project.acquired("a", "src/")
        offer = project.offer("a", "t")

        assert expect(TaskClosed, project.close("a", other)).released == ()
        assert len(expect(Accepted, project.accept("b", offer)).grants) == 2

    @pytest.mark.parametrize("verb", ["close", "give_back", "release"])
    def test_a_giver_that_lets_go_withdraws_its_offer(self, project: SharedProject, verb: str) -> None:
        """There is nothing left to accept."""
        project.join("a", "b")
        project.add("t")
        task = project.claimed("a", "t")
        offer = project.offer("a", "t")

        if verb == "close":
            project.close("a", task)
        elif verb == "give_back":
            project.of("a").tasks.give_back(project.op(), "a", task)
        else:
            project.use("release", "a", [task])

        assert project.accept("b", offer) == OfferGone(offer=offer, state="withdrawn")
        assert project.find("t").holder == ""

    def test_a_path_reserved_after_the_offer_is_not_part_of_it(self, project: SharedProject) -> None:
        """The taker gets only what was offered."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        offer = project.offer("a", "t")
        project.acquired("a", "late.py")

        project.accept("b", offer)

        assert (project.held("a"), project.held("b")) == (["late.py"], ["t"])

    def test_an_accepted_task_that_is_orphaned_again_names_its_taker(self, project: SharedProject) -> None:
        """The giver is no longer involved."""
        project.join("a", "b", "c")
        project.add("t")
        project.claimed("a", "t")
        project.accept("b", project.offer("a", "t"))
        project.bench.advance(DEATH + LIFETIMES.orphaned + MARGIN)

        claim = project.claim("c")

        assert getattr(claim, "orphaned_by", None) == ("agent-b",)
