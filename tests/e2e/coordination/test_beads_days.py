"""A day of one agent and a day of several, as the seed tells them: the same on the board and on each Beads.

S4's two flows: alone (ready, claim, work, close with a reason, sync), and in a team (take part, inbox, claim,
reserve, work, close, which releases the files, and a message).
"""

import json
import os
from pathlib import Path

import pytest

from tests.support.teams import Team
from tests.trackers.beads import BUILDS, find_bd, make_database

BOARD = "board"
TRACKERS = [BOARD, *(pytest.param(version, marks=pytest.mark.beads) for version in BUILDS)]

pytestmark = [pytest.mark.parametrize("tracker", TRACKERS), pytest.mark.timeout(600)]


class TrackedDay(Team):
    """A `Team` whose tasks are kept by one of the trackers."""

    def use(self, tracker: str, template: Path) -> None:
        """Set the tracker up as its user would: nothing is said to Passdown about it."""
        if tracker == BOARD:
            return
        programs = self.project.folder.parent / "bin"
        programs.mkdir()
        (programs / "bd").symlink_to(find_bd(tracker))
        make_database(tracker, self.project.folder, template)
        self.monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    def note(self, task: str) -> list[str]:
        """Read the notes of a task."""
        shown = json.loads(self.command("task", "show", task, "--json").out)["task"]["task"]
        return str(shown["note"]).splitlines()

    def state(self, session: str) -> dict[str, object]:
        """Read the state file of a session."""
        name = f"session-state_{session}.json"
        found: dict[str, object] = json.loads((self.project.folder / ".conductor" / name).read_text())
        return found


@pytest.fixture
def day(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    tracker: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> TrackedDay:
    """Give a repository whose tasks are kept by the tracker."""
    made = TrackedDay(tmp_path / "project", monkeypatch, capsys)
    made.use(tracker, tmp_path_factory.getbasetemp() / f"beads-{tracker}")
    return made


@pytest.mark.requirement(
    "R159", "R161", "R163", "R164", "R166", "R167", "R170", "R171", "R185", "R186", "R188"
)
def test_one_agent_claims_works_closes_and_syncs(day: TrackedDay) -> None:
    day.join("amber")

    # No tasks yet: that is said, and is no error.
    nothing = day.run("amber", "claim")
    assert (nothing.code, nothing.out) == (0, "No task is ready.\n")

    # The first of the ready list is claimed, and the session says so.
    model = day.add("JWT model", "--priority", "1")
    routes = day.add("Routes", "--after", model)
    assert day.command("ready").out == f"{model}  P1  ready  JWT model\n"
    assert day.run("amber", "claim").out == f"Claimed: {model} JWT model\n"
    assert day.state("amber")["currentTask"] == model

    # Who waits is named.
    assert day.command("blocked").out == f"{routes}  P2  waits for {model}  Routes\n"

    # Closed with notes and a reason; the session is free, and the next task is ready.
    day.run("amber", "decide", "signing", "RS256")
    closed = day.run("amber", "close", "--note", "JWT auth with RS256 signing")
    assert closed.out.splitlines()[0] == f"Closed: {model} JWT model (completed)"
    assert day.note(model) == [
        "COMPLETED: JWT auth with RS256 signing",
        "KEY DECISION: signing: RS256",
    ]
    assert day.state("amber")["currentTask"] is None
    assert day.command("ready").out == f"{routes}  P2  ready  Routes\n"

    # Several at once, each closed with its own reason.
    docs = day.add("Docs")
    both = day.run("amber", "claim", routes, docs)
    assert both.out == f"Claimed: {routes} Routes\nClaimed: {docs} Docs\n"
    assert day.state("amber")["currentTasks"] in ([routes, docs], [docs, routes])
    day.run("amber", "close", docs, "--reason", "skipped", "--note", "superseded by routes")
    assert day.note(docs) == ["SKIPPED: Docs", "REASON: superseded by routes"]
    day.run("amber", "close", routes, "--reason", "blocked", "--note", "the new proxy is missing")
    assert day.note(routes) == ["BLOCKED: the new proxy is missing"]
    assert day.command("ready").out.startswith("No task is ready.\n")

    synced = day.run("amber", "sync")
    assert (synced.code, synced.out.startswith("Sync: ")) == (0, True)


@pytest.mark.requirement("R162", "R169", "R187", "R214")
def test_a_team_claims_each_task_once_and_tells_each_other(day: TrackedDay) -> None:
    day.join("amber", "birch")
    auth = day.add("Auth", "--priority", "0")
    page = day.add("Page", "--priority", "1")
    after = day.add("Tests of auth", "--after", auth)

    # Each is given another task; a named one of somebody else is refused, with whose it is.
    assert day.run("amber", "claim").out == f"Claimed: {auth} Auth\n"
    assert day.run("birch", "claim").out == f"Claimed: {page} Page\n"
    refused = day.run("birch", "claim", auth)
    assert (refused.code, f"{auth} is held by {day.agent('amber')}" in refused.err) == (3, True)

    # Files are reserved before they are edited.
    assert day.run("amber", "reserve", "src/auth.py").code == 0
    assert day.run("birch", "reserve", "src/auth.py").code == 3

    # What another holds cannot be closed.
    assert day.run("birch", "close", auth).code == 3

    # Closing releases the files, frees who waited, and tells the team.
    closed = day.run("amber", "close", "--msg", f"Completed {auth}: tokens work")
    assert "  released: src/auth.py\n" in closed.out
    assert f"> Completed {auth}: tokens work" in day.run("birch", "inbox").out
    assert day.run("birch", "reserve", "src/auth.py").code == 0
    assert day.run("amber", "claim").out == f"Claimed: {after} Tests of auth\n"

    # What is given back, another may have.
    assert day.run("amber", "task", "give-back", after).code == 0
    assert day.run("birch", "claim", after).out == f"Claimed: {after} Tests of auth\n"
    status = day.command("status").out
    assert f"task {page}, " in status
    assert f"task {after}, " in status
