"""What hosts are answered at each moment, and what is known afterwards."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from passdown.core.formats.events import parse_event
from passdown.core.formats.journal import Scope
from passdown.core.formats.ledgers import parse_ledger
from passdown.core.hosts.hook_calls import HookCall, HookPoint, HookReply
from passdown.core.kinds import FactKind
from passdown.core.sessions.session_facts import NO_PROCESS, Account
from passdown.engines.files import transcripts
from passdown.engines.process import SystemProcesses
from passdown.errors import StorageError
from passdown.faces.cli.main import HookWork
from passdown.faces.hooks import main as hooks
from passdown.faces.hooks import quick, starts
from passdown.hosts import HOSTS
from passdown.hosts.copilot import hooks as copilot
from passdown.hosts.hooks import read_call, write_reply
from passdown.services.sessions.journals import read_accounts
from passdown.services.workspace.workspaces import Workspace
from passdown.settings import FILE_NAME, Settings
from tests.looks import hands_on
from tests.support.commands import Caller, take_answer
from tests.support.gits import make_started
from tests.support.projects import EVENTS, open_checkout, stop_clock
from tests.support.sessions import LEDGER

HOST = "c56f02b3-c3e9-44ef-b8fc-b9f23ec3e30c"


class Stage:
    """A project, and a host that calls its hooks."""

    def __init__(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Begin without a session."""
        self.root = root
        self.transcript = root.parent / "transcript.jsonl"
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.command = Caller(monkeypatch, capsys, root)

    @hands_on
    def call(self, event: str, *arguments: str, **told: object) -> dict[str, Any]:
        """Call a hook and give its answer."""
        payload = {
            "hook_event_name": event,
            "session_id": HOST,
            "cwd": str(self.root),
            "transcript_path": str(self.transcript),
            **told,
        }
        data = io.BytesIO(json.dumps(payload).encode())
        self._monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=data, isatty=lambda: False))
        self._capsys.readouterr()
        assert quick.main(list(arguments), HookWork()) == 0
        return take_answer(self._capsys)

    def write(self, *texts: str) -> None:
        """Let the person say something, as Claude Code writes it down."""
        for text in texts:
            self._add({"type": "user", "message": {"role": "user", "content": text}})

    def show(self, text: str) -> None:
        """Let the model read something of ours, as Claude Code writes it down, beside what we printed."""
        told = {"hookSpecificOutput": {"additionalContext": text}}
        self._add({"type": "attachment", "attachment": {"type": "hook_success", "stdout": json.dumps(told)}})
        self._add(
            {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [text]}}
        )

    @hands_on
    def _add(self, line: dict[str, object]) -> None:
        number = len(self.transcript.read_bytes()) if self.transcript.exists() else 0
        usual = {"isSidechain": False, "uuid": f"u-{number}", "timestamp": "2026-01-11T12:00:00.000Z"}
        with self.transcript.open("a", encoding="utf-8") as file:
            whole = {**line, **usual, "sessionId": HOST}
            file.write(json.dumps(whole, separators=(",", ":")) + "\n")

    def project(self) -> Workspace:
        """Open the project as a new process would."""
        return open_checkout(self.root, Settings())

    def accounts(self) -> list[Account]:
        """Give what every session knows."""
        return list(read_accounts(self.project(), Scope.ALL))

    def own(self) -> Account:
        """Give what the session of the host knows."""
        return next(one for one in self.accounts() if HOST in one.host_sessions)

    def log(self) -> str:
        """Give what went wrong."""
        path = self.root / ".git" / "passdown" / "hooks.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Stage:
    """Give a project whose owner agreed, on a day in January."""
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    folder = make_started(tmp_path / "project").folder
    (folder / FILE_NAME).touch()
    return Stage(folder, monkeypatch, capsys)


def context(answer: dict[str, Any]) -> str:
    text: str = answer["hookSpecificOutput"]["additionalContext"]
    return text


@pytest.mark.requirement("R14")
@pytest.mark.parametrize("event", ["SessionStart", "Stop"])
def test_a_mode_that_is_edited_by_hand_is_put_back_and_the_user_is_told(stage: Stage, event: str) -> None:
    stage.call("SessionStart", source="startup")
    path = stage.root / LEDGER
    path.write_text(path.read_text().replace("\nmode: SA\n", "\nmode: MA\n"))
    stage.write("Fix the parser")

    answer = stage.call(event, source="resume")

    said = f"{LEDGER}:7: mode was changed to MA; changed back to SA: a session keeps the mode it started with"
    assert said in answer["systemMessage"]
    assert f"{event}: {said}" in (stage.root / ".git/passdown/hooks.log").read_text()
    assert "\nmode: SA\n" in path.read_text()


@pytest.mark.requirement("R120", "R121", "R131")
def test_a_start_begins_a_session_and_briefs_it(stage: Stage) -> None:
    answer = stage.call("SessionStart", source="startup")

    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert context(answer).startswith("===== passdown brief ")
    assert answer["systemMessage"] == "Passdown is on. Nothing recorded yet."
    (account,) = stage.accounts()
    assert (account.start.host, account.host_sessions) == ("claude", (HOST,))
    assert [one.state for one in account.deliveries] == ["sent"]
    assert stage.log() == ""


def test_what_was_said_is_in_the_brief_after_a_compaction_and_a_clear(stage: Stage) -> None:
    stage.call("SessionStart", source="startup")
    stage.command("goal", "Fix the parser")
    stage.command("done", "read the code")

    after = context(stage.call("SessionStart", source="compact"))
    stage.call("SessionEnd", reason="clear")
    cleared = stage.call("SessionStart", source="clear", session_id="another")

    for text in (after, context(cleared)):
        assert "Fix the parser" in text
        assert "read the code" in text
    assert "\nGoal: Fix the parser\n" in cleared["systemMessage"]


@pytest.mark.requirement("G11")
def test_a_cold_start_writes_a_skeleton_and_says_what_is_missing(stage: Stage) -> None:
    brief = context(stage.call("SessionStart", source="startup"))

    assert 'Goal:\nnone yet. Record it when you know it: `passdown goal "…"`\nNow:\nnone yet\n' in brief
    ledger = parse_ledger((stage.root / LEDGER).read_text(encoding="utf-8"))
    assert (ledger.session_id, ledger.problems) == (stage.own().session, ())


@pytest.mark.requirement("G11")
@pytest.mark.parametrize("data", [b"\xff\xfe no text", b"---\nformat: 99\n---\n", b"<<<<<<< ours\n"])
def test_a_corrupt_ledger_is_kept_and_the_session_starts_with_another(stage: Stage, data: bytes) -> None:
    (stage.root / LEDGER).parent.mkdir(parents=True)
    (stage.root / LEDGER).write_bytes(data)

    brief = context(stage.call("SessionStart", source="startup"))
    stage.command("goal", "Fix the parser")

    assert "Goal:\nnone yet" in brief
    assert (stage.root / LEDGER).read_bytes() == data
    own = stage.own().start.ledger
    assert own != LEDGER
    assert parse_ledger((stage.root / own).read_text(encoding="utf-8")).goal == "Fix the parser"


@pytest.mark.requirement("R76", "R80")
def test_the_ledger_is_up_to_date_at_every_moment_that_a_hook_knows(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ledger() -> str:
        return (stage.root / LEDGER).read_text(encoding="utf-8")

    def reasons() -> list[str]:
        events = sorted((stage.root / EVENTS).rglob("*.md"))
        return [parse_event(event.read_text(encoding="utf-8")).reason or "" for event in events]

    stage.call("SessionStart", source="startup")
    stage.command("goal", "Fix the parser")
    stage.command("decide", "engine", "SQLite")  # after a decision
    assert "SQLite" in ledger()
    stop_clock(monkeypatch, "2026-01-11T12:30:00Z")
    stage.call("Stop")  # at a breakpoint
    stage.command("done", "read the code")
    stage.call("PreCompact", trigger="manual")
    assert reasons() == ["turn-end", "pre-compact"]
    stage.command("ask", "who?")
    stage.call("SessionEnd", reason="clear")  # before a clear
    stop_clock(monkeypatch, "2026-01-11T13:00:00Z")
    brief = context(stage.call("SessionStart", source="clear", session_id="another"))
    assert "who?" in brief
    assert "heartbeat: 2026-01-11T13:00:00Z" in ledger()


@pytest.mark.requirement("C52")
def test_a_clear_keeps_the_session_of_the_same_process(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    own = SystemProcesses().find_host()
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: own)
    stage.call("SessionStart", source="startup")
    stage.call("SessionEnd", reason="clear")
    stage.call("SessionStart", source="clear", session_id="another")

    (account,) = stage.accounts()
    assert account.host_sessions == (HOST, "another")
    stage.call("SessionStart", source="fork", session_id="child")
    assert len(stage.accounts()) == 2


@pytest.mark.requirement("C82")
@pytest.mark.parametrize("by", ["itself", "another"])
def test_a_session_resumed_after_a_crash_keeps_its_track_and_its_task(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(SystemProcesses, "find_host", lambda _: NO_PROCESS)
    stage.call("SessionStart", source="startup")
    assert stage.command("track", "bind", "auth", "--session", HOST).code == 0
    assert stage.command("track", "bind", "--task", "bd-7", "--session", HOST).code == 0
    stop_clock(monkeypatch, "2026-01-12T14:00:00Z")
    if by == "another":  # it publishes what the dead session left, and ends it
        stage.call("SessionStart", source="startup", session_id="other")
        stage.call("SessionEnd", reason="logout", session_id="other")

    stage.call("SessionStart", source="resume")

    dead, resumed = sorted(
        (one for one in stage.accounts() if HOST in one.host_sessions), key=lambda one: one.ended_at is None
    )
    assert (dead.end_reason, dead.track, dead.task) == ("recovered", "", "")
    assert (resumed.ended_at, resumed.track, resumed.task) == (None, "auth", "bd-7")
    ledger = parse_ledger((stage.root / LEDGER).read_text(encoding="utf-8"))
    assert (ledger.session_id, ledger.bound_track, ledger.bound_bead) == (resumed.session, "auth", "bd-7")
    (state,) = (stage.root / ".conductor").glob(f"session-state_{resumed.agent}.json")
    told = json.loads(state.read_text(encoding="utf-8"))
    assert (told["trackId"], told["currentTask"]) == ("auth", "bd-7")
    assert "track: auth\ntask: bd-7\n" in stage.command("track", "show", "--session", HOST).out


def test_the_host_is_told_which_session_it_is(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    file = stage.root.parent / "environment"
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(file))

    stage.call("SessionStart", source="startup")

    assert file.read_text() == f"export PASSDOWN_SESSION={stage.accounts()[0].session}\n"
    monkeypatch.setenv("CLAUDE_ENV_FILE", str(stage.root))
    assert context(stage.call("SessionStart", source="compact"))


@pytest.mark.requirement("C51", "C84")
def test_what_a_subagent_of_codex_says_belongs_to_its_session(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its shell, the variable of the thread names the subagent's own thread."""
    stage.call("SessionStart", "--host", "codex", source="startup")
    stage.call("SessionStart", "--host", "claude", source="startup", session_id="of-the-subagent")
    monkeypatch.setenv("CODEX_SESSION_ID", HOST)
    monkeypatch.setenv("CODEX_THREAD_ID", "of-the-subagent")

    assert stage.command("done", "found the cause").code == 0

    assert [entry.text for entry in stage.own().of(FactKind.DONE)] == ["found the cause"]


@pytest.mark.requirement("G9")
def test_a_brief_that_arrived_whole_is_confirmed_and_not_sent_again(stage: Stage) -> None:
    stage.show(context(stage.call("SessionStart", source="startup")))
    stage.call("Stop")
    stage.show(context(stage.call("SessionStart", source="compact")))

    assert stage.call("Stop") == {}

    assert [one.state for one in stage.own().deliveries] == ["whole", "whole"]
    again = stage.call("SessionStart", source="resume")
    assert "hookSpecificOutput" not in again
    stage.command("goal", "another one")
    assert "another one" in context(stage.call("SessionStart", source="resume"))


@pytest.mark.parametrize("where", ["preview", "middle"])
def test_a_brief_that_was_cut_is_sent_again_smaller_and_the_person_is_told(stage: Stage, where: str) -> None:
    stage.command("goal", "Fix the parser")
    brief = context(stage.call("SessionStart", source="startup"))
    cut = brief[:100] if where == "preview" else f"{brief[:90]}…{brief[-90:]}"
    stage.show(cut)

    stage.call("Stop")
    assert [one.state for one in stage.own().deliveries] == ["cut"]
    answer = stage.call("UserPromptSubmit", prompt="go on")

    assert len(context(answer)) <= 2000
    assert "Fix the parser" in context(answer)
    assert answer["systemMessage"] == starts.CUT
    assert stage.call("UserPromptSubmit", prompt="and on") == {}
    again = stage.call("SessionStart", source="compact")
    assert len(context(again)) <= 2000  # the host that cut once is not told more again


def test_a_brief_that_is_not_found_is_never_taken_for_whole(stage: Stage) -> None:
    stage.call("SessionStart", source="startup")
    stage.write("hello")
    stage.transcript.write_bytes(stage.transcript.read_bytes() + b"no JSON\n" + b"[" * 5000 + b"\n")

    stage.call("Stop")

    assert [one.state for one in stage.own().deliveries] == ["sent"]


def test_a_word_for_a_session_whose_end_was_told_is_taken_away_and_the_session_goes_on(stage: Stage) -> None:
    word = stage.root / ".git" / "passdown" / "waiting" / HOST
    word.parent.mkdir(parents=True)
    word.touch()

    assert context(stage.call("UserPromptSubmit"))
    assert not word.exists()
    assert stage.own().ended_at is None


def test_a_transcript_that_comes_late_is_waited_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    edited = {"toolCallId": "1", "success": True, "fileEdits": [{"path": str(stage.root / "one.txt")}]}
    told = [
        {"type": "tool.execution_complete", "data": edited},
        {"type": "hook.start", "data": {"hookType": "agentStop"}},
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in told)
    monkeypatch.setattr(transcripts, "pause", lambda _: stage.transcript.write_text(text, encoding="utf-8"))
    stage.call("SessionStart", "--host", "copilot", source="new")

    stage.call("Stop", "--host", "copilot")

    assert [entry.text for entry in stage.own().of(FactKind.FILE)] == ["one.txt"]


@pytest.mark.requirement("R76", "G9")
def test_where_no_status_line_is_the_transcript_tells_how_full_the_context_is(stage: Stage) -> None:
    def use(tokens: int) -> str:
        told = {"last_token_usage": {"total_tokens": tokens}, "model_context_window": 1000}
        line = {"type": "event_msg", "payload": {"type": "token_count", "info": told}}
        with stage.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        return str(stage.call("Stop", "--host", "codex").get("systemMessage", ""))

    events = stage.root / "thoughts" / "shared" / "handoffs" / "events"
    stage.call("SessionStart", "--host", "codex", source="startup")
    stage.command("done", "one")

    assert [use(tokens) for tokens in (100, 700, 720)] == [
        "",
        "Passdown: the context is 70 % full. Plan a handoff soon",
        "",
    ]
    stage.command("done", "two")
    assert len(list(events.rglob("*.md"))) == 1
    assert use(850) == "Passdown: the context is 85 % full. Everything is saved: hand off now"
    assert len(list(events.rglob("*.md"))) == 2
    assert use(870) == ""
    full = "Passdown: the context is 91 % full. Everything is saved: clear or compact now"
    assert [use(910), use(910), use(300)] == [full, full, ""]


@pytest.mark.parametrize("host", ["claude", "codex", "copilot"])
def test_a_host_that_does_not_call_after_a_compaction_is_told_at_the_next_prompt(
    stage: Stage, host: str
) -> None:
    named = ("--host", host)
    stage.call("SessionStart", *named, source="startup")
    stage.call("PreCompact", *named, trigger="auto")

    answer = stage.call("UserPromptSubmit", *named, prompt="go on")

    assert ("passdown brief" in answer.get("additionalContext", "")) is (host == "copilot")
    assert stage.call("UserPromptSubmit", *named, prompt="and on") == {}


def test_a_word_lies_in_the_checkout_where_the_folder_of_git_cannot_be_written(stage: Stage) -> None:
    brief = context(stage.call("SessionStart", source="startup"))
    (stage.root / ".git" / "passdown" / "waiting").write_text("in the way")
    stage.show(brief[:100])

    stage.call("Stop")

    assert (stage.root / ".conductor" / "waiting" / HOST).exists()
    assert context(stage.call("UserPromptSubmit"))


@pytest.mark.requirement("R132")
def test_a_turn_is_taken_in_and_published_when_it_is_time(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.call("SessionStart", source="startup")
    stage.write("please fix the parser")
    stage.call("Stop")
    assert stage.own().goal is not None
    events = stage.root / "thoughts" / "shared" / "handoffs" / "events"
    assert not events.exists()  # a prompt stays on the machine
    stage.command("done", "one")
    stage.call("Stop")
    assert len(list(events.rglob("*.md"))) == 1
    stage.command("done", "two")
    stop_clock(monkeypatch, "2026-01-11T12:14:59Z")
    stage.call("Stop")
    assert len(list(events.rglob("*.md"))) == 1
    stop_clock(monkeypatch, "2026-01-11T12:15:01Z")
    stage.call("Stop")
    assert len(list(events.rglob("*.md"))) == 2
    (stage.root / "passdown.toml").write_text("[events]\npublish_minutes = 0\n", encoding="utf-8")
    stage.command("done", "three")
    stage.call("Stop")
    assert len(list(events.rglob("*.md"))) == 3


@pytest.mark.parametrize(
    ("level", "events", "notice"),
    [
        ("69 low", 1, ""),
        ("84 suggest", 1, ""),
        ("86 save", 2, ""),
        ("91 force", 2, "Passdown: the context is 91 % full. Everything is saved: clear or compact now"),
    ],
)
def test_a_context_that_is_nearly_full_is_saved_and_one_that_is_full_is_told(
    stage: Stage, level: str, events: int, notice: str
) -> None:
    stage.call("SessionStart", source="startup")
    stage.command("done", "one")
    stage.call("Stop")
    stage.command("done", "two")
    path = stage.root / ".git" / "passdown" / "levels" / HOST
    path.parent.mkdir()
    path.write_text(f"{level} 2026-01-11T12:00:00Z\n")

    assert stage.call("Stop").get("systemMessage", "") == notice

    assert len(list((stage.root / "thoughts/shared/handoffs/events").rglob("*.md"))) == events


def test_a_turn_that_nobody_started_starts_a_session(stage: Stage) -> None:
    stage.write("hello")

    assert stage.call("Stop") == {}

    (account,) = stage.accounts()
    assert account.host_sessions == (HOST,)
    assert [entry.text for entry in account.of(FactKind.PROMPT)] == ["hello"]


@pytest.mark.requirement("C57")
def test_everything_is_published_before_a_compaction(stage: Stage) -> None:
    assert stage.call("PreCompact") == {}
    stage.call("SessionStart", source="startup")
    stage.command("done", "one")

    assert stage.call("PreCompact", trigger="manual") == {}

    (event,) = (stage.root / "thoughts" / "shared" / "handoffs" / "events").rglob("*.md")
    assert "reason: pre-compact" in event.read_text(encoding="utf-8")


@pytest.mark.requirement("C57")
def test_a_hook_leaves_a_journal_that_is_in_use_to_the_next_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.call("SessionStart", source="startup")
    stage.command("done", "one")
    events = stage.root / "thoughts" / "shared" / "handoffs" / "events"

    def refuse(*_: object, **__: object) -> None:
        raise StorageError("the journal is in use")

    with monkeypatch.context() as patched:
        patched.setattr("passdown.services.sessions.publications.publish", refuse)
        assert stage.call("PreCompact", trigger="manual") == {}
    assert "PreCompact: the journal is in use" in stage.log()
    assert not list(events.rglob("*.md"))

    stage.call("PreCompact", trigger="manual")
    assert len(list(events.rglob("*.md"))) == 1


def test_a_subagent_is_briefed_and_its_end_is_taken_in(stage: Stage) -> None:
    assert stage.call("SubagentStart", agent_id="a1") == {}
    assert stage.call("SubagentStop", agent_id="a1") == {}
    stage.command("goal", "Fix the parser")
    stage.call("SessionStart", source="startup")

    brief = context(stage.call("SubagentStart", agent_id="a1"))

    assert "Fix the parser" in brief
    assert len(brief) <= 2000
    stage.write("a prompt")
    assert stage.call("SubagentStop", agent_id="a1") == {}
    assert [entry.text for entry in stage.own().of(FactKind.PROMPT)] == ["a prompt"]


def test_an_end_writes_one_line_and_the_next_start_does_the_rest(stage: Stage) -> None:
    assert stage.call("SessionEnd", reason="logout") == {}
    stage.call("SessionStart", source="startup")
    stage.command("done", "one")
    before = stage.accounts()[0].last_seq

    assert stage.call("SessionEnd", reason="logout") == {}

    (account,) = stage.accounts()
    assert (account.last_seq, account.end_reason, account.is_published) == (before + 1, "logout", False)
    stage.call("SessionStart", source="startup", session_id="next")
    assert next(one for one in stage.accounts() if one.end_reason == "logout").is_published


@pytest.mark.parametrize("told", [{"transcript_path": None}, {"transcript_path": "/nowhere/t.jsonl"}])
def test_a_turn_without_a_transcript_is_a_turn_all_the_same(stage: Stage, told: dict[str, object]) -> None:
    stage.call("SessionStart", source="startup")

    assert stage.call("Stop", **told) == {}
    assert stage.log() == ""


def test_a_host_that_is_gone_is_no_trouble(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Gone())
        hooks.answer([], {"hook_event_name": "SessionStart", "session_id": HOST}, str(stage.root))
        assert sys.stdout is None

    assert stage.log() == ""
    assert len(stage.accounts()) == 1


def test_other_events_and_hosts_that_are_not_known_do_no_harm(stage: Stage) -> None:
    assert stage.call("Notification") == {}
    assert stage.call("SessionStart", "--host", "nobody") == {}
    assert "SessionStart: unknown host nobody" in stage.log()


@pytest.mark.requirement("G17")
def test_what_goes_wrong_is_noted_in_one_line_and_nowhere_else(stage: Stage) -> None:
    (stage.root / FILE_NAME).write_text("[view]\ncommit = 'sometimes'\n")

    assert stage.call("SessionStart", source="startup") == {}

    (line,) = stage.log().splitlines()
    assert line.startswith("2026-01-11T12:00:00Z SessionStart: ")
    (stage.root / ".git" / "passdown" / "hooks.log").unlink()
    (stage.root / ".git" / "passdown" / "hooks.log").mkdir()
    assert stage.call("SessionStart", source="startup") == {}


def test_without_git_the_log_lies_in_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    (tmp_path / FILE_NAME).write_text("= nonsense")
    stage = Stage(tmp_path, monkeypatch, capsys)

    assert stage.call("SessionStart", source="startup") == {}

    assert "is not valid TOML" in (tmp_path / ".conductor" / "hooks.log").read_text()


def test_an_answer_is_in_the_dialect_of_its_host(stage: Stage) -> None:
    codex = stage.call("SessionStart", "--host", "codex", source="startup")
    assert set(codex) == {"systemMessage", "hookSpecificOutput"}
    answer = stage.call("SessionStart", "--host", "copilot", source="new", session_id="c-1")
    assert set(answer) == {"additionalContext"}
    assert {one.start.host for one in stage.accounts()} == {"codex", "copilot"}
    assert stage.call("Stop", "--host", "copilot", session_id="c-1", transcript_path="") == {}


@pytest.mark.parametrize(
    ("payload", "variables", "host"),
    [
        ({}, {}, "claude"),
        ({"transcript_path": "/h/.claude/projects/p/a.jsonl"}, {"CLAUDECODE": "1"}, "claude"),
        ({"transcript_path": "/h/sessions/2026/rollout-1.jsonl"}, {"CLAUDECODE": "1"}, "codex"),
        ({"transcript_path": r"C:\h\rollout-1.jsonl"}, {}, "codex"),
        ({"transcript_path": None, "turn_id": "t"}, {}, "codex"),
        ({"turn_id": "t"}, {"COPILOT_CLI": "1"}, "copilot"),
    ],
)
def test_a_host_is_told_by_signs_of_its_own(
    payload: dict[str, object], variables: dict[str, str], host: str
) -> None:
    assert HOSTS.guess(payload, variables).name == host


def test_a_reply_that_says_nothing_is_no_answer() -> None:
    call = HookCall(HookPoint.START, "SessionStart", "s", "/")

    assert write_reply(call, HookReply()) == {}
    assert write_reply(call, HookReply(notice="n")) == {"systemMessage": "n"}
    assert copilot.write_reply(call, HookReply(notice="n")) == {}
    assert copilot.read_call({"hook_event_name": "nothing"}) is None
    assert read_call({"hook_event_name": 3}) is None
