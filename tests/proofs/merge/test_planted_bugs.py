"""Bugs planted into merging: the check of the laws finds each of them, and soon."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from random import Random

import pytest

from passdown.core.facts import Fact, identify, identify_retracted
from passdown.core.merge import merge as merge_module
from passdown.core.merge.event_facts import EventFacts
from passdown.core.merge.merge import Merged, merge_events
from tests.proof import proof_count
from tests.proofs.merge.laws import Case, find_fault, roll_up
from tests.proofs.pool import Sample, make_pool

TRIES = proof_count(fast=150, ci=400, long=400)
SEEDS = range(proof_count(fast=1, ci=3, long=20))

Before = Callable[[list[EventFacts]], Iterable[EventFacts]]


def keep(sources: list[EventFacts]) -> list[EventFacts]:
    return sources


def dedupe_by_a_cut_hash(sources: list[EventFacts]) -> list[EventFacts]:
    return [*{source.rank.hash[:1]: source for source in sources}.values()]


def let_retractions_always_win(sources: list[EventFacts]) -> list[EventFacts]:
    void = {
        (fact.key, identify_retracted(fact))
        for source in sources
        for fact in source.facts
        if fact.kind == "retraction"
    }
    return [_with_facts(source, lambda fact: (fact.kind, identify(fact)) not in void) for source in sources]


def let_retractions_lose_a_tie(sources: list[EventFacts]) -> list[EventFacts]:
    return [
        source._replace(facts=tuple(sorted(source.facts, key=lambda fact: fact.kind != "retraction")))
        for source in sources
    ]


def let_retracted_events_obey_time(sources: list[EventFacts]) -> list[EventFacts]:
    """An event retracts only what is older than itself."""
    older = [
        {other.rank.id for other in sources if other.rank < source.rank}
        | {other.rank.hash[:16] for other in sources if other.rank < source.rank}
        for source in sources
    ]
    return [
        source._replace(retracted=tuple(name for name in source.retracted if name in names))
        for source, names in zip(sources, older, strict=True)
    ]


def let_the_first_decision_win(sources: list[EventFacts]) -> list[EventFacts]:
    seen = set[str]()
    kept: list[EventFacts] = []
    for source in sorted(set(sources), key=lambda source: source.rank):
        stated = {identify(fact) for fact in source.facts if fact.kind == "decision"}
        again = stated & seen
        kept.append(_with_facts(source, partial(_is_first, again)))
        seen |= stated
    return kept


def _is_first(again: set[str], fact: Fact) -> bool:
    return fact.kind != "decision" or identify(fact) not in again


def _with_facts(source: EventFacts, wanted: Callable[[Fact], bool]) -> EventFacts:
    return source._replace(
        facts=tuple(fact for fact in source.facts if wanted(fact) or fact.kind == "retraction")
    )


def mutant(before: Before) -> Callable[[Iterable[EventFacts]], Merged]:
    return lambda sources: merge_events(before([*sources]))


def lowest_agent_first(source: EventFacts) -> tuple[datetime, list[int], str, str]:
    rank = source.rank
    return (rank.at, [*(-ord(letter) for letter in rank.agent), 1], rank.id, rank.hash)


def find_within(
    merge: Callable[[Iterable[EventFacts]], Merged],
    roll: Callable[[Sequence[Sample]], list[EventFacts]] = roll_up,
    pool: list[Sample] | None = None,
    seed: int = 0,
) -> str | None:
    """Give the law that some case breaks, within so many tries."""
    random = Random(seed)  # repeatable on purpose
    pool = pool or make_pool(random, 40)
    for _ in range(TRIES):
        samples = random.choices(pool, k=random.randint(0, 9))
        fault = find_fault(Case(samples, random, with_rollup=True, with_view=False), merge, roll)
        if fault:
            return fault
    return None


@pytest.mark.proof
@pytest.mark.parametrize("seed", SEEDS)
def test_no_bug_is_found_where_none_is_planted(seed: int) -> None:
    assert find_within(mutant(keep), seed=seed) is None


@pytest.mark.proof
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "bug",
    [
        dedupe_by_a_cut_hash,
        let_retractions_always_win,
        let_retractions_lose_a_tie,
        let_retracted_events_obey_time,
        let_the_first_decision_win,
    ],
)
def test_a_bug_in_what_events_say_is_found(bug: Before, seed: int) -> None:
    assert find_within(mutant(bug), seed=seed)


@pytest.mark.proof
@pytest.mark.parametrize("seed", SEEDS)
def test_a_tie_given_to_the_first_agent_is_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(merge_module, "_rank_of", lowest_agent_first)

    assert find_within(merge_events, seed=seed) == "oracle"


@pytest.mark.proof
@pytest.mark.parametrize("seed", SEEDS)
def test_times_compared_as_texts_are_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    pool = make_pool(Random(seed), 40)  # repeatable on purpose
    texts = {sample.source.rank.hash: sample.raw_ts for sample in pool}
    monkeypatch.setattr(merge_module, "_rank_of", lambda source: (texts[source.rank.hash], *source.rank[1:]))
    monkeypatch.setattr(merge_module, "_said_at", lambda fact: texts[fact.event])

    assert find_within(merge_events, pool=pool, seed=seed) == "oracle"


@pytest.mark.proof
@pytest.mark.parametrize("seed", SEEDS)
def test_an_order_taken_from_the_files_is_found(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(merge_module, "_rank_of", lambda _: 0)
    monkeypatch.setattr(merge_module, "_said_at", lambda _: 0)

    assert find_within(merge_events, seed=seed)


@pytest.mark.proof
@pytest.mark.parametrize("seed", SEEDS)
def test_a_rollup_that_drops_retractions_is_found(seed: int) -> None:
    def drop(samples: Sequence[Sample]) -> list[EventFacts]:
        return [
            source._replace(facts=tuple(fact for fact in source.facts if fact.kind != "retraction"))
            for source in roll_up(samples)
        ]

    assert find_within(merge_events, drop, seed=seed) == "associative"
