"""What a user sees when the tracker does not answer: what waits, for how long, and that it is done once."""

import json
import os
import shutil
from pathlib import Path

import pytest

from passdown.engines import system
from tests.support.teams import Team
from tests.trackers.dying_bd import DyingBd, make_small

pytestmark = pytest.mark.skipif(
    os.name == "nt", reason="the small `bd` is a script, which Windows does not start"
)
AWAY = ("before",) * 3


@pytest.fixture
def bd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DyingBd:
    """Give a `bd` that dies when it is told to; nothing waits between attempts."""
    made = make_small(tmp_path / "bd", "1.3.0")
    made.use(monkeypatch)
    monkeypatch.setattr(system, "pause", lambda _: None)
    made.add("tp-1")
    return made


@pytest.fixture
def team(
    tmp_path: Path, bd: DyingBd, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Team:
    """Give a repository with two sessions, whose tasks that `bd` keeps."""
    del bd
    made = Team(tmp_path / "project", monkeypatch, capsys)
    made.join("amber", "birch")
    return made


@pytest.mark.requirement("R195")
@pytest.mark.requirement("R202")
def test_a_note_that_waits_is_told_with_its_key_and_its_age(team: Team, bd: DyingBd) -> None:
    bd.plan(*AWAY)

    done = team.run("amber", "task", "note", "tp-1", "half way")

    assert (done.code, done.out) == (0, "Note queued: tp-1\n")
    key = f"{team.agent('amber')}_{int(team.at.timestamp())}_update_tp-1"
    assert (
        done.err.replace("\n  ", " ").splitlines()[-1]
        == f"passdown: Beads did not answer; the note on tp-1 is queued ({key}); the next command sends it"
    )
    team.pass_time(minutes=5)
    assert f"  update tp-1, 5 min old, by {team.agent('amber')}: " in team.command("status").out
    (waiting,) = json.loads(team.command("status", "--json").out)["outbox"]
    assert (waiting["op"], waiting["task"], waiting["age_seconds"], waiting["tries"]) == (
        "update",
        "tp-1",
        300,
        3,
    )


@pytest.mark.requirement("R199", "R200", "R201", "R203")
def test_what_waits_is_in_the_files_of_the_seed(team: Team, bd: DyingBd) -> None:
    folder = team.project.folder / ".conductor"
    team.run("amber", "claim", "tp-1")
    shutil.rmtree(folder, ignore_errors=True)
    bd.plan(*AWAY * 8)

    for op, words, arguments in (
        ("update", ("task", "note", "tp-1", "half way"), ["--append-notes", "half way"]),
        ("close", ("close", "tp-1", "--reason", "skipped", "--note", "not needed"), ["--reason", "skipped"]),
    ):
        team.run("amber", *words)
        (line,) = (folder / f"pending_{op}s.jsonl").read_text().splitlines()
        record = json.loads(line)
        assert {*record} >= {"op", "id", "idempotencyKey", "args", "ts", "retries"}
        assert (record["op"], record["id"], record["retries"]) == (op, "tp-1", 3)
        assert record["idempotencyKey"] == f"{team.agent('amber')}_{int(team.at.timestamp())}_{op}_tp-1"
        assert record["args"] == arguments


@pytest.mark.requirement("G13")
def test_how_much_of_what_waited_the_tracker_has_now_is_recorded(team: Team, bd: DyingBd) -> None:
    team.run("amber", "claim", "tp-1")
    bd.plan(*AWAY * 8)
    team.run("amber", "task", "note", "tp-1", "half way")
    team.run("amber", "task", "note", "tp-1", "nearly")
    team.run("amber", "close", "tp-1")
    bd.plan()

    team.run("birch", "sync")
    team.run("birch", "sync")

    files = [*team.project.folder.rglob("metrics.jsonl")]
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    recorded = [(one["updates"], one["closes"]) for one in lines if one.get("event") == "pending_recovery"]
    assert recorded == [(2, 1)]
    assert json.loads(team.command("metrics", "--json").out)["counts"]["pending_recovery"] == 1


def test_any_verb_of_any_session_does_what_waits_first(team: Team, bd: DyingBd) -> None:
    bd.plan(*AWAY)
    team.run("amber", "task", "note", "tp-1", "half way")
    team.run("amber", "end")

    done = team.run("birch", "task", "note", "tp-1", "the rest")

    assert "sent 1 queued change to Beads" in done.err
    assert bd.issues()["tp-1"]["notes"] == "half way\nthe rest"
    assert json.loads(team.command("status", "--json").out)["outbox"] == []


@pytest.mark.requirement("G5")
def test_each_record_is_kept_until_it_succeeds_and_has_an_outcome_of_its_own(team: Team, bd: DyingBd) -> None:
    def waiting() -> list[str]:
        return [one["task"] for one in json.loads(team.command("status", "--json").out)["outbox"]]

    bd.add("tp-2")
    bd.add("tp-3")
    for task in ("tp-1", "tp-2", "tp-3"):
        bd.plan(*AWAY * 4)
        team.run("amber", "task", "note", task, f"note of {task}")
        team.pass_time(seconds=1)
    assert waiting() == ["tp-1", "tp-2", "tp-3"]

    bd.plan("", *AWAY)
    team.command("ready")
    kept = waiting()
    bd.plan()
    bd.remove("tp-2")
    done = team.run("birch", "sync")

    assert kept == ["tp-2", "tp-3"]
    assert "sent 1 queued change to Beads" in done.err
    assert "Beads refused a queued change, update tp-2: there is no task tp-2" in done.err.replace(
        "\n  ", " "
    )
    assert waiting() == []
    assert [bd.issues()[task]["notes"] for task in ("tp-1", "tp-3")] == ["note of tp-1", "note of tp-3"]


@pytest.mark.parametrize(
    "verb", [("ready",), ("blocked",), ("task", "list"), ("task", "show", "tp-1"), ("sync",)]
)
def test_a_verb_that_only_looks_does_it_too(team: Team, bd: DyingBd, verb: tuple[str, ...]) -> None:
    bd.plan(*AWAY)
    team.run("amber", "task", "note", "tp-1", "half way")

    assert team.command(*verb).code == 0

    assert bd.issues()["tp-1"]["notes"] == "half way"


@pytest.mark.requirement("R196")
def test_a_close_that_waits_says_so_and_is_done_days_later(team: Team, bd: DyingBd) -> None:
    team.run("amber", "claim", "tp-1")
    bd.plan(*AWAY)

    answer = team.ask("amber", "close", "tp-1", "--note", "it works")

    assert (answer["closed"], answer["waiting"]) == (None, "tp-1")
    assert answer["note"].startswith("COMPLETED: it works")
    assert bd.issues()["tp-1"]["status"] == "in_progress"
    team.pass_time(days=3)
    team.command("ready")
    issue = bd.issues()["tp-1"]
    assert (issue["status"], issue["close_reason"], issue["closes"]) == ("closed", "completed", 1)
    assert issue["notes"].count("COMPLETED: it works") == 1


def test_a_close_that_a_session_left_when_it_ended_is_done_by_another(team: Team, bd: DyingBd) -> None:
    team.run("amber", "claim", "tp-1")
    bd.plan(*AWAY)
    team.run("amber", "close", "--note", "it works")
    team.run("amber", "end")

    done = team.run("birch", "sync")

    assert "sent 1 queued change to Beads" in done.err
    issue = bd.issues()["tp-1"]
    assert (issue["status"], issue["closes"], issue["notes"].count("it works")) == ("closed", 1, 1)


def test_a_close_in_words_says_that_it_waits(team: Team, bd: DyingBd) -> None:
    team.run("amber", "claim", "tp-1")
    bd.plan(*AWAY)

    done = team.run("amber", "close")

    assert done.code == 0
    assert done.out == (
        "Close queued: tp-1 Task tp-1 (completed)\n  the next command that reaches the tracker sends it\n"
    )


@pytest.mark.requirement("R165")
@pytest.mark.requirement("R172")
def test_a_claim_that_fails_ends_with_1_and_is_not_repeated(team: Team, bd: DyingBd) -> None:
    bd.plan(*AWAY)

    done = team.run("amber", "claim", "tp-1")

    assert done.code == 1
    assert "failed after 3 attempts" in done.err.replace("\n  ", " ")
    team.command("ready")
    assert bd.issues()["tp-1"]["status"] == "open"
    assert team.run("birch", "claim", "tp-1").out == "Claimed: tp-1 Task tp-1\n"


def test_a_pending_file_is_checked_and_searched_as_somebody_else_s(team: Team, bd: DyingBd) -> None:
    bd.plan(*AWAY)
    team.run("amber", "task", "note", "tp-1", "half way")

    checked = team.command("check")

    assert (team.project.folder / ".conductor" / "pending_updates.jsonl").exists()
    assert checked.code == 0, checked.out + checked.err


@pytest.mark.requirement("R204")
def test_what_another_tool_left_is_skipped_if_the_tracker_has_it_and_done_once_if_not(
    team: Team, bd: DyingBd
) -> None:
    bd.add("tp-2", status="closed", close_reason="by hand")
    bd.add("tp-3", notes="IN_PROGRESS: RED")
    line = '{{"op": "{op}", "id": "{id}", "idempotencyKey": "T-1", "args": [{args}], "ts": "{ts}"}}\n'
    folder = team.project.folder / ".conductor"
    folder.mkdir(exist_ok=True)
    ts = "2026-01-11T11:00:00Z"
    (folder / "pending_updates.jsonl").write_text(
        line.format(op="update", id="tp-3", args='"--notes", "IN_PROGRESS: RED"', ts=ts)
        + line.format(op="update", id="tp-3", args='"--notes", "IN_PROGRESS: GREEN"', ts=ts)
    )
    (folder / "pending_closes.jsonl").write_text(
        line.format(op="close", id="tp-2", args='"--reason", "completed"', ts=ts)
        + line.format(op="close", id="tp-3", args='"--reason", "completed"', ts=ts)
    )

    for _ in range(2):
        team.run("amber", "task", "note", "tp-1", "go on")

    issues = bd.issues()
    assert (issues["tp-2"]["close_reason"], "closes" in issues["tp-2"]) == ("by hand", False)
    assert issues["tp-3"]["notes"] == "IN_PROGRESS: RED\nIN_PROGRESS: GREEN"
    assert (issues["tp-3"]["close_reason"], issues["tp-3"]["closes"]) == ("completed", 1)
    assert not [path.name for path in folder.glob("pending_*")]


def test_a_task_that_another_agent_has_is_not_closed_by_what_a_tool_left(team: Team, bd: DyingBd) -> None:
    bd.add("tp-2", status="in_progress", assignee="carol")
    folder = team.project.folder / ".conductor"
    folder.mkdir(exist_ok=True)
    (folder / "pending_closes.jsonl").write_text(
        '{"op": "close", "id": "tp-2", "idempotencyKey": "T-1_1768129200_close_tp-2", '
        '"args": ["--reason", "completed"], "ts": "2026-01-11T11:00:00Z", "retries": 3}\n'
    )

    done = team.run("amber", "task", "note", "tp-1", "go on")

    assert "Beads refused a queued change, close tp-2: " in done.err.replace("\n  ", " ")
    assert bd.issues()["tp-2"]["status"] == "in_progress"
