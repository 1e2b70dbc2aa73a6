"""The rank of an event: cause before clock, whatever anybody names."""

from datetime import timedelta

import pytest

from passdown.core.merge.event_facts import EventFacts
from passdown.core.merge.merge import merge_events, order_events
from passdown.core.merge.ranks import Head, choose_heads, find_present, limit_of
from tests.support.events import START, make_text, read

FAR = "2999-01-01T00:00:00Z"
MILLISECOND = timedelta(milliseconds=1)


def event(minute: int, name: str = "", **said: object) -> EventFacts:
    """Make an event of a minute."""
    return read(make_text((START + timedelta(minutes=minute)).isoformat(), **keys(name, said)))  # type: ignore[arg-type]


def dated(ts: str, name: str = "", **said: object) -> EventFacts:
    """Make an event of any date."""
    return read(make_text(ts, **keys(name, said)))  # type: ignore[arg-type]


def keys(name: str, said: dict[str, object]) -> dict[str, object]:
    return ({"id": name} if name else {}) | said


def short(source: EventFacts) -> str:
    return source.rank.hash[:16]


def now(*events: EventFacts) -> str:
    return merge_events(events).tables["now"][""].text


@pytest.mark.requirement("C115")
def test_with_plausible_clocks_the_rank_is_the_stamp() -> None:
    one = event(1, now="one")
    two = event(2, now="two", after=[short(one), "long gone"])

    ordered = order_events([two, one])

    assert ordered.heard == [one, two]
    assert not ordered.places
    assert ordered.followed == {one.rank.hash}


@pytest.mark.requirement("C115")
def test_an_event_ranks_after_what_it_names_though_its_clock_is_slow() -> None:
    one = event(9, now="one")
    two = event(1, now="two", after=[short(one)])

    assert now(one, two) == "two"
    assert [*map(order_events([one, two]).at, (one, two))] == [one.rank.at, one.rank.at]


@pytest.mark.requirement("C115")
def test_what_is_named_ahead_and_all_before_it_ranks_before_the_event_that_names_it() -> None:
    first = dated(FAR, now="first")
    second = dated(FAR, now="second", after=[short(first)])
    honest = event(1, now="honest", after=[short(second)], ahead=[short(second)])
    beside = event(2, now="beside")

    ordered = order_events([beside, honest, second, first])

    assert [source.rank for source in ordered.heard] == [one.rank for one in (first, second, honest, beside)]
    assert ordered.at(second) == honest.rank.at - MILLISECOND
    assert now(first, second, honest) == "honest"


@pytest.mark.requirement("C115")
def test_edges_in_a_circle_of_ids_do_not_count() -> None:
    one = event(1, "one", now="one", after=["two", "one"], ahead=["two"])
    two = event(2, "two", now="two", after=["three"])
    three = event(3, "three", now="three", after=["one", short(two)])

    ordered = order_events([three, two, one])

    assert [source.rank for source in ordered.heard] == [one.rank, two.rank, three.rank]
    assert dict(ordered.places) == {}


@pytest.mark.requirement("C115")
def test_a_name_by_hash_counts_also_if_somebody_closes_a_circle() -> None:
    evil = event(9, "evil", now="evil", after=["chosen"])
    honest = event(1, now="honest", after=[short(evil)], ahead=[short(evil)])
    closing = event(2, "chosen", now="closing", after=[short(honest)])

    ordered = order_events([closing, honest, evil])

    assert [source.rank for source in ordered.heard] == [evil.rank, honest.rank, closing.rank]


@pytest.mark.requirement("C115")
def test_retracting_an_event_undoes_what_it_named() -> None:
    one = event(5, now="one")
    evil = dated("1970-01-01T00:00:00Z", "evil", now="evil", ahead=[short(one)])
    two = event(4, now="two")
    assert now(one, two, evil) == "two"

    assert now(one, two, evil, event(6, retracted_events=["evil"])) == "one"


@pytest.mark.requirement("C120")
def test_facts_are_never_later_than_the_rank_of_their_event() -> None:
    far = dated(FAR, decisions={"db": "far"}, now="far")
    origins = {"decisions": f"3 {(START + timedelta(seconds=1)).isoformat()}"}
    honest = event(1, decisions={"db": "honest"}, origins=origins, ahead=[short(far)])

    tables = merge_events([far, honest]).tables

    assert tables["decision"]["db"].text == "honest"
    assert tables["decision"]["db"].at == tables["now"][""].at == honest.rank.at - MILLISECOND


@pytest.mark.requirement("C115")
def test_the_first_instant_of_all_has_nothing_before_it() -> None:
    far = dated(FAR, now="far")
    first = dated("0001-01-01T00:00:00Z", now="first", ahead=[short(far)])

    assert now(far, first) == "first"
    assert limit_of(dated("9999-12-31T23:00:00Z").rank.at).year == 9999


@pytest.mark.requirement("C115")
def test_the_present_is_the_clock_or_the_median_of_three_sessions() -> None:
    times = [START + timedelta(days=day) for day in (400_000, 3, 2, 1)]

    assert find_present(START, times[:2]) == START
    assert find_present(START, times[:3]) == START + timedelta(days=3)
    assert find_present(START, times) == START + timedelta(days=2)
    assert find_present(START + timedelta(days=9), times) == START + timedelta(days=9)


def test_seeds_are_named_only_if_they_are_recent() -> None:
    heads = [Head(f"{number:064}", number % 2 == 0, number < 40) for number in range(600)]

    assert len(choose_heads(heads)) == 256 + 16
