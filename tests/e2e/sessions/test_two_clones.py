"""Two clones work on `main` and merge with plain git: no conflict in our files, and nothing is lost."""

import random
from datetime import datetime
from pathlib import Path

import pytest

from passdown.core.formats.archives import archive_file_name
from passdown.services.sessions import archives
from tests.proof import proof_count
from tests.support.clones.working import ATTRIBUTES, VIEW, Clone, ConflictError, exchange, make_clones, play

POLICIES = ("integration", "always")


def rounds(ada: Clone, bob: Clone, chance: random.Random, count: int, *, has_branches: bool) -> None:
    """Let both do as they like."""
    for number in range(count):
        clone, other = chance.sample((ada, bob), 2)
        play(clone, other, chance, has_branches=has_branches)
        if number >= count * 9 // 10:  # the last ones run the real commands, which have the real time
            clone.call()


@pytest.mark.proof
@pytest.mark.requirement("C116", "C43", "C64", "R130", "R137", "R138")
@pytest.mark.parametrize("policy", POLICIES)
def test_two_clones_on_main_never_conflict_and_lose_nothing(tmp_path: Path, policy: str) -> None:
    chance = random.Random(f"clones {policy}")  # the same test in every run
    ada, bob = make_clones(tmp_path, policy, chance)

    rounds(ada, bob, chance, proof_count(fast=8, ci=15, long=200), has_branches=policy == "always")
    exchange(ada, bob)

    for clone in (ada, bob):
        clone.synthesize(to_commit=False)
        assert clone.uncommitted() == []
    assert (ada.root / VIEW).read_bytes() == (bob.root / VIEW).read_bytes()
    assert ada.finished() == bob.finished()
    assert ada.finished() >= set(ada.said) | set(bob.said)
    kept = ada.kept() + bob.kept()
    assert [line for line in (*ada.hand, *bob.hand) if line not in kept] == []


def test_a_view_without_the_union_rule_conflicts(tmp_path: Path) -> None:
    chance = random.Random(1)  # the same test in every run
    ada, bob = make_clones(tmp_path, "integration", chance)
    (ada.root / ATTRIBUTES).unlink()
    ada.git("commit", "-qam", "No rules")
    ada.push()
    bob.pull()

    ada.work()
    bob.work()
    ada.push()
    with pytest.raises(ConflictError, match=VIEW):
        bob.push()


def test_archives_without_the_agent_in_their_name_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(1)  # the same test in every run
    ada, bob = make_clones(tmp_path, "integration", chance)

    def without_agent(at: datetime, trigger: str, agent: str, number: int = 0) -> str:
        del agent
        return archive_file_name(at, trigger, "", number)

    monkeypatch.setattr(archives, "archive_file_name", without_agent)

    ada.work()
    bob.work()
    ada.push()
    with pytest.raises(ConflictError, match="conductor/sessions/archive"):
        bob.push()
