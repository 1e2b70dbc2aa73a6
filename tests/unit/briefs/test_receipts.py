"""Receipts by what they mean: what was done once, results of tests, commits."""

from datetime import UTC, datetime, timedelta

import pytest

from passdown.core.briefs.brief_input import last_work_of
from passdown.core.briefs.receipts import describe_result, is_later, sort_receipts
from passdown.core.facts import PROMPTED, Fact, Provenance
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import Account

NOON = datetime(2026, 1, 11, 12, tzinfo=UTC)


def receipt(text: str, minute: int = 0, **more: object) -> Fact:
    """Give a receipt that was seen."""
    fact = Fact("receipt", text, NOON + timedelta(minutes=minute), "amber", provenance=Provenance.OBSERVED)
    return fact._replace(**more)  # type: ignore[arg-type]  # members of a fact


@pytest.mark.requirement("C121")
def test_only_what_was_stated_must_not_be_done_again() -> None:
    mail = receipt("Mailed it", provenance=Provenance.STATED)
    spoken = receipt("pytest: exit 0", provenance=Provenance.STATED)
    seen = [receipt("make test"), receipt("pytest tests: exit 127"), receipt("abc1234"), receipt("a" * 40)]

    found = sort_receipts([mail, spoken, *seen])

    assert (found.once, found.passed, found.failed) == ((mail,), (spoken,), ())
    assert found.commits == tuple(seen[2:])


def test_a_failure_is_cleared_by_a_later_pass_of_the_same_tests() -> None:
    failed = receipt("pytest tests/unit: exit 1", 1)
    odd = receipt("mypy: exit 1", 1)

    assert sort_receipts([failed, odd, receipt("pytest: exit 0")]).failed == (failed, odd)
    assert sort_receipts([failed, odd, receipt("uv run pytest: exit 0", 2)]).failed == (odd,)


def test_of_one_session_its_own_order_tells_what_is_later() -> None:
    one, other = receipt("a", 1, session="s", seq=3), receipt("b", 0, session="s", seq=4)

    assert is_later(other, one)
    assert not is_later(other._replace(session="t"), one)


@pytest.mark.parametrize(
    ("commit", "minutes", "said"),
    [("", (), ""), ("f" * 40, (0,), f" at commit {'f' * 12}"), ("", (2,), ", 1 file edited since")],
)
def test_a_result_says_its_commit_and_how_many_files_were_edited_since(
    commit: str, minutes: tuple[int, ...], said: str
) -> None:
    files = [receipt(f"{minute}.py", minute) for minute in minutes]

    assert describe_result(receipt("pytest: exit 0", 1, commit=commit), files) == said


@pytest.mark.requirement("C60")
def test_a_long_prompt_is_cut_when_it_is_the_goal_of_a_session_that_stated_none() -> None:
    prompt = Fact("prompt", "Do this. " * 100, NOON, "amber", session="s-1")
    carried = Fact("goal", "Ship it", NOON, "birch", session="s-0")
    silent = Account(session="s-1", goal=carried, lists={FactKind.PROMPT: (prompt,)})

    found = last_work_of(Account(session="s-2", goal=carried), [silent])

    assert found.goal is not None
    assert (len(found.goal.text), found.goal.key, found.now) == (200, PROMPTED, None)
    assert found.before_it == (carried,)
