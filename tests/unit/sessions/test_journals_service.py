"""Facts are written into journals and read back as accounts."""

from datetime import timedelta

import pytest

from passdown.core.facts import Provenance
from passdown.core.formats.journal import Scope
from passdown.core.kinds import FactKind
from passdown.core.sessions.ledger_sync import MAX_CHARS, NewFact
from passdown.core.sessions.session_facts import Account
from passdown.errors import UsageError
from passdown.services.sessions.journals import (
    append_fact,
    read_account,
    read_accounts,
    read_before,
    write_fact,
    write_heartbeat,
)
from tests.support.sessions import NOON, end_session, make_line, make_place


def test_what_a_session_says_is_stamped_and_signed() -> None:
    place = make_place()
    place.clock.at = NOON + timedelta(microseconds=123_456)
    account = Account(session="s-1", agent="toast-00000001")

    line = append_fact(place.project, account, NewFact(FactKind.DECISION, "text", "key", "because"))

    assert (line.seq, line.fact.agent, line.fact.at) == (
        1,
        "toast-00000001",
        NOON + timedelta(milliseconds=123),
    )
    assert (line.fact.key, line.fact.because, line.fact.provenance) == ("key", "because", Provenance.STATED)
    assert list(place.project.journals.read("s-1")) == [line]
    assert write_heartbeat(place.project, account).fact.kind == "heartbeat"


def test_bytes_that_are_no_text_are_kept_as_escapes() -> None:
    place = make_place()

    line = append_fact(place.project, Account(session="s-1", agent="a"), NewFact(FactKind.DONE, "a\udcffb"))

    assert line.fact.text == "a\\udcffb"


def test_what_is_too_long_for_a_line_is_refused() -> None:
    place = make_place()

    with pytest.raises(UsageError, match="too long") as found:
        append_fact(
            place.project, Account(session="s-1", agent="a"), NewFact(FactKind.DONE, "x" * (MAX_CHARS + 1))
        )
    assert found.value.hint
    assert list(place.project.journals.sessions(Scope.ALL)) == []


def test_accounts_stand_in_the_order_of_their_starts_and_need_one() -> None:
    place = make_place()
    for session, at in (("s-1", 3), ("s-2", 2), ("s-3", 3)):
        start = make_line(1, "start", at=NOON + timedelta(hours=at))
        write_fact(place.project, session, start.fact)
    write_fact(place.project, "s-0", make_line(1, "done").fact)

    assert [account.session for account in read_accounts(place.project, Scope.ALL)] == ["s-2", "s-1", "s-3"]
    assert read_account(place.project, "none") == Account(session="none")


def test_nothing_is_swept_where_nobody_says_how() -> None:
    assert make_place().project.sweep() == 0


def test_the_sessions_that_are_gone_on_from_are_followed_so_far() -> None:
    place = make_place()
    begun = []
    for _ in range(23):
        begun.append(place.start(is_new=True).session)
        end_session(place.project, read_account(place.project, begun[-1]))

    found = [one.session for one in read_before(place.project, begun[-1])]

    assert found == begun[:2:-1]
    assert [one.session for one in read_before(place.project, begun[1])] == [begun[1], begun[0]]
    assert list(read_before(place.project, "s-unknown")) == list(read_before(place.project, "")) == []
