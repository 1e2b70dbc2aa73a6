"""Tasks in Beads by command, with a stand-in for `bd` that has the quirks of three builds."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from passdown.core.kinds import FactKind
from passdown.engines import system
from passdown.trackers.beads import calls
from passdown.wiring import trackers
from tests.support.teams import Team
from tests.trackers import fake_bd
from tests.trackers.fake_bd import BUILDS
from tests.unit.hosts.test_hook_tools import Caller

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a script for a shell")

WITHOUT_MARKS = "0.44.0"
PATIENT = 60.0
"""Seconds for a call of the stand-in; a user's limit is ten, which a busy machine reached."""
COUNTED = "import os\nwith open(os.environ['BEADS_DIR'] + '/calls', 'a') as f: f.write(sys.argv[1] + '\\n')\n"
HANGING = "import signal\nwhile True: signal.pause()\n"
BUSY = """
import os
from pathlib import Path
left = Path(os.environ['BEADS_DIR'], 'busy')
if left.exists() and int(left.read_text()):
    left.write_text(str(int(left.read_text()) - 1))
    sys.stderr.write('{"error": "failed to open database: another process holds the exclusive lock on x"}')
    sys.exit(1)
"""


FAILING = """
import os
from pathlib import Path
fails = Path(os.environ['BEADS_DIR'], 'fails')
if fails.exists() and sys.argv[1] in fails.read_text().split() and '--help' not in sys.argv:
    sys.stderr.write('Error: failed to search issues: disk I/O error')
    sys.exit(1)
"""


SHOWS_TWO = """
from tests.trackers.fake_bd import FakeBd
show = FakeBd._show
FakeBd._show = lambda *given: [*show(*given), {'id': 'tp-999', 'title': 'another task', 'status': 'open'}]
"""


class BeadsTeam(Team):
    """A `Team` whose tasks Beads keeps."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Make an empty database, and no program yet."""
        super().__init__(folder, monkeypatch, capsys)
        self.programs = folder.parent / "bin"
        self.beads = folder / ".beads"
        self.beads.mkdir()
        (self.beads / "beads.db").write_text("{}")
        monkeypatch.setenv("PATH", f"{self.programs}{os.pathsep}{os.environ['PATH']}")
        self._wait_for_busy_machine()

    def _wait_for_busy_machine(self) -> None:
        """Take a stand-in that starts slowly for slow, not for a tracker that is away."""
        self.monkeypatch.setattr(trackers, "_SECONDS", PATIENT)
        self.monkeypatch.setattr(calls, "LONGEST", PATIENT)
        self.monkeypatch.setenv("PASSDOWN_COORDINATION_WAIT_SECONDS", f"{PATIENT:.0f}")

    def install(self, version: str = "1.3.0", before: str = "") -> "BeadsTeam":
        """Install a build."""
        fake_bd.install(self.programs, version, before=before)
        return self

    def rows(self) -> dict[str, Any]:
        """Read what Beads has."""
        found: dict[str, Any] = json.loads((self.beads / "beads.db").read_text())
        return found

    def put(self, task: str, **values: object) -> None:
        """Change a task as somebody who calls `bd` does."""
        rows = self.rows()
        rows[task].update(values)
        (self.beads / "beads.db").write_text(json.dumps(rows))

    def calls(self) -> list[str]:
        """Read which calls were counted."""
        file = self.beads / "calls"
        return file.read_text().split() if file.exists() else []


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> BeadsTeam:
    """Give a repository with two sessions and a database of Beads."""
    made = BeadsTeam(tmp_path / "project", monkeypatch, capsys)
    made.join("amber", "birch")
    monkeypatch.setattr(system, "pause", lambda _: None)
    return made


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> BeadsTeam:
    """Give a repository with one session and a database of Beads."""
    made = BeadsTeam(tmp_path / "project", monkeypatch, capsys)
    made.join("amber")
    monkeypatch.setattr(system, "pause", lambda _: None)
    return made


@pytest.mark.requirement("R161", "R163", "R164", "R166", "R167", "R185", "R186", "R205")
@pytest.mark.parametrize("version", BUILDS)
def test_a_task_of_beads_is_claimed_worked_on_and_closed(team: BeadsTeam, version: str) -> None:
    team.install(version)
    task = team.add("Sign in form", "--priority", "1")
    waits = team.add("Sign out", "--after", task)

    ready = team.command("ready")
    claimed = team.run("amber", "claim")
    status = team.command("status")
    closed = team.run("amber", "close", "--note", "it works")

    assert ready.out == f"{task}  P1  ready  Sign in form\n"
    assert (claimed.code, claimed.out) == (0, f"Claimed: {task} Sign in form\n")
    assert f"tasks: Beads {version}, 1 held, 1 waiting\n" in status.out
    assert f"    task {task}, 11 min left: Sign in form\n" in status.out
    assert (closed.code, closed.out) == (0, f"Closed: {task} Sign in form (completed)\n")
    row = team.rows()[task]
    assert (row["status"], row["close_reason"], row["assignee"]) == (
        "closed",
        "completed",
        team.agent("amber"),
    )
    assert row["notes"] == "COMPLETED: it works"
    assert team.command("ready").out == f"{waits}  P2  ready  Sign out\n"


@pytest.mark.requirement("R205")
def test_the_first_task_that_show_gives_is_the_one_that_was_asked_for(team: BeadsTeam) -> None:
    task = team.install().add("Sign in form")
    team.install(before=SHOWS_TWO)

    shown = team.command("task", "show", task)

    assert shown.out == f"{task} Sign in form\n  ready, priority 2\n"


@pytest.mark.requirement("R163")
@pytest.mark.parametrize("version", BUILDS)
def test_a_claim_of_one_agent_with_nothing_ready_leads_to_what_is_blocked(
    alone: BeadsTeam, version: str
) -> None:
    first = alone.install(version, COUNTED).add("Sign in form")
    waits = alone.add("Sign out", "--after", first)
    alone.put(first, status="in_progress", assignee="somebody")
    before = len(alone.calls())

    claimed = alone.run("amber", "claim")

    assert (claimed.code, claimed.err) == (0, "")
    said, *others = claimed.out.splitlines()
    assert said == "No task is ready."
    assert f"  {waits} Sign out: waits for {first}" in others
    assert alone.calls()[before:].count("ready") == 1


@pytest.mark.requirement("R185")
@pytest.mark.parametrize("version", BUILDS)
def test_a_close_of_one_agent_writes_the_note_before_it_closes(alone: BeadsTeam, version: str) -> None:
    task = alone.install(version, COUNTED).add("Sign in form")
    alone.run("amber", "claim", task)
    before = len(alone.calls())

    closed = alone.run("amber", "close", "--note", "no form", "--reason", "skipped")

    assert (closed.code, closed.out) == (0, f"Closed: {task} Sign in form (skipped)\n")
    assert [one for one in alone.calls()[before:] if one in {"update", "close"}] == ["update", "close"]
    row = alone.rows()[task]
    assert (row["notes"], row["close_reason"]) == ("SKIPPED: Sign in form\nREASON: no form", "skipped")


@pytest.mark.requirement("R186")
def test_after_a_close_the_state_has_no_task_and_a_close_that_failed_waits(alone: BeadsTeam) -> None:
    one, two = alone.install("1.0.0", FAILING).add("one"), alone.add("two")
    alone.run("amber", "claim", one)
    (state,) = (alone.project.folder / ".conductor").glob("session-state_*.json")
    assert json.loads(state.read_text())["currentTask"] == one
    alone.pass_time(minutes=5)

    closed = alone.run("amber", "close")

    assert closed.out == f"Closed: {one} one (completed)\n"
    told = json.loads(state.read_text())
    assert (told["currentTask"], told["tddPhase"]) == (None, None)
    assert told["lastUpdated"] == alone.at.strftime("%Y-%m-%dT%H:%M:%SZ")

    alone.run("amber", "claim", two)
    (alone.beads / "fails").write_text("close")
    failed = alone.run("amber", "close")
    assert failed.out.startswith(f"Close queued: {two} two (completed)\n")
    assert failed.err.count(f"close {two}: attempt") == 3
    assert alone.rows()[two]["status"] == "in_progress"

    (alone.beads / "fails").write_text("")
    alone.run("amber", "sync")
    assert alone.rows()[two]["status"] == "closed"


@pytest.mark.requirement("R170", "R171")
@pytest.mark.parametrize("version", BUILDS)
def test_several_tasks_in_one_claim_and_what_blocks_the_rest(team: BeadsTeam, version: str) -> None:
    team.install(version)
    one, two = team.add("one"), team.add("two")
    three = team.add("three", "--after", one)

    both = team.run("amber", "claim", one, two)
    none = team.run("birch", "claim")
    blocked = team.command("blocked")

    assert both.out == f"Claimed: {one} one\nClaimed: {two} two\n"
    assert none.code == 0
    assert f"  {three} three: waits for {one}\n" in none.out
    assert f"  {one} one: held by {team.agent('amber')}\n" in none.out
    assert blocked.out == f"{three}  P2  waits for {one}  three\n"
    account = next(one for one in team.host.accounts() if "amber" in one.host_sessions)
    assert list(account.claims) == [one, two]


def test_what_somebody_claimed_with_bd_is_theirs(team: BeadsTeam) -> None:
    task = team.install().add("one")
    team.put(task, assignee="Root User", status="in_progress")

    refused = team.run("amber", "claim", task)

    assert refused.code == 3
    assert f"{task} is held by Root User\n" in refused.err
    assert "sign of life" not in refused.err
    assert team.run("amber", "close", task).code == 3
    assert team.rows()[task]["status"] == "in_progress"
    assert team.run("amber", "claim").out.startswith("No task is ready.")


def test_what_somebody_closed_with_bd_is_seen_at_the_next_claim(team: BeadsTeam) -> None:
    team.install()
    one, two = team.add("one", "--priority", "0"), team.add("two")
    team.run("amber", "claim")
    team.put(one, status="closed", close_reason="by hand")

    claimed = team.run("amber", "claim")

    assert claimed.out == f"Claimed: {two} two\n"
    assert team.rows()[one]["close_reason"] == "by hand"


def test_a_task_is_given_back_and_taken_over_in_beads_too(team: BeadsTeam) -> None:
    task = team.install().add("one")
    team.run("amber", "claim")
    assert team.run("amber", "task", "give-back", task).code == 0
    assert (team.rows()[task]["status"], team.rows()[task]["assignee"]) == ("open", "")
    team.run("amber", "claim")
    team.pass_time(minutes=30)

    taken = team.run("birch", "takeover", task)

    assert taken.code == 0
    assert team.rows()[task]["assignee"] == team.agent("birch")
    assert team.run("birch", "takeover", task).code == 0  # it is its own already
    assert team.run("birch", "close").code == 0


@pytest.mark.requirement("C93")
def test_the_settings_choose_the_tracker(team: BeadsTeam) -> None:
    settings = team.project.folder / "passdown.toml"
    missing = team.command("task", "add", "one")  # no program: the board
    team.install()
    settings.write_text('[tracker]\nkind = "board"\n')
    board = team.command("ready")
    settings.write_text('[tracker]\nkind = "none"\n')
    none = team.command("ready")
    settings.write_text('[tracker]\nkind = "beads"\n')
    beads = team.command("ready")
    (team.beads / "beads.db").unlink()
    gone = team.command("ready")

    assert missing.out.startswith("added t-")
    assert "one" in board.out
    assert (none.code, "this project has no tracker" in none.err) == (2, True)
    assert beads.out == "No task is ready.\n"
    assert (gone.code, "bd is not installed, or has no database here" in gone.err) == (1, True)


@pytest.mark.parametrize("note", [(), ("--note", "it works")])
@pytest.mark.parametrize("version", BUILDS)
def test_a_close_asks_for_the_task_before_only_if_it_needs_it(
    team: BeadsTeam, version: str, note: tuple[str, ...]
) -> None:
    """For the title in its note, or how the note begins in a build without marks; and once alone."""
    team.install(version, COUNTED)
    task = team.add("one")
    team.run("amber", "claim", task)
    before = team.calls().count("show")

    closed = json.loads(team.run("amber", "close", *note, "--json").out)

    is_known = bool(note) and version != WITHOUT_MARKS
    assert team.calls().count("show") - before == (1 if is_known else 2)
    assert closed["note"].startswith("COMPLETED: it works" if note else "COMPLETED: one")
    assert [fact.text for fact in team.account("amber").of(FactKind.DONE)] == [f"one ({task})"]


@pytest.mark.requirement("C98")
def test_a_build_is_probed_once_and_an_older_one_is_refused(team: BeadsTeam) -> None:
    team.install("1.3.0", COUNTED)
    for _ in range(3):
        assert team.command("ready").code == 0
    assert team.calls().count("version") == 1

    team.install("1.0.0", COUNTED)
    refused = team.command("ready")

    assert refused.code == 1
    assert "bd 1.0.0 is older" in refused.err
    assert "1.3.0 or newer" in refused.err


@pytest.mark.requirement("G6", "R194", "C17")
def test_a_bd_that_hangs_is_stopped_and_nobody_says_that_nothing_is_ready(
    team: BeadsTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.install()
    assert team.command("ready").code == 0
    team.install("1.3.0", HANGING)
    monkeypatch.setattr(trackers, "_SECONDS", 0.5)

    listed = team.command("ready")
    status = team.command("status")

    assert (listed.code, listed.out) == (0, "")
    assert "did not finish: it took longer than 0.5 seconds" in listed.err
    assert "did not finish" in json.loads(team.command("ready", "--json").out)["warning"]
    assert status.code == 0
    assert "tasks: Beads" in status.out


@pytest.mark.requirement("C148", "C17", "R194")
@pytest.mark.parametrize("version", BUILDS)
@pytest.mark.parametrize("verb", [("ready",), ("blocked",), ("task", "list"), ("task", "list", "--all")])
def test_a_list_that_bd_does_not_give_is_empty_with_a_warning_and_asked_for_once(
    team: BeadsTeam, version: str, verb: tuple[str, ...]
) -> None:
    team.install(version, COUNTED + FAILING).add("one")
    (team.beads / "fails").write_text("ready blocked list")

    listed = team.command(*verb)
    told = json.loads(team.command(*verb, "--json").out)

    assert (listed.code, listed.out) == (0, "")
    assert "failed with exit code 1: Error: failed to search issues: disk I/O error" in listed.err
    assert "othing was changed" not in listed.err
    assert (told["tasks"], "disk I/O error" in told["warning"]) == ([], True)
    assert len([one for one in team.calls() if one in {"ready", "blocked", "list"}]) == 2


@pytest.mark.requirement("C148")
def test_a_ready_list_that_is_empty_says_so_though_the_others_are_not_known(team: BeadsTeam) -> None:
    team.install("1.3.0", FAILING)
    (team.beads / "fails").write_text("blocked list")

    listed = team.command("ready")

    assert (listed.code, listed.out) == (0, "No task is ready.\n")
    assert "could not find out what the others wait for" in listed.err


@pytest.mark.requirement("C148", "R197")
def test_a_reading_that_decides_something_fails_like_a_write(team: BeadsTeam) -> None:
    team.install("1.0.0", FAILING).add("one")
    (team.beads / "fails").write_text("ready")

    claimed = team.run("amber", "claim")

    assert claimed.code == 1
    assert "claim failed after 3 attempts" in claimed.err.replace("\n  ", " ")


@pytest.mark.requirement("R191")
@pytest.mark.parametrize(("fails", "is_told"), [("sync", True), ("sync list", False)])
@pytest.mark.parametrize("version", ["0.44.0", "1.3.0"])
def test_a_sync_that_failed_leaves_the_ids_that_bd_lists(
    team: BeadsTeam, version: str, fails: str, *, is_told: bool
) -> None:
    team.install(version, FAILING)
    changed, other, closed = team.add("one"), team.add("two"), team.add("three")
    team.put(closed, status="closed")
    team.run("amber", "task", "note", changed, "half way")
    (team.beads / "fails").write_text(fails)

    failed = team.run("amber", "sync")

    file = team.project.folder / ".conductor" / "unsynced_beads.txt"
    assert (failed.code, "sync failed after 3 attempts" in failed.err) == (1, True)
    assert sorted(file.read_text().split()) == (sorted([changed, other]) if is_told else [changed])
    (team.beads / "fails").write_text("")
    assert team.run("amber", "sync").code == 0
    assert not file.exists()


@pytest.mark.requirement("C148")
def test_a_change_that_waits_is_dropped_by_its_id(team: BeadsTeam) -> None:
    task = team.install("1.0.0", FAILING).add("one")
    (team.beads / "fails").write_text("update")
    team.run("amber", "task", "note", task, "never\nmore")
    team.run("amber", "task", "note", task, "nor this")
    (first, second) = json.loads(team.command("status", "--json").out)["outbox"]

    dropped = team.run("amber", "sync", "--drop", first["id"])
    other = json.loads(team.run("amber", "sync", "--drop", second["id"], "--json").out)

    assert dropped.out == f"Dropped: update {task}\n  > never\n  > more\n"
    assert other["dropped"]["id"] == second["id"]
    assert json.loads(team.command("status", "--json").out)["outbox"] == []
    assert not (team.project.folder / ".conductor" / "pending_updates.jsonl").exists()
    (team.beads / "fails").write_text("")
    team.command("ready")
    assert team.rows()[task]["notes"] == ""
    assert team.run("amber", "sync", "--drop", first["id"]).code == 2


@pytest.mark.requirement("G6")
def test_an_exclusive_lock_of_another_program_is_waited_for(team: BeadsTeam) -> None:
    task = team.install("1.0.0", BUSY).add("one")
    (team.beads / "busy").write_text("3")

    assert team.run("amber", "claim").out == f"Claimed: {task} one\n"
    assert (team.beads / "busy").read_text() == "0"


def test_what_only_the_board_can_do_is_refused(team: BeadsTeam) -> None:
    task = team.install().add("one")

    for words in (("change", task, "--title", "x"), ("block", task, task), ("export",)):
        refused = team.command("task", *words)
        assert (refused.code, "kept in Beads 1.3.0" in refused.err) == (2, True)


def test_sync_says_what_it_did(team: BeadsTeam) -> None:
    said: list[str] = []
    for version in BUILDS:
        team.install(version)
        said.append(team.command("sync").out)

    assert said[0] == "Sync: exported the tasks to the file that git tracks\n"
    assert said[1].startswith("Sync: nothing to do: bd 1.0.0")
    assert said[2] == "Sync: nothing to do: Beads has no remote\n"


@pytest.mark.requirement("C99")
@pytest.mark.parametrize("before", [COUNTED, COUNTED + HANGING])
def test_no_hook_starts_bd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], before: str
) -> None:
    team = BeadsTeam(tmp_path / "project", monkeypatch, capsys)
    team.set_up()
    team.install()
    task = team.add("one")
    team.host.write("work")
    team.host.call("SessionStart", session_id="amber", source="startup")
    team.run("amber", "claim", task)
    team.run("amber", "reserve", "src/")
    team.install("1.3.0", before)
    ask = Caller(team.project.folder, monkeypatch, capsys)

    team.host.call("SessionStart", session_id="birch", source="startup")
    team.host.call("UserPromptSubmit", session_id="amber", prompt="go on")
    ask("claude", "Edit", {"file_path": str(team.project.folder / "src/a.py")}, session_id="birch")
    ask("claude", "Bash", {"command": "bd close x"}, session_id="amber")
    team.host.call("Stop", session_id="amber")
    team.host.call("SessionStart", session_id="amber", source="compact")
    team.host.call("PreCompact", session_id="amber", trigger="auto")
    team.host.call("SessionEnd", session_id="amber", reason="prompt_input_exit")

    assert team.calls() == []
