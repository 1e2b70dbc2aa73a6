"""Mail of sessions in hosts: told at the start and at the next prompt, and read only when it arrived."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.teams import AMBER, BIRCH, Hosts, context
from tests.unit.hosts.test_transcripts import lines, result, use


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hosts:
    """Give a project with two sessions, of which one has coordinated."""
    made = Hosts(tmp_path / "project", monkeypatch, capsys)
    made.begin("amber", AMBER)
    made.run("amber", "reserve", "docs/")
    made.begin("birch", BIRCH)
    return made


def send(hosts: Hosts, *texts: str) -> None:
    """Let one session tell the other something."""
    for text in texts:
        assert hosts.run("amber", "msg", text, "--to", hosts.agent("birch")).code == 0


def prompt(hosts: Hosts) -> str:
    """Let the person write to the second session; give what the model is told with it."""
    answer = hosts.host.call("UserPromptSubmit", session_id="birch", prompt="go on")
    return context(answer) if answer else ""


def unread(hosts: Hosts) -> list[str]:
    """Give what the second session has not read."""
    return [one["message"]["content"] for one in hosts.ask("birch", "inbox", "--keep")["messages"]]


def test_mail_is_told_once_at_the_next_prompt_as_quoted_text(hosts: Hosts) -> None:
    send(hosts, "the API\nchanged\x1b[31m")

    told = prompt(hosts)

    assert f"Unread messages:\n({hosts.agent('amber')}, 0 s) > the API changed" in told
    assert "\x1b" not in told
    assert "Goal:" not in told
    assert prompt(hosts) == ""
    assert unread(hosts) != []


@pytest.mark.requirement("C90")
def test_mail_is_read_when_the_transcript_shows_it(hosts: Hosts) -> None:
    send(hosts, "the API changed")
    hosts.host.show(prompt(hosts))

    hosts.host.call("Stop", session_id="birch")

    assert unread(hosts) == []


def test_mail_that_did_not_arrive_is_told_again_at_the_next_start(hosts: Hosts) -> None:
    send(hosts, "the API changed")
    told = prompt(hosts)
    hosts.host.show(told.replace("changed", "ch"))
    hosts.host.call("Stop", session_id="birch")

    again = context(hosts.begin("birch", BIRCH, source="compact"))

    assert "> the API changed" in again
    hosts.host.show(again)
    hosts.host.call("Stop", session_id="birch")
    assert unread(hosts) == []


def test_a_brief_that_has_the_mail_leaves_no_word_for_the_prompt(hosts: Hosts) -> None:
    send(hosts, "the API changed")

    told = context(hosts.begin("birch", BIRCH, source="compact"))

    assert "> the API changed" in told
    assert prompt(hosts) == ""


@pytest.mark.requirement("C90")
def test_a_brief_has_the_newest_five_messages_and_counts_the_rest(hosts: Hosts) -> None:
    send(hosts, *(f"message {number}" for number in range(7)))

    told = context(hosts.begin("birch", BIRCH, source="compact"))

    assert [number for number in range(7) if f"> message {number}" in told] == [2, 3, 4, 5, 6]
    assert "and 2 more: `passdown inbox`" in told
    hosts.host.show(told)
    hosts.host.call("Stop", session_id="birch")
    assert unread(hosts) == ["message 0", "message 1"]


def test_a_long_message_is_cut_and_stays_unread(hosts: Hosts) -> None:
    send(hosts, "word " * 100)

    told = prompt(hosts)

    assert "cut: `passdown inbox`" in told
    hosts.host.show(told)
    hosts.host.call("Stop", session_id="birch")
    assert len(unread(hosts)) == 1


def test_mail_that_was_printed_is_not_told_at_the_prompt(hosts: Hosts) -> None:
    send(hosts, "the API changed")
    hosts.run("birch", "inbox")

    assert prompt(hosts) == ""


def test_a_cut_brief_is_sent_again_with_the_mail(hosts: Hosts) -> None:
    first = context(hosts.begin("birch", BIRCH, source="clear"))
    hosts.host.show(first.replace("Goal", "Go"))
    send(hosts, "the API changed")
    hosts.host.call("Stop", session_id="birch")

    again = prompt(hosts)

    assert "Goal:" in again
    assert "> the API changed" in again


def test_urgent_mail_is_marked_and_secrets_do_not_leave(hosts: Hosts) -> None:
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    hosts.run("amber", "msg", f"use {secret}", "--to", hosts.agent("birch"), "--urgent")

    told = prompt(hosts)

    assert "> urgent: use " in told
    assert secret not in told


def test_a_message_at_closing_a_task_is_told_at_the_prompt(hosts: Hosts) -> None:
    hosts.add("one")
    hosts.run("amber", "claim")
    hosts.run("amber", "close", "--msg", "one is done")

    assert "> one is done" in prompt(hosts)


def test_mail_for_a_session_that_ended_leaves_no_word(hosts: Hosts) -> None:
    send(hosts, "the API changed")

    hosts.host.call("SessionEnd", session_id="birch", reason="prompt_input_exit")

    assert not list((hosts.project.folder / ".git/passdown/waiting").iterdir())


@pytest.mark.requirement("R216")
def test_a_prompt_without_the_engine_says_nothing_and_the_next_one_tells(hosts: Hosts) -> None:
    send(hosts, "the API changed")
    hosts.break_engine()

    assert prompt(hosts) == ""

    assert len(hosts.host.log().splitlines()) == 1
    hosts.mend_engine()
    assert "> the API changed" in prompt(hosts)


def test_a_prompt_that_may_not_ask_the_engine_says_that_there_is_mail(hosts: Hosts) -> None:
    send(hosts, "the API changed")
    hosts.monkeypatch.setenv("PASSDOWN_PROJECT_KEY", "p-" + "0" * 32)
    hosts.monkeypatch.setenv("PASSDOWN_COORDINATION_URL", "https://passdown.example.com")

    told = prompt(hosts)

    assert told == "Passdown: you have messages from other sessions; read them with `passdown inbox`"
    assert hosts.host.log() == ""
    assert prompt(hosts) == ""


def test_a_team_without_a_known_server_is_told_at_the_start(hosts: Hosts) -> None:
    hosts.monkeypatch.setenv("PASSDOWN_PROJECT_KEY", "p-" + "0" * 32)
    hosts.monkeypatch.setenv("PASSDOWN_COORDINATION_TEAM", "platform")

    answer = hosts.begin("amber", AMBER, source="resume")
    started = hosts.command("start", "--session", "cedar", "--new")

    assert "no server is known for the team platform" in answer["systemMessage"]
    assert started.code == 0
    assert "no server is known for the team platform" in started.err
    assert hosts.command("end", "--session", "cedar").code == 0
    assert hosts.run("amber", "brief").code == 0
    assert hosts.command("status").code == 0


def test_the_brief_by_command_shows_mail_and_leaves_it_unread(hosts: Hosts) -> None:
    send(hosts, "the API changed")

    done = hosts.run("birch", "brief")

    assert "> the API changed" in done.out
    assert unread(hosts) == ["the API changed"]
    hosts.break_engine()
    without = hosts.run("amber", "brief")
    assert "file > docs/" in without.out
    assert "the coordination database" in without.err


@pytest.mark.requirement("C80")
def test_the_end_of_a_turn_is_a_sign_of_life(hosts: Hosts) -> None:
    hosts.alive.clear()
    hosts.monkeypatch.setattr(type(hosts), "is_alive", lambda _, __: None)
    for _ in range(4):
        hosts.pass_time(minutes=5)
        hosts.host.call("Stop", session_id="amber")

    assert hosts.run("birch", "takeover", hosts.agent("amber")).code == 3


@pytest.mark.requirement("C80", through="hook")
def test_an_edit_that_the_end_of_a_turn_sees_uses_the_reservation_of_that_file(hosts: Hosts) -> None:
    hosts.run("amber", "reserve", "src/", "lib/*.py")
    position = hosts.host.project().coordination.history.position
    for number, path in enumerate(("src/app.py", "README.md", "src/app.py", "elsewhere.py")):
        hosts.pass_time(minutes=50)
        before = position()
        edited = str(hosts.project.folder / path)
        with hosts.host.transcript.open("ab") as file:
            file.write(lines(use(f"e{number}", "Edit", file_path=edited), result(f"e{number}", "ok")))

        hosts.host.call("Stop", session_id="amber")

        assert position() - before == (1 if path == "src/app.py" else 0)
    assert list(json.loads(hosts.command("status", "--json").out)["reservations"]) == ["src/"]
    assert hosts.host.log() == ""


def test_a_session_that_began_before_others_coordinated_takes_part_from_its_next_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hosts = Hosts(tmp_path / "project", monkeypatch, capsys)
    hosts.begin("birch", BIRCH)
    hosts.begin("amber", AMBER)
    hosts.run("amber", "reserve", "docs/")

    hosts.host.call("Stop", session_id="birch")

    assert hosts.ask("amber", "msg", "hello")["recipients"] == [hosts.agent("birch")]


def test_a_word_about_mail_that_was_read_elsewhere_says_nothing(hosts: Hosts) -> None:
    word = hosts.project.folder / ".git/passdown/waiting/birch"
    word.parent.mkdir(exist_ok=True)
    word.write_bytes(b"mail\n")

    assert prompt(hosts) == ""
    assert not word.exists()


def test_mail_for_which_a_brief_has_no_room_stays_unread(
    hosts: Hosts,
) -> None:
    for number in range(8):
        hosts.run("birch", "rule-out", f"Number {number}: {'no ' * 60}")
        hosts.run("birch", "decide", f"key-{number}", f"Number {number}: {'yes ' * 50}")
        hosts.run("birch", "ask", f"Number {number}: {'how ' * 50}")
    send(hosts, *(f"message {number}: {'word ' * 40}" for number in range(5)))

    told = context(hosts.begin("birch", BIRCH, source="compact"))

    shown = [number for number in range(5) if f"> message {number}" in told]
    hosts.host.show(told)
    hosts.host.call("Stop", session_id="birch")
    assert len(shown) < 5
    assert len(unread(hosts)) == 5 - len(shown)


@pytest.mark.requirement("C142", through="command")
def test_a_message_whose_answer_nobody_read_is_sent_once_unless_it_is_meant_again(hosts: Hosts) -> None:
    words = ("hello", "--to", hosts.agent("birch"))
    for option in ((), (), ("--again",), ("--again",)):
        with hosts.monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", None)  # as if it was closed
            assert hosts.run("amber", "msg", *option, *words).code == 0

    assert unread(hosts) == ["hello"] * 3


@pytest.mark.requirement("C90", through="command")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_mail_that_nobody_could_read_stays_unread(hosts: Hosts, options: tuple[str, ...]) -> None:
    send(hosts, "hello")
    with hosts.monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)  # as if it was closed
        assert hosts.run("birch", "inbox", *options).code == 0

    assert unread(hosts) == ["hello"]
    assert hosts.ask("birch", "inbox")["messages"] != []
    assert unread(hosts) == []
