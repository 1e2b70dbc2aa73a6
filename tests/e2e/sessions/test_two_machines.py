"""Two clones write at once, archive at different times, and merge with plain git: nothing is lost."""

import random
from pathlib import Path

import pytest

from tests.proof import proof_count
from tests.support.machines import OURS, Machine, git, join_folders

POLICIES = ("integration", "never", "always")
LAYOUTS = ("flat", "day")
VIEW = "thoughts/shared/handoffs/current.md"


def two_machines(folder: Path, *, policy: str, layout: str) -> tuple[Machine, Machine]:
    """Make a repository with old events that both have, then two clones of it on two branches."""
    first = folder / "first"
    first.mkdir()
    git(first, "init", "-q", "-b", "main")
    (first / "README.md").write_text("A project.\n", encoding="utf-8")
    (first / "passdown.toml").touch()
    git(first, "add", "README.md", "passdown.toml")
    git(first, "commit", "-qm", "Begin")
    ada = Machine(first, "ada-00000001", policy=policy, layout=layout, retention=3000)
    for number in range(12):
        ada.write(f"common {number}", days_ago=30 - number)
    ada.save()
    git(folder, "clone", "-q", str(first), "second")
    git(folder / "second", "checkout", "-qb", "feature")
    bob = Machine(folder / "second", "bob-00000002", policy=policy, layout=layout, retention=3000)
    git(folder / "second", "remote", "rename", "origin", "first")
    git(first, "remote", "add", "second", str(folder / "second"))
    bob.written += ada.written
    return ada, bob


def retain(machine: Machine, days: int) -> None:
    """Set the machine's retention."""
    other = Machine(
        machine.root,
        machine.agent,
        policy=machine.settings.view.commit.value,
        layout=machine.settings.events.layout.value,
        retention=days,
    )
    machine.settings = other.settings


def work(machine: Machine, chance: random.Random, round_number: int) -> None:
    """Write events, old and new, and end a session; hooks regenerate the view in between."""
    for number in range(chance.randint(1, 4)):
        item = f"{machine.agent} {round_number}.{number}"
        machine.write(item, days_ago=chance.choice([0, 1, 5, 9, 14, 25]))
        machine.refresh()
    machine.save()
    machine.write(f"{machine.agent} {round_number} after")
    machine.save()
    machine.refresh()


def merge(machine: Machine, other: str) -> str:
    """Merge what the other has with plain git; give what git says of conflicts."""
    git(machine.root, "fetch", "-q", other)
    branch = "feature" if other == "second" else "main"
    done = git(machine.root, "merge", "-q", "-m", "Merge", f"{other}/{branch}", check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def settle_view(machine: Machine) -> None:
    """Resolve a conflict on the view as the documentation says."""
    conflicts = git(machine.root, "diff", "--name-only", "--diff-filter=U").stdout.split()
    assert conflicts == [VIEW]
    git(machine.root, "checkout", "--ours", "--", VIEW)
    git(machine.root, "add", VIEW)
    git(machine.root, "commit", "-qm", "Merge")


@pytest.mark.proof
@pytest.mark.requirement("R97", "R99", "R130", "R137", "R141")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("policy", POLICIES)
def test_two_branches_merge_in_both_directions(tmp_path: Path, policy: str, layout: str) -> None:
    ada, bob = two_machines(tmp_path, policy=policy, layout=layout)
    chance = random.Random(f"{policy} {layout}")  # the same test in every run

    for number in range(proof_count(fast=2, ci=3, long=40)):
        retain(ada, chance.choice([2, 7, 20]))
        retain(bob, chance.choice([0, 4, 12]))
        work(ada, chance, number)
        work(bob, chance, number)
        for machine, other in ((ada, "second"), (bob, "first")):
            refused = merge(machine, other)
            if policy == "always" and refused:
                settle_view(machine)
            else:
                assert refused == ""
        everything = set(ada.written) | set(bob.written)
        assert ada.finished() == everything
        assert bob.finished() == everything
        assert ada.view() == bob.view()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("policy", ["integration", "never"])
def test_switching_branches_is_never_disturbed(tmp_path: Path, policy: str, layout: str) -> None:
    ada, bob = two_machines(tmp_path, policy=policy, layout=layout)
    work(ada, random.Random(1), 0)  # the same test in every run
    work(bob, random.Random(2), 0)
    merge(ada, "second")
    ada.write("on main")
    ada.refresh()

    git(ada.root, "checkout", "-q", "-b", "other", "HEAD~1")
    ada.refresh()
    git(ada.root, "checkout", "-q", "main")
    ada.refresh()
    git(ada.root, "checkout", "-q", "other")

    assert not git(ada.root, "diff", "--name-only").stdout
    assert "on main" in ada.finished()


@pytest.mark.parametrize("policy", POLICIES)
def test_the_next_commit_of_the_user_holds_none_of_our_files(tmp_path: Path, policy: str) -> None:
    ada, _ = two_machines(tmp_path, policy=policy, layout="flat")
    (ada.root / "mine.txt").write_text("mine\n", encoding="utf-8")
    git(ada.root, "add", "mine.txt")
    retain(ada, 3)
    ada.write("done while a file was staged")
    ada.save()
    ada.refresh()

    assert git(ada.root, "diff", "--cached", "--name-only").stdout == "mine.txt\n"
    git(ada.root, "commit", "-qm", "Mine")

    changed = git(ada.root, "show", "--name-only", "--format=").stdout.split()
    assert changed == ["mine.txt"]
    assert not [
        name for name in git(ada.root, "status", "--porcelain").stdout.split() if name.startswith(OURS)
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_folders_joined_by_a_file_sync_lose_nothing(tmp_path: Path, layout: str) -> None:
    ada, bob = two_machines(tmp_path, policy="never", layout=layout)
    retain(ada, 2)
    retain(bob, 10)
    work(ada, random.Random(3), 0)  # the same test in every run
    work(bob, random.Random(4), 0)

    shared = Path("thoughts/shared/handoffs")
    join_folders(ada.root / shared, bob.root / shared)

    assert ada.finished() == bob.finished() == set(ada.written) | set(bob.written)
    assert ada.view() == bob.view()
    retain(ada, 0)
    ada.save()
    assert ada.finished() == set(ada.written) | set(bob.written)
    assert ada.view() == bob.view()
