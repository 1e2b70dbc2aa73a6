"""What an install offers lets real hosts record without a question, and nothing more.

`PASSDOWN_HOSTS` names the folder with the hosts' programs; without it these tests are skipped.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.hosts.drivers import COPILOT, QUIET, Codex, Ground
from tests.hosts.model import Model
from tests.hosts.scripts import Call, Step
from tests.hosts.stages import FOLDER, PASSDOWN, accounts, make_ground, need, need_older, text_of
from tests.hosts.talks import Pipe

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.skipif(sys.platform == "win32", reason="the shell and its paths are those of a POSIX system"),
]

OK: Final = Step(text="ok")
DENIED_TO_COPILOT: Final = (
    "passdown gate run spec",
    "passdown checkpoint validate",
    "passdown handoff accept x --run-test",
)
REFUSED: Final = (
    "passdown gate run spec",
    "passdown nowhere",
    "passdown now x && touch made",
    "passdown init",
    "passdown log retract ev-1",
)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Ground, Model]]:
    """Give a project whose owner agreed, in which `passdown` and the hosts are on the PATH."""
    with Model() as model:
        path = f"{PASSDOWN.parent}:{FOLDER}:/usr/local/bin:/usr/bin:/bin"
        yield make_ground(tmp_path, model.address, PATH=path), model


def install(place: Ground, host: str) -> None:
    ended = place.run([str(PASSDOWN), "install", host, "--yes"])
    assert ended.code == 0, ended


def bash(command: str) -> Step:
    return Step(calls=(Call(tool="Bash", input={"command": command, "description": "run"}),))


def claude(place: Ground, *options: str) -> Pipe:
    """Start Claude Code in its default mode, as a program that talks to it does."""
    program = need("claude")
    talking = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    variables = {"ANTHROPIC_BASE_URL": place.address, "ANTHROPIC_API_KEY": "test", **QUIET}
    return Pipe([program, *talking, "--permission-mode", "default", *options], place, variables)


def say(talk: Pipe, model: Model, root: Path, *steps: Step) -> list[dict[str, Any]]:
    """Let the model take these steps; whoever is asked refuses. Give what was asked."""
    model.prepare((*steps, OK), str(root))
    talk.tell(type="user", message={"role": "user", "content": "go on"})
    asked: list[dict[str, Any]] = []
    while True:
        heard = talk.hear(lambda one: one.get("type") in {"result", "control_request"})[-1]
        if heard["type"] == "result":
            return asked
        asked.append(heard["request"])
        answer = {"behavior": "deny", "message": "no"}
        talk.tell(
            type="control_response",
            response={"subtype": "success", "request_id": heard["request_id"], "response": answer},
        )


def nows(place: Ground) -> list[str]:
    return [account.now.text for account in accounts(place) if account.now]


@pytest.mark.requirement("C71")
def test_claude_code_asks_for_nothing_that_records_and_for_the_rest(place: tuple[Ground, Model]) -> None:
    ground, model = place
    install(ground, "claude")

    with claude(ground, "--permission-prompt-tool", "stdio") as talk:
        asked = say(talk, model, ground.root, bash("passdown now 'the lexer'"))
        assert asked == []
        assert nows(ground) == ["the lexer"]
        for command in REFUSED:
            asked = say(talk, model, ground.root, bash(command))
            assert [one["input"]["command"] for one in asked] == [command]

    assert not (ground.root / "made").exists()


@pytest.mark.requirement("C71")
@pytest.mark.parametrize("find", [need, need_older], ids=["newest", "older"])
def test_claude_code_without_anybody_to_ask_records_and_refuses_the_rest(
    place: tuple[Ground, Model], find: Callable[[str], str]
) -> None:
    ground, model = place
    install(ground, "claude")

    def run(command: str) -> dict[str, Any]:
        model.prepare([bash(command), OK], str(ground.root))
        words = [find("claude"), "-p", "go on", "--output-format", "json"]
        ended = ground.run(words, ANTHROPIC_BASE_URL=ground.address, ANTHROPIC_API_KEY="test", **QUIET)
        said = json.loads(ended.out)
        found: dict[str, Any] = said[-1] if isinstance(said, list) else said
        return found

    assert run("passdown now 'the lexer'")["permission_denials"] == []
    assert nows(ground) == ["the lexer"]
    for command in REFUSED:
        (denied,) = run(command)["permission_denials"]
        assert denied["tool_input"]["command"] == command
    assert not (ground.root / "made").exists()


@pytest.mark.requirement("C71")
def test_claude_code_asks_again_after_the_uninstall(place: tuple[Ground, Model]) -> None:
    ground, model = place
    settings = ground.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"permissions": {"allow": ["Read"]},\n "model": "opus"}', encoding="utf-8")
    before = settings.read_bytes()
    install(ground, "claude")
    assert ground.run([str(PASSDOWN), "uninstall", "claude", "--yes"]).code == 0

    assert settings.read_bytes() == before
    with claude(ground, "--permission-prompt-tool", "stdio") as talk:
        asked = say(talk, model, ground.root, bash("passdown now 'the lexer'"))
    assert len(asked) == 1


# --- Codex ----------------------------------------------------------------------------------------


def run_codex(driver: Codex, place: Ground, model: Model, *words: str, is_trusted: bool = True) -> list[str]:
    """Let the model run `passdown` with these words in the workspace sandbox; give what it was answered."""
    steps = [Step(calls=(Call(tool="exec_command", input={"cmd": f"'{PASSDOWN}' {one}"}),)) for one in words]
    model.prepare([*steps, OK], str(place.root))
    trust = ["--dangerously-bypass-hook-trust"] if is_trusted else []
    ended = driver.turn("go on", [*trust, "-c", 'sandbox_mode="workspace-write"'])
    assert ended.code == 0, ended
    assert model.left == 0
    sent: Any = model.requests[-1]["input"]
    outputs = [text_of(one["output"]) for one in sent if one["type"] == "function_call_output"]
    return outputs[-len(words) :]


@pytest.mark.requirement("C158", "C87")
@pytest.mark.parametrize("order", ["install in the project", "init after the install"])
def test_codex_claims_reserves_and_hands_over_in_its_workspace_sandbox(
    place: tuple[Ground, Model], order: str
) -> None:
    ground, model = place
    driver = Codex(need("codex"), ground)
    if order == "init after the install":
        (ground.root / "passdown.toml").unlink()
    install(ground, "codex")
    if order == "init after the install":
        assert ground.run([str(PASSDOWN), "init", "--yes"]).code == 0
    added = ground.run([str(PASSDOWN), "task", "add", "Fix the parser", "--id", "t-parser"])
    assert added.code == 0, added

    words = (
        "claim t-parser",
        "reserve parser.py",
        "now 'the lexer'",
        "handoff offer --to all --task t-parser",
        "handoff create",
        "status --json",
    )
    answers = run_codex(driver, ground, model, *words)

    assert all("Process exited with code 0" in one for one in answers), answers
    status = json.loads(answers[-1].partition("Output:\n")[2])
    assert [one["id"] for one in status["tasks"]] == ["t-parser"]
    assert list(status["reservations"]) == ["parser.py"]
    assert len(status["offers"]) == 1
    assert "the lexer" in nows(ground)


@pytest.mark.requirement("C158", "C87")
def test_codex_without_the_folder_is_granted_nothing_and_told_what_to_do(place: tuple[Ground, Model]) -> None:
    ground, model = place
    driver = Codex(need("codex"), ground)
    assert ground.run([str(PASSDOWN), "install", "codex", "--no-permissions", "--yes"]).code == 0
    ground.run([str(PASSDOWN), "task", "add", "Fix the parser", "--id", "t-parser"])

    (answer,) = run_codex(driver, ground, model, "claim t-parser")

    told = " ".join(answer.split())
    assert "Process exited with code 5" in told
    assert f"Let the sandbox of this session write to {ground.root}/.git/passdown." in told
    found = json.loads(ground.run([str(PASSDOWN), "doctor", "--json"]).out)["findings"]
    (hint,) = [one["hint"] for one in found if one["code"] == "sandbox"]
    assert "`passdown install codex`" in hint


@pytest.mark.requirement("C51")
def test_codex_is_known_before_its_hooks_are_trusted(place: tuple[Ground, Model]) -> None:
    ground, model = place
    driver = Codex(need("codex"), ground)
    install(ground, "codex")

    run_codex(driver, ground, model, "now 'the lexer'", is_trusted=False)

    (account,) = accounts(ground)
    assert (account.start.host, account.host_sessions) == ("codex", (driver.session,))
    assert nows(ground) == ["the lexer"]


# --- Copilot --------------------------------------------------------------------------------------


def test_copilot_records_with_what_the_how_to_says_and_runs_no_gate(place: tuple[Ground, Model]) -> None:
    ground, model = place
    commands = ("passdown now 'the lexer'", *DENIED_TO_COPILOT)
    calls = [Call(tool="bash", input={"command": one, "description": "run"}) for one in commands]
    model.prepare([*(Step(calls=(one,)) for one in calls), OK], str(ground.root))
    page = (Path(__file__).parents[3] / "docs/how-to/headless.md").read_text(encoding="utf-8")
    options = re.findall(r"(--(?:allow|deny)-tool) '([^']+)'", page)
    asking = {name: value for name, value in COPILOT.items() if name != "COPILOT_ALLOW_ALL"}

    ended = ground.run(
        [need("copilot"), "-p", "go on", *(word for option in options for word in option)],
        COPILOT_PROVIDER_BASE_URL=f"{ground.address}/v1",
        **asking,
    )

    assert ended.code == 0, ended
    assert nows(ground) == ["the lexer"]
    sent: Any = model.requests[-1]["input"]
    outputs = [text_of(one["output"]) for one in sent if one["type"] == "function_call_output"]
    assert all("denied" in one for one in outputs[1:]), outputs
    assert len(outputs) == len(commands)
