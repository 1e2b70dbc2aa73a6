"""What a run chooses, how conflicts are decided, and how large rollups are split."""

from datetime import date, timedelta

import pytest

from passdown.core.merge.archive_runs import MANY_FILES, RunRules, TrackedEvent, choose_files
from passdown.core.merge.conflicts import Settlement, Sides, settle_conflicts
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.rollups import RollupMember, parse_rollup, render_rollups
from tests.support.events import make_text

TODAY = date(2026, 1, 11)


@pytest.mark.requirement("C127")
@pytest.mark.parametrize("days", [0, 1])
def test_files_of_one_day_are_removed_at_once_unless_it_is_not_over(days: int) -> None:
    day = TODAY - timedelta(days=days)
    files = [TrackedEvent(day, f"{number:04}.md", is_copy=False) for number in range(MANY_FILES + 1)]

    choice = choose_files(files, RunRules(TODAY, 7, is_early=True))

    assert (choice.moved, len(choice.removed)) == ((), days * (MANY_FILES + 1))


def sides(*stages: int, ours: str = "", theirs: str = "", home: str = "a.md") -> Sides:
    """Make a conflict in `a.md` whose content has the number of its stage as its name."""
    return Sides(
        {"a.md": [(stage, f"id{stage}") for stage in stages]},
        {home: ours} if ours else {},
        {home: theirs} if theirs else {},
        {},
    )


@pytest.mark.requirement("C127")
@pytest.mark.parametrize(
    ("conflict", "held", "expected"),
    [
        (sides(2, 3, ours="id2", theirs="id3"), "", Settlement({}, ("a.md",))),
        (sides(2, 3, ours="id2", theirs="id2"), "", Settlement({"a.md": "id2"}, ())),
        (sides(1, 2, ours="id2"), "id1 id2", Settlement({"a.md": None}, ())),
        (sides(1, 2, ours="id2"), "id1", Settlement({"a.md": "id2"}, ())),
        (sides(1, 2, ours="id2"), "id2", Settlement({}, ("a.md",))),
        (sides(3, theirs="id3", home="b.md"), "", Settlement({"a.md": None, "b.md": "id3"}, ())),
    ],
)
def test_a_conflict_is_settled_unless_a_content_would_be_lost(
    conflict: Sides, held: str, expected: Settlement
) -> None:
    assert settle_conflicts(conflict, held.split()) == expected


def pair(number: int) -> tuple[RollupMember, EventFacts]:
    """Make an event."""
    member = RollupMember(f"{number}.md", make_text(f"2026-01-10T01:00:0{number}Z", now="x" * 200).encode())
    source = parse_event_facts(member.data, member.name)
    assert source is not None
    return member, source


@pytest.mark.requirement("C128")
def test_a_day_with_many_events_gets_rollups_of_a_limited_size() -> None:
    members = [pair(number) for number in range(5)]

    parts = list(render_rollups(TODAY, members, most=1200))

    assert len(parts) > 1
    assert all(len(part) <= 1200 for part in parts)
    read = [parse_rollup(part.encode()) for part in parts]
    assert [one.skipped for one in read] == [0] * len(parts)
    assert [member for one in read for member, _ in one.members] == [member for member, _ in members]
    assert len(list(render_rollups(TODAY, members, most=1))) == 5
    assert list(render_rollups(TODAY, [])) == []
