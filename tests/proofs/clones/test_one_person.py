"""A person with one clone and a remote never has to think of archiving (C127)."""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.proofs.clones.conftest import Make
from tests.proofs.clones.world import Site, World, Writers
from tests.support.projects import ARCHIVE, EVENTS

DAYS = 60


class OnePerson(World):
    """One clone with a worktree, and the repository that it pushes to."""

    def _make_sites(self, folder: Path) -> tuple[Site, ...]:
        self.git(folder, "init", "-q", "--bare", "--initial-branch=main", str(self.remote))
        root, side = self._clone(folder, "ada"), folder / "side"
        self.git(root, "checkout", "-q", "-b", "main")
        self.call(root, "init", "--yes")
        self.git(root, "add", "--all")
        self.git(root, "commit", "-qm", "Set up")
        self.git(root, "push", "-q", "-u", "origin", "main")
        self.git(root, "worktree", "add", "-q", "-b", "side", str(side))
        return (Site(root, side, "side"),)


def days_of(folder: Path) -> set[str]:
    """Return the days whose events have files of their own."""
    return {path.name[:10] for path in folder.rglob("*.md")}


@pytest.mark.proof
@pytest.mark.requirement("C127", "C22", through="command")
def test_after_sixty_days_few_files_are_left_although_nobody_typed_anything(make: Make) -> None:
    world = make(OnePerson, Writers.NOBODY, 0)
    [site] = world.sites

    for day in range(DAYS):
        world.work(site.root)
        if day % 5 == 0:
            world.work(site.side)
        if day % 7 == 0:
            world.merge_back(site)
        world.git(site.root, "push", "-q", "origin", "main")
        world.check(site.root)
        world.wait(timedelta(days=1))

    assert len(days_of(site.root / EVENTS)) <= 8
    assert 0 < len(days_of(site.root / ARCHIVE)) <= 31
    assert len([*(site.root / EVENTS).rglob("rollup-*.jsonl")]) > DAYS - 15
    assert len(world.written) >= DAYS
    assert world.git(site.root, "status", "--porcelain") == ""
    assert not world.tally.conflicts
