"""Each ailment says what is wrong and what to do next; numbers decide at their bounds."""

from datetime import UTC, datetime, timedelta

import pytest

from passdown.core.problems import Severity
from passdown.core.project import findings
from passdown.core.project.findings import CacheHealth

NOON = datetime(2026, 1, 11, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ahead", "said"),
    [
        (timedelta(hours=-1), None),
        (timedelta(minutes=5), None),
        (timedelta(minutes=5, milliseconds=1), "5 min"),
        (timedelta(hours=3), "3 h"),
    ],
)
def test_a_clock_is_behind_when_more_than_five_minutes_are_missing(
    ahead: timedelta, said: str | None
) -> None:
    found = findings.judge_clock(NOON, NOON + ahead)

    expected = f"this machine's clock is {said} behind the newest event" if said else None
    assert (found.what if found else None) == expected
    assert findings.judge_clock(NOON, None) is None


def test_a_server_is_slow_from_20_ms_on() -> None:
    assert findings.judge_round_trip(0.0) is None
    assert findings.judge_round_trip(0.0199) is None
    found = findings.judge_round_trip(0.02)
    assert found is not None
    said = "takes 20 ms to answer a message, so a claim, which sends about 40, waits 0.8 s"
    assert (said in found.what, found.severity) == (True, Severity.WARNING)


@pytest.mark.requirement("C48")
def test_a_folder_for_each_day_is_proposed_above_5000_files() -> None:
    assert findings.judge_layout("events", 5000) is None
    found = findings.judge_layout("events", 5001)
    assert found is not None
    assert (found.what, found.severity) == ("events has 5001 files", Severity.WARNING)


def test_a_cache_is_a_warning_at_most() -> None:
    assert findings.judge_cache(CacheHealth.GOOD, "cache") is None
    for cache, said in (
        (CacheHealth.UNUSABLE, "cannot be used"),
        (CacheHealth.REMOTE, "is not on a local disk"),
    ):
        found = findings.judge_cache(cache, "cache")
        assert found is not None
        assert (found.what, found.severity) == (f"the cache in cache {said}", Severity.WARNING)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ("missing", "is missing"),
        ("edited", "was edited by hand"),
        ("other-renderer", "was made by another version of Passdown"),
        ("outdated", "is older than its events"),
    ],
)
def test_the_view_says_how_it_is_wrong(state: str, said: str) -> None:
    found = findings.outdated_view("v.md", state)

    assert found.what == f"v.md {said}"
    assert ("keeps a copy" in found.hint) == (state == "edited")


def test_commands_in_hints_can_be_pasted() -> None:
    assert "`git rm -r --cached -- 'my state'`" in findings.tracked("my state", ["my state/x"]).hint
    assert "`passdown log retract 'x; y'`" in findings.future_event("x; y", NOON).hint
    assert "'it'\\''s/x'`" in findings.ignored(["it's"], "it's/x").hint
    assert "'a b/x.md'`" in findings.ignored(["a b"], "a b/x.md").hint


@pytest.mark.requirement("C127")
def test_conflicts_of_archiving_are_an_error_with_the_command_that_settles_them() -> None:
    found = findings.conflicts("the merge has conflicts in 2 files", "run `passdown archive resolve`")

    assert (found.what, found.hint) == (
        "the merge has conflicts in 2 files",
        "run `passdown archive resolve`",
    )
    assert (found.severity, found.is_fixable) == (Severity.ERROR, False)


@pytest.mark.requirement("C134")
@pytest.mark.parametrize(
    ("count", "days", "said"),
    [
        (1, 20, "1 transcript of this project, the first in 20 days"),
        (3, 1, "3 transcripts of this project, the first in 1 day"),
        (2, 0, "2 transcripts of this project, the first at its next start"),
    ],
)
def test_transcripts_that_a_host_deletes_are_counted_and_can_be_imported(
    count: int, days: int, said: str
) -> None:
    found = findings.due_transcripts("Claude Code", "claude", count, days)

    assert (found.what, found.severity) == (f"Claude Code will delete {said}", Severity.WARNING)
    assert "`passdown import --host claude`" in found.hint


def test_of_many_paths_three_are_named() -> None:
    assert findings.tracked("s", ["a", "b", "c"]).what == "git tracks a, b, c"
    assert findings.tracked("s", ["a", "b", "c", "d", "e"]).what == "git tracks a, b, c and 2 more"
