"""Sessions start once, live as long as their process, end once, and are recovered when they never ended."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import pytest

from passdown.core.facts import PROMPTED, Provenance
from passdown.core.formats.events import Event, parse_event
from passdown.core.formats.journal import JournalLine, Scope
from passdown.core.formats.ledgers import parse_ledger
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import MARK, HostProcess
from passdown.engines.memory.index import MemoryIndex
from passdown.errors import CacheError, StorageError, UsageError
from passdown.hosts import HOSTS
from passdown.records import replace
from passdown.services.sessions.journals import append_fact, make_fact, read_account, write_fact
from passdown.services.sessions.liveness import find_session, is_live, list_live
from passdown.services.sessions.sessions import StartRequest, recover, start_session, touch
from passdown.testing.memory.documents import MemoryDocuments
from passdown.testing.memory.journals import MemoryJournals
from tests.support.sessions import LEDGER, Place, end_session, make_place, with_parts

HOST = HostProcess(71, "100", "boot")
OTHER = HostProcess(72, "200", "boot")


@pytest.fixture
def place() -> Place:
    """Give an empty project, in which nobody knows processes."""
    return make_place()


@pytest.fixture
def hosted() -> Place:
    """Give an empty project that is worked on by a host."""
    return make_place(host=HOST)


def events(place: Place) -> list[Event]:
    return [parse_event(text) for text in place.events()]


@pytest.mark.requirement("R2", "R4", "R10", "R14", "R17", "R33", "C4")
def test_a_session_starts_with_a_ledger_of_its_own(hosted: Place) -> None:
    started = hosted.started(host="claude", host_session="h-1", nickname="Toast", track="t-1", mode="MA")

    account = started.account
    assert (account.agent, account.session, started.is_new) == ("toast-00000001", "s-000000000002", True)
    assert (account.start.host, account.start.branch, account.start.process) == ("claude", "main", HOST)
    assert (account.start.ledger, account.start.checkout, account.track) == (LEDGER, "/project", "t-1")
    assert (started.recovered, started.others) == ((), ())
    ledger = parse_ledger(hosted.read())
    assert (ledger.session_id, ledger.mode, ledger.bound_track, ledger.bound_bead) == (
        account.session,
        "MA",
        "t-1",
        None,
    )


@pytest.mark.requirement("C53")
def test_the_same_host_session_is_the_same_session(hosted: Place) -> None:
    first = hosted.start(host="claude", host_session="h-1")
    hosted.processes.host = OTHER
    again = hosted.started(host="claude", host_session="h-1")

    assert (again.is_new, again.account.session) == (False, first.session)
    assert again.account.last_seq == first.last_seq + 1


@pytest.mark.requirement("C52", "C153")
def test_a_new_id_from_the_same_process_joins_its_session_only_after_a_clear(hosted: Place) -> None:
    first = hosted.start(host="claude", host_session="h-1")

    cleared = hosted.started(host="claude", host_session="h-2", goes_on=True)
    forked = hosted.started(host="claude", host_session="h-3", is_fork=True)
    begun = hosted.started(host="claude", host_session="h-4")
    other_host = hosted.started(host="codex", host_session="h-5", goes_on=True)

    assert (cleared.is_new, cleared.account.host_sessions) == (False, ("h-1", "h-2"))
    assert cleared.account.session == first.session
    assert (forked.is_new, begun.is_new, other_host.is_new) == (True, True, True)
    assert [one.session for one in other_host.others] == [
        one.session for one in (first, forked.account, begun.account)
    ]
    assert hosted.started(host="claude", host_session="h-6", goes_on=True).is_new  # nobody knows whose it is
    assert not hosted.started(host="codex").is_new


def test_where_nobody_knows_the_process_a_start_is_a_new_session(place: Place) -> None:
    first, second = place.start(), place.start()

    assert first.session != second.session
    assert hosted_ledgers(place) == [LEDGER, f"conductor/sessions/active/{second.agent}/LEDGER.md"]


def hosted_ledgers(place: Place) -> list[str]:
    return [path for path in place.documents.list("") if path.endswith("LEDGER.md")]


@pytest.mark.requirement("C53")
def test_a_session_can_be_forced(hosted: Place) -> None:
    first = hosted.start()

    second = hosted.started(is_new=True)

    assert second.is_new
    assert second.account.start.ledger != first.start.ledger
    assert second.others == (first,)


@pytest.mark.requirement("R1", "R43", "C53")
def test_goal_now_and_next_are_carried_on_unless_a_fresh_start_is_asked_for(hosted: Place) -> None:
    first = hosted.start()
    for kind, text in (
        (FactKind.GOAL, "g"),
        (FactKind.NOW, "n"),
        (FactKind.NEXT, "a\nb"),
        (FactKind.DONE, "d"),
    ):
        first = hosted.say(first, kind, text).account
    end_session(hosted.project, first)

    second = hosted.start()
    assert second.goal is not None
    assert second.now is not None
    assert (second.goal.text, second.goal.provenance, second.now.text) == ("g", Provenance.STATED, "n")
    assert (second.goal.agent, second.goal.session) == (first.agent, first.session)
    assert [entry.text for entry in second.of(FactKind.NEXT)] == ["a", "b"]
    assert (second.start.continues, second.of(FactKind.DONE)) == (first.session, ())
    end_session(hosted.project, second)

    third = hosted.start(is_fresh=True)
    assert (third.goal, third.now, third.start.continues) == (None, None, second.session)


def test_a_session_goes_on_from_the_one_that_had_its_host_id(hosted: Place) -> None:
    for name in ("h-1", "h-2"):
        account = hosted.start(host_session=name)
        end_session(hosted.project, hosted.say(account, FactKind.GOAL, f"goal of {name}").account)

    resumed = hosted.start(host_session="h-1")

    assert resumed.goal is not None
    assert resumed.goal.text == "goal of h-1"


@pytest.mark.requirement("C82")
def test_what_a_dead_session_was_bound_to_goes_to_the_same_session_of_the_host_alone(place: Place) -> None:
    def die(name: str, **wanted: str) -> None:
        account = place.say(
            place.start(host_session=name, **wanted), FactKind.BINDING, "bd-7", "task"
        ).account
        place.say(account, FactKind.TDD, "RED")
        place.pass_time(hours=25)

    die("h-1", track="auth")
    other = place.start(host_session="h-2")
    assert (other.track, other.task, other.tdd) == ("", "", "")
    resumed = place.start(host_session="h-1")
    assert (resumed.track, resumed.task, resumed.tdd) == ("auth", "bd-7", "RED")
    end_session(place.project, resumed)
    ended = place.start(host_session="h-1")
    assert (ended.track, ended.task) == ("", "")

    die("h-3", track="auth")
    elsewhere = place.start(host_session="h-3", track="billing")
    assert (elsewhere.track, elsewhere.task, elsewhere.tdd) == ("billing", "", "")
    die("h-4", track="auth")
    same = place.start(host_session="h-4", track="auth")
    assert (same.track, same.task) == ("auth", "bd-7")
    die("h-5", track="auth")
    fresh = place.start(host_session="h-5", is_fresh=True)
    assert (fresh.track, fresh.task) == ("", "")


@pytest.mark.requirement("R51")
def test_a_session_without_a_known_process_is_stale_after_ten_minutes(place: Place) -> None:
    account = place.start()

    place.pass_time(minutes=10)
    assert is_live(place.project, account)
    place.pass_time(seconds=1)
    assert not is_live(place.project, account)
    assert list(list_live(place.project)) == []


@pytest.mark.requirement("R51", "C62")
def test_a_session_lives_and_dies_with_its_process(hosted: Place) -> None:
    account = hosted.start()

    hosted.pass_time(days=30)
    assert is_live(hosted.project, account)
    assert recover(hosted.project) == ()
    hosted.processes.alive[HOST] = False
    hosted.pass_time(days=-30)
    assert not is_live(hosted.project, account)


@pytest.mark.requirement("R12", "R50", "R52", "R219", "C9")
def test_a_heartbeat_keeps_a_session_alive_and_is_no_update(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    place.pass_time(minutes=9)
    account = touch(place.project, account)
    place.pass_time(minutes=9)

    assert is_live(place.project, account)
    ledger = parse_ledger(place.read())
    assert ledger.updated is not None
    assert ledger.heartbeat is not None
    assert (ledger.heartbeat - ledger.updated).total_seconds() == 540
    state = place.read(f".conductor/session-state_{account.agent}.json")
    assert '"lastUpdated": "2026-01-11T12:09:00Z"' in state


@pytest.mark.requirement("R37", "R237")
def test_an_end_publishes_lets_go_and_comes_once(hosted: Place) -> None:
    account = hosted.say(hosted.start(track="t-1"), FactKind.DONE, "a").account
    hosted.edit("- a\n", "- a\n- by hand\n")

    written = end_session(hosted.project, account, "clear")

    assert written is not None
    assert (written.event.this_session, written.event.track, written.event.reason) == (
        ("a", "by hand"),
        "t-1",
        "clear",
    )
    ended = read_account(hosted.project, account.session)
    assert (ended.end_reason, ended.is_published, ended.track) == ("clear", True, "")
    ledger = parse_ledger(hosted.read())
    assert (ledger.bound_track, ledger.bound_bead, ledger.task_track) == (None, None, None)
    assert '"trackId": null' in hosted.read(f".conductor/session-state_{account.agent}.json")
    assert end_session(hosted.project, account) is None
    assert len(events(hosted)) == 1


def test_a_session_that_never_ended_is_published_by_the_next_start_once(hosted: Place) -> None:
    account = hosted.say(hosted.start(), FactKind.DONE, "a").account
    hosted.edit("- a\n", "- a\n- by hand\n")
    hosted.processes.alive[HOST] = False
    hosted.processes.host = OTHER

    first, second = hosted.started(), hosted.started()

    assert [one.account.session for one in first.recovered] == [account.session]
    assert second.recovered == ()
    (event,) = events(hosted)
    assert (event.this_session, event.reason, event.type) == (("a", "by hand"), "recovered", "session_end")
    assert read_account(hosted.project, account.session).end_reason == "recovered"


@pytest.mark.requirement("C36")
def test_a_session_that_only_wrote_its_last_line_is_published_by_the_next_start(place: Place) -> None:
    account = place.say(place.start(track="t-1"), FactKind.DONE, "a").account
    append_fact(place.project, account, NewFact(FactKind.END, "logout"), Provenance.OBSERVED)

    (recovered,) = place.started().recovered

    assert recovered.written is not None
    assert (recovered.written.event.this_session, recovered.written.event.track) == (("a",), "t-1")
    assert read_account(place.project, account.session).end_reason == "logout"
    assert place.started(is_new=True).recovered == ()


def test_what_is_said_after_the_end_is_published_by_the_next_start(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    end_session(place.project, account)
    append_fact(place.project, account, NewFact(FactKind.DONE, "late"))

    (recovered,) = place.started().recovered

    assert recovered.written is not None
    assert recovered.written.event.this_session == ("late",)
    assert place.started(is_new=True).recovered == ()


def test_a_session_that_said_nothing_is_ended_without_an_event(place: Place) -> None:
    place.start()
    place.pass_time(hours=25)

    (recovered,) = place.started().recovered

    assert (recovered.written, place.events()) == (None, [])


def test_a_session_is_recovered_from_another_checkout_and_its_ledger_there_is_left_alone(
    place: Place,
) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    before = place.read()
    other = make_place(place.project.journals, root="/other", entropy=10)  # type: ignore[arg-type]  # in memory
    other.pass_time(hours=25)
    place.pass_time(hours=25)

    started = other.started()

    assert [one.account.session for one in started.recovered] == [account.session]
    assert [event.this_session for event in events(other)] == [("a",)]
    assert (place.read(), place.events(), place.started().recovered) == (before, [], ())


def test_a_dead_session_does_not_touch_a_ledger_that_is_no_longer_its_own(place: Place) -> None:
    place.say(place.start(), FactKind.DONE, "a")
    place.pass_time(hours=25)
    foreign = "---\nupdated: 2026-01-11T12:00:00Z\nsession_id: T-abc\nplatform: amp\n---\n# Session Ledger\n"
    place.write(foreign)

    (recovered,) = recover(place.project)

    assert recovered.written is not None
    assert place.read() == foreign


class Unwilling(MemoryJournals):
    """Journals that take no more lines."""

    is_full = False

    def extend(
        self, session: str, make: Callable[[int], Sequence[JournalLine]], *, alone: bool = False
    ) -> Sequence[JournalLine]:
        """Refuse."""
        if self.is_full:
            raise StorageError("could not write", hint="Free some space.")
        return super().extend(session, make, alone=alone)


def test_a_session_that_cannot_be_recovered_now_is_left_for_later() -> None:
    journals = Unwilling()
    place = make_place(journals)
    place.say(place.start(), FactKind.DONE, "a")
    place.pass_time(hours=25)
    journals.is_full = True

    assert recover(place.project) == ()
    journals.is_full = False
    assert len(recover(place.project)) == 1
    assert len({event.id for event in events(place)}) == 1


def test_of_two_who_recover_at_the_same_moment_one_publishes(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    place.pass_time(hours=25)

    class Racing(MemoryJournals):
        """Journals in which another start is faster, just before the lock."""

        def extend(
            self, session: str, make: Callable[[int], Sequence[JournalLine]], *, alone: bool = False
        ) -> Sequence[JournalLine]:
            recover(place.project)
            return place.project.journals.extend(session, make, alone=alone)

        def sessions(self, scope: Scope) -> list[str]:
            return list(place.project.journals.sessions(scope))

        def read(self, session: str) -> list[JournalLine]:
            return list(place.project.journals.read(session))

        def last(self, session: str) -> JournalLine | None:
            return place.project.journals.last(session)

    slow = replace(place.project, journals=Racing())

    assert recover(slow) == ()
    assert len(events(place)) == 1
    assert end_session(slow, account) is None
    assert len(events(place)) == 1


def test_a_start_sweeps_first(place: Place) -> None:
    swept: list[bool] = []

    def sweep() -> int:
        swept.append(not place.project.journals.sessions(Scope.ALL))
        return 0

    start_session(replace(place.project, sweep=sweep), StartRequest())

    assert swept == [True]


class Broken(MemoryIndex):
    """A cache that cannot be used."""

    ends = False

    @contextmanager
    def changing(self) -> Generator[None, None, None]:
        """Fail at the beginning or at the end."""
        if not self.ends:
            raise CacheError("the cache cannot be used")
        yield
        raise CacheError("the cache cannot be used")


@pytest.mark.parametrize("ends", [False, True])
def test_a_session_starts_though_the_cache_cannot_be_used(place: Place, *, ends: bool) -> None:
    index = Broken()
    index.ends = ends

    started = start_session(with_parts(place, index=index), StartRequest())

    assert started.is_new
    assert parse_ledger(place.read()).session_id == started.account.session


@pytest.mark.requirement("C51")
def test_a_command_means_the_session_that_is_named(place: Place) -> None:
    one, two = place.start(host_session="h-1"), place.start(host_session="h-2")

    for wanted in (one.session, one.agent, "h-1"):
        found = find_session(place.project, wanted, [two.session])
        assert found is not None
        assert found.session == one.session
    with pytest.raises(UsageError, match="there is no session nobody"):
        find_session(place.project, "nobody")
    end_session(place.project, one)
    with pytest.raises(UsageError, match="has ended"):
        find_session(place.project, one.agent)


@pytest.mark.requirement("C51")
@pytest.mark.parametrize(
    "name",
    [
        "PASSDOWN_SESSION",
        "CLAUDE_CODE_SESSION_ID",
        "CODEX_SESSION_ID",
        "CODEX_THREAD_ID",
        "COPILOT_AGENT_SESSION_ID",
        "AGENT_ID",
        "THREAD_ID",
    ],
)
def test_a_command_means_the_session_that_the_environment_names(place: Place, name: str) -> None:
    one, two = place.start(host_session="h-1"), place.start(host_session="h-2")

    for value in (one.session, "h-1"):
        found = find_session(place.project, "", HOSTS.session_ids({name: value, "X": "y"}))
        assert found is not None
        assert found.session == one.session
    end_session(place.project, one)
    found = find_session(place.project, "", HOSTS.session_ids({name: "h-1"}))
    assert found is not None
    assert found.session == two.session


@pytest.mark.requirement("C51")
def test_a_command_means_the_only_session_here(place: Place) -> None:
    assert find_session(place.project, "") is None
    one = place.start()
    other = make_place(place.project.journals, root="/other", entropy=10)  # type: ignore[arg-type]  # in memory
    other.start()

    found = find_session(place.project, "", ["unknown"])
    assert found is not None
    assert found.session == one.session
    two = place.start()
    with pytest.raises(UsageError, match=f"{one.session} .*{two.session}"):
        find_session(place.project, "")
    place.pass_time(hours=25)
    assert find_session(place.project, "") is None


def test_a_session_that_goes_on_does_not_read_a_transcript_again_nor_take_a_prompt_for_what_was_stated(
    place: Place,
) -> None:
    first = place.say(place.start(host_session="h-1"), FactKind.NOW, "writing tests").account
    fact = make_fact(place.project, first, NewFact(FactKind.BOOKMARK, "t.jsonl"), Provenance.OBSERVED)
    mark = fact._replace(others=((MARK, '{"offset":7}'),))
    write_fact(place.project, first.session, mark)
    end_session(place.project, read_account(place.project, first.session))

    second = place.start(host_session="h-1")
    append_fact(place.project, second, NewFact(FactKind.NOW, "go on", PROMPTED), Provenance.OBSERVED)

    known = read_account(place.project, second.session)
    assert known.bookmarks == {"t.jsonl": '{"offset":7}'}
    assert known.now is not None
    assert known.now.text == "writing tests"
    append_fact(place.project, second, NewFact(FactKind.NOW, "another thing"))
    known = read_account(place.project, second.session)
    assert known.now is not None
    assert known.now.text == "another thing"


def test_preferences_that_cannot_be_read_say_nothing() -> None:
    place = make_place()
    place.write('{"preferredMode": "MA"}', ".conductor/preferences.json")

    class Unreadable(MemoryDocuments):
        """Documents of which one is there and cannot be read."""

        def exists(self, path: str) -> bool:
            """Say that it is there."""
            return path == ".conductor/preferences.json" or super().exists(path)

        def read(self, path: str, *, settled: bool = False) -> bytes:
            """Refuse."""
            if path == ".conductor/preferences.json":
                raise StorageError("no", hint="no")
            return super().read(path, settled=settled)

    project = with_parts(place, documents=Unreadable())

    assert start_session(project, StartRequest()).account.start.mode == "SA"
    assert place.start().start.mode == "MA"


def test_a_session_is_ended_from_another_checkout_and_its_ledger_there_stays(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    other = make_place(place.project.journals, root="/other", entropy=10)  # type: ignore[arg-type]  # in memory

    end_session(other.project, account)

    assert read_account(place.project, account.session).is_published
    assert "a" in place.read()
