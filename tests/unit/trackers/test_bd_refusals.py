"""What each build of `bd` means by its words: there is no such task, it refuses, or it may pass (C148)."""

import pytest

from passdown.core.safe_text import one_line
from passdown.ports.programs import ProgramResult
from passdown.trackers.beads.builds import Build
from passdown.trackers.beads.refusals import AnswerMeaning, judge
from tests.trackers import bd_words
from tests.trackers.fake_bd import BUILDS

pytestmark = pytest.mark.requirement("C148")


def make_build(version: str) -> Build:
    """Make a build of this version."""
    is_old = version.startswith("0.44")
    return Build(
        version=version, can_append=not is_old, has_metadata=not is_old, has_imports=is_old, has_sync=True
    )


@pytest.mark.parametrize("version", BUILDS)
def test_the_words_of_each_build_are_told_apart(version: str) -> None:
    build = make_build(version)
    for answers, verdict in (
        (bd_words.UNKNOWN[version], AnswerMeaning.UNKNOWN),
        (bd_words.REFUSED[version], AnswerMeaning.REFUSED),
        (bd_words.list_failures(version), AnswerMeaning.FAILED),
        ((ProgramResult(0, '[{"id": "tp-1"}]'), ProgramResult(0, "[]", "⚠ a warning")), AnswerMeaning.DONE),
    ):
        for answer in answers:
            assert judge(build, answer) is verdict, one_line(f"{answer.text} {answer.errors}")


@pytest.mark.parametrize("version", BUILDS)
def test_each_build_has_twelve_failures(version: str) -> None:
    assert len({*bd_words.list_failures(version)}) == 12


def test_an_answer_with_a_failing_exit_code_is_no_success() -> None:
    assert judge(make_build("1.3.0"), ProgramResult(1, '[{"id": "tp-1"}]')) is AnswerMeaning.FAILED


@pytest.mark.parametrize(
    ("version", "like"), [("0.44.7", "0.44.0"), ("0.63.3", "1.0.0"), ("1.2.9", "1.3.0"), ("2.0.0", "1.3.0")]
)
def test_a_build_that_is_not_known_is_read_like_the_nearest(version: str, like: str) -> None:
    for answer in (*bd_words.UNKNOWN[like], *bd_words.REFUSED[like], *bd_words.list_failures(like)):
        assert judge(make_build(version), answer) is judge(make_build(like), answer)
    (own,) = {
        "0.44.0": "issue cannot depend on itself",
        "1.0.0": "cannot close tp-1: blocked by open issues",
    }.get(like, "assignee mismatch").splitlines()
    assert judge(make_build(version), ProgramResult(1, "", f"Error: {own}")) is AnswerMeaning.REFUSED


def test_words_of_a_task_s_text_refuse_nothing() -> None:
    for text in (
        "the page is not found",
        "it was already claimed by them",
        "blocked by open issues, validation failed",
    ):
        answer = ProgramResult(
            1, "", f"Error updating tp-1: failed to write '{text}' to sqlite3: disk I/O error"
        )
        for version in BUILDS:
            assert judge(make_build(version), answer) is AnswerMeaning.FAILED
