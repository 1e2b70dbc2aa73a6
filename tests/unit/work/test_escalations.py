"""An escalated gate through the command: only a person lifts it, and what an agent answers is a comment."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from passdown.core.hosts.persons import Ancestor
from passdown.settings import FILE_NAME
from tests.support.commands import Caller, Done
from tests.support.gits import make_started
from tests.support.people import sit_down, stand_up
from tests.support.projects import stop_clock
from tests.support.sessions import LEDGER

TRACK = "auth_20260111"
QUESTION = f"BLOCKED: the gate plan-execution of {TRACK} failed 3 times"
BLOCKED = "BLOCKED: the gate plan-execution"
LIFT = ("answer", BLOCKED, "Skip the slow test, then go on")
COMMENT = f"the gate plan-execution of {TRACK}: Skip the slow test, then go on"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Caller:
    """Give a session whose gate failed three times, at noon of a day in January; nobody is at a terminal."""
    sit_down(monkeypatch)
    stand_up(monkeypatch)
    stop_clock(monkeypatch, "2026-01-11T12:00:00Z")
    folder = make_started(tmp_path / "project").folder
    (folder / FILE_NAME).write_text('[gates]\nmode = "full"\n', encoding="utf-8")
    caller = Caller(monkeypatch, capsys, folder)
    caller("start", "--session", "amber")
    caller("track", "bind", TRACK)
    _fail(caller)
    return caller


def _fail(command: Caller) -> None:
    for _ in range(3):
        assert command("gate", "fail", "plan-execution", "--note", "2 tests fail").code == 1


def _is_escalated(command: Caller) -> bool:
    done = command("gate", "pass", "plan-execution", "--note", "All fine")
    assert (done.code == 1) is ("a person decides at a terminal" in done.out)
    return done.code == 1


def _words(done: Done) -> str:
    return " ".join((done.out + done.err).split())


def _name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSDOWN_SESSION", "amber")


def _start_by_host(monkeypatch: pytest.MonkeyPatch) -> None:
    sit_down(monkeypatch, [Ancestor("sh"), Ancestor("codex")])


def _clear(monkeypatch: pytest.MonkeyPatch) -> None:
    sit_down(monkeypatch, [Ancestor("script"), Ancestor("sh", (), frozenset({"CLAUDE_CODE_SESSION_ID"}))])


@pytest.mark.requirement("R49", "C154", "C122")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_name, "PASSDOWN_SESSION is set"),
        (_start_by_host, "codex started it"),
        (_clear, "CLAUDE_CODE_SESSION_ID was set for sh, which started it"),
        (stand_up, "there is no terminal"),
    ],
)
def test_what_an_agent_answers_is_kept_as_a_comment_and_the_gate_stays_escalated(
    command: Caller,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[pytest.MonkeyPatch], None],
    reason: str,
) -> None:
    sit_down(monkeypatch)
    change(monkeypatch)

    done = command(*LIFT)

    assert done.code == 1
    assert f"comment: {COMMENT}\nkept as a comment: only a person can" in done.out
    assert f"only a person can lift an escalated gate, not an agent ({reason})" in _words(done)
    assert f'a person decides, in their own terminal: `passdown answer "{QUESTION[:40]}" TEXT`' in _words(
        done
    )
    assert _is_escalated(command)
    brief = command("brief").out
    assert f"> {QUESTION}" in brief.partition("Comments on what waits for a person:")[0]
    assert f"> {COMMENT}" in brief.partition("Comments on what waits for a person:")[2]


@pytest.mark.requirement("C122")
def test_a_person_who_names_a_session_speaks_for_it(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    sit_down(monkeypatch)
    amber = str(json.loads(command("status", "--json").out)["sessions"][0]["agent"])

    done = command(*LIFT, "--session", amber)

    assert (done.code, f"not an agent (--session names {amber})" in _words(done)) == (1, True)
    assert _is_escalated(command)


@pytest.mark.requirement("R49", "C154")
def test_a_person_at_a_terminal_lifts_it_and_ends_the_comments(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(*LIFT)
    command("publish")
    sit_down(monkeypatch)

    done = command("answer", BLOCKED, "Skip the slow test, then go on")

    assert (done.code, done.out) == (0, "answer: Skip the slow test, then go on\n")
    assert not _is_escalated(command)
    brief = command("brief").out
    assert "Blockers:" not in brief
    assert "Comments on" not in brief
    assert "a person must decide" in brief.partition("Answers:")[2]


@pytest.mark.requirement("C154")
def test_the_comment_is_told_as_json_and_published(command: Caller) -> None:
    told = json.loads(command(*LIFT, "--json").out)

    assert (told["kind"], told["text"]) == ("comment", COMMENT)
    assert told["question"].startswith(QUESTION)
    assert (told["is_answered"], told["because"]) == (False, "there is no terminal")
    command("publish")
    assert COMMENT in command("view", "list", "comments").out
    assert COMMENT in (command.folder / LEDGER).read_text(encoding="utf-8")
    assert command("answer", BLOCKED, " ").code == 2


@pytest.mark.requirement("C154")
def test_an_agent_does_not_take_the_question_back(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = next(line for line in command("brief").out.splitlines() if QUESTION in line).partition("> ")[2]
    asked = json.loads(command("gate", "run", "plan-execution", "--json").out)["question"] or asked

    for words in (
        (BLOCKED,),
        (asked, "--kind", "question"),
        (asked.replace("K", "\u212a"), "--kind", "question"),
    ):
        refused = command("retract", *words)
        assert refused.code == 2, words
        assert "only a person at a terminal may retract the question of an escalated gate" in _words(refused)
    assert _is_escalated(command)

    command("publish")
    event = json.loads(command("log", "--json").out)["events"][-1]["id"]
    refused = command("event", "retract", event)
    assert (refused.code, "only a person at a terminal may retract an event" in refused.err) == (2, True)

    sit_down(monkeypatch)
    assert command("retract", BLOCKED).code == 0
    assert not _is_escalated(command)
    assert command("event", "retract", event).code == 0


@pytest.mark.requirement("C154", "C101")
def test_the_question_comes_back_when_it_is_removed_from_the_ledger(command: Caller) -> None:
    command("ask", "Which port?")
    path = command.folder / LEDGER
    text = path.read_text(encoding="utf-8")
    kept = [
        line for line in text.splitlines(keepends=True) if QUESTION not in line and "Which port" not in line
    ]
    path.write_text("".join(kept), encoding="utf-8")

    command("heartbeat")

    text = path.read_text(encoding="utf-8")
    assert (QUESTION in text, "Which port" in text) == (True, False)
    assert _is_escalated(command)


@pytest.mark.requirement("R49")
def test_a_gate_that_fails_again_asks_again(command: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    sit_down(monkeypatch)
    command(*LIFT)
    stand_up(monkeypatch)

    again = json.loads(command("gate", "fail", "plan-execution", "--note", "2 tests fail", "--json").out)

    assert again["question"].startswith(f"{QUESTION} (again, after 1 answer), a person must decide: ")
    assert _is_escalated(command)
    sit_down(monkeypatch)
    command(*LIFT)
    command("gate", "fail", "plan-execution", "--note", "2 tests fail")
    assert f"{QUESTION} (again, after 2 answers)" in _words(command("gate", "run", "plan-execution"))


@pytest.mark.requirement("R49", "C154")
def test_a_person_beside_several_sessions_lifts_the_gate_under_their_own_name(
    command: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("start", "--new", "--session", "birch", "--nickname", "birch")
    assert "several sessions are running here" in command(*LIFT).err
    sit_down(monkeypatch)

    done = json.loads(command(*LIFT, "--json").out)

    assert (done["kind"], done["agent"].startswith("ada-author-")) == ("answer", True)
    stand_up(monkeypatch)
    command("track", "bind", TRACK, "--continue", "--session", "birch")
    assert command("gate", "pass", "plan-execution", "--note", "Fine", "--session", "birch").code == 0


@pytest.mark.requirement("R49")
def test_a_session_knows_of_a_question_that_another_has_not_published(command: Caller) -> None:
    command("start", "--new", "--session", "birch", "--nickname", "birch")
    command("track", "bind", TRACK, "--continue", "--session", "birch")

    blocked = command("gate", "pass", "plan-execution", "--note", "Fine", "--session", "birch")

    assert (blocked.code, QUESTION in _words(blocked)) == (1, True)


def test_other_questions_are_answered_by_agents_as_before(command: Caller) -> None:
    command("ask", "BLOCKED: which port?")

    assert command("answer", "BLOCKED: which", "8080").out == "answer: 8080\n"
