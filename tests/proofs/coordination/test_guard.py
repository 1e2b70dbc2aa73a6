"""No stale commit passes: fifty sessions reserve, expire, take over and commit, in random order (C89)."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from passdown.core.coordination.leases import FREE, LOST, PathVerdict
from passdown.engines.coordination import leases as engine
from passdown.engines.git.repository import GitRepository
from passdown.engines.sqlite.coordination import LocalMachine, open_store
from passdown.engines.sqlite.mounts import MountKind
from passdown.testing.memory.coordination import MemoryStore
from tests.proof import proof_count
from tests.proofs.conftest import Tell
from tests.proofs.coordination.lease_histories import PATHS, SESSIONS, LeaseHistory, MovedTime
from tests.support.gits import make_project

PARTS = 4
STEPS = proof_count(fast=800, ci=5_000, long=500_000)
LENGTH = 500
"""The steps of one history: a store in memory copies all its rows for each change."""
COMMITS = proof_count(fast=12, ci=50, long=3_000)


def play(random: Random, steps: int) -> LeaseHistory:
    """Let a history of so many steps happen."""
    time = MovedTime()
    history = LeaseHistory(MemoryStore(time.tell), time, random)
    for _ in range(steps):
        history.step()
    return history


@pytest.mark.proof
@pytest.mark.timeout(3_600)
@pytest.mark.requirement("C89", "R212")
@pytest.mark.parametrize("part", range(PARTS))
def test_no_stale_commit_passes(part: int, tell: Tell) -> None:
    seen = {"accepted": 0, "held": 0, "lost": 0, "taken": 0}
    for number in range(max(STEPS // PARTS // LENGTH, 1)):
        history = play(Random(f"{part} {number}"), min(STEPS // PARTS, LENGTH))

        assert history.faults == [], (part, number)
        for name in seen:
            seen[name] += getattr(history, name)

    assert min(seen.values()) > 0, seen  # of each kind there were some
    tell(STEPS // PARTS)


@pytest.mark.proof
@pytest.mark.timeout(3_600)
@pytest.mark.requirement("C89")
def test_no_stale_commit_is_made_by_git(tmp_path: Path, tell: Tell) -> None:
    project = make_project(tmp_path / "project")
    for path in PATHS:
        project.write(path, "begun\n")
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message=begun")
    time, random = MovedTime(), Random("git")
    machine = LocalMachine(boot_clock=time, clock=time, is_running=lambda _: None)
    store = open_store(str(tmp_path / "shared.sqlite"), "local", machine, mount=MountKind.LOCAL)
    history = LeaseHistory(store, time, random)
    repository = GitRepository(project.folder, variables={"GIT_INDEX_FILE": ".git/index"})
    made: list[str] = []
    while len(made) < COMMITS:
        for _ in range(2):
            history.step()
        held = [one for one in history.coordination.leases.leases() if one.resource.name in PATHS]
        session, path = random.choice(SESSIONS[:6]), random.choice(PATHS)
        if held and random.random() < 0.7:  # else most would be refused
            session, (_, path) = (one := random.choice(held)).session, one.resource
        project.write(path, f"{session} {len(made)} {time.seconds}\n")
        project.git("add", path)
        content = repository.staged()
        assert content is not None
        assert content.paths == (path,)
        if history.commit(session, content.paths, content.tree):
            project.git("commit", "--quiet", f"--message={session}")
            made.append(content.tree)
        else:
            project.git("reset", "--quiet", "--hard")

    assert history.faults == []
    assert project.git("log", "--reverse", "--format=%T").split()[1:] == made
    logged = [one.subject for one in history.coordination.history.since(0, 1_000_000) if one.verb == "check"]
    assert [one for one in logged if one] == made
    store.close()
    tell(len(made))


Judge = Callable[..., PathVerdict]


def forget_what_was_lost(judge: Judge) -> Judge:
    """Let whoever lost a path commit it when nobody holds it any more."""

    def judge_path(*arguments: object) -> PathVerdict:
        found = judge(*arguments)
        return PathVerdict(path=found.path, verdict=FREE) if found.verdict == LOST else found

    return judge_path


def forget_holders(judge: Judge) -> Judge:
    """Let everybody commit everything."""
    return lambda *arguments: PathVerdict(path=judge(*arguments).path, verdict=FREE)


@pytest.mark.parametrize("fault", [forget_what_was_lost, forget_holders])
def test_an_engine_that_lets_stale_commits_pass_is_found_out(
    monkeypatch: pytest.MonkeyPatch, fault: Callable[[Judge], Judge]
) -> None:
    monkeypatch.setattr(engine, "_judge_path", fault(engine._judge_path))

    assert play(Random("fault"), 400).faults


def test_an_engine_that_does_not_hold_what_passed_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    real = engine.StoredLeases.check
    monkeypatch.setattr(
        engine.StoredLeases,
        "check",
        lambda self, op, session, paths, seconds, about: real(self, op, session, paths, seconds * -1, about),
    )

    faults = [one for number in range(8) for one in play(Random(f"fault {number}"), 500).faults]
    assert any("was overtaken while it committed" in one for one in faults)
