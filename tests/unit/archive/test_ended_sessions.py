"""Which journals of ended sessions are archived, and by what they are found then (C129)."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from passdown.core.facts import make_key
from passdown.core.formats.journal import JournalLine, Scope
from passdown.core.holds import PUBLISHED
from passdown.core.kinds import FactKind
from passdown.core.sessions.journal_keys import OPERATIONS, nickname_key, settled_key, told_key
from passdown.core.sessions.ledger_sync import NewFact
from passdown.core.sessions.session_facts import Account, SessionStart, fold_journal, make_start
from passdown.core.work.ended_sessions import needs_nothing
from passdown.errors import CacheError
from passdown.ports.repository import Checkout
from passdown.services.sessions import ended_sessions
from passdown.services.sessions.ended_sessions import ELSEWHERE, Portion, put_away_ended
from passdown.services.sessions.journals import KEPT_LIVE, append_fact, read_account
from passdown.testing.memory.journals import MemoryJournals
from passdown.testing.memory.repository import MemoryRepository
from tests.support.projects import EVENTS
from tests.support.sessions import (
    AGENT,
    NOON,
    Place,
    end_session,
    in_order,
    make_line,
    make_place,
    with_parts,
)


@pytest.fixture
def place() -> Place:
    return make_place()


def run(place: Place, *, says: bool = True, host_session: str = "") -> Account:
    """Let a session run and end."""
    account = place.start(is_new=True, host_session=host_session)
    if says:
        place.say(account, FactKind.DONE, f"did {account.session}")
    end_session(place.project, read_account(place.project, account.session))
    place.pass_time(seconds=1)
    return account


def follow(place: Place) -> None:
    """Let as many sessions end as are never archived."""
    for _ in range(KEPT_LIVE):
        run(place)


def commit_events(place: Place) -> None:
    """Commit every event."""
    paths = []
    for name in place.log.files(""):
        data = place.log.read("", name)
        assert data is not None
        paths.append(f"{EVENTS}/{name}")
        place.documents.replace(paths[-1], data)
    place.repository.commit(paths, "Sessions")


def live(place: Place) -> set[str]:
    """Give the sessions whose journals are live."""
    return {*place.project.journals.sessions(Scope.LIVE)}


@pytest.mark.requirement("C129")
def test_all_but_the_journals_that_grew_last_are_archived(place: Place) -> None:
    first, silent = run(place), run(place, says=False)
    assert put_away_ended(place.project) == 0, "they are few"
    follow(place)
    commit_events(place)

    assert put_away_ended(place.project) == 2

    assert len(live(place)) == KEPT_LIVE
    assert {first.session, silent.session}.isdisjoint(live(place))
    assert place.project.journals.read(first.session)[-1].fact.kind == FactKind.END


@pytest.mark.requirement("C129")
def test_a_session_that_runs_or_has_a_result_that_waits_stays(place: Place) -> None:
    running, holding = place.start(is_new=True), place.start(is_new=True)
    append_fact(place.project, holding, NewFact(FactKind.RESULT, "taken", "r-1"))
    end_session(place.project, read_account(place.project, holding.session))
    place.pass_time(seconds=1)
    idle = run(place)
    follow(place)
    commit_events(place)

    assert put_away_ended(place.project) == 1

    assert {running.session, holding.session} <= live(place)
    assert idle.session not in live(place)


@pytest.mark.requirement("C129")
def test_a_session_needs_nothing_once_events_cover_what_it_said_and_nothing_follows_its_end() -> None:
    start = SessionStart(host_session="host-1")

    def begin(seq: int) -> JournalLine:
        return JournalLine(seq=seq, fact=make_start(start, NOON, AGENT))

    ended = in_order(begin, ("done", "a"), ("end", "session-end", PUBLISHED))
    waiting = in_order(begin, ("done", "a"), ("end", "session-end"))
    grown = [*ended, make_line(4, "done", "late")]
    holding = in_order(begin, ("result", "taken", "r-1"), ("end", "session-end", PUBLISHED))

    def is_settled(lines: Sequence[JournalLine], covered: int) -> bool:
        return needs_nothing(fold_journal("s-000000000001", lines), lines, covered)

    assert is_settled(ended, 2)
    assert not is_settled(ended, 1)
    assert not is_settled(waiting, 2)
    assert not is_settled(grown, 4)
    assert not is_settled(holding, 3)
    assert not is_settled([], 0)


@pytest.mark.requirement("C129")
def test_an_event_that_is_not_committed_keeps_its_journal_live(place: Place) -> None:
    run(place)
    follow(place)
    hook = with_parts(place, is_hook=True)

    assert put_away_ended(place.project) == 0
    commit_events(place)
    assert put_away_ended(hook) == 0, "a hook starts no git"
    place.project.index.note_committed([*place.log.files("")])
    assert put_away_ended(hook) == 1


@pytest.mark.requirement("C129")
def test_where_git_ignores_events_or_is_not_there_they_need_only_exist() -> None:
    ignoring = make_place()
    run(ignoring)
    follow(ignoring)
    plain = make_place()
    plain.repository.there = False
    run(plain)
    follow(plain)
    repository = MemoryRepository(ignoring.documents, ignored=[EVENTS])

    assert put_away_ended(with_parts(ignoring, repository=repository, is_hook=True)) == 0
    assert put_away_ended(with_parts(ignoring, repository=repository)) == 1
    assert put_away_ended(plain.project) == 1


@pytest.mark.requirement("C129")
def test_on_another_branch_an_ended_session_is_archived_after_thirty_days(place: Place) -> None:
    run(place)
    follow(place)
    commit_events(place)
    place.repository.default = "trunk"

    assert put_away_ended(place.project) == 0
    place.pass_time(seconds=ELSEWHERE.total_seconds())
    assert put_away_ended(place.project) > 0


@pytest.mark.requirement("C129")
def test_the_last_session_of_every_checkout_stays(place: Place) -> None:
    class WithOther(MemoryRepository):
        def checkouts(self) -> Sequence[Checkout]:
            return [*super().checkouts(), Checkout(path="/other", branch="side", is_here=False)]

    journals = place.project.journals
    assert isinstance(journals, MemoryJournals)
    other = make_place(journals, root="/other", entropy=1_000)
    before, last = run(other, says=False), run(other, says=False)
    here = run(place, says=False)
    place.pass_time(seconds=5)
    follow(place)
    commit_events(place)

    put_away_ended(with_parts(place, repository=WithOther(place.documents)))

    assert last.session in live(place)
    assert {before.session, here.session}.isdisjoint(live(place))
    put_away_ended(place.project)
    assert last.session not in live(place), "the checkout was removed"


@pytest.mark.requirement("C129")
def test_a_call_archives_a_portion_and_the_next_ones_the_rest(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ended_sessions, "BY_COMMAND", Portion(looked=3, moved=2))
    for _ in range(5):
        run(place)
    follow(place)
    commit_events(place)

    moved = []
    for _ in range(5):
        moved.append(put_away_ended(place.project))
        place.clock.at += timedelta(seconds=1)

    assert max(moved) == 2
    assert sum(moved) == 5
    assert len(live(place)) == KEPT_LIVE


@pytest.mark.requirement("C129")
def test_without_the_index_of_events_nothing_is_archived(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(place)
    follow(place)
    commit_events(place)

    def refuse() -> int:
        raise CacheError("the cache is in use")

    with monkeypatch.context() as patch:
        patch.setattr(place.project.index, "unread", refuse)
        assert put_away_ended(place.project) == 0
    assert put_away_ended(place.project) == 1


@pytest.mark.requirement("C129")
@pytest.mark.parametrize(
    ("said", "key"),
    [
        (NewFact(FactKind.HOST, "host-2"), "host-2"),
        (NewFact(FactKind.OPERATION, "close", "op-1"), "op-1"),
        (NewFact(FactKind.OPERATION, "close", "op-1"), OPERATIONS),
        (NewFact(FactKind.RESULT, "applied", "r-1"), "r-1"),
        (NewFact(FactKind.RETRACTION, "Which port?", "question"), settled_key(make_key("Which port?"))),
        (NewFact(FactKind.ANSWER, "8080", "Which port?"), settled_key(make_key("Which port?"))),
        (NewFact(FactKind.NEXT, "Write  docs"), told_key((FactKind.NEXT.value, "", "Write docs"))),
        (NewFact(FactKind.DONE, "did  this"), told_key((FactKind.DONE.value, "did this", "did this"))),
    ],
)
def test_an_archived_journal_is_found_by_what_it_settled_and_recorded(
    place: Place, said: NewFact, key: str
) -> None:
    account, other = place.start(is_new=True), place.start(is_new=True)
    last = append_fact(place.project, account, said)
    journals = place.project.journals
    assert journals.put_away(account.session, last.seq)
    assert journals.put_away(other.session, journals.read(other.session)[-1].seq)

    assert journals.mentioning(Scope.ALL, keys=[key]) == [account.session]
    assert journals.mentioning(Scope.LIVE, keys=[key]) == []


@pytest.mark.requirement("C129")
def test_an_archived_journal_is_found_by_the_names_of_its_session_and_agent(place: Place) -> None:
    account = place.start(is_new=True, host_session="host-1", nickname="Amber", is_named=True)
    journals = place.project.journals
    assert journals.put_away(account.session, journals.read(account.session)[-1].seq)

    for key in (account.session, account.agent, "host-1", nickname_key("amber")):
        assert journals.mentioning(Scope.ALL, keys=[key]) == [account.session], key
    assert journals.mentioning(Scope.ALL, keys=["", "host-9", nickname_key("birch")]) == []
