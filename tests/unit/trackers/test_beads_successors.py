"""Tasks of Beads go on with the session that inherits them, or accepts them, although Beads names another."""

import sys
from pathlib import Path

import pytest

from passdown.core.sessions.session_facts import HostProcess
from passdown.engines import system
from tests.support.teams import AMBER, BIRCH, Hosts
from tests.trackers.fake_bd import BUILDS
from tests.unit.trackers.test_beads_commands import BeadsTeam

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script for a shell")

AGAIN = HostProcess(404, "2", "boot-1")
AWAY = "sys.exit('bd: cannot reach the database')\n"


class BeadsHosts(BeadsTeam, Hosts):
    """Sessions in hosts, whose tasks Beads keeps."""

    def claim_and_crash(self) -> str:
        """Let a session claim a task, crash, and go on; give the task."""
        task = self.add("Sign in")
        self.begin("amber", AMBER)
        assert self.run("amber", "claim", task).code == 0
        self.alive = {BIRCH, AGAIN}
        self.pass_time(minutes=20)
        self.begin("amber", AGAIN, source="resume")
        assert self.account("amber").claims.keys() == {task}
        return task


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> BeadsHosts:
    """Give a repository with a database of Beads, and no session."""
    monkeypatch.setattr(system, "pause", lambda _: None)
    return BeadsHosts(tmp_path / "project", monkeypatch, capsys)


@pytest.mark.requirement("C82", "C98")
@pytest.mark.parametrize("version", BUILDS)
def test_a_session_that_goes_on_after_a_crash_closes_its_task(hosts: BeadsHosts, version: str) -> None:
    hosts.install(version)
    task = hosts.claim_and_crash()

    again = hosts.run("amber", "claim")
    closed = hosts.run("amber", "close")

    assert (again.code, again.out) == (0, f"Claimed: {task} Sign in\n")
    assert (closed.code, closed.out) == (0, f"Closed: {task} Sign in (completed)\n")
    assert hosts.rows()[task]["status"] == "closed"


@pytest.mark.requirement("C82", "C98")
@pytest.mark.parametrize("version", BUILDS)
def test_a_session_that_goes_on_after_a_crash_gives_its_task_back(hosts: BeadsHosts, version: str) -> None:
    hosts.install(version)
    task = hosts.claim_and_crash()

    assert hosts.run("amber", "task", "give-back", task).code == 0

    row = hosts.rows()[task]
    assert (row["status"], row["assignee"]) == ("open", "")


@pytest.mark.requirement("C98")
def test_what_a_person_claimed_with_bd_stays_theirs(hosts: BeadsHosts) -> None:
    hosts.install()
    task = hosts.claim_and_crash()
    hosts.put(task, assignee="ann")

    done = hosts.run("amber", "close", task)

    assert done.code == 3
    assert "held by ann" in done.err


@pytest.mark.requirement("C92", "C98")
@pytest.mark.parametrize("version", BUILDS)
@pytest.mark.parametrize("is_away", [True, False])
def test_whoever_accepts_an_offer_closes_the_task(hosts: BeadsHosts, version: str, *, is_away: bool) -> None:
    hosts.install(version)
    task = hosts.add("Sign in")
    hosts.begin("amber", AMBER)
    hosts.begin("birch", BIRCH)
    hosts.run("amber", "claim", task)
    hosts.run("amber", "handoff", "offer")
    if is_away:
        hosts.install(version, before=AWAY)

    done = hosts.run("birch", "handoff", "accept")

    assert done.code == 0
    if is_away:
        assert "the takeover of " in done.err
        hosts.install(version)
        assert hosts.run("birch", "task", "note", task, "seen").code == 0  # it tells the tracker, too
    assert hosts.rows()[task]["assignee"] == hosts.agent("birch")
    closed = hosts.run("birch", "close")
    assert (closed.code, closed.err) == (0, "")
    assert hosts.rows()[task]["status"] == "closed"


@pytest.mark.requirement("C98")
def test_the_task_of_an_earlier_session_here_is_not_inherited(hosts: BeadsHosts) -> None:
    hosts.install()
    task = hosts.add("Sign in")
    hosts.begin("amber", AMBER)
    claimed = hosts.run("amber", "claim", task)
    assert (claimed.code, claimed.err) == (0, "")
    hosts.run("amber", "end")
    hosts.begin("birch", BIRCH)

    done = hosts.run("birch", "claim", task)

    assert done.code == 3
    assert f"held by {hosts.agent('amber')}" in done.err
