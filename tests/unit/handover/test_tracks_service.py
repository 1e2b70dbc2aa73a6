"""A session works on one track at a time; leaving it hands over first."""

import pytest

from passdown.core.formats.archives import parse_archive
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account
from passdown.errors import FormatError, UsageError
from passdown.services.handover.tracks import bind_task, bind_track, find_document, finish_track, unbind_track
from passdown.services.sessions.journals import read_account
from tests.support.sessions import LEDGER, Place, make_place

STREAM = "thoughts/shared/handoffs/auth/current.md"


def work(place: Place) -> Account:
    """Start a session on a track with a task."""
    account = bind_track(place.project, place.start(), "auth").account
    account = bind_task(place.project, account, "t-1")
    for kind, text in ((FactKind.GOAL, "sign in"), (FactKind.NOW, "logout"), (FactKind.NEXT, "a\nb")):
        account = place.say(account, kind, text).account
    return place.say(account, FactKind.DONE, "model").account


@pytest.mark.requirement("R33", "R41")
def test_binding_writes_the_track_and_no_task() -> None:
    place = make_place()

    bound = bind_track(place.project, place.start(), " auth ")

    assert (bound.account.track, bound.account.task, bound.before, bound.handoff) == ("auth", "", "", None)
    assert "bound_track: auth\nbound_bead: null\n" in place.read()


def test_binding_to_the_same_track_changes_nothing() -> None:
    place = make_place()
    account = work(place)

    bound = bind_track(place.project, account, "auth")

    assert (bound.account, bound.before, bound.handoff) == (account, "auth", None)


@pytest.mark.requirement("R39", "R40", "R41")
def test_another_track_archives_the_ledger_first_and_then_binds() -> None:
    place = make_place()
    account = work(place)

    bound = bind_track(place.project, account, "billing")

    assert bound.handoff is not None
    name = "2026-01-11-12-00-track-switch-generic-00000001.md"
    record = parse_archive(place.read(f"conductor/sessions/archive/{name}"))
    assert (record.track, record.summary, record.in_progress) == ("auth", "sign in", ("logout",))
    assert place.documents.exists(STREAM)
    after = bound.account
    assert (after.track, after.task, after.goal, after.now) == ("billing", "", None, None)
    assert after.of(FactKind.NEXT) == ()
    assert [one.text for one in after.of(FactKind.DONE)] == ["model"]
    assert "bound_track: billing" in place.read()


def test_a_session_without_goal_can_leave_its_track() -> None:
    place = make_place()
    account = bind_track(place.project, place.start(), "auth").account

    assert bind_track(place.project, account, "billing").account.track == "billing"


@pytest.mark.requirement("R34", "R35")
def test_a_claim_binds_the_task_and_a_close_keeps_the_track() -> None:
    place = make_place()
    account = bind_track(place.project, place.start(), "auth").account

    claimed = bind_task(place.project, account, "t-1")
    closed = bind_task(place.project, claimed, "")

    assert (claimed.track, claimed.task) == ("auth", "t-1")
    assert (closed.track, closed.task) == ("auth", "")
    assert bind_task(place.project, closed, "").last_seq == closed.last_seq


def test_unbinding_lets_go_of_track_and_task() -> None:
    place = make_place()

    bound = unbind_track(place.project, work(place))

    assert (bound.before, bound.account.track, bound.account.task) == ("auth", "", "")
    assert unbind_track(place.project, bound.account).before == ""


@pytest.mark.requirement("R36", "R42")
@pytest.mark.parametrize("keep", [False, True])
def test_finishing_hands_over_lets_go_and_removes_the_ledger_unless_kept(*, keep: bool) -> None:
    place = make_place()

    bound = finish_track(place.project, work(place), keep=keep)

    assert bound.before == "auth"
    assert bound.handoff is not None
    assert bound.handoff.handoff.trigger == "track-complete"
    assert (bound.account.track, bound.account.task) == ("", "")
    assert place.documents.exists(LEDGER) == keep
    assert place.documents.exists(STREAM)
    assert read_account(place.project, bound.account.session).track == ""


def test_only_a_track_can_be_finished() -> None:
    place = make_place()

    with pytest.raises(UsageError, match="no track"):
        finish_track(place.project, place.start())


def test_a_name_that_could_break_a_line_is_refused() -> None:
    place = make_place()

    with pytest.raises(FormatError):
        bind_track(place.project, place.start(), "a\nb")


def test_the_document_of_a_track_is_found() -> None:
    place = make_place()
    account = work(place)
    assert find_document(place.project, account) is None
    bind_track(place.project, account, "billing")

    found = find_document(place.project, account)

    assert found is not None
    assert (found.path, found.goal) == (STREAM, "sign in")
    assert find_document(place.project, place.start(is_new=True, is_fresh=True)) is None
