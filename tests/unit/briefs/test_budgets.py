"""A budget counts tokens and characters, and both hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.briefs.budgets import Budget, Size, measure
from passdown.errors import UsageError


@pytest.mark.requirement("C68")
@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abc", 1), ("abcd", 2), ("é", 1), ("漢字", 2)]
)
def test_a_token_is_three_bytes_rounded_up(text: str, tokens: int) -> None:
    assert measure(text).tokens == tokens


@given(st.text(), st.text())
def test_sizes_add_up(one: str, two: str) -> None:
    assert measure(one).plus(measure(two)) == measure(one + two)


def test_a_size_of_nothing_is_nothing() -> None:
    assert Size() == measure("") == Size(0, 0)


def test_half_a_surrogate_pair_is_measured_too() -> None:
    assert measure("\ud800") == Size(1, 3)


def test_both_limits_hold() -> None:
    budget = Budget(tokens=300, characters=700)

    assert budget.holds(Size(700, 900))
    assert not budget.holds(Size(701, 701))
    assert not budget.holds(Size(600, 901))


def test_the_usual_budget_is_1500_tokens_and_9000_characters() -> None:
    assert Budget() == Budget(tokens=1_500, characters=9_000)


def test_what_was_cut_is_sent_again_within_a_preview() -> None:
    assert Budget().smaller() == Budget(tokens=1_500, characters=2_000)
    assert Budget(tokens=300, characters=700).smaller() == Budget(tokens=300, characters=700)
    assert Budget().smaller(2) == Budget(tokens=750, characters=1_000)
    assert Budget().smaller(9) == Budget(tokens=250, characters=600)


@pytest.mark.parametrize(("tokens", "characters"), [(249, 9_000), (1_500, 599), (-1, -1)])
def test_a_budget_that_cannot_hold_a_goal_is_refused(tokens: int, characters: int) -> None:
    with pytest.raises(UsageError, match="at least"):
        Budget(tokens=tokens, characters=characters)
