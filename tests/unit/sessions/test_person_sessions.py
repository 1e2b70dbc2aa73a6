"""The session of a person, beside those of agents: whose it is, how long it lasts, and who is unknown."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from passdown.core.facts import TO, Fact, Provenance, address, read_readers
from passdown.core.formats.events import render_event
from passdown.core.formats.origins import parse_origins, render_origins
from passdown.core.ids import event_file_name, name_person
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account, HostProcess
from passdown.engines.memory.event_log import MemoryEventLog
from passdown.services.sessions.journals import read_account
from passdown.services.sessions.liveness import (
    Liveness,
    find_above,
    find_person_session,
    find_session,
    judge_liveness,
    list_here,
)
from passdown.services.sessions.said_facts import publish_said
from passdown.services.sessions.sessions import recover, start_person_session
from passdown.testing.memory.git_history import MemoryHistory
from tests.support.projects import LOCAL, make_event
from tests.support.sessions import NOON, Place, make_place, with_parts

SHELL = HostProcess(71, "100", "b")
OTHER = HostProcess(72, "100", "b")


@pytest.fixture
def place() -> Place:
    """Give an empty project of Ada's, in which nobody knows processes."""
    found = make_place()
    known = found.project.commit_contents
    assert isinstance(known, MemoryHistory)
    known.author = "Ada Lovelace"
    return found


@pytest.mark.requirement("C122", through="inside")
@pytest.mark.parametrize(
    ("name", "nickname"),
    [("Ada Lovelace", "ada-lovelace"), ("José", "jose"), ("李", "person"), ("", "person")],
)
def test_a_person_is_called_as_git_knows_them(name: str, nickname: str) -> None:
    assert name_person(name) == nickname


@pytest.mark.requirement("C122", through="inside")
def test_a_person_has_one_session_a_checkout_until_a_day_of_silence(place: Place) -> None:
    agent = place.start()
    first = start_person_session(place.project)

    assert first.agent.startswith("ada-lovelace-")
    assert (first.start.host, first.start.kind, first.start.is_person) == ("generic", "person", True)
    assert first.start.ledger != agent.start.ledger
    assert start_person_session(place.project).session == first.session
    place.pass_time(hours=24)
    assert judge_liveness(place.project, first) is Liveness.LIVE
    place.pass_time(seconds=1)
    assert find_person_session(place.project) is None
    assert start_person_session(place.project).session != first.session


@pytest.mark.requirement("C122", "C51", through="inside")
def test_a_person_is_no_peer_and_no_session_that_an_agent_means_or_continues(place: Place) -> None:
    person = start_person_session(place.project)

    started = place.started(host_session="h-1", host="claude")

    assert (started.others, started.account.start.mode) == ((), "SA")
    assert started.account.start.ledger == "conductor/sessions/active/LEDGER.md"
    assert [one.session for one in list_here(place.project)] == [started.account.session]
    assert find_session(place.project, "") == read_account(place.project, started.account.session)
    place.pass_time(hours=25)
    recover(place.project)
    assert place.start().start.continues == started.account.session
    assert start_person_session(place.project).start.continues == person.session


@pytest.mark.requirement("C123", through="inside")
def test_a_silent_session_whose_process_nobody_knows_is_unknown_and_not_ended(place: Place) -> None:
    account = place.start(host_session="h-1", host="claude")
    place.pass_time(minutes=10, seconds=1)

    assert judge_liveness(place.project, account) is Liveness.UNKNOWN
    assert recover(place.project) == ()
    started = place.started(host="codex", host_session="x-1")
    assert (started.recovered, started.others) == ((), ())
    assert started.account.start.ledger != account.start.ledger
    assert place.start(host_session="h-1", host="claude").session == account.session
    place.pass_time(hours=24, seconds=1)
    assert judge_liveness(place.project, read_account(place.project, account.session)) is Liveness.STALE
    assert {one.account.session for one in recover(place.project)} == {
        account.session,
        started.account.session,
    }
    assert judge_liveness(place.project, read_account(place.project, account.session)) is Liveness.ENDED


@pytest.mark.requirement("C51", "C122", through="inside")
def test_the_session_whose_process_called_is_meant_if_it_is_the_only_one(place: Place) -> None:
    def begin(process: HostProcess) -> Account:
        place.processes.host, place.processes.alive[process] = process, True
        return place.start(is_new=True)

    assert find_above(place.project, [71]) is None
    one, other = begin(SHELL), begin(OTHER)

    found = [find_above(place.project, pids) for pids in ([5, 71, 72], [72], [5], [])]

    assert [account and account.session for account in found] == [one.session, other.session, None, None]
    begin(SHELL)
    assert find_above(place.project, [71, 72]) is None


@pytest.mark.requirement("C122", through="inside")
@pytest.mark.parametrize(
    ("known", "readers"),
    [
        ([], ("amber-00000001",)),
        ([("birch-00000002",)], ("birch-00000002", "amber-00000001")),
        ([("amber-00000001",)], ("amber-00000001",)),
        ([("birch-00000002",), ()], ()),
    ],
)
def test_feedback_for_one_agent_is_for_those_who_were_told_the_same_too(
    known: Sequence[tuple[str, ...]], readers: tuple[str, ...]
) -> None:
    assert read_readers(address("amber-00000001", known)) == readers


@pytest.mark.requirement("C122", through="inside")
def test_an_event_says_for_whom_feedback_is() -> None:
    fact = Fact(FactKind.FEEDBACK, "Hm", NOON, "ada-00000009", others=address("amber-00000001"), seq=3)
    fact = fact._replace(provenance=Provenance.STATED)

    ((key, text),) = render_origins([("feedback", [fact])], "ada-00000009")
    (origin,) = parse_origins([(key, text)])["feedback"]

    assert text.endswith(" to amber-00000001")
    assert origin is not None
    assert (origin.to, read_readers(origin.members)) == (("amber-00000001",), ("amber-00000001",))
    (odd,) = parse_origins([(key, text.replace("amber-00000001", "all of you"))])["feedback"]
    assert odd is not None
    assert odd.to == ()
    assert (fact.to, fact._replace(others=((TO, '""'),)).to) == (("amber-00000001",), ())


@pytest.mark.requirement("C122", through="inside")
def test_what_a_person_says_is_published_at_once_and_only_once(place: Place) -> None:
    person = start_person_session(place.project)
    assert publish_said(place.project, person.session, may_commit=False) == ()
    assert place.events() == []
    place.say(person, FactKind.DONE, "Chose a footer")

    for _ in range(2):
        assert [*publish_said(place.project, person.session, may_commit=False)] == []

    (event,) = place.events()
    assert "Chose a footer" in event
    assert "Chose a footer" in place.read(LOCAL)
    assert place.repository.commits == []


@pytest.mark.requirement("C122", through="inside")
def test_where_not_all_events_are_read_a_person_s_words_are_published_and_the_view_waits(
    place: Place,
) -> None:
    class Hurried(MemoryEventLog):
        def may_read(self, events: int = 0) -> bool:
            del events
            return False

    hurried = Hurried()
    at = NOON - timedelta(days=3)
    other = make_event(f"{at:%Y-%m-%dT%H:%M:%SZ}", "crane-00000009", this_session=("old",))
    assert hurried.create("", event_file_name(at, "crane-00000009"), render_event(other).encode())
    slow = with_parts(place, log=hurried)
    person = start_person_session(slow)
    place.say(person, FactKind.FEEDBACK, "The footer is wrong")

    assert [*publish_said(slow, person.session, may_commit=True)] == []

    assert len(hurried.files("")) == 2
    assert not place.documents.exists(LOCAL)
    assert place.repository.commits == []
