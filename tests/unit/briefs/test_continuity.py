"""What the next session needs is known, and what each source tells of it is counted honestly."""

import pytest

from passdown.core.briefs.budgets import PREVIEW, Budget
from passdown.core.evidence.histories import make_history
from passdown.core.evidence.recall import NOW
from passdown.wiring.evaluations import open_empty_project
from tests.support.continuity import (
    Recording,
    Sources,
    Told,
    add_up,
    count_told,
    cut,
    find_lines,
    list_needs,
    make_last,
    measure_continuity,
    reduce_history,
    select_stated,
)

HISTORY = make_history(1, 60, feedback=0)
BUDGETS = (Budget(), Budget(tokens=500), Budget(characters=PREVIEW))


def measure(recording: Recording) -> list[Told]:
    """Measure in a project of its own."""
    with open_empty_project(NOW) as workspace:
        return [*measure_continuity(workspace, HISTORY, recording, BUDGETS)]


def test_of_what_everybody_records_the_brief_tells_most() -> None:
    usual, small, short = measure(Recording.ALL)

    assert usual.on_record == usual.needs
    assert usual.brief > max(usual.log, usual.grep)
    assert small.brief < usual.brief
    assert short.brief < usual.brief


@pytest.mark.requirement("C60", "C135")
def test_of_a_silent_agent_all_that_is_on_record_is_told() -> None:
    for told in measure(Recording.NONE):
        assert told.brief == told.on_record > max(told.log, told.grep)


def test_whoever_records_half_leaves_something_between() -> None:
    (half, *_), (every, *_), (none, *_) = map(measure, (Recording.HALF, Recording.ALL, Recording.NONE))

    assert none.on_record < half.on_record < every.on_record
    assert none.brief < half.brief < every.brief
    assert half.needs == every.needs == none.needs


def test_the_next_session_needs_what_the_last_did_and_what_is_known_of_its_files() -> None:
    last = make_last(HISTORY)
    needs = list_needs(HISTORY, last)

    assert len(last.files) == 3
    assert {*last.files} < {*needs}
    assert "pytest tests/test_exports.py" in needs
    assert not any("please" in one for one in needs)  # a prompt is the goal in other words
    about = [one.text for one in HISTORY.held if one.file in last.files]
    assert about
    assert {*about} < {*needs}


def test_an_agent_records_all_half_or_nothing_of_it() -> None:
    last = make_last(HISTORY)

    counts = [len(select_stated(last, recording)) for recording in Recording]
    assert counts == [6, 3, 0]
    assert reduce_history(HISTORY, Recording.ALL) == HISTORY
    rules = [
        sum(len(event.constraints) for event in reduce_history(HISTORY, recording).events)
        for recording in Recording
    ]
    assert rules[0] > rules[1] > rules[2] == 0
    silent = reduce_history(HISTORY, Recording.NONE).events[0]
    assert silent.files_modified == HISTORY.events[0].files_modified
    assert silent.receipts == HISTORY.events[0].receipts[1:]


def test_a_text_is_cut_to_the_budget() -> None:
    budget = Budget(tokens=250)

    assert cut("short", budget) == "short"
    assert cut("x" * 5_000, budget) == "x" * 750
    assert cut("字" * 5_000, budget) == "字" * 250
    assert cut("x" * 5_000, Budget(characters=600)) == "x" * 600


def test_lines_that_name_a_file_are_found() -> None:
    assert find_lines(["a.py\nb.py", "see src/a.py\n"], ["src/a.py"]) == "a.py\nsee src/a.py"


def test_needs_are_counted_in_each_source() -> None:
    told = count_told(["one", "two", "three"], "one two", Sources("one", "two one", ""))

    assert told == Told(needs=3, on_record=2, brief=1, log=2, grep=0)
    assert add_up([told, told]) == Told(needs=6, on_record=4, brief=2, log=4, grep=0)
