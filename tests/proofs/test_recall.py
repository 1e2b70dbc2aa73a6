"""What must be known reaches the brief, however long the history is."""

import pytest

from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.briefs import pack_brief
from passdown.core.briefs.budgets import PREVIEW, Budget
from passdown.core.evidence.recall import (
    SESSIONS,
    find_broken,
    make_history,
    measure_recall,
    render_recall,
    stand,
)
from tests.proof import proof_count
from tests.proofs.conftest import Tell

BUDGETS = tuple(Budget(tokens=tokens) for tokens in (250, 300, 400, 500, 650, 800, 1_000, 1_500, 3_000))


@pytest.mark.proof
@pytest.mark.parametrize("sessions", SESSIONS)
def test_class_1_is_recalled_whenever_it_fits(sessions: int, tell: Tell) -> None:
    seeds = range(100, 100 + proof_count(fast=3, ci=10, long=200))

    rows = measure_recall(sessions, BUDGETS, tuple(seeds))

    assert find_broken(rows) == [], render_recall(rows)
    usual = next(row for row in rows if row.tokens == 1_500)
    assert usual.classes[0] == 1
    assert usual.preview >= 0.95
    tell(len(seeds) * len(BUDGETS))


@pytest.mark.proof
def test_the_same_history_gives_the_same_bytes(tell: Tell) -> None:
    count = proof_count(fast=3, ci=20, long=200)
    for seed in range(count):
        one, two = (_brief(seed) for _ in range(2))

        assert one == two
        assert "> " in one[:PREVIEW]
    tell(count)


def _brief(seed: int) -> str:
    brief_input, now = stand(make_history(seed, 20))
    return pack_brief(brief_input, Budget(), now, BriefFrame(nonce="0123456789ab")).text
