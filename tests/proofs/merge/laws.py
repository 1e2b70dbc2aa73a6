"""The laws of merging, as one check of one random case; it names the law that does not hold."""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import NamedTuple

from passdown.core.facts import Fact
from passdown.core.formats.views import render_view
from passdown.core.merge.event_facts import EventFacts
from passdown.core.merge.merge import Digest, Merged, make_digest, merge_events
from passdown.core.merge.projections import LIMIT, make_view
from passdown.core.merge.rollups import RollupMember, parse_rollup, render_rollup
from tests.proofs.merge.oracle import Answer, Entry, merge_slowly
from tests.proofs.pool import START, Sample
from tests.support.events import KINDS, SECTIONS, value_of

Merge = Callable[[Iterable[EventFacts]], Merged]
Roll = Callable[[Sequence[Sample]], list[EventFacts]]


class Case(NamedTuple):
    """Events, and how to shuffle them."""

    samples: list[Sample]
    random: Random
    with_rollup: bool
    with_view: bool


def roll_up(samples: Sequence[Sample]) -> list[EventFacts]:
    """Give events as a rollup gives them back."""
    pairs: list[tuple[RollupMember, EventFacts]] = [(sample.member, sample.source) for sample in samples]
    return [source for _, source in parse_rollup(render_rollup(START.date(), pairs).encode()).members]


def _give(samples: Sequence[Sample]) -> list[EventFacts]:
    return [sample.source for sample in samples]


def find_fault(case: Case, merge: Merge = merge_events, roll: Roll = roll_up) -> str | None:
    """Name the law that does not hold, if any."""
    random, samples = case.random, case.samples
    sources = _give(samples)
    whole = merge(sources)
    digest = make_digest(whole, 0, LIMIT)
    if not _agrees(whole, digest, merge_slowly(sample.said for sample in samples)):
        return "oracle"
    mixed = [*sources, *random.sample(sources, len(sources) // 2)]
    if merge(sources + sources) != whole:
        return "idempotent"
    random.shuffle(mixed)
    if merge(mixed) != whole:
        return "commutative"
    one, two = sorted(random.randint(0, len(samples)) for _ in range(2))
    left, middle, right = samples[:one], samples[one:two], samples[two:]
    roll = roll if case.with_rollup else _give
    grouped = [*_give(right), *roll([*left, *middle])]
    overlapping = [*roll([*middle, *right]), *roll(left), *_give(middle)]
    for group in (grouped, overlapping):
        found = make_digest(merge(group), 0, LIMIT)
        if found != digest:
            return "associative"
        if case.with_view and render_view(make_view(found)) != render_view(make_view(digest)):
            return "bytes"
    return None


def _agrees(merged: Merged, digest: Digest, answer: Answer) -> bool:
    """Compare with the oracle, fact by fact and in order."""
    ranks = {rank.hash: rank for rank in merged.ranks}

    def entry(fact: Fact) -> Entry:
        return (fact.at, tuple(ranks[fact.event]), value_of(fact))  # type: ignore[return-value]  # a rank is a stamp

    found = {
        section: [entry(fact) for fact in merged.tables[KINDS[section]].values()][::-1]
        for section in SECTIONS
        if section in answer.sections
    }
    registers = {
        section: entry(fact) for section in ("goal", "now") for fact in digest.kinds[KINDS[section]].facts
    }
    steps = digest.kinds[KINDS["next"]].facts
    next_steps = [(at, stamp) for at, stamp, _ in map(entry, steps)]
    wanted = {**answer.registers}
    at, stamp, texts = wanted.pop("next", (None, None, ()))
    return (
        found == answer.sections
        and registers == wanted
        and (tuple(fact.text for fact in steps), next_steps) == (texts, [(at, stamp)] * len(steps))
        and (len(merged.ranks), merged.latest) == (answer.events, answer.latest)
    )
