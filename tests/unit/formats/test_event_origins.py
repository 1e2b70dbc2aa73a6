"""An event tells where each of its facts comes from; entries that do not fit say nothing."""

from datetime import UTC, datetime

import pytest

from passdown.core.facts import Fact, Provenance
from passdown.core.formats.origins import Origin, parse_origins, render_origins
from tests.support.events import make_text, read

AT = datetime(2026, 1, 10, 13, tzinfo=UTC)


@pytest.mark.requirement("C120")
def test_origins_read_back_as_they_were_written() -> None:
    facts = [
        Fact("done", "a", AT, "amber", seq=3),
        Fact("done", "b", AT, "birch", provenance=Provenance.VERIFIED, commit="0123456789abcdef", seq=4),
    ]

    told = render_origins([("this_session", facts), ("decisions", [])], "amber")

    assert dict(told) == {
        "this_session": "3 2026-01-10T13:00:00.000Z, "
        "4 2026-01-10T13:00:00.000Z by birch verified at 0123456789ab"
    }
    assert parse_origins(told) == {
        "this_session": [
            Origin(3, AT),
            Origin(4, AT, "birch", Provenance.VERIFIED, "0123456789ab"),
        ]
    }


@pytest.mark.parametrize("entry", ["", "x", "3", "x 2026-01-10T13:00Z", "3 never", "-1 2026-01-10T13:00Z"])
def test_an_entry_that_does_not_fit_says_nothing(entry: str) -> None:
    assert parse_origins([("now", entry)]) == {"now": [None]}


def test_words_that_are_not_known_are_passed_over() -> None:
    found = parse_origins([("now", "3 2026-01-10T13:00:00Z later observed at banana")])

    assert found == {"now": [Origin(3, AT, provenance=Provenance.OBSERVED)]}


def test_facts_without_a_fitting_origin_are_as_old_as_their_event() -> None:
    few = read(make_text(this_session=["a", "b"], origins={"this_session": "1 2026-01-10T12:00:00Z"}))
    odd = read(
        make_text(this_session=["a", "b"], origins={"this_session": "1 2026-01-10T12:00:00Z, someday"})
    )

    none = read(make_text(this_session=[], origins={"this_session": "1 2026-01-10T12:00:00Z"}))

    assert {fact.at for fact in few.facts} == {AT}
    assert none.facts == ()
    assert [(fact.text, fact.at.hour, fact.seq) for fact in odd.facts] == [("a", 12, 1), ("b", 13, 0)]


def test_a_fact_is_never_later_than_its_event() -> None:
    source = read(make_text(now="x", origins={"now": "1 2999-01-01T00:00:00Z"}))

    assert [fact.at for fact in source.facts] == [AT]
