"""How full a context is: the ladder, the line that shows it, and the file in which hooks find it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.hosts.context_usage import (
    WIDEST,
    ContextLevel,
    ContextReading,
    ContextThresholds,
    level_of,
    parse_reading,
    read_percent,
    render_reading,
    render_status,
)
from passdown.services.handover.context_usage import note_level, read_level
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import Settings
from tests.support.gits import make_started
from tests.support.projects import open_checkout

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
LOW = ContextReading(10, ContextLevel.LOW, NOON)


@pytest.mark.requirement("G9", "C38")
@pytest.mark.parametrize(
    ("percent", "level"),
    [
        (0, "low"),
        (69.9, "low"),
        (70, "suggest"),
        (84, "suggest"),
        (85, "save"),
        (89.9, "save"),
        (90, "force"),
    ],
)
def test_the_ladder_has_three_steps(percent: float, level: str) -> None:
    assert level_of(percent) == level


def test_the_ladder_can_be_another_one() -> None:
    assert [level_of(percent, ContextThresholds(1, 2, 3)) for percent in range(4)] == list(ContextLevel)


@pytest.mark.parametrize(
    ("value", "percent"),
    [
        (86.4, 86),
        (0, 0),
        (100, 100),
        (True, None),
        ("86", None),
        (None, None),
        (-1, None),
        (float("nan"), None),
    ],
)
def test_a_host_tells_a_number_or_nothing(value: object, percent: int | None) -> None:
    assert read_percent(value) == percent


@given(st.integers(0, 100), st.sampled_from(ContextLevel), st.datetimes(timezones=st.just(UTC)))
def test_a_reading_is_read_as_it_was_written(percent: int, level: ContextLevel, at: datetime) -> None:
    reading = ContextReading(percent, level, at.replace(microsecond=0))

    assert parse_reading(render_reading(reading)) == reading


@pytest.mark.parametrize(
    "text", ["", "86 save", "x save 2026-03-02T12:00:00Z", "86 high 2026-03-02T12:00:00Z", "1 low x"]
)
def test_what_is_no_reading_is_none(text: str) -> None:
    assert parse_reading(text) is None


@pytest.mark.parametrize(
    ("doing", "percent", "line"),
    [
        ("", None, ""),
        ("Reading", None, "passdown: Reading"),
        ("", 12, "passdown: context 12 %"),
        ("Reading", 71, "passdown: Reading | context 71 %: hand off soon"),
        ("Reading", 85, "passdown: Reading | context 85 %: hand off now"),
        ("Reading", 99, "passdown: Reading | context 99 %: hand off, then clear"),
        ("a\x1b[31m\nb", 1, "passdown: a\\u001b[31m\\u000ab | context 1 %"),
    ],
)
def test_the_line_is_short(doing: str, percent: int | None, line: str) -> None:
    assert render_status(doing, percent, level_of(percent or 0)) == line


@given(st.text(), st.none() | st.integers(0, 100))
def test_the_line_is_one_line_and_fits(doing: str, percent: int | None) -> None:
    line = render_status(doing, percent, level_of(percent or 0))

    assert len(line) <= WIDEST
    assert "\n" not in line


@pytest.fixture(params=["git", "plain"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Workspace:
    """Give a checkout, with git and without."""
    if request.param == "git":
        make_started(tmp_path)
    return open_checkout(tmp_path, Settings())


def test_a_level_is_written_once_until_it_changes(site: Workspace) -> None:
    assert read_level(site, "s") is None
    assert note_level(site, "s", LOW) is True
    assert read_level(site, "s") == LOW
    later = LOW._replace(at=NOON + timedelta(hours=1))
    assert note_level(site, "s", later) is False
    assert read_level(site, "s") == LOW
    assert note_level(site, "s", later._replace(percent=11)) is True
    assert read_level(site, "s") == later._replace(percent=11)


def test_it_lies_in_gits_folder_where_no_checkout_shows_it(tmp_path: Path) -> None:
    project = make_started(tmp_path)

    note_level(open_checkout(tmp_path, Settings()), "s", LOW)

    assert (tmp_path / ".git/passdown/levels/s").read_text() == "10 low 2026-03-02T12:00:00Z\n"
    assert project.git("status", "--porcelain") == ""


def test_where_gits_folder_may_not_be_written_it_lies_in_the_checkout(tmp_path: Path) -> None:
    make_started(tmp_path)
    (tmp_path / ".git/passdown").write_text("in the way")
    site = open_checkout(tmp_path, Settings())

    assert note_level(site, "s", LOW) is True
    assert read_level(site, "s") == LOW
    assert (tmp_path / ".conductor/levels/s").exists()
    assert (tmp_path / ".conductor/.gitignore").exists()


def test_a_damaged_one_is_written_again(site: Workspace, tmp_path: Path) -> None:
    note_level(site, "s", LOW)
    for path in [*tmp_path.rglob("levels/s")]:
        path.write_bytes(b"\xff")

    assert note_level(site, "s", LOW) is True
    assert read_level(site, "s") == LOW
