"""Instants: every form is read, one form is written, and stamps put cause before effect."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from passdown.core.times import (
    FOLLOW_LIMIT,
    age_words,
    is_older,
    next_instant,
    parse_clock,
    parse_instant,
    render_archive_stamp,
    render_file_stamp,
    render_millis,
    render_seconds,
    to_millis,
    too_far_ahead,
)

MILLISECOND = timedelta(milliseconds=1)
FIRST = datetime.min.replace(tzinfo=UTC)
LAST = datetime.max.replace(tzinfo=UTC)
instants = st.datetimes(timezones=st.just(UTC))
NOON = datetime(2026, 1, 10, 12, 0, tzinfo=UTC)


@pytest.mark.requirement("R6", "R101")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-10T13:03:52Z", datetime(2026, 1, 10, 13, 3, 52, tzinfo=UTC)),
        ("2026-01-10T13:03:52.444Z", datetime(2026, 1, 10, 13, 3, 52, 444_000, tzinfo=UTC)),
        ("2026-01-10T13:03:52.444555Z", datetime(2026, 1, 10, 13, 3, 52, 444_555, tzinfo=UTC)),
        ("2026-01-10T13:03:52.444555999Z", datetime(2026, 1, 10, 13, 3, 52, 444_555, tzinfo=UTC)),
        ("2026-01-10T13:03:52,4Z", datetime(2026, 1, 10, 13, 3, 52, 400_000, tzinfo=UTC)),
        ("2026-01-10T13:03:52+05:30", datetime(2026, 1, 10, 7, 33, 52, tzinfo=UTC)),
        ("2026-01-10T13:03:52-0800", datetime(2026, 1, 10, 21, 3, 52, tzinfo=UTC)),
        ("2026-01-10T13:03:52+01", datetime(2026, 1, 10, 12, 3, 52, tzinfo=UTC)),
        ("2026-01-10T13:03:52", datetime(2026, 1, 10, 13, 3, 52, tzinfo=UTC)),
        ("2026-01-10 13:03:52.444", datetime(2026, 1, 10, 13, 3, 52, 444_000, tzinfo=UTC)),
        ("2026-01-10 13:03", datetime(2026, 1, 10, 13, 3, tzinfo=UTC)),
        ("2026-01-10", datetime(2026, 1, 10, tzinfo=UTC)),
        ("2026-01-10T13-03-52Z", datetime(2026, 1, 10, 13, 3, 52, tzinfo=UTC)),
        ("2026-01-10T23-40-31.444Z", datetime(2026, 1, 10, 23, 40, 31, 444_000, tzinfo=UTC)),
        ("2026-01-10T23-40-31-444Z", datetime(2026, 1, 10, 23, 40, 31, 444_000, tzinfo=UTC)),
        ("2026-01-10-13-03", datetime(2026, 1, 10, 13, 3, tzinfo=UTC)),
        ("1768050232", datetime(2026, 1, 10, 13, 3, 52, tzinfo=UTC)),
        ("9999999999", datetime(2286, 11, 20, 17, 46, 39, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999Z", LAST.replace(microsecond=999_000)),
        ("0001-01-01", FIRST),
    ],
)
def test_every_listed_form_is_read(text: str, expected: datetime) -> None:
    instant = parse_instant(text)

    assert instant == expected
    assert instant is not None
    assert instant.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "13:03",
        "2026-02-30",
        "2026-02-30T10-00-00Z",
        "2026-13-10-13-03",
        "0000-01-01",
        "2026-01-10T24:00:00Z",
        "2026-01-10T23:59:60Z",
        "2026-01-10T13-03-60Z",
        "2026-W02-6T13:03:52Z",
        "20260110T130352Z",
        "2026-1-1",
        "2026-01-10T13:03:52Z\n",
        " 2026-01-10",
        "2026-01-10Z",
        "2026-01-10T13:03:52+05:99",
        "2026-01-10T13:03:52+24:00",
        "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:00:00-05:00",
        "٢026-01-10T13:03:52Z",
        "176805023",
        "17680502320",
        "-1768050232",
    ],
)
def test_anything_else_is_no_instant(text: str) -> None:
    assert parse_instant(text) is None


@given(st.text() | st.text("0123456789-T:.Z +,W", min_size=8, max_size=32))
def test_no_text_makes_parsing_fail(text: str) -> None:
    instant = parse_instant(text)

    assert instant is None or instant.tzinfo is UTC
    assert parse_clock(text) in {None, text}


@pytest.mark.requirement("R6")
@given(instants)
@example(FIRST)
@example(LAST)
def test_what_is_written_is_read_back_cut_to_its_precision(instant: datetime) -> None:
    assert parse_instant(render_millis(instant)) == to_millis(instant)
    assert parse_instant(render_file_stamp(instant)) == to_millis(instant)
    assert parse_instant(render_seconds(instant)) == instant.replace(microsecond=0)
    assert parse_instant(render_archive_stamp(instant)) == instant.replace(second=0, microsecond=0)


@pytest.mark.requirement("R6", "R101", "G15")
def test_the_written_forms_look_as_promised() -> None:
    instant = datetime(2026, 1, 10, 14, 3, 52, 999_999, tzinfo=timezone(timedelta(hours=1)))

    assert render_seconds(instant) == "2026-01-10T13:03:52Z"
    assert render_millis(instant) == "2026-01-10T13:03:52.999Z"
    assert render_file_stamp(instant) == "2026-01-10T13-03-52.999Z"
    assert render_archive_stamp(instant) == "2026-01-10-13-03"


@given(instants, instants)
def test_file_stamps_sort_as_their_instants_do(one: datetime, other: datetime) -> None:
    earlier, later = sorted([to_millis(one), to_millis(other)])

    assert render_file_stamp(earlier) <= render_file_stamp(later)


def test_an_instant_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        render_seconds(NOON.replace(tzinfo=None))


@pytest.mark.requirement("R27", "C26")
@pytest.mark.parametrize("text", ["00:00", "09:05", "23:59"])
def test_a_local_time_of_day_stays_the_text_it_is(text: str) -> None:
    assert parse_clock(text) == text


@pytest.mark.requirement("R27")
@pytest.mark.parametrize("text", ["24:00", "9:05", "12:60", "12:00:00", "12:00 ", "1:00 pm", "12:00\n", ""])
def test_other_clock_texts_are_no_time_of_day(text: str) -> None:
    assert parse_clock(text) is None


@given(
    instants,
    st.lists(instants | st.timedeltas(timedelta(days=-2), timedelta(days=2)), max_size=8),
)
@example(LAST, [LAST])
@example(LAST, [LAST - MILLISECOND])
@example(FIRST, [LAST])
def test_a_new_instant_follows_all_it_has_seen(now: datetime, marks: list[datetime | timedelta]) -> None:
    seen = [_near(now, mark) if isinstance(mark, timedelta) else mark for mark in marks]

    answer = next_instant(now, seen)

    assert answer.microsecond % 1000 == 0
    assert to_millis(now) <= answer
    assert all(instant < answer for instant in seen) or answer == to_millis(LAST)
    assert answer <= max(
        [to_millis(now), *(to_millis(one) + MILLISECOND for one in seen if one < LAST), LAST]
    )


def _near(now: datetime, distance: timedelta) -> datetime:
    try:
        return now + distance
    except OverflowError:
        return now


def test_the_own_clock_counts_when_it_is_ahead() -> None:
    assert next_instant(NOON + timedelta(microseconds=1_999), [NOON]) == NOON + MILLISECOND
    assert next_instant(NOON, []) == NOON


def test_one_millisecond_is_added_to_a_newer_instant() -> None:
    assert next_instant(NOON, [NOON]) == NOON + MILLISECOND
    assert next_instant(NOON, [NOON + FOLLOW_LIMIT]) == NOON + FOLLOW_LIMIT + MILLISECOND


@pytest.mark.requirement("C26")
def test_what_lies_more_than_a_day_ahead_is_reported() -> None:
    strange = NOON + FOLLOW_LIMIT + timedelta(microseconds=1)

    assert too_far_ahead(NOON, strange)
    assert not too_far_ahead(NOON, NOON + FOLLOW_LIMIT)


def test_exactly_the_limit_is_not_older() -> None:
    limit = timedelta(hours=24)

    assert not is_older(NOON - limit, NOON, limit)
    assert is_older(NOON - limit - timedelta(microseconds=1), NOON, limit)


@pytest.mark.parametrize(
    ("age", "words"),
    [
        (timedelta(seconds=-5), "0 s"),
        (timedelta(seconds=59.9), "59 s"),
        (timedelta(seconds=60), "1 min"),
        (timedelta(minutes=59, seconds=59), "59 min"),
        (timedelta(hours=2), "2 h"),
        (timedelta(hours=23, minutes=59), "23 h"),
        (timedelta(days=5, hours=3), "5 d"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(age: timedelta, words: str) -> None:
    assert age_words(age) == words
