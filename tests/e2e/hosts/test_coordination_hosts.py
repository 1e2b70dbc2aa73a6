"""Claude Code and Codex in one repository: a message, a crash and an offer, in the real hosts.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.hosts.drivers import Codex, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import FOLDER, PASSDOWN, hooks, make_ground, need, text_of
from tests.hosts.talks import ClaudeTalk, CodexTalk, Message
from tests.support.terminals import Terminal

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform == "win32", reason="the shell and its paths are those of a POSIX system"),
]

Talk = ClaudeTalk | CodexTalk


class Room(NamedTuple):
    """A repository in which both hosts have our hooks, and the model that both talk to."""

    place: Ground
    model: Model

    def claude(self, *options: str) -> ClaudeTalk:
        """Begin to talk to Claude Code."""
        return ClaudeTalk(need("claude"), self.place, self.model, *options)

    def codex(self, thread: str = "") -> CodexTalk:
        """Begin to talk to Codex, or go on with a thread."""
        return CodexTalk(need("codex"), self.place, self.model, thread=thread)

    def passdown(self, *arguments: str) -> Mapping[str, Any]:
        """Run a command as a person would, and give what it answers."""
        ended = self.place.run([str(PASSDOWN), *arguments, "--json"])
        assert ended.code == 0, ended
        answer: Mapping[str, Any] = json.loads(ended.out)
        return answer


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """Install our hooks for both hosts, and write down one task."""
    with Model() as model:
        path = f"{PASSDOWN.parent}:{FOLDER}:/usr/local/bin:/usr/bin:/bin"
        place = make_ground(tmp_path, model.address, PATH=path)
        Codex(need("codex"), place)  # writes its settings
        ended = place.run([str(PASSDOWN), "install", "claude", "--yes"])
        assert ended.code == 0, ended
        (place.home / ".codex" / "hooks.json").write_text(hooks(), encoding="utf-8")
        room = Room(place, model)
        room.passdown("task", "add", "Fix the parser", "--id", "t-parser")
        yield room


def runs(talk: Talk, words: str) -> Step:
    """Give the step with which the model runs `passdown` with these words."""
    command = f"'{PASSDOWN}' {words}"
    if isinstance(talk, ClaudeTalk):
        return Step(calls=(Call(tool="Bash", input={"command": command, "description": "run"}),))
    return Step(calls=(Call(tool="exec_command", input={"cmd": command}),))


OK: Final = Step(text="ok")


def told(requests: list[Message]) -> str:
    """Give all that the model was sent with the last request."""
    return text_of(requests[-1])


@pytest.mark.requirement("C90", "R169")
@pytest.mark.parametrize("sender", ["claude", "codex"])
def test_a_message_reaches_the_other_host_at_its_next_prompt_and_once(room: Room, sender: str) -> None:
    with room.claude() as claude, room.codex() as codex:
        giver, taker = (claude, codex) if sender == "claude" else (codex, claude)
        taker.say("hello", OK)
        giver.say("tell the others", runs(giver, "msg 'the grammar moved to docs/'"), OK)

        next_prompt = taker.say("go on", OK)
        later = taker.say("and on", OK)

        assert told(next_prompt).count("the grammar moved to docs/") == 1
        assert told(later).count("the grammar moved to docs/") == 1  # what was said before, and nothing new


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs tmux and /proc")
@pytest.mark.requirement("C122", "C51")
def test_what_a_person_says_at_a_terminal_is_in_the_next_briefs_of_both_hosts(room: Room) -> None:
    lines = (
        "passdown tell 'Keep it simple'",
        "passdown answer 'Which store' 'Redis'",
        "passdown decide port 'Use 8080'",
        "passdown loop feedback habits ideation 'No penalty'",
        "passdown feedback",
    )
    variables = {"HOME": str(room.place.home), "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    room.place.run(["git", "config", "user.name", "Ada Author"])
    with room.claude() as claude, room.codex() as codex:
        loop = (
            runs(claude, "loop open habits ideation"),
            runs(claude, "loop append habits ideation 'Streaks.'"),
        )
        claude.say("hello", runs(claude, "ask 'Which store?'"), *loop, OK)
        codex.say("hello", OK)
        with Terminal(room.place.root, variables) as terminal:
            screens = [terminal.run(line, "$ ") for line in lines]
        briefs = [told(one.say("go on", runs(one, "brief"), OK)) for one in (claude, codex)]

    assert not [one for one in screens if "several" in one], screens
    for brief in briefs:
        for said in ("Keep it simple", "Which store? → Redis", "port: Use 8080", "No penalty"):
            line = next((one for one in brief.splitlines() if said in one and "> " in one), "")
            assert line.startswith("(ada-author-"), (said, brief)


@pytest.mark.requirement("C82", "R212")
@pytest.mark.parametrize("host", ["claude", "codex"])
def test_a_host_that_was_killed_and_resumed_has_its_task_and_files_under_new_fences(
    room: Room, host: str
) -> None:
    begin: Callable[[], Talk] = room.claude if host == "claude" else room.codex
    with begin() as talk:
        talk.say("fix the parser", runs(talk, "claim t-parser"), runs(talk, "reserve parser.py"), OK)
        session = talk.session
        before = held(room)
    resumed = room.claude("--resume", session) if host == "claude" else room.codex(session)
    with resumed as talk:
        first = talk.say("go on", OK)
        after = held(room)

    assert "t-parser" in told(first)
    assert "parser.py" in told(first)
    assert set(before) == set(after) == {"t-parser", "parser.py"}
    assert all(after[one] > before[one] for one in before)


def held(room: Room) -> dict[str, int]:
    """Give the fence of each task and file that is held."""
    status = room.passdown("status")
    files = {path: one["fence"] for path, one in status["reservations"].items()}
    return {one["id"]: one["fence"] for one in status["tasks"]} | files


@pytest.mark.requirement("C92", "R220")
def test_claude_code_hands_a_task_with_its_files_over_to_codex(room: Room) -> None:
    with room.codex() as codex:
        codex.say("hello", OK)
        (taker,) = room.passdown("status")["members"]
        with room.claude() as claude:
            work = (
                runs(claude, words) for words in ("claim t-parser", "reserve parser.py", "now 'the lexer'")
            )
            claude.say("fix the parser", *work, OK)
            before = held(room)
            offer = runs(claude, f"handoff offer --to {taker['agent']} --task t-parser")
            claude.say("codex is to go on", offer, OK)
            assert held(room) == before  # an offer gives nothing away

        asked = codex.say("what is new", OK)
        taken = codex.say("take it", runs(codex, "handoff accept"), runs(codex, "brief"), OK)

        assert "t-parser" in told(asked)
        assert "the lexer" in told(taken)
        status = room.passdown("status")
        owners = {one["agent"] for one in (*status["tasks"], *status["reservations"].values())}
        assert owners == {taker["agent"]}
        assert all(fence > before[one] for one, fence in held(room).items())
        assert status["offers"] == []
