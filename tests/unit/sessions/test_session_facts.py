"""What the lines of a journal add up to."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.facts import ADD, PROMPTED, Fact, Provenance, identify
from passdown.core.fold import fold as fold_facts
from passdown.core.formats.journal import JournalLine
from passdown.core.holds import PUBLISHED
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import (
    NO_PROCESS,
    Account,
    HostProcess,
    SessionStart,
    fold_journal,
    make_start,
    read_start,
)
from tests.support.journals import journals, nasty_journals
from tests.support.sessions import AGENT, NOON, in_order, make_line

START = SessionStart(
    host="claude",
    host_session="h-1",
    checkout="/project",
    branch="main",
    ledger="LEDGER.md",
    process=HostProcess(71, "100", "boot"),
    continues="s-0",
    mode="MA",
)


def fold(*facts: tuple[str, ...]) -> Account:
    return fold_journal("s-1", in_order(*facts))


def texts(account: Account, kind: FactKind) -> list[str]:
    return [entry.text for entry in account.of(kind)]


def test_an_empty_journal_is_an_account_of_nothing() -> None:
    assert fold() == Account(session="s-1")


def test_later_goal_and_now_take_the_place_of_earlier_ones() -> None:
    account = fold(("goal", "a"), ("now", "b"), ("goal", "c"), ("now", "d"))

    assert account.goal is not None
    assert account.now is not None
    assert (account.goal.text, account.now.text) == ("c", "d")
    assert (account.agent, account.last_seq, account.touched_at) == (AGENT, 4, NOON + timedelta(seconds=4))


@pytest.mark.parametrize(
    ("first", "second", "holds"),
    [
        (Provenance.STATED, Provenance.OBSERVED, "a"),
        (Provenance.VERIFIED, Provenance.OBSERVED, "a"),
        (Provenance.OBSERVED, Provenance.OBSERVED, "b"),
        (Provenance.OBSERVED, Provenance.STATED, "b"),
        (Provenance.STATED, Provenance.VERIFIED, "b"),
    ],
)
@pytest.mark.parametrize("kind", ["goal", "now"])
def test_what_was_only_seen_does_not_oust_what_was_said(
    kind: str, first: Provenance, second: Provenance, holds: str
) -> None:
    account = fold_journal(
        "s-1", [make_line(1, kind, "a", provenance=first), make_line(2, kind, "b", provenance=second)]
    )

    entry = account.goal or account.now
    assert entry is not None
    assert entry.text == holds


def test_lists_grow_and_what_is_said_again_moves_to_the_end() -> None:
    account = fold(("done", "a"), ("done", "b"), ("done", "a"), ("question", "c"))

    assert texts(account, FactKind.DONE) == ["b", "a"]
    assert texts(account, FactKind.QUESTION) == ["c"]
    assert texts(account, FactKind.NOTE) == []


def test_next_steps_take_the_place_of_earlier_ones_unless_they_are_added() -> None:
    assert texts(fold(("next", "a\nb"), ("next", "c\n\nd")), FactKind.NEXT) == ["c", "d"]
    assert texts(fold(("next", "a\nb"), ("next", "c", ADD)), FactKind.NEXT) == ["a", "b", "c"]
    assert texts(fold(("next", "a\nb"), ("next", "")), FactKind.NEXT) == []


def test_a_decision_has_a_key_and_a_later_one_of_the_same_key_counts() -> None:
    account = fold(
        ("decision", "Use SQLite", "db", "it is there"), ("decision", "Ship It"), ("decision", "b", "db")
    )

    assert [(entry.key, entry.text, entry.because) for entry in account.of(FactKind.DECISION)] == [
        ("ship_it", "Ship It", ""),
        ("db", "b", ""),
    ]


def test_an_answer_closes_its_question() -> None:
    account = fold(("question", "a?"), ("question", "b?"), ("answer", "yes", "a?"), ("answer", "no"))

    assert texts(account, FactKind.QUESTION) == ["b?"]
    assert texts(account, FactKind.ANSWER) == ["yes", "no"]


def test_what_is_taken_back_is_gone_until_it_is_said_again() -> None:
    facts = [("done", "a"), ("goal", "g"), ("now", "n"), ("decision", "d", "k"), ("retraction", "a", "done")]
    more = [("retraction", "k", "decision"), ("retraction", "g", "goal"), ("retraction", "n", "now")]

    account = fold(*facts, *more, ("retraction", "no kind"))

    assert (account.goal, account.now, texts(account, FactKind.DONE)) == (None, None, [])
    assert texts(account, FactKind.DECISION) == []
    assert texts(fold(*facts, ("done", "a")), FactKind.DONE) == ["a"]


def test_the_same_state_of_two_phases_is_two_checkpoints() -> None:
    account = fold(("checkpoint", "validated", "1"), ("checkpoint", "validated", "2"))

    assert [entry.key for entry in account.of(FactKind.CHECKPOINT)] == ["1", "2"]


@pytest.mark.requirement("R4", "R14")
def test_the_first_line_tells_what_a_session_is_known_by() -> None:
    fact = make_start(START, NOON, AGENT)
    account = fold_journal("s-1", [JournalLine(seq=1, fact=fact), *in_order()])

    assert read_start(fact) == START
    assert (account.start, account.started_at, account.host_sessions) == (START, NOON, ("h-1",))
    assert (
        fold_journal("s-1", [JournalLine(seq=1, fact=make_start(SessionStart(), NOON, AGENT))]).host_sessions
        == ()
    )


def test_what_does_not_fit_a_start_is_as_if_it_were_not_there() -> None:
    others = (("host", "1"), ("process", '[1, "a"]'), ("mode", "null"), ("future", "{}"))

    assert read_start(Fact(kind="start", text="", at=NOON, agent=AGENT, others=others)) == SessionStart()
    assert read_start(make_start(SessionStart(), NOON, AGENT)).process == NO_PROCESS


def test_further_ids_of_the_host_are_kept_once() -> None:
    start = JournalLine(seq=1, fact=make_start(START, NOON, AGENT))
    lines = [start, make_line(2, "host", "h-2"), make_line(3, "host", "h-1"), make_line(4, "host", "h-2")]

    assert fold_journal("s-1", lines).host_sessions == ("h-1", "h-2")


@pytest.mark.requirement("R8", "R9", "R35", "R36")
def test_track_and_task_are_bound_and_let_go_each_by_itself() -> None:
    bound = [("binding", "t-1", "track"), ("binding", "bd-1", "task")]

    assert (fold(*bound).track, fold(*bound).task) == ("t-1", "bd-1")
    assert (fold(*bound, ("binding", "", "task")).track, fold(*bound, ("binding", "", "task")).task) == (
        "t-1",
        "",
    )
    assert fold(*bound, ("binding", "", "task"), ("binding", "", "track")).track == ""


@pytest.mark.requirement("R37", "R38")
def test_a_session_ends_once_and_lets_go_when_all_of_it_is_published() -> None:
    facts = [("binding", "t-1", "track"), ("done", "a"), ("end", "clear")]
    cut, whole = fold(*facts), fold(*facts, ("end", "recovered", PUBLISHED))

    assert (cut.ended_at, cut.end_reason, cut.is_published, cut.track) == (
        NOON + timedelta(seconds=3),
        "clear",
        False,
        "t-1",
    )
    assert (whole.ended_at, whole.end_reason, whole.is_published, whole.track) == (
        cut.ended_at,
        "clear",
        True,
        "",
    )
    assert fold(*facts, ("end", "x", PUBLISHED), ("heartbeat", "alive")).is_published
    assert not fold(*facts, ("end", "x", PUBLISHED), ("done", "late")).is_published


@pytest.mark.requirement("R12", "R50")
def test_a_sign_of_life_says_nothing() -> None:
    account = fold(("done", "a"), ("heartbeat", "alive"), ("host", "h-2"))

    assert account.said_at == NOON + timedelta(seconds=1)
    assert account.touched_at == NOON + timedelta(seconds=3)


def test_of_a_kind_from_a_newer_version_only_its_time_is_taken() -> None:
    account = fold(("done", "a"), ("prophecy", "b"))

    assert (account.last_seq, texts(account, FactKind.DONE)) == (2, ["a"])
    assert set(account.lists) == {"done"}


def test_facts_of_a_kind_are_told_apart_by_their_text_in_one_form_of_unicode() -> None:
    fact = make_line(1, "done", "e\u0301").fact

    assert identify(fact) == "é"
    assert identify(fact._replace(kind="decision", key="K")) == "K"
    assert identify(fact._replace(kind="decision", text="Use It")) == "use_it"


@given(lines=journals(), data=st.data())
def test_an_account_ignores_duplicates_and_the_order_of_reading(
    lines: list[JournalLine], data: st.DataObject
) -> None:
    again = data.draw(st.permutations(lines + data.draw(st.lists(st.sampled_from(lines))) if lines else []))

    assert fold_journal("s-1", again) == fold_journal("s-1", lines)


@given(one=journals(max_size=6), other=journals(max_size=6), data=st.data())
def test_two_lines_of_one_number_both_count_in_any_order(
    one: list[JournalLine], other: list[JournalLine], data: st.DataObject
) -> None:
    both = one + other
    account = fold_journal("s-1", data.draw(st.permutations(both)))

    assert account == fold_journal("s-1", both)
    notes = {line.fact.text for line in both if line.fact.kind == "note"}
    assert {entry.text for entry in account.of(FactKind.NOTE)} == notes


@given(lines=nasty_journals())
def test_nothing_that_was_said_and_not_taken_back_is_missing(lines: list[JournalLine]) -> None:
    account = fold_journal("s-1", lines)

    for kind in (FactKind.NOTE, FactKind.FEEDBACK, FactKind.RECEIPT):
        said = {identify(line.fact) for line in lines if line.fact.kind == kind}
        assert {identify(fact) for fact in account.of(kind)} == said
        assert len(account.of(kind)) == len(said)


def test_a_prompt_leaves_what_was_stated_in_place_whoever_asks() -> None:
    stated = Fact("now", "write the parser", NOON, AGENT)
    prompt = Fact("now", "please hurry", NOON, AGENT, key=PROMPTED, provenance=Provenance.OBSERVED)

    assert fold_facts([stated, prompt]).of("now") == (stated,)


@pytest.mark.requirement("R219")
def test_a_phase_or_branch_of_a_journal_is_the_last_one_and_another_task_begins_without() -> None:
    lines = in_order(
        ("binding", "bd-1", "task"),
        ("tdd", "RED"),
        ("binding", "bd-1", "task"),
        ("branch", "feat"),
    )

    account = fold_journal("s-1", lines)

    assert (account.task, account.tdd, account.branch) == ("bd-1", "RED", "feat")
    other = fold_journal("s-1", [*lines, make_line(9, "binding", "bd-2", "task")])
    assert (other.task, other.tdd) == ("bd-2", "")
