"""Histories are made from a seed, hold what is planted, and are measured honestly."""

import pytest

from passdown.core.briefs.budgets import Budget, Size
from passdown.core.evidence.recall import (
    RecallRow,
    find_broken,
    make_history,
    measure_recall,
    render_recall,
    stand,
)
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import fold_journal


@pytest.mark.slow
def test_the_same_seed_makes_the_same_history() -> None:
    assert make_history(7, 5) == make_history(7, 5)
    assert make_history(7, 5) != make_history(8, 5)


def test_a_history_has_12_facts_of_class_1_and_ten_times_as_much_that_does_not_hold() -> None:
    for sessions in (1, 20):
        history = make_history(1, sessions)
        planted = [one.text for one in history.planted if one.level == 1]

        assert len(planted) == len(set(planted)) == 12
        assert all(40 <= len(text) <= 120 for text in planted)
        assert history.noise >= 120
        assert history.noise_size >= 10 * sum(map(len, planted))
        assert len(history.journals) == sessions


def test_exactly_what_is_planted_holds_at_the_end() -> None:
    history = make_history(3, 20)
    brief_input, _ = stand(history)

    for kind in (FactKind.FEEDBACK, FactKind.CONSTRAINT, FactKind.RECEIPT, FactKind.QUESTION, FactKind.DONE):
        assert {one.text for one in brief_input.of(kind)} == {
            one.text for one in history.planted if one.kind is kind
        }
    assert brief_input.aim.goal is not None
    assert brief_input.aim.goal.text == history.planted[0].text
    assert len(brief_input.aim.next) == 4


def test_a_session_that_said_nothing_publishes_nothing() -> None:
    history = make_history(1, 200)
    silent = [lines for lines in history.journals[:198] if len(lines) == 1]

    assert silent
    assert len(history.events) == 198 - len(silent)
    assert fold_journal("s-1", silent[0]).goal is None


def test_recall_is_whole_with_room_and_less_without() -> None:
    tight, usual = measure_recall(5, [Budget(tokens=300), Budget()], seeds=(1,))

    assert (usual.classes, usual.preview, usual.has_room) == ((1, 1, 1), 1, True)
    assert tight.classes[0] < 1
    assert (tight.has_room, tight.is_within) == (False, True)
    assert tight.used.tokens <= 300


def row(**changes: object) -> RecallRow:
    """Make a row that keeps all promises."""
    usual = RecallRow(5, 1_500, (1.0, 0.5, 0.0), 1.0, Size(3_000, 3_000), has_room=True, is_within=True)
    return usual._replace(**changes)  # type: ignore[arg-type]  # a test knows the fields


def test_broken_promises_are_found() -> None:
    good = [row(), row(tokens=300, classes=(0.4, 0.0, 0.0), preview=0.4, has_room=False)]
    broken = [
        row(is_within=False),
        row(tokens=800, classes=(0.9, 0.0, 0.0)),
        row(classes=(0.94, 0.0, 0.0), has_room=False),
        row(preview=0.9),
    ]

    assert find_broken([*good, *broken]) == broken


def test_recall_is_shown_in_80_columns() -> None:
    shown = render_recall([row(), row(sessions=500, tokens=300, classes=(0.5, 0.25, 0.0))])

    assert shown.splitlines() == [
        "recall of planted facts, by class",
        "",
        "sessions  budget  class 1  class 2  class 3  class 1 in first 2,000  tokens used",
        "       5   1,500    100 %     50 %      0 %                   100 %        1,000",
        "     500     300     50 %     25 %      0 %                   100 %        1,000",
        "",
        "recall against budget, 500 sessions",
        "tokens  class 1               class 2               class 3",
        "   300  ##########..........  #####...............  ....................",
    ]
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert "recall against budget, 1 session\n" in render_recall([row(sessions=1)])
