"""What a session publishes, and that it does not matter when."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.documents.key_value import Pair
from passdown.core.facts import Provenance
from passdown.core.formats.events import Event, render_event
from passdown.core.formats.journal import JournalLine, PublishedExtent
from passdown.core.kinds import FactKind
from passdown.core.merge.event_facts import parse_event_facts, read_covered
from passdown.core.merge.merge import Merged, merge_events
from passdown.core.phases import PhaseState
from passdown.core.sessions.publications import make_event
from passdown.core.sessions.session_facts import SessionStart, fold_journal, make_start
from passdown.core.sessions.unpublished import has_stated, open_lines
from passdown.records import replace
from passdown.services.log.events import name_event
from tests.support.events import value_of, values
from tests.support.journals import journals
from tests.support.sessions import AGENT, NOON, in_order, make_line


def publish(lines: Sequence[JournalLine], covered: int = 0) -> Event | None:
    published = PublishedExtent(covered, None)
    return make_event(fold_journal("s-1", lines), lines, published, kind="checkpoint", reason="asked")


def need(lines: Sequence[JournalLine], covered: int = 0) -> Event:
    event = publish(lines, covered)
    assert event is not None
    return event


def test_where_nothing_is_open_there_is_no_event() -> None:
    quiet = in_order(("note", "a"), ("prompt", "b"), ("read", "c"), ("heartbeat", "alive"), ("host", "h"))

    assert publish([]) is None
    assert publish(quiet) is None
    assert publish(in_order(("done", "a")), covered=1) is None
    assert open_lines(quiet, 0) == []


def test_taking_back_what_no_event_can_take_back_is_no_event() -> None:
    private = [("retraction", "secret", kind) for kind in ("note", "prompt", "goal", "now", "test", "")]

    assert publish(in_order(*private)) is None


def test_all_that_others_may_know_is_in_the_event() -> None:
    start = JournalLine(seq=1, fact=make_start(SessionStart(host="claude", branch="main"), NOON, AGENT))
    facts = in_order(
        ("start", ""),
        ("binding", "t-1", "track"),
        ("binding", "bd-1", "task"),
        ("goal", "g"),
        ("now", "n"),
        ("next", "a\nb"),
        ("done", "d"),
        ("decision", "Use SQLite", "db", "it is there"),
        ("decision", "Plain text"),
        ("constraint", "c"),
        ("question", "q?"),
        ("feedback", "f"),
        ("file", "src/a.py"),
        ("receipt", "r"),
        ("commit", "abc1234"),
        ("test", "pytest", "0"),
        ("checkpoint", "validated", "2", "the parser"),
        ("checkpoint", "half way", "no number"),
        ("note", "secret"),
        ("prompt", "secret"),
    )

    event = need([start, *facts[1:]])

    assert (event.agent, event.branch, event.session, event.track) == (AGENT, "main", "s-1", "t-1")
    assert (event.type, event.reason, event.covers) == ("checkpoint", "asked", "1-20")
    assert (event.goal, event.now, event.next, event.this_session) == ("g", "n", ("a", "b"), ("d",))
    assert event.decisions == (
        Pair(key="db", value="Use SQLite (it is there)"),
        Pair(key="plain_text", value="Plain text"),
    )
    assert (event.constraints, event.open_questions, event.feedback) == (("c",), ("q?",), ("f",))
    assert (event.files_modified, event.receipts) == (("src/a.py",), ("r", "abc1234", "pytest: exit 0"))
    assert [(one.phase, one.status, one.name, one.task) for one in event.checkpoints] == [
        (2, PhaseState.VALIDATED, "the parser", "bd-1"),
        (None, None, "half way", "bd-1"),
    ]
    assert "secret" not in render_event(event)


def test_only_what_is_open_is_published_and_the_list_of_next_steps_is_whole() -> None:
    lines = in_order(("done", "a"), ("next", "x"), ("goal", "g"), ("done", "b"), ("next", "y", "add"))
    event = need(lines, covered=3)

    assert (event.this_session, event.next, event.goal, event.covers) == (("b",), ("x", "y"), None, "4-5")
    assert need([*lines, make_line(6, "done", "c")], covered=5).next is None
    assert need([*lines, make_line(6, "retraction", "x", "next")], covered=5).next == ("y",)


def test_a_retracted_failure_is_published_without_the_words_that_may_be_private() -> None:
    event = need(in_order(("retraction", "TOKEN=1 /opt/x/pytest tests/a.py --key=abc: exit 1", "receipt")))

    assert event.retracted_receipts == ("… pytest tests/a.py …",)


def test_what_is_taken_back_or_answered_is_named_unless_it_is_said_again() -> None:
    event = need(
        in_order(
            ("done", "a"),
            ("retraction", "a", "done"),
            ("retraction", "b", "done"),
            ("done", "b"),
            ("retraction", "k", "decision"),
            ("retraction", "c", "constraint"),
            ("question", "q?"),
            ("answer", "yes", "q?"),
            ("answer", "no", "r?"),
            ("question", "r?"),
            ("retraction", "s?", "question"),
            ("answer", "to nobody"),
        )
    )

    assert (event.retracted_done, event.this_session) == (("a",), ("b",))
    assert (event.retracted_decisions, event.retracted_constraints) == (("k",), ("c",))
    assert (event.resolved_questions, event.open_questions) == (("q?", "s?"), ("r?",))


def test_a_line_that_came_after_the_account_was_read_is_published() -> None:
    lines = in_order(("goal", "old"), ("next", "old"), ("goal", "new"), ("next", "new"))
    stale = fold_journal("s-1", lines[:2])

    event = make_event(stale, lines, PublishedExtent(2, None), kind="checkpoint", reason="asked")

    assert event is not None
    assert (event.goal, event.next, event.covers) == ("new", ("new",), "3-4")


def test_what_was_only_seen_does_not_oust_what_was_published_as_said() -> None:
    lines = [make_line(1, "goal", "said"), make_line(2, "goal", "seen", provenance=Provenance.OBSERVED)]

    event = need([*lines, make_line(3, "done", "a")], covered=1)

    assert event.goal is None


def test_how_a_fact_is_known_is_told_where_it_was_not_stated() -> None:
    seen = Provenance.OBSERVED
    event = need(
        [
            make_line(1, "goal", "g", provenance=seen),
            make_line(2, "now", "n"),
            make_line(3, "file", "a.py", provenance=seen),
            make_line(4, "test", "pytest", "0", provenance=Provenance.VERIFIED),
            make_line(5, "prompt", "secret", provenance=seen),
        ]
    )

    assert {(pair.key, pair.value) for pair in event.origins} == {
        ("goal", "1 2026-01-11T12:00:01.000Z observed"),
        ("now", "2 2026-01-11T12:00:02.000Z"),
        ("files_modified", "3 2026-01-11T12:00:03.000Z observed"),
        ("receipts", "4 2026-01-11T12:00:04.000Z verified"),
    }


def test_only_what_is_stated_or_verified_makes_the_end_of_a_turn_worth_an_event() -> None:
    seen = make_line(1, "file", "a.py", provenance=Provenance.OBSERVED)

    assert not has_stated([seen])
    assert not has_stated([seen, make_line(2, "commit", "ab12", provenance=Provenance.VERIFIED)])
    assert has_stated([make_line(1, "done", "a")])


def published(lines: Sequence[JournalLine], points: Sequence[int]) -> Merged:
    """Merge the events that are written when a session publishes after so many lines, and at its end."""
    sources, covered = [], 0
    for number, point in enumerate([*points, len(lines)]):
        event = publish(lines[:point], covered)
        if event is None:
            continue
        stamped = name_event(_at(event, number))
        source = parse_event_facts(render_event(stamped).encode(), "event.md")
        assert source is not None
        assert source.covered == read_covered(stamped.covers or "")
        covered = source.covered
        sources.append(source)
    return merge_events(sources)


def _at(event: Event, number: int) -> Event:
    return replace(event, ts=NOON + timedelta(minutes=number + 1))


def holds(merged: Merged) -> dict[str, object]:
    """Give what holds in every section; which event says it, and when, does not matter."""
    found: dict[str, object] = {}
    for kind, table in merged.tables.items():
        found[kind] = {key: value_of(fact) for key, fact in table.items()}
    for section in ("this_session", "constraints", "open_questions", "feedback"):
        found[section] = values(merged, section)
    found["checkpoints"] = {(fact.at, value_of(fact)) for fact in merged.checkpoints}
    return found


@pytest.mark.requirement("G15")
@given(lines=journals(), data=st.data())
def test_publishing_at_any_points_says_what_publishing_once_says(
    lines: list[JournalLine], data: st.DataObject
) -> None:
    points = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=5)))

    assert holds(published(lines, points)) == holds(published(lines, []))


@given(lines=journals())
def test_what_is_covered_is_never_published_again(lines: list[JournalLine]) -> None:
    event = publish(lines)

    assert event is None or publish(lines, read_covered(event.covers or "")) is None
    assert (event is None) == (not open_lines(lines, 0))


@given(lines=journals())
def test_everything_that_others_may_know_and_that_holds_is_published(lines: list[JournalLine]) -> None:
    account = fold_journal("s-1", lines)
    event = publish(lines) or Event()

    assert event.this_session == tuple(entry.text for entry in account.of(FactKind.DONE))
    assert event.open_questions == tuple(entry.text for entry in account.of(FactKind.QUESTION))
    assert [pair.key for pair in event.decisions] == [one.key for one in account.of(FactKind.DECISION)]
    assert event.goal == (account.goal.text if account.goal else None)


@pytest.mark.parametrize(
    "said",
    [
        (("next", ""), ("next", "write the parser")),
        (("next", "a\nb"), ("retraction", "b", "next")),
        (("next", "a"), ("next", "b", "add"), ("retraction", "b", "next"), ("retraction", "a", "next")),
    ],
)
def test_a_list_of_steps_is_as_old_as_its_last_change(said: tuple[tuple[str, ...], ...]) -> None:
    lines = in_order(*said)

    for point in range(len(lines) + 1):
        assert holds(published(lines, [point])) == holds(published(lines, []))


@pytest.mark.requirement("C115", "C120")
def test_an_event_names_what_its_session_was_told_of_that_is_dated_ahead() -> None:
    lines = in_order(("heartbeat", "alive"), ("decision", "SQLite", "db"), ("heartbeat", "alive"))
    told = (("ahead", '["one","two",3]'),)
    lines[0] = replace(lines[0], fact=lines[0].fact._replace(others=told))
    lines[2] = replace(lines[2], fact=lines[2].fact._replace(others=(("ahead", '["too late"]'),)))

    assert need(lines).ahead == ("one", "two")
    assert fold_journal("s", lines).ahead == ("one", "two", "too late")
    odd = replace(lines[0], fact=lines[0].fact._replace(others=(("ahead", '"no list"'),)))
    assert need([odd, *lines[1:]]).ahead == ()
