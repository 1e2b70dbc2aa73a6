"""Rows of the index give back what was put into them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.facts import Fact, Provenance, identify
from passdown.core.kinds import MERGED, FactKind
from passdown.core.merge.event_facts import EventFacts, EventRank
from passdown.core.times import to_micros
from passdown.engines.sqlite.event_load import day_of
from passdown.engines.sqlite.event_rows import (
    DAY,
    fact_rows,
    is_register,
    make_bucket,
    make_fact,
    section_number,
    to_instant,
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


@given(st.sampled_from(MERGED), st.tuples(texts, texts, texts), instants, st.sampled_from(Provenance))
def test_a_fact_comes_back_whole(
    kind: FactKind, words: tuple[str, str, str], at: datetime, provenance: Provenance
) -> None:
    (text, key, agent), seq = words, 2**40
    rank = EventRank(AT, "a", "i", "h")
    fact = Fact(
        kind.value,
        text,
        at,
        agent,
        key,
        text,
        provenance,
        "abc",
        (("task", f'"{seq}"'),),
        session="s",
        seq=seq,
        event="h",
        event_id="i",
    )
    plain = Fact(kind.value, text, at, "a", session="s", event="h", event_id="i")
    plain = plain._replace(key=identify(plain)) if kind is FactKind.DECISION else plain
    source = EventFacts(rank, (fact, plain), (), "", "", "s", 0, ())

    for row, told in zip(fact_rows(source, 7, 3), source.facts, strict=True):
        found = (row.ts, 1, 1, 1, "a", "i", "h", row.id, row.value, row.key, row.more, "s")
        assert (row.source, row.key) == (7, identify(told))
        assert make_fact(kind.value, found) == told
    assert fact_rows(source, 7, 3)[1].more is None


def test_what_is_taken_back_has_no_value_and_a_bucket_of_its_own() -> None:
    facts = (Fact("done", "k", AT, "a"), Fact("retraction", "k", AT, "a", "done"))
    source = EventFacts(EventRank(AT, "a", "i", "h"), facts, (), "", "", "", 0, ())

    stated, void = fact_rows(source, 1, 1)

    assert void.value is None
    assert void.bucket != stated.bucket == make_bucket(section_number("done"), "k", void=False)
    assert make_bucket(section_number("decision"), "k", void=False) != stated.bucket


@pytest.mark.parametrize("kind", MERGED)
def test_registers_are_known_by_number(kind: FactKind) -> None:
    assert is_register(section_number(kind)) == (kind in {"goal", "now", "next"})
