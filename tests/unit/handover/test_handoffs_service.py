"""A handoff is written in all its forms, found again, compared with what is here, and gone on from."""

import pytest

from passdown.core.facts import Provenance
from passdown.core.formats.archives import parse_archive
from passdown.core.formats.streams import parse_stream
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.errors import FormatError, PassdownError, UsageError
from passdown.ports.repository import Committed
from passdown.records import replace
from passdown.services.handover.handoffs import (
    HandoffRequest,
    create_handoff,
    find_handoff,
    list_handoffs,
    list_sessions,
    resume_handoff,
    review_handoff,
)
from passdown.services.handover.streams import read_text
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME
from passdown.testing.memory.documents import MemoryDocuments
from tests.support.sessions import LEDGER, Place, end_session, make_place, with_parts
from tests.unit.sessions.test_archives_service import ToldHistory

STREAM = "thoughts/shared/handoffs/auth/current.md"
RECORD = "conductor/sessions/archive/2026-01-11-12-00-manual-generic-00000001.md"


def work(place: Place, **request: object) -> Account:
    """Start a session that knows something."""
    account = place.start(**request)
    place.write("print()\n", "src/auth.py")
    for kind, text, key in (
        (FactKind.GOAL, "sign in", ""),
        (FactKind.NOW, "logout", ""),
        (FactKind.DONE, "model", ""),
        (FactKind.NEXT, "docs\nrelease", ""),
        (FactKind.DECISION, "Redis", "store"),
        (FactKind.CONSTRAINT, "no JWT", ""),
        (FactKind.QUESTION, "why?", ""),
        (FactKind.TEST, "pytest -q", "0"),
        (FactKind.FILE, "src/auth.py", ""),
    ):
        account = place.say(account, kind, text, key).account
    return account


def with_history(place: Place) -> Workspace:
    """Give the project with a repository that tells of its commits."""
    return with_parts(place, history=ToldHistory())


@pytest.mark.requirement("R53", "R55", "R57", "R58", "G1", "C19")
def test_a_handoff_is_event_stream_document_and_record() -> None:
    place = make_place()
    account = work(place)
    place.write("", FILE_NAME)

    handoff = create_handoff(place.project, account, HandoffRequest(stream="auth"))

    assert (handoff.stream, handoff.record) == (STREAM, RECORD)
    assert handoff.written is not None
    assert (handoff.written.event.type, handoff.written.event.reason) == ("handoff", "manual")
    assert parse_stream(place.read(STREAM)).goal == "sign in"
    assert parse_archive(place.read(RECORD)).summary == "sign in"
    assert place.documents.exists(LEDGER)
    assert isinstance(handoff.committed, Committed)
    assert {STREAM, RECORD} <= set(handoff.committed.paths)


@pytest.mark.requirement("R33")
def test_without_a_name_the_stream_is_that_of_the_track() -> None:
    place = make_place()
    account = work(place, track="Sign In")

    assert create_handoff(place.project, account, HandoffRequest()).stream.endswith("/sign-in/current.md")


def test_without_name_track_and_goal_there_is_no_stream_document() -> None:
    place = make_place()
    account = place.start()

    handoff = create_handoff(place.project, account, HandoffRequest())

    assert handoff.stream == ""
    assert place.documents.exists(handoff.record)


@pytest.mark.requirement("R59")
@pytest.mark.parametrize("name", ["Sign In", "events", "archive"])
def test_a_name_that_is_not_kebab_case_or_taken_is_refused(name: str) -> None:
    place = make_place()
    account = work(place)

    with pytest.raises(UsageError) as refused:
        create_handoff(place.project, account, HandoffRequest(stream=name))

    assert refused.value.hint
    assert place.events() == []


@pytest.mark.requirement("R57", "R74", "R75")
def test_a_document_that_is_there_is_updated() -> None:
    place = make_place()
    account = work(place)
    create_handoff(place.project, account, HandoffRequest(stream="auth"))
    place.edit("Full context to be added.", "All of it is here.", STREAM)
    place.pass_time(minutes=5)
    account = place.say(account, FactKind.NOW, "release").account

    create_handoff(place.project, account, HandoffRequest(stream="auth"))

    stream = parse_stream(place.read(STREAM))
    assert stream.now == "release"
    assert "All of it is here." in stream.context
    assert stream.updated == place.clock.at


@pytest.mark.parametrize("text", [b"---\ndate: x\n---\n\n# Work Stream: auth\n", b"\xff"])
def test_a_document_that_cannot_be_read_is_refused_before_anything_is_written(text: bytes) -> None:
    place = make_place()
    account = work(place)
    place.documents.replace(STREAM, text)

    with pytest.raises(PassdownError):
        create_handoff(place.project, account, HandoffRequest(stream="auth"))

    assert place.documents.read(STREAM) == text
    assert place.events() == []
    assert not place.documents.exists(RECORD)


def test_a_document_that_somebody_makes_at_the_same_moment_is_updated() -> None:
    place = make_place()
    account = work(place)

    class Racing(MemoryDocuments):
        def create(self, path: str, data: bytes) -> bool:
            if path == STREAM and not self.exists(path):
                self.replace(path, data.replace(b"Full context", b"Their context"))
                return False
            return super().create(path, data)

    racing = Racing({name: place.documents.read(name) for name in place.documents.list("")})
    project = with_parts(place, documents=racing)

    create_handoff(project, account, HandoffRequest(stream="auth"))

    assert b"Their context" in racing.read(STREAM)


def test_a_session_that_ended_can_be_handed_over() -> None:
    place = make_place()
    account = work(place)
    end_session(place.project, account)

    handoff = create_handoff(place.project, replace(account, ended_at=place.clock.at), HandoffRequest())

    assert handoff.written is None
    assert handoff.handoff.goal == "sign in"


@pytest.mark.requirement("G1")
def test_handoffs_are_listed_the_newest_first() -> None:
    place = make_place()
    account = work(place)
    create_handoff(place.project, account, HandoffRequest(stream="auth"))
    place.pass_time(hours=1)
    create_handoff(place.project, account, HandoffRequest(trigger="milestone"))
    place.write("---\nformat: 9\n---\n", "conductor/sessions/archive/2026-01-01-00-00-stale.md")
    place.write("no date", "thoughts/shared/handoffs/bare/current.md")
    place.write("other", "conductor/sessions/archive/README.md")
    place.write("other", "thoughts/shared/handoffs/no-document/notes.md")

    found = list_handoffs(place.project, 10)

    assert [(one.name, one.kind, one.status) for one in found] == [
        ("auth", "stream", "active"),
        ("2026-01-11-13-00-milestone-generic-00000001", "archive", "handoff"),
        ("2026-01-11-12-00-manual-generic-00000001", "archive", "complete"),
        ("2026-01-01-00-00-stale", "archive", "unreadable"),
        ("bare", "stream", ""),
    ]
    assert found[0].goal == "sign in"
    assert list_handoffs(place.project, 1) == found[:1]
    assert list_handoffs(place.project, 10, has_sessions=False) == [*found[:3], found[4]]
    assert list_sessions(place.project, 10) == ([found[3]], 0)


def test_the_records_of_ended_sessions_are_listed_apart_and_earlier_ones_counted() -> None:
    place = make_place()
    for name in (
        "2026-01-01-00-00-stale",
        "2026-01-02-00-00-session-end-amber-00000001",
        "2026-01-03-00-00-idle",
    ):
        place.write("# Session Handoff\n", f"conductor/sessions/archive/{name}.md")

    names = [one.name for one in list_sessions(place.project, None)[0]]

    assert names == ["2026-01-02-00-00-session-end-amber-00000001", "2026-01-01-00-00-stale"]
    assert list_sessions(place.project, 1)[1] == 1
    handoffs = list_handoffs(place.project, 1, has_sessions=False)
    assert [one.name for one in handoffs] == ["2026-01-03-00-00-idle"]


def test_a_record_without_status_and_date_is_listed_by_its_name() -> None:
    place = make_place()
    place.write("# Session Handoff\n", "conductor/sessions/archive/2026-01-01-00-00-stale.md")

    found = list_handoffs(place.project, 10)[0]

    assert (found.status, found.at is not None) == ("", True)


def test_a_handoff_is_found_by_its_name_the_start_of_it_or_its_path() -> None:
    place = make_place()
    account = work(place)
    create_handoff(place.project, account, HandoffRequest(stream="auth"))
    place.pass_time(seconds=1)
    create_handoff(place.project, account, HandoffRequest())

    assert find_handoff(place.project, "auth").path == STREAM
    assert find_handoff(place.project, STREAM).path == STREAM
    assert find_handoff(place.project, RECORD).path == RECORD
    name = "2026-01-11-12-00-manual-generic-00000001"
    assert find_handoff(place.project, name).path == RECORD
    assert find_handoff(place.project, f"{name}-").name == f"{name}-2"
    assert read_text(place.project, find_handoff(place.project, "auth").path) == place.read(STREAM)
    for name in ("none", ""):
        with pytest.raises(UsageError, match="no handoff"):
            find_handoff(place.project, name)
    with pytest.raises(UsageError, match="is ambiguous"):
        find_handoff(place.project, "2026-01")


@pytest.mark.requirement("G18")
@pytest.mark.parametrize("name", ["auth", "2026-01-11-12-00-manual"])
def test_what_has_drifted_is_said_before_anybody_goes_on(name: str) -> None:
    place = make_place()
    project = with_history(place)
    create_handoff(project, work(place), HandoffRequest(stream="auth"))
    place.write("print(1)\n", "src/auth.py")
    place.pass_time(hours=25)

    drift = review_handoff(project, name).drift

    assert (drift.commits, drift.changed, drift.is_old) == (2, ("src/auth.py",), True)
    assert (drift.test, drift.test_then, drift.test_now) == ("pytest -q", 0, None)


def test_nothing_is_run_unless_asked_and_nothing_is_known_without_history() -> None:
    place = make_place()
    create_handoff(place.project, work(place), HandoffRequest(stream="auth"))

    drift = review_handoff(place.project, "auth").drift

    assert drift.is_clean
    assert (drift.commits, drift.test_now) == (None, None)


def test_a_handoff_that_cannot_be_read_is_refused() -> None:
    place = make_place()
    place.write("---\nformat: 9\n---\n", "conductor/sessions/archive/2026-01-11-12-00-stale.md")

    with pytest.raises(FormatError):
        review_handoff(place.project, "2026-01-11-12-00-stale")


@pytest.mark.requirement("G18")
def test_a_new_session_goes_on_with_what_was_passed_on() -> None:
    place = make_place()
    account = work(place, track="auth")
    create_handoff(place.project, account, HandoffRequest())
    end_session(place.project, account)

    resumed = resume_handoff(place.project, review_handoff(place.project, "2026-01-11-12-00-manual"), None)

    now = resumed.account
    assert resumed.is_new
    assert now.session != account.session
    assert now.goal is not None
    assert (now.goal.text, now.goal.provenance) == ("sign in", Provenance.STATED)
    assert [one.text for one in now.of(FactKind.NEXT)] == ["docs", "release"]
    assert [one.key for one in now.of(FactKind.DECISION)] == ["store"]
    assert [one.text for one in now.of(FactKind.CONSTRAINT)] == ["Ruled out: no JWT"]
    assert [one.text for one in now.of(FactKind.QUESTION)] == ["why?"]
    assert now.track == "auth"
    assert "sign in" in place.read(now.start.ledger)


def test_resuming_twice_is_resuming_once() -> None:
    place = make_place()
    create_handoff(place.project, work(place), HandoffRequest(stream="auth"))
    other = make_place()
    other.write(place.read(STREAM), STREAM)
    review = review_handoff(other.project, "auth")
    first = resume_handoff(other.project, review, None)

    again = resume_handoff(other.project, review, first.account)

    assert (first.carried, again.carried) == (6, 0)
    assert not again.is_new
    assert again.account.lists == first.account.lists


def test_what_a_session_stated_itself_is_not_overruled() -> None:
    place = make_place()
    create_handoff(place.project, work(place), HandoffRequest(stream="auth"))
    other = make_place()
    other.write(place.read(STREAM), STREAM)
    account = other.say(other.start(), FactKind.GOAL, "my own goal").account

    resumed = resume_handoff(other.project, review_handoff(other.project, "auth"), account)

    assert resumed.account.goal is not None
    assert resumed.account.goal.text == "my own goal"


def test_what_sessions_before_decided_is_passed_on_too() -> None:
    place = make_place()
    first = work(place)
    place.say(first, FactKind.DECISION, "Postgres", "database")
    end_session(place.project, first)
    account = place.start()
    place.say(account, FactKind.RETRACTION, "no JWT", FactKind.CONSTRAINT.value)
    account = place.say(account, FactKind.DECISION, "SQLite after all", "database").account

    create_handoff(place.project, account, HandoffRequest(stream="auth"))

    stream = parse_stream(place.read(STREAM))
    assert [(one.key, one.value) for one in stream.decisions] == [
        ("store", "Redis"),
        ("database", "SQLite after all"),
    ]
    assert [one.text for one in stream.questions] == ["why?"]


def test_one_that_begins_afresh_passes_on_what_it_knows_itself() -> None:
    place = make_place()
    end_session(place.project, work(place))
    account = place.start(is_fresh=True)
    account = place.say(account, FactKind.GOAL, "another").account

    create_handoff(place.project, account, HandoffRequest(stream="auth"))

    assert parse_stream(place.read(STREAM)).decisions == ()


def test_what_was_before_a_fresh_beginning_is_not_passed_on() -> None:
    place = make_place()
    end_session(place.project, work(place))
    fresh = place.start(is_fresh=True)
    place.say(fresh, FactKind.DECISION, "SQLite", "database")
    end_session(place.project, fresh)
    account = place.say(place.start(), FactKind.GOAL, "another").account

    create_handoff(place.project, account, HandoffRequest(stream="auth"))

    assert [one.key for one in parse_stream(place.read(STREAM)).decisions] == ["database"]
