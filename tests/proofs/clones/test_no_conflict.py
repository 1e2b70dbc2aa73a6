"""Events are archived by one writer: git never conflicts in our files, and nothing is ever lost (C127)."""

from datetime import timedelta

import pytest

from tests.proof import proof_count
from tests.proofs.clones.conftest import Make
from tests.proofs.clones.world import World, Writers, play
from tests.proofs.conftest import Figures, Tell

STEPS = proof_count(fast=20, ci=50, long=200)
SEEDS = range(proof_count(fast=1, ci=1, long=3))


@pytest.mark.proof
@pytest.mark.requirement("C127", "C22", "C125")
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("writers", Writers)
def test_clones_never_conflict_and_lose_nothing(
    make: Make, writers: Writers, seed: int, tell: Tell, figures: Figures
) -> None:
    world = make(World, writers, seed)

    play(world, STEPS)

    assert world.written
    tell(STEPS)
    figures(f"{writers}, seed {seed}, {STEPS} steps", world.count())


@pytest.mark.proof
@pytest.mark.requirement("C127")
def test_a_run_that_was_rebased_after_a_branch_took_it_is_settled(make: Make) -> None:
    world = make(World, Writers.TWO, 0)
    ada, bob = world.sites[:2]
    world.run(ada.root)
    world.merge_in(ada)  # the branch has the run, which nobody pushed
    world.edit(bob.root)
    world.push(bob.root)
    world.pull(ada.root, "rebase")  # the run is another commit now
    world.push(ada.root)
    world.wait(timedelta(days=40))
    world.run(ada.root)  # it removes the copies
    world.check(ada.root)

    world.merge_back(ada)

    assert world.tally.conflicts > 0
    world.check(ada.root)
    world.meet()
    world.check_all()
