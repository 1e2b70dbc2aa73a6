"""Messages: who gets them, that they wait until they are acknowledged, and when they expire."""

from passdown.core.coordination.messages import (
    READ_KEPT,
    Acknowledged,
    Expired,
    NewMessage,
    NoRecipient,
    Sent,
)
from passdown.testing.conformance.coordination.bench import (
    MARGIN,
    CoordinationCase,
    SharedProject,
    about,
    expect,
)

_DAY = 86_400.0


class MessagePromises(CoordinationCase):
    """The promises of `Messages`."""

    def test_a_message_arrives_as_it_was_sent(self, project: SharedProject) -> None:
        """It has its sender, context, priority and age."""
        project.join("a", "b")
        op = project.op()
        new = NewMessage("a", "agent-b", "héllo\n", '{"task":"t"}', "urgent", "question")

        sent = project.of("a").messages.send(op, new)
        project.bench.advance(100.0)

        assert sent == Sent(message=op, recipients=("agent-b",))
        (found,) = project.of("b").messages.waiting("b")
        message = found.message
        assert (message.message, message.sender, message.agent, message.to) == (op, "a", "agent-a", "agent-b")
        assert (message.content, message.context) == ("héllo\n", '{"task":"t"}')
        assert (message.priority, message.kind, found.age) == ("urgent", "question", about(100.0))
        assert found.position == project.here.history.position()

    def test_waiting_changes_nothing(self, project: SharedProject) -> None:
        """A message that was shown but not acknowledged is shown again: at least once."""
        project.join("a", "b")
        project.send("a", "agent-b")
        position = project.here.history.position()

        assert [project.mail("b") for _ in range(3)] == [["hello"]] * 3
        assert project.here.history.position() == position

    def test_mail_comes_the_oldest_first(self, project: SharedProject) -> None:
        """Messages are in the order in which they were sent, by any sender."""
        project.join("a", "b", "c")
        for number in range(6):
            project.send("ac"[number % 2], "agent-b", str(number))

        assert project.mail("b") == ["0", "1", "2", "3", "4", "5"]

    def test_only_what_was_acknowledged_is_read(self, project: SharedProject) -> None:
        """Only for its reader; what was read before does not count again."""
        project.join("a", "b", "c")
        project.send("a", "all", "one")
        project.send("a", "all", "two")
        first, second = (one.position for one in project.of("b").messages.waiting("b"))
        messages = project.of("b").messages

        assert messages.acknowledge(project.op(), "b", [first, first, 999]) == Acknowledged(count=1)
        assert project.mail("b") == ["two"]
        assert project.mail("c") == ["one", "two"]
        assert messages.acknowledge(project.op(), "b", [first, second]) == Acknowledged(count=1)
        assert messages.acknowledge(project.op(), "b", [first, second]) == Acknowledged(count=0)
        assert project.mail("b") == []

    def test_an_agent_or_a_nickname_is_an_address(self, project: SharedProject) -> None:
        """The sender may have the same name."""
        project.join("a", name="amber")
        project.join("b", name="basil")

        assert expect(Sent, project.send("a", "basil", "one")).recipients == ("agent-b",)
        assert expect(Sent, project.send("a", "agent-b", "two")).recipients == ("agent-b",)
        project.send("a", "amber", "note to myself")

        assert project.mail("b") == ["one", "two"]
        assert project.mail("a") == ["note to myself"]

    def test_mail_reaches_a_session_without_signs_of_life_by_its_name(self, project: SharedProject) -> None:
        """The session may come back."""
        project.join("a", "b")
        project.die("b")

        project.send("a", "agent-b")

        assert project.mail("b") == ["hello"]

    def test_all_are_the_live_sessions_of_the_team(self, project: SharedProject) -> None:
        """The sender, dead and ended sessions and other teams are left out."""
        project.join("a", "b", "dead", "ended", team="red")
        project.join("other")
        project.leave("ended")
        project.die("dead")

        sent = expect(Sent, project.send("a", "all"))

        assert sent.recipients == ("agent-b",)
        assert [project.mail(one) for one in ("a", "b", "dead", "ended", "other")] == [
            *([], ["hello"], [], [], []),
        ]

    def test_who_joins_later_is_not_all(self, project: SharedProject) -> None:
        """Recipients are determined when the message is sent."""
        project.join("a", "b")
        project.send("a", "all")
        project.join("c")

        assert project.mail("c") == []

    def test_a_role_is_an_address(self, project: SharedProject) -> None:
        """Every live session with that role gets the message."""
        project.join("a", "b", role="be")
        project.join("c", "dead", role="fe")
        project.die("dead")

        assert expect(Sent, project.send("a", "role:fe")).recipients == ("agent-c",)
        assert expect(Sent, project.send("c", "role:be")).recipients == ("agent-a", "agent-b")

    def test_the_holder_of_a_task_is_an_address(self, project: SharedProject) -> None:
        """The session that holds the task now gets the message."""
        project.join("a", "b", "c")
        project.add("t")
        project.claimed("b", "t")
        project.send("a", "task:t", "to b")
        project.take_task("c", "t", force=True)
        project.send("a", "task:t", "to c")

        assert (project.mail("b"), project.mail("c")) == (["to b"], ["to c"])

    def test_nobody_holds_a_task_that_went_back_to_the_board(self, project: SharedProject) -> None:
        """Its giver ended, and the offer expired."""
        project.join("a", "b")
        project.add("t")
        project.claimed("a", "t")
        project.offer("a", "t", seconds=100.0)
        project.leave("a")
        assert isinstance(project.send("b", "task:t"), Sent)

        project.bench.advance(100.0 + MARGIN)

        assert project.send("b", "task:t") == NoRecipient(to="task:t")

    def test_nobody_there_is_a_refusal(self, project: SharedProject) -> None:
        """The message is not stored."""
        project.join("a")
        project.add("t")
        position = project.here.history.position()

        for to in ("all", "role:be", "task:t", "task:none", ""):
            assert project.send("a", to) == NoRecipient(to=to)
        assert project.here.history.position() == position

    def test_a_nickname_that_nobody_bears_waits_for_the_next_session_of_that_name(
        self, project: SharedProject
    ) -> None:
        """One session gets it, once."""
        project.join("a")
        sent = expect(Sent, project.send("a", "basil", "welcome"))
        assert sent.recipients == ("name:basil",)

        project.join("b", name="basil")
        project.join("c", name="basil")

        assert project.mail("b") == ["welcome"]
        assert project.mail("c") == []

    def test_an_agent_that_is_not_there_gets_its_mail_in_its_next_session(
        self, project: SharedProject
    ) -> None:
        """An agent outlives its sessions."""
        project.join("a", "b")
        project.leave("b")
        project.send("a", "agent-b", "welcome back")

        project.join("b")

        assert project.mail("b") == ["welcome back"]

    def test_a_session_that_takes_a_name_gets_the_mail_for_it(self, project: SharedProject) -> None:
        """Joining again with a name is enough."""
        project.join("a", "b")
        project.send("a", "basil")

        project.join("b", name="basil")

        assert project.mail("b") == ["hello"]

    def test_two_that_bear_a_name_both_get_the_mail(self, project: SharedProject) -> None:
        """Each session with the name gets it, and reads it separately."""
        project.join("a")
        project.join("b", "c", name="basil")
        project.send("a", "basil")

        project.read("b")

        assert (project.mail("b"), project.mail("c")) == ([], ["hello"])

    def test_what_expired_is_not_shown_and_is_given_back_once_to_be_logged(
        self, project: SharedProject
    ) -> None:
        """After that the message is removed."""
        project.join("a", "b")
        project.send("a", "agent-b", "short", seconds=100.0)
        project.send("a", "agent-b", "long", seconds=_DAY)
        project.bench.advance(100.0 - MARGIN)
        assert project.mail("b") == ["short", "long"]
        assert project.here.messages.expire(project.op()).messages == ()
        project.bench.advance(2 * MARGIN)
        assert project.mail("b") == ["long"]

        expired = project.here.messages.expire(project.op())

        assert [one.content for one in expired.messages] == ["short"]
        assert project.here.messages.expire(project.op()).messages == ()
        assert project.mail("b") == ["long"]

    def test_a_look_for_expired_messages_that_finds_none_is_no_change(self, project: SharedProject) -> None:
        """It takes no position; messages read long ago are removed by a call that does."""
        project.join("a", "b", "c")
        project.send("a", "all", seconds=9 * READ_KEPT)
        project.read("b")
        before = project.here.history.position()
        for _ in range(2):
            project.bench.advance(READ_KEPT + MARGIN)
            assert project.here.messages.expire(project.op()) == Expired()
        assert project.here.history.position() == before
        project.read("c")
        project.bench.advance(READ_KEPT - MARGIN)
        assert project.here.messages.expire(project.op()) == Expired()
        assert project.here.history.position() == before + 1
        project.bench.advance(2 * MARGIN)

        for _ in range(2):
            assert project.here.messages.expire(project.op()) == Expired()
            assert project.here.history.position() == before + 2

    def test_what_everybody_read_does_not_expire(self, project: SharedProject) -> None:
        """A message that one recipient has not read does."""
        project.join("a", "b", "c")
        project.send("a", "all", "half", seconds=100.0)
        project.send("a", "agent-b", "whole", seconds=100.0)
        project.read("b")
        project.bench.advance(100.0 + MARGIN)

        expired = project.here.messages.expire(project.op())

        assert [one.content for one in expired.messages] == ["half"]

    def test_mail_for_a_name_that_never_came_expires(self, project: SharedProject) -> None:
        """After that no session gets it."""
        project.join("a")
        project.send("a", "basil", seconds=100.0)
        project.bench.advance(100.0 + MARGIN)

        assert len(project.here.messages.expire(project.op()).messages) == 1
        project.join("b", name="basil")
        assert project.mail("b") == []
