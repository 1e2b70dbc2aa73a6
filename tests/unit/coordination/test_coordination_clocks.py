"""Whatever somebody does to clocks, boots and process numbers: no lease ends by it, and none lives on."""

import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from passdown.core.sessions.session_facts import HostProcess
from passdown.engines.process import SystemProcesses
from passdown.ports.clock import BootTime
from tests.support.teams import Team

pytestmark = pytest.mark.requirement("C80", "C81", through="command")

HELD = 3


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Team:
    """Give a repository with a session that does not work yet."""
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.join("birch")
    return made


def let_amber_work(team: Team, process: HostProcess | None = None) -> str:
    """Let a session claim a task and reserve a folder; give the task."""
    if process is not None:
        team.monkeypatch.setattr(SystemProcesses, "find_host", lambda _: process)
    team.join("amber")
    task = team.add("Sign in form")
    assert team.run("amber", "claim", task).code == 0
    assert team.run("amber", "reserve", "src/").code == 0
    return task


def is_held(team: Team, task: str) -> bool:
    """Look whether another session is refused both, and is told by whom they are held or gets them."""
    reserved, taken = team.run("birch", "reserve", "src/a.py"), team.run("birch", "takeover", task)
    is_refused = reserved.code == HELD
    assert {reserved.code, taken.code} == ({HELD} if is_refused else {0})
    assert ("src/a.py" in reserved.out, task in taken.out) == (not is_refused, not is_refused)
    return is_refused


def find_process(pid: int) -> HostProcess:
    """Describe a process that runs now."""
    system = SystemProcesses()
    return HostProcess(pid, system._started(pid), system._boot())


@pytest.mark.parametrize("hours", [24, -24])
def test_a_wall_clock_that_is_moved_ends_no_lease_and_lets_none_live_on(team: Team, hours: int) -> None:
    task = let_amber_work(team)

    team.at += timedelta(hours=hours)
    assert is_held(team, task)
    team.pass_time(minutes=10)
    assert is_held(team, task)
    team.at -= timedelta(hours=2 * hours)
    assert is_held(team, task)
    team.pass_time(minutes=2)

    assert not is_held(team, task)


@pytest.mark.parametrize("hours", [0, 24, -24])
def test_after_another_boot_no_lease_lives_on(team: Team, hours: int) -> None:
    task = let_amber_work(team)
    assert is_held(team, task)

    team.boot = BootTime("boot-2", 5.0)
    team.at += timedelta(minutes=1, hours=hours)

    assert not is_held(team, task)


@pytest.mark.skipif(sys.platform == "win32", reason="starts of processes are not known there")
def test_a_process_that_runs_keeps_its_leases(team: Team) -> None:
    task = let_amber_work(team, find_process(os.getpid()))

    team.pass_time(minutes=30)

    assert is_held(team, task)


def test_a_process_number_that_is_used_again_keeps_no_lease(team: Team) -> None:
    task = let_amber_work(team, find_process(os.getpid())._replace(started="1"))
    assert is_held(team, task)

    team.pass_time(minutes=12)

    assert not is_held(team, task)


def test_the_number_of_a_process_that_runs_in_another_boot_keeps_no_lease(team: Team) -> None:
    task = let_amber_work(team, find_process(os.getpid()))

    team.boot = BootTime("boot-2", team.boot.seconds)

    assert not is_held(team, task)
