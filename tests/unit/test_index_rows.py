"""Rows of the index give back what was put into them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.merge import REGISTERS
from passdown.core.sources import DECISIONS, DONE, SECTIONS, Fact, Rank, Source
from passdown.engines.index.load import day_of
from passdown.engines.index.rows import (
    DAY,
    fact_rows,
    is_register,
    make_bucket,
    make_held,
    section_number,
    to_instant,
    to_micros,
)

instants = st.datetimes(timezones=st.just(UTC))
texts = st.text(st.characters(exclude_categories=["Cs"]))
AT = datetime(2026, 1, 10, tzinfo=UTC)


@given(instants)
def test_an_instant_comes_back_to_the_microsecond_and_keeps_its_day(at: datetime) -> None:
    assert to_instant(to_micros(at)) == at
    assert day_of(to_micros(at) // DAY) == at.date()


@given(instants, instants)
def test_the_order_of_instants_is_that_of_their_numbers(one: datetime, two: datetime) -> None:
    assert (one < two) == (to_micros(one) < to_micros(two))


@given(
    st.sampled_from(SECTIONS),
    texts,
    texts | st.tuples(texts) | st.tuples(texts, texts) | st.just(()),
    instants,
)
def test_a_fact_comes_back_whole(section: str, key: str, value: str | tuple[str, ...], at: datetime) -> None:
    rank = Rank(AT, "a", "i", "h")
    fact: Fact = (section, key, value, at)  # type: ignore[assignment]  # one of SECTIONS
    source = Source(rank, (fact,), (), "", "", "", 0)

    (row,) = fact_rows(source, 7, 3)

    assert (row.id, row.source, row.key) == (3, 7, key)
    assert row.value is not None
    assert make_held((row.ts, to_micros(rank.at), rank.agent, rank.id, rank.hash, row.id, row.value)) == (
        at,
        rank,
        value,
    )


def test_what_is_taken_back_has_no_value_and_a_bucket_of_its_own() -> None:
    source = Source(Rank(AT, "a", "i", "h"), ((DONE, "k", "v", AT), (DONE, "k", None, AT)), (), "", "", "", 0)

    stated, void = fact_rows(source, 1, 1)

    assert void.value is None
    assert void.bucket != stated.bucket == make_bucket(section_number(DONE), "k", void=False)
    assert make_bucket(section_number(DECISIONS), "k", void=False) != stated.bucket


@pytest.mark.parametrize("section", SECTIONS)
def test_registers_are_known_by_number(section: str) -> None:
    assert is_register(SECTIONS.index(section)) == (section in REGISTERS)
