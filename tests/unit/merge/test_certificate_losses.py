"""What a certificate names as lost, hidden or replaced, to the line and to the second."""

import hashlib
from datetime import UTC, datetime, timedelta

import pytest

from passdown.core.evidence.certificates import (
    CertifiedFact,
    FactStatus,
    StatedFact,
    VisibleFacts,
    find_gaps,
    find_hidden,
    find_missing,
    find_replaced,
    find_unpublished,
    judge,
    trace_events,
    trace_journal,
)
from passdown.core.merge.event_facts import EventFacts
from tests.support.events import make_text, read
from tests.support.sessions import in_order, make_line

NOTHING = VisibleFacts(frozenset(), {}, frozenset())
ONE_O_CLOCK = datetime(2026, 1, 10, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def source(hour: int, session: str = "s", agent: str = "toast", **keys: object) -> EventFacts:
    """Make an event of an hour."""
    text = make_text(f"2026-01-10T{hour:02}:00:00Z", agent, session=session, **keys)  # type: ignore[arg-type]
    return read(text)


def dates_of(*sources: EventFacts) -> dict[str, datetime]:
    """Give the stamp of each event."""
    return {one.rank.hash: one.rank.at for one in sources}


# --- the judgement --------------------------------------------------------------------------------


def test_the_words_of_a_status_are_those_that_json_promises() -> None:
    assert [str(one) for one in FactStatus] == ["in-brief", "by-command", "retired", "hidden", "unaccounted"]


def test_the_root_is_the_hash_of_the_sorted_ids_one_on_each_line() -> None:
    found = judge(trace_journal("s", in_order(("goal", "one"), ("now", "two"))), NOTHING)
    ids = sorted(str(one.id) for one in found.facts)

    assert len(ids) == 2
    assert found.root == hashlib.sha256(f"{ids[0]}\n{ids[1]}".encode()).hexdigest()


def test_of_two_answers_that_are_as_good_the_first_counts() -> None:
    (stated,) = trace_journal("s", in_order(("goal", "one")))
    again = stated._replace(where="elsewhere")

    assert [one.where for one in judge([stated, again], NOTHING).facts] == ["s line 1"]


def test_a_better_answer_counts_wherever_it_stands() -> None:
    (stated,) = trace_journal("s", in_order(("goal", "one")))
    retired = stated._replace(retired_by="s line 2")

    for order in ([stated, retired], [retired, stated]):
        assert [one.how for one in judge(order, NOTHING).facts] == [FactStatus.UNACCOUNTED]


# --- gaps -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "missing"), [((), []), ((1,), []), ((2,), [1]), ((1, 3), [2]), ((3, 5), [1, 2, 4])]
)
def test_every_line_that_is_counted_and_missing_is_named(
    numbers: tuple[int, ...], missing: list[int]
) -> None:
    found = find_gaps("s", [make_line(number, "note", "x") for number in numbers])

    assert [one.text for one in found] == [f"line {number} of s is missing" for number in missing]


def test_nothing_is_owed_of_a_journal_that_no_event_covers() -> None:
    stated = trace_journal("s", in_order(("goal", "one"), ("now", "two")))

    assert list(find_unpublished(stated, {}, [])) == []
    assert [one.text for one in find_unpublished(stated, {"s": 1}, [])] == [
        "one (an event covers it, no event contains it)"
    ]


def test_a_goal_is_published_by_an_event_that_says_it_and_not_by_one_with_another_goal() -> None:
    stated = trace_journal("s", in_order(("goal", "one")))
    same, other = (trace_journal("t", in_order(("goal", goal))) for goal in ("one", "two"))

    assert list(find_unpublished(stated, {"s": 1}, same)) == []
    assert [one.text for one in find_unpublished(stated, {"s": 1}, other)] == [
        "one (an event covers it, no event contains it)"
    ]


def test_next_steps_and_notes_are_not_owed_to_an_event() -> None:
    stated = trace_journal("s", in_order(("next", "later"), ("note", "aside"), ("branch", "main")))

    assert list(find_unpublished(stated, {"s": 3}, [])) == []


def test_what_is_expected_and_stands_nowhere_is_named_so() -> None:
    assert list(find_missing([], ["  a  fact ", "a fact", ""])) == [
        CertifiedFact("", "expected", "a fact", FactStatus.UNACCOUNTED, "nowhere")
    ]


# --- what a date ahead hides ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("until", "is_hidden"),
    [
        (ONE_O_CLOCK - SECOND, False),
        (ONE_O_CLOCK, True),
        (ONE_O_CLOCK + 4 * 3600 * SECOND - SECOND, True),
        (ONE_O_CLOCK + 4 * 3600 * SECOND, False),
    ],
)
def test_a_fact_is_hidden_from_its_own_instant_to_that_of_the_event_that_is_dated_ahead(
    until: datetime, is_hidden: bool
) -> None:
    early, ahead = source(1, id="e1", goal="old"), source(5, agent="amber", id="e2", goal="new")
    hidden = list(find_hidden(trace_events([early, ahead]), until, dates_of(early, ahead)))

    assert [(one.text, one.how) for one in hidden] == [("old", FactStatus.HIDDEN)][: int(is_hidden)]
    assert all(
        one.where == "event e2 of amber, dated 2026-01-10T05:00:00Z; `passdown log retract e2` undoes it"
        for one in hidden
    )


# --- what others replaced -------------------------------------------------------------------------


def replaced(journal: list[StatedFact], *sources: EventFacts) -> list[tuple[str, str]]:
    """Give what of a session's facts another session replaced, and how."""
    found = find_replaced(journal, trace_events(sources), "s", dates_of(*sources))
    return [(one.text, str(one.how)) for one in found]


def test_what_a_session_holds_and_another_replaced_is_named() -> None:
    journal = [*trace_journal("s", in_order(("goal", "ours"), ("decision", "SQLite", "engine")))]
    own = source(1, id="e1", goal="ours", decisions={"engine": "SQLite"})
    other = source(2, session="t", id="e2", goal="theirs", decisions={"engine": "files"})

    assert replaced(journal, own, other) == [("ours", "retired"), ("SQLite", "retired")]


def test_what_a_session_replaced_itself_is_not_named() -> None:
    journal = [*trace_journal("s", in_order(("goal", "ours")))]

    assert replaced(journal, source(1, id="e1", goal="ours"), source(2, id="e2", goal="later")) == []


def test_what_another_session_said_and_lost_is_not_ours() -> None:
    journal = [*trace_journal("s", in_order(("goal", "ours")))]
    theirs = source(1, session="t", id="e1", goal="ours")

    assert replaced(journal, theirs, source(2, session="u", id="e2", goal="later")) == []


def test_what_the_session_took_back_itself_is_not_named() -> None:
    journal = [*trace_journal("s", in_order(("goal", "ours"), ("goal", "later")))]
    own, other = source(1, id="e1", goal="ours"), source(2, session="t", id="e2", goal="theirs")

    assert replaced(journal, own, other) == []


def test_what_the_journal_never_said_is_not_named() -> None:
    journal = [*trace_journal("s", in_order(("now", "something else")))]
    own, other = source(1, id="e1", goal="ours"), source(2, session="t", id="e2", goal="theirs")

    assert replaced(journal, own, other) == []
