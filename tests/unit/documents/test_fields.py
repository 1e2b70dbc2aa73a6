"""Fields: each kind is read back, and what does not fit is refused with a hint."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.documents.fields import (
    count_key,
    instant_key,
    read_choice,
    read_count,
    read_instant,
    reader_of,
    text_key,
    texts_key,
    value_key,
)
from passdown.core.documents.frontmatter import split_entries
from passdown.core.documents.keys import Key
from passdown.core.problems import Malformed
from tests.support.texts import texts

T = TypeVar("T")
LAST = datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001 - the strategy adds the zone


class Colour(StrEnum):
    """A closed set."""

    RED = "RED"
    LIGHT_BLUE = "light-blue"


def again(key: Key[T], value: T) -> T:
    """The value, written and read."""
    (entry,), strays = split_entries(key.writer(key.name, value))
    assert strays == []
    return key.reader(entry)


@given(st.none() | texts)
def test_a_text_is_read_back(value: str | None) -> None:
    assert again(text_key("a"), value) == value


@given(st.none() | st.datetimes(max_value=LAST, timezones=st.just(UTC)))
def test_an_instant_is_read_back_to_the_second(value: datetime | None) -> None:
    assert again(instant_key("a"), value) == (value.replace(microsecond=0) if value else None)


@given(st.none() | st.sampled_from(Colour))
def test_a_choice_is_read_back(value: Colour | None) -> None:
    assert again(value_key("a", reader_of(Colour), None), value) == value


@given(st.none() | st.integers(0, 999_999_999))
def test_a_count_is_read_back(value: int | None) -> None:
    assert again(count_key("a"), value) == value


@given(st.lists(texts).map(tuple))
def test_a_short_list_is_read_back(value: tuple[str, ...]) -> None:
    assert again(texts_key("a"), value) == value


def test_a_choice_is_read_in_any_case() -> None:
    assert read_choice("red", Colour) is Colour.RED
    assert read_choice("Light-Blue", Colour) is Colour.LIGHT_BLUE


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-45"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="is not a time"):
        read_instant(text)


@pytest.mark.parametrize("text", ["", "-1", "1.5", "٣", "1" * 5000, "1_0", " 1"])
def test_what_is_no_count_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="is not a whole number"):
        read_count(text)


def test_what_is_no_choice_is_refused_with_the_set() -> None:
    with pytest.raises(Malformed, match="is not a known value: green") as refused:
        read_choice("green", Colour)

    assert refused.value.hint == "use one of RED, light-blue"
