"""A great many random merges: order, grouping and repetition never matter, and the oracle agrees."""

from random import Random

import pytest

from tests.proof import proof_count
from tests.proofs.conftest import Tell
from tests.proofs.merge.laws import Case, find_fault
from tests.proofs.pool import make_pool

PARTS = proof_count(fast=2, ci=20, long=20)
POOL = 40
BATCH = 500


@pytest.mark.proof
@pytest.mark.timeout(0)
@pytest.mark.requirement("R107", "R108", "R109", "R110", "R111", "R112", "R116")
@pytest.mark.parametrize("part", range(PARTS))
def test_merging_ignores_order_grouping_and_repetition(part: int, tell: Tell) -> None:
    random = Random(part)  # repeatable on purpose
    pool = make_pool(random, POOL)
    count = proof_count(fast=300, ci=3_000, long=1_000_000) // PARTS
    for number in range(count):
        if number % BATCH == BATCH - 1:
            pool = make_pool(random, POOL)
        samples = random.choices(pool, k=random.randint(0, 9))

        fault = find_fault(Case(samples, random, number % 5 == 0, number % 10 == 0))

        assert fault is None, (fault, part, number, [sample.said.text for sample in samples])
    tell(count)
