"""What hooks and commands record about the work, and how `passdown metrics` sums it up."""

import json
import shutil
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from passdown.core.formats.ledgers import Ledger, render_ledger
from passdown.core.hosts.tracker_commands import find_verbs
from passdown.core.project.metrics import Metric, MetricKind, render_metric
from tests.support.projects import put
from tests.support.sessions import LEDGER, NOON
from tests.unit.sessions.test_ordinary_sessions import Day

FILE = ".git/passdown/metrics.jsonl"


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Day:
    """Give a repository in which Passdown is set up, and its host."""
    made = Day(tmp_path / "project", monkeypatch, capsys)
    made.set_up()
    return made


def events(day: Day) -> list[dict[str, object]]:
    """Give the events that were recorded, without the measurements."""
    path = day.project.folder / FILE
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [line for line in lines if "event" in line]


def agent_of(day: Day, session: str) -> str:
    return next(one.agent for one in day.host.accounts() if session in one.host_sessions)


@pytest.mark.requirement("G13")
@pytest.mark.parametrize("by_hook", [True, False])
def test_a_start_records_what_it_recovered(day: Day, *, by_hook: bool) -> None:
    day.work("one", ends=False)
    day.command("done", "more", "--session", "one")
    day.pass_time(hours=25)
    assert events(day) == []

    if by_hook:
        day.host.call("SessionStart", session_id="two", source="startup")
    else:
        day.command("start")

    assert events(day) == [
        {"event": "pending_recovery", "timestamp": "2026-01-12T13:04:00Z", "updates": 1, "closes": 1}
    ]
    assert stat.S_IMODE((day.project.folder / FILE).stat().st_mode) == 0o600


@pytest.mark.requirement("G13")
def test_a_start_records_a_ledger_that_nobody_updated_for_a_day(day: Day) -> None:
    updated = NOON - timedelta(hours=25)
    ledger = Ledger(session_id="elsewhere", updated=updated, platform="generic")
    put(day.project.folder, LEDGER, render_ledger(ledger))

    day.command("start")

    (record,) = day.project.folder.glob("conductor/sessions/archive/*-stale-*")
    assert [(event["event"], event.get("file")) for event in events(day)] == [
        ("handoff_expired", record.relative_to(day.project.folder).as_posix())
    ]


@pytest.mark.requirement("G13")
def test_a_start_on_the_track_of_another_session_is_recorded(day: Day) -> None:
    day.command("start", "--session", "one", "--track", "sign-in")
    day.command("start", "--new", "--session", "two", "--track", "billing")
    assert events(day) == []
    first = agent_of(day, "one")

    day.command("start", "--new", "--session", "three", "--track", "sign-in")

    (event,) = events(day)
    assert (event["event"], event["track_id"], event["other_agent"]) == (
        "session_conflict",
        "sign-in",
        first,
    )


@pytest.mark.requirement("G13", through="command")
@pytest.mark.parametrize("is_writable", [True, False])
def test_metrics_lie_in_gits_folder_or_else_in_that_of_the_checkout(day: Day, *, is_writable: bool) -> None:
    folder = day.project.folder
    here = folder / ".conductor/metrics.jsonl"
    if not is_writable:
        shutil.rmtree((folder / FILE).parent, ignore_errors=True)
        (folder / FILE).parent.write_text("a sandbox forbids it\n", encoding="utf-8")
    day.command("start", "--session", "one", "--track", "sign-in")

    day.command("start", "--new", "--session", "two", "--track", "sign-in")

    assert (folder / FILE).is_file() == is_writable
    assert here.exists() != is_writable
    (line,) = (folder / FILE if is_writable else here).read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["event"] == "session_conflict"
    assert day.command("metrics").out == "      1  session_conflict\n"
    assert day.project.git("status", "--porcelain", "--", ".conductor") == ""


@pytest.mark.requirement("G13")
def test_a_session_that_starts_again_is_no_conflict_with_itself_or_others(day: Day) -> None:
    day.command("start", "--session", "one", "--track", "sign-in")
    day.work("two", ends=False)
    day.command("track", "bind", "sign-in", "--session", "two")
    before = events(day)
    day.pass_time(hours=25)
    day.command("now", "the form", "--session", "one")

    day.command("start", "--session", "one")

    assert [event["event"] for event in events(day)[len(before) :]] == ["pending_recovery"]


@pytest.mark.requirement("G13")
def test_a_track_that_another_session_works_on_is_recorded_when_it_is_bound(day: Day) -> None:
    day.command("start", "--session", "one", "--track", "sign-in")
    day.command("start", "--new", "--session", "two")

    done = day.command("track", "bind", "sign-in", "--session", "two")

    assert f"passdown: {agent_of(day, 'one')} is working on sign-in too\n" in done.err
    assert [event["event"] for event in events(day)] == ["session_conflict"]


@pytest.mark.requirement("G13")
def test_commands_of_the_tracker_that_an_agent_runs_are_recorded_without_arguments(day: Day) -> None:
    day.host.call("SessionStart", session_id="one", source="startup")
    for number, command in enumerate(("cd x && bd close bd-1 --reason secret", "make", "abd list")):
        call = {"type": "tool_use", "id": f"t-{number}", "name": "Bash", "input": {"command": command}}
        done = {"type": "tool_result", "tool_use_id": f"t-{number}", "content": "ok"}
        for kind, block in (("assistant", call), ("user", done)):
            line = {"type": kind, "message": {"role": kind, "content": [block]}}
            with day.host.transcript.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")

    day.host.call("Stop", session_id="one")

    assert [(event["event"], event["command"]) for event in events(day)] == [("manual_bd", "bd close")]


@pytest.mark.requirement("G13")
def test_the_summary_counts_the_last_days_and_what_other_tools_recorded(day: Day) -> None:
    def line(kind: str, days: float, **values: object) -> str:
        return render_metric(Metric(kind, NOON - timedelta(days=days), values))

    lines = [
        line("ma_attempt", 1, mode="MA", village_available=True),
        line("ma_attempt", 1, mode="SA", village_available=False),
        line(MetricKind.TDD_CYCLE, 2, taskId="t", phase="RED", duration=10),
        line(MetricKind.TDD_CYCLE, 2, taskId="t", phase="RED", duration=20.0),
        line(MetricKind.TDD_CYCLE, 2, taskId="t", phase="GREEN", duration="soon"),
        *[line(MetricKind.MANUAL_BD, 3, command=f"bd {name}") for name in "aabcdefb"],
        line(MetricKind.HANDOFF_EXPIRED, 4, file="old.md"),
        line(MetricKind.HANDOFF_EXPIRED, 8, file="older.md"),
        line("something_else", 0),
        '{"at": "2026-01-11T12:00:00Z", "what": "start", "ms": 1, "chars": 2}',
        "no JSON",
        "[]",
        '{"event": "x", "timestamp": "soon"}',
        '{"event": 3, "timestamp": "2026-01-11T12:00:00Z"}',
        "",
    ]
    put(day.project.folder, ".conductor/metrics.jsonl", "\n".join(lines))

    answer = json.loads(day.command("metrics", "--json").out)

    assert answer == {
        "version": 1,
        "days": 7,
        "since": "2026-01-04T12:00:00Z",
        "counts": {
            "handoff_expired": 1,
            "ma_attempt": 2,
            "manual_bd": 8,
            "something_else": 1,
            "tdd_cycle": 3,
        },
        "multi_agent": {"succeeded": 1, "fell_back": 1},
        "tdd_mean_durations": {"RED": 15.0},
        "manual_commands": [
            {"command": "bd a", "count": 2},
            {"command": "bd b", "count": 2},
            {"command": "bd c", "count": 1},
            {"command": "bd d", "count": 1},
            {"command": "bd e", "count": 1},
        ],
        "expired_handoffs": ["old.md"],
        "skipped": 4,
    }
    assert json.loads(day.command("metrics", "--days", "9", "--json").out)["expired_handoffs"] == [
        "old.md",
        "older.md",
    ]
    done = day.command("metrics")
    assert done.out.splitlines()[:6] == [
        "      1  handoff_expired",
        "      2  ma_attempt",
        "      8  manual_bd",
        "      1  something_else",
        "      3  tdd_cycle",
        "several agents: 1 times, fell back 1 times",
    ]
    assert "mean duration of RED: 15.0\nby hand, 2 times: bd a\n" in done.out
    assert done.out.endswith("expired: old.md\n")
    assert done.err == "passdown: lines that could not be read: 4\n"


@pytest.mark.requirement("G13")
def test_where_nothing_happened_the_summary_says_so(day: Day) -> None:
    done = day.command("metrics", "--days", "1")

    assert (done.code, done.out, done.err) == (0, "", "passdown: nothing was recorded in the last 1 day\n")


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("bd close bd-1", ["bd close"]),
        ("a;bd list|bd show x", ["bd list", "bd show"]),
        ("cd a && (bd ready)", ["bd ready"]),
        ("echo bd close", []),
        ("abd close", []),
        ("bd --version", []),
    ],
)
def test_the_tracker_is_found_where_a_command_begins(command: str, found: list[str]) -> None:
    assert list(find_verbs(command)) == found
