"""Bugs planted into putting events away: the clones that live for months find each of them."""

from pathlib import Path

import pytest

from passdown.services.log import archive_runs
from tests.proof import proof_count
from tests.proofs.clones.conftest import Make
from tests.proofs.clones.world import ConflictError, LostError, Site, World, Writers, play
from tests.support.projects import ARCHIVE, EVENTS

STEPS = 80
SEEDS = range(proof_count(fast=1, ci=1, long=5))


class MovingWorld(World):
    """One clone's sessions move what they find old, although a job does that."""

    def has_last_release(self, site: Site) -> bool:
        """Let the last clone have such sessions."""
        return site is self.sites[-1]


class OwnSideWorld(World):
    """Conflicts are settled with all of our files as one side has them."""

    def resolve(self, root: Path) -> None:
        """Take the own side."""
        self.git(root, "rm", "-rqf", "--ignore-unmatch", "--", EVENTS, ARCHIVE)
        there = self.git(root, "ls-tree", "--name-only", "HEAD", EVENTS, ARCHIVE).split()
        self.git(root, "checkout", "-q", "HEAD", "--", *there)


@pytest.mark.proof
@pytest.mark.requirement("C127")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_session_that_moves_events_beside_the_writer_is_found(make: Make, seed: int) -> None:
    with pytest.raises(ConflictError, match="thoughts/shared/handoffs/"):
        play(make(MovingWorld, Writers.ONE, seed), STEPS)


@pytest.mark.proof
@pytest.mark.requirement("C127")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_that_removes_without_looking_into_the_rollup_is_found(
    make: Make, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = archive_runs._Run.is_held
    monkeypatch.setattr(archive_runs._Run, "is_held", lambda run, one: look(run, one) or True)

    with pytest.raises(LostError, match="a run removed"):
        play(make(World, Writers.ONE, seed), STEPS)


@pytest.mark.proof
@pytest.mark.requirement("C127")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_resolution_that_takes_one_side_is_found(make: Make, seed: int) -> None:
    with pytest.raises(LostError):
        play(make(OwnSideWorld, Writers.LAST_RELEASE, seed), STEPS)
