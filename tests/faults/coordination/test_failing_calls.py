"""A real `bd` of which one verb fails, as the user sees it: what is said, what is kept, and the next run."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from passdown.engines import system
from tests.support.commands import Done, run
from tests.support.teams import Team
from tests.trackers.bd_words import list_failures
from tests.trackers.beads import find_bd, make_database
from tests.trackers.failing_bd import FailingBd, Failure

pytestmark = [pytest.mark.beads, pytest.mark.skipif(os.name == "nt", reason="the wrapper is a script")]

BUILD: Final = "0.44.0"
SAID: Final = list_failures(BUILD)[0]
"""A disk that fails: `bd` says so and ends with 1."""
ALWAYS: Final = 99
STATE, LIST = ".conductor/unsynced.json", ".conductor/unsynced_beads.txt"


class Desk(NamedTuple):
    """A project whose tasks a real `bd` keeps, behind a wrapper."""

    team: Team
    bd: FailingBd

    @property
    def folder(self) -> Path:
        """Where the project is."""
        return self.team.project.folder

    def fail(self, verbs: str, times: int = ALWAYS, *, after: bool = False) -> None:
        """Let calls of some verbs fail, instead of their effect or after it."""
        self.bd.fail(Failure(SAID, 1, times, after, verbs))

    def has(self, path: str) -> bool:
        """Look for a file."""
        return (self.folder / path).exists()

    def exported(self) -> set[str]:
        """Give the ids in the file that `bd sync` writes and git carries."""
        file = self.folder / ".beads/issues.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        return {json.loads(line)["id"] for line in lines}

    def waiting(self) -> list[str]:
        """Give what waits for the tracker, as `status` says it."""
        return [one["op"] for one in json.loads(self.team.command("status", "--json").out)["outbox"]]


@pytest.fixture
def desk(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Desk:
    """Give a project with the session amber; commands of this process do not wait between attempts."""
    real = find_bd(BUILD)
    team = Team(tmp_path / "project", monkeypatch, capsys)
    template = tmp_path_factory.getbasetemp() / f"beads-{BUILD}"
    bd = FailingBd(tmp_path, real, make_database(BUILD, team.project.folder, template))
    for name, value in bd.variables().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(system, "pause", lambda _: None)
    return Desk(team, bd)


def words(done: Done) -> str:
    """Give what was said on the error stream, without its line ends."""
    return " ".join(done.err.split())


@pytest.mark.requirement("R188", "R190", "R191", "R192", "R193", "R198")
def test_a_sync_that_fails_three_times_is_told_kept_and_made_up_for(desk: Desk) -> None:
    desk.team.join("amber")
    tasks = {desk.team.add("Sign in form"), desk.team.add("Sign out")}
    began = datetime.now(UTC).replace(microsecond=0)
    desk.fail("sync", 3)

    failed = run("sync", "--session", "amber", cwd=desk.folder)

    assert (failed.code, failed.out) == (1, "")
    told = words(failed)
    assert [f"sync: attempt {number} failed" in told for number in (1, 2, 3, 4)] == [True, True, True, False]
    assert told.count("sqlite3: disk I/O error") == 3
    assert f"sync failed after 3 attempts; unsynced changes are listed in {STATE} and {LIST}" in told
    assert "Fix the cause, then run `passdown sync`; other commands also try again." in told
    assert (desk.bd.mend(), desk.exported()) == (3, set())
    kept = json.loads((desk.folder / STATE).read_text(encoding="utf-8"))
    assert (kept["agentId"], kept["reason"]) == (desk.team.agent("amber"), "sync_failed_after_retries")
    assert began <= datetime.fromisoformat(kept["timestamp"]) <= datetime.now(UTC)
    assert set((desk.folder / LIST).read_text(encoding="utf-8").split()) == tasks
    assert desk.waiting() == ["sync"]

    again = run("sync", "--session", "amber", cwd=desk.folder)

    assert (again.code, again.out) == (0, "Sync: exported the tasks to the file that git tracks\n")
    assert (desk.exported(), desk.waiting()) == (tasks, [])
    assert not desk.has(STATE)
    assert not desk.has(LIST)


@pytest.mark.requirement("R190", "R191", "R192", "R193")
def test_a_sync_without_a_session_is_kept_too_and_made_up_for_by_the_next_command(desk: Desk) -> None:
    task = desk.team.add("Sign in form")
    desk.fail("sync", 6)

    failed = [desk.team.command("sync") for _ in range(2)][1]

    assert (failed.code, desk.waiting()) == (1, ["sync"])
    assert f"unsynced changes are listed in {STATE} and {LIST}" in words(failed)
    kept = json.loads((desk.folder / STATE).read_text(encoding="utf-8"))
    assert (kept["agentId"], kept["reason"]) == ("", "sync_failed_after_retries")
    assert (desk.folder / LIST).read_text(encoding="utf-8") == f"{task}\n"
    assert "sync, 0 s old: bd could not sync" in desk.team.command("status").out

    done = desk.team.command("ready")

    assert done.code == 0
    assert "passdown: sent 1 queued change to Beads\n" in done.err
    assert (desk.exported(), desk.waiting()) == ({task}, [])
    assert not desk.has(STATE)
    assert not desk.has(LIST)


@pytest.mark.requirement("R197", "C148")
def test_a_new_task_is_tried_three_times_each_after_a_look_and_then_it_halts(desk: Desk) -> None:
    desk.team.join("amber")
    desk.fail("create")

    halted = desk.team.run("amber", "task", "add", "Sign in form")

    assert (halted.code, halted.out) == (1, "")
    assert "create failed after 3 attempts: `bd create` failed with exit code 1" in words(halted)
    assert "The task may have been added; check with `passdown task list`." in words(halted)
    assert (desk.bd.mend(), desk.bd.titled("Sign in form"), desk.waiting()) == (3, [], [])

    assert desk.team.command("ready").out == "No task is ready.\n"
    added = desk.team.run("amber", "task", "add", "Sign in form")

    (task,) = desk.bd.titled("Sign in form")
    assert (added.code, added.out) == (0, f"added {task} Sign in form\n")


@pytest.mark.requirement("R197", "C148")
def test_a_new_task_that_was_made_though_bd_failed_is_found_by_the_look(desk: Desk) -> None:
    desk.team.join("amber")
    desk.fail("create", after=True)

    added = desk.team.run("amber", "task", "add", "Sign in form")

    (task,) = desk.bd.titled("Sign in form")
    assert (added.code, added.out, desk.bd.mend()) == (0, f"added {task} Sign in form\n", 1)
    assert "create: attempt 1 failed" in words(added)


@pytest.mark.requirement("R197", "C148")
def test_a_new_task_is_not_made_again_while_the_look_fails(desk: Desk) -> None:
    desk.team.join("amber")
    desk.fail("create list", after=True)

    halted = desk.team.run("amber", "task", "add", "Sign in form")

    assert (halted.code, halted.out) == (1, "")
    assert "create failed after 3 attempts: `bd list` failed with exit code 1" in words(halted)
    assert "The task may have been added; check with `passdown task list`." in words(halted)
    assert len(desk.bd.titled("Sign in form")) == 1
