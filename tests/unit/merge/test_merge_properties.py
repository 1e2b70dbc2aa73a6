"""What holds for merging any events: order, grouping and repetition do not matter, and nothing is lost."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passdown.core.facts import identify, identify_retracted, make_key
from passdown.core.formats.views import render_view
from passdown.core.merge.event_facts import EventFacts, parse_event_facts
from passdown.core.merge.merge import make_digest, merge_events
from passdown.core.merge.projections import LIMIT, make_view
from passdown.core.merge.rollups import RollupMember, parse_rollup, render_rollup
from tests.support.events import make_text_of
from tests.support.texts import said_text

START = datetime(2026, 1, 10, 23, 59, 59, tzinfo=UTC)

words = st.sampled_from(["a", "b", "é", "e\u0301", "x: y", "# no", "constructor", "c\nd"])
lists = st.lists(words, max_size=3)
maps = st.dictionaries(st.sampled_from(["k", "l", "constructor"]), words, max_size=2)
checkpoints = st.lists(
    st.fixed_dictionaries(
        {"phase": st.sampled_from("12"), "status": st.sampled_from(["failed", "validated"])},
        optional={"updated": st.sampled_from(["2026-01-10", "2026-01-11T00:00:00Z"]), "task": st.just("t")},
    ),
    max_size=2,
)
ids = st.sampled_from(["e1", "e2", "e3"])
keys = st.fixed_dictionaries(
    {},
    optional={
        "id": ids,
        "goal": words,
        "now": words,
        "next": lists,
        "this_session": st.lists(words | said_text, max_size=3),
        "open_questions": lists,
        "constraints": lists,
        "receipts": lists,
        "feedback": lists,
        "decisions": maps,
        "answers": maps,
        "checkpoints": checkpoints,
        "retracted_done": lists,
        "resolved_questions": lists,
        "answered_feedback": lists,
        "retracted_constraints": lists,
        "retracted_receipts": lists,
        "files_modified": lists,
        "retracted_decisions": lists,
        "retracted_events": st.lists(ids, max_size=1),
        "unknown_key": words,
    },
)
times = st.integers(0, 2).map(lambda second: (START + timedelta(seconds=second)).isoformat())
event_texts = st.builds(make_text_of, keys, times, st.sampled_from(["a", "b"]))
Pair = tuple[RollupMember, EventFacts]


def make_pair(text: str) -> Pair:
    member = RollupMember("event.md", text.encode())
    source = parse_event_facts(member.data, member.name)
    assert source is not None
    return member, source


pairs = st.lists(event_texts.map(make_pair), max_size=4)


def sources_of(pairs: list[Pair]) -> list[EventFacts]:
    return [source for _, source in pairs]


def roll(pairs: list[Pair]) -> list[EventFacts]:
    rollup = parse_rollup(render_rollup(START.date(), pairs).encode())
    assert rollup.skipped == 0
    return [source for _, source in rollup.members]


@given(pairs, st.randoms(use_true_random=False))
@pytest.mark.requirement("R116")
def test_order_and_repetition_do_not_matter(events: list[Pair], random: st.DataObject) -> None:
    sources = sources_of(events)
    again = [*sources, *sources[::2]]
    random.shuffle(again)  # type: ignore[attr-defined]  # a Random

    assert merge_events(again) == merge_events(sources)


@given(pairs, pairs, pairs)
@pytest.mark.requirement("R116")
def test_grouping_does_not_matter(one: list[Pair], two: list[Pair], three: list[Pair]) -> None:
    whole = make_digest(merge_events(sources_of([*one, *two, *three])), 0, LIMIT)

    left = [*roll([*one, *two]), *sources_of(three)]
    right = [*sources_of(one), *roll([*two, *three])]
    overlapping = [*roll([*one, *two]), *roll([*two, *three])]

    for sources in (left, right, overlapping):
        digest = make_digest(merge_events(sources), 0, LIMIT)
        assert digest == whole
        assert render_view(make_view(digest)) == render_view(make_view(whole))


@given(pairs)
@pytest.mark.requirement("R108", "R109")
def test_nothing_is_lost_that_nobody_took_back(events: list[Pair]) -> None:
    sources = sources_of(events)
    void = {
        (fact.key, identify_retracted(fact))
        for source in sources
        for fact in source.facts
        if fact.kind == "retraction"
    }
    taken = {name for source in sources for name in source.retracted}
    merged = merge_events(sources)

    for source in sources:
        if source.rank.id in taken:
            continue
        for fact in source.facts:
            if fact.kind in {"done", "decision"} and (fact.kind, identify(fact)) not in void:
                assert identify(fact) in merged.tables[fact.kind]


@given(pairs)
def test_nothing_is_made_up(events: list[Pair]) -> None:
    said = {fact for source in sources_of(events) for fact in source.facts}
    steps = {fact._replace(text=step) for fact in said if fact.kind == "next" for step in fact.steps}

    for table in merge_events(sources_of(events)).tables.values():
        assert set(table.values()) <= said | steps


@given(said_text)
def test_the_key_of_a_text_is_the_key_of_its_key(text: str) -> None:
    assert make_key(make_key(text)) == make_key(text)
