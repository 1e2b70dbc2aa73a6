"""What every store of coordination must do with its rows; subclass `StoredRows`, and name it `Test…`."""

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from pathlib import Path

import pytest

from passdown.core.coordination.leases import PATH, TASK, Lease
from passdown.core.coordination.members import KEPT_ENDED, MOST_DELETED, Member
from passdown.core.coordination.messages import Message
from passdown.core.coordination.offers import ACCEPTED, Offer
from passdown.core.coordination.operations import make_operation
from passdown.core.coordination.silences import HeardSigns, Silence
from passdown.core.coordination.tasks import BLOCKED, CLOSED, OPEN, Task
from passdown.engines.coordination.coordinator import Coordinator
from passdown.engines.coordination.transactions import LogRow, Reading, Store
from passdown.records import replace

ADA = Member(
    session="s-ada",
    agent="ada-1",
    name="Ada",
    team="core",
    role="docs",
    process="12 99 boot",
    boot=0,
    seen=12.5,
    ended=None,
    continues="s-old",
)
LEASE = Lease(
    kind=PATH,
    name="src/**",
    session="s-ada",
    fence=3,
    ttl=600.0,
    used=10.25,
    until=70.5,
    offer="o-1",
    ended=None,
    is_taken=False,
)
TASK_ONE = Task(
    task="t-1",
    title="Ünïcode “title”",
    body="line\nline\n",
    priority=1,
    role="docs",
    state=OPEN,
    reason="",
    note="",
    waits=0,
    is_held=False,
    added=7,
)
MESSAGE = Message(
    message="m-1",
    sender="s-ada",
    agent="ada-1",
    to="role:docs",
    content="Is it done?",
    context='{"task":"t-1"}',
    priority="urgent",
    kind="question",
    sent=5.0,
    expires=105.0,
)
OFFER = Offer(
    offer="o-1",
    giver="s-ada",
    agent="ada-1",
    taker="",
    task="t-1",
    facts='{"a":1}',
    expires=99.5,
)


def log(position: int, at: float = 1.0) -> LogRow:
    """Make the row of a change."""
    return LogRow(position, f"op-{position}", at, "s-ada", "claim", "task/t-1", '{"kind":"Claimed"}')


class RefusedError(Exception):
    """Stands for anything that goes wrong in a change."""


def _fail(store: Store) -> None:
    """Make a change at position 2 that does not last."""
    with store.changing() as change:
        assert change.fence == 2
        change.add_log(log(2))
        change.put_member(ADA)
        raise RefusedError


def send(store: Store, message: str, *recipients: str, expires: float = 105.0) -> int:
    """Send a message in a change of its own; return its position."""
    with store.changing() as change:
        change.add_message(replace(MESSAGE, message=message, expires=expires), recipients)
        return change.fence


def unread(store: Store, recipient: str) -> list[str]:
    """Name the unread messages of a recipient."""
    with store.looking() as reading:
        return [message.message for _, message in reading.inbox(recipient)]


def _find_all(reading: Reading) -> set[str]:
    """Name the sessions and offers of a test that are stored."""
    members = [reading.find_member(one) for one in ("s-ada", *(f"s-{at}.0" for at in range(9)))]
    offers = [reading.find_offer(one) for one in ("o-open", *(f"o-{at}.0" for at in range(9)))]
    return {one.session for one in members if one} | {one.offer for one in offers if one}


class StoredRows(ABC):
    """The promises of `Store`, `Reading` and `Transaction`."""

    @abstractmethod
    def make(self, folder: Path, project: str = "local") -> Store:
        """Open a project in a store; the same folder and project give the same rows."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        """Return an empty store."""
        return self.make(tmp_path)

    def test_a_new_project_is_empty(self, store: Store) -> None:
        """Nothing needs to be created first."""
        with store.looking() as reading:
            assert reading.position() == 0
            assert [*reading.log_since(0, 9), *reading.members(), *reading.leases(PATH)] == []
            assert [*reading.tasks(closed=True), *reading.inbox("s-ada"), *reading.open_offers()] == []
            assert (reading.find_log("op"), reading.find_member("s"), reading.find_task("t")) == (None,) * 3
            assert (reading.find_offer("o"), reading.first_ready("")) == (None, None)
        store.beat(["s-ada"])

    def test_silences_are_kept_until_they_are_old(self, store: Store) -> None:
        """The newest sign of life is one row, which somebody who was heard meanwhile keeps."""
        with store.changing() as change:
            assert (change.heard(), change.is_sign) == (HeardSigns(), False)
            change.put_member(replace(ADA, seen=change.time.seconds))
            assert change.is_sign
            change.put_sign(None, change.time.seconds - 60)
            first = change.time.seconds
        with store.changing() as change:
            change.put_sign(Silence(1.0, 5.0), first + 1)
            change.put_silences([*change.heard().silences, Silence(7.0, 9.0)])
            assert change.heard().newest == change.time.seconds
            assert sorted(change.heard().silences) == [Silence(1.0, 5.0), Silence(7.0, 9.0)]
            change.drop_old(6.0, 0.0)

        with store.looking() as reading:
            assert reading.heard().silences == (Silence(7.0, 9.0),)

    def test_positions_are_dense_and_a_change_that_fails_leaves_nothing(self, store: Store) -> None:
        """Not even its position."""
        with store.changing() as change:
            change.add_log(log(change.fence))
            assert (change.fence, change.position()) == (1, 1)
        with pytest.raises(RefusedError):
            _fail(store)

        with store.changing() as change:
            assert (change.fence, change.find_member("s-ada"), change.find_log("op-2")) == (2, None, None)

    def test_the_log_is_found_by_operation_and_by_position(self, store: Store) -> None:
        """The oldest first, and at most as many as were asked for."""
        for _ in range(4):
            with store.changing() as change:
                change.add_log(log(change.fence))

        with store.looking() as reading:
            assert reading.find_log("op-3") == log(3)
            assert list(reading.log_since(1, 2)) == [log(2), log(3)]
            assert list(reading.log_since(4, 2)) == []

    def test_projects_see_nothing_of_each_other(self, tmp_path: Path) -> None:
        """They share tables, not rows."""
        one, other = self.make(tmp_path, "one"), self.make(tmp_path, "other")
        with one.changing() as change:
            change.put_member(ADA)
            change.put_task(TASK_ONE)

        with other.looking() as reading:
            assert (reading.position(), reading.members(), reading.tasks()) == (0, [], [])
        with other.changing() as change:
            assert change.fence == 1

    def test_sessions_are_stored_whole_and_listed_until_they_end(self, store: Store) -> None:
        """By id; those that ended are found by their id only."""
        bob, zoe = Member(session="s-Bob", agent="bob-1"), replace(ADA, session="s-zoe", ended=20.0)
        with store.changing() as change:
            for member in (zoe, ADA, bob):
                change.put_member(member)
        with store.changing() as change:
            change.put_member(replace(bob, role="tests", seen=14.0))

        with store.looking() as reading:
            bob = replace(bob, role="tests", seen=14.0)
            assert list(reading.members()) == [bob, ADA]
            assert reading.find_member("s-zoe") == zoe
            assert [reading.find_member(one) for one in ("s-zoe", "s-nobody", "s-ada")] == [zoe, None, ADA]

    def test_sessions_are_found_by_agent_and_by_nickname_until_they_end(self, store: Store) -> None:
        """By id; nobody has no name."""
        agent = Member(session="s-2", agent="bob", name="b")
        nickname = Member(session="s-1", agent="bob-1", name="bob")
        ended, other = replace(agent, session="s-3", ended=1.0), Member(session="s-4", agent="bobby")
        with store.changing() as change:
            for member in (agent, nickname, ended, other):
                change.put_member(member)

        with store.looking() as reading:
            assert list(reading.members_named("bob")) == [nickname, agent]
            assert list(reading.members_named("Bob")) == []

    def test_a_beat_is_a_sign_of_life_of_sessions_that_run_and_takes_no_position(self, store: Store) -> None:
        """Unknown ones are no error."""
        ended = replace(ADA, session="s-ended", ended=1.0)
        with store.changing() as change:
            change.put_member(ADA)
            change.put_member(ended)
            begun = change.time

        store.beat(["s-ada", "s-ended", "s-unknown"])

        with store.looking() as reading:
            member = reading.find_member("s-ada")
            assert member is not None
            assert begun.seconds <= member.seen <= reading.time.seconds
            assert member == replace(ADA, seen=member.seen, boot=reading.time.boot)
            assert (reading.find_member("s-ended"), reading.position()) == (ended, 1)

    def test_leases_are_found_by_kind_by_resource_and_by_session(self, store: Store) -> None:
        """Those that ended only on request, or on exactly this resource."""
        taken = replace(LEASE, session="s-bob", fence=2, ended=11.0, is_taken=True, offer="")
        task = replace(LEASE, kind=TASK, name="t-1", fence=4)
        second = replace(LEASE, name="README.md")
        with store.changing() as change:
            for lease in (task, LEASE, taken, second):
                change.put_lease(lease)

        with store.looking() as reading:
            assert list(reading.leases(PATH)) == [second, LEASE]
            assert list(reading.leases(PATH, ended=True)) == [taken, second, LEASE]
            assert list(reading.leases_on(PATH, "src/**")) == [taken, LEASE]
            assert list(reading.leases_on(PATH, "src")) == []
            assert list(reading.leases_of("s-ada")) == [second, LEASE, task]
            assert (list(reading.leases_of("s-bob")), list(reading.leases_of("s-bob", ended=True))) == (
                [],
                [taken],
            )

    def test_a_session_has_one_lease_on_a_resource(self, store: Store) -> None:
        """A later one takes the place of the earlier one."""
        with store.changing() as change:
            change.put_lease(LEASE)
            change.put_lease(replace(LEASE, fence=9, ended=5.0))

            assert list(change.leases(PATH, ended=True)) == [replace(LEASE, fence=9, ended=5.0)]

    def test_many_leases_are_stored_as_one_is(self, store: Store) -> None:
        """New ones, changed ones and none at all."""
        other = replace(LEASE, name="docs/", is_taken=True)
        with store.changing() as change:
            change.put_leases([])
            change.put_leases([LEASE])
            change.put_leases([replace(LEASE, used=99.0), other])

        with store.looking() as reading:
            assert list(reading.leases(PATH)) == [other, replace(LEASE, used=99.0)]

    def test_leases_of_sessions_without_signs_of_life_are_found(self, store: Store) -> None:
        """Also those of sessions that ended, that are of another boot, and that nobody knows."""
        with store.changing() as change:
            time = change.time
            alive = Member(session="s-0", agent="a", seen=time.seconds, boot=time.boot)
            for member in (
                alive,
                replace(alive, session="s-1", seen=time.seconds - 10.0),
                replace(alive, session="s-2", ended=time.seconds),
                replace(alive, session="s-3", boot=time.boot + 1),
            ):
                change.put_member(member)
            made = [
                Lease(kind=TASK, name=f"t-{number}", session=f"s-{number}", fence=number, ttl=1.0, used=1.0)
                for number in range(5)
            ]
            change.put_leases([*made, replace(made[1], name="t-9", ended=1.0), replace(made[2], kind=PATH)])

            found = change.silent_leases(TASK, time.seconds - 10.0)

        assert list(found) == made[1:]

    def test_old_leases_and_changes_are_removed(self, store: Store) -> None:
        """Those that ended, or were made, at the instant itself stay."""
        ended = [replace(LEASE, name=f"{at}", ended=at) for at in (4.0, 5.0, 6.0)]
        for at in (7.0, 8.0):
            with store.changing() as change:
                change.add_log(log(change.fence, at))
        with store.changing() as change:
            for lease in (*ended, LEASE):
                change.put_lease(lease)
            change.drop_old(5.0, 8.0)

            assert list(change.leases(PATH, ended=True)) == [*ended[1:], LEASE]
            assert list(change.log_since(0, 9)) == [log(2, 8.0)]
            assert change.position() == 3

    def test_old_offers_and_sessions_are_removed_the_oldest_first(self, store: Store) -> None:
        """At most as many as were asked for; those that ended at the instant itself stay."""
        ended = [replace(ADA, session=f"s-{at}", ended=at) for at in (4.0, 2.0, 3.0, 5.0)]
        settled = [
            replace(OFFER, offer=f"o-{at}", state=ACCEPTED, giver="s-x", expires=at)
            for at in (4.0, 2.0, 3.0, 5.0)
        ]
        is_open = replace(OFFER, offer="o-open", giver="s-x", expires=1.0)
        with store.changing() as change:
            for member in (*ended, ADA):
                change.put_member(member)
            for offer in (*settled, is_open):
                change.put_offer(offer)
            change.drop_unused(5.0, 2)
            assert _find_all(change) == {"s-4.0", "s-5.0", "s-ada", "o-4.0", "o-5.0", "o-open"}
            change.drop_unused(5.0, 2)
            assert _find_all(change) == {"s-5.0", "s-ada", "o-5.0", "o-open"}
            change.drop_unused(5.0, 2)

            assert _find_all(change) == {"s-5.0", "s-ada", "o-5.0", "o-open"}

    def test_what_something_names_is_not_removed(self, store: Store) -> None:
        """A lease, an offer, an unread message to it, or one that it sent."""
        names = ("s-lease", "s-offer", "s-mail", "s-sender", "s-read", "s-nobody")
        with store.changing() as change:
            for name in names:
                change.put_member(replace(ADA, session=name, ended=1.0))
            change.put_lease(replace(LEASE, session="s-lease", ended=2.0))
            change.put_offer(replace(OFFER, giver="s-offer", state=ACCEPTED, expires=9.0))
            change.add_message(replace(MESSAGE, message="m-1", sender="s-sender"), ["s-mail"])
        with store.changing() as change:
            change.add_message(replace(MESSAGE, message="m-2", sender="s-read"), ["s-read"])
            change.mark_read("s-read", [change.fence])
            change.drop_unused(5.0, 9)

            assert [one for one in names if change.find_member(one)] == [*names[:4]]

    def test_a_join_removes_five_hundred_at_a_time(self, store: Store) -> None:
        """So that nobody waits long where nothing was ever removed."""
        members = Coordinator(store, "rows").members
        with store.changing() as change:
            old = change.time.seconds - KEPT_ENDED - 1.0
            for number in range(MOST_DELETED + 1):
                change.put_member(replace(ADA, session=f"s-{number}", ended=old, seen=old))
                offer = replace(OFFER, offer=f"o-{number}", state=ACCEPTED, giver="s-x", expires=old)
                change.put_offer(offer)

        counts: list[tuple[int, int]] = []
        for number in range(2):
            op = make_operation(datetime.fromtimestamp(store.wall_time(change), UTC), bytes([number] * 10))
            members.join(op, replace(ADA, session=f"s-new-{number}"))
            with store.looking() as reading:
                found = [reading.find_member(f"s-{one}") for one in range(MOST_DELETED + 1)]
                offers = [reading.find_offer(f"o-{one}") for one in range(MOST_DELETED + 1)]
                counts.append((sum(map(bool, found)), sum(map(bool, offers))))

        assert counts == [(1, 1), (0, 0)]

    def test_tasks_come_by_priority_then_by_age(self, store: Store) -> None:
        """Closed ones only on request."""
        late = replace(TASK_ONE, task="t-2", added=9, is_held=True, waits=2)
        urgent = replace(TASK_ONE, task="t-3", priority=0, added=10, state=BLOCKED)
        closed = replace(TASK_ONE, task="t-4", added=1, state=CLOSED, reason="completed", note="done")
        with store.changing() as change:
            for task in (late, closed, urgent, replace(closed, task="t-5"), TASK_ONE):
                change.put_task(task)
            change.drop_task("t-5")

        with store.looking() as reading:
            assert list(reading.tasks()) == [urgent, TASK_ONE, late]
            assert list(reading.tasks(closed=True)) == [urgent, closed, TASK_ONE, late]
            assert reading.find_task("t-4") == closed

    def test_the_first_ready_task_is_open_free_and_waits_for_none(self, store: Store) -> None:
        """For a role: its own tasks, and those for anybody."""
        tasks = {
            "held": replace(TASK_ONE, task="held", priority=0, is_held=True),
            "waits": replace(TASK_ONE, task="waits", priority=0, waits=1),
            "blocked": replace(TASK_ONE, task="blocked", priority=0, state=BLOCKED),
            "docs": replace(TASK_ONE, task="docs", added=2),
            "tests": replace(TASK_ONE, task="tests", role="tests", added=3),
            "any": replace(TASK_ONE, task="any", role="", added=4),
        }
        with store.changing() as change:
            for task in tasks.values():
                change.put_task(task)
            found = [change.first_ready(role) for role in ("", "docs", "tests", "other")]
            change.put_task(replace(tasks["docs"], is_held=True))

            assert found == [tasks[name] for name in ("docs", "docs", "tests", "any")]
            assert change.first_ready("docs") == tasks["any"]
            assert list(change.ready_tasks(2)) == [tasks["tests"], tasks["any"]]
            assert list(change.ready_tasks(1)) == [tasks["tests"]]
            change.put_task(replace(tasks["any"], state=CLOSED))
            assert change.count_tasks() == (5, 1)

    def test_held_tasks_are_those_with_a_lease_that_has_not_ended(self, store: Store) -> None:
        """A lease on a task of a tracker outside has none here."""
        with store.changing() as change:
            for name in ("t-2", "t-1", "free", "over"):
                change.put_task(replace(TASK_ONE, task=name))
            for name in ("t-2", "t-1", "over", "outside"):
                lease = Lease(kind=TASK, name=name, session="s-1", fence=1, ttl=1.0, used=1.0)
                change.put_lease(replace(lease, ended=2.0) if name == "over" else lease)
            change.put_lease(replace(LEASE, kind=PATH, name="free", ended=None))

            assert [one.task for one in change.held_tasks()] == ["t-1", "t-2"]

    def test_tasks_wait_for_each_other(self, store: Store) -> None:
        """Saying it twice is saying it once."""
        with store.changing() as change:
            for task, other in (("t-1", "t-3"), ("t-1", "t-2"), ("t-2", "t-3"), ("t-1", "t-2")):
                change.add_wait(task, other)

        with store.looking() as reading:
            assert (list(reading.waits_of("t-1")), list(reading.waits_of("t-3"))) == (["t-2", "t-3"], [])
            assert list(reading.waiting_for("t-3")) == ["t-1", "t-2"]

    def test_a_message_waits_in_each_inbox_until_it_is_read(self, store: Store) -> None:
        """Reading it twice counts once, and others still have it."""
        with store.changing() as change:
            change.add_message(MESSAGE, ["s-ada", "s-bob"])
        second = send(store, "m-2", "s-ada")

        with store.looking() as reading:
            first, later = reading.inbox("s-ada")
            assert first == (1, MESSAGE)
            assert (later[0], later[1].message) == (second, "m-2")
        with store.changing() as change:
            assert change.mark_read("s-ada", [1, 77]) == 1
            assert change.mark_read("s-ada", [1]) == 0
        assert (unread(store, "s-ada"), unread(store, "s-bob")) == (["m-2"], ["m-1"])

    def test_an_heir_gets_what_was_not_read(self, store: Store) -> None:
        """What both were sent, the heir has once; if it has read that, it stays read."""
        for message, *recipients in (("m-1", "dead"), ("m-2", "dead", "heir"), ("m-3", "dead", "heir")):
            send(store, message, *recipients)
        send(store, "m-4", "dead")
        with store.changing() as change:
            change.mark_read("heir", [3])
            change.mark_read("dead", [4])

        with store.changing() as change:
            assert change.move_inbox("dead", "heir") == 3

        assert (unread(store, "dead"), unread(store, "heir")) == ([], ["m-1", "m-2"])

    def test_unread_messages_that_expired_are_listed(self, store: Store) -> None:
        """Those that everybody read are not."""
        for number, expires in enumerate((10.0, 20.0, 30.0), 1):
            send(store, f"m-{number}", "s-ada", "s-bob", expires=expires)
        with store.changing() as change:
            change.mark_read("s-ada", [1, 2])
            change.mark_read("s-bob", [1])

            assert [one.message for one in change.expired(30.0)] == ["m-2"]
            assert [one.message for one in change.expired(31.0)] == ["m-2", "m-3"]

    def test_messages_that_expired_or_that_all_read_are_removed(self, store: Store) -> None:
        """What one recipient has not read stays until it expires."""
        for name, expires in (("expired", 10.0), ("read", 1e12), ("half", 1e12), ("unread", 1e12)):
            send(store, name, "s-ada", "s-bob", expires=expires)
        with store.changing() as change:
            change.mark_read("s-ada", [2, 3])
            change.mark_read("s-bob", [2])
            now = change.time.seconds
        with store.changing() as change:
            change.drop_messages(11.0, now)  # it was read at that instant, not before
            assert change.expired(1e13) != []
        with store.changing() as change:
            change.drop_messages(11.0, now + 1.0)

            assert [one.message for one in change.expired(1e13)] == ["half", "unread"]
        assert (unread(store, "s-ada"), unread(store, "s-bob")) == (["unread"], ["half", "unread"])
        send(store, "read", "s-ada")
        send(store, "expired", "s-ada")
        assert unread(store, "s-ada") == ["unread", "read", "expired"]

    def test_offers_are_stored_whole_and_listed_while_they_stand(self, store: Store) -> None:
        """By id."""
        second = replace(OFFER, offer="o-0", taker="role:docs")
        done = replace(OFFER, offer="o-2", state=ACCEPTED)
        with store.changing() as change:
            for offer in (OFFER, second, replace(done, state="offered"), done):
                change.put_offer(offer)

        with store.looking() as reading:
            assert list(reading.open_offers()) == [second, OFFER]
            assert reading.find_offer("o-2") == done

    def test_whoever_looks_sees_one_state(self, tmp_path: Path) -> None:
        """What others write meanwhile comes at the next look."""
        one, other = self.make(tmp_path), self.make(tmp_path)
        send(one, "m-1", "s-ada")
        with one.looking() as reading:
            assert reading.position() == 1
            send(other, "m-2", "s-ada")

            assert (reading.position(), len(reading.inbox("s-ada"))) == (1, 1)
        assert unread(one, "s-ada") == ["m-1", "m-2"]

    def test_time_does_not_stand_still_or_step_back(self, store: Store) -> None:
        """Each change has the time at which it holds the lock."""
        times = []
        for _ in range(3):
            with store.changing() as change:
                times.append(change.time)
            with store.looking() as reading:
                times.append(reading.time)

        assert times == sorted(times)
