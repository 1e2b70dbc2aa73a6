"""The file through which sessions coordinate is lost: nothing is granted twice, and what happened is told."""

import gc
import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from passdown import layout
from tests.stores.lost_files import OLDER, WAYS, copy_database, delete
from tests.support.teams import AMBER, BIRCH, Hosts

pytestmark = pytest.mark.requirement("C146", through="command")


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hosts:
    """Give a project with two sessions: one has closed a task, and holds another and a folder."""
    made = Hosts(tmp_path / "project", monkeypatch, capsys)
    made.begin("amber", AMBER)
    made.begin("birch", BIRCH)
    made.add("Sign in form", "--id", "t-form")
    made.add("Old page", "--id", "t-old")
    made.run("amber", "claim", "t-old")
    gc.collect()
    copy_database(made.database, tmp_path / OLDER)
    made.run("amber", "close", "t-old")
    made.run("amber", "claim", "t-form")
    made.run("amber", "reserve", "src/")
    gc.collect()  # commands of this process have it open
    return made


TOLD: Final = {
    "deleted": "is missing",
    "deleted alone": "is missing",
    "emptied": "is empty",
    "overwritten": "is damaged",
    "damaged": "is damaged",
    "cut": "is damaged",
    "replaced by an older copy": "is older than before",
    "overwritten by an older copy": "is ",
    "replaced by another": "was replaced by another file",
}


def is_lost(way: str) -> bool:
    """Look whether anything is missing: where SQLite's own log is kept, it has all that a small file has."""
    return way != "overwritten by an older copy" or sys.version_info < (3, 12)


@pytest.mark.parametrize("way", WAYS)
def test_what_is_held_stays_held_and_what_is_closed_stays_closed(hosts: Hosts, way: str) -> None:
    WAYS[way](hosts.database)
    told = TOLD[way]

    if not is_lost(way):
        assert hosts.run("birch", "reserve", "src/a.py").code == 3
        return
    doctor = hosts.command("doctor")
    assert (doctor.code, f"coordination: the coordination database {told}" in doctor.out) == (1, True)
    refused = hosts.run("birch", "reserve", "src/a.py")

    assert refused.code == 3, refused
    assert f"the coordination database {told}" in refused.err
    assert "it was restored from" in refused.err
    assert "no known change is missing" in refused.err
    assert hosts.run("birch", "takeover", "t-form").code == 3
    listed = json.loads(hosts.command("task", "list", "--all", "--json").out)["tasks"]
    tasks = {one["task"]["task"]: one["task"]["state"] for one in listed}
    assert tasks == {"t-form": "open", "t-old": "closed"}
    told_again = hosts.command("doctor")
    assert "it was restored from" in " ".join(told_again.out.split())
    assert "restored" not in hosts.command("status").err


@pytest.mark.parametrize("way", WAYS)
def test_fences_go_on_above_every_known_one(hosts: Hosts, way: str) -> None:
    known = hosts.account("amber").reservations["src/"]

    WAYS[way](hosts.database)

    assert hosts.run("birch", "reserve", "docs/").code == 0
    assert hosts.account("birch").reservations["docs/"] > known + is_lost(way)
    assert hosts.run("amber", "renew").code == 0
    assert hosts.run("amber", "release", "src/").code == 0


def test_a_restored_session_is_not_silent(hosts: Hosts) -> None:
    hosts.alive.clear()
    for _ in range(4):
        hosts.pass_time(minutes=8)
        hosts.host.call("Stop", session_id="amber")
    gc.collect()
    delete(hosts.database)

    assert hosts.run("birch", "takeover", "t-form").code == 3


def test_mail_is_restored_and_what_was_read_stays_read(hosts: Hosts) -> None:
    hosts.run("amber", "msg", "first", "--to", hosts.agent("birch"))
    assert "first" in hosts.run("birch", "inbox").out
    hosts.run("amber", "msg", "second", "--to", hosts.agent("birch"))
    gc.collect()
    delete(hosts.database)

    assert "second" in hosts.run("birch", "inbox").out
    assert "second" not in hosts.run("birch", "inbox").out


def changes_of(hosts: Hosts) -> Path:
    """Give the folder of copies and changes."""
    return hosts.database.parent / layout.COORDINATION_CHANGES


def test_the_first_command_of_a_day_makes_a_copy_and_three_are_kept(hosts: Hosts) -> None:
    for day in range(5):
        hosts.pass_time(hours=24)
        assert hosts.run("birch", "reserve", f"day-{day}/").code == 0
        gc.collect()
    copies = sorted(changes_of(hosts).glob("*.sqlite"))
    assert len(copies) == 3
    copies[-1].write_bytes(b"damaged")
    copies[-2].unlink()
    delete(hosts.database)

    done = hosts.run("amber", "reserve", "day-4/x")

    assert done.code == 3, done
    assert (
        f"it was restored from the copy of {hosts.at - timedelta(days=2):%Y-%m-%d} and 3 logged" in done.err
    )
    assert "no known change is missing" in done.err


def test_without_its_log_sessions_know_what_they_hold(hosts: Hosts) -> None:
    known = hosts.account("amber").reservations["src/"]
    for path in changes_of(hosts).glob("*.sqlite"):
        path.unlink()
    log = next(changes_of(hosts).glob("*.jsonl"))
    log.write_bytes(log.read_bytes().splitlines(keepends=True)[0])
    delete(hosts.database)

    refused = hosts.run("birch", "reserve", "src/a.py")

    assert refused.code == 3, refused
    assert "2 holdings that sessions recorded" in refused.err
    assert "could not be restored" in refused.err
    assert hosts.run("birch", "reserve", "docs/").code == 0
    assert hosts.account("birch").reservations["docs/"] > known
    assert hosts.run("amber", "renew").code == 0


def test_a_change_that_was_not_logged_is_in_a_copy_of_the_next_command(hosts: Hosts) -> None:
    log = next(changes_of(hosts).glob("*.jsonl"))
    log.write_bytes(log.read_bytes()[: log.read_bytes().rindex(b'{"project"')])

    assert hosts.command("status").code == 0
    gc.collect()
    delete(hosts.database)

    refused = hosts.run("birch", "reserve", "src/a.py")
    assert (refused.code, "no known change is missing" in refused.err) == (3, True)


def test_a_line_that_was_cut_off_says_nothing(hosts: Hosts) -> None:
    log = next(changes_of(hosts).glob("*.jsonl"))
    log.write_bytes(log.read_bytes()[: log.read_bytes().rindex(b'"position"') + 20])
    delete(hosts.database)

    refused = hosts.run("birch", "reserve", "src/a.py")

    assert refused.code == 3
    assert "1 holding that sessions recorded" in refused.err


@pytest.mark.requirement("C146", through="hook")
def test_a_hook_restores_nothing_and_creates_nothing(hosts: Hosts) -> None:
    delete(hosts.database)

    hosts.host.call("Stop", session_id="amber")
    hosts.host.call("PreToolUse", session_id="birch", tool_name="Edit", tool_input={"file_path": "src/a.py"})

    assert not hosts.database.exists()
    assert "the coordination database is missing" in hosts.host.log()
    assert hosts.run("birch", "reserve", "src/a.py").code == 3
    denied = hosts.host.call(
        "PreToolUse", session_id="birch", tool_name="Edit", tool_input={"file_path": "src/a.py"}
    )
    assert denied["hookSpecificOutput"]["permissionDecision"] == "deny"
