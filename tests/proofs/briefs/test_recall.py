"""What stays in force reaches the brief, however long the history is."""

import pytest

from passdown.core.briefs.brief_frame import BriefFrame
from passdown.core.briefs.briefs import pack_brief
from passdown.core.briefs.budgets import PREVIEW, Budget
from passdown.core.evidence.histories import make_history
from passdown.core.evidence.recall import NOW, SESSIONS, find_broken, render_recall
from passdown.services.handover.briefs import read_brief_input
from passdown.services.handover.evaluations import evaluate, write_history
from passdown.wiring.evaluations import open_empty_project
from tests.proof import proof_count
from tests.proofs.conftest import Tell

TOKENS = (250, 300, 400, 500, 650, 800, 1_000, 1_500, 3_000)
BUDGETS = (*(Budget(tokens=tokens) for tokens in TOKENS), Budget(characters=PREVIEW))


@pytest.mark.proof
@pytest.mark.requirement("C132")
@pytest.mark.parametrize("is_plain", [False, True])
def test_a_brief_shows_what_it_promises_at_any_age(is_plain: bool, tell: Tell) -> None:
    lengths = SESSIONS[: proof_count(fast=2, ci=3, long=len(SESSIONS))]
    seeds = range(101, 101 + proof_count(fast=1, ci=1, long=20))
    for sessions in lengths:
        for seed in seeds:
            feedback = -(-300 // sessions) if seed % 2 else 1
            history = make_history(seed, sessions, feedback, is_plain=is_plain)
            with open_empty_project(NOW) as workspace:
                rows = evaluate(workspace, history, BUDGETS, is_plain=is_plain)

            assert find_broken(rows) == [], render_recall(rows)
    tell(len(lengths) * len(seeds) * len(BUDGETS))


@pytest.mark.proof
@pytest.mark.requirement("C132")
def test_the_same_history_gives_the_same_bytes(tell: Tell) -> None:
    count = proof_count(fast=2, ci=4, long=100)
    for seed in range(count):
        one, two = (_brief(seed) for _ in range(2))

        assert one == two
        assert "> " in one[:PREVIEW]
    tell(count)


def _brief(seed: int) -> str:
    with open_empty_project(NOW) as workspace:
        write_history(workspace, make_history(seed, 20))
        brief_input = read_brief_input(workspace, None)
    return pack_brief(brief_input, Budget(), NOW, BriefFrame(nonce="0123456789ab")).text
