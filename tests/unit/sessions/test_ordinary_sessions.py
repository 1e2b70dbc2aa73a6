"""What ordinary sessions leave behind, as their user meets it: hooks of a host, then commands."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from passdown.core.sessions.session_facts import NO_PROCESS
from passdown.engines.process import SystemProcesses
from passdown.engines.sqlite.search_index import SqliteSearch
from passdown.engines.system import SystemClock
from passdown.errors import CacheError
from tests.support.gits import Project, make_started
from tests.support.projects import EVENTS, VIEW
from tests.support.sessions import LEDGER, NOON
from tests.unit.hooks.test_hooks import Stage


class Day:
    """A repository, a host that calls hooks in it, and a clock that the test moves."""

    def __init__(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Begin at noon, in a repository with an old commit; nobody knows processes."""
        self.at = NOON
        self.monkeypatch = monkeypatch
        monkeypatch.setattr(SystemClock, "now", lambda _: self.at)
        monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
        monkeypatch.setenv("GIT_COMMITTER_DATE", (NOON - timedelta(days=1)).isoformat())
        self.project: Project = make_started(folder)
        self.host = Stage(self.project.folder, monkeypatch, capsys)
        self.command = self.host.command

    def set_up(self) -> None:
        """Let the user set Passdown up and commit that."""
        assert self.command("init", "--yes").code == 0
        self.project.git("add", "--all")
        self.project.git("commit", "--quiet", "--message=set up")

    def pass_time(self, **span: float) -> None:
        """Move the clock on."""
        self.at += timedelta(**span)

    def work(self, session: str, *, ends: bool = True) -> None:
        """Let a host run a session that states something."""
        self.host.transcript = self.project.folder.parent / f"{session}.jsonl"
        self.host.write(f"work on {session}")
        self.host.call("SessionStart", session_id=session, source="startup")
        assert self.command("done", f"did {session}", "--session", session).code == 0
        self.pass_time(minutes=3)
        self.host.call("Stop", session_id=session)
        if ends:
            self.host.call("SessionEnd", session_id=session, reason="prompt_input_exit")
        self.pass_time(minutes=1)

    def events(self) -> Iterator[str]:
        """Give the texts of all events."""
        folder = self.project.folder / EVENTS
        yield from (path.read_text() for path in sorted(folder.iterdir())) if folder.exists() else ()


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Day:
    """Give the repository and its host."""
    return Day(tmp_path / "project", monkeypatch, capsys)


def codes(day: Day) -> list[tuple[str, str]]:
    """Name what the doctor finds, each with how bad it is."""
    answer = json.loads(day.command("doctor", "--json").out)
    return [(one["code"], one["severity"]) for one in answer["findings"]]


@pytest.mark.parametrize("is_set_up", [True, False])
def test_after_ordinary_sessions_the_doctor_finds_nothing_wrong(day: Day, *, is_set_up: bool) -> None:
    if is_set_up:
        day.set_up()
    for name in ("one", "two", "three"):
        if is_set_up:
            day.work(name)
        else:
            day.host.call("SessionStart", session_id=name, source="startup")
            day.command("start", "--session", name)
            day.command("done", f"did {name}", "--session", name)
            day.command("end", "--session", name)

    assert day.command("doctor").code == 0
    assert {severity for _, severity in codes(day)} <= {"warning"}


def test_a_session_that_died_is_named_by_the_doctor_and_is_no_failure(day: Day) -> None:
    day.set_up()
    day.work("one", ends=False)
    day.pass_time(hours=25)

    done = day.command("doctor")

    assert done.code == 0
    assert "was last seen 1 d ago and did not end (warning)" in " ".join(done.out.split())


@pytest.mark.requirement("R105")
def test_the_end_of_a_session_leaves_the_view_alone_and_becomes_an_event(day: Day) -> None:
    day.set_up()
    day.work("one")
    assert day.command("synthesize", "--commit").code == 0
    view = day.project.folder / VIEW
    day.host.call("SessionStart", session_id="two", source="startup")
    day.command("decide", "store", "Keep it in files", "--session", "two")
    before = (view.read_bytes(), view.stat().st_ino, view.stat().st_mtime_ns)

    day.host.call("SessionEnd", session_id="two", reason="prompt_input_exit")

    assert (view.read_bytes(), view.stat().st_ino, view.stat().st_mtime_ns) == before
    assert b"Keep it in files" not in before[0]
    day.host.call("SessionStart", session_id="three", source="startup")
    (event,) = [text for text in day.events() if "Keep it in files" in text]
    assert "type: session_end\n" in event


@pytest.mark.requirement("R105")
def test_the_end_command_writes_an_event_and_only_synthesis_writes_the_view(day: Day) -> None:
    day.set_up()
    day.work("one")
    assert day.command("synthesize", "--commit").code == 0
    view = day.project.folder / VIEW
    (day.project.folder / "passdown.toml").write_text("[commit]\nsession_end = false\n")
    day.command("start", "--session", "two")
    day.command("decide", "store", "Keep it in files", "--session", "two")
    before = view.read_bytes()

    assert day.command("end", "--session", "two").code == 0

    assert view.read_bytes() == before
    assert any("Keep it in files" in text for text in day.events())


def signs_of_life(day: Day) -> tuple[str, str]:
    """Give the last sign of life as the ledger and the state file show it."""
    (path,) = day.project.folder.glob(".conductor/session-state_*.json")
    ledger = (day.project.folder / LEDGER).read_text()
    (line,) = [line for line in ledger.splitlines() if line.startswith("heartbeat: ")]
    return line.removeprefix("heartbeat: "), json.loads(path.read_text())["lastUpdated"]


@pytest.mark.requirement("R50", "C62")
@pytest.mark.parametrize("event", ["Stop", "PreCompact", "SubagentStop"])
def test_a_hook_is_a_heartbeat_when_the_last_is_five_minutes_old(day: Day, event: str) -> None:
    day.set_up()
    day.host.call("SessionStart", session_id="one", source="startup")
    seen: dict[str, None] = {}
    for _ in range(16):
        day.pass_time(minutes=1)
        day.host.call(event, session_id="one")
        heartbeat, updated = signs_of_life(day)
        assert heartbeat == updated
        seen[updated] = None

    assert list(seen) == [f"2026-01-11T12:{minute:02}:00Z" for minute in (0, 5, 10, 15)]
    day.pass_time(minutes=9)
    assert json.loads(day.command("status", "--json").out)["sessions"][0]["state"] == "live"


@pytest.mark.requirement("R50")
def test_every_verb_is_a_heartbeat(day: Day) -> None:
    day.set_up()
    day.command("start", "--session", "one")
    for minute, verb in enumerate((("goal", "a"), ("done", "b"), ("heartbeat",), ("note", "c")), 1):
        day.pass_time(minutes=1)
        assert day.command(*verb, "--session", "one").code == 0
        assert signs_of_life(day)[0] == f"2026-01-11T12:{minute:02}:00Z"


@pytest.mark.requirement("G1")
def test_a_status_tells_ledger_age_handoffs_and_index(day: Day) -> None:
    day.set_up()
    day.work("one")
    assert day.command("search", "nothing").code == 0
    day.command("start", "--session", "two")
    day.command("handoff", "create", "--stream", "sign-in", "--session", "two")
    day.command("goal", "People sign in", "--session", "two")
    day.pass_time(minutes=7)

    done = day.command("status")

    assert done.out.splitlines()[2:5] == [
        "    ledger: updated 7 min ago",
        "sessions recorded: 1 · handoffs: 2, the last 2026-01-11 12:04Z",
        "search index: behind; the next search reads 4 files",
    ]
    assert max(map(len, done.out.splitlines())) <= 80
    answer = json.loads(day.command("status", "--json").out)
    assert answer["sessions"][0]["ledger_age_seconds"] == 420
    assert answer["sessions"][0]["ledger_updated_at"] == "2026-01-11T12:04:00+00:00"
    assert answer["handoffs"] == {"count": 3, "last_at": "2026-01-11T12:04:00Z"}
    assert answer["index"] == {"state": "behind", "changes": 4}
    day.command("search", "nothing")
    assert "search index" not in day.command("status").out
    assert json.loads(day.command("status", "--json").out)["index"] == {"state": "current", "changes": 0}


@pytest.mark.requirement("G1")
def test_a_status_says_that_the_index_cannot_be_used_and_nothing_of_one_that_is_not_in_use(
    day: Day, monkeypatch: pytest.MonkeyPatch
) -> None:
    day.set_up()
    day.work("one")
    day.command("start")
    assert "search index" not in day.command("status").out
    assert json.loads(day.command("status", "--json").out)["index"] == {"state": "missing", "changes": 3}

    def fail(*_: object) -> None:
        raise CacheError("it is broken")

    monkeypatch.setattr(SqliteSearch, "folders", fail)
    assert "search index: cannot be used; searches read every file\n" in day.command("status").out
    assert json.loads(day.command("status", "--json").out)["index"]["state"] == "unusable"


@pytest.mark.requirement("G12")
def test_a_stale_session_is_named_with_what_can_be_done_and_nothing_is_done_unasked(day: Day) -> None:
    day.set_up()
    day.work("one", ends=False)
    day.pass_time(hours=25)
    before = day.host.accounts()

    done = day.command("status")

    assert done.out.splitlines()[:5] == [
        f"{before[0].agent}  stale, last seen 1 d ago, on main",
        "    goal: work on one",
        "    ledger: updated 1 d ago",
        "    to take over: `passdown start` (publishes its record and continues its work)",
        "    to ignore: `passdown start --fresh` (publishes its record and starts clean)",
    ]
    assert "    or check again later with `passdown status`\n" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    (session,) = json.loads(day.command("status", "--json").out)["sessions"]
    assert [(one["choice"], one["command"]) for one in session["choices"]] == [
        ("take over", "passdown start"),
        ("ignore", "passdown start --fresh"),
        ("wait", "passdown status"),
    ]
    assert day.host.accounts() == before


@pytest.mark.requirement("G12")
@pytest.mark.parametrize("is_fresh", [True, False])
def test_each_choice_does_what_it_says(day: Day, *, is_fresh: bool) -> None:
    day.set_up()
    day.work("one", ends=False)
    day.pass_time(hours=25)

    done = day.command("start", *(["--fresh"] if is_fresh else []))

    assert "(did not end; last seen 1 d ago)" in done.err
    assert ("goal: work on one" in done.out) is not is_fresh
    assert ("you continue its work" in done.err) is not is_fresh


@pytest.mark.requirement("G12")
def test_a_start_by_a_host_says_from_whom_it_takes_over(day: Day) -> None:
    day.set_up()
    day.work("one", ends=False)
    (dead,) = day.host.accounts()
    day.pass_time(hours=25)

    answer = day.host.call("SessionStart", session_id="two", source="startup")

    assert f"Continues the work of {dead.agent}, last seen 1 d ago" in answer["systemMessage"]
    again = day.host.call("SessionStart", session_id="two", source="compact")
    assert "Continues the work" not in again["systemMessage"]


@pytest.mark.requirement("G12")
def test_a_stale_session_of_another_checkout_is_taken_over_there(day: Day, tmp_path: Path) -> None:
    day.set_up()
    day.work("one", ends=False)
    day.pass_time(hours=25)
    other = tmp_path / "an other"
    day.project.git("worktree", "add", "--quiet", "-b", "other", str(other))
    day.monkeypatch.chdir(other)

    (session,) = json.loads(day.command("status", "--json").out)["sessions"]

    commands = [one["command"] for one in session["choices"]]
    assert commands == [f"cd {day.project.folder} && passdown start", "passdown start", "passdown status"]


# --- nothing to tell (C163) -----------------------------------------------------------------------


def left(day: Day) -> tuple[list[str], str, bool]:
    """Give what sessions left: our files, the commits, and whether there is a ledger."""
    files = [
        str(path)
        for folder in ("thoughts", "conductor")
        for path in day.project.folder.glob(f"{folder}/**/*.md")
    ]
    return (
        sorted(path for path in files if not path.endswith("LEDGER.md")),
        day.project.git("log", "--format=%s"),
        (day.project.folder / LEDGER).exists(),
    )


def visit(day: Day, name: str) -> None:
    """Let somebody ask one question in a host, and leave."""
    day.host.transcript = day.project.folder.parent / f"{name}.jsonl"
    day.host.call("SessionStart", session_id=name, source="startup")
    day.host.write("what does this do?")
    day.host.call("UserPromptSubmit", session_id=name, prompt="what does this do?")
    day.pass_time(minutes=20)
    day.host.call("Stop", session_id=name)
    day.host.call("SessionEnd", session_id=name, reason="prompt_input_exit")
    day.pass_time(minutes=20)


@pytest.mark.requirement("C163", through="hook")
@pytest.mark.parametrize("has_work", [True, False])
def test_a_session_of_a_host_that_has_nothing_to_tell_leaves_nothing(day: Day, *, has_work: bool) -> None:
    day.set_up()
    if has_work:
        day.command("start", "--session", "first")
        day.command("goal", "Ship the importer", "--session", "first")
        day.command("next", "Write the parser", "--session", "first")
        day.command("end", "--session", "first")
    before = left(day)

    for name in ("one", "two"):
        visit(day, name)
    told = day.host.call("SessionStart", session_id="three", source="startup")

    files, commits, has_ledger = left(day)
    assert (files, commits) == before[:2]
    assert has_ledger  # that of the third
    assert ("Ship the importer" in json.dumps(told)) == has_work


@pytest.mark.requirement("C163", through="command")
def test_the_end_of_a_session_that_has_nothing_to_tell_leaves_nothing(day: Day) -> None:
    day.set_up()
    before = left(day)
    day.command("start", "--session", "first")
    assert "nothing left to publish" in day.command("end", "--session", "first").out
    assert left(day) == before

    day.command("start", "--session", "second")
    day.command("goal", "Ship the importer", "--session", "second")
    day.command("end", "--session", "second")
    before = left(day)
    day.command("start", "--session", "third")
    done = day.command("end", "--session", "third", "--json")
    assert left(day) == before
    answer = json.loads(done.out)
    assert (answer["event"], answer["record"], answer["commit"]) == (None, None, None)
    day.command("start", "--session", "fourth")
    assert "Goal:\n" in (brief := day.command("brief").out)
    assert "> Ship the importer\n" in brief


@pytest.mark.requirement("C163", through="command")
def test_what_somebody_wrote_into_the_ledger_of_such_a_session_is_kept(day: Day) -> None:
    day.set_up()
    day.command("start", "--session", "first")
    ledger = day.project.folder / LEDGER
    ledger.write_text(f"{ledger.read_text()}\n## By hand\n\nAsk Ann about the parser\n")

    done = day.command("end", "--session", "first", "--json")

    record = day.project.folder / json.loads(done.out)["record"]
    assert "Ask Ann about the parser" in record.read_text()
    assert not ledger.exists()
