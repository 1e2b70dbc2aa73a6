"""Real hosts call our hooks: whatever happens to a session, the model is told what it knew.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped. The model is
scripted and on this machine; the home is empty; what the model was sent is what is looked at.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import pytest

from passdown import wiring
from passdown.core.accounts import Account
from passdown.core.facts import FactKind
from passdown.faces.hooks.main import ACTS
from passdown.hosts.hooks import EVENTS
from passdown.services.journals import read_accounts
from passdown.settings import FILE_NAME, Settings
from tests.gits import make_started
from tests.hosts.drivers import QUIET, ClaudeCode, Codex, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step

FOLDER: Final = os.environ.get("PASSDOWN_HOSTS", "")
PASSDOWN: Final = Path(sys.executable).parent / "passdown"
GOAL: Final = "Fix the parser before Friday"
FACTS: Final = (GOAL, "writing the tests", "SQLite", "read the grammar", "a daemon")
SAYING: Final = " && ".join(
    f"'{PASSDOWN}' {verb}"
    for verb in (
        f"goal '{FACTS[0]}'",
        f"now '{FACTS[1]}'",
        f"decide store '{FACTS[2]}' --because 'it is there'",
        f"done '{FACTS[3]}'",
        f"rule-out '{FACTS[4]}'",
    )
)
_BRIEF: Final = re.compile(
    r"===== passdown brief [0-9a-f]+ begins.*?===== passdown brief [0-9a-f]+ ends", re.DOTALL
)


def need(program: str) -> str:
    """Give the path of a host's program, or skip the test; in CI it must be there."""
    path = Path(FOLDER) / program
    if not FOLDER or not path.exists():
        assert not os.environ.get("PASSDOWN_CI"), f"{program} is not in the folder that PASSDOWN_HOSTS names"
        pytest.skip(f"PASSDOWN_HOSTS names no folder with the program {program}")
    return str(path)


def hooks() -> str:
    """Give the hooks as a person would write them down."""
    entry = [{"hooks": [{"type": "command", "command": f"'{PASSDOWN}' hook"}]}]
    return json.dumps({"hooks": dict.fromkeys(EVENTS, entry)})


@pytest.fixture
def ground(tmp_path: Path) -> Iterator[tuple[Ground, Model]]:
    """Give a project whose owner agreed, an empty home, and a model that does as it is told."""
    with Model() as model:
        place = Ground(folder=tmp_path, address=model.address, variables={})
        make_started(place.root)
        (place.root / FILE_NAME).touch()
        place.home.mkdir()
        yield place, model


def briefs(requests: Sequence[dict[str, Any]]) -> list[str]:
    """Give the briefs that the model was sent, of each request the last."""
    found = [_BRIEF.findall(_text(request)) for request in requests]
    return [one[-1] for one in found if one]


def _text(value: object) -> str:
    """Give all texts of a request, one after the other."""
    if isinstance(value, str):
        return value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return "\n".join(_text(part) for part in parts)


def accounts(place: Ground) -> list[Account]:
    return list(read_accounts(wiring.open_project(place.root, Settings())))


def has_all(brief: str) -> bool:
    return all(fact in brief for fact in FACTS)


class Talk:
    """One process of Claude Code that a person talks to."""

    def __init__(self, program: str, place: Ground, model: Model) -> None:
        """Start it."""
        self._model, self._place = model, place
        self._process = subprocess.Popen(
            [
                program,
                *("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
                *("--permission-mode", "acceptEdits", "--allowedTools", "Bash,Edit,Write,Read,Agent,Task"),
            ],
            cwd=place.root,
            env={
                "HOME": str(place.home),
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "LANG": "C.UTF-8",
                "ANTHROPIC_BASE_URL": place.address,
                "ANTHROPIC_API_KEY": "test",
                **QUIET,
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        """Talk."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, found: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill it: nothing may depend on its end."""
        self._process.kill()
        self._process.communicate()

    def say(self, text: str, *steps: Step) -> list[dict[str, Any]]:
        """Say something, wait for the answer, and give what the model was sent for it."""
        before = len(self._model.requests)
        self._model.prepare(steps, str(self._place.root))
        message = {"type": "user", "message": {"role": "user", "content": text}}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if json.loads(line).get("type") == "result":
                break
        return list(self._model.requests[before:])


HELPER: Final = Call(
    tool="Agent",
    input={"description": "look", "prompt": "helper look around", "subagent_type": "general-purpose"},
)


def edit(place: Ground, name: str) -> Call:
    return Call(tool="Write", input={"file_path": str(place.root / name), "content": "text\n"})


def test_every_moment_that_is_registered_is_answered() -> None:
    assert set(EVENTS.values()) == set(ACTS)


@pytest.mark.requirement("R80", "R120", "R121", "G9", "G14")
@pytest.mark.parametrize("speaks", [True, False])
def test_claude_code_is_told_what_it_knew_after_compaction_clear_crash_and_resume(
    ground: tuple[Ground, Model], *, speaks: bool
) -> None:
    place, model = ground
    program = need("claude")
    settings = place.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(hooks(), encoding="utf-8")
    work = [edit(place, "one.txt"), edit(place, "two.txt")]
    if speaks:
        work.append(Call(tool="Bash", input={"command": SAYING, "description": "say"}))

    def is_told(requests: Sequence[dict[str, Any]]) -> bool:
        (*_, brief) = briefs(requests)
        return has_all(brief) if speaks else "please fix the parser" in brief

    with Talk(program, place, model) as talk:
        first = talk.say("please fix the parser", Step(calls=tuple(work)), Step(text="ok"))
        assert len(briefs(first)) == len(first)
        talk.say("/compact")
        assert is_told(talk.say("go on", Step(text="ok")))
        talk.say("/clear")
        assert is_told(talk.say("and on", Step(text="ok")))
        helped = talk.say(
            "ask a helper", Step(calls=(HELPER,)), Step(text="found", agent="helper"), Step(text="ok")
        )
        assert is_told(helped)
    (live,) = accounts(place)
    assert {delivery.state for delivery in live.deliveries} <= {"whole", "sent"}
    assert sum(delivery.state == "whole" for delivery in live.deliveries) >= 3
    assert {"one.txt", "two.txt"} <= {entry.text for entry in live.of(FactKind.FILE)}

    driver = ClaudeCode(program, place)
    for prompt in ("a new session", "the same, resumed"):
        before = len(model.requests)
        model.prepare([Step(text="ok")], str(place.root))
        assert driver.turn(prompt, []).code == 0
        assert is_told(model.requests[before:])
    events = "".join(
        path.read_text(encoding="utf-8")
        for path in (place.root / "thoughts" / "shared" / "handoffs" / "events").rglob("*.md")
    )
    assert "one.txt" in events
    assert ("please fix the parser" in events) is False  # what a person says stays on the machine
    assert all(fact in events for fact in FACTS) is speaks
    assert not (place.root / ".git" / "passdown" / "hooks.log").exists()


@pytest.mark.requirement("R80", "R120", "G9")
@pytest.mark.parametrize("sandbox", ["danger-full-access", "workspace-write", "read-only"])
def test_codex_is_told_what_it_knew_after_compaction_and_resume(
    ground: tuple[Ground, Model], sandbox: str
) -> None:
    place, model = ground
    driver = Codex(need("codex"), place)
    (place.home / ".codex" / "hooks.json").write_text(hooks(), encoding="utf-8")
    options = ["--dangerously-bypass-hook-trust", "-c", f'sandbox_mode="{sandbox}"']

    def turn(prompt: str, *steps: Step) -> list[dict[str, Any]]:
        before = len(model.requests)
        model.prepare(steps, str(place.root))
        ended = driver.turn(prompt, options)
        assert ended.code == 0, ended
        return list(model.requests[before:])

    say = Call(tool="exec_command", input={"cmd": SAYING})
    first = turn("please fix the parser", Step(calls=(say,)), Step(text="ok"))
    assert briefs(first)
    resumed = turn("go on", Step(text="ok", tokens=90_000), Step(text="ok"))
    compacted = turn("after the compaction", Step(text="ok"), Step(text="ok"))

    if sandbox == "danger-full-access":
        assert has_all(briefs(resumed)[-1])
        assert has_all(briefs(compacted)[-1])
    else:
        assert "please fix the parser" in briefs(compacted)[-1] or has_all(briefs(compacted)[-1])
    states = [one.state for account in accounts(place) for one in account.deliveries]
    assert "whole" in states
    assert "cut" not in states
    assert not (place.root / ".git" / "passdown" / "hooks.log").exists()


def test_a_session_begun_in_one_host_is_continued_in_another_and_back(ground: tuple[Ground, Model]) -> None:
    place, model = ground
    claude_program, codex_program = need("claude"), need("codex")
    (place.home / ".claude").mkdir()
    (place.home / ".claude" / "settings.json").write_text(hooks(), encoding="utf-8")
    codex = Codex(codex_program, place)
    (place.home / ".codex" / "hooks.json").write_text(hooks(), encoding="utf-8")
    say = Call(tool="Bash", input={"command": SAYING, "description": "say"})

    first: list[str] = []
    for driver, steps, options in (
        (ClaudeCode(claude_program, place), [Step(calls=(say,)), Step(text="ok")], []),
        (codex, [Step(text="ok")], ["--dangerously-bypass-hook-trust"]),
        (ClaudeCode(claude_program, place), [Step(text="ok")], []),
    ):
        before = len(model.requests)
        model.prepare(steps, str(place.root))
        assert driver.turn("go on", options).code == 0
        first.append(briefs(model.requests[before : before + 1])[-1])

    assert [has_all(brief) for brief in first] == [False, True, True]
    assert [account.start.host for account in accounts(place)] == ["claude", "codex", "claude"]
