"""Histories are made from a seed, know what they leave in force, and are measured honestly."""

from collections import Counter

import pytest

from passdown.core.briefs.brief_input import BriefInput
from passdown.core.briefs.budgets import PREVIEW, Budget, Size
from passdown.core.evidence.histories import SessionHistory, make_history
from passdown.core.evidence.recall import NOW, RecallRow, find_broken, measure_brief, render_recall
from passdown.core.formats.events import parse_event, render_event
from passdown.core.kinds import FactKind
from passdown.engines.sqlite.event_index import SqliteIndex
from passdown.services.handover.briefs import read_brief_input
from passdown.services.handover.evaluations import evaluate, write_history
from passdown.wiring.evaluations import open_empty_project

KINDS = (FactKind.DECISION, FactKind.QUESTION, FactKind.CONSTRAINT, FactKind.FEEDBACK)


def test_the_same_seed_makes_the_same_history() -> None:
    assert make_history(7, 5) == make_history(7, 5)
    assert make_history(7, 5) != make_history(8, 5)


def test_every_session_states_every_kind_in_at_most_100_characters() -> None:
    history = make_history(1, 40)

    assert len(history.events) == 40
    for event in history.events:
        assert event.goal
        assert event.now
        assert len(event.next or ()) == 3
        told = (event.this_session, event.constraints, event.open_questions, event.receipts, event.feedback)
        assert all(told)
        assert event.decisions
        assert event.checkpoints
        assert event.gates
        assert event.files_modified
        texts = [text for texts in told for text in texts] + [pair.value for pair in event.decisions]
        assert max(map(len, texts)) <= 100
        assert parse_event(render_event(event)) == event


def test_a_plain_history_has_nothing_but_aims_decisions_rules_and_questions() -> None:
    history = make_history(1, 10, is_plain=True)

    assert history.of(FactKind.FEEDBACK) == ()
    assert not any(event.this_session or event.receipts or event.feedback for event in history.events)
    assert all(event.constraints and event.decisions and event.open_questions for event in history.events)


def test_exactly_what_a_history_says_is_in_force_is_in_force() -> None:
    history = make_history(3, 100, feedback=2)
    with open_empty_project(NOW) as workspace:
        write_history(workspace, history)
        brief_input = read_brief_input(workspace, None)
        assert isinstance(workspace.index, SqliteIndex)

    for kind in KINDS:
        held = {one.text for one in history.of(kind) if one.key not in history.contested}
        found = {one.text for one in brief_input.of(kind) if one.key not in history.contested}
        assert found == held
    contested = {facts[0].key: {fact.text for fact in facts} for facts in brief_input.contested}
    decided = {key: {one.text for one in history.held if one.key == key} for key in history.contested}
    assert contested == decided
    assert brief_input.aim.goal is not None
    assert brief_input.aim.goal.text == history.events[-1].goal


def test_a_third_of_what_lasts_names_a_file_in_one_of_three_ways() -> None:
    history = make_history(5, 300)

    lasting = [one for one in history.held if one.kind is not FactKind.FEEDBACK]
    naming = [one for one in lasting if one.file]
    assert 0.25 < len(naming) / len(lasting) < 0.42
    ways = Counter(
        "path" if one.file in one.text else "pair" if one.file.partition("/")[2] in one.text else "name"
        for one in naming
    )
    assert min(ways["path"], ways["pair"], ways["name"]) > len(naming) / 5
    assert len(history.contested) == 300 // 20


def measure(history: SessionHistory, *budgets: Budget, is_plain: bool = False) -> list[RecallRow]:
    """Write a history into a project and measure briefs."""
    with open_empty_project(NOW) as workspace:
        return [*evaluate(workspace, history, budgets, is_plain=is_plain)]


@pytest.mark.requirement("C132")
@pytest.mark.parametrize("sessions", [1, 20, 100])
def test_what_briefs_promise_is_kept(sessions: int) -> None:
    usual, cut = measure(make_history(1, sessions), Budget(), Budget(characters=PREVIEW))
    plain = measure(make_history(1, sessions, is_plain=True), Budget(), is_plain=True)

    rows = [usual, cut, *plain]
    assert find_broken(row for row in rows if row.sessions > 1) == []
    assert all(row.is_head_whole and row.is_head_first for row in rows)
    assert usual.near <= usual.all_near
    assert usual.budget == Budget()


def test_a_brief_without_anything_recalls_nothing() -> None:
    row = measure_brief(make_history(1, 30), BriefInput(), Budget(), is_plain=False)

    assert (row.recalled, row.near, row.is_head_whole, row.is_near_first) == ((0, 0, 0), 0, False, True)
    assert find_broken([row]) == [row]


def row(**changes: object) -> RecallRow:
    """Make a row that keeps all promises."""
    usual = RecallRow(
        sessions=1_000,
        is_plain=False,
        tokens=1_500,
        characters=9_000,
        is_head_whole=True,
        is_head_first=True,
        decisions=5,
        questions=3,
        rules=5,
        near=4,
        all_near=9,
        is_near_first=True,
        used=Size(3_000, 3_000),
    )
    return usual._replace(**changes)  # type: ignore[arg-type]  # a test knows the fields


def test_broken_promises_are_found() -> None:
    good = [
        row(),
        row(tokens=500, is_head_whole=False, is_head_first=False, decisions=0, used=Size(1_500, 1_500)),
        row(characters=2_000, decisions=0, used=Size(2_000, 2_000)),
        row(is_plain=True, decisions=8, questions=6, rules=8),
    ]
    broken = [
        row(used=Size(9_001, 3_000)),
        row(is_head_whole=False),
        row(is_head_first=False),
        row(characters=2_000, is_head_whole=False, used=Size(2_000, 2_000)),
        row(decisions=4),
        row(questions=2),
        row(rules=4),
        row(is_plain=True, decisions=8, questions=5, rules=8),
        row(is_near_first=False),
    ]

    assert find_broken([*good, *broken]) == broken


def test_recall_is_shown_in_80_columns() -> None:
    shown = render_recall([row(), row(sessions=20, is_plain=True, characters=2_000, is_head_first=False)])

    assert shown.splitlines() == [
        "facts in force that a brief shows in full",
        "",
        "sessions  kinds    budget   head  decisions  questions  rules    near  tokens",
        "   1,000    all     1,500  whole          5          3      5  4 of 9   1,000",
        "      20    few  2,000 ch    cut          5          3      5  4 of 9   1,000",
    ]
