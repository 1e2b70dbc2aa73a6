"""The rules of merging, case by case; `test_merge_properties` and the proofs hold them together."""

import hashlib
from datetime import UTC, date, datetime
from itertools import permutations

import pytest

from passdown.core.kinds import FactKind
from passdown.core.merge.merge import NewestFacts, hash_day, hash_events, join_days, make_digest, merge_events
from tests.support.events import (
    CONSTRAINTS,
    DECISIONS,
    DONE,
    FEEDBACK,
    GOAL,
    NEXT,
    NOW,
    QUESTIONS,
    RECEIPTS,
    SEED_EXAMPLE,
    make_text,
    make_text_of,
    merge_both_ways,
    merge_texts,
    newest,
    read,
    values,
)

ONE, TWO, THREE = (f"2026-01-10T13:00:0{number}Z" for number in (1, 2, 3))


@pytest.mark.requirement("R107")
@pytest.mark.parametrize("section", [GOAL, NOW])
def test_case_1_the_last_value_of_a_register_stands(section: str) -> None:
    merged = merge_both_ways([make_text_of({section: "old"}, ONE), make_text_of({section: "new"}, TWO)])

    assert values(merged, section) == ["new"]


def test_case_1_the_last_list_of_next_steps_stands_whole() -> None:
    merged = merge_both_ways([make_text(ONE, next=["a", "b"]), make_text(TWO, next=["c"])])

    assert values(merged, NEXT) == ["c"]


def test_case_1_an_event_without_a_value_leaves_the_register() -> None:
    merged = merge_both_ways([make_text(ONE, now="a", next=["b"]), make_text(TWO, now="", goal="x")])

    assert values(merged, NOW) == ["a"]
    assert values(merged, NEXT) == ["b"]


@pytest.mark.requirement("R107", "R112")
def test_a_tie_on_time_is_decided_by_the_agent() -> None:
    texts = [make_text(ONE, agent, now=agent) for agent in ("crisp", "toast", "amber")]

    for order in permutations(texts):
        assert values(merge_texts(*order), NOW) == ["toast"]


@pytest.mark.requirement("R116")
def test_a_tie_on_time_and_agent_is_decided_by_id_then_hash() -> None:
    by_id = merge_both_ways([make_text(ONE, id="b", now="b"), make_text(ONE, id="a", now="a")])
    twins = [make_text(ONE, id="a", now="x"), make_text(ONE, id="a", now="y")]

    assert values(by_id, NOW) == ["b"]
    assert values(merge_both_ways(twins), NOW) == [max(map(read, twins)).facts[0].text]


@pytest.mark.requirement("R107")
def test_times_are_compared_as_instants_and_not_as_texts() -> None:
    later = make_text("2026-01-10T13:00:00Z", now="later")
    earlier = make_text("2026-01-10T21:59:00+09:00", now="earlier")

    assert values(merge_both_ways([later, earlier]), NOW) == ["later"]


@pytest.mark.requirement("R108", "R111")
@pytest.mark.parametrize("section", [DONE, QUESTIONS, CONSTRAINTS, RECEIPTS, FEEDBACK])
def test_case_2_a_set_is_the_union_and_a_text_stated_again_moves_to_the_end(section: str) -> None:
    merged = merge_both_ways(
        [make_text_of({section: ["a", "b"]}, ONE), make_text_of({section: ["c", "a"]}, TWO)]
    )

    assert values(merged, section) == ["b", "c", "a"]


@pytest.mark.requirement("R108")
def test_case_2_texts_that_begin_alike_are_different_facts() -> None:
    texts = [f"{'x' * 500}{number}" for number in range(3)]

    assert values(merge_texts(make_text(this_session=texts)), DONE) == texts


@pytest.mark.requirement("R111", "C56")
def test_case_2_forms_of_unicode_are_one_fact_and_the_last_form_is_shown() -> None:
    merged = merge_both_ways(
        [make_text(ONE, open_questions=["é"]), make_text(TWO, open_questions=["e\u0301"])]
    )

    assert values(merged, QUESTIONS) == ["e\u0301"]


@pytest.mark.requirement("C25")
@pytest.mark.parametrize(
    ("key", "section"),
    [
        ("retracted_done", DONE),
        ("resolved_questions", QUESTIONS),
        ("retracted_constraints", CONSTRAINTS),
        ("answered_feedback", FEEDBACK),
        ("resolved_questions", FEEDBACK),
    ],
)
def test_case_2_what_was_taken_back_is_gone_until_it_is_stated_later(key: str, section: str) -> None:
    stated, back = make_text_of({section: ["a", "b"]}, ONE), make_text_of({key: ["a"]}, TWO)

    assert values(merge_both_ways([stated, back]), section) == ["b"]
    assert values(merge_both_ways([stated, back, make_text_of({section: ["a"]}, THREE)]), section) == [
        "b",
        "a",
    ]


def test_case_2_taking_back_what_was_not_yet_stated_changes_nothing() -> None:
    merged = merge_both_ways([make_text(ONE, resolved_questions=["a"]), make_text(TWO, open_questions=["a"])])

    assert values(merged, QUESTIONS) == ["a"]


@pytest.mark.requirement("R109")
def test_case_3_the_last_text_of_a_decision_counts_and_keys_are_kept_apart() -> None:
    first = make_text(ONE, decisions={"db": "sqlite", "constructor": "none"})
    second = make_text(TWO, decisions={"db": "files"})

    assert values(merge_both_ways([first, second]), DECISIONS) == [("constructor", "none"), ("db", "files")]


@pytest.mark.requirement("R109", "C25")
def test_case_3_a_decision_taken_back_by_its_key_is_gone_until_it_is_made_again() -> None:
    made, back = make_text(ONE, decisions={"db": "a"}), make_text(TWO, retracted_decisions=["db"])

    assert values(merge_both_ways([made, back]), DECISIONS) == []
    assert values(merge_both_ways([made, back, make_text(THREE, decisions={"db": "b"})]), DECISIONS) == [
        ("db", "b")
    ]


@pytest.mark.requirement("R110", "C12")
def test_case_4_every_distinct_checkpoint_is_kept_by_its_own_time() -> None:
    old, new = ({"phase": "1", "updated": ts, "status": "validated"} for ts in (ONE, TWO))
    merged = merge_both_ways(
        [
            make_text(ONE, checkpoints=[new]),
            make_text(TWO, checkpoints=[old, {**old, "phase": "2"}]),
            make_text(THREE, checkpoints=[old]),
        ]
    )

    assert [(fact.at.second, fact.key) for fact in merged.checkpoints] == [(1, "1"), (1, "2"), (2, "1")]


@pytest.mark.requirement("R110", "C12")
def test_case_4_the_last_checkpoint_of_each_phase_is_shown_whatever_event_brings_it() -> None:
    failed = {"phase": "1", "updated": TWO, "status": "failed"}
    merged = merge_both_ways(
        [
            make_text(ONE, checkpoints=[failed, {"phase": "2", "updated": ONE}]),
            make_text(TWO, checkpoints=[{"phase": "1", "updated": ONE, "status": "validated"}]),
        ]
    )

    shown = merged.tables[FactKind.CHECKPOINT]
    assert [(fact.key, fact.text) for fact in shown.values()] == [("2", ""), ("1", "failed")]


def test_case_4_of_checkpoints_at_one_time_the_later_event_is_shown() -> None:
    texts = [
        make_text(ts, checkpoints=[{"phase": "1", "updated": ONE, "status": status}])
        for ts, status in ((TWO, "pending"), (THREE, "failed"))
    ]

    assert [fact.text for fact in merge_both_ways(texts).tables[FactKind.CHECKPOINT].values()] == ["failed"]


@pytest.mark.parametrize("ts", [ONE, THREE])
def test_case_5_a_retracted_event_takes_no_part_whatever_the_times(ts: str) -> None:
    wrong = make_text(TWO, id="wrong", now="x", this_session=["x"], checkpoints=[{"phase": "1"}])

    merged = merge_both_ways([wrong, make_text(ts, retracted_events=["wrong"], goal="g")])

    assert [len(table) for table in merged.tables.values()].count(0) == len(merged.tables) - 1
    assert (len(merged.ranks), merged.checkpoints, merged.latest) == (2, (), read(make_text(ts)).rank.at)


def test_case_5_a_retraction_counts_even_if_its_event_is_retracted() -> None:
    one = make_text(ONE, id="one", now="a", retracted_events=["two"])
    two = make_text(TWO, id="two", now="b", retracted_events=["one"])

    merged = merge_both_ways([one, two])

    assert values(merged, NOW) == []
    assert merged.latest is None


def test_case_5_an_event_may_retract_itself_and_be_named_by_its_hash() -> None:
    own = make_text(ONE, id="own", now="a", retracted_events=["own"])
    other = make_text(TWO, now="b")
    by_hash = make_text(THREE, retracted_events=[read(other).rank.hash[:16]])

    assert values(merge_both_ways([own, other, by_hash]), NOW) == []


@pytest.mark.requirement("C26")
def test_an_event_dated_9999_can_be_retracted() -> None:
    far = make_text("9999-12-31T23:59:59.999Z", id="far", now="x")

    merged = merge_both_ways([far, make_text(ONE, now="y", retracted_events=["far"])])

    assert values(merged, NOW) == ["y"]
    assert merged.latest == datetime(2026, 1, 10, 13, 0, 1, tzinfo=UTC)


@pytest.mark.requirement("C56")
@pytest.mark.parametrize(
    ("key", "section"),
    [
        ("retracted_done", DONE),
        ("resolved_questions", QUESTIONS),
        ("retracted_constraints", CONSTRAINTS),
    ],
)
def test_case_6_an_event_that_states_and_takes_back_takes_back(key: str, section: str) -> None:
    for keys in ({section: ["a"], key: ["a"]}, {key: ["a"], section: ["a"]}):
        assert values(merge_texts(make_text_of(keys)), section) == []


@pytest.mark.requirement("R116")
def test_the_same_events_give_the_same_whatever_order_grouping_and_repetition() -> None:
    sources = [read(SEED_EXAMPLE), *(read(make_text(ts, this_session=["a", ts])) for ts in (ONE, TWO, THREE))]
    expected = merge_events(sources)

    for order in permutations(sources):
        assert merge_events([*order, *order[:2]]) == expected


@pytest.mark.parametrize(("until", "text"), [(ONE, "first"), (TWO, "second"), (THREE, "second")])
def test_what_held_at_an_instant_includes_the_event_of_that_instant(until: str, text: str) -> None:
    sources = [read(make_text(ONE, now="first")), read(make_text(TWO, now="second"))]
    merged = merge_events(sources, datetime.fromisoformat(until))

    assert values(merged, NOW) == [text]
    assert len(merged.ranks) == len(sources)


def test_nothing_merges_to_nothing() -> None:
    merged = merge_events([])

    assert merged.latest is None
    digest = make_digest(merged, 3, 10)
    assert (digest.event_count, digest.skipped) == (0, 3)
    assert set(digest.kinds.values()) == {NewestFacts()}


def test_a_digest_has_the_newest_of_each_section_and_counts_all() -> None:
    merged = merge_texts(make_text(ONE, this_session=["a", "b", "c"], now="x"))

    digest = make_digest(merged, 0, 2)

    assert [fact.text for fact in newest(digest, DONE).facts] == ["c", "b"]
    assert newest(digest, DONE).total == 3
    assert newest(digest, NOW).facts[0].text == "x"
    assert digest.latest == merged.latest


def test_the_hash_of_events_tells_sets_of_events_apart_and_is_joined_from_days() -> None:
    day = [read(make_text(ts)).rank for ts in (ONE, TWO)]
    other = read(make_text("2025-01-01")).rank

    whole = hash_events([*day, other])

    assert whole == hash_events([other, *reversed(day)])
    assert whole == join_days(
        {day[0].at.date(): hash_day(rank.hash for rank in day), other.at.date(): hash_day([other.hash])}
    )
    assert len({hash_events(ranks) for ranks in ([], day, day[:1], [other], [*day, other])}) == 5


def test_the_hash_of_events_is_made_as_the_pages_say() -> None:
    """Written out with `hashlib` alone: another program can check a view."""
    one, two = date(2026, 1, 10), date(2026, 1, 11)
    first = hashlib.sha256(b"aa\nbb").hexdigest()
    whole = hashlib.sha256(f"2026-01-10 {first}\n2026-01-11 {first}\n".encode()).hexdigest()

    assert hash_day(["bb", "aa"]) == first
    assert join_days({two: first, one: first}) == whole


def test_a_digest_holds_the_hash_of_its_events() -> None:
    merged = merge_texts(make_text(ONE, now="a"), make_text(TWO, now="b"))

    assert make_digest(merged, 0, 10).events_sha256 == hash_events(merged.ranks)
    assert make_digest(merge_texts(), 0, 10).events_sha256 == hashlib.sha256(b"").hexdigest()
