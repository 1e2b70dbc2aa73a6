"""What is open is published once; the end of a turn publishes when it is worth it."""

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from passdown.core.facts import Provenance
from passdown.core.formats.events import parse_event
from passdown.core.formats.journal import JournalLine, Scope
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import NewFact
from passdown.errors import StorageError
from passdown.ports.repository import UNKNOWN
from passdown.records import replace
from passdown.services.sessions.journals import append_fact
from passdown.services.sessions.publications import publish
from passdown.services.sessions.unpublished import is_due
from passdown.settings import EventLayout, EventSettings, Settings
from passdown.testing.memory.journals import MemoryJournals
from tests.support.sessions import Place, end_session, make_place, with_parts

QUARTER = timedelta(minutes=15)


@pytest.fixture
def place() -> Place:
    """Give an empty project."""
    return make_place()


@pytest.mark.requirement("G15", "C57")
def test_what_is_open_is_published_once(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account

    first = publish(place.project, account.session, kind="checkpoint", reason="asked")
    second = publish(place.project, account.session, kind="checkpoint", reason="asked")

    assert first is not None
    assert second is None
    (text,) = place.events()
    event = parse_event(text)
    assert (event.this_session, event.session, event.covers, event.branch) == (
        ("a",),
        account.session,
        "1-2",
        "main",
    )
    place.say(account, FactKind.DONE, "b")
    third = publish(place.project, account.session, kind="checkpoint", reason="asked")
    assert third is not None
    assert (third.event.covers, third.event.this_session) == ("3-3", ("b",))


def test_an_event_lies_in_the_folder_of_its_day_where_that_is_set(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    by_day = with_parts(place, settings=Settings(events=EventSettings(layout=EventLayout.DAY)))

    written = publish(by_day, account.session, kind="checkpoint", reason="asked")

    assert written is not None
    assert written.folder == "2026-01-11"


def test_a_session_at_work_here_names_the_branch_it_is_on_now(place: Place) -> None:
    account = place.start()
    for branch in ("feat", UNKNOWN):
        place.say(account, FactKind.DONE, branch)
        place.repository.current = branch
        written = publish(place.project, account.session, kind="checkpoint", reason="asked")
        assert written is not None
        assert written.event.branch == branch


def test_a_session_that_ended_or_works_elsewhere_keeps_the_branch_it_began_on(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    other = make_place(place.project.journals, root="/other")  # type: ignore[arg-type]  # in memory
    other.repository.current = "feat"

    elsewhere = publish(other.project, account.session, kind="session_end", reason="recovered")
    end_session(place.project, account)
    append_fact(place.project, account, NewFact(FactKind.DONE, "late"))
    place.repository.current = "feat"
    ended = publish(place.project, account.session, kind="session_end", reason="recovered")

    assert elsewhere is not None
    assert ended is not None
    assert (elsewhere.event.branch, ended.event.branch) == ("main", "main")


@pytest.mark.requirement("C57")
def test_a_turn_publishes_when_something_stated_is_open_and_the_last_event_is_old(place: Place) -> None:
    account = place.start()
    session = account.session
    assert not is_due(place.project, session, QUARTER)
    append_fact(place.project, account, NewFact(FactKind.FILE, "a.py"), Provenance.OBSERVED)
    assert not is_due(place.project, session, QUARTER)

    place.say(account, FactKind.DONE, "a")
    assert is_due(place.project, session, QUARTER)
    publish(place.project, session, kind="checkpoint", reason="turn")
    place.pass_time(minutes=20)
    assert not is_due(place.project, session, QUARTER)
    place.say(account, FactKind.DONE, "b")
    publish(place.project, session, kind="checkpoint", reason="turn")
    place.say(account, FactKind.DONE, "c")

    place.pass_time(minutes=14, seconds=59)
    assert not is_due(place.project, session, QUARTER)
    place.pass_time(seconds=1)
    assert is_due(place.project, session, QUARTER)


def test_an_event_that_cannot_be_written_leaves_its_facts_open(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account

    def refuse(folder: str, name: str, data: bytes) -> bool:
        raise OSError(folder, name, data)

    broken = with_parts(place, log=replace_create(place, refuse))

    with pytest.raises(OSError, match=account.agent):
        publish(broken, account.session, kind="checkpoint", reason="asked")
    assert publish(place.project, account.session, kind="checkpoint", reason="asked") is not None


def replace_create(place: Place, create: object) -> object:
    """Give the log with another way to create."""
    log = make_place().log
    log.create = create  # type: ignore[method-assign,assignment]
    assert place.events() == []
    return log


def test_publishing_does_not_change_the_account(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    before = list(place.project.journals.read(account.session))

    publish(place.project, account.session, kind="checkpoint", reason="asked")

    assert list(place.project.journals.read(account.session)) == before
    assert replace(account) == account


@pytest.mark.requirement("G18")
def test_a_secret_never_reaches_an_event(place: Place) -> None:
    token = "ghp_" + "Zx9Kq2Lm7Vb4Nc1Rt6Yp3Ws8Dh5Jf0Ga2Eb7"[:36]
    account = place.say(place.start(), FactKind.DONE, f"pushed with {token}").account

    publish(place.project, account.session, kind="checkpoint", reason="asked")

    (text,) = place.events()
    assert token not in text
    assert "[redacted: " in text


def test_a_receipt_that_was_taken_back_before_it_was_published_is_not_published(place: Place) -> None:
    account = place.say(place.start(), FactKind.RECEIPT, "deployed").account
    append_fact(place.project, account, NewFact(FactKind.RETRACTION, "deployed", FactKind.RECEIPT.value))
    append_fact(place.project, account, NewFact(FactKind.DONE, "rolled back"))

    written = publish(place.project, account.session, kind="checkpoint", reason="asked")

    assert written is not None
    assert written.event.receipts == ()
    assert written.event.this_session == ("rolled back",)


@pytest.mark.requirement("C57")
def test_what_is_said_while_an_event_is_built_waits_for_the_next_one(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account
    notes: list[bool] = []

    class Watched(MemoryJournals):
        def extend(
            self, session: str, make: Callable[[int], Sequence[JournalLine]], *, alone: bool = False
        ) -> Sequence[JournalLine]:
            notes.append(alone)
            return place.project.journals.extend(session, make, alone=alone)

    watched = Watched()
    watched.read = place.project.journals.read  # type: ignore[method-assign]
    watched.last = place.project.journals.last  # type: ignore[method-assign]

    written = publish(with_parts(place, journals=watched), account.session, kind="checkpoint", reason="asked")

    assert written is not None
    assert notes == [True]


def test_a_session_without_a_journal_has_nothing_to_publish(place: Place) -> None:
    assert publish(place.project, "s-none", kind="checkpoint", reason="asked") is None
    assert "s-none" not in place.project.journals.sessions(Scope.ALL)


@pytest.mark.requirement("C57")
def test_a_journal_that_is_in_use_is_published_by_whoever_is_next(place: Place) -> None:
    account = place.say(place.start(), FactKind.DONE, "a").account

    class Busy(MemoryJournals):
        def extend(
            self, session: str, make: Callable[[int], Sequence[JournalLine]], *, alone: bool = False
        ) -> Sequence[JournalLine]:
            raise StorageError(f"the journal of {session} is in use ({make}, {alone})")

    busy = Busy()
    busy.last = place.project.journals.last  # type: ignore[method-assign]

    with pytest.raises(StorageError, match="in use"):
        publish(with_parts(place, journals=busy), account.session, kind="checkpoint", reason="asked")
    assert place.events() == []
    assert publish(place.project, account.session, kind="checkpoint", reason="asked") is not None
